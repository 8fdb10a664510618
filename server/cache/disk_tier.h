// The second tier: artifact records in RocksDB.
//
// A record is written whole, in one batch with its alias, to the write-ahead log before Put
// returns: it survives the process's death at any moment. Every read checks the record's SHA-256;
// a damaged one is deleted and counted, and looks like a miss.
//
// The first failed write (a full disk, a deleted directory) ends the tier's work: health() says
// why, calls do nothing more, and the owner drops the tier and opens another one later.
//
// Keys: "r/<semantic key>" an ArtifactRecord; "a/<request key>" the semantic key, checksummed;
// "m/<semantic key>" size and last use, from which the order of eviction is rebuilt at start.
#ifndef PYASC_SERVER_CACHE_DISK_TIER_H
#define PYASC_SERVER_CACHE_DISK_TIER_H

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pyasc/v1/artifact.pb.h"

namespace rocksdb {
class DB;
class Status;
} // namespace rocksdb

namespace pyasc::server {

// Thread-safe. Calls block on the disk.
class DiskTier {
public:
  struct Options {
    // Directory of the cache; the database lies in a subdirectory named after the schema.
    std::string directory;
    uint64_t max_bytes = 0;
    std::chrono::seconds ttl{0}; // since the last use; 0: for ever
  };
  // What was met at opening.
  struct Opened {
    bool set_aside = false;   // the database was damaged: moved aside, a new one made
    bool damaged_log = false; // the write-ahead log ended in damage; what followed is lost
  };
  struct Counts {
    uint64_t entries = 0;
    uint64_t bytes = 0;
    uint64_t write_failures = 0;
    uint64_t corrupt_records = 0;
    uint64_t evicted_bytes_size = 0;
    uint64_t evicted_bytes_age = 0;
  };

  // FAILED_PRECONDITION: another process has it. PERMISSION_DENIED, RESOURCE_EXHAUSTED,
  // UNAVAILABLE: the directory is of no use now. A damaged database is moved aside to
  // `<path>.damaged` (one is kept) and a new one made: `*opened` says so.
  static absl::StatusOr<std::unique_ptr<DiskTier>> Open(const Options &options, Opened *opened);
  ~DiskTier();

  // The semantic key that a request key stands for.
  std::optional<std::string> ResolveAlias(const std::string &request_key);
  // The verified artifact of a semantic key.
  std::optional<std::string> Get(const std::string &semantic_key);
  absl::Status Put(const std::string &semantic_key, std::string_view artifact,
                   const std::string &request_key);
  absl::Status PutAlias(const std::string &request_key, const std::string &semantic_key);
  // The artifact is in use.
  void Touch(const std::string &semantic_key);
  // Deletes what is no artifact although its checksum is right, and counts it as damaged.
  void DeleteDamaged(const std::string &semantic_key);
  // Evicts by age, drops aliases of what is gone. To be called now and then.
  void Sweep();
  Counts counts() const;
  // What the database's files take on the disk.
  uint64_t disk_bytes() const;
  // OK, or why this tier is of no use any more.
  absl::Status health() const;
  const std::string &path() const { return path_; }

private:
  struct Entry {
    std::string key;
    uint64_t bytes;
    int64_t last_used;   // seconds since the epoch
    int64_t stored_used; // as the database has it
  };
  // A database and the file system under it.
  struct Database;
  static absl::StatusOr<std::unique_ptr<Database>> OpenDatabase(const std::string &path,
                                                                bool strict);
  DiskTier(Options options, std::string path, std::unique_ptr<Database> database);
  void LoadIndex();
  void Insert(const std::string &key, uint64_t bytes, int64_t last_used);
  // Least recently used entries out until the cap holds, and those past their time.
  void Evict();
  absl::Status CountWrite(const rocksdb::Status &status);

  const Options options_;
  const std::string path_;
  std::unique_ptr<Database> database_;
  rocksdb::DB *db_;                        // the database's
  std::pair<uint64_t, uint64_t> identity_; // device and inode of the directory
  mutable std::mutex mutex_;               // the index only; never held over a call into RocksDB
  std::list<Entry> order_;                 // most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
  Counts counts_;
  uint64_t evicted_since_compaction_ = 0;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CACHE_DISK_TIER_H
