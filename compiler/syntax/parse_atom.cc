// Atoms, displays, comprehensions, calls and subscripts.
#include "compiler/syntax/literal.h"
#include "compiler/syntax/parser.h"

namespace pyasc::syntax {

Constant *Parser::NewConstant(ConstantKind kind, const SourceRange &range) {
  auto *node = New<Constant>();
  node->constant_kind = kind;
  node->range = range;
  return node;
}

Expr *Parser::ParseAtom() {
  const Token &start = Peek();
  auto constant = [&](ConstantKind kind, bool value = false) {
    Advance();
    Constant *node = NewConstant(kind, RangeOf(start));
    node->bool_value = value;
    return node;
  };
  switch (Kind()) {
  case TokenKind::Name: {
    auto *node = New<syntax::Name>();
    node->id = TextOf(Peek());
    Advance();
    return Finish(node, start);
  }
  case TokenKind::Number:
    return ParseNumber();
  case TokenKind::String:
  case TokenKind::FStringStart:
    return ParseStrings();
  case TokenKind::KwNone:
    return constant(ConstantKind::None);
  case TokenKind::KwTrue:
    return constant(ConstantKind::Bool, true);
  case TokenKind::KwFalse:
    return constant(ConstantKind::Bool, false);
  case TokenKind::Ellipsis:
    return constant(ConstantKind::Ellipsis);
  case TokenKind::LParen:
    return ParseParenthesized();
  case TokenKind::LBracket:
    return ParseListDisplay();
  case TokenKind::LBrace:
    return ParseBraces();
  default:
    return FailNoExpression();
  }
}

// Says what is wrong where an expression should begin, with a hint where the mistake is common.
Expr *Parser::FailNoExpression() {
  Expr *missing = Missing();
  if (panic_)
    return missing;
  SourceRange here = Here();
  const Token &next = Peek();
  const Token *previous = index_ == 0 ? nullptr : &stream_.tokens[index_ - 1];
  auto follows_at_once = [&](TokenKind kind) {
    return previous != nullptr && previous->kind == kind && previous->end == next.begin;
  };
  auto both = [&] { return SourceRange::Join(RangeOf(*previous), here); };

  if (At(TokenKind::Ampersand) && follows_at_once(TokenKind::Ampersand)) {
    SourceRange range = both();
    Fail("expected-expression", range, "'&&' is written 'and'").FixIt(range, "and");
  } else if (At(TokenKind::Pipe) && follows_at_once(TokenKind::Pipe)) {
    SourceRange range = both();
    Fail("expected-expression", range, "'||' is written 'or'").FixIt(range, "or");
  } else if (At(TokenKind::Greater) && follows_at_once(TokenKind::Less)) {
    SourceRange range = both();
    Fail("expected-expression", range, "'<>' is written '!='").FixIt(range, "!=");
  } else if (At(TokenKind::Exclamation)) {
    Fail("expected-expression", here, "'!' is written 'not'").FixIt(here, "not ");
  } else if (index_ >= 2 &&
             (previous->kind == TokenKind::Plus || previous->kind == TokenKind::Minus) &&
             stream_.tokens[index_ - 2].kind == previous->kind &&
             stream_.tokens[index_ - 2].end == previous->begin) {
    SourceRange range = SourceRange::Join(RangeOf(stream_.tokens[index_ - 2]), RangeOf(*previous));
    std::string op(TextOf(*previous));
    Fail("expected-expression", range,
         "there is no '" + op + op + "'; write '" + op + "= 1' as a statement of its own");
  } else if (At(TokenKind::Star)) {
    Fail("invalid-starred", here, "'*' cannot unpack here");
  } else if (At(TokenKind::StarStar)) {
    Fail("invalid-starred", here, "'**' cannot unpack here");
  } else if (At(TokenKind::KwYield)) {
    Fail("expected-expression", here, "'yield' needs parentheses here");
  } else if (At(TokenKind::KwLambda) || At(TokenKind::KwNot)) {
    Fail("expected-expression", here, "'" + std::string(TextOf(next)) + "' needs parentheses here");
  } else if (IsKeyword(next.kind)) {
    Fail("expected-expression", here,
         "expected an expression, met the keyword '" + std::string(TextOf(next)) + "'");
  } else {
    bool line_ends = At(TokenKind::Newline) || At(TokenKind::EndMarker);
    Fail("expected-expression", line_ends && last_ != kStop ? AfterLast() : here,
         "expected an expression, met " + DescribeNext());
  }
  return missing;
}

Expr *Parser::ParseNumber() {
  const Token &start = Peek();
  Constant *node = NewConstant(ConstantKind::Int, RangeOf(start));
  if (!DecodeNumber(TextOf(Peek()), options_.max_integer_digits, arena_, *node))
    Complain("integer-too-large", RangeOf(start),
             "this integer has more than the " + std::to_string(options_.max_integer_digits) +
                 " digits that are accepted");
  Advance();
  return node;
}

// ---- ( ), [ ], { }

Expr *Parser::ParseParenthesized() {
  Nest nest(*this);
  const Token &start = Peek();
  Advance();
  if (Eat(TokenKind::RParen))
    return Finish(New<Tuple>(), start);
  if (At(TokenKind::KwYield)) {
    Expr *e = ParseYield();
    Expect(TokenKind::RParen, "after 'yield'");
    e->parenthesized = true;
    return e;
  }
  Expr *first = ParseStarNamedExpression();
  if (At(TokenKind::KwFor) || At(TokenKind::KwAsync)) {
    auto *node = New<GeneratorExp>();
    RefuseLoneStarred(first);
    node->elt = first;
    node->generators = ParseComprehensionClauses();
    Expect(TokenKind::RParen, "after a generator expression");
    return Finish(node, start, first, node->generators);
  }
  if (!At(TokenKind::Comma)) {
    if (At(TokenKind::Equal)) {
      SourceRange here = Here();
      Fail("expected-token", here, "'=' cannot stand here; to compare, write '=='")
          .FixIt(here, "==");
    }
    Expect(TokenKind::RParen, "to end the parentheses");
    RefuseLoneStarred(first);
    first->parenthesized = true;
    return first;
  }
  Items<Expr *> elements = {first};
  while (Eat(TokenKind::Comma) && !At(TokenKind::RParen))
    elements.push_back(ParseStarNamedExpression());
  Expect(TokenKind::RParen, "or ',' after an element");
  auto *tuple = New<Tuple>();
  tuple->parenthesized = true;
  tuple->elts = arena_.Copy(elements);
  return Finish(tuple, start, tuple->elts);
}

Expr *Parser::ParseListDisplay() {
  Nest nest(*this);
  const Token &start = Peek();
  Advance();
  Items<Expr *> elements;
  if (!At(TokenKind::RBracket)) {
    elements.push_back(ParseStarNamedExpression());
    if (At(TokenKind::KwFor) || At(TokenKind::KwAsync)) {
      auto *node = New<ListComp>();
      RefuseLoneStarred(elements[0]);
      node->elt = elements[0];
      node->generators = ParseComprehensionClauses();
      Expect(TokenKind::RBracket, "after a list comprehension");
      return Finish(node, start, node->elt, node->generators);
    }
    while (Eat(TokenKind::Comma) && !At(TokenKind::RBracket))
      elements.push_back(ParseStarNamedExpression());
  }
  Expect(TokenKind::RBracket, "or ',' after an element");
  auto *node = New<List>();
  node->elts = arena_.Copy(elements);
  return Finish(node, start, node->elts);
}

Expr *Parser::ParseBraces() {
  Nest nest(*this);
  const Token &start = Peek();
  Advance();
  if (Eat(TokenKind::RBrace))
    return Finish(New<Dict>(), start);
  if (At(TokenKind::StarStar))
    return ParseDictRest(start, /*first_is_unpacking=*/true);

  Expr *first = ParseStarNamedExpression();
  if (At(TokenKind::Colon) && !llvm::isa<Starred>(first)) {
    if (llvm::isa<NamedExpr>(first) && !first->parenthesized)
      Complain("invalid-target", first->range, "':=' in a key needs parentheses");
    Advance();
    Expr *value = ParseExpression();
    if (At(TokenKind::KwFor) || At(TokenKind::KwAsync)) {
      auto *node = New<DictComp>();
      node->key = first;
      node->value = value;
      node->generators = ParseComprehensionClauses();
      Expect(TokenKind::RBrace, "after a dict comprehension");
      return Finish(node, start, first, value, node->generators);
    }
    auto *rest = llvm::cast<Dict>(ParseDictRest(start, /*first_is_unpacking=*/false));
    Items<Expr *> keys = {first}, values = {value};
    keys.insert(keys.end(), rest->keys.begin(), rest->keys.end());
    values.insert(values.end(), rest->values.begin(), rest->values.end());
    rest->keys = arena_.Copy(keys);
    rest->values = arena_.Copy(values);
    return Finish(rest, start, rest->keys, rest->values);
  }
  if (At(TokenKind::KwFor) || At(TokenKind::KwAsync)) {
    auto *node = New<SetComp>();
    RefuseLoneStarred(first);
    node->elt = first;
    node->generators = ParseComprehensionClauses();
    Expect(TokenKind::RBrace, "after a set comprehension");
    return Finish(node, start, first, node->generators);
  }
  Items<Expr *> elements = {first};
  while (Eat(TokenKind::Comma) && !At(TokenKind::RBrace))
    elements.push_back(ParseStarNamedExpression());
  Expect(TokenKind::RBrace, "or ',' after an element");
  auto *node = New<Set>();
  node->elts = arena_.Copy(elements);
  return Finish(node, start, node->elts);
}

// The entries of a dict after its first, or all of them when the first is `**x`.
Expr *Parser::ParseDictRest(const Token &start, bool first_is_unpacking) {
  Items<Expr *> keys, values;
  bool more = first_is_unpacking || (Eat(TokenKind::Comma) && !At(TokenKind::RBrace));
  while (more && !panic_) {
    if (Eat(TokenKind::StarStar)) {
      keys.push_back(nullptr);
      values.push_back(ParseBitwiseOr());
      if (At(TokenKind::KwFor))
        Fail("invalid-starred", Here(), "'**' cannot be used in a dict comprehension");
    } else {
      keys.push_back(ParseExpression());
      Expect(TokenKind::Colon, "after a key");
      values.push_back(ParseExpression());
    }
    more = Eat(TokenKind::Comma) && !At(TokenKind::RBrace);
  }
  Expect(TokenKind::RBrace, "or ',' after an entry");
  auto *node = New<Dict>();
  node->keys = arena_.Copy(keys);
  node->values = arena_.Copy(values);
  return Finish(node, start, node->keys, node->values);
}

NodeList<Comprehension> Parser::ParseComprehensionClauses() {
  Items<Comprehension *> clauses;
  while (At(TokenKind::KwFor) || (At(TokenKind::KwAsync) && At(TokenKind::KwFor, 1))) {
    const Token &start = Peek();
    auto *node = New<Comprehension>();
    node->is_async = Eat(TokenKind::KwAsync);
    Advance();
    node->target = ParseForTargets();
    Expect(TokenKind::KwIn, "after the target of 'for'");
    node->iter = ParseDisjunction();
    Items<Expr *> ifs;
    while (Eat(TokenKind::KwIf))
      ifs.push_back(ParseDisjunction());
    node->ifs = arena_.Copy(ifs);
    clauses.push_back(Finish(node, start, node->target, node->iter, node->ifs));
  }
  if (clauses.empty())
    FailExpected("'for' after 'async'");
  return arena_.Copy(clauses);
}

// ---- Calls

Expr *Parser::ParseCall(Expr *func, const Token &start) {
  Nest nest(*this);
  SourceRange open = Here();
  Advance();
  auto *node = New<Call>();
  node->func = func;
  Items<Expr *> args;
  Items<Keyword *> keywords;
  ParseArguments(open, args, keywords);
  Expect(TokenKind::RParen, "or ',' after an argument");
  node->args = arena_.Copy(args);
  node->keywords = arena_.Copy(keywords);
  // The parentheses of a call belong to a generator that is its only argument.
  if (args.size() == 1 && llvm::isa<GeneratorExp>(args[0]) && keywords.empty() &&
      args[0]->range.line == 0)
    args[0]->range = SourceRange::Join(open, RangeOf(*last_));
  return Finish(node, start, func, node->args, node->keywords);
}

// Up to, and without, the closing parenthesis. A generator without parentheses of its own gets
// the range {line 0}, which the caller replaces.
void Parser::ParseArguments(const SourceRange &open, Items<Expr *> &args,
                            Items<Keyword *> &keywords) {
  SourceRange first_keyword, first_unpacking;
  while (!panic_ && !At(TokenKind::RParen)) {
    const Token &start = Peek();
    if (Eat(TokenKind::StarStar)) {
      auto *node = New<Keyword>();
      node->value = ParseExpression();
      keywords.push_back(Finish(node, start, node->value));
      if (!first_unpacking.IsKnown())
        first_unpacking = keywords.back()->range;
    } else if (At(TokenKind::Star)) {
      Advance();
      auto *node = New<Starred>();
      node->value = ParseExpression();
      args.push_back(Finish(node, start, node->value));
      if (first_unpacking.IsKnown())
        Complain("invalid-argument", args.back()->range,
                 "a '*' argument cannot follow a '**' argument")
            .Note(first_unpacking, "the '**' argument is here");
    } else if (At(TokenKind::Name) && At(TokenKind::Equal, 1)) {
      auto *node = New<Keyword>();
      node->arg = ExpectName("", &node->name_range);
      Advance();
      node->value = ParseExpression();
      keywords.push_back(Finish(node, start, node->value));
      if (!first_keyword.IsKnown())
        first_keyword = keywords.back()->range;
    } else {
      Expr *value = ParseNamedExpression();
      if (At(TokenKind::KwFor) || At(TokenKind::KwAsync)) {
        auto *node = New<GeneratorExp>();
        node->elt = value;
        node->generators = ParseComprehensionClauses();
        Finish(node, start, value, node->generators);
        bool alone = args.empty() && keywords.empty() && At(TokenKind::RParen);
        if (!alone)
          Complain("invalid-argument", node->range,
                   "a generator beside other arguments needs parentheses of its own");
        else
          node->range = SourceRange{};
        value = node;
      } else if (At(TokenKind::Equal)) {
        Fail("invalid-argument", value->range,
             "a keyword argument has a plain name before '=', not " +
                 std::string(DescribeExpr(value)) + "; to compare, write '=='");
      }
      args.push_back(value);
      const SourceRange &before = first_keyword.IsKnown() ? first_keyword : first_unpacking;
      if (before.IsKnown())
        Complain("invalid-argument", value->range,
                 "a positional argument cannot follow a keyword argument")
            .Note(before, "the keyword argument is here");
    }
    if (!Eat(TokenKind::Comma))
      return;
  }
}

// ---- Subscripts

Expr *Parser::ParseSubscript(Expr *value, const Token &start) {
  Nest nest(*this);
  Advance();
  auto *node = New<Subscript>();
  node->value = value;
  const Token &slices_start = Peek();
  Expr *first = ParseSlice();
  if (At(TokenKind::Comma) || llvm::isa<Starred>(first)) {
    Items<Expr *> slices = {first};
    while (Eat(TokenKind::Comma) && !At(TokenKind::RBracket))
      slices.push_back(ParseSlice());
    auto *tuple = New<Tuple>();
    tuple->elts = arena_.Copy(slices);
    first = Finish(tuple, slices_start, tuple->elts);
  }
  node->slice = first;
  Expect(TokenKind::RBracket, "or ',' after an index");
  return Finish(node, start, value, first);
}

Expr *Parser::ParseSlice() {
  const Token &start = Peek();
  if (At(TokenKind::Star))
    return ParseStarred();
  Expr *lower = At(TokenKind::Colon) ? nullptr : ParseNamedExpression();
  if (!At(TokenKind::Colon))
    return lower != nullptr ? lower : Missing();
  Advance();
  auto at_end = [&] {
    return At(TokenKind::Colon) || At(TokenKind::Comma) || At(TokenKind::RBracket);
  };
  auto *node = New<Slice>();
  node->lower = lower;
  if (!at_end())
    node->upper = ParseExpression();
  if (Eat(TokenKind::Colon) && !at_end())
    node->step = ParseExpression();
  return Finish(node, start, node->lower, node->upper, node->step);
}

} // namespace pyasc::syntax
