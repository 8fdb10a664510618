// Who calls: tenants, how they prove it, and what each may take.
//
// A caller is known by a bearer token (`authorization: Bearer ...`, kept as a hash), by the name in
// its TLS certificate, or, on a Unix socket, by being let in by the socket's permissions. Where no
// tenants are configured every caller is the one built-in tenant, which has no limits of its own.
#ifndef PYASC_SERVER_RPC_TENANTS_H
#define PYASC_SERVER_RPC_TENANTS_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/grpcpp.h"
#include "server/config/tenant_config.h"
#include "server/core/backend.h"
#include "server/metrics/metrics.h"

namespace pyasc::server {

// One tenant while the service runs: its limits, and what it takes now. Thread-safe.
class Tenant {
public:
  explicit Tenant(TenantConfig config);
  const std::string &name() const { return name_; }
  // The limits may change while it has calls.
  void Configure(const TenantConfig &config);

  // OK: the caller must call Leave() once. RESOURCE_EXHAUSTED: too many calls at a time.
  absl::Status Enter();
  void Leave() { calls_.fetch_sub(1, std::memory_order_relaxed); }
  // Bytes of tensors. False: more than it may hold.
  bool TakeBytes(uint64_t bytes);
  void GiveBytes(uint64_t bytes) { bytes_ -= bytes; }
  // Of leased buffers; 0: no limit of its own.
  uint64_t max_buffer_bytes() const { return max_buffer_bytes_; }
  // RESOURCE_EXHAUSTED with a hint when its device time is used up; it fills up steadily.
  absl::Status CheckDeviceTime();
  void ChargeDeviceTime(std::chrono::nanoseconds took);

  // For the backend: whose work it is, and what it may see.
  Caller caller(int priority) const;

private:
  using Clock = std::chrono::steady_clock;
  void Refill(Clock::time_point now); // with the mutex held

  const std::string name_;
  std::atomic<uint64_t> calls_{0}, bytes_{0};
  std::atomic<uint64_t> max_calls_{0}, max_bytes_{0}, max_buffer_bytes_{0};
  mutable std::mutex mutex_; // what follows
  TenantConfig config_;
  double device_seconds_left_ = 0;
  Clock::time_point filled_ = Clock::now();
};

// The caller came by a Unix socket and is another user than the daemon's own: rpc_server.cc gives
// such connections credentials of their own.
bool IsSocketGuest(const grpc::CallbackServerContext &context);

using TenantPtr = std::shared_ptr<Tenant>;

// Thread-safe.
class TenantTable {
public:
  explicit TenantTable(Metrics &metrics);
  // Replaces the tenants; those that stay keep their counts.
  void Configure(const std::vector<TenantConfig> &tenants);
  // UNAUTHENTICATED: the caller does not say who it is, or says it wrongly.
  absl::StatusOr<TenantPtr> Authenticate(const grpc::CallbackServerContext &context) const;

private:
  struct Snapshot {
    std::map<std::string, TenantPtr> by_name, by_token_hash, by_certificate;
  };
  std::shared_ptr<const Snapshot> snapshot() const;

  const TenantPtr local_;
  prometheus::Counter &refused_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_TENANTS_H
