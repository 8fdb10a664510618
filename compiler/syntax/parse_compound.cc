// Statements with blocks.
#include <array>

#include "compiler/syntax/parser.h"

namespace pyasc::syntax {

bool Parser::AtCompoundStatement() const {
  switch (Kind()) {
  case TokenKind::KwIf:
  case TokenKind::KwWhile:
  case TokenKind::KwFor:
  case TokenKind::KwWith:
  case TokenKind::KwTry:
  case TokenKind::KwDef:
  case TokenKind::KwClass:
  case TokenKind::KwAsync:
  case TokenKind::At:
  case TokenKind::KwElif:
  case TokenKind::KwElse:
  case TokenKind::KwExcept:
  case TokenKind::KwFinally:
    return true;
  case TokenKind::Name:
    return AtMatchStatement();
  default:
    return false;
  }
}

// `match` is a keyword when its line ends with a colon and something stands between; no other
// statement that begins with a name looks like that.
bool Parser::AtMatchStatement() const {
  if (!AtName("match") || At(TokenKind::Colon, 1) || At(TokenKind::Equal, 1))
    return false;
  size_t i = index_ + 1;
  while (stream_.tokens[i].kind != TokenKind::Newline &&
         stream_.tokens[i].kind != TokenKind::EndMarker)
    ++i;
  return stream_.tokens[i - 1].kind == TokenKind::Colon;
}

Stmt *Parser::ParseCompoundStatement() {
  const Token &start = Peek();
  switch (Kind()) {
  case TokenKind::KwIf:
    return ParseIf();
  case TokenKind::KwWhile:
    return ParseWhile();
  case TokenKind::KwFor:
    return ParseFor(start, /*async=*/false);
  case TokenKind::KwWith:
    return ParseWith(start, /*async=*/false);
  case TokenKind::KwTry:
    return ParseTry();
  case TokenKind::KwDef:
    return ParseFunction(start, /*async=*/false, {});
  case TokenKind::KwClass:
    return ParseClass({});
  case TokenKind::KwAsync:
    return ParseAsync({});
  case TokenKind::At:
    return ParseDecorated();
  case TokenKind::Name:
    return ParseMatch();
  default:
    Fail("misplaced-keyword", Here(),
         "'" + std::string(TextOf(Peek())) +
             "' belongs to no statement before it; its "
             "indentation must be that of its statement");
    return New<Pass>();
  }
}

// ---- Blocks

void Parser::ExpectColon(std::string_view what) {
  if (Eat(TokenKind::Colon) || panic_)
    return;
  if (At(TokenKind::Equal)) {
    SourceRange here = Here();
    Fail("expected-token", here, "'=' assigns; to compare, write '=='").FixIt(here, "==");
    return;
  }
  std::string message = "expected ':' after " + std::string(what);
  bool block_follows = At(TokenKind::Newline);
  if (!block_follows) {
    Fail("expected-token", Here(), message + ", met " + DescribeNext());
    return;
  }
  if (!stream_.InUnclosed(static_cast<uint32_t>(index_)))
    Complain("expected-token", AfterLast(), message).FixIt(AfterLast(), ":");
}

Stmts Parser::ParseBlock(std::string_view what, const SourceRange &header) {
  Items<Stmt *> body;
  if (panic_)
    return {};
  if (!Eat(TokenKind::Newline)) {
    if (!At(TokenKind::Name) && AtCompoundStatement()) {
      Fail("expected-token", Here(),
           "'" + std::string(TextOf(Peek())) + "' must stand on a line of its own");
      return {};
    }
    ParseSimpleStatements(body);
    return arena_.Copy(body);
  }
  if (!At(TokenKind::Indent)) {
    SourceRange range = At(TokenKind::Dedent) || At(TokenKind::EndMarker) ? AfterLast() : Here();
    Complain("expected-indented-block", range,
             "expected an indented block after " + std::string(what))
        .Note(header, "it belongs to this line");
    return {};
  }
  Nest nest(*this);
  if (panic_)
    return {};
  Advance();
  while (!At(TokenKind::Dedent) && !At(TokenKind::EndMarker))
    ParseStatements(body);
  Eat(TokenKind::Dedent);
  return arena_.Copy(body);
}

Stmts Parser::ParseElse(std::string_view what) {
  SourceRange header = Here();
  if (!At(TokenKind::KwElse))
    return {};
  Advance();
  if (At(TokenKind::KwIf)) {
    SourceRange both = SourceRange::Join(header, Here());
    Fail("expected-token", both, "write 'elif', not 'else if'").FixIt(both, "elif");
    return {};
  }
  ExpectColon("'else'");
  return ParseBlock(what, header);
}

Expr *Parser::ParseCondition() { return ParseNamedExpression(); }

// ---- if, while, for

Stmt *Parser::ParseIf() {
  // A chain of elif is a tree that leans to the right; it is read in a loop.
  struct Link {
    If *node;
    const Token *start;
  };
  Items<Link> chain;
  Stmts orelse;
  do {
    const Token &start = Peek();
    SourceRange header = RangeOf(start);
    std::string keyword = At(TokenKind::KwIf) ? "'if'" : "'elif'";
    Advance();
    auto *node = New<If>();
    node->test = ParseCondition();
    ExpectColon("the condition of " + keyword);
    node->body = ParseBlock(keyword, header);
    chain.push_back({node, &start});
  } while (!panic_ && At(TokenKind::KwElif));
  orelse = ParseElse("'else'");
  for (size_t i = chain.size(); i-- > 0;) {
    If *node = chain[i].node;
    node->orelse = orelse;
    Finish(node, *chain[i].start, node->test, node->body, orelse);
    if (node->depth == 1) { // too deep, and said so: once is enough
      chain[0].node->orelse = {};
      break;
    }
    if (i > 0)
      orelse = arena_.Copy(std::array<Stmt *, 1>{node});
  }
  return chain[0].node;
}

Stmt *Parser::ParseWhile() {
  const Token &start = Peek();
  Advance();
  auto *node = New<While>();
  node->test = ParseCondition();
  ExpectColon("the condition of 'while'");
  node->body = ParseBlock("'while'", RangeOf(start));
  node->orelse = ParseElse("'else'");
  return Finish(node, start, node->test, node->body, node->orelse);
}

Stmt *Parser::ParseFor(const Token &start, bool async) {
  ForLike *node = async ? static_cast<ForLike *>(New<AsyncFor>()) : New<For>();
  Expect(TokenKind::KwFor, "");
  node->target = ParseForTargets();
  Expect(TokenKind::KwIn, "after the target of 'for'");
  node->iter = ParseStarExpressions();
  RefuseLoneStarred(node->iter);
  ExpectColon("the range of 'for'");
  node->body = ParseBlock("'for'", RangeOf(start));
  node->orelse = ParseElse("'else'");
  return Finish(node, start, node->target, node->iter, node->body, node->orelse);
}

// ---- with

Stmt *Parser::ParseWith(const Token &start, bool async) {
  WithLike *node = async ? static_cast<WithLike *>(New<AsyncWith>()) : New<With>();
  Expect(TokenKind::KwWith, "");
  Items<WithItem *> items;
  if (!ParseParenthesizedWithItems(items)) {
    do
      items.push_back(ParseWithItem());
    while (Eat(TokenKind::Comma));
  }
  ExpectColon("the items of 'with'");
  node->items = arena_.Copy(items);
  node->body = ParseBlock("'with'", RangeOf(start));
  return Finish(node, start, node->items, node->body);
}

// `with (a as b, c):` rather than `with (a, b) as c:` or `with (yield):`.
bool Parser::ParseParenthesizedWithItems(Items<WithItem *> &items) {
  if (!At(TokenKind::LParen))
    return false;
  uint32_t close = Peek().match;
  if (close == 0 || stream_.tokens[close + 1].kind != TokenKind::Colon)
    return false;
  // An `as` directly inside leaves no doubt.
  bool certain = false;
  for (size_t i = index_ + 1; i < close && !certain; ++i) {
    if (stream_.tokens[i].match != 0)
      i = stream_.tokens[i].match;
    else
      certain = stream_.tokens[i].kind == TokenKind::KwAs;
  }
  size_t index = index_;
  const Token *last = last_;
  trying_ += !certain;
  Advance();
  do
    items.push_back(ParseWithItem());
  while (Eat(TokenKind::Comma) && !At(TokenKind::RParen));
  if (certain) {
    Expect(TokenKind::RParen, "or ',' after an item of 'with'");
    return true;
  }
  bool fits = Eat(TokenKind::RParen) && At(TokenKind::Colon);
  --trying_;
  if (fits)
    return true;
  items.clear();
  Calm(index);
  last_ = last;
  return false;
}

WithItem *Parser::ParseWithItem() {
  const Token &start = Peek();
  auto *item = New<WithItem>();
  item->context_expr = ParseExpression();
  if (Eat(TokenKind::KwAs)) {
    item->optional_vars = ParseBitwiseOr();
    MakeTarget(item->optional_vars, ExprContext::Store);
  }
  return Finish(item, start, item->context_expr, item->optional_vars);
}

// ---- try

Stmt *Parser::ParseTry() {
  const Token &start = Peek();
  Advance();
  ExpectColon("'try'");
  Stmts body = ParseBlock("'try'", RangeOf(start));
  Items<ExceptHandler *> handlers;
  bool is_star = false;
  while (!panic_ && At(TokenKind::KwExcept)) {
    bool this_is_star = false;
    SourceRange header = Here();
    handlers.push_back(ParseExceptHandler(this_is_star));
    if (handlers.size() > 1 && this_is_star != is_star)
      Complain("mixed-except", header, "one 'try' cannot have both 'except' and 'except*'");
    is_star = this_is_star;
  }
  Stmts orelse = handlers.empty() ? Stmts() : ParseElse("'else'");
  Stmts finalbody;
  if (At(TokenKind::KwFinally)) {
    SourceRange header = Here();
    Advance();
    ExpectColon("'finally'");
    finalbody = ParseBlock("'finally'", header);
  } else if (handlers.empty() && !panic_) {
    Complain("expected-token", RangeOf(start), "this 'try' has neither 'except' nor 'finally'");
  }
  TryLike *node = is_star ? static_cast<TryLike *>(New<TryStar>()) : New<Try>();
  node->body = body;
  node->handlers = arena_.Copy(handlers);
  node->orelse = orelse;
  node->finalbody = finalbody;
  return Finish(node, start, body, node->handlers, orelse, finalbody);
}

ExceptHandler *Parser::ParseExceptHandler(bool &is_star) {
  const Token &start = Peek();
  Advance();
  auto *handler = New<ExceptHandler>();
  is_star = Eat(TokenKind::Star);
  if (!At(TokenKind::Colon)) {
    handler->type = ParseExpression();
    if (At(TokenKind::Comma))
      Fail("expected-token", Here(), "several types of exception need parentheses");
    if (Eat(TokenKind::KwAs))
      handler->name = ExpectName("a name after 'as'");
  } else if (is_star) {
    FailExpected("a type after 'except*'");
  }
  ExpectColon("'except'");
  handler->body = ParseBlock("'except'", RangeOf(start));
  return Finish(handler, start, handler->type, handler->body);
}

// ---- def, class

Stmt *Parser::ParseDecorated() {
  Items<Expr *> decorators;
  while (Eat(TokenKind::At)) {
    decorators.push_back(ParseNamedExpression());
    if (!Eat(TokenKind::Newline))
      FailExpected("the end of the line after a decorator");
  }
  Exprs list = arena_.Copy(decorators);
  const Token &start = Peek();
  if (At(TokenKind::KwDef))
    return ParseFunction(start, /*async=*/false, list);
  if (At(TokenKind::KwClass))
    return ParseClass(list);
  if (At(TokenKind::KwAsync))
    return ParseAsync(list);
  FailExpected("'def' or 'class' after a decorator");
  return New<Pass>();
}

Stmt *Parser::ParseAsync(Exprs decorators) {
  const Token &start = Peek();
  Advance();
  if (At(TokenKind::KwDef))
    return ParseFunction(start, /*async=*/true, decorators);
  if (At(TokenKind::KwFor) && decorators.empty())
    return ParseFor(start, /*async=*/true);
  if (At(TokenKind::KwWith) && decorators.empty())
    return ParseWith(start, /*async=*/true);
  FailExpected(decorators.empty() ? "'def', 'for' or 'with' after 'async'" : "'def' after 'async'");
  return New<Pass>();
}

Stmt *Parser::ParseFunction(const Token &start, bool async, Exprs decorators) {
  FunctionLike *node =
      async ? static_cast<FunctionLike *>(New<AsyncFunctionDef>()) : New<FunctionDef>();
  Expect(TokenKind::KwDef, "");
  node->name = ExpectName("the name of the function", &node->name_range);
  node->type_params = ParseTypeParams();
  Expect(TokenKind::LParen, "after the name of the function");
  node->args = ParseParameters(TokenKind::RParen, /*annotations=*/true);
  Expect(TokenKind::RParen, "or ',' after a parameter");
  if (Eat(TokenKind::Arrow))
    node->returns = ParseExpression();
  ExpectColon("the head of the function");
  node->body = ParseBlock("'def'", RangeOf(start));
  node->decorator_list = decorators;
  return Finish(node, start, node->args, node->returns, node->body, decorators, node->type_params);
}

Stmt *Parser::ParseClass(Exprs decorators) {
  const Token &start = Peek();
  Advance();
  auto *node = New<ClassDef>();
  node->name = ExpectName("the name of the class", &node->name_range);
  node->type_params = ParseTypeParams();
  Items<Expr *> bases;
  Items<Keyword *> keywords;
  if (At(TokenKind::LParen)) {
    SourceRange open = Here();
    Advance();
    ParseArguments(open, bases, keywords);
    Expect(TokenKind::RParen, "or ',' after a base class");
  }
  node->bases = arena_.Copy(bases);
  node->keywords = arena_.Copy(keywords);
  ExpectColon("the head of the class");
  node->body = ParseBlock("'class'", RangeOf(start));
  node->decorator_list = decorators;
  return Finish(node, start, node->bases, node->keywords, node->body, decorators,
                node->type_params);
}

// ---- match

Stmt *Parser::ParseMatch() {
  const Token &start = Peek();
  Advance();
  auto *node = New<Match>();
  const Token &subject_start = Peek();
  Items<Expr *> elements = {ParseStarNamedExpression()};
  bool tuple_subject = At(TokenKind::Comma);
  while (Eat(TokenKind::Comma) && !At(TokenKind::Colon))
    elements.push_back(ParseStarNamedExpression());
  node->subject = elements[0];
  if (tuple_subject) {
    auto *tuple = New<Tuple>();
    tuple->elts = arena_.Copy(elements);
    node->subject = Finish(tuple, subject_start, tuple->elts);
  }
  RefuseLoneStarred(node->subject);
  ExpectColon("the subject of 'match'");
  if (!Eat(TokenKind::Newline))
    FailExpected("the end of the line after 'match ...:'");
  if (!panic_ && !At(TokenKind::Indent)) {
    Complain("expected-indented-block", AfterLast(), "expected indented cases after 'match'");
    return Finish(node, start, node->subject);
  }
  Nest nest(*this);
  Eat(TokenKind::Indent);
  Items<MatchCase *> cases;
  while (!panic_ && !At(TokenKind::Dedent) && !At(TokenKind::EndMarker)) {
    const Token &case_start = Peek();
    if (!AtName("case")) {
      FailExpected("'case'");
      Recover();
      continue;
    }
    Advance();
    auto *match_case = New<MatchCase>();
    match_case->pattern = ParsePatterns();
    if (Eat(TokenKind::KwIf))
      match_case->guard = ParseNamedExpression();
    ExpectColon("the pattern of 'case'");
    match_case->body = ParseBlock("'case'", RangeOf(case_start));
    if (panic_) {
      Recover();
      continue;
    }
    cases.push_back(
        Finish(match_case, case_start, match_case->pattern, match_case->guard, match_case->body));
  }
  Eat(TokenKind::Dedent);
  node->cases = arena_.Copy(cases);
  return Finish(node, start, node->subject, node->cases);
}

} // namespace pyasc::syntax
