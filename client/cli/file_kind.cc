#include "client/cli/file_kind.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/kernel_scan.h"

namespace pyasc::cli {
namespace {

// Whether some line begins like the operations of a module.
bool LooksLikeModule(absl::string_view content) {
  for (absl::string_view line : absl::StrSplit(content, '\n')) {
    line = absl::StripLeadingAsciiWhitespace(line);
    if (absl::StartsWith(line, "module attributes") || absl::StartsWith(line, "module {") ||
        absl::StartsWith(line, "func.func ") || absl::StartsWith(line, "npu."))
      return true;
  }
  return false;
}

} // namespace

FileKind KindOf(absl::string_view path, absl::string_view content) {
  if (absl::StartsWith(content, "\x93NUMPY"))
    return FileKind::kArray;
  // Python's texts come in encodings with zero bytes too, which the service speaks of.
  if (absl::EndsWith(path, ".py"))
    return FileKind::kKernels;
  if (content.find('\0') != content.npos)
    return FileKind::kObject;
  if (absl::EndsWith(path, ".mlir"))
    return FileKind::kModule;
  absl::string_view text = absl::StripLeadingAsciiWhitespace(content);
  if (absl::EndsWith(path, ".json") || absl::StartsWith(text, "{\""))
    return FileKind::kJson;
  if (!ScanKernels(std::string(content)).empty())
    return FileKind::kKernels;
  return LooksLikeModule(content) ? FileKind::kModule : FileKind::kText;
}

absl::Status ExpectKind(FileKind wanted, absl::string_view path, absl::string_view content) {
  const FileKind kind = KindOf(path, content);
  if (kind == wanted || kind == FileKind::kText)
    return absl::OkStatus();
  std::string is;
  switch (kind) {
  case FileKind::kKernels:
    is = absl::StrCat("is a file of kernels: `pyasc run ", path, "` runs one, `pyasc check ", path,
                      "` looks for mistakes");
    break;
  case FileKind::kModule:
    is = absl::StrCat("is a module of the npu dialect: `pyasc sim ", path, "` runs it");
    break;
  case FileKind::kArray:
    is = absl::StrCat("is an array: --arg NAME=@", path, " passes it to a kernel");
    break;
  case FileKind::kJson:
    is = absl::StrCat("is JSON: `pyasc profile KERNEL.py --baseline ", path,
                      "` compares with a report");
    break;
  case FileKind::kObject:
  case FileKind::kText:
    is = "is a binary file";
    break;
  }
  return absl::InvalidArgumentError(absl::StrCat(path, " ", is, "; this command takes ",
                                                 wanted == FileKind::kModule
                                                     ? "a module of the npu dialect, FILE.mlir"
                                                     : "a file of kernels, FILE.py"));
}

} // namespace pyasc::cli
