#include "client/cpp/files.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace pyasc::client {
namespace {

absl::Status WriteAll(int fd, const std::string &path,
                      const std::vector<absl::string_view> &parts) {
  for (absl::string_view part : parts) {
    while (!part.empty()) {
      ssize_t n = ::write(fd, part.data(), part.size());
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return absl::ErrnoToStatus(errno, absl::StrCat("writing ", path));
      part.remove_prefix(n);
    }
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::string> ReadFile(const std::string &path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid())
    return absl::ErrnoToStatus(errno, path);
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return absl::ErrnoToStatus(errno, absl::StrCat("reading ", path));
    if (n == 0)
      return content;
    content.append(buffer, n);
  }
}

absl::Status WriteFile(const std::string &path, const std::vector<absl::string_view> &parts) {
  struct stat st;
  bool exists = ::stat(path.c_str(), &st) == 0;
  if (exists && !S_ISREG(st.st_mode)) {
    FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid())
      return absl::ErrnoToStatus(errno, path);
    return WriteAll(fd.get(), path, parts);
  }
  std::string temporary = absl::StrCat(path, ".tmp-XXXXXX");
  FileDescriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid())
    return absl::ErrnoToStatus(errno, absl::StrCat("creating ", path));
  absl::Cleanup remove = [&] { ::unlink(temporary.c_str()); };
  mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd.get(), exists ? st.st_mode & 0777 : 0666 & ~mask);
  if (absl::Status status = WriteAll(fd.get(), path, parts); !status.ok())
    return status;
  fd.Close();
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return absl::ErrnoToStatus(errno, absl::StrCat("replacing ", path));
  std::move(remove).Cancel();
  return absl::OkStatus();
}

FileDescriptor &FileDescriptor::operator=(FileDescriptor &&other) noexcept {
  if (this != &other) {
    Close();
    fd_ = other.fd_;
    other.fd_ = -1;
  }
  return *this;
}

void FileDescriptor::Close() {
  if (fd_ >= 0)
    ::close(fd_);
  fd_ = -1;
}

} // namespace pyasc::client
