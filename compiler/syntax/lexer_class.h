// The lexer's state, private to lexer*.cc.
#ifndef PYASC_COMPILER_SYNTAX_LEXER_CLASS_H
#define PYASC_COMPILER_SYNTAX_LEXER_CLASS_H

#include <string>
#include <string_view>
#include <vector>

#include "compiler/syntax/lexer.h"

namespace pyasc::syntax {

class Lexer {
public:
  Lexer(std::string_view text, const ParseOptions &options, diag::DiagnosticList &diags)
      : text_(text), options_(options), diags_(diags),
        error_limit_(diags.ErrorCount() + options.max_errors),
        line_(options.first_line == 0 ? 1 : options.first_line) {}

  TokenStream Run();

private:
  struct Position {
    uint32_t offset, line, column;
  };

  struct Indentation {
    uint32_t width;     // tabs to multiples of eight
    uint32_t alt_width; // tabs as one column: both must agree on what is deeper
    SourceRange range;  // of the line that opened the level
  };

  struct Bracket {
    TokenKind kind;
    uint32_t token; // index of the opening token
    // The `{` of a replacement field in an f-string, and whether its format specifier has begun.
    bool is_field = false;
    bool in_format_spec = false;
  };

  struct FString {
    char quote;
    bool triple;
    bool raw;
    uint32_t token;       // index of FStringStart
    size_t bracket_depth; // brackets open around it
  };

  // ---- lexer.cc
  void LexLineStart();
  void LexToken();
  bool ReadEnough();
  void LexEndOfFile();
  void LexIndentation(uint32_t width, uint32_t alt_width);
  void LexBackslash();
  void ComplainNoLineFollows(const Position &backslash);
  void LexOperator();
  void SkipComment();
  void LexOpen(TokenKind kind);
  void LexClose(TokenKind kind);
  void LexIdentifierOrString();
  void LexInvalidCharacter(const Position &start);
  bool AtStatementKeyword() const;
  void PopBracket(uint32_t closing_token);
  void DropBrackets(size_t depth);
  void CloseEverything();
  void BackToLineStart();
  bool RewindToStatement();

  // ---- lexer_literal.cc
  void LexNumber();
  bool LexDigits(const Position &start, bool (*is_digit)(char), std::string_view what);
  void EndNumber(const Position &start, std::string_view what);
  void LexBadNumber(const Position &start, const std::string &message);
  void LexString(const Position &start, std::string_view prefix);
  void LexFStringStart(const Position &start, bool raw);
  void LexFStringMiddle();
  void SkipStringText(char quote);
  bool QuoteClosesLater(char quote) const;
  void AbandonFString();

  // ---- Moving
  bool AtEnd() const { return pos_ >= text_.size(); }
  char Ch(size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
  }
  bool AtNewline() const { return !AtEnd() && (Ch() == '\n' || Ch() == '\r'); }
  bool Looking(std::string_view s) const { return text_.substr(pos_).starts_with(s); }
  // Over one character that is no newline, or over `n` ASCII ones.
  void Bump();
  void Bump(size_t n) {
    pos_ += n;
    column_ += n;
  }
  void BumpNewline();

  Position Here() const { return {static_cast<uint32_t>(pos_), line_, column_}; }
  SourceRange From(const Position &start) const {
    return {options_.file, start.line, start.column, line_, column_};
  }
  SourceRange RangeOf(const Token &t) const {
    return {options_.file, t.line, t.column, t.end_line, t.end_column};
  }
  Token &Emit(TokenKind kind, const Position &start);
  uint32_t NextIndex() const { return static_cast<uint32_t>(out_.tokens.size()); }

  // Literal text of an f-string comes next, rather than an ordinary token.
  bool InFStringText() const;
  // At the level of a replacement field's own braces, where `:` and `!` end the expression.
  bool AtFieldLevel() const { return !brackets_.empty() && brackets_.back().is_field; }

  std::string_view text_;
  const ParseOptions &options_;
  diag::DiagnosticList &diags_;
  TokenStream out_;
  const size_t error_limit_; // errors in `diags_` after which lexing ends

  size_t pos_ = 0;
  uint32_t line_ = 1;
  uint32_t column_ = 1;
  bool at_line_start_ = true;
  bool reported_tabs_ = false;
  int rewinds_ = 0;

  std::vector<Indentation> indents_; // the first is the indentation of the whole text
  std::vector<Bracket> brackets_;
  std::vector<FString> fstrings_;
  // So many of the outermost brackets may stay open without a word: something was said already
  // that explains it.
  size_t quiet_depth_ = 0;
};

} // namespace pyasc::syntax

#endif // PYASC_COMPILER_SYNTAX_LEXER_CLASS_H
