#include "server/daemon/device_lease.h"

#include <algorithm>

namespace pyasc::server {

uint64_t DeviceLease::Grant(Clock::time_point now) {
  std::lock_guard lock(mutex_);
  if (held_)
    ++lost_;
  held_ = true;
  ends_ = now + time_;
  return ++token_;
}

bool DeviceLease::Renew(uint64_t token, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  if (!held_ || token != token_)
    return false;
  ends_ = now + time_;
  return true;
}

bool DeviceLease::Release(uint64_t token) {
  std::lock_guard lock(mutex_);
  if (!held_ || token != token_)
    return false;
  held_ = false;
  return true;
}

bool DeviceLease::Lose(uint64_t token) {
  std::lock_guard lock(mutex_);
  if (!held_ || token != token_)
    return false;
  held_ = false;
  ++lost_;
  return true;
}

void DeviceLease::CountLateResult() {
  std::lock_guard lock(mutex_);
  ++late_results_;
}

v1::DeviceLease DeviceLease::info(Clock::time_point now) const {
  std::lock_guard lock(mutex_);
  v1::DeviceLease info;
  info.set_token(token_);
  info.set_held(held_);
  if (held_)
    info.set_expires_ms(static_cast<uint32_t>(std::max<int64_t>(
        0, std::chrono::duration_cast<std::chrono::milliseconds>(ends_ - now).count())));
  info.set_lost(lost_);
  info.set_late_results(late_results_);
  return info;
}

} // namespace pyasc::server
