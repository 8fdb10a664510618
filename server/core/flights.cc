#include "server/core/flights.h"

namespace pyasc::server {

Flights::Joined Flights::Join(const std::string &key, Waiter waiter) {
  std::lock_guard lock(mutex_);
  auto [found, started] = flights_.try_emplace(key);
  uint64_t id = next_waiter_++;
  found->second[id] = {id, std::move(waiter), started};
  return {started, id};
}

void Flights::Leave(const std::string &key, uint64_t waiter) {
  std::lock_guard lock(mutex_);
  auto found = flights_.find(key);
  if (found != flights_.end())
    found->second.erase(waiter);
}

void Flights::Finish(const std::string &key, const FlightResult &result) {
  std::map<uint64_t, Entry> waiters;
  {
    std::lock_guard lock(mutex_);
    auto found = flights_.find(key);
    if (found == flights_.end())
      return;
    waiters = std::move(found->second);
    flights_.erase(found);
  }
  for (auto &[id, entry] : waiters)
    entry.waiter(result, entry.led);
}

bool Flights::AbandonIfUnwanted(const std::string &key) {
  std::lock_guard lock(mutex_);
  auto found = flights_.find(key);
  if (found == flights_.end() || !found->second.empty())
    return false;
  flights_.erase(found);
  return true;
}

size_t Flights::size() const {
  std::lock_guard lock(mutex_);
  return flights_.size();
}

} // namespace pyasc::server
