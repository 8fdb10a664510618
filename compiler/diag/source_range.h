// A half-open range of source text, as plain data; the C++ side of pyasc.v1.SourceRange.
#ifndef PYASC_COMPILER_DIAG_SOURCE_RANGE_H
#define PYASC_COMPILER_DIAG_SOURCE_RANGE_H

#include <cstdint>

#include "pyasc/v1/diagnostics.pb.h"

namespace pyasc::diag {

// Lines and columns count from 1; columns count Unicode code points of the line as the author
// wrote it (indentation that the parser removes is counted). line == 0: no position is known.
// An empty range (end == begin) is a place between two characters.
struct SourceRange {
  uint32_t file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t end_line = 0;
  uint32_t end_column = 0;

  bool IsKnown() const { return line != 0; }
  bool operator==(const SourceRange &) const = default;

  // From the beginning of `first` to the end of `last`; both in one file.
  static SourceRange Join(const SourceRange &first, const SourceRange &last) {
    return {first.file, first.line, first.column, last.end_line, last.end_column};
  }
  // The empty ranges before and after this one: where an insertion goes.
  SourceRange Begin() const { return {file, line, column, line, column}; }
  SourceRange End() const { return {file, end_line, end_column, end_line, end_column}; }

  v1::SourceRange ToProto() const {
    v1::SourceRange out;
    out.set_file(file);
    out.set_line(line);
    out.set_column(column);
    out.set_end_line(end_line);
    out.set_end_column(end_column);
    return out;
  }
  static SourceRange FromProto(const v1::SourceRange &p) {
    return {p.file(), p.line(), p.column(), p.end_line(), p.end_column()};
  }
};

} // namespace pyasc::diag

#endif // PYASC_COMPILER_DIAG_SOURCE_RANGE_H
