// The artifact cache: memory, then disk.
//
// Never fails its user: a tier that fails is bypassed, counted and logged. Without a usable
// directory it keeps artifacts in memory only.
#ifndef PYASC_SERVER_CACHE_ARTIFACT_CACHE_H
#define PYASC_SERVER_CACHE_ARTIFACT_CACHE_H

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "pyasc/v1/service.pb.h"
#include "server/cache/disk_tier.h"
#include "server/cache/memory_tier.h"
#include "server/core/compiled.h"
#include "server/metrics/metrics.h"

namespace pyasc::server {

// Thread-safe.
class ArtifactCache {
public:
  struct Options {
    DiskTier::Options disk; // directory "": memory only
    uint64_t memory_bytes = 0;
  };
  ArtifactCache(Options options, Metrics &metrics);

  // By request key or semantic key. Does not block.
  CompiledPtr FindInMemory(const std::string &key);
  // By request key; may read the disk. nullptr: not there.
  CompiledPtr Find(const std::string &request_key);
  CompiledPtr FindSemantic(const std::string &semantic_key);
  // Durable, where there is a disk, when it returns. Only outcomes OK are kept.
  void Put(const std::string &request_key, const CompiledPtr &compiled);
  void PutAlias(const std::string &request_key, const CompiledPtr &compiled);
  void Sweep();
  // Sets the gauges and counters that the tiers keep themselves.
  void UpdateMetrics();
  v1::CacheStats stats() const;

private:
  CompiledPtr ReadDisk(const std::string &semantic_key);
  void WarnOfWrite(const absl::Status &status);

  MemoryTier memory_;
  std::unique_ptr<DiskTier> disk_; // may be null
  std::atomic<uint64_t> hits_{0}, misses_{0};
  std::atomic<bool> write_warned_{false};

  prometheus::Counter &memory_hits_, &memory_misses_, &disk_hits_, &disk_misses_;
  prometheus::Histogram &disk_read_;
  prometheus::Counter &write_failures_, &corrupt_, &evicted_size_, &evicted_age_, &evicted_memory_;
  prometheus::Gauge &memory_bytes_gauge_, &disk_bytes_gauge_, &memory_entries_, &disk_entries_;
  std::mutex update_mutex_;
  DiskTier::Counts reported_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CACHE_ARTIFACT_CACHE_H
