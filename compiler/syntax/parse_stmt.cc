// Simple statements.
#include <optional>

#include "compiler/syntax/parser.h"

namespace pyasc::syntax {
namespace {

std::optional<Operator> AugmentedOperator(TokenKind kind) {
  switch (kind) {
  case TokenKind::PlusEqual:
    return Operator::Add;
  case TokenKind::MinusEqual:
    return Operator::Sub;
  case TokenKind::StarEqual:
    return Operator::Mult;
  case TokenKind::AtEqual:
    return Operator::MatMult;
  case TokenKind::SlashEqual:
    return Operator::Div;
  case TokenKind::PercentEqual:
    return Operator::Mod;
  case TokenKind::StarStarEqual:
    return Operator::Pow;
  case TokenKind::LessLessEqual:
    return Operator::LShift;
  case TokenKind::GreaterGreaterEqual:
    return Operator::RShift;
  case TokenKind::PipeEqual:
    return Operator::BitOr;
  case TokenKind::CaretEqual:
    return Operator::BitXor;
  case TokenKind::AmpersandEqual:
    return Operator::BitAnd;
  case TokenKind::SlashSlashEqual:
    return Operator::FloorDiv;
  default:
    return std::nullopt;
  }
}

} // namespace

void Parser::ParseStatements(Items<Stmt *> &out) {
  if (Eat(TokenKind::Newline)) // left over from a repair of the lexer's
    return;
  if (At(TokenKind::Indent)) {
    Complain("unexpected-indent", Here(),
             "this line is indented deeper than the block that it is in");
    Nest nest(*this);
    if (panic_)
      return Recover(); // skips the block
    Advance();
    while (!At(TokenKind::Dedent) && !At(TokenKind::EndMarker))
      ParseStatements(out);
    Eat(TokenKind::Dedent);
    return;
  }
  if (!AtCompoundStatement())
    return ParseSimpleStatements(out);
  Stmt *statement = ParseCompoundStatement();
  if (panic_)
    Recover();
  else
    out.push_back(statement);
}

void Parser::ParseSimpleStatements(Items<Stmt *> &out) {
  do {
    Stmt *statement = ParseSimpleStatement();
    if (!panic_ && !At(TokenKind::Semicolon))
      ExpectStatementEnd();
    if (panic_)
      return Recover();
    out.push_back(statement);
  } while (Eat(TokenKind::Semicolon) && !At(TokenKind::Newline));
  Eat(TokenKind::Newline);
}

void Parser::ExpectStatementEnd() {
  if (At(TokenKind::Newline) || At(TokenKind::EndMarker))
    return;
  const Token &previous = stream_.tokens[index_ == 0 ? 0 : index_ - 1];
  std::string_view before = TextOf(previous);
  bool after_name = previous.kind == TokenKind::Name;
  bool operand = At(TokenKind::Name) || At(TokenKind::String) || At(TokenKind::Number) ||
                 At(TokenKind::FStringStart);
  if (after_name && (before == "print" || before == "exec") && operand) {
    Fail("missing-parentheses", RangeOf(previous),
         "'" + std::string(before) + "' is a function: its arguments need parentheses");
    return;
  }
  if (At(TokenKind::Equal)) {
    Fail("expected-token", Here(),
         "'=' cannot stand here; '==' compares, '=' assigns to what is "
         "on its left");
    return;
  }
  if (At(TokenKind::RParen) || At(TokenKind::RBracket) || At(TokenKind::RBrace)) {
    FailExpected("the end of the statement");
    return;
  }
  if (At(TokenKind::Colon)) {
    Fail("expected-token", Here(),
         "expected the end of the statement, met ':'; a statement that opens a block begins with "
         "a keyword such as 'if' or 'for'");
    return;
  }
  FailExpected("the end of the statement");
}

Stmt *Parser::ParseSimpleStatement() {
  const Token &start = Peek();
  auto keyword_only = [&](auto *node) {
    Advance();
    return Finish(node, start);
  };
  switch (Kind()) {
  case TokenKind::KwPass:
    return keyword_only(New<Pass>());
  case TokenKind::KwBreak:
    return keyword_only(New<Break>());
  case TokenKind::KwContinue:
    return keyword_only(New<Continue>());
  case TokenKind::KwReturn:
    return ParseReturn();
  case TokenKind::KwRaise:
    return ParseRaise();
  case TokenKind::KwAssert:
    return ParseAssert();
  case TokenKind::KwDel:
    return ParseDelete();
  case TokenKind::KwImport:
    return ParseImport();
  case TokenKind::KwFrom:
    return ParseImportFrom();
  case TokenKind::KwGlobal: {
    auto *node = New<Global>();
    node->names = ParseNameList();
    return Finish(node, start);
  }
  case TokenKind::KwNonlocal: {
    auto *node = New<Nonlocal>();
    node->names = ParseNameList();
    return Finish(node, start);
  }
  default:
    break;
  }
  bool type_alias = AtName("type") && At(TokenKind::Name, 1) &&
                    (At(TokenKind::Equal, 2) || At(TokenKind::LBracket, 2));
  return type_alias ? ParseTypeAlias() : ParseExpressionStatement();
}

Stmt *Parser::ParseExpressionStatement() {
  const Token &start = Peek();
  Expr *value = ParseYieldOrStarExpressions();
  if (At(TokenKind::Equal))
    return ParseAssignment(value, start);
  if (auto op = AugmentedOperator(Kind()))
    return ParseAugAssign(value, start, *op);
  bool annotatable = llvm::isa<syntax::Name, Attribute, Subscript>(value);
  // Any other target is refused in ParseAnnAssign, but "else:" and the like are not annotations.
  if (At(TokenKind::Colon) && (annotatable || llvm::isa<List, Tuple>(value)) &&
      !At(TokenKind::Newline, 1))
    return ParseAnnAssign(value, start);
  RefuseLoneStarred(value);
  auto *node = New<ExprStmt>();
  node->value = value;
  return Finish(node, start, value);
}

Stmt *Parser::ParseAssignment(Expr *first, const Token &start) {
  Items<Expr *> targets;
  Expr *value = first;
  while (!panic_ && At(TokenKind::Equal)) {
    MakeTarget(value, ExprContext::Store);
    RefuseLoneStarred(value);
    targets.push_back(value);
    Advance();
    value = ParseYieldOrStarExpressions();
  }
  if (AugmentedOperator(Kind()))
    Fail("expected-token", Here(), "an augmented assignment cannot be chained");
  RefuseLoneStarred(value);
  auto *node = New<Assign>();
  node->targets = arena_.Copy(targets);
  node->value = value;
  return Finish(node, start, node->targets, value);
}

Stmt *Parser::ParseAugAssign(Expr *target, const Token &start, Operator op) {
  auto *node = New<AugAssign>();
  node->op_range = Here();
  if (llvm::isa<syntax::Name, Attribute, Subscript>(target))
    MakeTarget(target, ExprContext::Store);
  else
    Complain("invalid-target", target->range,
             std::string(DescribeExpr(target)) + " cannot be the target of an augmented "
                                                 "assignment: expected a name, an attribute or an "
                                                 "element");
  Advance();
  node->target = target;
  node->op = op;
  node->value = ParseYieldOrStarExpressions();
  RefuseLoneStarred(node->value);
  return Finish(node, start, target, node->value);
}

Stmt *Parser::ParseAnnAssign(Expr *target, const Token &start) {
  auto *node = New<AnnAssign>();
  if (llvm::isa<syntax::Name, Attribute, Subscript>(target))
    MakeTarget(target, ExprContext::Store);
  else
    Complain("invalid-target", target->range,
             "only a single target can be annotated, not " + std::string(DescribeExpr(target)));
  Expect(TokenKind::Colon, "");
  node->target = target;
  node->simple = llvm::isa<syntax::Name>(target) && !target->parenthesized;
  node->annotation = ParseExpression();
  if (Eat(TokenKind::Equal)) {
    node->value = ParseYieldOrStarExpressions();
    RefuseLoneStarred(node->value);
  }
  return Finish(node, start, target, node->annotation, node->value);
}

Stmt *Parser::ParseTypeAlias() {
  const Token &start = Peek();
  Advance();
  auto *name = New<syntax::Name>();
  const Token &name_start = Peek();
  name->id = ExpectName("the name of the type");
  name->ctx = ExprContext::Store;
  auto *node = New<TypeAlias>();
  node->name = Finish(name, name_start);
  node->type_params = ParseTypeParams();
  Expect(TokenKind::Equal, "after the name of the type");
  node->value = ParseExpression();
  return Finish(node, start, node->name, node->type_params, node->value);
}

Stmt *Parser::ParseDelete() {
  const Token &start = Peek();
  Advance();
  Items<Expr *> targets;
  do {
    Expr *target = ParseStarExpression();
    MakeTarget(target, ExprContext::Del);
    targets.push_back(target);
  } while (Eat(TokenKind::Comma) && !AtExpressionEnd());
  auto *node = New<Delete>();
  node->targets = arena_.Copy(targets);
  return Finish(node, start, node->targets);
}

Stmt *Parser::ParseReturn() {
  const Token &start = Peek();
  Advance();
  auto *node = New<Return>();
  if (!AtExpressionEnd()) {
    node->value = ParseStarExpressions();
    RefuseLoneStarred(node->value);
  }
  return Finish(node, start, node->value);
}

Stmt *Parser::ParseRaise() {
  const Token &start = Peek();
  Advance();
  auto *node = New<Raise>();
  if (!AtExpressionEnd()) {
    node->exc = ParseExpression();
    if (Eat(TokenKind::KwFrom))
      node->cause = ParseExpression();
  }
  return Finish(node, start, node->exc, node->cause);
}

Stmt *Parser::ParseAssert() {
  const Token &start = Peek();
  Advance();
  auto *node = New<Assert>();
  node->test = ParseExpression();
  if (Eat(TokenKind::Comma))
    node->msg = ParseExpression();
  return Finish(node, start, node->test, node->msg);
}

std::span<const Identifier> Parser::ParseNameList() {
  Advance();
  Items<Identifier> names;
  do
    names.push_back(ExpectName("a name"));
  while (Eat(TokenKind::Comma));
  return arena_.Copy(names);
}

// ---- Imports

Stmt *Parser::ParseImport() {
  const Token &start = Peek();
  Advance();
  Items<Alias *> names;
  do
    names.push_back(ParseAlias(/*dotted=*/true));
  while (Eat(TokenKind::Comma));
  if (At(TokenKind::KwFrom))
    Fail("expected-token", Here(),
         "write 'from module import name', not 'import name from module'");
  auto *node = New<Import>();
  node->names = arena_.Copy(names);
  return Finish(node, start, node->names);
}

Stmt *Parser::ParseImportFrom() {
  const Token &start = Peek();
  Advance();
  auto *node = New<ImportFrom>();
  for (;;) {
    if (Eat(TokenKind::Dot))
      node->level += 1;
    else if (Eat(TokenKind::Ellipsis))
      node->level += 3;
    else
      break;
  }
  if (node->level == 0 || !At(TokenKind::KwImport))
    node->module = ParseDottedName();
  Expect(TokenKind::KwImport, "after the name of the module");
  Items<Alias *> names;
  ParseImportNames(names);
  node->names = arena_.Copy(names);
  return Finish(node, start, node->names);
}

void Parser::ParseImportNames(Items<Alias *> &names) {
  if (At(TokenKind::Star)) {
    const Token &start = Peek();
    auto *alias = New<Alias>();
    alias->name = TextOf(Peek());
    Advance();
    names.push_back(Finish(alias, start));
    return;
  }
  bool parenthesized = Eat(TokenKind::LParen);
  do
    names.push_back(ParseAlias(/*dotted=*/false));
  while (Eat(TokenKind::Comma) && !(parenthesized && At(TokenKind::RParen)));
  if (parenthesized)
    Expect(TokenKind::RParen, "or ',' after an imported name");
}

Alias *Parser::ParseAlias(bool dotted) {
  const Token &start = Peek();
  auto *alias = New<Alias>();
  alias->name = dotted ? ParseDottedName() : ExpectName("a name to import");
  if (Eat(TokenKind::KwAs))
    alias->asname = ExpectName("a name after 'as'");
  return Finish(alias, start);
}

Identifier Parser::ParseDottedName() {
  const Token &first = Peek();
  Identifier name = ExpectName("the name of a module");
  if (!At(TokenKind::Dot))
    return name;
  // A view of the text when it is written without blanks, as nearly always.
  std::string joined(name);
  while (Eat(TokenKind::Dot))
    joined.append(".").append(ExpectName("a name after '.'"));
  if (panic_)
    return name;
  std::string_view written = text_.substr(first.begin, joined.size());
  return written == joined ? written : arena_.CopyText(joined);
}

} // namespace pyasc::syntax
