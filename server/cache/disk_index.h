// What the disk tier knows of its records without asking the disk: size, last use, and thereby
// which go first when room is needed. Rebuilt at start while the tier already serves.
#ifndef PYASC_SERVER_CACHE_DISK_INDEX_H
#define PYASC_SERVER_CACHE_DISK_INDEX_H

#include <array>
#include <cstdint>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace pyasc::server {

// Thread-safe; never blocks on anything but its own mutex. Keys have 64 hexadecimal digits and are
// kept as 32 bytes: a cache may have millions.
class DiskIndex {
public:
  struct Totals {
    uint64_t entries = 0;
    uint64_t bytes = 0;
  };
  struct Record {
    std::string key;
    uint64_t bytes;
    int64_t last_used; // seconds since the epoch
  };
  struct Victim {
    std::string key;
    uint64_t bytes;
    bool aged; // else: room was needed
  };
  enum class Presence { kHere, kAged, kGone, kUnknown };

  // While records are being loaded, one that is not here yet may be on the disk all the same.
  Presence Look(const std::string &key, int64_t oldest) const;
  // A new or rewritten record, most recently used.
  void Insert(const std::string &key, uint64_t bytes, int64_t now);
  // In use now. Returns its size when a last use on the disk is older by `slack` or more.
  std::optional<uint64_t> Touch(const std::string &key, int64_t now, int64_t slack);
  void Remove(const std::string &key);
  void Clear();
  // A record that is pinned is no victim. Pins nest.
  void Pin(const std::string &key);
  void Unpin(const std::string &key);
  // Takes records out until no more than `goal` bytes are left, if there are more than `limit`; and
  // those last used before `oldest`.
  std::vector<Victim> TakeVictims(uint64_t limit, uint64_t goal, int64_t oldest);
  // The records that were on the disk at start, in any order; what came, went or was used in the
  // meantime is newer. Afterwards nothing is unknown.
  void FinishLoading(std::vector<Record> records);
  Totals totals() const;

private:
  using Digest = std::array<uint8_t, 32>;
  struct Entry {
    Digest key;
    uint64_t bytes;
    int64_t last_used;
    int64_t stored_used; // as the disk has it
  };
  struct Hash {
    size_t operator()(const Digest &digest) const {
      size_t hash;
      std::memcpy(&hash, digest.data(), sizeof(hash));
      return hash;
    }
  };
  using Iterator = std::list<Entry>::iterator;

  static Digest ToDigest(const std::string &key);
  static std::string ToKey(const Digest &digest);
  void Erase(std::unordered_map<Digest, Iterator, Hash>::iterator found);

  mutable std::mutex mutex_;
  std::list<Entry> order_; // most recently used first
  std::unordered_map<Digest, Iterator, Hash> index_;
  std::unordered_map<Digest, int, Hash> pins_;
  uint64_t bytes_ = 0;
  bool loading_ = true;
  bool cleared_ = false;                  // while loading
  std::unordered_set<Digest, Hash> gone_; // likewise
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CACHE_DISK_INDEX_H
