// The lease on one device: who may use it, and until when.
//
// States: free, held by one job alone (it is measured), shared by several. A job gets a lease with
// a token that rises with every lease, and its worker renews it by signs of life. A worker that
// gives none for the lease's time loses it: what comes with its token is late.
#ifndef PYASC_SERVER_DAEMON_DEVICE_LEASE_H
#define PYASC_SERVER_DAEMON_DEVICE_LEASE_H

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

#include "pyasc/v1/service.pb.h"

namespace pyasc::server {

// Thread-safe.
class DeviceLease {
public:
  using Clock = std::chrono::steady_clock;
  explicit DeviceLease(std::chrono::milliseconds time) : time_(time) {}

  std::chrono::milliseconds time() const { return time_; }
  // Its token. Whoever has it and cannot share it with this one has lost it: whoever asks for a
  // lease alone, or while another is alone, has waited until the others were let go.
  uint64_t Grant(bool alone, Clock::time_point now);
  // These do nothing, and say so, when `token` holds no lease any more.
  bool Renew(uint64_t token, Clock::time_point now);
  bool Release(uint64_t token);
  bool Lose(uint64_t token);
  // A result came with the token of a lease that was lost.
  void CountLateResult();
  v1::DeviceLease info(Clock::time_point now) const;

private:
  const std::chrono::milliseconds time_;
  mutable std::mutex mutex_;
  uint64_t token_ = 0;
  bool alone_ = false;
  std::map<uint64_t, Clock::time_point> holders_; // until when
  uint64_t lost_ = 0, late_results_ = 0;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_DAEMON_DEVICE_LEASE_H
