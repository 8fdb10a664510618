// Any bytes: parsing ends, the tree is whole, and every message points into the text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/syntax/dump.h"
#include "compiler/syntax/parse.h"
#include "compiler/syntax/unicode.h"
#include "tests/fuzz/libfuzzer/fuzz_check.h"

using namespace pyasc;
using namespace pyasc::syntax;

namespace {

// The characters of each line.
std::vector<uint32_t> LineLengths(std::string_view text) {
  std::vector<uint32_t> lengths = {0};
  if (text.starts_with("\xEF\xBB\xBF"))
    text.remove_prefix(3);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n')
      ++i;
    if (text[i] == '\n' || text[i] == '\r')
      lengths.push_back(0);
    else
      lengths.back() += !IsUtf8Continuation(text[i]);
  }
  return lengths;
}

void CheckRange(const v1::SourceRange &r, const std::vector<uint32_t> &lengths) {
  if (r.line() == 0)
    return;
  FUZZ_CHECK(r.line() <= lengths.size() && r.end_line() <= lengths.size());
  // The end of a line is a place, and its newline a character.
  FUZZ_CHECK(r.column() >= 1 && r.column() <= lengths[r.line() - 1] + 2);
  FUZZ_CHECK(r.end_column() >= 1 && r.end_column() <= lengths[r.end_line() - 1] + 2);
  FUZZ_CHECK(r.line() < r.end_line() || (r.line() == r.end_line() && r.column() <= r.end_column()));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  diag::DiagnosticList diags({.max_errors = 0});
  ParseResult result = Parse(text, {}, diags);
  FUZZ_CHECK(result.module != nullptr);
  FUZZ_CHECK(result.ok == !diags.HasErrors());
  std::string tree = Dump(result.module);
  FUZZ_CHECK(tree.starts_with("Module"));
  // A text that is not UTF-8 has no columns to check.
  if (FindInvalidUtf8(text) == std::string_view::npos) {
    std::vector<uint32_t> lengths = LineLengths(text);
    for (const v1::Diagnostic &d : diags.Take()) {
      FUZZ_CHECK(!d.code().empty() && !d.message().empty());
      CheckRange(d.range(), lengths);
      for (const v1::Diagnostic &note : d.notes())
        CheckRange(note.range(), lengths);
      for (const v1::FixIt &fix : d.fixits())
        CheckRange(fix.range(), lengths);
    }
  }
  // The limits, where they are near.
  diag::DiagnosticList more;
  Parse(text,
        {.max_line_bytes = 200,
         .max_nesting = 6,
         .max_integer_digits = 5,
         .max_tokens = 300,
         .max_errors = 2},
        more);
  return 0;
}
