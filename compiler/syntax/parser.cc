#include "compiler/syntax/parser.h"

#include <cstring>

#include "compiler/syntax/unicode.h"

namespace pyasc::syntax {
namespace {

// The line and column of a byte offset.
SourceRange PositionOf(std::string_view text, size_t offset, const ParseOptions &options) {
  uint32_t line = options.first_line == 0 ? 1 : options.first_line;
  size_t line_start = 0;
  for (size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n' || (text[i] == '\r' && !(i + 1 < offset && text[i + 1] == '\n'))) {
      ++line;
      line_start = i + 1;
    }
  }
  uint32_t column = 1;
  for (size_t i = line_start; i < offset; ++i)
    column += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
  return {options.file, line, column, line, column + 1};
}

// Whether the text can be lexed at all.
bool CheckText(std::string_view text, const ParseOptions &options, diag::DiagnosticList &diags) {
  if (text.size() > options.max_source_bytes) {
    diags.Error("source-too-large", SourceRange{},
                "the source has " + std::to_string(text.size()) + " bytes, more than the " +
                    std::to_string(options.max_source_bytes) + " that are accepted");
    return false;
  }
  if (size_t bad = FindInvalidUtf8(text); bad != std::string_view::npos) {
    diags.Error("invalid-utf8", PositionOf(text, bad, options), "the source is not valid UTF-8");
    return false;
  }
  if (size_t nul = text.find('\0'); nul != std::string_view::npos) {
    diags.Error("nul-byte", PositionOf(text, nul, options), "the source holds a NUL byte");
    return false;
  }
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && text[end] != '\n' && text[end] != '\r')
      ++end;
    if (end - begin > options.max_line_bytes) {
      diags.Error("line-too-long", PositionOf(text, begin, options),
                  "this line has " + std::to_string(end - begin) + " bytes, more than the " +
                      std::to_string(options.max_line_bytes) + " that are accepted");
      return false;
    }
    begin = end + 1;
  }
  return true;
}

} // namespace

const Token Parser::kStop[] = {
    {.kind = TokenKind::Stop}, {.kind = TokenKind::Stop}, {.kind = TokenKind::Stop}};

ParseResult::ParseResult() = default;
ParseResult::~ParseResult() = default;
ParseResult::ParseResult(ParseResult &&) noexcept = default;
ParseResult &ParseResult::operator=(ParseResult &&) noexcept = default;

ParseResult Parse(std::string_view source, const ParseOptions &options,
                  diag::DiagnosticList &diags) {
  ParseResult result;
  result.arena = std::make_unique<Arena>();
  diags.AddSource(options.file, source.substr(0, options.max_source_bytes), options.first_line);
  size_t errors_before = diags.ErrorCount();
  if (CheckText(source, options, diags)) {
    std::string_view text = result.arena->CopyText(source);
    TokenStream stream = Lex(text, options, diags);
    if (!stream.too_long)
      result.module = Parser(text, stream, options, *result.arena, diags).ParseModule();
  }
  if (result.module == nullptr)
    result.module = result.arena->New<Module>();
  result.ok = diags.ErrorCount() == errors_before;
  return result;
}

Module *Parser::ParseModule() {
  auto *module = New<Module>();
  const Token &start = Peek();
  Items<Stmt *> body;
  while (!At(TokenKind::EndMarker))
    ParseStatements(body);
  module->body = arena_.Copy(body);
  last_ = next_;
  return Finish(module, start, module->body);
}

// ---- Tokens

void Parser::Expect(TokenKind kind, std::string_view where) {
  if (Eat(kind) || panic_)
    return;
  std::string what = "'" + std::string(TokenSpelling(kind)) + "'";
  if (!where.empty())
    what.append(" ").append(where);
  FailExpected(what);
}

Identifier Parser::ExpectName(std::string_view what, SourceRange *range) {
  if (At(TokenKind::Name)) {
    if (range != nullptr)
      *range = Here();
    Identifier name = TextOf(Peek());
    Advance();
    return name;
  }
  if (IsKeyword(Kind()))
    Fail("reserved-word", Here(),
         "expected " + std::string(what) + ", met '" + std::string(TextOf(Peek())) +
             "', which is a keyword");
  else
    FailExpected(what);
  return "_";
}

std::string Parser::DescribeNext() const {
  const Token &t = Peek();
  switch (t.kind) {
  case TokenKind::Newline:
    return "the end of the line";
  case TokenKind::EndMarker:
    return "the end of the text";
  case TokenKind::Indent:
    return "an indented line";
  case TokenKind::Dedent:
    return "the end of the block";
  case TokenKind::String:
  case TokenKind::FStringStart:
    return "a string";
  case TokenKind::FStringMiddle:
  case TokenKind::FStringEnd:
    return "the end of the expression";
  default:
    break;
  }
  constexpr size_t kMaxShown = 40;
  std::string_view text = TextOf(t);
  if (text.size() <= kMaxShown)
    return "'" + std::string(text) + "'";
  size_t cut = kMaxShown;
  while ((static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80)
    --cut;
  return "'" + std::string(text.substr(0, cut)) + "...'";
}

// ---- Errors

void Parser::Panic() {
  panic_ = true;
  next_ = kStop;
}

// Ends the panic, at a token.
void Parser::Calm(size_t index) {
  panic_ = too_deep_ = false;
  SetIndex(index);
}

diag::DiagnosticBuilder Parser::Fail(std::string_view code, const SourceRange &range,
                                     std::string_view message) {
  if (panic_)
    return diag::DiagnosticBuilder::Dropped();
  // What the lexer complained about needs no second message.
  bool known = At(TokenKind::Error) || stream_.InUnclosed(static_cast<uint32_t>(index_));
  Panic();
  if (trying_ > 0 || known)
    return diag::DiagnosticBuilder::Dropped();
  return diags_.Error(code, range, message);
}

diag::DiagnosticBuilder Parser::Complain(std::string_view code, const SourceRange &range,
                                         std::string_view message) {
  if (trying_ > 0)
    Panic();
  if (panic_)
    return diag::DiagnosticBuilder::Dropped();
  return diags_.Error(code, range, message);
}

diag::DiagnosticBuilder Parser::FailExpected(std::string_view what) {
  if (panic_)
    return diag::DiagnosticBuilder::Dropped();
  bool line_ends = At(TokenKind::Newline) || At(TokenKind::EndMarker);
  SourceRange range = line_ends && last_ != kStop ? AfterLast() : Here();
  return Fail("expected-token", range, "expected " + std::string(what) + ", met " + DescribeNext());
}

void Parser::FailTooDeep(const SourceRange &range) {
  if (panic_)
    return;
  Fail("nesting-too-deep", range,
       "this is nested deeper than the " + std::to_string(options_.max_nesting) +
           " levels that are accepted");
  too_deep_ = true;
}

void Parser::RefuseDepth(Node *node) {
  std::string message = "this is built up from more than " + std::to_string(kMaxTreeDepth) +
                        " steps in a row; split it with variables";
  // A statement is complete when its depth is known: nothing to skip.
  if (llvm::isa<Stmt>(node) || llvm::isa<Module>(node))
    Complain("nesting-too-deep", node->range, message);
  else
    Fail("nesting-too-deep", node->range, message);
  node->depth = 1;
}

// Skips the rest of the statement in which the parser panicked.
void Parser::Recover() {
  bool deep = too_deep_;
  Calm(index_);
  if (diags_.ErrorCount() >= error_limit_) {
    diags_.Error("too-many-errors", Here(), "too many errors: what follows was not read");
    SetIndex(stream_.tokens.size() - 1 - kLookahead);
    return;
  }
  for (;;) {
    while (!At(TokenKind::Newline) && !At(TokenKind::EndMarker))
      Advance();
    Eat(TokenKind::Newline);
    if (At(TokenKind::Indent)) {
      if (deep || nesting_ >= options_.max_nesting) {
        SkipBlock();
      } else {
        // Its header is lost, but what is wrong inside is worth saying.
        Nest nest(*this);
        Advance();
        Items<Stmt *> dropped;
        while (!At(TokenKind::Dedent) && !At(TokenKind::EndMarker))
          ParseStatements(dropped);
        Eat(TokenKind::Dedent);
      }
    }
    // The clauses of a statement whose header is lost.
    if (!At(TokenKind::KwElif) && !At(TokenKind::KwElse) && !At(TokenKind::KwExcept) &&
        !At(TokenKind::KwFinally))
      return;
  }
}

void Parser::SkipBlock() {
  int depth = 0;
  do {
    if (At(TokenKind::Indent))
      ++depth;
    else if (At(TokenKind::Dedent))
      --depth;
    Advance();
  } while (depth > 0 && !At(TokenKind::EndMarker));
}

Expr *Parser::Missing() {
  auto *name = New<Name>();
  name->id = "_";
  name->range = Here();
  return name;
}

} // namespace pyasc::syntax
