#include "server/core/poison.h"

#include <utility>

namespace pyasc::server {

void PoisonList::CountDeath(const std::string &key, std::string how, Clock::time_point now) {
  if (memory_.count() == 0)
    return;
  std::lock_guard lock(mutex_);
  auto found = index_.find(key);
  int deaths = 0;
  if (found != index_.end()) {
    if (now - found->second->last < memory_)
      deaths = found->second->deaths;
    order_.erase(found->second);
    index_.erase(found);
  }
  order_.push_front({key, std::move(how), deaths + 1, now});
  index_[key] = order_.begin();
  while (index_.size() > kMaxKeys) {
    index_.erase(order_.back().key);
    order_.pop_back();
  }
}

std::optional<std::string> PoisonList::Refuses(const std::string &key, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  auto found = index_.find(key);
  if (found == index_.end() || found->second->deaths < kDeaths ||
      now - found->second->last >= memory_)
    return std::nullopt;
  return found->second->how;
}

} // namespace pyasc::server
