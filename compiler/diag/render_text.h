// Diagnostics as text, for the compiler's own tests and tools. The CLI has a renderer of its own
// (with colours, JSON and SARIF), since clients link nothing of the compiler.
#ifndef PYASC_COMPILER_DIAG_RENDER_TEXT_H
#define PYASC_COMPILER_DIAG_RENDER_TEXT_H

#include <span>
#include <string>

#include "pyasc/v1/diagnostics.pb.h"

namespace pyasc::diag {

// Each diagnostic, its notes after it, in clang's form:
//
//   k.py:1:3: error: '&&' is written 'and' [expected-expression]
//   a && b
//     ^~
//     and
//
// `paths` are the names of the files by index; those beyond it are shown as "<file 3>". The line
// of marks covers the range as far as it is on its first line; below it stands what a fix-it on
// that line would put there. Without a position, the head begins at the severity.
std::string RenderText(std::span<const v1::Diagnostic> diagnostics,
                       std::span<const std::string> paths);

} // namespace pyasc::diag

#endif // PYASC_COMPILER_DIAG_RENDER_TEXT_H
