#include "server/daemon/device_lease.h"

#include <algorithm>

namespace pyasc::server {

uint64_t DeviceLease::Grant(bool alone, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  if (alone || alone_) {
    lost_ += holders_.size();
    holders_.clear();
  }
  alone_ = alone;
  holders_[++token_] = now + time_;
  return token_;
}

bool DeviceLease::Renew(uint64_t token, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  auto held = holders_.find(token);
  if (held == holders_.end())
    return false;
  held->second = now + time_;
  return true;
}

bool DeviceLease::Release(uint64_t token) {
  std::lock_guard lock(mutex_);
  return holders_.erase(token) > 0;
}

bool DeviceLease::Lose(uint64_t token) {
  std::lock_guard lock(mutex_);
  if (holders_.erase(token) == 0)
    return false;
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
  info.set_held(!holders_.empty());
  info.set_holders(static_cast<uint32_t>(holders_.size()));
  if (!holders_.empty()) {
    const Clock::time_point first =
        std::min_element(holders_.begin(), holders_.end(), [](const auto &a, const auto &b) {
          return a.second < b.second;
        })->second;
    info.set_expires_ms(static_cast<uint32_t>(std::max<int64_t>(
        0, std::chrono::duration_cast<std::chrono::milliseconds>(first - now).count())));
  }
  info.set_lost(lost_);
  info.set_late_results(late_results_);
  return info;
}

} // namespace pyasc::server
