// Anonymous shared memory. pyascd makes and seals every one, so that a worker can
// neither shrink it under a reader (SIGBUS) nor grow it; sizes come from pyascd's own records.
#ifndef PYASC_SERVER_PROCESS_MEMFD_H
#define PYASC_SERVER_PROCESS_MEMFD_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/process/fd.h"

namespace pyasc::server {

class SharedMemory {
public:
  SharedMemory() = default;
  // Zero-filled; its size is sealed.
  static absl::StatusOr<SharedMemory> Create(int64_t bytes);
  // Takes a descriptor received from the other process. INVALID_ARGUMENT unless it is a memfd of
  // at least `bytes` bytes whose size is sealed.
  static absl::StatusOr<SharedMemory> Adopt(UniqueFd fd, int64_t bytes);

  int fd() const { return fd_.get(); }
  int64_t size_bytes() const { return bytes_; }
  bool valid() const { return fd_.valid(); }

  // OUT_OF_RANGE past the end.
  absl::Status Write(int64_t offset, std::string_view data);
  absl::Status Read(int64_t offset, std::span<char> to) const;
  // The same memory under another descriptor.
  absl::StatusOr<SharedMemory> Share() const;
  // No more writing by anybody: for inputs, once they are filled.
  absl::Status SealContents();

private:
  UniqueFd fd_;
  int64_t bytes_ = 0;
};

// A mapping of a whole SharedMemory, or a view of bytes that are at hand anyway.
class Mapping {
public:
  static Mapping Of(std::span<std::byte> bytes);
  static absl::StatusOr<Mapping> Map(const SharedMemory &memory, bool writable);
  Mapping(Mapping &&other) noexcept;
  Mapping &operator=(Mapping &&other) noexcept;
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  ~Mapping();
  std::span<std::byte> bytes() { return {data_, size_}; }

private:
  Mapping() = default;
  std::byte *data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_PROCESS_MEMFD_H
