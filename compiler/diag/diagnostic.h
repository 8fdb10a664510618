// The list that every stage of the compiler reports into.
//
//   diags.Error("type-mismatch", node->range, "expected a tensor, met a scalar")
//       .Note(parameter->range, "'A' is declared here")
//       .FixIt(node->range, "A[i]");
//
// A code is the stable, kebab-case identifier of a kind of message: tests and users name it, so
// it does not change when the wording does. A message is one sentence without a full stop: what
// was expected, what was met, what to do.
//
// Not thread-safe; one list belongs to one compilation.
#ifndef PYASC_COMPILER_DIAG_DIAGNOSTIC_H
#define PYASC_COMPILER_DIAG_DIAGNOSTIC_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/source_range.h"
#include "pyasc/v1/diagnostics.pb.h"

namespace pyasc::diag {

class DiagnosticList;

// Adds notes and fix-its to the diagnostic that was just reported. Valid until the next report to
// the same list. When the diagnostic was dropped (a duplicate, or past the limit), so is this.
class DiagnosticBuilder {
public:
  DiagnosticBuilder &Note(const SourceRange &range, std::string_view message);
  // A note without a position.
  DiagnosticBuilder &Note(std::string_view message) { return Note(SourceRange{}, message); }
  // Replace the text of `range`. An empty range inserts, an empty replacement removes.
  DiagnosticBuilder &FixIt(const SourceRange &range, std::string_view replacement);

  // For callers that report nothing this time.
  static DiagnosticBuilder Dropped() { return {nullptr, nullptr}; }

  // Whether the diagnostic was kept.
  explicit operator bool() const { return diagnostic_ != nullptr; }

private:
  friend class DiagnosticList;
  DiagnosticBuilder(DiagnosticList *list, v1::Diagnostic *diagnostic)
      : list_(list), diagnostic_(diagnostic) {}

  DiagnosticList *list_;
  v1::Diagnostic *diagnostic_; // null: dropped
};

class DiagnosticList {
public:
  struct Options {
    // Errors past this number are counted and dropped; the list then ends with a note that says
    // so. Warnings have the same limit of their own. 0: no limit.
    size_t max_errors = 20;
  };

  DiagnosticList() = default;
  explicit DiagnosticList(const Options &options) : options_(options) {}
  DiagnosticList(const DiagnosticList &) = delete;
  DiagnosticList &operator=(const DiagnosticList &) = delete;

  // Makes the text of a file known, so that diagnostics get their source_line. `content` is not
  // copied and must outlive the list; any bytes are allowed. `first_line` is the number of its
  // first line, 0 means 1. Call it before anything is reported in that file.
  void AddSource(uint32_t file, std::string_view content, uint32_t first_line);

  DiagnosticBuilder Error(std::string_view code, const SourceRange &range,
                          std::string_view message) {
    return Report(v1::SEVERITY_ERROR, code, range, message);
  }
  DiagnosticBuilder Warning(std::string_view code, const SourceRange &range,
                            std::string_view message) {
    return Report(v1::SEVERITY_WARNING, code, range, message);
  }
  // A note that stands alone, such as a remark of the optimiser.
  DiagnosticBuilder Remark(std::string_view code, const SourceRange &range,
                           std::string_view message) {
    return Report(v1::SEVERITY_NOTE, code, range, message);
  }
  // A report with the same severity, code, range and message as an earlier one is dropped: a
  // helper that is inlined ten times complains once.
  DiagnosticBuilder Report(v1::Severity severity, std::string_view code, const SourceRange &range,
                           std::string_view message);

  // Dropped errors count, duplicates do not.
  bool HasErrors() const { return error_count_ != 0; }
  size_t ErrorCount() const { return error_count_; }
  size_t WarningCount() const { return warning_count_; }
  bool Empty() const { return diagnostics_.empty(); }

  // The kept diagnostics by file, line and column, those at one place in order of report, those
  // without a position last. Leaves the list empty, its sources and counts kept.
  std::vector<v1::Diagnostic> Take();

  // The line `line` of `file` without its newline, "" when unknown; whole, as the author wrote it.
  std::string_view SourceLine(uint32_t file, uint32_t line) const;

  // The text of a range that lies on one line; "" otherwise.
  std::string_view Text(const SourceRange &range) const;

private:
  friend class DiagnosticBuilder;
  struct Source {
    std::string_view content;
    uint32_t first_line = 1;
    // Byte offsets; found when the first line is asked for, since most texts have no fault.
    mutable std::vector<size_t> line_starts;
  };

  void SetPosition(v1::Diagnostic *diagnostic, const SourceRange &range) const;

  Options options_;
  std::map<uint32_t, Source> sources_;
  std::vector<v1::Diagnostic> diagnostics_;
  std::set<std::string> seen_; // severity, code, range and message, to drop duplicates
  size_t error_count_ = 0;
  size_t warning_count_ = 0;
  size_t dropped_ = 0;
};

} // namespace pyasc::diag

#endif // PYASC_COMPILER_DIAG_DIAGNOSTIC_H
