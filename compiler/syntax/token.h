// Tokens of Python 3.12, f-strings taken apart as CPython 3.12 does.
#ifndef PYASC_COMPILER_SYNTAX_TOKEN_H
#define PYASC_COMPILER_SYNTAX_TOKEN_H

#include <cstdint>
#include <string_view>

namespace pyasc::syntax {

// NAME, spelling
#define PYASC_PUNCTUATION(X)                                                                       \
  X(LParen, "(")                                                                                   \
  X(RParen, ")")                                                                                   \
  X(LBracket, "[")                                                                                 \
  X(RBracket, "]")                                                                                 \
  X(LBrace, "{")                                                                                   \
  X(RBrace, "}")                                                                                   \
  X(Colon, ":")                                                                                    \
  X(Comma, ",")                                                                                    \
  X(Semicolon, ";")                                                                                \
  X(Dot, ".")                                                                                      \
  X(Ellipsis, "...")                                                                               \
  X(Arrow, "->")                                                                                   \
  X(ColonEqual, ":=")                                                                              \
  X(Exclamation, "!")                                                                              \
  X(Equal, "=")                                                                                    \
  X(EqualEqual, "==")                                                                              \
  X(NotEqual, "!=")                                                                                \
  X(Less, "<")                                                                                     \
  X(LessEqual, "<=")                                                                               \
  X(Greater, ">")                                                                                  \
  X(GreaterEqual, ">=")                                                                            \
  X(Plus, "+")                                                                                     \
  X(Minus, "-")                                                                                    \
  X(Star, "*")                                                                                     \
  X(StarStar, "**")                                                                                \
  X(Slash, "/")                                                                                    \
  X(SlashSlash, "//")                                                                              \
  X(Percent, "%")                                                                                  \
  X(At, "@")                                                                                       \
  X(LessLess, "<<")                                                                                \
  X(GreaterGreater, ">>")                                                                          \
  X(Ampersand, "&")                                                                                \
  X(Pipe, "|")                                                                                     \
  X(Caret, "^")                                                                                    \
  X(Tilde, "~")                                                                                    \
  X(PlusEqual, "+=")                                                                               \
  X(MinusEqual, "-=")                                                                              \
  X(StarEqual, "*=")                                                                               \
  X(StarStarEqual, "**=")                                                                          \
  X(SlashEqual, "/=")                                                                              \
  X(SlashSlashEqual, "//=")                                                                        \
  X(PercentEqual, "%=")                                                                            \
  X(AtEqual, "@=")                                                                                 \
  X(LessLessEqual, "<<=")                                                                          \
  X(GreaterGreaterEqual, ">>=")                                                                    \
  X(AmpersandEqual, "&=")                                                                          \
  X(PipeEqual, "|=")                                                                               \
  X(CaretEqual, "^=")

// The hard keywords, sorted by spelling; `match`, `case`, `type` and `_` are names.
#define PYASC_KEYWORDS(X)                                                                          \
  X(KwFalse, "False")                                                                              \
  X(KwNone, "None")                                                                                \
  X(KwTrue, "True")                                                                                \
  X(KwAnd, "and")                                                                                  \
  X(KwAs, "as")                                                                                    \
  X(KwAssert, "assert")                                                                            \
  X(KwAsync, "async")                                                                              \
  X(KwAwait, "await")                                                                              \
  X(KwBreak, "break")                                                                              \
  X(KwClass, "class")                                                                              \
  X(KwContinue, "continue")                                                                        \
  X(KwDef, "def")                                                                                  \
  X(KwDel, "del")                                                                                  \
  X(KwElif, "elif")                                                                                \
  X(KwElse, "else")                                                                                \
  X(KwExcept, "except")                                                                            \
  X(KwFinally, "finally")                                                                          \
  X(KwFor, "for")                                                                                  \
  X(KwFrom, "from")                                                                                \
  X(KwGlobal, "global")                                                                            \
  X(KwIf, "if")                                                                                    \
  X(KwImport, "import")                                                                            \
  X(KwIn, "in")                                                                                    \
  X(KwIs, "is")                                                                                    \
  X(KwLambda, "lambda")                                                                            \
  X(KwNonlocal, "nonlocal")                                                                        \
  X(KwNot, "not")                                                                                  \
  X(KwOr, "or")                                                                                    \
  X(KwPass, "pass")                                                                                \
  X(KwRaise, "raise")                                                                              \
  X(KwReturn, "return")                                                                            \
  X(KwTry, "try")                                                                                  \
  X(KwWhile, "while")                                                                              \
  X(KwWith, "with")                                                                                \
  X(KwYield, "yield")

enum class TokenKind : uint8_t {
  EndMarker,
  Stop,  // what the parser sees after an error, until it has found the next statement
  Error, // something that the lexer has complained about already
  Newline,
  Indent,
  Dedent,
  Name,
  Number,
  String,        // with prefix and quotes
  FStringStart,  // prefix and opening quotes
  FStringMiddle, // literal text, escapes and doubled braces undecoded
  FStringEnd,    // closing quotes
#define X(name, spelling) name,
  PYASC_PUNCTUATION(X) PYASC_KEYWORDS(X)
#undef X
};

struct Token {
  TokenKind kind = TokenKind::EndMarker;
  // FStringMiddle: part of a format specifier, where braces are not doubled.
  bool in_format_spec = false;
  // Byte offsets into the text, and positions as in SourceRange.
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t end_line = 0;
  uint32_t end_column = 0;
  // Opening brackets: the index of the token that closes it, 0 when nothing does.
  uint32_t match = 0;
};

// So many tokens ahead the parser looks.
inline constexpr size_t kLookahead = 2;

inline bool IsKeyword(TokenKind kind) {
  return kind >= TokenKind::KwFalse && kind <= TokenKind::KwYield;
}

// How a punctuation or keyword token is written; "" for other kinds.
std::string_view TokenSpelling(TokenKind kind);

// The keyword that `name` is, TokenKind::Name when it is none.
TokenKind KeywordOrName(std::string_view name);

} // namespace pyasc::syntax

#endif // PYASC_COMPILER_SYNTAX_TOKEN_H
