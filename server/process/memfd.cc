#include "server/process/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace pyasc::server {

absl::StatusOr<SharedMemory> SharedMemory::Create(int64_t bytes) {
  SharedMemory memory;
  memory.fd_ = UniqueFd(::memfd_create("pyasc-tensor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.fd_.valid())
    return absl::ErrnoToStatus(errno, "memfd_create");
  if (::ftruncate(memory.fd(), bytes) != 0)
    return absl::ErrnoToStatus(errno, "ftruncate of a tensor's memory");
  if (::fcntl(memory.fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return absl::ErrnoToStatus(errno, "sealing a tensor's memory");
  memory.bytes_ = bytes;
  return memory;
}

absl::StatusOr<SharedMemory> SharedMemory::Adopt(UniqueFd fd, int64_t bytes) {
  struct stat info;
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0)
    return absl::InvalidArgumentError("no descriptor for a tensor");
  int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK))
    return absl::InvalidArgumentError("a tensor's memory is not sealed");
  if (bytes < 0 || info.st_size < bytes)
    return absl::InvalidArgumentError("a tensor's memory is smaller than the tensor");
  SharedMemory memory;
  memory.fd_ = std::move(fd);
  memory.bytes_ = bytes;
  return memory;
}

absl::Status SharedMemory::Write(int64_t offset, std::string_view data) {
  if (offset < 0 || offset > bytes_ || static_cast<int64_t>(data.size()) > bytes_ - offset)
    return absl::OutOfRangeError("write past the end of a tensor");
  while (!data.empty()) {
    ssize_t n = ::pwrite(fd(), data.data(), data.size(), offset);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return absl::ErrnoToStatus(errno, "writing a tensor");
    data.remove_prefix(n);
    offset += n;
  }
  return absl::OkStatus();
}

absl::Status SharedMemory::Read(int64_t offset, std::span<char> to) const {
  if (offset < 0 || offset > bytes_ || static_cast<int64_t>(to.size()) > bytes_ - offset)
    return absl::OutOfRangeError("read past the end of a tensor");
  while (!to.empty()) {
    ssize_t n = ::pread(fd(), to.data(), to.size(), offset);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return absl::ErrnoToStatus(n < 0 ? errno : EIO, "reading a tensor");
    to = to.subspan(n);
    offset += n;
  }
  return absl::OkStatus();
}

absl::StatusOr<SharedMemory> SharedMemory::Share() const {
  SharedMemory shared;
  shared.fd_ = UniqueFd(::fcntl(fd(), F_DUPFD_CLOEXEC, 0));
  if (!shared.valid())
    return absl::ErrnoToStatus(errno, "sharing a tensor's memory");
  shared.bytes_ = bytes_;
  return shared;
}

absl::Status SharedMemory::SealContents() {
  if (::fcntl(fd(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return absl::ErrnoToStatus(errno, "sealing a tensor's contents");
  return absl::OkStatus();
}

absl::StatusOr<Mapping> Mapping::Map(const SharedMemory &memory, bool writable) {
  Mapping mapping;
  mapping.size_ = memory.size_bytes();
  if (mapping.size_ == 0)
    return mapping;
  // A file whose contents are sealed may be mapped privately only. All of it is used, and once: a
  // fault a page would cost more than the copy.
  void *data = ::mmap(nullptr, mapping.size_, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                      (writable ? MAP_SHARED : MAP_PRIVATE) | MAP_POPULATE, memory.fd(), 0);
  if (data == MAP_FAILED) {
    mapping.size_ = 0;
    return absl::ErrnoToStatus(errno, "mapping a tensor");
  }
  mapping.data_ = static_cast<std::byte *>(data);
  mapping.mapped_ = true;
  return mapping;
}

Mapping Mapping::Of(std::span<std::byte> bytes) {
  Mapping mapping;
  mapping.data_ = bytes.data();
  mapping.size_ = bytes.size();
  return mapping;
}

Mapping::Mapping(Mapping &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, false)) {}

Mapping &Mapping::operator=(Mapping &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

Mapping::~Mapping() {
  if (mapped_)
    ::munmap(data_, size_);
}

} // namespace pyasc::server
