// A page of memory that pyascd shares with a device's worker: there it says that the worker has
// lost its device. The worker sees it at once, however long it slept, without asking anybody.
//
// Each worker has a page of its own: whatever one does to its page, it fools itself alone.
#ifndef PYASC_SERVER_PROCESS_LEASE_PAGE_H
#define PYASC_SERVER_PROCESS_LEASE_PAGE_H

#include <atomic>
#include <cstdint>

#include "absl/status/statusor.h"
#include "server/process/memfd.h"

namespace pyasc::server {

class LeasePage {
public:
  static constexpr int64_t kBytes = 4096;

  // pyascd's side; memory() goes to the worker.
  static absl::StatusOr<LeasePage> Create();
  // The worker's side. INVALID_ARGUMENT: no page.
  static absl::StatusOr<LeasePage> Adopt(UniqueFd fd);
  LeasePage(LeasePage &&other) noexcept;
  LeasePage &operator=(LeasePage &&other) noexcept;
  LeasePage(const LeasePage &) = delete;
  LeasePage &operator=(const LeasePage &) = delete;
  ~LeasePage();

  const SharedMemory &memory() const { return memory_; }
  // REQUIRES: made by Create().
  void Revoke() { word_->store(1, std::memory_order_release); }
  bool revoked() const { return word_->load(std::memory_order_acquire) != 0; }

private:
  LeasePage() = default;
  absl::Status Map(int protection);

  SharedMemory memory_;
  std::atomic<uint64_t> *word_ = nullptr;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_PROCESS_LEASE_PAGE_H
