// Reading and writing whole files, with errors that name the path.
#ifndef PYASC_CLIENT_CPP_FILES_H
#define PYASC_CLIENT_CPP_FILES_H

#include "absl/strings/string_view.h"
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pyasc::client {

absl::StatusOr<std::string> ReadFile(const std::string &path);

// Writes the parts one after the other into a temporary file beside `path`, then renames it. A
// path that exists and is no regular file is written straight.
absl::Status WriteFile(const std::string &path, const std::vector<absl::string_view> &parts);

// A descriptor that closes itself.
class FileDescriptor {
public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor &&other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileDescriptor &operator=(FileDescriptor &&other) noexcept;
  ~FileDescriptor() { Close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Close();

private:
  int fd_ = -1;
};

} // namespace pyasc::client

#endif // PYASC_CLIENT_CPP_FILES_H
