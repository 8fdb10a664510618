#include "compiler/diag/render_text.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace pyasc::diag {
namespace {

std::string_view SeverityName(v1::Severity severity) {
  switch (severity) {
  case v1::SEVERITY_ERROR:
    return "error";
  case v1::SEVERITY_WARNING:
    return "warning";
  default:
    return "note";
  }
}

// The offsets at which the code points of `line` begin, and its length.
std::vector<size_t> CodePoints(std::string_view line) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < line.size(); ++i)
    if ((static_cast<unsigned char>(line[i]) & 0xC0) != 0x80)
      starts.push_back(i);
  starts.push_back(line.size());
  return starts;
}

// Blanks below the first `columns - 1` characters; tabs stay, so that what follows lines up.
std::string BlanksBefore(std::string_view line, uint32_t column) {
  std::vector<size_t> starts = CodePoints(line);
  std::string out;
  for (size_t i = 0; i + 1 < std::min<size_t>(column, starts.size()); ++i)
    out.push_back(line[starts[i]] == '\t' ? '\t' : ' ');
  return out;
}

std::string Marks(const v1::SourceRange &range, std::string_view line) {
  size_t line_end = CodePoints(line).size(); // the column after the last
  size_t end = range.end_line() == range.line() ? range.end_column() : line_end;
  end = std::min(end, std::max<size_t>(line_end, range.column() + 1));
  size_t more = end > range.column() + 1 ? end - range.column() - 1 : 0;
  return "^" + std::string(more, '~');
}

void Render(const v1::Diagnostic &d, std::span<const std::string> paths, std::string &out) {
  const v1::SourceRange &range = d.range();
  if (range.line() != 0) {
    out += range.file() < paths.size() ? paths[range.file()]
                                       : "<file " + std::to_string(range.file()) + ">";
    out += ":" + std::to_string(range.line()) + ":" + std::to_string(range.column()) + ": ";
  }
  out.append(SeverityName(d.severity())).append(": ").append(d.message());
  if (!d.code().empty())
    out += " [" + d.code() + "]";
  out += "\n";
  if (range.line() != 0 && !d.source_line().empty()) {
    const std::string &line = d.source_line();
    out += line + "\n" + BlanksBefore(line, range.column()) + Marks(range, line) + "\n";
    for (const v1::FixIt &fixit : d.fixits())
      if (fixit.range().line() == range.line() && !fixit.replacement().empty())
        out += BlanksBefore(line, fixit.range().column()) + fixit.replacement() + "\n";
  }
  for (const v1::Diagnostic &note : d.notes())
    Render(note, paths, out);
}

} // namespace

std::string RenderText(std::span<const v1::Diagnostic> diagnostics,
                       std::span<const std::string> paths) {
  std::string out;
  for (const v1::Diagnostic &d : diagnostics)
    Render(d, paths, out);
  return out;
}

} // namespace pyasc::diag
