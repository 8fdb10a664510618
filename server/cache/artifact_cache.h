// The artifact cache: memory, then disk, then the fleet's Redis.
//
// Never fails its user. A disk that fails is given up with a warning and counted; artifacts are
// kept in memory only until opening it again, which is tried now and then, succeeds.
#ifndef PYASC_SERVER_CACHE_ARTIFACT_CACHE_H
#define PYASC_SERVER_CACHE_ARTIFACT_CACHE_H

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "pyasc/v1/service.pb.h"
#include "server/cache/disk_tier.h"
#include "server/cache/memory_tier.h"
#include "server/cache/redis_tier.h"
#include "server/core/compiled.h"
#include "server/metrics/metrics.h"

namespace pyasc::server {

// Thread-safe.
class ArtifactCache {
public:
  struct Options {
    DiskTier::Options disk; // directory "": memory only
    uint64_t memory_bytes = 0;
    RedisTier::Options redis; // address "": none
    // A kernel that was rejected is rejected again without a compile for so long; 0: never.
    std::chrono::seconds negative_ttl{0};
    // From giving the disk up to the first try to open it again; doubles with each in vain.
    std::chrono::milliseconds first_retry{5000};
    std::chrono::milliseconds last_retry{300'000};
  };
  ArtifactCache(Options options, Metrics &metrics);

  // By request key or semantic key. Does not block.
  CompiledPtr FindInMemory(const std::string &key);
  // By request key; may read the disk. nullptr: not there.
  CompiledPtr Find(const std::string &request_key);
  CompiledPtr FindSemantic(const std::string &semantic_key);
  // Durable, where there is a disk, when it returns. Outcomes OK are kept, and rejections for a
  // short time in memory; failures of the compiler may have passing reasons.
  void Put(const std::string &request_key, const CompiledPtr &compiled);
  void PutAlias(const std::string &request_key, const CompiledPtr &compiled);
  // For the fleet's single flight: the artifact that another daemon compiles meanwhile, or null
  // when this one is to compile; then `*lease` is to be given back. Blocks for `patience` at most.
  CompiledPtr AwaitFleet(const std::string &semantic_key, std::chrono::milliseconds patience,
                         std::string *lease);
  void GiveLease(const std::string &semantic_key, const std::string &lease);
  void Sweep();
  // For operators; they block. FAILED_PRECONDITION: there is no disk in use.
  absl::StatusOr<DiskTier::Scrubbed> Scrub();
  absl::Status Compact();
  absl::Status Clear(); // memory, too
  // The three end early: the cache is about to be closed.
  void Interrupt();
  // Sets the gauges and counters that the tiers keep themselves.
  void UpdateMetrics();
  v1::CacheStats stats() const;

private:
  using TierPtr = std::shared_ptr<DiskTier>;
  // The tier in use; null while there is none.
  TierPtr disk() const;
  // Opens the disk, at the start or again, when it is time for that. Blocks.
  void OpenIfDue();
  // Gives `tier` up if it is of no use any more.
  void CheckHealth(const TierPtr &tier);
  CompiledPtr ReadDisk(DiskTier &tier, const std::string &semantic_key);
  // From Redis; what is found goes to the tiers before it. `request_key` may be "".
  CompiledPtr ReadRedis(const std::string &semantic_key, const std::string &request_key);
  // Disk and memory.
  void Keep(const std::string &request_key, const CompiledPtr &compiled);

  const Options options_;
  MemoryTier memory_;
  std::unique_ptr<RedisTier> redis_; // null: none
  std::atomic<uint64_t> hits_{0}, misses_{0};

  std::mutex open_mutex_;       // one opens at a time
  mutable std::mutex mutex_;    // what follows
  TierPtr disk_;                // may be null
  std::weak_ptr<DiskTier> old_; // given up, perhaps still in use somewhere
  std::string fault_;           // why there is no disk; "": there is, or none is wanted
  std::chrono::steady_clock::time_point retry_at_;
  std::chrono::milliseconds retry_after_;
  DiskTier::Counts given_up_; // what the tiers before this one counted
  uint64_t damaged_logs_ = 0;
  uint64_t set_aside_ = 0;

  prometheus::Counter &memory_hits_, &memory_negative_, &memory_misses_, &disk_hits_, &disk_misses_,
      &redis_hits_, &redis_misses_, &redis_failures_, &redis_forged_;
  prometheus::Histogram &disk_read_, &redis_read_;
  prometheus::Counter &write_failures_, &corrupt_, &damaged_, &set_aside_total_, &suspensions_,
      &evicted_size_, &evicted_age_, &evicted_memory_;
  prometheus::Gauge &redis_usable_, &usable_, &memory_bytes_gauge_, &disk_bytes_gauge_,
      &memory_entries_, &disk_entries_;
  std::mutex update_mutex_;
  DiskTier::Counts reported_;
  RedisTier::Counts redis_reported_;
  uint64_t reported_damaged_ = 0, reported_set_aside_ = 0;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CACHE_ARTIFACT_CACHE_H
