// What all RPC services of a process share.
#ifndef PYASC_SERVER_RPC_SERVICE_CONTEXT_H
#define PYASC_SERVER_RPC_SERVICE_CONTEXT_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/grpcpp.h"
#include "server/core/backend.h"
#include "server/metrics/metrics.h"
#include "server/rpc/audit_log.h"
#include "server/rpc/buffers.h"
#include "server/rpc/tenants.h"

namespace pyasc::server {

// Counts calls, refuses those that are too many or come when the service stops, and knows how
// long there has been none. Thread-safe.
class Admission {
public:
  Admission(uint64_t max_calls, Metrics &metrics);
  // OK: the caller must call Leave() once.
  absl::Status Enter();
  void Leave();
  void SetMaxCalls(uint64_t max_calls) { max_calls_ = max_calls; }
  void Drain() { draining_ = true; }
  bool draining() const { return draining_; }
  uint64_t active() const { return active_; }
  std::chrono::nanoseconds IdleTime() const;
  // Returns when no call is left, or at `deadline`. REQUIRES: Drain() was called.
  void WaitForCalls(std::chrono::steady_clock::time_point deadline);

  // Bytes of tensors that the service holds for its callers.
  bool TakeBytes(uint64_t bytes, uint64_t limit);
  void GiveBytes(uint64_t bytes) { bytes_ -= bytes; }

private:
  std::atomic<uint64_t> max_calls_;
  std::atomic<uint64_t> active_{0};
  std::atomic<bool> draining_{false};
  std::atomic<int64_t> last_ns_;
  std::atomic<uint64_t> bytes_{0};
  std::mutex mutex_;
  std::condition_variable left_;
  prometheus::Gauge &in_flight_;
  prometheus::Counter &too_many_;
};

struct ServiceContext {
  Backend &backend;
  Metrics &metrics;
  Admission &admission;
  TenantTable &tenants;
  AuditLog *audit = nullptr; // none
  // Largest sum of the tensors of one run, and of all runs at a time.
  std::atomic<uint64_t> max_run_bytes = 4ull << 30;
  std::atomic<uint64_t> max_total_bytes = 8ull << 30;
  // Of leased buffers, all tenants together.
  uint64_t max_buffer_bytes = 1ull << 30;
  BufferStore buffers{admission, max_buffer_bytes, max_total_bytes};
};

// Metadata by which clients name their build.
inline constexpr char kClientBuildHeader[] = "x-pyasc-build";

grpc::Status ToGrpcStatus(const absl::Status &status);

// "12ab34cd-7": for logs, where the caller gave none.
std::string NewRequestId();

// Gives a request what logs know it by: its id, and the trace that the metadata names. What does
// not look like either is dropped: it goes into logs as it is.
void NameRequest(v1::CompileRequest *request, const grpc::CallbackServerContext &context);

// One admitted call of a tenant; observes its time and code when it ends. Owned by the call's
// reactor.
class CallScope {
public:
  CallScope(ServiceContext &service, const char *method)
      : service_(service), method_(method), begin_(std::chrono::steady_clock::now()) {}
  ~CallScope();
  CallScope(const CallScope &) = delete;
  CallScope &operator=(const CallScope &) = delete;
  // UNAUTHENTICATED, RESOURCE_EXHAUSTED, UNAVAILABLE. `counted`: it takes one of the places for
  // calls; small ones, which only look at something, do not.
  absl::Status Enter(const grpc::CallbackServerContext &context, bool counted = true);
  // REQUIRES: Enter() was OK.
  const TenantPtr &tenant() const { return tenant_; }
  // Batches give way to what somebody waits for.
  Caller caller(int priority = 0) const { return tenant_->caller(priority); }
  // For the audit log.
  void About(const std::string &request_id, const std::string &kernel) {
    if (service_.audit) {
      request_id_ = request_id;
      kernel_ = kernel;
    }
  }
  // The code that the call ends with. Before its answer leaves: from then on the tenant's place is
  // free, so that a caller who has the answer may call again.
  void Ends(const grpc::Status &status) {
    code_ = status.error_code();
    LeaveTenant();
  }
  int64_t elapsed_ns() const {
    return (std::chrono::steady_clock::now() - begin_) / std::chrono::nanoseconds(1);
  }

private:
  void LeaveTenant() {
    if (holds_place_.exchange(false))
      tenant_->Leave();
  }

  ServiceContext &service_;
  const char *method_;
  std::chrono::steady_clock::time_point begin_;
  std::atomic<int> code_{grpc::StatusCode::CANCELLED};
  TenantPtr tenant_;
  bool entered_ = false;
  std::atomic<bool> holds_place_{false};   // among the tenant's calls
  std::string peer_, request_id_, kernel_; // with an audit log only
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_SERVICE_CONTEXT_H
