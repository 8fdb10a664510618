#include "server/process/lease_page.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

namespace pyasc::server {

static_assert(std::atomic<uint64_t>::is_always_lock_free);

absl::StatusOr<LeasePage> LeasePage::Create() {
  LeasePage page;
  absl::StatusOr<SharedMemory> memory = SharedMemory::Create(kBytes);
  if (!memory.ok())
    return memory.status();
  page.memory_ = *std::move(memory);
  if (absl::Status s = page.Map(PROT_READ | PROT_WRITE); !s.ok())
    return s;
  return page;
}

absl::StatusOr<LeasePage> LeasePage::Adopt(UniqueFd fd) {
  LeasePage page;
  absl::StatusOr<SharedMemory> memory = SharedMemory::Adopt(std::move(fd), kBytes);
  if (!memory.ok())
    return memory.status();
  page.memory_ = *std::move(memory);
  if (absl::Status s = page.Map(PROT_READ); !s.ok())
    return s;
  page.memory_ = {}; // the mapping stays
  return page;
}

absl::Status LeasePage::Map(int protection) {
  void *data = ::mmap(nullptr, kBytes, protection, MAP_SHARED, memory_.fd(), 0);
  if (data == MAP_FAILED)
    return absl::ErrnoToStatus(errno, "mapping a lease's page");
  word_ = static_cast<std::atomic<uint64_t> *>(data);
  return absl::OkStatus();
}

LeasePage::LeasePage(LeasePage &&other) noexcept
    : memory_(std::move(other.memory_)), word_(std::exchange(other.word_, nullptr)) {}

LeasePage &LeasePage::operator=(LeasePage &&other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(word_, other.word_);
  return *this;
}

LeasePage::~LeasePage() {
  if (word_)
    ::munmap(word_, kBytes);
}

} // namespace pyasc::server
