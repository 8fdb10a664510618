// The second tier: artifact records in RocksDB.
//
// A record is written whole, in one batch with its alias, to the write-ahead log before Put
// returns: it survives the process's death at any moment. Every read checks the record's SHA-256;
// a damaged one is deleted and counted, and looks like a miss.
//
// Large records lie in blob files, of which those with much garbage are rewritten: the cap holds
// for all that the database takes on the disk, save what a rewrite needs while it lasts. Cleaning
// up is done by a thread of the tier's own; no call waits for it.
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
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pyasc/v1/artifact.pb.h"
#include "server/cache/disk_index.h"

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
    uint64_t max_bytes = 0;      // of all files, garbage included
    std::chrono::seconds ttl{0}; // since the last use; 0: for ever
  };
  // What was met at opening.
  struct Opened {
    bool set_aside = false;   // the database was damaged: moved aside, a new one made
    bool damaged_log = false; // the write-ahead log ended in damage; what followed is lost
  };
  struct Scrubbed {
    uint64_t records = 0; // looked at
    uint64_t damaged = 0; // of them, deleted
    uint64_t bytes = 0;
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
  // `request_key` "": without an alias.
  absl::Status Put(const std::string &semantic_key, std::string_view artifact,
                   const std::string &request_key);
  absl::Status PutAlias(const std::string &request_key, const std::string &semantic_key);
  // The artifact is in use.
  void Touch(const std::string &semantic_key);
  // Deletes what is no artifact although its checksum is right, and counts it as damaged.
  void DeleteDamaged(const std::string &semantic_key);
  // Evicts by age, drops aliases of what is gone. To be called now and then.
  void Sweep();
  // Reads every record and deletes those that are damaged.
  Scrubbed Scrub();
  // Gives the disk all that deleted records take.
  absl::Status Compact();
  // Deletes everything.
  absl::Status Clear();
  // Ends Scrub, Compact and the like early, from any thread: the tier is about to be closed.
  void Interrupt();
  Counts counts() const;
  // What the database's files take on the disk.
  uint64_t disk_bytes() const;
  // OK, or why this tier is of no use any more.
  absl::Status health() const;
  const std::string &path() const { return path_; }

private:
  // A database and the file system under it.
  struct Database;
  static absl::StatusOr<std::unique_ptr<Database>> OpenDatabase(const std::string &path,
                                                                uint64_t max_bytes, bool strict);
  DiskTier(Options options, std::string path, std::unique_ptr<Database> database);
  // The tier's own thread: loads the index, then collects garbage whenever there is too much.
  void Maintain();
  void LoadIndex();
  // Of what may lie there without garbage.
  uint64_t live_limit() const { return options_.max_bytes - options_.max_bytes / 4; }
  int64_t oldest() const;
  // Least recently used entries out until the cap holds, and those past their time.
  void Evict(uint64_t limit);
  void NoteWritten(uint64_t bytes);
  // The first record's key at or behind `from`, "" when there is none.
  std::string FirstKeyFrom(const std::string &from);
  absl::Status CountWrite(const rocksdb::Status &status);

  const Options options_;
  const std::string path_;
  std::unique_ptr<Database> database_;
  rocksdb::DB *db_;                        // the database's
  std::pair<uint64_t, uint64_t> identity_; // device and inode of the directory
  DiskIndex index_;

  mutable std::mutex mutex_; // what follows; never held over a call into RocksDB
  std::condition_variable changed_;
  Counts counts_;        // without entries and bytes, which the index has
  uint64_t written_ = 0; // since garbage was looked for
  bool loaded_ = false;
  std::atomic<bool> stopping_{false};
  std::thread maintainer_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CACHE_DISK_TIER_H
