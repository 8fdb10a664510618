#include "server/cache/disk_tier.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <filesystem>

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
    bool aside;
    auto tier = DiskTier::Open(options_, &aside);
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
  const std::string bulk(20'000, 'x');
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
  bool aside;
  auto second = DiskTier::Open(options_, &aside);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
  EXPECT_FALSE(aside);
}

} // namespace
} // namespace pyasc::server
