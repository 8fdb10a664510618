// Parameters of functions and lambdas, and type parameters.
#include "compiler/syntax/parser.h"

namespace pyasc::syntax {

// Up to, and without, the token `end`.
Arguments *Parser::ParseParameters(TokenKind end, bool annotations) {
  const Token &start = Peek();
  auto *node = New<Arguments>();
  Items<Arg *> positional_only, args, keyword_only;
  Items<Expr *> defaults, keyword_defaults;
  bool seen_star = false, seen_slash = false;
  SourceRange bare_star;

  while (!panic_ && !At(end)) {
    if (node->kwarg != nullptr) {
      Fail("invalid-parameter", Here(), "nothing can follow the '**' parameter");
      break;
    }
    SourceRange here = Here();
    if (Eat(TokenKind::Slash)) {
      if (seen_slash || seen_star)
        Complain("invalid-parameter", here,
                 seen_slash ? "'/' can stand only once" : "'/' must come before '*'");
      else if (args.empty())
        Complain("invalid-parameter", here, "expected a parameter before '/'");
      seen_slash = true;
      positional_only.swap(args);
    } else if (Eat(TokenKind::StarStar)) {
      node->kwarg = ParseParameter(annotations, /*star=*/false);
      if (At(TokenKind::Equal))
        Fail("invalid-parameter", Here(), "the '**' parameter cannot have a default");
    } else if (Eat(TokenKind::Star)) {
      if (seen_star)
        Complain("invalid-parameter", here, "'*' can stand only once");
      seen_star = true;
      if (At(TokenKind::Comma) || At(end)) {
        bare_star = here;
      } else {
        node->vararg = ParseParameter(annotations, /*star=*/true);
        if (At(TokenKind::Equal))
          Fail("invalid-parameter", Here(), "the '*' parameter cannot have a default");
      }
    } else {
      if (At(TokenKind::LParen)) {
        Fail("invalid-parameter", here, "a parameter is a name; it cannot be in parentheses");
        break;
      }
      Arg *arg = ParseParameter(annotations, /*star=*/false);
      Expr *value = Eat(TokenKind::Equal) ? ParseExpression() : nullptr;
      if (seen_star) {
        keyword_only.push_back(arg);
        keyword_defaults.push_back(value);
      } else {
        args.push_back(arg);
        if (value != nullptr)
          defaults.push_back(value);
        else if (!defaults.empty())
          Complain("invalid-parameter", arg->range,
                   "a parameter without a default cannot follow one that has a default");
      }
    }
    if (!Eat(TokenKind::Comma))
      break;
  }
  if (bare_star.IsKnown() && keyword_only.empty())
    Complain("invalid-parameter", bare_star, "expected a named parameter after '*'");

  node->posonlyargs = arena_.Copy(positional_only);
  node->args = arena_.Copy(args);
  node->kwonlyargs = arena_.Copy(keyword_only);
  node->kw_defaults = arena_.Copy(keyword_defaults);
  node->defaults = arena_.Copy(defaults);
  Finish(node, start, node->posonlyargs, node->args, node->vararg, node->kwonlyargs,
         node->kw_defaults, node->kwarg, node->defaults);
  if (panic_ || (last_->end_line == start.line && last_->end_column <= start.column) ||
      last_->end_line < start.line)
    node->range = SourceRange{};
  return node;
}

Arg *Parser::ParseParameter(bool annotations, bool star) {
  const Token &start = Peek();
  auto *node = New<Arg>();
  node->arg = ExpectName("the name of a parameter", &node->name_range);
  if (annotations && Eat(TokenKind::Colon))
    node->annotation = star && At(TokenKind::Star) ? ParseStarred() : ParseExpression();
  return Finish(node, start, node->annotation);
}

NodeList<TypeParam> Parser::ParseTypeParams() {
  if (!Eat(TokenKind::LBracket))
    return {};
  Items<TypeParam *> params;
  do
    params.push_back(ParseTypeParam());
  while (Eat(TokenKind::Comma) && !At(TokenKind::RBracket));
  Expect(TokenKind::RBracket, "or ',' after a type parameter");
  return arena_.Copy(params);
}

TypeParam *Parser::ParseTypeParam() {
  const Token &start = Peek();
  if (Eat(TokenKind::Star)) {
    auto *node = New<TypeVarTuple>();
    node->name = ExpectName("the name of a type parameter");
    return Finish(node, start);
  }
  if (Eat(TokenKind::StarStar)) {
    auto *node = New<ParamSpec>();
    node->name = ExpectName("the name of a type parameter");
    return Finish(node, start);
  }
  auto *node = New<TypeVar>();
  node->name = ExpectName("the name of a type parameter");
  if (Eat(TokenKind::Colon))
    node->bound = ParseExpression();
  return Finish(node, start, node->bound);
}

} // namespace pyasc::syntax
