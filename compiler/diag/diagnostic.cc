#include "compiler/diag/diagnostic.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace pyasc::diag {
namespace {

constexpr size_t kMaxSourceLineBytes = 400;

// `text` cut to at most `limit` bytes, at the boundary of a UTF-8 character.
std::string_view CutUtf8(std::string_view text, size_t limit) {
  if (text.size() <= limit)
    return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80)
    --limit;
  return text.substr(0, limit);
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The bytes of the well-formed UTF-8 sequence that `text` begins with, 0 when it is none.
size_t Utf8SequenceLength(std::string_view text) {
  auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char b = at(0);
  size_t n = b < 0x80 ? 1 : b < 0xC2 ? 0 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : b < 0xF5 ? 4 : 0;
  if (n == 0 || text.size() < n)
    return 0;
  for (size_t i = 1; i < n; ++i)
    if (!IsContinuation(text[i]))
      return 0;
  bool overlong = (b == 0xE0 && at(1) < 0xA0) || (b == 0xF0 && at(1) < 0x90);
  bool out_of_range = (b == 0xED && at(1) > 0x9F) || (b == 0xF4 && at(1) > 0x8F);
  return overlong || out_of_range ? 0 : n;
}

// Protobuf strings must be UTF-8, while sources and names in messages may be anything: each bad
// byte becomes U+FFFD.
std::string ToValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t n = Utf8SequenceLength(text);
    if (n != 0)
      out.append(text.substr(0, n));
    else
      out.append("\xEF\xBF\xBD");
    text.remove_prefix(n != 0 ? n : 1);
  }
  return out;
}

std::vector<size_t> LineStarts(std::string_view content) {
  std::vector<size_t> starts = {0};
  for (size_t i = 0; i < content.size(); ++i) {
    if (content[i] == '\r' && i + 1 < content.size() && content[i + 1] == '\n')
      ++i;
    if (content[i] == '\n' || content[i] == '\r')
      starts.push_back(i + 1);
  }
  return starts;
}

auto PositionKey(const v1::Diagnostic &d) {
  const v1::SourceRange &r = d.range();
  return std::make_tuple(r.line() == 0, r.file(), r.line(), r.column());
}

} // namespace

DiagnosticBuilder &DiagnosticBuilder::Note(const SourceRange &range, std::string_view message) {
  if (diagnostic_ == nullptr)
    return *this;
  v1::Diagnostic *note = diagnostic_->add_notes();
  note->set_severity(v1::SEVERITY_NOTE);
  note->set_message(ToValidUtf8(message));
  list_->SetPosition(note, range);
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::FixIt(const SourceRange &range,
                                            std::string_view replacement) {
  if (diagnostic_ == nullptr)
    return *this;
  v1::FixIt *fixit = diagnostic_->add_fixits();
  *fixit->mutable_range() = range.ToProto();
  fixit->set_replacement(ToValidUtf8(replacement));
  return *this;
}

void DiagnosticList::AddSource(uint32_t file, std::string_view content, uint32_t first_line) {
  sources_[file] = Source{content, first_line == 0 ? 1 : first_line, {}};
}

std::string_view DiagnosticList::SourceLine(uint32_t file, uint32_t line) const {
  auto it = sources_.find(file);
  if (it == sources_.end())
    return {};
  const Source &source = it->second;
  if (source.line_starts.empty())
    source.line_starts = LineStarts(source.content);
  if (line < source.first_line || line - source.first_line >= source.line_starts.size())
    return {};
  size_t index = line - source.first_line;
  size_t begin = source.line_starts[index];
  size_t end =
      index + 1 < source.line_starts.size() ? source.line_starts[index + 1] : source.content.size();
  std::string_view text = source.content.substr(begin, end - begin);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  if (index == 0 && text.starts_with("\xEF\xBB\xBF"))
    text.remove_prefix(3);
  return text;
}

std::string_view DiagnosticList::Text(const SourceRange &range) const {
  if (!range.IsKnown() || range.end_line != range.line || range.end_column < range.column)
    return {};
  std::string_view line = SourceLine(range.file, range.line);
  uint32_t column = 1;
  size_t begin = std::string_view::npos, end = std::string_view::npos;
  for (size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && IsContinuation(line[i]))
      continue;
    if (column == range.column)
      begin = i;
    if (column == range.end_column)
      end = i;
    ++column;
  }
  if (begin == std::string_view::npos || end == std::string_view::npos)
    return {};
  return line.substr(begin, end - begin);
}

void DiagnosticList::SetPosition(v1::Diagnostic *diagnostic, const SourceRange &range) const {
  if (!range.IsKnown())
    return;
  *diagnostic->mutable_range() = range.ToProto();
  std::string_view line = SourceLine(range.file, range.line);
  // Replacing bad bytes can only lengthen the line, hence cutting twice: before, to bound the
  // work, and after.
  std::string valid = ToValidUtf8(line.substr(0, kMaxSourceLineBytes + 4));
  diagnostic->set_source_line(std::string(CutUtf8(valid, kMaxSourceLineBytes)));
}

DiagnosticBuilder DiagnosticList::Report(v1::Severity severity, std::string_view code,
                                         const SourceRange &range, std::string_view message) {
  std::string key = std::to_string(severity);
  for (uint32_t n : {range.file, range.line, range.column, range.end_line, range.end_column})
    key.append(":").append(std::to_string(n));
  key.append(":").append(code).append(":").append(message);
  if (seen_.contains(key))
    return {this, nullptr};

  size_t dummy = 0;
  size_t &count = severity == v1::SEVERITY_ERROR     ? error_count_
                  : severity == v1::SEVERITY_WARNING ? warning_count_
                                                     : dummy;
  ++count;
  if (options_.max_errors != 0 && count > options_.max_errors) {
    ++dropped_;
    return {this, nullptr};
  }
  seen_.insert(std::move(key));

  v1::Diagnostic &d = diagnostics_.emplace_back();
  d.set_severity(severity);
  d.set_code(std::string(code));
  d.set_message(ToValidUtf8(message));
  SetPosition(&d, range);
  return {this, &d};
}

std::vector<v1::Diagnostic> DiagnosticList::Take() {
  std::vector<size_t> order(diagnostics_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    auto key_a = PositionKey(diagnostics_[a]), key_b = PositionKey(diagnostics_[b]);
    return key_a != key_b ? key_a < key_b : a < b;
  });
  std::vector<v1::Diagnostic> sorted;
  sorted.reserve(order.size() + 1);
  for (size_t i : order)
    sorted.push_back(std::move(diagnostics_[i]));
  diagnostics_.clear();
  if (dropped_ != 0) {
    v1::Diagnostic &d = sorted.emplace_back();
    d.set_severity(v1::SEVERITY_NOTE);
    d.set_code("too-many-errors");
    d.set_message(std::to_string(dropped_) + " further diagnostics are not shown");
    dropped_ = 0;
  }
  return sorted;
}

} // namespace pyasc::diag
