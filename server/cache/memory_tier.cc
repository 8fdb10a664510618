#include "server/cache/memory_tier.h"

namespace pyasc::server {

using Clock = std::chrono::steady_clock;

CompiledPtr MemoryTier::Find(const std::string &key, bool *touch) {
  std::lock_guard lock(mutex_);
  auto found = index_.find(key);
  if (found == index_.end())
    return nullptr;
  if (Clock::now() >= found->second->expires) {
    bytes_ -= found->second->compiled->size_bytes();
    order_.erase(found->second);
    index_.erase(found);
    return nullptr;
  }
  order_.splice(order_.begin(), order_, found->second);
  Entry &entry = *found->second;
  auto now = Clock::now();
  if (now - entry.touched >= std::chrono::minutes(1)) {
    entry.touched = now;
    *touch = true;
  }
  return entry.compiled;
}

uint64_t MemoryTier::Put(const std::string &key, CompiledPtr compiled, std::chrono::seconds ttl) {
  std::list<Entry> evicted; // destroyed after the lock is gone
  uint64_t evicted_bytes = 0;
  std::lock_guard lock(mutex_);
  auto found = index_.find(key);
  if (found != index_.end()) {
    bytes_ -= found->second->compiled->size_bytes();
    evicted.splice(evicted.end(), order_, found->second);
    index_.erase(found);
  }
  if (compiled->size_bytes() > max_bytes_)
    return evicted_bytes;
  bytes_ += compiled->size_bytes();
  const Clock::time_point now = Clock::now();
  order_.push_front(
      {key, std::move(compiled), now, ttl.count() > 0 ? now + ttl : Clock::time_point::max()});
  index_[key] = order_.begin();
  while (bytes_ > max_bytes_) {
    Entry &last = order_.back();
    bytes_ -= last.compiled->size_bytes();
    evicted_bytes += last.compiled->size_bytes();
    index_.erase(last.key);
    evicted.splice(evicted.end(), order_, std::prev(order_.end()));
  }
  return evicted_bytes;
}

void MemoryTier::Clear() {
  std::list<Entry> gone; // destroyed after the lock is gone
  std::lock_guard lock(mutex_);
  gone.swap(order_);
  index_.clear();
  bytes_ = 0;
}

uint64_t MemoryTier::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

uint64_t MemoryTier::entries() const {
  std::lock_guard lock(mutex_);
  return index_.size();
}

} // namespace pyasc::server
