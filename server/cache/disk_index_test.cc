#include "server/cache/disk_index.h"

#include <gtest/gtest.h>

namespace pyasc::server {
namespace {

using Presence = DiskIndex::Presence;

std::string Key(char digit) { return std::string(64, digit); }

TEST(DiskIndex, WhatIsPinnedIsNoVictim) {
  DiskIndex index;
  index.FinishLoading({});
  for (char c : {'a', 'b', 'c'})
    index.Insert(Key(c), 10, 100);
  index.Pin(Key('a'));
  auto victims = index.TakeVictims(20, 10, INT64_MIN);
  ASSERT_EQ(victims.size(), 2u);
  EXPECT_EQ(victims[0].key, Key('b'));
  EXPECT_EQ(victims[1].key, Key('c'));
  EXPECT_EQ(index.Look(Key('a'), INT64_MIN), Presence::kHere);
  index.Unpin(Key('a'));
  EXPECT_EQ(index.TakeVictims(5, 0, INT64_MIN).size(), 1u);
  EXPECT_EQ(index.totals().bytes, 0u);
}

TEST(DiskIndex, WhileLoadingNothingIsSaidToBeGone) {
  DiskIndex index;
  EXPECT_EQ(index.Look(Key('a'), INT64_MIN), Presence::kUnknown);
  index.Insert(Key('b'), 5, 200);
  index.Remove(Key('c'));
  index.FinishLoading({{Key('a'), 1, 100}, {Key('b'), 2, 100}, {Key('c'), 4, 100}});
  EXPECT_EQ(index.Look(Key('a'), INT64_MIN), Presence::kHere);
  EXPECT_EQ(index.Look(Key('c'), INT64_MIN), Presence::kGone) << "deleted since";
  EXPECT_EQ(index.totals().bytes, 6u) << "rewritten since";
  EXPECT_EQ(index.Look(Key('a'), 150), Presence::kAged);
}

TEST(DiskIndex, TheOrderOfUseIsRebuiltAfterALoad) {
  DiskIndex index;
  index.FinishLoading({{Key('a'), 1, 300}, {Key('b'), 1, 100}, {Key('c'), 1, 200}});
  auto victims = index.TakeVictims(2, 1, INT64_MIN);
  ASSERT_EQ(victims.size(), 2u);
  EXPECT_EQ(victims[0].key, Key('b'));
  EXPECT_EQ(victims[1].key, Key('c'));
}

TEST(DiskIndex, AUseIsStoredAgainOnlyWhenTheStoredOneIsOld) {
  DiskIndex index;
  index.FinishLoading({{Key('a'), 7, 100}});
  EXPECT_EQ(index.Touch(Key('a'), 150, 60), std::nullopt);
  EXPECT_EQ(index.Touch(Key('a'), 160, 60), 7u);
  EXPECT_EQ(index.Touch(Key('a'), 170, 60), std::nullopt);
  EXPECT_EQ(index.Touch(Key('b'), 170, 60), std::nullopt);
}

} // namespace
} // namespace pyasc::server
