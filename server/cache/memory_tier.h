// The first tier of the artifact cache: compiled kernels in memory, least recently used out first.
#ifndef PYASC_SERVER_CACHE_MEMORY_TIER_H
#define PYASC_SERVER_CACHE_MEMORY_TIER_H

#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>

#include "server/core/compiled.h"

namespace pyasc::server {

// Thread-safe; never blocks on anything but its own mutex.
class MemoryTier {
public:
  explicit MemoryTier(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // nullptr: not here, or past its time. Sets *touch when a minute has passed since the entry's
  // last touch: the caller then tells the next tier that the artifact is in use.
  CompiledPtr Find(const std::string &key, bool *touch);
  // Under any number of keys; an artifact's bytes count once for each. Returns bytes evicted.
  // `ttl` 0: for as long as there is room.
  uint64_t Put(const std::string &key, CompiledPtr compiled, std::chrono::seconds ttl = {});
  void Clear();
  uint64_t bytes() const;
  uint64_t entries() const;

private:
  struct Entry {
    std::string key;
    CompiledPtr compiled;
    std::chrono::steady_clock::time_point touched;
    std::chrono::steady_clock::time_point expires;
  };
  const uint64_t max_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> order_; // most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
  uint64_t bytes_ = 0;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CACHE_MEMORY_TIER_H
