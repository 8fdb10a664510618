// A tensor's bytes on their way between a caller, pyascd and a device worker. Small ones lie in the
// process and travel in the frame; larger ones are shared memory, which travels by descriptor:
// below kInFrameBytes making, sealing, mapping and closing a memfd costs more than copying.
#ifndef PYASC_SERVER_PROCESS_TENSOR_MEMORY_H
#define PYASC_SERVER_PROCESS_TENSOR_MEMORY_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/process/memfd.h"

namespace pyasc::server {

class TensorMemory {
public:
  static constexpr int64_t kInFrameBytes = 16 << 10;

  TensorMemory() = default;
  // Zero-filled.
  static absl::StatusOr<TensorMemory> Create(int64_t bytes);
  // What came from the other process: in the frame, filled up with zeros, or by descriptor.
  static TensorMemory FromFrame(std::string data, int64_t bytes);
  static TensorMemory FromShared(SharedMemory memory);

  int64_t size_bytes() const;
  // -1: it is small.
  int fd() const { return shared_.fd(); }
  bool in_frame() const { return !shared_.valid(); }
  // REQUIRES: in_frame().
  std::string_view data() const { return data_; }
  // SealContents() was called.
  bool sealed() const { return sealed_; }

  // OUT_OF_RANGE past the end; FAILED_PRECONDITION or an error of the system once it is sealed.
  absl::Status Write(int64_t offset, std::string_view data);
  absl::Status Read(int64_t offset, std::span<char> to) const;
  // The same contents in another object: the same memory where it is shared, else a copy.
  absl::StatusOr<TensorMemory> Share() const;
  // No more writing by anybody: for inputs, once they are filled.
  absl::Status SealContents();
  // Valid as long as both this and the mapping are.
  absl::StatusOr<Mapping> Map(bool writable);

private:
  SharedMemory shared_; // invalid: the bytes are in data_
  std::string data_;
  bool sealed_ = false;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_PROCESS_TENSOR_MEMORY_H
