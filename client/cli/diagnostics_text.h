// Diagnostics for people: path, position, severity, the source line and a caret, notes, fix-its.
#ifndef PYASC_CLIENT_CLI_DIAGNOSTICS_TEXT_H
#define PYASC_CLIENT_CLI_DIAGNOSTICS_TEXT_H

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "pyasc/v1/diagnostics.pb.h"

namespace pyasc::cli {

using Diagnostics = google::protobuf::RepeatedPtrField<v1::Diagnostic>;

// Like clang:
//   k.py:4:13: error: expected a float, met a bool [type-mismatch]
//       4 |     C[i] += flag
//         |             ^~~~
// `paths` are the paths of CompileRequest.files, by index.
// `counts`: end with "1 warning and 2 errors generated.".
std::string RenderDiagnostics(const Diagnostics &diagnostics, const std::vector<std::string> &paths,
                              bool color, bool counts = true);

// {"files": [...], "diagnostics": [...]}, the latter as in the protobuf schema.
std::string DiagnosticsJson(const Diagnostics &diagnostics, const std::vector<std::string> &paths);

// A SARIF 2.1.0 log with one run: notes as relatedLocations, fix-its as fixes.
std::string DiagnosticsSarif(const Diagnostics &diagnostics, const std::vector<std::string> &paths,
                             absl::string_view version);

// How many of the diagnostics are errors.
int CountErrors(const Diagnostics &diagnostics);

// "text" with quotes and escapes, for JSON.
std::string JsonString(absl::string_view text);

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_DIAGNOSTICS_TEXT_H
