// Numbers, strings and f-strings.
#include <algorithm>
#include <array>

#include "compiler/syntax/lexer_class.h"
#include "compiler/syntax/unicode.h"

namespace pyasc::syntax {
namespace {

bool IsDecimal(char c) { return c >= '0' && c <= '9'; }
bool IsOctal(char c) { return c >= '0' && c <= '7'; }
bool IsBinary(char c) { return c == '0' || c == '1'; }
bool IsHex(char c) { return IsDecimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsNameChar(char c) {
  return IsDecimal(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// What may mean something inside a string, but for its quotes.
constexpr auto kStringCharacters = [] {
  std::array<bool, 256> out{};
  for (unsigned char c : {'\\', '\n', '\r', '{', '}'})
    out[c] = true;
  return out;
}();

} // namespace

// ---- Numbers

void Lexer::LexNumber() {
  Position start = Here();
  size_t digits_end = pos_;
  while (digits_end < text_.size() && IsDecimal(text_[digits_end]))
    ++digits_end;
  size_t length = digits_end - pos_;
  char after = Ch(length);
  if (length > 0 && (length == 1 || Ch() != '0') && after != '.' && !IsNameChar(after)) {
    Bump(length);
    Emit(TokenKind::Number, start);
    return;
  }
  if (Ch() == '0' && (Ch(1) | 0x20) == 'x') {
    Bump(2);
    if (LexDigits(start, IsHex, "hexadecimal"))
      EndNumber(start, "hexadecimal");
    return;
  }
  if (Ch() == '0' && (Ch(1) | 0x20) == 'o') {
    Bump(2);
    if (LexDigits(start, IsOctal, "octal"))
      EndNumber(start, "octal");
    return;
  }
  if (Ch() == '0' && (Ch(1) | 0x20) == 'b') {
    Bump(2);
    if (LexDigits(start, IsBinary, "binary"))
      EndNumber(start, "binary");
    return;
  }
  bool integer = true;
  if (IsDecimal(Ch()) && !LexDigits(start, IsDecimal, "decimal"))
    return;
  if (Ch() == '.') {
    integer = false;
    Bump(1);
    if (IsDecimal(Ch()) && !LexDigits(start, IsDecimal, "decimal"))
      return;
  }
  if ((Ch() | 0x20) == 'e') {
    size_t sign = Ch(1) == '+' || Ch(1) == '-' ? 1 : 0;
    if (IsDecimal(Ch(1 + sign))) {
      integer = false;
      Bump(1 + sign);
      if (!LexDigits(start, IsDecimal, "decimal"))
        return;
    }
  }
  if ((Ch() | 0x20) == 'j') {
    integer = false;
    Bump(1);
  }
  std::string_view digits = text_.substr(start.offset, pos_ - start.offset);
  if (integer && digits[0] == '0' && digits.find_first_not_of("0_") != std::string_view::npos) {
    std::string_view rest = digits.substr(digits.find_first_not_of("0_"));
    std::string message = "leading zeros are not allowed in a decimal integer";
    if (rest.find_first_of("89") == std::string_view::npos)
      message += "; an octal one is written 0o" + std::string(rest);
    diags_.Error("invalid-number", From(start), message);
    Emit(TokenKind::Error, start);
    return;
  }
  EndNumber(start, "decimal");
}

// Digits with single underscores between them (and after a 0x prefix). False: reported.
bool Lexer::LexDigits(const Position &start, bool (*is_digit)(char), std::string_view what) {
  for (;;) {
    if (Ch() == '_') {
      Bump(1);
      if (!is_digit(Ch())) {
        LexBadNumber(start, "expected a digit after '_' in a " + std::string(what) + " literal");
        return false;
      }
    } else if (!is_digit(Ch())) {
      bool prefixed = what != "decimal" && pos_ == start.offset + 2;
      if (prefixed || (what != "decimal" && IsDecimal(Ch()))) {
        LexBadNumber(start, (prefixed && !IsDecimal(Ch()) ? "expected digits in a "
                                                          : "invalid digit in a ") +
                                std::string(what) + " literal");
        return false;
      }
      return true;
    }
    Bump(1);
  }
}

// A number ends where no name continues it; `1if x else y` is allowed, as in CPython.
void Lexer::EndNumber(const Position &start, std::string_view what) {
  constexpr std::string_view kMayFollow[] = {"and", "else", "for", "if", "in", "is", "not", "or"};
  if (IsNameChar(Ch()) && std::none_of(std::begin(kMayFollow), std::end(kMayFollow),
                                       [&](std::string_view k) { return Looking(k); }))
    return LexBadNumber(start, "unexpected characters at the end of " +
                                   std::string(what == "octal" ? "an " : "a ") + std::string(what) +
                                   " literal");
  Emit(TokenKind::Number, start);
}

void Lexer::LexBadNumber(const Position &start, const std::string &message) {
  Position here = Here();
  while (!AtEnd() && IsNameChar(Ch()))
    Bump();
  if (here.offset == pos_)
    here = start;
  diags_.Error("invalid-number", From(here), message);
  Emit(TokenKind::Error, start);
}

// ---- Strings

void Lexer::LexString(const Position &start, std::string_view prefix) {
  bool raw = prefix.find('r') != std::string_view::npos;
  if (prefix.find('f') != std::string_view::npos)
    return LexFStringStart(start, raw);

  char quote = Ch();
  // In the replacement field of `f"{x"`, the quote that ends the f-string looks like the start of
  // a string.
  if (prefix.empty() && !fstrings_.empty() && !fstrings_.back().triple &&
      fstrings_.back().quote == quote && !QuoteClosesLater(quote)) {
    diags_
        .Error("unclosed-field", From(start).Begin(), "expected '}' before the end of the f-string")
        .Note(RangeOf(out_.tokens[fstrings_.back().token]), "the f-string begins here");
    Bump(1);
    AbandonFString();
    return;
  }
  bool triple = Ch(1) == quote && Ch(2) == quote;
  if (!triple && Ch(1) == quote) { // empty
    Bump(2);
    Emit(TokenKind::String, start);
    return;
  }
  Bump(triple ? 3 : 1);
  for (;;) {
    SkipStringText(quote);
    if (AtEnd() || (!triple && AtNewline())) {
      SourceRange range = From(start);
      if (triple)
        range = {options_.file, start.line, start.column, start.line,
                 static_cast<uint32_t>(start.column + prefix.size() + 3)};
      diags_.Error("unterminated-string", range,
                   triple ? "this triple-quoted string is never closed"
                          : "this string is not closed at the end of its line");
      quiet_depth_ = brackets_.size();
      Emit(TokenKind::Error, start);
      return;
    }
    if (Ch() == '\\') {
      Bump(1);
      if (AtEnd())
        continue;
      if (AtNewline())
        BumpNewline();
      else
        Bump();
    } else if (AtNewline()) {
      BumpNewline();
    } else if (Ch() == quote && (!triple || (Ch(1) == quote && Ch(2) == quote))) {
      Bump(triple ? 3 : 1);
      Emit(TokenKind::String, start);
      return;
    } else {
      Bump();
    }
  }
}

// Over characters that mean nothing in a string, f-strings included.
void Lexer::SkipStringText(char quote) {
  for (; pos_ < text_.size(); ++pos_) {
    char c = text_[pos_];
    if (c == quote || kStringCharacters[static_cast<unsigned char>(c)])
      return;
    column_ += !IsUtf8Continuation(c);
  }
}

// Whether the quote at hand has a partner on its line.
bool Lexer::QuoteClosesLater(char quote) const {
  for (size_t i = pos_ + 1; i < text_.size() && text_[i] != '\n' && text_[i] != '\r'; ++i) {
    if (text_[i] == '\\')
      ++i;
    else if (text_[i] == quote)
      return true;
  }
  return false;
}

// ---- f-strings

void Lexer::LexFStringStart(const Position &start, bool raw) {
  char quote = Ch();
  bool triple = Ch(1) == quote && Ch(2) == quote;
  Bump(triple ? 3 : 1);
  fstrings_.push_back({quote, triple, raw, NextIndex(), brackets_.size()});
  Emit(TokenKind::FStringStart, start);
}

// Leaves the innermost f-string, about which something was said; the parser sees an Error token.
void Lexer::AbandonFString() {
  DropBrackets(fstrings_.back().bracket_depth);
  fstrings_.pop_back();
  Emit(TokenKind::Error, Here());
}

// Literal text up to a replacement field, the end of a format specifier, or the end of the string;
// and that following token, too.
void Lexer::LexFStringMiddle() {
  const FString f = fstrings_.back();
  const bool in_spec = brackets_.size() > f.bracket_depth;
  Position start = Here();
  auto end_text = [&] {
    if (pos_ != start.offset)
      Emit(TokenKind::FStringMiddle, start).in_format_spec = in_spec;
  };
  for (;;) {
    SkipStringText(f.quote);
    if (AtEnd() || (!f.triple && AtNewline())) {
      SourceRange range = RangeOf(out_.tokens[f.token]);
      if (!f.triple)
        range = SourceRange::Join(range, From(Here()));
      diags_.Error("unterminated-string", range,
                   f.triple ? "this triple-quoted f-string is never closed"
                            : "this f-string is not closed at the end of its line");
      quiet_depth_ = brackets_.size();
      AbandonFString();
      return;
    }
    char c = Ch();
    if (c == f.quote && (!f.triple || (Ch(1) == c && Ch(2) == c))) {
      if (in_spec) {
        diags_.Error("unclosed-field", From(Here()), "expected '}' before the end of the f-string")
            .Note(RangeOf(out_.tokens[brackets_.back().token]),
                  "the replacement field begins here");
        Bump(f.triple ? 3 : 1);
        AbandonFString();
        return;
      }
      end_text();
      Position quotes = Here();
      Bump(f.triple ? 3 : 1);
      Emit(TokenKind::FStringEnd, quotes);
      fstrings_.pop_back();
      return;
    }
    if (c == '{') {
      if (!in_spec && Ch(1) == '{') {
        Bump(2);
        continue;
      }
      end_text();
      Position brace = Here();
      Bump(1);
      Emit(TokenKind::LBrace, brace);
      brackets_.push_back({TokenKind::LBrace, NextIndex() - 1, /*is_field=*/true});
      return;
    }
    if (c == '}') {
      if (!in_spec && Ch(1) == '}') {
        Bump(2);
        continue;
      }
      end_text();
      Position brace = Here();
      Bump(1);
      if (in_spec) {
        Emit(TokenKind::RBrace, brace);
        LexClose(TokenKind::RBrace);
        return;
      }
      diags_.Error("unmatched-bracket", From(brace),
                   "a single '}' closes nothing; in an f-string a brace is written '}}'");
      Emit(TokenKind::Error, brace);
      return;
    }
    if (c == '\\') {
      Bump(1);
      if (AtEnd() || Ch() == '{' || Ch() == '}')
        continue;
      if (!f.raw && Ch() == 'N' && Ch(1) == '{') {
        // The braces of "\N{...}" open no field.
        while (!AtEnd() && !AtNewline() && Ch() != '}' && Ch() != f.quote)
          Bump();
        if (Ch() == '}')
          Bump(1);
        continue;
      }
    }
    if (AtNewline())
      BumpNewline();
    else
      Bump();
  }
}

} // namespace pyasc::syntax
