#include "compiler/syntax/lexer.h"

#include <algorithm>
#include <array>

#include "compiler/syntax/lexer_class.h"
#include "compiler/syntax/unicode.h"

namespace pyasc::syntax {
namespace {

// Reading on after a bracket that is never closed costs a second look at the text; so many
// looks are taken, to stay linear.
constexpr int kMaxRewinds = 4;

// A closing bracket that does not fit is matched with one of so many brackets around it.
constexpr size_t kMaxLookOut = 64;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsAsciiNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

constexpr auto kNameCharacters = [] {
  std::array<bool, 256> out{};
  for (int c = 0; c < 128; ++c)
    out[static_cast<size_t>(c)] =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  return out;
}();

bool IsAsciiNameCharacter(char c) { return kNameCharacters[static_cast<unsigned char>(c)]; }

// The longest punctuation that begins with `a`, the characters after it being `b` and `c`; Error
// when there is none.
TokenKind PunctuationAt(char a, char b, char c) {
  using enum TokenKind;
  auto or_equal = [&](TokenKind plain, TokenKind equal) { return b == '=' ? equal : plain; };
  auto or_double = [&](TokenKind plain, TokenKind equal, TokenKind twice, TokenKind twice_equal) {
    if (b == a)
      return c == '=' ? twice_equal : twice;
    return or_equal(plain, equal);
  };
  switch (a) {
  case '(':
    return LParen;
  case ')':
    return RParen;
  case '[':
    return LBracket;
  case ']':
    return RBracket;
  case '{':
    return LBrace;
  case '}':
    return RBrace;
  case ',':
    return Comma;
  case ';':
    return Semicolon;
  case '~':
    return Tilde;
  case ':':
    return or_equal(Colon, ColonEqual);
  case '.':
    return b == '.' && c == '.' ? Ellipsis : Dot;
  case '-':
    return b == '>' ? Arrow : or_equal(Minus, MinusEqual);
  case '!':
    return or_equal(Exclamation, NotEqual);
  case '=':
    return or_equal(Equal, EqualEqual);
  case '+':
    return or_equal(Plus, PlusEqual);
  case '%':
    return or_equal(Percent, PercentEqual);
  case '@':
    return or_equal(At, AtEqual);
  case '&':
    return or_equal(Ampersand, AmpersandEqual);
  case '|':
    return or_equal(Pipe, PipeEqual);
  case '^':
    return or_equal(Caret, CaretEqual);
  case '<':
    return or_double(Less, LessEqual, LessLess, LessLessEqual);
  case '>':
    return or_double(Greater, GreaterEqual, GreaterGreater, GreaterGreaterEqual);
  case '*':
    return or_double(Star, StarEqual, StarStar, StarStarEqual);
  case '/':
    return or_double(Slash, SlashEqual, SlashSlash, SlashSlashEqual);
  default:
    return Error;
  }
}

TokenKind Closer(TokenKind open) {
  return open == TokenKind::LParen     ? TokenKind::RParen
         : open == TokenKind::LBracket ? TokenKind::RBracket
                                       : TokenKind::RBrace;
}

std::string Quoted(std::string_view s) { return "'" + std::string(s) + "'"; }

// Keywords that begin a statement and can never stand inside brackets.
bool StartsOnlyStatements(TokenKind kind) {
  switch (kind) {
  case TokenKind::KwAssert:
  case TokenKind::KwBreak:
  case TokenKind::KwClass:
  case TokenKind::KwContinue:
  case TokenKind::KwDef:
  case TokenKind::KwDel:
  case TokenKind::KwElif:
  case TokenKind::KwExcept:
  case TokenKind::KwFinally:
  case TokenKind::KwGlobal:
  case TokenKind::KwImport:
  case TokenKind::KwNonlocal:
  case TokenKind::KwPass:
  case TokenKind::KwRaise:
  case TokenKind::KwReturn:
  case TokenKind::KwTry:
  case TokenKind::KwWhile:
  case TokenKind::KwWith:
    return true;
  default:
    return false;
  }
}

} // namespace

TokenStream Lex(std::string_view text, const ParseOptions &options, diag::DiagnosticList &diags) {
  return Lexer(text, options, diags).Run();
}

TokenStream Lexer::Run() {
  // One a byte is the most there can be, but for a few at the end; what is not used costs nothing.
  out_.tokens.reserve(text_.size() + 16);
  if (text_.starts_with("\xEF\xBB\xBF"))
    pos_ = 3;
  for (;;) {
    if (ReadEnough()) {
      // What is open was not left open by the author.
      quiet_depth_ = brackets_.size();
      pos_ = text_.size();
      LexEndOfFile();
      return std::move(out_);
    }
    if (InFStringText()) {
      LexFStringMiddle();
      continue;
    }
    if (at_line_start_ && brackets_.empty()) {
      LexLineStart();
      continue;
    }
    while (Ch() == ' ' || Ch() == '\t' || Ch() == '\f')
      Bump(1);
    if (Ch() == '#')
      SkipComment();
    if (AtEnd()) {
      if (!brackets_.empty() && RewindToStatement())
        continue;
      LexEndOfFile();
      return std::move(out_);
    }
    LexToken();
  }
}

// Whether a limit is reached, about which it complains.
bool Lexer::ReadEnough() {
  if (out_.tokens.size() > options_.max_tokens) {
    out_.too_long = true;
    diags_.Error("too-many-tokens", From(Here()),
                 "the source has more than the " + std::to_string(options_.max_tokens) +
                     " tokens that are accepted");
    return true;
  }
  if (diags_.ErrorCount() >= error_limit_) {
    diags_.Error("too-many-errors", From(Here()), "too many errors: what follows was not read");
    return true;
  }
  return false;
}

void Lexer::SkipComment() {
  for (; pos_ < text_.size() && text_[pos_] != '\n' && text_[pos_] != '\r'; ++pos_)
    column_ += !IsUtf8Continuation(text_[pos_]);
}

void Lexer::Bump() {
  pos_ += Utf8Length(static_cast<unsigned char>(text_[pos_]));
  ++column_;
}

void Lexer::BumpNewline() {
  pos_ += Looking("\r\n") ? 2 : 1;
  ++line_;
  column_ = 1;
}

Token &Lexer::Emit(TokenKind kind, const Position &start) {
  Token &t = out_.tokens.emplace_back();
  t.kind = kind;
  t.begin = start.offset;
  t.end = static_cast<uint32_t>(pos_);
  t.line = start.line;
  t.column = start.column;
  t.end_line = line_;
  t.end_column = column_;
  return t;
}

bool Lexer::InFStringText() const {
  if (fstrings_.empty())
    return false;
  return brackets_.size() == fstrings_.back().bracket_depth ||
         (brackets_.back().is_field && brackets_.back().in_format_spec);
}

// Measures the indentation of a line; blank lines and lines with only a comment do not count.
void Lexer::LexLineStart() {
  uint32_t width = 0, alt_width = 0;
  uint32_t continued_width = 0, continued_alt = 0;
  bool continued = false;
  for (;;) {
    if (Ch() == '\\' && (Ch(1) == '\n' || Ch(1) == '\r')) {
      // The indentation of a continued line is that of its first part.
      if (!continued) {
        continued = true;
        continued_width = width;
        continued_alt = alt_width;
      }
      Position backslash = Here();
      Bump(1);
      BumpNewline();
      if (AtEnd())
        ComplainNoLineFollows(backslash);
      width = alt_width = 0;
      continue;
    }
    if (Ch() == ' ') {
      ++width;
      ++alt_width;
    } else if (Ch() == '\t') {
      width = (width / 8 + 1) * 8;
      ++alt_width;
    } else if (Ch() == '\f') {
      width = alt_width = 0;
    } else {
      break;
    }
    Bump(1);
  }
  if (Ch() == '#')
    SkipComment();
  if (AtNewline()) {
    BumpNewline();
    return;
  }
  at_line_start_ = false;
  if (AtEnd())
    return;
  if (continued)
    LexIndentation(continued_width, continued_alt);
  else
    LexIndentation(width, alt_width);
}

void Lexer::LexIndentation(uint32_t width, uint32_t alt_width) {
  Position here = Here();
  SourceRange range = From(here);
  if (indents_.empty()) {
    // Indentation that the whole text shares is none.
    indents_.push_back({width, alt_width, range});
    return;
  }
  auto check_tabs = [&](bool consistent) {
    if (consistent || reported_tabs_)
      return;
    reported_tabs_ = true;
    diags_.Error("inconsistent-tabs", range,
                 "tabs and spaces are mixed so that the indentation depends on the width of a tab");
  };

  const Indentation top = indents_.back();
  if (width == top.width) {
    check_tabs(alt_width == top.alt_width);
    return;
  }
  if (width > top.width) {
    check_tabs(alt_width > top.alt_width);
    indents_.push_back({width, alt_width, range});
    Emit(TokenKind::Indent, here);
    return;
  }
  while (indents_.size() > 1 && width < indents_.back().width) {
    // Between two levels: a fault, and most likely a line of the inner block.
    const Indentation &outer = indents_[indents_.size() - 2];
    if (width > outer.width) {
      diags_
          .Error("unindent-mismatch", range,
                 "this line's indentation matches no outer block: expected " +
                     std::to_string(outer.width) + " or " + std::to_string(indents_.back().width) +
                     " columns, met " + std::to_string(width))
          .Note(indents_.back().range, "the block began here");
      indents_.back().width = width;
      indents_.back().alt_width = alt_width;
      return;
    }
    indents_.pop_back();
    Emit(TokenKind::Dedent, here);
  }
  if (width < indents_.back().width) {
    diags_
        .Error("unindent-mismatch", range,
               "this line is indented less than the first line of the text")
        .Note(indents_.back().range, "the first line is here");
    indents_.back() = {width, alt_width, range};
  }
  check_tabs(alt_width == indents_.back().alt_width);
}

void Lexer::LexToken() {
  Position start = Here();
  char c = Ch();
  if (AtNewline()) {
    if (brackets_.empty()) {
      Emit(TokenKind::Newline, start);
      at_line_start_ = true;
    }
    BumpNewline();
    return;
  }
  if (c == '\\')
    return LexBackslash();
  if (IsDigit(c) || (c == '.' && IsDigit(Ch(1))))
    return LexNumber();
  if (c == '"' || c == '\'')
    return LexString(start, "");
  if (IsAsciiNameStart(c) || static_cast<unsigned char>(c) >= 0x80)
    return LexIdentifierOrString();
  LexOperator();
}

void Lexer::LexEndOfFile() {
  CloseEverything();
  bool open_line = !out_.tokens.empty() && out_.tokens.back().kind != TokenKind::Newline &&
                   out_.tokens.back().kind != TokenKind::Dedent;
  if (open_line)
    Emit(TokenKind::Newline, Here());
  for (size_t i = 1; i < indents_.size(); ++i)
    Emit(TokenKind::Dedent, Here());
  for (size_t i = 0; i < 1 + kLookahead; ++i)
    Emit(TokenKind::EndMarker, Here());
  std::sort(out_.unclosed.begin(), out_.unclosed.end());
  for (size_t i = 1; i < out_.unclosed.size(); ++i)
    out_.unclosed[i].second = std::max(out_.unclosed[i].second, out_.unclosed[i - 1].second);
}

void Lexer::LexBackslash() {
  Position start = Here();
  Bump(1);
  if (AtNewline()) {
    BumpNewline();
    if (AtEnd() && brackets_.empty()) // an open bracket is complaint enough
      ComplainNoLineFollows(start);
    return;
  }
  if (AtEnd())
    ComplainNoLineFollows(start);
  else
    diags_.Error("stray-backslash", From(start),
                 "expected the end of the line after a backslash, which joins two lines");
  Emit(TokenKind::Error, start);
}

void Lexer::ComplainNoLineFollows(const Position &backslash) {
  SourceRange range = {options_.file, backslash.line, backslash.column, backslash.line,
                       backslash.column + 1};
  diags_.Error("stray-backslash", range, "a backslash joins lines, but no line follows");
}

void Lexer::LexOperator() {
  Position start = Here();
  if (AtFieldLevel()) {
    if (Ch() == ':') {
      Bump(1);
      Emit(TokenKind::Colon, start);
      brackets_.back().in_format_spec = true;
      return;
    }
    if (Ch() == '!' && Ch(1) != '=') {
      Bump(1);
      Emit(TokenKind::Exclamation, start);
      return;
    }
  }
  TokenKind kind = PunctuationAt(Ch(), Ch(1), Ch(2));
  if (kind == TokenKind::Error)
    return LexInvalidCharacter(start);
  Bump(TokenSpelling(kind).size());
  Emit(kind, start);
  switch (kind) {
  case TokenKind::LParen:
  case TokenKind::LBracket:
  case TokenKind::LBrace:
    return LexOpen(kind);
  case TokenKind::RParen:
  case TokenKind::RBracket:
  case TokenKind::RBrace:
    return LexClose(kind);
  default:
    return;
  }
}

void Lexer::LexOpen(TokenKind kind) { brackets_.push_back({kind, NextIndex() - 1}); }

// The closing token has just been emitted.
void Lexer::LexClose(TokenKind kind) {
  uint32_t index = NextIndex() - 1;
  SourceRange range = RangeOf(out_.tokens[index]);
  size_t floor = fstrings_.empty() ? 0 : fstrings_.back().bracket_depth;
  if (brackets_.size() > floor && Closer(brackets_.back().kind) == kind) {
    PopBracket(index);
    return;
  }
  if (brackets_.size() > floor) {
    const Token opener = out_.tokens[brackets_.back().token];
    diags_
        .Error("mismatched-bracket", range,
               "expected " + Quoted(TokenSpelling(Closer(opener.kind))) + ", met " +
                   Quoted(TokenSpelling(kind)))
        .Note(RangeOf(opener), "to match this " + Quoted(TokenSpelling(opener.kind)));
    // It may close a bracket further out: then those inside were forgotten.
    size_t nearest = std::max(floor, brackets_.size() - std::min(brackets_.size(), kMaxLookOut));
    for (size_t i = brackets_.size(); i-- > nearest;) {
      if (Closer(brackets_[i].kind) != kind)
        continue;
      DropBrackets(i + 1);
      PopBracket(index);
      out_.tokens[index].kind = TokenKind::Error;
      return;
    }
    // Or be the right one mistyped.
    out_.unclosed.emplace_back(brackets_.back().token, index);
    PopBracket(index);
    out_.tokens[index].kind = TokenKind::Error;
    return;
  }
  diags_.Error("unmatched-bracket", range,
               "this " + Quoted(TokenSpelling(kind)) + " closes nothing");
  out_.tokens[index].kind = TokenKind::Error;
}

void Lexer::PopBracket(uint32_t closing_token) {
  out_.tokens[brackets_.back().token].match = closing_token;
  brackets_.pop_back();
  quiet_depth_ = std::min(quiet_depth_, brackets_.size());
}

// Gives up the brackets beyond the first `depth`, without a word.
void Lexer::DropBrackets(size_t depth) {
  if (brackets_.size() <= depth)
    return;
  out_.unclosed.emplace_back(brackets_[depth].token, NextIndex());
  brackets_.resize(depth);
  quiet_depth_ = std::min(quiet_depth_, depth);
}

// A new statement begins although brackets are open. One complaint is enough where several are:
// the innermost is the likely culprit, and those around it would be closed if it were.
void Lexer::CloseEverything() {
  if (!fstrings_.empty())
    Emit(TokenKind::Error, Here());
  fstrings_.clear();
  if (brackets_.size() > quiet_depth_) {
    const Token &opener = out_.tokens[brackets_.back().token];
    diags_.Error("unclosed-bracket", RangeOf(opener),
                 "this " + Quoted(TokenSpelling(opener.kind)) + " is never closed");
  }
  DropBrackets(0);
}

void Lexer::BackToLineStart() {
  while (pos_ > 0 && text_[pos_ - 1] != '\n' && text_[pos_ - 1] != '\r')
    --pos_;
  column_ = 1;
}

// At the end of the text with brackets open: goes back to the first line after the outermost of
// them that is not indented deeper than its statement, and goes on there as if all were closed.
bool Lexer::RewindToStatement() {
  if (rewinds_ >= kMaxRewinds)
    return false;
  uint32_t opener = brackets_.front().token;
  uint32_t previous_line = out_.tokens[opener].line;
  for (uint32_t i = opener + 1; i < NextIndex(); ++i) {
    const Token t = out_.tokens[i];
    bool first_on_line = t.line > previous_line;
    previous_line = t.end_line;
    if (!first_on_line || t.column - 1 > indents_.back().width)
      continue;
    ++rewinds_;
    out_.tokens.resize(i);
    for (uint32_t k = opener; k < i; ++k)
      if (out_.tokens[k].match >= i)
        out_.tokens[k].match = 0;
    for (auto &region : out_.unclosed)
      region.second = std::min(region.second, i);
    std::erase_if(out_.unclosed, [&](const auto &region) { return region.first >= i; });
    std::erase_if(brackets_, [&](const Bracket &b) { return b.token >= i; });
    std::erase_if(fstrings_, [&](const FString &f) { return f.token >= i; });
    pos_ = t.begin;
    line_ = t.line;
    BackToLineStart();
    CloseEverything();
    Emit(TokenKind::Newline, Here());
    at_line_start_ = true;
    return true;
  }
  return false;
}

bool Lexer::AtStatementKeyword() const {
  if (brackets_.empty() || out_.tokens.empty() || out_.tokens.back().end_line == line_)
    return false;
  size_t n = 0;
  while (Ch(n) >= 'a' && Ch(n) <= 'z')
    ++n;
  char after = Ch(n);
  bool ends = !IsAsciiNameStart(after) && !IsDigit(after) && after != '"' && after != '\'' &&
              static_cast<unsigned char>(after) < 0x80;
  return ends && StartsOnlyStatements(KeywordOrName(text_.substr(pos_, n)));
}

void Lexer::LexIdentifierOrString() {
  if (AtStatementKeyword()) {
    // Not in brackets any more, whatever they say: read the line again as a statement.
    BackToLineStart();
    CloseEverything();
    Emit(TokenKind::Newline, Here());
    at_line_start_ = true;
    return;
  }
  Position start = Here();
  bool ascii = true;
  for (; !AtEnd(); Bump()) {
    size_t run = pos_;
    while (run < text_.size() && IsAsciiNameCharacter(text_[run]))
      ++run;
    Bump(run - pos_);
    if (AtEnd() || static_cast<unsigned char>(Ch()) < 0x80)
      break;
    uint32_t point = DecodeUtf8(text_, pos_);
    bool fits = pos_ == start.offset ? IsIdentifierStart(point) : IsIdentifierContinue(point);
    if (!fits)
      break;
    ascii = false;
  }
  std::string_view name = text_.substr(start.offset, pos_ - start.offset);
  if (name.empty())
    return LexInvalidCharacter(start);
  if ((Ch() == '"' || Ch() == '\'') && name.size() <= 2) {
    char lower[2] = {};
    for (size_t i = 0; i < name.size(); ++i)
      lower[i] = static_cast<char>(name[i] | 0x20);
    std::string_view prefix(lower, name.size());
    constexpr std::string_view kPrefixes[] = {"r", "u", "b", "f", "br", "rb", "fr", "rf"};
    for (std::string_view p : kPrefixes)
      if (p == prefix)
        return LexString(start, prefix);
  }
  if (!ascii && !IsNormalIdentifier(name)) {
    diags_.Error("identifier-not-normal", From(start),
                 "this name is not in Unicode normal form NFKC, in which Python compares names: "
                 "write it with plain characters");
  }
  Emit(KeywordOrName(name), start);
}

void Lexer::LexInvalidCharacter(const Position &start) {
  uint32_t c = DecodeUtf8(text_, pos_);
  Bump();
  std::string shown(text_.substr(start.offset, pos_ - start.offset));
  if (c < 0x20 || c == 0x7F || (c >= 0x80 && c < 0xA0))
    shown.clear();
  char code[16];
  snprintf(code, sizeof(code), "U+%04X", c);
  std::string message = "unexpected character " + (shown.empty() ? "" : Quoted(shown) + " ") +
                        (c < 0x80 && !shown.empty() ? "" : "(" + std::string(code) + ")");
  if (message.back() == ' ')
    message.pop_back();
  auto error = diags_.Error("invalid-character", From(start), message);
  // What word processors make of quotes and operators.
  constexpr std::pair<uint32_t, std::string_view> kLookAlikes[] = {
      {0x2018, "'"}, {0x2019, "'"}, {0x201C, "\""}, {0x201D, "\""}, {0x2212, "-"},  {0x2013, "-"},
      {0x00D7, "*"}, {0x00F7, "/"}, {0x2264, "<="}, {0x2265, ">="}, {0x2260, "!="}, {0x00A0, " "},
      {0xFF08, "("}, {0xFF09, ")"}, {0xFF0C, ","},  {0xFF1A, ":"},  {0xFF1D, "="}};
  for (auto [point, replacement] : kLookAlikes)
    if (point == c)
      error.FixIt(From(start), replacement);
  // White space of other kinds is taken for a blank; a second fault would only follow from it.
  if (c != 0xA0 && c != 0x3000)
    Emit(TokenKind::Error, start);
}

} // namespace pyasc::syntax
