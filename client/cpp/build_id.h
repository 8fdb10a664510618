// Which build of the service a directory holds.
#ifndef PYASC_CLIENT_CPP_BUILD_ID_H
#define PYASC_CLIENT_CPP_BUILD_ID_H

#include <string>

#include "absl/status/statusor.h"

namespace pyasc::client {

// SHA-256 over the contents of pyascd and pyasc-worker in `bin_dir`, 64 hexadecimal digits. The
// result is kept in `cache_dir` (made when missing) beside the files' size, inode and times, so
// that the binaries are read once a build; an unusable cache_dir costs only time.
absl::StatusOr<std::string> BuildId(const std::string &bin_dir, const std::string &cache_dir);

// Lower-case hexadecimal SHA-256, and its 32 raw bytes.
std::string Sha256Hex(absl::string_view bytes);
std::string Sha256(absl::string_view bytes);

} // namespace pyasc::client

#endif // PYASC_CLIENT_CPP_BUILD_ID_H
