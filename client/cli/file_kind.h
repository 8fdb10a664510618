// What a file is that a command was given, so that a command that wants another kind can say which
// one takes it.
#ifndef PYASC_CLIENT_CLI_FILE_KIND_H
#define PYASC_CLIENT_CLI_FILE_KIND_H

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace pyasc::cli {

enum class FileKind : uint8_t {
  kKernels, // Python text
  kModule,  // a module of the npu dialect
  kArray,   // .npy
  kJson,    // a report or a trace
  kObject,  // a compiled artifact, or another binary
  kText,    // no telling
};

FileKind KindOf(absl::string_view path, absl::string_view content);

// OK where a command that wants `wanted` may try the file. Otherwise INVALID_ARGUMENT that says
// what the file is and what takes it.
absl::Status ExpectKind(FileKind wanted, absl::string_view path, absl::string_view content);

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_FILE_KIND_H
