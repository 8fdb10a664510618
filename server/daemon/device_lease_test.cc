#include "server/daemon/device_lease.h"

#include <gtest/gtest.h>

#include "server/process/lease_page.h"

namespace pyasc::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(DeviceLease, TokensRiseAndOnlyTheNewestCounts) {
  DeviceLease lease(seconds(10));
  DeviceLease::Clock::time_point now{};
  EXPECT_FALSE(lease.info(now).held());
  const uint64_t first = lease.Grant(true, now);
  EXPECT_TRUE(lease.info(now).held());
  EXPECT_TRUE(lease.Lose(first));
  EXPECT_FALSE(lease.info(now).held());
  const uint64_t second = lease.Grant(true, now);
  EXPECT_GT(second, first);
  EXPECT_FALSE(lease.Renew(first, now));
  EXPECT_FALSE(lease.Release(first));
  EXPECT_FALSE(lease.Lose(first));
  EXPECT_TRUE(lease.info(now).held());
  EXPECT_EQ(lease.info(now).token(), second);
  EXPECT_EQ(lease.info(now).lost(), 1u);
  EXPECT_TRUE(lease.Release(second));
  EXPECT_FALSE(lease.Release(second));
  EXPECT_EQ(lease.info(now).lost(), 1u);
}

TEST(DeviceLease, ASignOfLifeRenewsIt) {
  DeviceLease lease(seconds(10));
  DeviceLease::Clock::time_point now{};
  const uint64_t token = lease.Grant(true, now);
  now += milliseconds(9'500);
  EXPECT_EQ(lease.info(now).expires_ms(), 500u);
  EXPECT_TRUE(lease.Renew(token, now));
  EXPECT_EQ(lease.info(now).expires_ms(), 10'000u);
  EXPECT_EQ(lease.info(now + seconds(60)).expires_ms(), 0u);
}

TEST(DeviceLease, WhoeverGetsItTakesItFromWhoHadIt) {
  DeviceLease lease(seconds(10));
  const uint64_t first = lease.Grant(true, {});
  const uint64_t second = lease.Grant(true, {});
  EXPECT_FALSE(lease.Renew(first, {}));
  EXPECT_TRUE(lease.Renew(second, {}));
  EXPECT_EQ(lease.info({}).lost(), 1u);
}

TEST(DeviceLease, ManyShareItAndEachHasItsOwnEnd) {
  DeviceLease lease(seconds(10));
  DeviceLease::Clock::time_point now{};
  const uint64_t first = lease.Grant(false, now);
  const uint64_t second = lease.Grant(false, now + seconds(5));
  EXPECT_GT(second, first);
  EXPECT_EQ(lease.info(now).holders(), 2u);
  EXPECT_EQ(lease.info(now + seconds(6)).expires_ms(), 4'000u);
  EXPECT_TRUE(lease.Renew(first, now + seconds(8)));
  EXPECT_EQ(lease.info(now + seconds(8)).expires_ms(), 7'000u);
  EXPECT_TRUE(lease.Lose(second));
  EXPECT_EQ(lease.info(now).holders(), 1u);
  EXPECT_FALSE(lease.Renew(second, now));
  EXPECT_TRUE(lease.Release(first));
  EXPECT_FALSE(lease.info(now).held());
  EXPECT_EQ(lease.info(now).lost(), 1u);
}

TEST(DeviceLease, AloneAndSharedExcludeEachOther) {
  DeviceLease lease(seconds(10));
  const uint64_t shared = lease.Grant(false, {});
  const uint64_t alone = lease.Grant(true, {});
  EXPECT_FALSE(lease.Renew(shared, {}));
  const uint64_t next = lease.Grant(false, {});
  EXPECT_FALSE(lease.Renew(alone, {}));
  EXPECT_TRUE(lease.Renew(next, {}));
  EXPECT_EQ(lease.info({}).lost(), 2u);
}

TEST(LeasePage, TheWorkerSeesThatItsDeviceIsGone) {
  LeasePage ours = *LeasePage::Create();
  LeasePage theirs = *LeasePage::Adopt(UniqueFd(::dup(ours.memory().fd())));
  EXPECT_FALSE(theirs.revoked());
  ours.Revoke();
  EXPECT_TRUE(theirs.revoked());
}

TEST(LeasePage, WhatIsNoPageIsRefused) {
  EXPECT_FALSE(LeasePage::Adopt(UniqueFd()).ok());
  SharedMemory small = *SharedMemory::Create(8);
  EXPECT_FALSE(LeasePage::Adopt(UniqueFd(::dup(small.fd()))).ok());
}

} // namespace
} // namespace pyasc::server
