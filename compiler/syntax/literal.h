// The values of literal tokens.
#ifndef PYASC_COMPILER_SYNTAX_LITERAL_H
#define PYASC_COMPILER_SYNTAX_LITERAL_H

#include <cstddef>
#include <string>
#include <string_view>

#include "compiler/syntax/arena.h"
#include "compiler/syntax/ast.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace pyasc::syntax {

// What went wrong at `offset`, a byte offset into the decoded text, for `length` bytes.
struct LiteralFault {
  bool warning = false;
  std::string_view code;
  size_t offset = 0;
  size_t length = 0;
  std::string message;
};
using FaultSink = llvm::function_ref<void(const LiteralFault &)>;

// Sets the value of `out` (Int, Float or Complex) from the text of a Number token that the lexer
// accepted. False: an integer of more than `max_digits` digits.
bool DecodeNumber(std::string_view text, size_t max_digits, Arena &arena, Constant &out);

enum class EscapeMode {
  Raw,   // no escapes
  Str,   // all escapes
  Bytes, // no \N, \u, \U; characters must be ASCII
};

// Appends the value of a string's text (without prefix and quotes) to `out`. Newlines become "\n".
// `doubled_braces`: "{{" stands for "{", as in the literal parts of f-strings.
void DecodeString(std::string_view text, EscapeMode mode, bool doubled_braces, FaultSink report,
                  std::string &out);

} // namespace pyasc::syntax

#endif // PYASC_COMPILER_SYNTAX_LITERAL_H
