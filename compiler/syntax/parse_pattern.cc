// The patterns of `match`.
#include "compiler/syntax/literal.h"
#include "compiler/syntax/parser.h"

namespace pyasc::syntax {

// After `case`: several patterns with commas are a sequence.
Pattern *Parser::ParsePatterns() {
  const Token &start = Peek();
  Pattern *first = ParseMaybeStarPattern();
  if (!At(TokenKind::Comma) && !llvm::isa<MatchStar>(first))
    return first;
  Items<Pattern *> patterns = {first};
  if (!At(TokenKind::Comma))
    FailExpected("',' after a '*' pattern");
  while (Eat(TokenKind::Comma) && !At(TokenKind::Colon) && !At(TokenKind::KwIf))
    patterns.push_back(ParseMaybeStarPattern());
  auto *node = New<MatchSequence>();
  node->patterns = arena_.Copy(patterns);
  return Finish(node, start, node->patterns);
}

Pattern *Parser::ParseMaybeStarPattern() {
  if (!At(TokenKind::Star))
    return ParsePattern();
  const Token &start = Peek();
  Advance();
  auto *node = New<MatchStar>();
  Identifier name = ExpectName("a name after '*'");
  if (name != "_")
    node->name = name;
  return Finish(node, start);
}

Pattern *Parser::ParsePattern() {
  Nest nest(*this);
  const Token &start = Peek();
  Pattern *pattern = ParseOrPattern();
  if (!Eat(TokenKind::KwAs))
    return pattern;
  auto *node = New<MatchAs>();
  node->pattern = pattern;
  SourceRange name_range;
  node->name = ExpectName("a name after 'as'", &name_range);
  if (node->name == "_")
    Complain("invalid-target", name_range, "'_' cannot be the name of a pattern");
  return Finish(node, start, pattern);
}

Pattern *Parser::ParseOrPattern() {
  const Token &start = Peek();
  Pattern *first = ParseClosedPattern();
  if (!At(TokenKind::Pipe))
    return first;
  Items<Pattern *> patterns = {first};
  while (Eat(TokenKind::Pipe))
    patterns.push_back(ParseClosedPattern());
  auto *node = New<MatchOr>();
  node->patterns = arena_.Copy(patterns);
  return Finish(node, start, node->patterns);
}

Pattern *Parser::ParseClosedPattern() {
  switch (Kind()) {
  case TokenKind::Name:
    return ParseNamePattern();
  case TokenKind::LParen:
    return ParseSequencePattern(TokenKind::RParen);
  case TokenKind::LBracket:
    return ParseSequencePattern(TokenKind::RBracket);
  case TokenKind::LBrace:
    return ParseMappingPattern();
  default:
    return ParseLiteralPattern();
  }
}

// A capture, the wildcard, a dotted value or a class.
Pattern *Parser::ParseNamePattern() {
  const Token &start = Peek();
  auto *name = New<syntax::Name>();
  name->id = ExpectName("a name");
  Expr *value = Finish(name, start);
  while (Eat(TokenKind::Dot)) {
    auto *attribute = New<Attribute>();
    attribute->value = value;
    attribute->attr = ExpectName("a name after '.'", &attribute->attr_range);
    value = Finish(attribute, start, value);
  }
  if (At(TokenKind::LParen))
    return ParseClassPattern(value, start);
  if (value != name) {
    auto *node = New<MatchValue>();
    node->value = value;
    return Finish(node, start, value);
  }
  auto *node = New<MatchAs>();
  if (name->id != "_")
    node->name = name->id;
  return Finish(node, start);
}

Pattern *Parser::ParseLiteralPattern() {
  const Token &start = Peek();
  if (At(TokenKind::KwNone) || At(TokenKind::KwTrue) || At(TokenKind::KwFalse)) {
    auto *node = New<MatchSingleton>();
    node->value = llvm::cast<Constant>(ParseAtom());
    return Finish(node, start);
  }
  auto *node = New<MatchValue>();
  node->value = ParseLiteralExpr();
  return Finish(node, start, node->value);
}

// A number, a complex number `1 + 2j`, or strings.
Expr *Parser::ParseLiteralExpr() {
  const Token &start = Peek();
  if (At(TokenKind::KwNone) || At(TokenKind::KwTrue) || At(TokenKind::KwFalse))
    return ParseAtom();
  if (At(TokenKind::String))
    return ParseStrings();
  if (At(TokenKind::FStringStart)) {
    Fail("invalid-pattern", RangeOf(start), "a pattern cannot be an f-string");
    return Missing();
  }
  if (!At(TokenKind::Number) && !At(TokenKind::Minus)) {
    FailExpected("a pattern");
    return Missing();
  }
  Expr *real = ParseSignedNumber();
  if (!At(TokenKind::Plus) && !At(TokenKind::Minus))
    return real;
  const auto *negated = llvm::dyn_cast<UnaryOp>(real);
  const auto *number = llvm::dyn_cast<Constant>(negated != nullptr ? negated->operand : real);
  if (number != nullptr && number->constant_kind == ConstantKind::Complex)
    Complain("invalid-pattern", real->range, "expected a real number before an imaginary one");
  auto *node = New<BinOp>();
  node->op_range = Here();
  node->op = At(TokenKind::Plus) ? Operator::Add : Operator::Sub;
  Advance();
  node->left = real;
  if (!At(TokenKind::Number))
    FailExpected("an imaginary number");
  node->right = panic_ ? Missing() : ParseNumber();
  auto *imaginary = llvm::dyn_cast<Constant>(node->right);
  if (imaginary != nullptr && imaginary->constant_kind != ConstantKind::Complex)
    Complain("invalid-pattern", imaginary->range, "expected an imaginary number, such as 2j");
  return Finish(node, start, real, node->right);
}

Expr *Parser::ParseSignedNumber() {
  const Token &start = Peek();
  if (!Eat(TokenKind::Minus))
    return ParseNumber();
  auto *node = New<UnaryOp>();
  node->op = UnaryOperator::USub;
  if (!At(TokenKind::Number))
    FailExpected("a number after '-'");
  node->operand = panic_ ? Missing() : ParseNumber();
  return Finish(node, start, node->operand);
}

// `(p)` is a group, `(p,)` and `[p]` are sequences.
Pattern *Parser::ParseSequencePattern(TokenKind close) {
  const Token &start = Peek();
  Advance();
  Items<Pattern *> patterns;
  bool comma = false;
  while (!panic_ && !At(close)) {
    patterns.push_back(ParseMaybeStarPattern());
    if (!Eat(TokenKind::Comma))
      break;
    comma = true;
  }
  Expect(close, "or ',' after a pattern");
  bool group = close == TokenKind::RParen && patterns.size() == 1 && !comma;
  if (group && !llvm::isa<MatchStar>(patterns[0]))
    return patterns[0];
  if (group)
    Complain("invalid-pattern", patterns[0]->range, "a '*' pattern stands in a sequence only");
  auto *node = New<MatchSequence>();
  node->patterns = arena_.Copy(patterns);
  return Finish(node, start, node->patterns);
}

Pattern *Parser::ParseMappingPattern() {
  const Token &start = Peek();
  Advance();
  auto *node = New<MatchMapping>();
  Items<Expr *> keys;
  Items<Pattern *> patterns;
  while (!panic_ && !At(TokenKind::RBrace)) {
    if (!node->rest.empty())
      Fail("invalid-pattern", Here(), "nothing can follow '**' in a pattern");
    if (Eat(TokenKind::StarStar)) {
      SourceRange name_range;
      node->rest = ExpectName("a name after '**'", &name_range);
      if (node->rest == "_")
        Complain("invalid-pattern", name_range, "'**_' is not allowed: leave it out");
    } else {
      const Token &key_start = Peek();
      if (At(TokenKind::Name)) {
        auto *name = New<syntax::Name>();
        name->id = ExpectName("a key");
        Expr *key = Finish(name, key_start);
        if (!At(TokenKind::Dot))
          Fail("invalid-pattern", RangeOf(key_start), "a key is a literal or a dotted name");
        while (Eat(TokenKind::Dot)) {
          auto *attribute = New<Attribute>();
          attribute->value = key;
          attribute->attr = ExpectName("a name after '.'", &attribute->attr_range);
          key = Finish(attribute, key_start, key);
        }
        keys.push_back(key);
      } else {
        keys.push_back(ParseLiteralExpr());
      }
      Expect(TokenKind::Colon, "after a key");
      patterns.push_back(ParsePattern());
    }
    if (!Eat(TokenKind::Comma))
      break;
  }
  Expect(TokenKind::RBrace, "or ',' after an entry");
  node->keys = arena_.Copy(keys);
  node->patterns = arena_.Copy(patterns);
  return Finish(node, start, node->keys, node->patterns);
}

Pattern *Parser::ParseClassPattern(Expr *cls, const Token &start) {
  Advance();
  auto *node = New<MatchClass>();
  node->cls = cls;
  Items<Pattern *> patterns, keyword_patterns;
  Items<Identifier> names;
  while (!panic_ && !At(TokenKind::RParen)) {
    if (At(TokenKind::Name) && At(TokenKind::Equal, 1)) {
      names.push_back(ExpectName("a name"));
      Advance();
      keyword_patterns.push_back(ParsePattern());
    } else {
      Pattern *pattern = ParsePattern();
      if (!names.empty())
        Complain("invalid-pattern", pattern->range,
                 "a positional pattern cannot follow a keyword pattern");
      patterns.push_back(pattern);
    }
    if (!Eat(TokenKind::Comma))
      break;
  }
  Expect(TokenKind::RParen, "or ',' after a pattern");
  node->patterns = arena_.Copy(patterns);
  node->kwd_attrs = arena_.Copy(names);
  node->kwd_patterns = arena_.Copy(keyword_patterns);
  return Finish(node, start, cls, node->patterns, node->kwd_patterns);
}

} // namespace pyasc::syntax
