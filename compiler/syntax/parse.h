// The parser's entry: Python 3.12 text to a syntax tree.
#ifndef PYASC_COMPILER_SYNTAX_PARSE_H
#define PYASC_COMPILER_SYNTAX_PARSE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "compiler/diag/diagnostic.h"
#include "compiler/syntax/ast.h"

namespace pyasc::syntax {

// Owns the memory of a tree.
class Arena;

struct ParseOptions {
  uint32_t file = 0;       // goes into every range
  uint32_t first_line = 1; // number of the first line; 0 means 1
  // What is refused, with the code of the error. All are there so that no text, however made, costs
  // more than time linear in its length or overflows a stack.
  size_t max_source_bytes = 1 << 20; // "source-too-large"
  size_t max_line_bytes = 1 << 16;   // "line-too-long"
  int max_nesting = 200;             // "nesting-too-deep": brackets, operators, blocks, together
  size_t max_integer_digits = 4300;  // "integer-too-large"
  size_t max_tokens = 1 << 19;       // "too-many-tokens"
  // After so many errors in tokens, or in grammar, the rest of the text is not read:
  // "too-many-errors", itself an error.
  size_t max_errors = 100;
};

struct ParseResult {
  ParseResult();
  ~ParseResult();
  ParseResult(ParseResult &&) noexcept;
  ParseResult &operator=(ParseResult &&) noexcept;

  std::unique_ptr<Arena> arena;
  // Never null. After errors, it holds the statements that could be parsed: good for looking up
  // names and for nothing else.
  Module *module = nullptr;
  // No error was reported by this call.
  bool ok = false;
};

// Parses a whole file, reporting every fault as a diagnostic. Any bytes are allowed. The text
// need not outlive the result, but must outlive `diags`: Parse makes it known to `diags`
// (AddSource) so that diagnostics show their lines.
//
// A byte order mark is skipped, CRLF and CR end lines, and indentation that all statements share
// is removed, so that a function cut out of a class can be parsed.
ParseResult Parse(std::string_view source, const ParseOptions &options,
                  diag::DiagnosticList &diags);

} // namespace pyasc::syntax

#endif // PYASC_COMPILER_SYNTAX_PARSE_H
