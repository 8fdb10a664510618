// Any well-formed text: the promises of lexer.h and token.h hold for the tokens.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "compiler/syntax/lexer.h"
#include "compiler/syntax/unicode.h"
#include "tests/fuzz/libfuzzer/fuzz_check.h"

using namespace pyasc;
using namespace pyasc::syntax;

namespace {

void CheckTokens(std::string_view text, const TokenStream &stream) {
  const std::vector<Token> &tokens = stream.tokens;
  FUZZ_CHECK(tokens.size() > kLookahead);
  for (size_t i = 0; i <= kLookahead; ++i)
    FUZZ_CHECK(tokens[tokens.size() - 1 - i].kind == TokenKind::EndMarker);
  int depth = 0;
  const Token *previous = nullptr;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token &t = tokens[i];
    FUZZ_CHECK(t.begin <= t.end && t.end <= text.size());
    FUZZ_CHECK(t.line < t.end_line || (t.line == t.end_line && t.column <= t.end_column));
    FUZZ_CHECK(t.match == 0 || (t.match > i && t.match < tokens.size()));
    if (previous != nullptr)
      FUZZ_CHECK(previous->begin <= t.begin && previous->line <= t.line);
    depth += t.kind == TokenKind::Indent ? 1 : t.kind == TokenKind::Dedent ? -1 : 0;
    FUZZ_CHECK(depth >= 0);
    previous = &t;
  }
  FUZZ_CHECK(depth == 0);
  for (auto [begin, end] : stream.unclosed)
    FUZZ_CHECK(begin <= end);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  if (text.find('\0') != std::string_view::npos || FindInvalidUtf8(text) != std::string_view::npos)
    return -1;
  ParseOptions options;
  diag::DiagnosticList diags;
  diags.AddSource(0, text, 0);
  CheckTokens(text, Lex(text, options, diags));
  // The limits, where they are near.
  options.max_tokens = 20;
  options.max_errors = 2;
  diag::DiagnosticList more;
  CheckTokens(text, Lex(text, options, more));
  return 0;
}
