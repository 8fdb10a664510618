#include "server/cache/artifact_cache.h"

#include <chrono>

#include "spdlog/spdlog.h"

namespace pyasc::server {

ArtifactCache::ArtifactCache(Options options, Metrics &metrics)
    : memory_(options.memory_bytes),
      memory_hits_(metrics.cache_requests_total.Add({{"tier", "memory"}, {"result", "hit"}})),
      memory_misses_(metrics.cache_requests_total.Add({{"tier", "memory"}, {"result", "miss"}})),
      disk_hits_(metrics.cache_requests_total.Add({{"tier", "disk"}, {"result", "hit"}})),
      disk_misses_(metrics.cache_requests_total.Add({{"tier", "disk"}, {"result", "miss"}})),
      disk_read_(metrics.cache_read_seconds.Add({{"tier", "disk"}}, Metrics::RpcBuckets())),
      write_failures_(metrics.cache_write_failures_total.Add({{"tier", "disk"}})),
      corrupt_(metrics.cache_corrupt_records_total.Add({{"tier", "disk"}})),
      evicted_size_(metrics.cache_evicted_bytes_total.Add({{"tier", "disk"}, {"reason", "size"}})),
      evicted_age_(metrics.cache_evicted_bytes_total.Add({{"tier", "disk"}, {"reason", "age"}})),
      evicted_memory_(
          metrics.cache_evicted_bytes_total.Add({{"tier", "memory"}, {"reason", "size"}})),
      memory_bytes_gauge_(metrics.cache_bytes.Add({{"tier", "memory"}})),
      disk_bytes_gauge_(metrics.cache_bytes.Add({{"tier", "disk"}})),
      memory_entries_(metrics.cache_entries.Add({{"tier", "memory"}})),
      disk_entries_(metrics.cache_entries.Add({{"tier", "disk"}})) {
  if (options.disk.directory.empty()) {
    spdlog::info("cache: in memory only, as configured");
    return;
  }
  bool set_aside = false;
  auto disk = DiskTier::Open(options.disk, &set_aside);
  if (set_aside)
    spdlog::warn(
        "cache: the database in {} was damaged and is set aside; starting with an empty one",
        options.disk.directory);
  if (!disk.ok()) {
    spdlog::warn("cache: {} cannot be used, keeping artifacts in memory only: {}",
                 options.disk.directory, std::string(disk.status().message()));
    return;
  }
  disk_ = *std::move(disk);
  spdlog::info("cache: {} artifacts in {}", disk_->counts().entries, disk_->path());
}

CompiledPtr ArtifactCache::FindInMemory(const std::string &key) {
  bool touch = false;
  CompiledPtr found = memory_.Find(key, &touch);
  if (!found)
    return nullptr;
  memory_hits_.Increment();
  hits_.fetch_add(1, std::memory_order_relaxed);
  if (touch && disk_)
    disk_->Touch(found->semantic_key());
  return found;
}

CompiledPtr ArtifactCache::Find(const std::string &request_key) {
  if (CompiledPtr found = FindInMemory(request_key))
    return found;
  memory_misses_.Increment();
  CompiledPtr found;
  if (disk_)
    if (auto semantic = disk_->ResolveAlias(request_key))
      found = ReadDisk(*semantic);
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
  CompiledPtr found = disk_ ? ReadDisk(semantic_key) : nullptr;
  if (found)
    hits_.fetch_add(1, std::memory_order_relaxed);
  return found;
}

CompiledPtr ArtifactCache::ReadDisk(const std::string &semantic_key) {
  auto begin = std::chrono::steady_clock::now();
  std::optional<std::string> artifact = disk_->Get(semantic_key);
  CompiledPtr found;
  if (artifact) {
    auto compiled = Compiled::FromArtifact(*artifact, semantic_key);
    if (compiled.ok())
      found = *std::move(compiled);
    else
      disk_->DeleteDamaged(semantic_key);
  }
  disk_read_.Observe(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  (found ? disk_hits_ : disk_misses_).Increment();
  if (found)
    evicted_memory_.Increment(memory_.Put(semantic_key, found));
  return found;
}

void ArtifactCache::Put(const std::string &request_key, const CompiledPtr &compiled) {
  if (compiled->outcome() != v1::OUTCOME_OK)
    return;
  if (disk_)
    WarnOfWrite(disk_->Put(compiled->semantic_key(), compiled->artifact(), request_key));
  evicted_memory_.Increment(memory_.Put(compiled->semantic_key(), compiled));
  evicted_memory_.Increment(memory_.Put(request_key, compiled));
}

void ArtifactCache::PutAlias(const std::string &request_key, const CompiledPtr &compiled) {
  if (compiled->outcome() != v1::OUTCOME_OK)
    return;
  if (disk_)
    WarnOfWrite(disk_->PutAlias(request_key, compiled->semantic_key()));
  evicted_memory_.Increment(memory_.Put(request_key, compiled));
}

void ArtifactCache::WarnOfWrite(const absl::Status &status) {
  if (status.ok())
    write_warned_ = false;
  else if (!write_warned_.exchange(true)) // once, until a write succeeds again
    spdlog::warn("cache: cannot write to {}: {}", disk_->path(), std::string(status.message()));
}

void ArtifactCache::Sweep() {
  if (disk_)
    disk_->Sweep();
}

void ArtifactCache::UpdateMetrics() {
  memory_bytes_gauge_.Set(memory_.bytes());
  memory_entries_.Set(memory_.entries());
  if (!disk_)
    return;
  std::lock_guard lock(update_mutex_);
  DiskTier::Counts now = disk_->counts();
  disk_bytes_gauge_.Set(now.bytes);
  disk_entries_.Set(now.entries);
  write_failures_.Increment(now.write_failures - reported_.write_failures);
  corrupt_.Increment(now.corrupt_records - reported_.corrupt_records);
  evicted_size_.Increment(now.evicted_bytes_size - reported_.evicted_bytes_size);
  evicted_age_.Increment(now.evicted_bytes_age - reported_.evicted_bytes_age);
  reported_ = now;
}

v1::CacheStats ArtifactCache::stats() const {
  v1::CacheStats stats;
  stats.set_hits(hits_);
  stats.set_misses(misses_);
  if (disk_) {
    DiskTier::Counts counts = disk_->counts();
    stats.set_kind("rocksdb");
    stats.set_path(disk_->path());
    stats.set_entries(counts.entries);
    stats.set_disk_bytes(disk_->disk_bytes());
    stats.set_write_failures(counts.write_failures);
    stats.set_corrupt_records(counts.corrupt_records);
  } else {
    stats.set_kind("memory");
    stats.set_entries(memory_.entries());
  }
  return stats;
}

} // namespace pyasc::server
