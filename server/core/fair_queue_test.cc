#include "server/core/fair_queue.h"

#include <gtest/gtest.h>

namespace pyasc::server {
namespace {

// Serves `count` items that take a second each; how many were whose.
std::map<std::string, int> Serve(FairQueue<int> &queue, int count) {
  std::map<std::string, int> served;
  for (int i = 0; i < count; ++i)
    ++served[queue.Pop(1).second];
  return served;
}

TEST(FairQueue, TheOneWhoSendsMuchWaitsForItselfAlone) {
  FairQueue<int> queue(2000);
  for (int i = 0; i < 1000; ++i)
    queue.Push({"flood"}, i);
  Serve(queue, 100);
  for (int i = 0; i < 3; ++i)
    queue.Push({"quiet"}, i);
  EXPECT_EQ(Serve(queue, 6)["quiet"], 3);
}

TEST(FairQueue, SharesFollowTheWeights) {
  FairQueue<int> queue(2000);
  for (int i = 0; i < 500; ++i) {
    queue.Push({"a", 3}, i);
    queue.Push({"b", 1}, i);
  }
  auto served = Serve(queue, 400);
  EXPECT_NEAR(served["a"], 300, 2);
  EXPECT_NEAR(served["b"], 100, 2);
}

TEST(FairQueue, LongWorkCostsMore) {
  FairQueue<int> queue(2000);
  for (int i = 0; i < 500; ++i) {
    queue.Push({"long"}, i);
    queue.Push({"short"}, i);
  }
  std::map<std::string, int> served;
  for (int i = 0; i < 220; ++i) {
    auto [item, tenant] = queue.Pop(1);
    queue.Charge(tenant, tenant == "long" ? 9 : 0); // ten seconds instead of one
    ++served[tenant];
  }
  EXPECT_NEAR(served["long"], 20, 2);
}

TEST(FairQueue, APauseEarnsNoCredit) {
  FairQueue<int> queue(2000);
  queue.Push({"back"}, 0);
  Serve(queue, 1);
  for (int i = 0; i < 500; ++i)
    queue.Push({"steady"}, i);
  Serve(queue, 300);
  for (int i = 0; i < 100; ++i)
    queue.Push({"back"}, i);
  EXPECT_NEAR(Serve(queue, 100)["back"], 50, 2);
}

TEST(FairQueue, PrioritiesOrderATenantsOwnWorkOnly) {
  FairQueue<int> queue(100);
  queue.Push({"a", 1, 0}, 1);
  queue.Push({"a", 1, -1}, 2);
  queue.Push({"a", 1, 5}, 3);
  queue.Push({"a", 1, 0}, 4);
  queue.Push({"b", 1, -1}, 5);
  std::vector<int> of_a;
  int b_came = 0;
  for (int i = 1; i <= 5; ++i) {
    auto [item, tenant] = queue.Pop(1);
    if (tenant == "a")
      of_a.push_back(item);
    else
      b_came = i;
  }
  EXPECT_EQ(of_a, (std::vector<int>{3, 1, 4, 2}));
  EXPECT_LE(b_came, 2);
}

TEST(FairQueue, BoundsHoldForAllAndForEach) {
  FairQueue<int> queue(3);
  const Share greedy{"greedy", 1, 0, /*max_queued=*/2};
  queue.Push(greedy, 1);
  queue.Push(greedy, 2);
  EXPECT_FALSE(queue.HasRoom(greedy));
  EXPECT_TRUE(queue.HasRoom({"other"}));
  queue.Push({"other"}, 3);
  EXPECT_FALSE(queue.HasRoom({"third"}));
  EXPECT_EQ(queue.TakeAll().size(), 3u);
  EXPECT_TRUE(queue.empty());
}

} // namespace
} // namespace pyasc::server
