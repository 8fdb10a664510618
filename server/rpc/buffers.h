// Buffers that tenants lease, so that repeated runs send a tensor once.
//
// A buffer holds sealed contents, which no run ever changes: a run that writes it, and WriteBuffer,
// put new contents in their place when they have succeeded. So runs at the same time need no order
// among themselves, a run that fails leaves the buffer as it was, and a worker that kept a mapping
// can spoil nothing.
//
// A lease ends when it has not been used for its time, counted from the end of the last use.
#ifndef PYASC_SERVER_RPC_BUFFERS_H
#define PYASC_SERVER_RPC_BUFFERS_H

#include <atomic>
#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pyasc/v1/service.pb.h"
#include "server/process/tensor_memory.h"
#include "server/rpc/tenants.h"

namespace pyasc::server {

class Admission;

// Thread-safe. Outlives its uses.
class BufferStore {
public:
  using Clock = std::chrono::steady_clock;
  // `budget`: the service's for all tensors, of which buffers may take `max_bytes` at most.
  BufferStore(Admission &budget, uint64_t max_bytes, uint64_t budget_bytes)
      : budget_(budget), max_bytes_(max_bytes), budget_bytes_(budget_bytes) {}
  ~BufferStore();
  void SetLimits(uint64_t max_bytes, uint64_t budget_bytes) {
    max_bytes_ = max_bytes;
    budget_bytes_ = budget_bytes;
  }

  // INVALID_ARGUMENT: no type. RESOURCE_EXHAUSTED: the tenant's quota, or the service's.
  absl::StatusOr<v1::CreateBufferReply>
  Create(const TenantPtr &tenant, const v1::CreateBufferRequest &request, Clock::time_point now);
  absl::Status Release(const TenantPtr &tenant, const std::string &handle, Clock::time_point now);

  // While it lives the lease does not end.
  class Use {
  public:
    ~Use() { store_.EndUse(handle_); }
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;
    const v1::TensorType &type() const { return type_; }
    // What the buffer held when the use began; sealed.
    const std::shared_ptr<const TensorMemory> &contents() const { return contents_; }
    // Seals `memory` and puts it in the place of the contents. No effect when the buffer was
    // released meanwhile. FAILED_PRECONDITION: somebody can still write to it.
    absl::Status Replace(TensorMemory memory) { return store_.Replace(handle_, std::move(memory)); }

  private:
    friend class BufferStore;
    Use(BufferStore &store, std::string handle, v1::TensorType type,
        std::shared_ptr<const TensorMemory> contents)
        : store_(store), handle_(std::move(handle)), type_(std::move(type)),
          contents_(std::move(contents)) {}
    BufferStore &store_;
    const std::string handle_;
    const v1::TensorType type_;
    const std::shared_ptr<const TensorMemory> contents_;
  };
  // NOT_FOUND with the reason NO_SUCH_BUFFER (it is unknown, another tenant's, or from before a
  // restart) or BUFFER_EXPIRED.
  absl::StatusOr<std::shared_ptr<Use>> Begin(const TenantPtr &tenant, const std::string &handle,
                                             Clock::time_point now);

  // Ends the leases whose time is over; returns when to call it again.
  Clock::time_point Sweep(Clock::time_point now);
  uint64_t count() const;
  uint64_t bytes() const;

private:
  struct Entry {
    TenantPtr tenant;
    v1::TensorType type;
    uint64_t bytes = 0;
    std::chrono::seconds ttl{};
    Clock::time_point ends;
    int uses = 0;
    std::shared_ptr<const TensorMemory> contents;
  };
  using Entries = std::map<std::string, Entry>;
  void EndUse(const std::string &handle);
  absl::Status Replace(const std::string &handle, TensorMemory memory);
  // With the mutex held:
  void SweepLocked(Clock::time_point now);
  Entries::iterator Erase(Entries::iterator entry);
  absl::StatusOr<Entries::iterator> Find(const TenantPtr &tenant, const std::string &handle);

  Admission &budget_;
  std::atomic<uint64_t> max_bytes_, budget_bytes_;
  mutable std::mutex mutex_;
  Entries entries_;
  uint64_t bytes_ = 0;
  std::map<const Tenant *, uint64_t> bytes_of_;
  // Handles whose leases ended, with their tenants, the newest last: for a better message.
  std::list<std::pair<std::string, const Tenant *>> expired_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_BUFFERS_H
