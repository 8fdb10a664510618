#include "server/cache/disk_tier.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

namespace pyasc::server {
namespace {

class DiskTierTest : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/pyasc-disk-XXXXXX";
    directory_ = ::mkdtemp(name);
    options_ = {directory_, 1 << 20, std::chrono::seconds(0)};
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::unique_ptr<DiskTier> Open() {
    auto tier = DiskTier::Open(options_, &opened_);
    EXPECT_TRUE(tier.ok()) << tier.status();
    return tier.ok() ? *std::move(tier) : nullptr;
  }
  // Changes what lies in the database under a key, as a fault of disk or memory would.
  void Overwrite(const std::string &key, const std::function<void(std::string &)> &change) {
    rocksdb::DB *raw = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open({}, directory_ + "/artifacts-v1", &raw).ok());
    std::unique_ptr<rocksdb::DB> db(raw);
    std::string value;
    ASSERT_TRUE(db->Get({}, key, &value).ok()) << key;
    change(value);
    ASSERT_TRUE(db->Put({}, key, value).ok());
  }
  static std::string Key(char digit) { return std::string(64, digit); }

  std::string directory_;
  DiskTier::Options options_;
  DiskTier::Opened opened_;
};

// While it lives, no file of this process grows beyond `bytes`: a disk that is full.
class FullDisk {
public:
  explicit FullDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

private:
  rlimit before_;
};

TEST_F(DiskTierTest, RecordsAndAliasesSurviveReopening) {
  ASSERT_TRUE(Open()->Put(Key('a'), "artifact", Key('1')).ok());
  auto tier = Open();
  EXPECT_EQ(tier->ResolveAlias(Key('1')), Key('a'));
  EXPECT_EQ(tier->Get(Key('a')), "artifact");
  EXPECT_EQ(tier->Get(Key('b')), std::nullopt);
  EXPECT_EQ(tier->counts().entries, 1u);
}

TEST_F(DiskTierTest, ADamagedRecordIsDeletedCountedAndMissed) {
  ASSERT_TRUE(Open()->Put(Key('a'), "the artifact's bytes", Key('1')).ok());
  Overwrite("r/" + Key('a'), [](std::string &v) { v[v.find("bytes")] ^= 1; });
  auto tier = Open();
  EXPECT_EQ(tier->Get(Key('a')), std::nullopt);
  EXPECT_EQ(tier->counts().corrupt_records, 1u);
  EXPECT_EQ(tier->counts().entries, 0u);
  ASSERT_TRUE(tier->Put(Key('a'), "again", Key('1')).ok());
  EXPECT_EQ(tier->Get(Key('a')), "again");
}

TEST_F(DiskTierTest, ADamagedAliasLeadsNowhere) {
  {
    auto tier = Open();
    ASSERT_TRUE(tier->Put(Key('a'), "A", Key('1')).ok());
    ASSERT_TRUE(tier->Put(Key('b'), "B", Key('2')).ok());
  }
  // The right length and a key that exists, but another request's.
  Overwrite("a/" + Key('1'), [](std::string &v) { v.replace(0, 64, Key('b')); });
  auto tier = Open();
  EXPECT_EQ(tier->ResolveAlias(Key('1')), std::nullopt);
  EXPECT_EQ(tier->counts().corrupt_records, 1u);
  EXPECT_EQ(tier->ResolveAlias(Key('2')), Key('b'));
}

TEST_F(DiskTierTest, TheLeastRecentlyUsedGoFirst) {
  options_.max_bytes = 100'000;
  auto tier = Open();
  const std::string bulk(16'000, 'x'); // a quarter of the cap is for garbage
  for (char c : {'a', 'b', 'c', 'd'})
    ASSERT_TRUE(tier->Put(Key(c), bulk, Key(c)).ok());
  EXPECT_TRUE(tier->Get(Key('a')));
  ASSERT_TRUE(tier->Put(Key('e'), bulk, Key('e')).ok());
  EXPECT_LE(tier->counts().bytes, 100'000u);
  EXPECT_TRUE(tier->Get(Key('a')));
  EXPECT_TRUE(tier->Get(Key('e')));
  EXPECT_FALSE(tier->Get(Key('b')));
  tier->Sweep();
  EXPECT_EQ(tier->ResolveAlias(Key('b')), std::nullopt) << "aliases of evicted records go, too";
  EXPECT_EQ(tier->ResolveAlias(Key('a')), Key('a'));
}

TEST_F(DiskTierTest, AnArtifactLargerThanTheCacheIsNotKept) {
  auto tier = Open();
  ASSERT_TRUE(tier->Put(Key('a'), "small", Key('1')).ok());
  ASSERT_TRUE(tier->Put(Key('b'), std::string(2 << 20, 'x'), Key('2')).ok());
  EXPECT_FALSE(tier->Get(Key('b')));
  EXPECT_TRUE(tier->Get(Key('a')));
}

TEST_F(DiskTierTest, AgeEvicts) {
  {
    auto tier = Open();
    ASSERT_TRUE(tier->Put(Key('a'), "old", Key('1')).ok());
  }
  Overwrite("m/" + Key('a'), [](std::string &v) { std::fill(v.begin() + 8, v.end(), '\0'); });
  options_.ttl = std::chrono::hours(1);
  auto tier = Open();
  EXPECT_FALSE(tier->Get(Key('a')));
  EXPECT_EQ(tier->counts().entries, 0u);
  EXPECT_GT(tier->counts().evicted_bytes_age, 0u);
}

TEST_F(DiskTierTest, ALockedDatabaseIsRefusedAndNotSetAside) {
  auto first = Open();
  DiskTier::Opened opened;
  auto second = DiskTier::Open(options_, &opened);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
  EXPECT_FALSE(opened.set_aside);
}

TEST_F(DiskTierTest, AFullDiskEndsTheTierAndKeepsWhatWasAcknowledged) {
  std::vector<char> kept;
  options_.max_bytes = 64 << 20; // with a log that meets the limit
  {
    auto tier = Open();
    FullDisk full(80'000);
    for (char c = 'a'; c <= 'z'; ++c)
      if (tier->Put(Key(c), std::string(10'000, c), Key(c)).ok())
        kept.push_back(c);
    EXPECT_GE(kept.size(), 5u);
    EXPECT_LE(kept.size(), 8u);
    EXPECT_FALSE(tier->health().ok());
    EXPECT_EQ(tier->counts().write_failures, 26 - kept.size());
    // Calls go on, and closing, too, as far as the process is concerned.
    tier->Sweep();
    (void)tier->Get(Key('a'));
    tier.reset();
    DiskTier::Opened opened;
    (void)DiskTier::Open(options_, &opened);
  }
  auto tier = Open();
  EXPECT_TRUE(tier->health().ok());
  for (char c : kept)
    EXPECT_EQ(tier->Get(Key(c)), std::string(10'000, c)) << c;
  EXPECT_TRUE(tier->Put(Key('1'), "again", Key('1')).ok());
}

TEST_F(DiskTierTest, ADeletedDirectoryEndsTheTier) {
  auto tier = Open();
  ASSERT_TRUE(tier->Put(Key('a'), "A", Key('1')).ok());
  std::filesystem::remove_all(directory_);
  EXPECT_EQ(tier->health().code(), absl::StatusCode::kNotFound);
  tier.reset();
  EXPECT_FALSE(std::filesystem::exists(directory_)) << "closing wrote something";
  EXPECT_EQ(Open()->counts().entries, 0u);
}

TEST_F(DiskTierTest, ADamagedLogIsSaid) {
  {
    auto tier = Open();
    for (char c = 'a'; c <= 'f'; ++c)
      ASSERT_TRUE(tier->Put(Key(c), std::string(10'000, c), Key(c)).ok());
  }
  EXPECT_TRUE(Open());
  EXPECT_FALSE(opened_.damaged_log) << "a clean log";
  ASSERT_TRUE(Open()->Put(Key('1'), std::string(10'000, '1'), Key('1')).ok());
  for (const auto &file : std::filesystem::directory_iterator(directory_ + "/artifacts-v1")) {
    if (file.path().extension() != ".log" || file.file_size() < 5000)
      continue;
    std::fstream log(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    log.seekp(5000);
    log << "damage";
  }
  auto tier = Open();
  EXPECT_TRUE(opened_.damaged_log);
  EXPECT_FALSE(opened_.set_aside);
  EXPECT_TRUE(tier->Get(Key('a'))) << "what lies before is kept";
  EXPECT_FALSE(tier->Get(Key('1')));
}

// The fault: one writer's binary with another's metadata.
TEST_F(DiskTierTest, Fault12RacingWritersShowWholeRecordsOnly) {
  options_.max_bytes = 64 << 20;
  auto tier = Open();
  auto artifact = [](int writer) {
    return std::string(20'000 + writer * 1000, char('a' + writer));
  };
  std::atomic<bool> stop = false;
  std::atomic<int> reads = 0;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 4; ++writer)
    threads.emplace_back([&, writer] {
      for (int i = 0; i < 100; ++i)
        EXPECT_TRUE(tier->Put(Key('a'), artifact(writer), Key('1')).ok());
    });
  threads.emplace_back([&] {
    while (!stop)
      if (auto read = tier->Get(Key('a'))) {
        EXPECT_EQ(*read, artifact((*read)[0] - 'a'));
        ++reads;
      }
  });
  for (int i = 0; i < 4; ++i)
    threads[i].join();
  while (reads < 100)
    std::this_thread::yield();
  stop = true;
  threads.back().join();
  EXPECT_EQ(tier->counts().corrupt_records, 0u);
  EXPECT_EQ(tier->counts().entries, 1u);
}

// The fault: a crash at a record that a newer version wrote.
TEST_F(DiskTierTest, Fault16ARecordOfANewerSchemaIsAMiss) {
  ASSERT_TRUE(Open()->Put(Key('a'), "artifact", Key('1')).ok());
  Overwrite("r/" + Key('a'), [](std::string &value) {
    v1::ArtifactRecord record;
    ASSERT_TRUE(record.ParseFromString(value));
    record.set_schema_version(record.schema_version() + 1);
    record.GetReflection()->MutableUnknownFields(&record)->AddLengthDelimited(99, "new");
    value = record.SerializeAsString();
  });
  // And a whole database of a newer version beside ours is none of our business.
  std::filesystem::create_directory(directory_ + "/artifacts-v2");
  std::ofstream(directory_ + "/artifacts-v2/CURRENT") << "of another time";
  auto tier = Open();
  EXPECT_FALSE(opened_.set_aside);
  EXPECT_EQ(tier->Get(Key('a')), std::nullopt);
  ASSERT_TRUE(tier->Put(Key('a'), "ours", Key('1')).ok());
  EXPECT_EQ(tier->Get(Key('a')), "ours");
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/artifacts-v2/CURRENT"));
}

TEST_F(DiskTierTest, TheCapHoldsForTheFilesGarbageIncluded) {
  options_.max_bytes = 4 << 20;
  auto tier = Open();
  std::string noise(50'000, '\0');
  for (size_t i = 0; i < noise.size(); ++i)
    noise[i] = static_cast<char>(i * 2654435761u >> 13);
  for (int i = 0; i < 400; ++i) { // 20 MB through a cache of 4
    std::string key = std::to_string(i);
    key.insert(0, 64 - key.size(), '0');
    ASSERT_TRUE(tier->Put(key, noise, key).ok());
  }
  // Read once a round: a compaction that runs meanwhile writes its new files before it deletes the
  // old ones, so two readings need not agree.
  uint64_t bytes = tier->disk_bytes();
  for (int tries = 0; tries < 1000 && bytes > options_.max_bytes; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    bytes = tier->disk_bytes();
  }
  EXPECT_LE(bytes, options_.max_bytes);
  EXPECT_GT(tier->counts().entries, 20u);
}

TEST_F(DiskTierTest, AScrubFindsWhatIsDamagedWithoutBeingAsked) {
  {
    auto tier = Open();
    for (char c = 'a'; c <= 'f'; ++c)
      ASSERT_TRUE(tier->Put(Key(c), std::string(3000, c), Key(c)).ok());
  }
  Overwrite("r/" + Key('b'), [](std::string &v) { v[1000] ^= 1; });
  Overwrite("r/" + Key('e'), [](std::string &v) { v.resize(10); });
  auto tier = Open();
  DiskTier::Scrubbed scrubbed = tier->Scrub();
  EXPECT_EQ(scrubbed.records, 6u);
  EXPECT_EQ(scrubbed.damaged, 2u);
  EXPECT_EQ(tier->counts().entries, 4u);
  EXPECT_EQ(tier->Scrub().damaged, 0u);
  EXPECT_EQ(tier->Get(Key('c')), std::string(3000, 'c'));
}

TEST_F(DiskTierTest, AScrubGoesOnBehindABlockThatCannotBeRead) {
  {
    auto tier = Open();
    for (char c = 'a'; c <= 'f'; ++c)
      ASSERT_TRUE(tier->Put(Key(c), std::string(30'000, c), Key(c)).ok());
    ASSERT_TRUE(tier->Compact().ok());
  }
  int flipped = 0;
  for (const auto &file : std::filesystem::directory_iterator(directory_ + "/artifacts-v1")) {
    if (file.path().extension() != ".blob")
      continue;
    std::fstream blob(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    blob.seekp(static_cast<std::streamoff>(file.file_size() / 2));
    blob << "damage";
    ++flipped;
  }
  ASSERT_EQ(flipped, 1) << "artifacts are expected in one blob file";
  auto tier = Open();
  DiskTier::Scrubbed scrubbed = tier->Scrub();
  EXPECT_EQ(scrubbed.records, 6u);
  EXPECT_EQ(scrubbed.damaged, 1u);
  EXPECT_EQ(tier->counts().entries, 5u);
}

TEST_F(DiskTierTest, ClearingLeavesNothing) {
  options_.max_bytes = 8 << 20;
  auto tier = Open();
  const uint64_t empty = tier->disk_bytes();
  for (char c = 'a'; c <= 'f'; ++c)
    ASSERT_TRUE(tier->Put(Key(c), std::string(300'000, c), Key(c)).ok());
  ASSERT_TRUE(tier->Clear().ok());
  EXPECT_EQ(tier->counts().entries, 0u);
  EXPECT_EQ(tier->Get(Key('a')), std::nullopt);
  EXPECT_EQ(tier->ResolveAlias(Key('a')), std::nullopt);
  EXPECT_EQ(tier->counts().corrupt_records, 0u);
  EXPECT_LT(tier->disk_bytes(), empty + 200'000);
  ASSERT_TRUE(tier->Put(Key('a'), "again", Key('a')).ok());
  EXPECT_EQ(tier->Get(Key('a')), "again");
}

TEST_F(DiskTierTest, BytesOnDiskAreThoseOfTheFiles) {
  auto tier = Open();
  const uint64_t empty = tier->disk_bytes();
  EXPECT_LT(empty, 200'000u);
  ASSERT_TRUE(tier->Put(Key('a'), std::string(500'000, 'x'), Key('a')).ok());
  EXPECT_GE(tier->disk_bytes(), empty + 490'000);
  EXPECT_LE(tier->disk_bytes(), empty + 600'000);
}

} // namespace
} // namespace pyasc::server
