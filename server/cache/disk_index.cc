#include "server/cache/disk_index.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "server/core/sha256.h"

namespace pyasc::server {

DiskIndex::Digest DiskIndex::ToDigest(const std::string &key) {
  Digest digest{};
  std::string bytes = absl::HexStringToBytes(key);
  std::memcpy(digest.data(), bytes.data(), std::min(bytes.size(), digest.size()));
  return digest;
}

std::string DiskIndex::ToKey(const Digest &digest) {
  return ToHex({reinterpret_cast<const char *>(digest.data()), digest.size()});
}

DiskIndex::Presence DiskIndex::Look(const std::string &key, int64_t oldest) const {
  std::lock_guard lock(mutex_);
  const Digest digest = ToDigest(key);
  auto found = index_.find(digest);
  if (found != index_.end())
    return found->second->last_used < oldest ? Presence::kAged : Presence::kHere;
  return loading_ && !cleared_ && !gone_.count(digest) ? Presence::kUnknown : Presence::kGone;
}

void DiskIndex::Erase(std::unordered_map<Digest, Iterator, Hash>::iterator found) {
  bytes_ -= found->second->bytes;
  order_.erase(found->second);
  index_.erase(found);
}

void DiskIndex::Insert(const std::string &key, uint64_t bytes, int64_t now) {
  std::lock_guard lock(mutex_);
  const Digest digest = ToDigest(key);
  if (auto found = index_.find(digest); found != index_.end())
    Erase(found);
  order_.push_front({digest, bytes, now, now});
  index_[digest] = order_.begin();
  bytes_ += bytes;
}

std::optional<uint64_t> DiskIndex::Touch(const std::string &key, int64_t now, int64_t slack) {
  std::lock_guard lock(mutex_);
  auto found = index_.find(ToDigest(key));
  if (found == index_.end())
    return std::nullopt;
  order_.splice(order_.begin(), order_, found->second);
  Entry &entry = *found->second;
  entry.last_used = now;
  if (now - entry.stored_used < slack)
    return std::nullopt;
  entry.stored_used = now;
  return entry.bytes;
}

void DiskIndex::Remove(const std::string &key) {
  std::lock_guard lock(mutex_);
  const Digest digest = ToDigest(key);
  if (loading_)
    gone_.insert(digest);
  if (auto found = index_.find(digest); found != index_.end())
    Erase(found);
}

void DiskIndex::Clear() {
  std::lock_guard lock(mutex_);
  order_.clear();
  index_.clear();
  bytes_ = 0;
  cleared_ = true;
}

void DiskIndex::Pin(const std::string &key) {
  std::lock_guard lock(mutex_);
  ++pins_[ToDigest(key)];
}

void DiskIndex::Unpin(const std::string &key) {
  std::lock_guard lock(mutex_);
  auto found = pins_.find(ToDigest(key));
  if (found != pins_.end() && --found->second == 0)
    pins_.erase(found);
}

std::vector<DiskIndex::Victim> DiskIndex::TakeVictims(uint64_t limit, uint64_t goal,
                                                      int64_t oldest) {
  std::vector<Victim> victims;
  std::lock_guard lock(mutex_);
  const uint64_t keep = bytes_ > limit ? goal : limit;
  for (auto at = order_.end(); at != order_.begin();) {
    --at;
    const bool aged = at->last_used < oldest;
    if (!aged && bytes_ <= keep)
      break;
    if (pins_.count(at->key))
      continue;
    victims.push_back({ToKey(at->key), at->bytes, aged});
    bytes_ -= at->bytes;
    index_.erase(at->key);
    at = order_.erase(at);
  }
  return victims;
}

void DiskIndex::FinishLoading(std::vector<Record> records) {
  std::sort(records.begin(), records.end(),
            [](const Record &a, const Record &b) { return a.last_used > b.last_used; });
  std::lock_guard lock(mutex_);
  loading_ = false;
  if (!cleared_) {
    index_.reserve(index_.size() + records.size());
    for (const Record &record : records) {
      const Digest digest = ToDigest(record.key);
      if (index_.count(digest) || gone_.count(digest))
        continue;
      order_.push_back({digest, record.bytes, record.last_used, record.last_used});
      index_[digest] = std::prev(order_.end());
      bytes_ += record.bytes;
    }
  }
  gone_.clear();
  cleared_ = false;
}

DiskIndex::Totals DiskIndex::totals() const {
  std::lock_guard lock(mutex_);
  return {index_.size(), bytes_};
}

} // namespace pyasc::server
