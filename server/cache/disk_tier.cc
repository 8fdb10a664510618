#include "server/cache/disk_tier.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <rocksdb/env.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/cache/fail_stop_fs.h"
#include "server/core/sha256.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kRecordSchema = 1;
constexpr char kSchemaDirectory[] = "artifacts-v1";
constexpr size_t kKeyDigits = 64;
// A last use is written again when it is this much newer than the stored one.
constexpr int64_t kStoredUseSlack = 3600;

int64_t Now() { return static_cast<int64_t>(std::time(nullptr)); }

std::string RecordKey(const std::string &semantic) { return "r/" + semantic; }
std::string AliasKey(const std::string &request) { return "a/" + request; }
std::string MetaKey(const std::string &semantic) { return "m/" + semantic; }

std::string EncodeAlias(const std::string &request, const std::string &semantic) {
  return semantic + Sha256::HexOf(request + semantic);
}

std::string EncodeMeta(uint64_t bytes, int64_t last_used) {
  std::string value(16, '\0');
  std::memcpy(value.data(), &bytes, 8);
  std::memcpy(value.data() + 8, &last_used, 8);
  return value;
}

// RocksDB's own log goes to ours. Its log file would be one more thing that a full disk breaks,
// and its writer aborts the process then.
class InfoLog : public rocksdb::Logger {
public:
  InfoLog() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}
  using Logger::Logv;
  void Logv(const char *format, va_list arguments) override {
    char line[512];
    std::vsnprintf(line, sizeof(line), format, arguments);
    spdlog::debug("rocksdb: {}", line);
  }
};

rocksdb::Options DatabaseOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 16 << 20;
  options.max_total_wal_size = 64 << 20;
  options.max_background_jobs = 2;
  options.allow_fallocate = false; // what the cache takes on the disk is what it holds
  options.max_open_files = 256;
  options.info_log = std::make_shared<InfoLog>();
  options.compression = rocksdb::kNoCompression; // replies go out as they are; disks are cheap
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.block_cache = rocksdb::NewLRUCache(8 << 20); // whole artifacts are cached above
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// Every read checks block checksums: that is RocksDB's default. No fsync on a write: the log is
// in the kernel's page cache, which outlives the process; a power cut may lose, never tear.
rocksdb::WriteOptions Durable() { return {}; }

absl::Status ToStatus(const rocksdb::Status &status) {
  if (status.ok())
    return absl::OkStatus();
  std::string text = status.ToString();
  if (status.IsNoSpace())
    return absl::ResourceExhaustedError(text);
  if (status.IsIOError() && text.find("lock") != std::string::npos)
    return absl::FailedPreconditionError(text);
  if (status.IsIOError() && text.find("Permission denied") != std::string::npos)
    return absl::PermissionDeniedError(text);
  if (status.IsIOError() && text.find("Read-only file system") != std::string::npos)
    return absl::PermissionDeniedError(text);
  // Something of the database is missing; any other failure of the disk is no damage.
  if (status.IsIOError() && !status.IsPathNotFound())
    return absl::UnavailableError(text);
  return absl::DataLossError(text);
}

// Device and inode; zeros where there is nothing.
std::pair<uint64_t, uint64_t> IdentityOf(const std::string &path) {
  struct stat found;
  if (::stat(path.c_str(), &found) != 0)
    return {0, 0};
  return {found.st_dev, found.st_ino};
}

} // namespace

// In order of destruction: the database before what it works on.
struct DiskTier::Database {
  std::shared_ptr<FailStopFileSystem> files;
  std::unique_ptr<rocksdb::Env> env;
  std::unique_ptr<rocksdb::DB> db;

  ~Database() {
    if (db)
      db->Close();
  }
};

// `strict`: a write-ahead log that does not end with a whole record is DATA_LOSS.
absl::StatusOr<std::unique_ptr<DiskTier::Database>> DiskTier::OpenDatabase(const std::string &path,
                                                                           bool strict) {
  auto database = std::make_unique<Database>();
  database->files = std::make_shared<FailStopFileSystem>(rocksdb::FileSystem::Default());
  database->env = rocksdb::NewCompositeEnv(database->files);
  rocksdb::Options options = DatabaseOptions();
  options.env = database->env.get();
  options.wal_recovery_mode = strict ? rocksdb::WALRecoveryMode::kAbsoluteConsistency
                                     : rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  rocksdb::DB *raw = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, path, &raw);
  database->db.reset(raw);
  if (absl::Status s = ToStatus(database->files->error()); !s.ok())
    return s;
  if (!status.ok()) {
    // No more of this attempt may reach the disk.
    database->files->Stop(rocksdb::IOStatus::Aborted());
    return ToStatus(status);
  }
  return database;
}

absl::StatusOr<std::unique_ptr<DiskTier>> DiskTier::Open(const Options &options, Opened *opened) {
  *opened = {};
  std::error_code error;
  fs::create_directories(options.directory, error);
  if (error)
    return absl::PermissionDeniedError(
        absl::StrCat("cannot create ", options.directory, ": ", error.message()));
  if (::access(options.directory.c_str(), W_OK) != 0)
    return absl::PermissionDeniedError(absl::StrCat(options.directory, " is not writable"));
  const std::string path = options.directory + "/" + kSchemaDirectory;
  for (int attempt = 0;; ++attempt) {
    auto database = OpenDatabase(path, /*strict=*/true);
    if (absl::IsDataLoss(database.status())) {
      database = OpenDatabase(path, /*strict=*/false);
      opened->damaged_log = database.ok();
    }
    if (database.ok()) {
      std::unique_ptr<DiskTier> tier(new DiskTier(options, path, *std::move(database)));
      tier->LoadIndex();
      if (absl::Status s = tier->health(); !s.ok())
        return s;
      return tier;
    }
    if (!absl::IsDataLoss(database.status()) || attempt > 0)
      return database.status();
    const std::string aside = path + ".damaged";
    fs::remove_all(aside, error);
    fs::rename(path, aside, error);
    if (error)
      return absl::UnavailableError(
          absl::StrCat("cannot set the damaged database aside: ", error.message()));
    opened->set_aside = true;
  }
}

DiskTier::DiskTier(Options options, std::string path, std::unique_ptr<Database> database)
    : options_(std::move(options)), path_(std::move(path)), database_(std::move(database)),
      db_(database_->db.get()), identity_(IdentityOf(path_)) {}

DiskTier::~DiskTier() {
  // What cannot be trusted any more writes nothing while it closes.
  if (absl::Status s = health(); !s.ok())
    database_->files->Stop(rocksdb::IOStatus::Aborted());
}

absl::Status DiskTier::health() const {
  if (database_->files->stopped())
    return ToStatus(database_->files->error());
  if (IdentityOf(path_) != identity_)
    return absl::NotFoundError(absl::StrCat(path_, " was deleted or replaced"));
  return absl::OkStatus();
}

void DiskTier::LoadIndex() {
  std::vector<Entry> entries;
  std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
  for (it->Seek("m/"); it->Valid() && it->key().starts_with("m/"); it->Next()) {
    if (it->value().size() != 16)
      continue;
    Entry entry;
    entry.key = it->key().ToString().substr(2);
    std::memcpy(&entry.bytes, it->value().data(), 8);
    std::memcpy(&entry.last_used, it->value().data() + 8, 8);
    entry.stored_used = entry.last_used;
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.last_used < b.last_used; });
  for (const Entry &entry : entries)
    Insert(entry.key, entry.bytes, entry.last_used);
  Sweep();
}

void DiskTier::Insert(const std::string &key, uint64_t bytes, int64_t last_used) {
  std::lock_guard lock(mutex_);
  auto found = index_.find(key);
  if (found != index_.end()) {
    counts_.bytes -= found->second->bytes;
    order_.erase(found->second);
    index_.erase(found);
  }
  order_.push_front({key, bytes, last_used, last_used});
  index_[key] = order_.begin();
  counts_.bytes += bytes;
  counts_.entries = index_.size();
}

std::optional<std::string> DiskTier::ResolveAlias(const std::string &request_key) {
  std::string value;
  rocksdb::Status status = db_->Get({}, AliasKey(request_key), &value);
  if (status.IsNotFound())
    return std::nullopt;
  if (status.ok() && value.size() == 2 * kKeyDigits) {
    std::string semantic = value.substr(0, kKeyDigits);
    if (value == EncodeAlias(request_key, semantic))
      return semantic;
  }
  if (status.ok() || status.IsCorruption()) {
    (void)CountWrite(db_->Delete(Durable(), AliasKey(request_key)));
    std::lock_guard lock(mutex_);
    ++counts_.corrupt_records;
  }
  return std::nullopt;
}

std::optional<std::string> DiskTier::Get(const std::string &semantic_key) {
  {
    std::lock_guard lock(mutex_);
    auto found = index_.find(semantic_key);
    if (found == index_.end())
      return std::nullopt;
    if (options_.ttl.count() > 0 && Now() - found->second->last_used > options_.ttl.count())
      return std::nullopt; // the next sweep takes it away
  }
  std::string value;
  rocksdb::Status status = db_->Get({}, RecordKey(semantic_key), &value);
  v1::ArtifactRecord record;
  if (status.ok() && record.ParseFromString(value) && record.schema_version() == kRecordSchema &&
      record.sha256() == Sha256::Of(record.artifact())) {
    Touch(semantic_key);
    return std::move(*record.mutable_artifact());
  }
  // A time-out or an I/O error is no proof of damage; keep the record for another try.
  if (status.ok() || status.IsCorruption() || status.IsNotFound())
    DeleteDamaged(semantic_key);
  return std::nullopt;
}

void DiskTier::DeleteDamaged(const std::string &semantic_key) {
  rocksdb::WriteBatch batch;
  batch.Delete(RecordKey(semantic_key));
  batch.Delete(MetaKey(semantic_key));
  (void)CountWrite(db_->Write(Durable(), &batch));
  std::lock_guard lock(mutex_);
  ++counts_.corrupt_records;
  auto found = index_.find(semantic_key);
  if (found == index_.end())
    return;
  counts_.bytes -= found->second->bytes;
  order_.erase(found->second);
  index_.erase(found);
  counts_.entries = index_.size();
}

absl::Status DiskTier::Put(const std::string &semantic_key, std::string_view artifact,
                           const std::string &request_key) {
  v1::ArtifactRecord record;
  record.set_schema_version(kRecordSchema);
  record.set_artifact(artifact.data(), artifact.size());
  record.set_sha256(Sha256::Of(artifact));
  std::string value = record.SerializeAsString();
  if (value.size() > options_.max_bytes)
    return absl::OkStatus(); // would push out everything else, and then itself
  int64_t now = Now();
  rocksdb::WriteBatch batch;
  batch.Put(RecordKey(semantic_key), value);
  batch.Put(MetaKey(semantic_key), EncodeMeta(value.size(), now));
  batch.Put(AliasKey(request_key), EncodeAlias(request_key, semantic_key));
  if (absl::Status s = CountWrite(db_->Write(Durable(), &batch)); !s.ok())
    return s;
  Insert(semantic_key, value.size(), now);
  Evict();
  return absl::OkStatus();
}

absl::Status DiskTier::PutAlias(const std::string &request_key, const std::string &semantic_key) {
  return CountWrite(
      db_->Put(Durable(), AliasKey(request_key), EncodeAlias(request_key, semantic_key)));
}

void DiskTier::Touch(const std::string &semantic_key) {
  int64_t now = Now();
  uint64_t bytes = 0;
  {
    std::lock_guard lock(mutex_);
    auto found = index_.find(semantic_key);
    if (found == index_.end())
      return;
    order_.splice(order_.begin(), order_, found->second);
    Entry &entry = *found->second;
    entry.last_used = now;
    if (now - entry.stored_used < kStoredUseSlack)
      return;
    entry.stored_used = now;
    bytes = entry.bytes;
  }
  (void)CountWrite(db_->Put(Durable(), MetaKey(semantic_key), EncodeMeta(bytes, now)));
}

void DiskTier::Evict() {
  std::vector<Entry> victims;
  bool compact = false;
  {
    std::lock_guard lock(mutex_);
    const bool full = counts_.bytes > options_.max_bytes;
    // Some room at once, so that a full cache does not evict on every write.
    const uint64_t goal = full ? options_.max_bytes / 10 * 9 : options_.max_bytes;
    const int64_t oldest = options_.ttl.count() > 0 ? Now() - options_.ttl.count() : INT64_MIN;
    while (!order_.empty()) {
      Entry &last = order_.back();
      const bool aged = last.last_used < oldest;
      if (!aged && counts_.bytes <= goal)
        break;
      counts_.bytes -= last.bytes;
      (aged ? counts_.evicted_bytes_age : counts_.evicted_bytes_size) += last.bytes;
      evicted_since_compaction_ += last.bytes;
      index_.erase(last.key);
      victims.push_back(std::move(last));
      order_.pop_back();
    }
    counts_.entries = index_.size();
    if (evicted_since_compaction_ > options_.max_bytes / 4) {
      evicted_since_compaction_ = 0;
      compact = true;
    }
  }
  if (victims.empty())
    return;
  rocksdb::WriteBatch batch;
  for (const Entry &victim : victims) {
    batch.Delete(RecordKey(victim.key));
    batch.Delete(MetaKey(victim.key));
  }
  (void)CountWrite(db_->Write(Durable(), &batch));
  if (compact) {
    // Deleted records give their disk space back only when their files are rewritten.
    rocksdb::Slice begin("r/"), end("r0");
    db_->CompactRange({}, &begin, &end);
  }
}

void DiskTier::Sweep() {
  Evict();
  rocksdb::WriteBatch batch;
  std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
  for (it->Seek("a/"); it->Valid() && it->key().starts_with("a/"); it->Next()) {
    std::string semantic = it->value().ToString().substr(0, kKeyDigits);
    std::lock_guard lock(mutex_);
    if (!index_.count(semantic))
      batch.Delete(it->key());
  }
  // A record is in the index before or after this look at it; an alias that is deleted although
  // its record has just come costs one recompile's key, never a wrong answer.
  if (batch.Count())
    (void)CountWrite(db_->Write(Durable(), &batch));
}

DiskTier::Counts DiskTier::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

uint64_t DiskTier::disk_bytes() const {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
    struct stat found;
    if (::stat(it->path().c_str(), &found) == 0)
      bytes += static_cast<uint64_t>(found.st_blocks) * 512;
  }
  return bytes;
}

absl::Status DiskTier::CountWrite(const rocksdb::Status &status) {
  // A write that the file system only pretended to do is a failed one.
  absl::Status result = status.ok() ? ToStatus(database_->files->error()) : ToStatus(status);
  if (result.ok())
    return result;
  std::lock_guard lock(mutex_);
  ++counts_.write_failures;
  return result;
}

} // namespace pyasc::server
