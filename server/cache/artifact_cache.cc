#include "server/cache/artifact_cache.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "spdlog/spdlog.h"

namespace pyasc::server {

ArtifactCache::ArtifactCache(Options options, Metrics &metrics)
    : options_(std::move(options)), memory_(options_.memory_bytes),
      retry_after_(options_.first_retry),
      memory_hits_(metrics.cache_requests_total.Add({{"tier", "memory"}, {"result", "hit"}})),
      memory_negative_(
          metrics.cache_requests_total.Add({{"tier", "memory"}, {"result", "negative"}})),
      memory_misses_(metrics.cache_requests_total.Add({{"tier", "memory"}, {"result", "miss"}})),
      disk_hits_(metrics.cache_requests_total.Add({{"tier", "disk"}, {"result", "hit"}})),
      disk_misses_(metrics.cache_requests_total.Add({{"tier", "disk"}, {"result", "miss"}})),
      redis_hits_(metrics.cache_requests_total.Add({{"tier", "redis"}, {"result", "hit"}})),
      redis_misses_(metrics.cache_requests_total.Add({{"tier", "redis"}, {"result", "miss"}})),
      redis_failures_(metrics.cache_write_failures_total.Add({{"tier", "redis"}})),
      redis_forged_(metrics.cache_corrupt_records_total.Add({{"tier", "redis"}})),
      disk_read_(metrics.cache_read_seconds.Add({{"tier", "disk"}}, Metrics::RpcBuckets())),
      redis_read_(metrics.cache_read_seconds.Add({{"tier", "redis"}}, Metrics::RpcBuckets())),
      write_failures_(metrics.cache_write_failures_total.Add({{"tier", "disk"}})),
      corrupt_(metrics.cache_corrupt_records_total.Add({{"tier", "disk"}})),
      damaged_(metrics.cache_damaged_logs_total.Add({{"tier", "disk"}})),
      set_aside_total_(metrics.cache_set_aside_total.Add({{"tier", "disk"}})),
      suspensions_(metrics.cache_suspensions_total.Add({{"tier", "disk"}})),
      evicted_size_(metrics.cache_evicted_bytes_total.Add({{"tier", "disk"}, {"reason", "size"}})),
      evicted_age_(metrics.cache_evicted_bytes_total.Add({{"tier", "disk"}, {"reason", "age"}})),
      evicted_memory_(
          metrics.cache_evicted_bytes_total.Add({{"tier", "memory"}, {"reason", "size"}})),
      redis_usable_(metrics.cache_usable.Add({{"tier", "redis"}})),
      usable_(metrics.cache_usable.Add({{"tier", "disk"}})),
      memory_bytes_gauge_(metrics.cache_bytes.Add({{"tier", "memory"}})),
      disk_bytes_gauge_(metrics.cache_bytes.Add({{"tier", "disk"}})),
      memory_entries_(metrics.cache_entries.Add({{"tier", "memory"}})),
      disk_entries_(metrics.cache_entries.Add({{"tier", "disk"}})) {
  if (!options_.redis.address.empty())
    redis_ = std::make_unique<RedisTier>(options_.redis);
  if (options_.disk.directory.empty())
    spdlog::info("cache: in memory only, as configured");
  else
    OpenIfDue();
}

ArtifactCache::TierPtr ArtifactCache::disk() const {
  std::lock_guard lock(mutex_);
  return disk_;
}

void ArtifactCache::OpenIfDue() {
  if (options_.disk.directory.empty())
    return;
  std::unique_lock opening(open_mutex_, std::try_to_lock);
  if (!opening.owns_lock())
    return; // another thread is at it
  bool again = false;
  {
    std::lock_guard lock(mutex_);
    if (disk_ || std::chrono::steady_clock::now() < retry_at_ || !old_.expired())
      return;
    again = !fault_.empty();
  }
  DiskTier::Opened opened;
  auto tier = DiskTier::Open(options_.disk, &opened);
  if (opened.set_aside)
    spdlog::warn(
        "cache: the database in {} was damaged and is set aside; starting with an empty one",
        options_.disk.directory);
  if (opened.damaged_log)
    spdlog::warn("cache: the write-ahead log in {} ends in damage, as a power cut or a full disk "
                 "leaves it; artifacts stored after that place are lost and compiled again",
                 options_.disk.directory);
  std::lock_guard lock(mutex_);
  damaged_logs_ += opened.damaged_log || opened.set_aside;
  set_aside_ += opened.set_aside;
  if (!tier.ok()) {
    if (!again)
      spdlog::warn("cache: {} cannot be used, keeping artifacts in memory only: {}",
                   options_.disk.directory, std::string(tier.status().message()));
    fault_ = std::string(tier.status().message());
    retry_at_ = std::chrono::steady_clock::now() + retry_after_;
    retry_after_ = std::min(retry_after_ * 2, options_.last_retry);
    return;
  }
  disk_ = *std::move(tier);
  fault_.clear();
  if (again)
    spdlog::warn("cache: {} can be used again", options_.disk.directory);
  spdlog::info("cache: {} artifacts in {}", disk_->counts().entries, disk_->path());
}

void ArtifactCache::CheckHealth(const TierPtr &tier) {
  absl::Status health = tier->health();
  std::lock_guard lock(mutex_);
  if (health.ok()) {
    if (disk_ == tier)
      retry_after_ = options_.first_retry;
    return;
  }
  if (disk_ != tier)
    return;
  spdlog::warn("cache: {} is given up, keeping artifacts in memory only until it can be used "
               "again: {}",
               disk_->path(), std::string(health.message()));
  suspensions_.Increment();
  DiskTier::Counts counts = disk_->counts();
  given_up_.write_failures += counts.write_failures;
  given_up_.corrupt_records += counts.corrupt_records;
  given_up_.evicted_bytes_size += counts.evicted_bytes_size;
  given_up_.evicted_bytes_age += counts.evicted_bytes_age;
  fault_ = std::string(health.message());
  old_ = disk_;
  disk_.reset();
  // A directory that is gone is made anew at once; a full disk wants time.
  retry_at_ = std::chrono::steady_clock::now();
  if (!absl::IsNotFound(health)) {
    retry_at_ += retry_after_;
    retry_after_ = std::min(retry_after_ * 2, options_.last_retry);
  }
}

CompiledPtr ArtifactCache::FindInMemory(const std::string &key) {
  bool touch = false;
  CompiledPtr found = memory_.Find(key, &touch);
  if (!found)
    return nullptr;
  (found->outcome() == v1::OUTCOME_OK ? memory_hits_ : memory_negative_).Increment();
  hits_.fetch_add(1, std::memory_order_relaxed);
  if (touch && found->outcome() == v1::OUTCOME_OK)
    if (TierPtr tier = disk())
      tier->Touch(found->semantic_key());
  return found;
}

CompiledPtr ArtifactCache::Find(const std::string &request_key) {
  if (CompiledPtr found = FindInMemory(request_key))
    return found;
  memory_misses_.Increment();
  CompiledPtr found;
  if (TierPtr tier = disk())
    if (auto semantic = tier->ResolveAlias(request_key))
      found = ReadDisk(*tier, *semantic);
  if (!found && redis_)
    if (auto semantic = redis_->ResolveAlias(request_key))
      found = ReadRedis(*semantic, request_key);
  if (!found) {
    misses_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  hits_.fetch_add(1, std::memory_order_relaxed);
  evicted_memory_.Increment(memory_.Put(request_key, found));
  return found;
}

CompiledPtr ArtifactCache::FindSemantic(const std::string &semantic_key) {
  if (CompiledPtr found = FindInMemory(semantic_key))
    return found;
  TierPtr tier = disk();
  CompiledPtr found = tier ? ReadDisk(*tier, semantic_key) : nullptr;
  if (!found && redis_)
    found = ReadRedis(semantic_key, "");
  if (found)
    hits_.fetch_add(1, std::memory_order_relaxed);
  return found;
}

CompiledPtr ArtifactCache::ReadDisk(DiskTier &tier, const std::string &semantic_key) {
  auto begin = std::chrono::steady_clock::now();
  std::optional<std::string> artifact = tier.Get(semantic_key);
  CompiledPtr found;
  if (artifact) {
    auto compiled = Compiled::FromArtifact(*artifact, semantic_key);
    if (compiled.ok())
      found = *std::move(compiled);
    else
      tier.DeleteDamaged(semantic_key);
  }
  disk_read_.Observe(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  (found ? disk_hits_ : disk_misses_).Increment();
  if (found)
    evicted_memory_.Increment(memory_.Put(semantic_key, found));
  return found;
}

CompiledPtr ArtifactCache::ReadRedis(const std::string &semantic_key,
                                     const std::string &request_key) {
  auto begin = std::chrono::steady_clock::now();
  std::optional<std::string> artifact = redis_->Get(semantic_key);
  redis_read_.Observe(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  if (!artifact)
    return nullptr;
  auto compiled = Compiled::FromArtifact(*artifact, semantic_key);
  if (!compiled.ok())
    return nullptr;
  Keep(request_key, *compiled);
  return *compiled;
}

CompiledPtr ArtifactCache::AwaitFleet(const std::string &semantic_key,
                                      std::chrono::milliseconds patience, std::string *lease) {
  if (!redis_)
    return nullptr;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    if (auto token = redis_->TakeLease(semantic_key, patience)) {
      *lease = *token;
      // The holder before may have stored it and left since we looked.
      return token->empty() ? nullptr : ReadRedis(semantic_key, "");
    }
    if (CompiledPtr found = ReadRedis(semantic_key, ""))
      return found;
    if (std::chrono::steady_clock::now() >= deadline)
      return nullptr;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void ArtifactCache::GiveLease(const std::string &semantic_key, const std::string &lease) {
  if (redis_)
    redis_->GiveLease(semantic_key, lease);
}

void ArtifactCache::Put(const std::string &request_key, const CompiledPtr &compiled) {
  if (compiled->outcome() == v1::OUTCOME_REJECTED && options_.negative_ttl.count() > 0)
    evicted_memory_.Increment(memory_.Put(request_key, compiled, options_.negative_ttl));
  if (compiled->outcome() != v1::OUTCOME_OK)
    return;
  Keep(request_key, compiled);
  if (redis_)
    redis_->Put(compiled->semantic_key(), compiled->artifact(), request_key);
}

void ArtifactCache::Keep(const std::string &request_key, const CompiledPtr &compiled) {
  // A directory that was deleted is made anew at once: one more try.
  bool stored = false;
  for (int tries = 0; tries < 2 && !stored; ++tries) {
    OpenIfDue();
    TierPtr tier = disk();
    if (!tier)
      break;
    stored = tier->Put(compiled->semantic_key(), compiled->artifact(), request_key).ok() &&
             tier->health().ok();
    CheckHealth(tier);
  }
  evicted_memory_.Increment(memory_.Put(compiled->semantic_key(), compiled));
  if (!request_key.empty())
    evicted_memory_.Increment(memory_.Put(request_key, compiled));
}

void ArtifactCache::PutAlias(const std::string &request_key, const CompiledPtr &compiled) {
  if (compiled->outcome() != v1::OUTCOME_OK)
    return;
  if (TierPtr tier = disk()) {
    (void)tier->PutAlias(request_key, compiled->semantic_key());
    CheckHealth(tier);
  }
  if (redis_)
    redis_->PutAlias(request_key, compiled->semantic_key());
  evicted_memory_.Increment(memory_.Put(request_key, compiled));
}

void ArtifactCache::Sweep() {
  if (TierPtr tier = disk()) {
    tier->Sweep();
    CheckHealth(tier);
  }
  OpenIfDue();
}

absl::StatusOr<DiskTier::Scrubbed> ArtifactCache::Scrub() {
  TierPtr tier = disk();
  if (!tier)
    return absl::FailedPreconditionError("there is no cache on disk in use");
  DiskTier::Scrubbed scrubbed = tier->Scrub();
  CheckHealth(tier);
  return scrubbed;
}

absl::Status ArtifactCache::Compact() {
  TierPtr tier = disk();
  if (!tier)
    return absl::FailedPreconditionError("there is no cache on disk in use");
  absl::Status status = tier->Compact();
  CheckHealth(tier);
  return status;
}

absl::Status ArtifactCache::Clear() {
  TierPtr tier = disk();
  absl::Status status = tier ? tier->Clear() : absl::OkStatus();
  memory_.Clear();
  if (tier)
    CheckHealth(tier);
  return status;
}

void ArtifactCache::Interrupt() {
  if (TierPtr tier = disk())
    tier->Interrupt();
}

void ArtifactCache::UpdateMetrics() {
  memory_bytes_gauge_.Set(memory_.bytes());
  memory_entries_.Set(memory_.entries());
  std::lock_guard updating(update_mutex_);
  std::lock_guard lock(mutex_);
  usable_.Set(disk_ ? 1 : 0);
  if (redis_) {
    const RedisTier::Counts counts = redis_->counts();
    redis_usable_.Set(redis_->usable() ? 1 : 0);
    redis_hits_.Increment(counts.hits - redis_reported_.hits);
    redis_misses_.Increment(counts.misses - redis_reported_.misses);
    redis_failures_.Increment(counts.failures - redis_reported_.failures);
    redis_forged_.Increment(counts.forged - redis_reported_.forged);
    redis_reported_ = counts;
  } else {
    redis_usable_.Set(1); // none is wanted
  }
  DiskTier::Counts now = given_up_;
  if (disk_) {
    DiskTier::Counts counts = disk_->counts();
    now.bytes = counts.bytes;
    now.entries = counts.entries;
    now.write_failures += counts.write_failures;
    now.corrupt_records += counts.corrupt_records;
    now.evicted_bytes_size += counts.evicted_bytes_size;
    now.evicted_bytes_age += counts.evicted_bytes_age;
  }
  disk_bytes_gauge_.Set(now.bytes);
  disk_entries_.Set(now.entries);
  write_failures_.Increment(now.write_failures - reported_.write_failures);
  corrupt_.Increment(now.corrupt_records - reported_.corrupt_records);
  evicted_size_.Increment(now.evicted_bytes_size - reported_.evicted_bytes_size);
  evicted_age_.Increment(now.evicted_bytes_age - reported_.evicted_bytes_age);
  damaged_.Increment(damaged_logs_ - reported_damaged_);
  set_aside_total_.Increment(set_aside_ - reported_set_aside_);
  reported_set_aside_ = set_aside_;
  reported_ = now;
  reported_damaged_ = damaged_logs_;
}

v1::CacheStats ArtifactCache::stats() const {
  v1::CacheStats stats;
  stats.set_hits(hits_);
  stats.set_misses(misses_);
  std::lock_guard lock(mutex_);
  stats.set_write_failures(given_up_.write_failures);
  stats.set_corrupt_records(given_up_.corrupt_records);
  stats.set_damaged_logs(damaged_logs_);
  stats.set_disk_fault(fault_);
  stats.set_set_aside(set_aside_);
  stats.set_memory_bytes(memory_.bytes());
  stats.set_evicted_bytes(given_up_.evicted_bytes_size + given_up_.evicted_bytes_age);
  if (disk_) {
    DiskTier::Counts counts = disk_->counts();
    stats.set_kind("rocksdb");
    stats.set_path(disk_->path());
    stats.set_entries(counts.entries);
    stats.set_disk_bytes(disk_->disk_bytes());
    stats.set_write_failures(stats.write_failures() + counts.write_failures);
    stats.set_corrupt_records(stats.corrupt_records() + counts.corrupt_records);
    stats.set_evicted_bytes(stats.evicted_bytes() + counts.evicted_bytes_size +
                            counts.evicted_bytes_age);
  } else {
    stats.set_kind("memory");
    stats.set_entries(memory_.entries());
  }
  return stats;
}

} // namespace pyasc::server
