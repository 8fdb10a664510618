#include "profiler/sim/event_queue.h"

#include <random>
#include <set>

#include "gtest/gtest.h"

namespace pyasc::sim {
namespace {

TEST(EventQueueTest, EventsComeInOrderOfTimeKindAndAge) {
  EventQueue queue;
  std::mt19937 random(1);
  auto before = [](const Event &a, const Event &b) { return a.Before(b); };
  std::set<Event, decltype(before)> expected(before);
  uint32_t age = 0xffffff00; // wraps
  for (int n = 0; n < 20000; ++n) {
    // Long falls and rises of the number of events.
    if (random() % 100 < (n / 2000 % 2 ? 45u : 55u) || queue.empty()) {
      const Event event = {static_cast<double>(n / 100 + random() % 50),
                           static_cast<uint32_t>(random() % 4) << 24, age++};
      queue.Push(event);
      expected.insert(event);
    } else {
      const Event event = queue.Take();
      EXPECT_EQ(event.age, expected.begin()->age);
      expected.erase(expected.begin());
    }
    ASSERT_EQ(queue.empty(), expected.empty());
  }
  for (; !queue.empty(); expected.erase(expected.begin()))
    ASSERT_EQ(queue.Take().age, expected.begin()->age);
  EXPECT_TRUE(expected.empty());
}

} // namespace
} // namespace pyasc::sim
