#include "profiler/sim/memory_system.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace pyasc::sim {
namespace {

const machine::Soc &Soc() { return *machine::FindSoc("ascend910b1"); }

Transfer Move(int64_t at, int64_t length, double now, bool write = false, int core = 0) {
  Transfer t;
  t.access = {.space = sim_isa::Space::kGm, .write = write, .length = length};
  t.start = static_cast<uint64_t>(at);
  t.core = core;
  t.bytes_per_cycle = 128;
  t.request_cycles = 3.4;
  t.hbm_bytes_per_cycle = 65;
  t.issue = t.arrival = now;
  return t;
}

double Finish(MemorySystem &memory, Transfer t, Traffic &traffic) {
  while (!memory.Advance(t, traffic)) {
  }
  return t.arrival;
}

TEST(L2CacheTest, TheLeastRecentlyUsedLineGoesAndComesBackDirty) {
  L2Cache cache(3);
  EXPECT_FALSE(cache.Touch(10, true, true, 0).hit);
  EXPECT_FALSE(cache.Touch(11, false, true, 0).hit);
  EXPECT_FALSE(cache.Touch(12, false, true, 0).hit);
  EXPECT_TRUE(cache.Touch(11, false, true, 1).shared);
  EXPECT_FALSE(cache.Touch(11, false, true, 1).shared);
  const L2Cache::Found found = cache.Touch(13, false, true, 0);
  EXPECT_FALSE(found.hit);
  EXPECT_EQ(found.written_back, 10);
  EXPECT_EQ(cache.Touch(10, false, true, 0).written_back, -1) << "12 was clean";
  EXPECT_TRUE(cache.Touch(11, false, true, 0).hit);
  EXPECT_FALSE(cache.Touch(99, false, false, 0).hit);
  EXPECT_FALSE(cache.Touch(99, false, false, 0).hit) << "a read past L2 leaves nothing there";
  cache.Clear();
  EXPECT_FALSE(cache.Touch(11, false, true, 0).hit);
}

TEST(MemorySystemTest, LatencyIsPaidOnceAndThenTheRate) {
  MemorySystem memory(Soc());
  Traffic traffic;
  const double small = Finish(memory, Move(0, 512, 0), traffic);
  memory.EndPhase(traffic);
  memory.MakeCold();
  const double large = Finish(memory, Move(0, 64 * 1024, 0), traffic);
  EXPECT_NEAR(small, Soc().ns_to_cycles(Soc().gm.hbm_latency_ns), 20);
  EXPECT_NEAR(large - small, 63 * 1024 / 65.0, 64 * 1024 / 65.0 * 0.1);
}

TEST(MemorySystemTest, WhatIsInL2ComesFaster) {
  MemorySystem memory(Soc());
  Traffic traffic;
  const double cold = Finish(memory, Move(0, 32768, 0), traffic);
  const double hot = Finish(memory, Move(0, 32768, cold), traffic) - cold;
  EXPECT_LT(hot, 0.6 * cold);
  EXPECT_EQ(traffic.l2_hits, 64);
  EXPECT_EQ(traffic.l2_misses, 64);
}

TEST(MemorySystemTest, AnUnalignedRowCostsTheLinesThatItTouches) {
  MemorySystem memory(Soc());
  Traffic traffic;
  Finish(memory, Move(500, 24, 0), traffic);
  EXPECT_EQ(traffic.l2_misses, 2);
  EXPECT_EQ(traffic.bytes[static_cast<int>(Path::kHbmRead)], 1024);
}

// All at the same time, in order of time, as the engine does; when the last one ends.
double FinishAll(MemorySystem &memory, std::vector<Transfer> transfers, Traffic &traffic) {
  double end = 0;
  while (!transfers.empty()) {
    auto next = std::min_element(transfers.begin(), transfers.end(),
                                 [](auto &a, auto &b) { return a.issue < b.issue; });
    if (memory.Advance(*next, traffic)) {
      end = std::max(end, next->arrival);
      transfers.erase(next);
    }
  }
  return end;
}

double HbmBytesPerCycle() { return Soc().gm.hbm_write_gb_per_s / Soc().clock_ghz; }

// `bytes` from `at` on, an equal share for each of 48 cores.
std::vector<Transfer> Shares(int64_t at, int64_t bytes, bool write) {
  constexpr int kCores = 48;
  std::vector<Transfer> transfers;
  const int64_t each = bytes / kCores / 512 * 512;
  for (int c = 0; c < kCores; ++c)
    transfers.push_back(Move(at + c * each, each, 0, write, c));
  return transfers;
}

TEST(MemorySystemTest, AFillWritesNoFasterThanHbmBeyondWhatL2Holds) {
  const auto l2 = static_cast<double>(Soc().l2_bytes);
  // What is on its way between the two.
  const auto between = static_cast<double>(2 * Soc().gm.write_queue_bytes) + 65536;
  for (const int64_t size : {1, 16, 128, 192, 200, 256, 512, 1024, 4096}) {
    MemorySystem memory(Soc());
    Traffic traffic;
    const double end = FinishAll(memory, Shares(0, size << 20, true), traffic);
    memory.EndPhase(traffic);
    const double beyond = static_cast<double>(size << 20) - l2, peak = HbmBytesPerCycle();
    EXPECT_GE(end, (beyond - between) / peak) << size << " MB";
    EXPECT_LE(static_cast<double>(traffic.bytes[static_cast<int>(Path::kHbmWrite)]),
              end * peak + between)
        << size << " MB";
    if (beyond > l2) { // and a long one comes near it
      EXPECT_LE(end, beyond / peak * 1.05 + l2 / peak) << size << " MB";
    }
  }
}

TEST(MemorySystemTest, ManyShortFillsAreNoFasterThanALongOne) {
  MemorySystem memory(Soc());
  Traffic traffic;
  double end = 0;
  constexpr int kFills = 128;
  constexpr int64_t kEach = 4 << 20;
  for (int n = 0; n < kFills; ++n) {
    end += FinishAll(memory, Shares(n * kEach, kEach, true), traffic);
    memory.EndPhase(traffic);
  }
  const double beyond = static_cast<double>(kFills * kEach - Soc().l2_bytes);
  EXPECT_GE(end, 0.95 * beyond / HbmBytesPerCycle());
}

TEST(MemorySystemTest, ACopyMovesNoMoreThanHbmDoes) {
  MemorySystem memory(Soc());
  Traffic traffic;
  constexpr int64_t kBytes = int64_t{1} << 30;
  std::vector<Transfer> transfers = Shares(0, kBytes, false);
  for (const Transfer &write : Shares(kBytes, kBytes, true))
    transfers.push_back(write);
  const double end = FinishAll(memory, transfers, traffic);
  memory.EndPhase(traffic);
  const int64_t moved = traffic.bytes[static_cast<int>(Path::kHbmRead)] +
                        traffic.bytes[static_cast<int>(Path::kHbmWrite)];
  EXPECT_LE(static_cast<double>(moved), end * HbmBytesPerCycle());
}

TEST(MemorySystemTest, ManyCoresShareHbm) {
  auto bytes_per_cycle = [](int cores) {
    MemorySystem memory(Soc());
    Traffic traffic;
    std::vector<Transfer> transfers;
    constexpr int64_t kEach = 4 << 20;
    for (int c = 0; c < cores; ++c)
      transfers.push_back(Move(c * kEach, kEach, 0, false, c));
    return static_cast<double>(cores * kEach) / FinishAll(memory, std::move(transfers), traffic);
  };
  const double hbm = Soc().gm.hbm_read_gb_per_s / Soc().clock_ghz;
  EXPECT_NEAR(bytes_per_cycle(1), 65, 5);
  EXPECT_NEAR(bytes_per_cycle(4), 4 * 65, 4 * 65 * 0.1);
  EXPECT_LT(bytes_per_cycle(48), hbm);
  EXPECT_GT(bytes_per_cycle(48), 0.9 * hbm);
}

TEST(MemorySystemTest, DirtyLinesGoBackWhenL2IsFull) {
  MemorySystem memory(Soc());
  Traffic traffic;
  const int64_t l2 = Soc().l2_bytes;
  double now = Finish(memory, Move(0, l2, 0, true), traffic);
  EXPECT_EQ(traffic.bytes[static_cast<int>(Path::kHbmWrite)], 0);
  now = Finish(memory, Move(l2, 1 << 20, now, true), traffic);
  Finish(memory, Move(l2, 512, now + 1e6, true), traffic); // long after
  memory.EndPhase(traffic);
  EXPECT_EQ(traffic.bytes[static_cast<int>(Path::kHbmWrite)], 1 << 20);
  EXPECT_EQ(traffic.bytes[static_cast<int>(Path::kHbmRead)], 0) << "writes read nothing";
}

} // namespace
} // namespace pyasc::sim
