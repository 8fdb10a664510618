// The recursive-descent parser, private to this folder. One file a part of the grammar:
//
//   parser.cc         tokens, errors and recovery, the entry
//   parse_stmt.cc     simple statements       parse_compound.cc   those with blocks
//   parse_expr.cc     expressions             parse_atom.cc       atoms, displays, calls
//   parse_string.cc   strings and f-strings   parse_params.cc     parameters, type parameters
//   parse_pattern.cc  patterns of `match`     parse_target.cc     what can be assigned to
//
// Errors: Fail() reports and puts the parser in panic. From then on every token looks like Stop,
// so that all functions return at once, with some node that nobody looks at; none returns null
// where a node is due. The statement in which that happened is dropped, and parsing goes on after
// its line. Complain() reports a fault that leaves the structure clear, and parsing goes on.
#ifndef PYASC_COMPILER_SYNTAX_PARSER_H
#define PYASC_COMPILER_SYNTAX_PARSER_H

#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"
#include "compiler/syntax/arena.h"
#include "compiler/syntax/ast.h"
#include "compiler/syntax/lexer.h"
#include "compiler/syntax/literal.h"
#include "compiler/syntax/parse.h"
#include "llvm/ADT/SmallVector.h"

namespace pyasc::syntax {

// A list under construction.
template <class T> using Items = llvm::SmallVector<T, 8>;

class Parser {
public:
  // `text` is what the tokens point into; names in the tree are views of it.
  Parser(std::string_view text, const TokenStream &stream, const ParseOptions &options,
         Arena &arena, diag::DiagnosticList &diags)
      : text_(text), stream_(stream), options_(options), arena_(arena), diags_(diags),
        next_(stream.tokens.data()), error_limit_(diags.ErrorCount() + options.max_errors) {}

  Module *ParseModule();

private:
  static const Token kStop[1 + kLookahead];

  // ---- Tokens
  // REQUIRES: ahead <= kLookahead. The token outlives the parser: it marks where a node starts.
  const Token &Peek(size_t ahead = 0) const { return next_[ahead]; }
  TokenKind Kind(size_t ahead = 0) const { return Peek(ahead).kind; }
  bool At(TokenKind kind, size_t ahead = 0) const { return Kind(ahead) == kind; }
  bool AtName(std::string_view soft_keyword, size_t ahead = 0) const {
    return At(TokenKind::Name, ahead) && TextOf(Peek(ahead)) == soft_keyword;
  }
  void Advance() {
    if (panic_)
      return;
    TokenKind kind = next_->kind;
    if (kind != TokenKind::Newline && kind != TokenKind::Indent && kind != TokenKind::Dedent)
      last_ = next_;
    if (kind != TokenKind::EndMarker)
      SetIndex(index_ + 1);
  }
  bool Eat(TokenKind kind) {
    if (!At(kind))
      return false;
    Advance();
    return true;
  }
  void SetIndex(size_t index) {
    index_ = index;
    next_ = &stream_.tokens[index];
  }
  // Eats the token or fails: "expected ')' <where>, met ...".
  void Expect(TokenKind kind, std::string_view where);
  Identifier ExpectName(std::string_view what, SourceRange *range = nullptr);
  std::string_view TextOf(const Token &t) const { return text_.substr(t.begin, t.end - t.begin); }
  SourceRange RangeOf(const Token &t) const {
    return {options_.file, t.line, t.column, t.end_line, t.end_column};
  }
  SourceRange Here() const { return RangeOf(Peek()); }
  // Just after the last token.
  SourceRange AfterLast() const { return RangeOf(*last_).End(); }
  // From a token to the last.
  SourceRange Since(const Token &start) const {
    return {options_.file, start.line, start.column, last_->end_line, last_->end_column};
  }
  // The next token as users know it: "'foo'", "the end of the line".
  std::string DescribeNext() const;

  // ---- Errors
  diag::DiagnosticBuilder Fail(std::string_view code, const SourceRange &range,
                               std::string_view message);
  diag::DiagnosticBuilder Complain(std::string_view code, const SourceRange &range,
                                   std::string_view message);
  // "expected <what>, met <next token>", at the next token or, at the end of a line, after the
  // last.
  diag::DiagnosticBuilder FailExpected(std::string_view what);
  void FailTooDeep(const SourceRange &range);
  void Panic();
  void Calm(size_t index);
  void Recover();
  void SkipBlock();

  // Counts what is nested in one another, to bound recursion: blocks, brackets of every kind,
  // replacement fields, and the operators whose operand is parsed by recursion. Every cycle of
  // calls among the Parse functions passes one.
  class Nest {
  public:
    explicit Nest(Parser &parser) : parser_(parser) {
      if (++parser_.nesting_ > parser_.options_.max_nesting)
        parser_.FailTooDeep(parser_.Here());
    }
    ~Nest() { --parser_.nesting_; }
    Nest(const Nest &) = delete;
    Nest &operator=(const Nest &) = delete;

  private:
    Parser &parser_;
  };

  // ---- Nodes
  template <class T> T *New() { return arena_.New<T>(); }
  // Gives a node its range, from `start` to the last token, and its depth, from its children.
  template <class T, class... Children>
  T *Finish(T *node, const Token &start, const Children &...children) {
    node->range = Since(start);
    int depth = 0;
    (Deepen(depth, children), ...);
    SetDepth(node, depth + 1);
    return node;
  }
  static void Deepen(int &depth, const Node *child) {
    if (child != nullptr && child->depth > depth)
      depth = child->depth;
  }
  template <class T> static void Deepen(int &depth, const std::span<T *const> &children) {
    for (const Node *child : children)
      Deepen(depth, child);
  }
  void SetDepth(Node *node, int depth) {
    if (depth <= kMaxTreeDepth)
      node->depth = static_cast<uint16_t>(depth);
    else
      RefuseDepth(node);
  }
  void RefuseDepth(Node *node);
  Expr *Missing();

  // ---- parse_stmt.cc
  void ParseStatements(Items<Stmt *> &out); // one logical line, or one compound statement
  void ParseSimpleStatements(Items<Stmt *> &out);
  void ExpectStatementEnd();
  Stmt *ParseSimpleStatement();
  Stmt *ParseExpressionStatement();
  Stmt *ParseAssignment(Expr *first, const Token &start);
  Stmt *ParseAugAssign(Expr *target, const Token &start, Operator op);
  Stmt *ParseAnnAssign(Expr *target, const Token &start);
  Stmt *ParseTypeAlias();
  Stmt *ParseDelete();
  Stmt *ParseReturn();
  Stmt *ParseRaise();
  Stmt *ParseAssert();
  Stmt *ParseImport();
  Stmt *ParseImportFrom();
  void ParseImportNames(Items<Alias *> &names);
  Alias *ParseAlias(bool dotted);
  Identifier ParseDottedName();
  std::span<const Identifier> ParseNameList();

  // ---- parse_compound.cc
  bool AtCompoundStatement() const;
  bool AtMatchStatement() const;
  Stmt *ParseCompoundStatement();
  Stmts ParseBlock(std::string_view what, const SourceRange &header);
  void ExpectColon(std::string_view what);
  Expr *ParseCondition();
  Stmt *ParseIf();
  Stmt *ParseWhile();
  Stmt *ParseFor(const Token &start, bool async);
  Stmt *ParseWith(const Token &start, bool async);
  bool ParseParenthesizedWithItems(Items<WithItem *> &items);
  WithItem *ParseWithItem();
  Stmt *ParseTry();
  ExceptHandler *ParseExceptHandler(bool &is_star);
  Stmt *ParseDecorated();
  Stmt *ParseFunction(const Token &start, bool async, Exprs decorators);
  Stmt *ParseClass(Exprs decorators);
  Stmt *ParseAsync(Exprs decorators);
  Stmt *ParseMatch();
  Stmts ParseElse(std::string_view what);

  // ---- parse_expr.cc
  Expr *ParseExpression();      // expression
  Expr *ParseNamedExpression(); // named_expression
  Expr *ParseStarExpression();  // star_expression
  Expr *ParseStarNamedExpression();
  // One or more, separated by commas; a Tuple when there is a comma.
  Expr *ParseStarExpressions();
  Expr *ParseYieldOrStarExpressions();
  Expr *ParseStarred();
  Expr *ParseYield();
  Expr *ParseLambda();
  Expr *ParseDisjunction();
  Expr *ParseConjunction();
  Expr *ParseInversion();
  Expr *ParseComparison();
  bool EatComparison(CmpOperator &op, SourceRange &range);
  Expr *ParseBitwiseOr() { return ParseBinary(0); }
  Expr *ParseBinary(int min_precedence);
  Expr *ParseFactor();
  Expr *ParsePower();
  Expr *ParsePrimary();
  bool AtExpressionEnd() const;
  bool AtLoneAtom() const;
  bool AtLoneOperand() const;
  void RefuseLoneStarred(Expr *e);

  // ---- parse_atom.cc
  Expr *ParseAtom();
  Expr *FailNoExpression();
  Expr *ParseParenthesized();
  Expr *ParseListDisplay();
  Expr *ParseBraces();
  Expr *ParseDictRest(const Token &start, bool first_is_unpacking);
  NodeList<Comprehension> ParseComprehensionClauses();
  Expr *ParseCall(Expr *func, const Token &start);
  void ParseArguments(const SourceRange &open, Items<Expr *> &args, Items<Keyword *> &keywords);
  Expr *ParseSubscript(Expr *value, const Token &start);
  Expr *ParseSlice();
  Expr *ParseNumber();
  Constant *NewConstant(ConstantKind kind, const SourceRange &range);

  // ---- parse_string.cc
  struct StringParts;
  Expr *ParseStrings();
  Expr *ParsePlainString();
  void AddString(StringParts &parts);
  void AddFString(StringParts &parts);
  void AddField(StringParts &parts, bool raw);
  Expr *ParseFormatSpec(bool raw, bool u_prefix);
  void FlushLiteral(StringParts &parts);
  // Adds the text of a token without so many bytes before and after.
  void AddDecoded(StringParts &parts, const Token &token, size_t before, size_t after,
                  EscapeMode mode, bool doubled_braces);
  SourceRange RangeInside(const Token &token, size_t offset, size_t length) const;

  // ---- parse_params.cc
  Arguments *ParseParameters(TokenKind end, bool annotations);
  Arg *ParseParameter(bool annotations, bool star);
  NodeList<TypeParam> ParseTypeParams();
  TypeParam *ParseTypeParam();

  // ---- parse_pattern.cc
  Pattern *ParsePatterns();
  Pattern *ParsePattern();
  Pattern *ParseOrPattern();
  Pattern *ParseMaybeStarPattern();
  Pattern *ParseClosedPattern();
  Pattern *ParseNamePattern();
  Pattern *ParseLiteralPattern();
  Pattern *ParseSequencePattern(TokenKind close);
  Pattern *ParseMappingPattern();
  Pattern *ParseClassPattern(Expr *cls, const Token &start);
  Expr *ParseLiteralExpr();
  Expr *ParseSignedNumber();

  // ---- parse_target.cc
  // Parses the targets of `for` and comprehensions, up to `in`.
  Expr *ParseForTargets();
  // Turns an expression into a target, or complains: "cannot assign to a function call".
  void MakeTarget(Expr *e, ExprContext ctx);
  static std::string_view DescribeExpr(const Expr *e);

  std::string_view text_;
  const TokenStream &stream_;
  const ParseOptions &options_;
  Arena &arena_;
  diag::DiagnosticList &diags_;

  size_t index_ = 0;
  const Token *next_;         // the one at index_, or Stop tokens in panic
  const Token *last_ = kStop; // the last token that is no white space; Stop: there is none
  size_t error_limit_;        // errors in `diags_` after which parsing ends
  int nesting_ = 0;
  bool panic_ = false;
  bool too_deep_ = false; // why the parser panics: what follows must not be parsed recursively
  int trying_ = 0;        // > 0: errors are not reported, the caller will go back
};

} // namespace pyasc::syntax

#endif // PYASC_COMPILER_SYNTAX_PARSER_H
