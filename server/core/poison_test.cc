#include "server/core/poison.h"

#include <gtest/gtest.h>

namespace pyasc::server {
namespace {

using std::chrono::seconds;

TEST(PoisonList, TheSecondDeathIsTheLastForAWhile) {
  PoisonList list(seconds(600));
  const auto now = PoisonList::Clock::now();
  list.CountDeath("a", "crashed", now);
  EXPECT_EQ(list.Refuses("a", now), std::nullopt);
  list.CountDeath("a", "ate memory", now + seconds(5));
  EXPECT_EQ(list.Refuses("a", now + seconds(6)), "ate memory");
  EXPECT_EQ(list.Refuses("b", now), std::nullopt);
  EXPECT_EQ(list.Refuses("a", now + seconds(605)), std::nullopt) << "forgotten";
  list.CountDeath("a", "crashed", now + seconds(700));
  EXPECT_EQ(list.Refuses("a", now + seconds(701)), std::nullopt) << "begins anew";
}

TEST(PoisonList, ItsMemoryIsBounded) {
  PoisonList list(seconds(600));
  for (int i = 0; i < 5000; ++i)
    for (int death = 0; death < 2; ++death)
      list.CountDeath(std::to_string(i), "crashed");
  EXPECT_EQ(list.Refuses("0"), std::nullopt);
  EXPECT_TRUE(list.Refuses("4999"));
}

TEST(PoisonList, CanBeSwitchedOff) {
  PoisonList list(seconds(0));
  for (int death = 0; death < 9; ++death)
    list.CountDeath("a", "crashed");
  EXPECT_EQ(list.Refuses("a"), std::nullopt);
}

} // namespace
} // namespace pyasc::server
