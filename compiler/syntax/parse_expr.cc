// Expressions, from the loosest operator to the tightest.
#include "compiler/syntax/parser.h"

namespace pyasc::syntax {
namespace {

struct BinaryOperator {
  int precedence; // -1: no binary operator
  Operator op;
};

BinaryOperator BinaryOperatorOf(TokenKind kind) {
  switch (kind) {
  case TokenKind::Pipe:
    return {0, Operator::BitOr};
  case TokenKind::Caret:
    return {1, Operator::BitXor};
  case TokenKind::Ampersand:
    return {2, Operator::BitAnd};
  case TokenKind::LessLess:
    return {3, Operator::LShift};
  case TokenKind::GreaterGreater:
    return {3, Operator::RShift};
  case TokenKind::Plus:
    return {4, Operator::Add};
  case TokenKind::Minus:
    return {4, Operator::Sub};
  case TokenKind::Star:
    return {5, Operator::Mult};
  case TokenKind::Slash:
    return {5, Operator::Div};
  case TokenKind::SlashSlash:
    return {5, Operator::FloorDiv};
  case TokenKind::Percent:
    return {5, Operator::Mod};
  case TokenKind::At:
    return {5, Operator::MatMult};
  default:
    return {-1, Operator::Add};
  }
}

} // namespace

// Whether the next token ends an expression list, as in `a, b,` before `=`.
bool Parser::AtExpressionEnd() const {
  switch (Kind()) {
  case TokenKind::Newline:
  case TokenKind::EndMarker:
  case TokenKind::Stop:
  case TokenKind::Semicolon:
  case TokenKind::Colon:
  case TokenKind::Equal:
  case TokenKind::RParen:
  case TokenKind::RBracket:
  case TokenKind::RBrace:
  case TokenKind::Exclamation:
  case TokenKind::KwIn:
    return true;
  default:
    return Kind() >= TokenKind::PlusEqual && Kind() <= TokenKind::CaretEqual;
  }
}

// Whether the next token is an operand of one token that no call, index, attribute or power
// follows: most operands are, and need no descent through all the levels of precedence.
bool Parser::AtLoneOperand() const {
  switch (Kind()) {
  case TokenKind::Name:
  case TokenKind::Number:
  case TokenKind::KwNone:
  case TokenKind::KwTrue:
  case TokenKind::KwFalse:
    break;
  default:
    return false;
  }
  switch (Kind(1)) {
  case TokenKind::LParen:
  case TokenKind::LBracket:
  case TokenKind::Dot:
  case TokenKind::StarStar:
    return false;
  default:
    return true;
  }
}

// Whether it is an expression, too: nothing that follows could continue one.
bool Parser::AtLoneAtom() const {
  switch (Kind(1)) {
  case TokenKind::Newline:
  case TokenKind::Comma:
  case TokenKind::Colon:
  case TokenKind::Equal:
  case TokenKind::RParen:
  case TokenKind::RBracket:
  case TokenKind::RBrace:
    return AtLoneOperand();
  default:
    return false;
  }
}

// ---- Lists of expressions

Expr *Parser::ParseYieldOrStarExpressions() {
  return At(TokenKind::KwYield) ? ParseYield() : ParseStarExpressions();
}

Expr *Parser::ParseStarExpressions() {
  const Token &start = Peek();
  Expr *first = ParseStarExpression();
  if (!At(TokenKind::Comma))
    return first;
  Items<Expr *> elements = {first};
  while (Eat(TokenKind::Comma) && !AtExpressionEnd())
    elements.push_back(ParseStarExpression());
  auto *tuple = New<Tuple>();
  tuple->elts = arena_.Copy(elements);
  return Finish(tuple, start, tuple->elts);
}

Expr *Parser::ParseStarExpression() {
  return At(TokenKind::Star) ? ParseStarred() : ParseExpression();
}

Expr *Parser::ParseStarNamedExpression() {
  return At(TokenKind::Star) ? ParseStarred() : ParseNamedExpression();
}

Expr *Parser::ParseStarred() {
  const Token &start = Peek();
  Expect(TokenKind::Star, "");
  auto *node = New<Starred>();
  node->value = ParseBitwiseOr();
  return Finish(node, start, node->value);
}

// `*x` means something only among other elements.
void Parser::RefuseLoneStarred(Expr *e) {
  if (e != nullptr && llvm::isa<Starred>(e))
    Complain("invalid-starred", e->range,
             "'*' unpacks into a list, tuple or call; for a tuple of it alone, write a comma after "
             "it");
}

Expr *Parser::ParseYield() {
  const Token &start = Peek();
  Expect(TokenKind::KwYield, "");
  if (Eat(TokenKind::KwFrom)) {
    auto *node = New<YieldFrom>();
    node->value = ParseExpression();
    return Finish(node, start, node->value);
  }
  auto *node = New<Yield>();
  if (!AtExpressionEnd()) {
    node->value = ParseStarExpressions();
    RefuseLoneStarred(node->value);
  }
  return Finish(node, start, node->value);
}

// ---- One expression

Expr *Parser::ParseNamedExpression() {
  if (!At(TokenKind::Name) || !At(TokenKind::ColonEqual, 1)) {
    Expr *e = ParseExpression();
    if (At(TokenKind::ColonEqual))
      Fail("invalid-target", e->range,
           "':=' assigns to a name only, not to " + std::string(DescribeExpr(e)));
    return e;
  }
  const Token &start = Peek();
  auto *target = New<syntax::Name>();
  target->id = TextOf(Peek());
  target->ctx = ExprContext::Store;
  Advance();
  auto *node = New<NamedExpr>();
  node->target = Finish(target, start);
  Advance();
  node->value = ParseExpression();
  return Finish(node, start, node->target, node->value);
}

Expr *Parser::ParseExpression() {
  if (AtLoneAtom())
    return ParseAtom();
  if (At(TokenKind::KwLambda))
    return ParseLambda();
  const Token &start = Peek();
  Expr *body = ParseDisjunction();
  if (!At(TokenKind::KwIf))
    return body;
  Nest nest(*this);
  Advance();
  auto *node = New<IfExp>();
  node->body = body;
  node->test = ParseDisjunction();
  Expect(TokenKind::KwElse, "in a conditional expression");
  node->orelse = ParseExpression();
  return Finish(node, start, node->body, node->test, node->orelse);
}

Expr *Parser::ParseLambda() {
  Nest nest(*this);
  const Token &start = Peek();
  Advance();
  auto *node = New<Lambda>();
  node->args = ParseParameters(TokenKind::Colon, /*annotations=*/false);
  Expect(TokenKind::Colon, "after the parameters of 'lambda'");
  node->body = ParseExpression();
  return Finish(node, start, node->args, node->body);
}

// ---- Logic

Expr *Parser::ParseDisjunction() {
  const Token &start = Peek();
  Expr *first = ParseConjunction();
  if (!At(TokenKind::KwOr))
    return first;
  Items<Expr *> values = {first};
  while (Eat(TokenKind::KwOr))
    values.push_back(ParseConjunction());
  auto *node = New<BoolOp>();
  node->op = BoolOperator::Or;
  node->values = arena_.Copy(values);
  return Finish(node, start, node->values);
}

Expr *Parser::ParseConjunction() {
  const Token &start = Peek();
  Expr *first = ParseInversion();
  if (!At(TokenKind::KwAnd))
    return first;
  Items<Expr *> values = {first};
  while (Eat(TokenKind::KwAnd))
    values.push_back(ParseInversion());
  auto *node = New<BoolOp>();
  node->op = BoolOperator::And;
  node->values = arena_.Copy(values);
  return Finish(node, start, node->values);
}

Expr *Parser::ParseInversion() {
  if (!At(TokenKind::KwNot))
    return ParseComparison();
  Nest nest(*this);
  const Token &start = Peek();
  Advance();
  auto *node = New<UnaryOp>();
  node->op = UnaryOperator::Not;
  node->operand = ParseInversion();
  return Finish(node, start, node->operand);
}

Expr *Parser::ParseComparison() {
  const Token &start = Peek();
  Expr *left = ParseBitwiseOr();
  CmpOperator op;
  SourceRange op_range;
  if (!EatComparison(op, op_range))
    return left;
  Items<CmpOperator> ops;
  Items<SourceRange> op_ranges;
  Items<Expr *> comparators;
  do {
    ops.push_back(op);
    op_ranges.push_back(op_range);
    comparators.push_back(ParseBitwiseOr());
  } while (EatComparison(op, op_range));
  auto *node = New<Compare>();
  node->left = left;
  node->ops = arena_.Copy(ops);
  node->op_ranges = arena_.Copy(op_ranges);
  node->comparators = arena_.Copy(comparators);
  return Finish(node, start, left, node->comparators);
}

bool Parser::EatComparison(CmpOperator &op, SourceRange &range) {
  range = Here();
  switch (Kind()) {
  case TokenKind::EqualEqual:
    op = CmpOperator::Eq;
    break;
  case TokenKind::NotEqual:
    op = CmpOperator::NotEq;
    break;
  case TokenKind::Less:
    op = CmpOperator::Lt;
    break;
  case TokenKind::LessEqual:
    op = CmpOperator::LtE;
    break;
  case TokenKind::Greater:
    op = CmpOperator::Gt;
    break;
  case TokenKind::GreaterEqual:
    op = CmpOperator::GtE;
    break;
  case TokenKind::KwIn:
    op = CmpOperator::In;
    break;
  case TokenKind::KwNot:
    if (!At(TokenKind::KwIn, 1))
      return false;
    Advance();
    op = CmpOperator::NotIn;
    break;
  case TokenKind::KwIs:
    op = CmpOperator::Is;
    if (At(TokenKind::KwNot, 1)) {
      Advance();
      op = CmpOperator::IsNot;
    }
    break;
  default:
    return false;
  }
  range = SourceRange::Join(range, Here());
  Advance();
  return true;
}

// ---- Arithmetic

Expr *Parser::ParseBinary(int min_precedence) {
  const Token &start = Peek();
  Expr *left = AtLoneOperand() ? ParseAtom() : ParseFactor();
  for (;;) {
    BinaryOperator op = BinaryOperatorOf(Kind());
    if (op.precedence < min_precedence)
      return left;
    auto *node = New<BinOp>();
    node->op_range = Here();
    Advance();
    node->left = left;
    node->op = op.op;
    node->right = ParseBinary(op.precedence + 1);
    left = Finish(node, start, left, node->right);
  }
}

Expr *Parser::ParseFactor() {
  UnaryOperator op;
  switch (Kind()) {
  case TokenKind::Plus:
    op = UnaryOperator::UAdd;
    break;
  case TokenKind::Minus:
    op = UnaryOperator::USub;
    break;
  case TokenKind::Tilde:
    op = UnaryOperator::Invert;
    break;
  default:
    return ParsePower();
  }
  Nest nest(*this);
  const Token &start = Peek();
  Advance();
  auto *node = New<UnaryOp>();
  node->op = op;
  node->operand = ParseFactor();
  return Finish(node, start, node->operand);
}

Expr *Parser::ParsePower() {
  const Token &start = Peek();
  Expr *base = nullptr;
  if (At(TokenKind::KwAwait)) {
    Advance();
    auto *await = New<Await>();
    await->value = ParsePrimary();
    base = Finish(await, start, await->value);
  } else {
    base = ParsePrimary();
  }
  if (!At(TokenKind::StarStar))
    return base;
  Nest nest(*this);
  auto *node = New<BinOp>();
  node->op_range = Here();
  Advance();
  node->left = base;
  node->op = Operator::Pow;
  node->right = ParseFactor();
  return Finish(node, start, base, node->right);
}

Expr *Parser::ParsePrimary() {
  const Token &start = Peek();
  Expr *e = ParseAtom();
  for (;;) {
    if (At(TokenKind::LParen)) {
      e = ParseCall(e, start);
    } else if (At(TokenKind::LBracket)) {
      e = ParseSubscript(e, start);
    } else if (Eat(TokenKind::Dot)) {
      auto *node = New<Attribute>();
      node->value = e;
      node->attr = ExpectName("a name after '.'", &node->attr_range);
      e = Finish(node, start, e);
    } else {
      return e;
    }
  }
}

} // namespace pyasc::syntax
