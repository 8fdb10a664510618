// Text to tokens, in one pass before parsing starts.
//
// The lexer knows indentation, brackets and f-strings; it reports what is wrong with them and with
// single tokens, and repairs the stream so that one fault is one message: after something it
// complained about there is an Error token or a region that `InUnclosed` knows.
#ifndef PYASC_COMPILER_SYNTAX_LEXER_H
#define PYASC_COMPILER_SYNTAX_LEXER_H

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/syntax/parse.h"
#include "compiler/syntax/token.h"

namespace pyasc::syntax {

struct TokenStream {
  // Ends with an EndMarker, and kLookahead more of them, so that looking ahead needs no checks.
  std::vector<Token> tokens;
  // There were more than ParseOptions::max_tokens: those beyond are missing.
  bool too_long = false;
  // Token ranges of brackets that nothing closes, by opener; each end is the greatest so far.
  std::vector<std::pair<uint32_t, uint32_t>> unclosed;

  // Whether an error at this token is already explained by a bracket that is never closed.
  bool InUnclosed(uint32_t index) const {
    auto it = std::lower_bound(unclosed.begin(), unclosed.end(), std::make_pair(index, 0u));
    return it != unclosed.begin() && index <= std::prev(it)->second;
  }
};

// REQUIRES: `text` is well-formed UTF-8 without NUL bytes, at most 4 GiB.
TokenStream Lex(std::string_view text, const ParseOptions &options, diag::DiagnosticList &diags);

} // namespace pyasc::syntax

#endif // PYASC_COMPILER_SYNTAX_LEXER_H
