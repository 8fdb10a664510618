// What can be assigned to.
#include "compiler/syntax/parser.h"

namespace pyasc::syntax {

Expr *Parser::ParseForTargets() {
  // Not a general expression: `in` would be taken for a comparison.
  const Token &start = Peek();
  auto one = [&]() -> Expr * { return At(TokenKind::Star) ? ParseStarred() : ParseBitwiseOr(); };
  Expr *first = one();
  if (At(TokenKind::Comma)) {
    Items<Expr *> elements = {first};
    while (Eat(TokenKind::Comma) && !AtExpressionEnd())
      elements.push_back(one());
    auto *tuple = New<Tuple>();
    tuple->elts = arena_.Copy(elements);
    first = Finish(tuple, start, tuple->elts);
  }
  MakeTarget(first, ExprContext::Store);
  RefuseLoneStarred(first);
  return first;
}

// Recursion is bounded by the depth of the tree.
void Parser::MakeTarget(Expr *e, ExprContext ctx) {
  if (panic_)
    return;
  switch (e->kind) {
  case NodeKind::Name:
    llvm::cast<syntax::Name>(e)->ctx = ctx;
    return;
  case NodeKind::Attribute:
    llvm::cast<Attribute>(e)->ctx = ctx;
    return;
  case NodeKind::Subscript:
    llvm::cast<Subscript>(e)->ctx = ctx;
    return;
  case NodeKind::Starred: {
    if (ctx == ExprContext::Del)
      break;
    auto *starred = llvm::cast<Starred>(e);
    starred->ctx = ctx;
    MakeTarget(starred->value, ctx);
    return;
  }
  case NodeKind::Tuple: {
    auto *tuple = llvm::cast<Tuple>(e);
    tuple->ctx = ctx;
    for (Expr *element : tuple->elts)
      MakeTarget(element, ctx);
    return;
  }
  case NodeKind::List: {
    auto *list = llvm::cast<List>(e);
    list->ctx = ctx;
    for (Expr *element : list->elts)
      MakeTarget(element, ctx);
    return;
  }
  default:
    break;
  }
  std::string message = ctx == ExprContext::Del ? "cannot delete " : "cannot assign to ";
  message += DescribeExpr(e);
  if (ctx == ExprContext::Store && llvm::isa<Compare>(e))
    message += "; write '==' to compare";
  Complain("invalid-target", e->range, message);
}

std::string_view Parser::DescribeExpr(const Expr *e) {
  switch (e->kind) {
  case NodeKind::BoolOp:
  case NodeKind::BinOp:
  case NodeKind::UnaryOp:
    return "an expression with an operator";
  case NodeKind::NamedExpr:
    return "an assignment expression";
  case NodeKind::Lambda:
    return "a lambda";
  case NodeKind::IfExp:
    return "a conditional expression";
  case NodeKind::Dict:
    return "a dict";
  case NodeKind::Set:
    return "a set";
  case NodeKind::ListComp:
  case NodeKind::SetComp:
  case NodeKind::DictComp:
    return "a comprehension";
  case NodeKind::GeneratorExp:
    return "a generator expression";
  case NodeKind::Await:
    return "an 'await' expression";
  case NodeKind::Yield:
  case NodeKind::YieldFrom:
    return "a 'yield' expression";
  case NodeKind::Compare:
    return "a comparison";
  case NodeKind::Call:
    return "a function call";
  case NodeKind::JoinedStr:
  case NodeKind::FormattedValue:
    return "an f-string";
  case NodeKind::Attribute:
    return "an attribute";
  case NodeKind::Subscript:
    return "an element";
  case NodeKind::Starred:
    return "a '*' expression";
  case NodeKind::Name:
    return "a name";
  case NodeKind::List:
    return "a list";
  case NodeKind::Tuple:
    return "a tuple";
  case NodeKind::Slice:
    return "a slice";
  case NodeKind::Constant:
    break;
  default:
    return "this";
  }
  switch (llvm::cast<Constant>(e)->constant_kind) {
  case ConstantKind::None:
    return "None";
  case ConstantKind::Bool:
    return llvm::cast<Constant>(e)->bool_value ? "True" : "False";
  case ConstantKind::Ellipsis:
    return "'...'";
  case ConstantKind::Str:
  case ConstantKind::Bytes:
    return "a string";
  default:
    return "a number";
  }
}

} // namespace pyasc::syntax
