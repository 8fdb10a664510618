#include "server/process/tensor_memory.h"

#include <algorithm>
#include <utility>

namespace pyasc::server {

absl::StatusOr<TensorMemory> TensorMemory::Create(int64_t bytes) {
  if (bytes <= kInFrameBytes)
    return FromFrame("", bytes);
  absl::StatusOr<SharedMemory> shared = SharedMemory::Create(bytes);
  if (!shared.ok())
    return shared.status();
  return FromShared(*std::move(shared));
}

TensorMemory TensorMemory::FromFrame(std::string data, int64_t bytes) {
  TensorMemory memory;
  memory.data_ = std::move(data);
  memory.data_.resize(bytes);
  return memory;
}

TensorMemory TensorMemory::FromShared(SharedMemory shared) {
  TensorMemory memory;
  memory.shared_ = std::move(shared);
  return memory;
}

int64_t TensorMemory::size_bytes() const {
  return in_frame() ? static_cast<int64_t>(data_.size()) : shared_.size_bytes();
}

absl::Status TensorMemory::Write(int64_t offset, std::string_view data) {
  if (!in_frame())
    return shared_.Write(offset, data);
  if (offset < 0 || offset > size_bytes() ||
      static_cast<int64_t>(data.size()) > size_bytes() - offset)
    return absl::OutOfRangeError("write past the end of a tensor");
  if (sealed_)
    return absl::FailedPreconditionError("a sealed tensor is not written");
  std::copy(data.begin(), data.end(), data_.begin() + offset);
  return absl::OkStatus();
}

absl::Status TensorMemory::Read(int64_t offset, std::span<char> to) const {
  if (!in_frame())
    return shared_.Read(offset, to);
  if (offset < 0 || offset > size_bytes() ||
      static_cast<int64_t>(to.size()) > size_bytes() - offset)
    return absl::OutOfRangeError("read past the end of a tensor");
  std::copy_n(data_.begin() + offset, to.size(), to.begin());
  return absl::OkStatus();
}

absl::StatusOr<TensorMemory> TensorMemory::Share() const {
  TensorMemory other;
  if (!in_frame()) {
    absl::StatusOr<SharedMemory> shared = shared_.Share();
    if (!shared.ok())
      return shared.status();
    other.shared_ = *std::move(shared);
  }
  other.data_ = data_;
  other.sealed_ = sealed_;
  return other;
}

absl::Status TensorMemory::SealContents() {
  if (!in_frame())
    if (absl::Status s = shared_.SealContents(); !s.ok())
      return s;
  sealed_ = true;
  return absl::OkStatus();
}

absl::StatusOr<Mapping> TensorMemory::Map(bool writable) {
  if (!in_frame())
    return Mapping::Map(shared_, writable);
  if (writable && sealed_)
    return absl::FailedPreconditionError("a sealed tensor is not written");
  return Mapping::Of(std::as_writable_bytes(std::span(data_)));
}

} // namespace pyasc::server
