// Whole programs on the simulated device: what flags order, what they fail to order, and time.
#include <cmath>
#include <numeric>

#include "profiler/sim/sim_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using Mode = device::LaunchOptions::Mode;

std::string Message(const absl::Status &status) { return std::string(status.message()); }

std::vector<float> Ramp(int64_t n, float start) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), start);
  return values;
}

// Which of the flags of AddProgram are left out.
struct Leave {
  bool load_to_add = false;
  bool add_to_load = false;
  bool add_to_store = false;
  bool store_to_add = false;
};

constexpr int64_t kTile = 1024;

// c = a + b over `tiles` tiles a block, two slots in UB, flags as a compiler would place them.
v1::SimFunction AddProgram(int64_t tiles, Leave leave = {}) {
  Assembler s("add", /*cube=*/false, /*num_arguments=*/3);
  const int64_t bytes = kTile * 4;
  // Slot p of a, b and c lie at p * 3 * bytes and one and two tiles further.
  const int block = s.Register(), offset = s.Register(), count = s.Const(tiles);
  s.Emit(ScalarOp::kBlockIdx, block);
  s.Emit(ScalarOp::kMulI64, offset, block, 0, tiles * bytes);
  std::vector<int> gm;
  for (int arg = 0; arg < 3; ++arg) {
    gm.push_back(s.Register());
    s.Emit(ScalarOp::kAdd64, gm.back(), arg, offset);
  }
  s.Line(5);
  for (int slot = 0; slot < 2; ++slot) {
    if (!leave.add_to_load)
      s.SetFlag(Pipe::kV, Pipe::kMte2, slot);
    if (!leave.store_to_add)
      s.SetFlag(Pipe::kMte3, Pipe::kV, slot);
  }
  s.Loop(count, [&](int i) {
    const int one = s.Const(1), slot = s.Register();
    s.Emit(ScalarOp::kAnd, slot, i, one);
    const Value id = Value::Reg(slot);
    auto at = [&](int operand) {
      return Value::Reg(slot, static_cast<int32_t>(3 * bytes), operand * bytes);
    };
    s.Line(10);
    if (!leave.add_to_load)
      s.WaitFlag(Pipe::kV, Pipe::kMte2, id);
    for (int operand = 0; operand < 2; ++operand)
      s.Issue(PipeOp::kLoad, Pipe::kMte2, {},
              {at(operand), Value::Reg(gm[operand]), 1, bytes, bytes, bytes});
    if (!leave.load_to_add) {
      s.SetFlag(Pipe::kMte2, Pipe::kV, id);
      s.WaitFlag(Pipe::kMte2, Pipe::kV, id);
    }
    s.Line(11);
    if (!leave.store_to_add)
      s.WaitFlag(Pipe::kMte3, Pipe::kV, id);
    s.Issue(PipeOp::kVBinary, Pipe::kV, {.sub = static_cast<int>(Binary::kAdd)},
            {at(2), at(0), at(1), kTile});
    if (!leave.add_to_load)
      s.SetFlag(Pipe::kV, Pipe::kMte2, id);
    if (!leave.add_to_store) {
      s.SetFlag(Pipe::kV, Pipe::kMte3, id);
      s.WaitFlag(Pipe::kV, Pipe::kMte3, id);
    }
    s.Line(12);
    s.Issue(PipeOp::kStore, Pipe::kMte3, {}, {Value::Reg(gm[2]), at(2), 1, bytes, bytes, bytes});
    if (!leave.store_to_add)
      s.SetFlag(Pipe::kMte3, Pipe::kV, id);
    for (int reg : gm)
      s.Emit(ScalarOp::kAddI64, reg, reg, 0, bytes);
  });
  s.Line(5);
  for (int slot = 0; slot < 2; ++slot) {
    if (!leave.add_to_load)
      s.WaitFlag(Pipe::kV, Pipe::kMte2, slot);
    if (!leave.store_to_add)
      s.WaitFlag(Pipe::kMte3, Pipe::kV, slot);
  }
  s.Barrier(Pipe::kAll);
  return s.Finish();
}

struct Add {
  explicit Add(int64_t tiles, int64_t blocks, Leave leave = {}) {
    const int64_t n = tiles * blocks * kTile;
    artifact = MakeArtifact(AddProgram(tiles, leave), {4 * n, 4 * n, 4 * n}, blocks);
    buffers = {Bytes(Ramp(n, 1)), Bytes(Ramp(n, 0.5)), Bytes(std::vector<float>(n, -1))};
  }
  bool Right() const {
    const auto c = Values<float>(buffers[2]);
    for (size_t i = 0; i < c.size(); ++i)
      if (c[i] != static_cast<float>(i) + 1 + (static_cast<float>(i) + 0.5f))
        return false;
    return true;
  }
  v1::Artifact artifact;
  std::vector<std::vector<std::byte>> buffers;
};

TEST(EngineTest, ADoubleBufferedAddIsRightOnOneBlockAndOnMoreBlocksThanCores) {
  for (int64_t blocks : {1, 7, 40, 95}) {
    Add add(5, blocks);
    auto outcome = RunProgram(add.artifact, add.buffers);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_TRUE(add.Right()) << blocks;
    EXPECT_EQ(outcome->phases[0].blocks(), blocks);
    EXPECT_GT(outcome->kernel_us, 0);
  }
}

TEST(EngineTest, FunctionalModeGivesDataAndNoTimes) {
  Add add(5, 3);
  auto outcome = RunProgram(add.artifact, add.buffers, {.mode = Mode::kFunctional});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(add.Right());
  EXPECT_EQ(outcome->kernel_us, 0);
  EXPECT_FALSE(outcome->phases[0].has_cycles());
}

TEST(EngineTest, TimingOnlyGivesTheSameCyclesAndNoData) {
  Add full(5, 3), timing(5, 3);
  auto with_data = RunProgram(full.artifact, full.buffers);
  auto without = RunProgram(timing.artifact, timing.buffers, {.mode = Mode::kTimingOnly});
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(with_data->phases[0].cycles(), without->phases[0].cycles());
  EXPECT_EQ(Values<float>(timing.buffers[2])[0], -1);
}

TEST(EngineTest, ARunIsTheSameEveryTime) {
  int64_t cycles[2];
  for (int64_t &c : cycles) {
    Add add(9, 40);
    c = RunProgram(add.artifact, add.buffers)->phases[0].cycles();
  }
  EXPECT_EQ(cycles[0], cycles[1]);
}

TEST(EngineTest, TheNumberOfHostThreadsChangesNeitherCyclesNorData) {
  Add one(9, 40), two(9, 40);
  auto alone = RunProgram(one.artifact, one.buffers);
  auto together = RunProgram(two.artifact, two.buffers, {.threads = 3});
  ASSERT_TRUE(together.ok()) << together.status();
  EXPECT_EQ(alone->phases[0].cycles(), together->phases[0].cycles());
  EXPECT_EQ(alone->kernel_us, together->kernel_us);
  EXPECT_TRUE(two.Right());
}

TEST(EngineTest, AProgramThatDoesNotEndIsStopped) {
  Assembler s("forever", false, 1);
  s.Line(41);
  const int again = s.Here();
  s.Patch(s.Emit(ScalarOp::kJump), again);
  std::vector<std::vector<std::byte>> buffers = {std::vector<std::byte>(64)};
  auto outcome =
      RunProgram(MakeArtifact(s.Finish(), {64}, 1), buffers, {.max_instructions = 100000});
  EXPECT_THAT(Message(outcome.status()), HasSubstr("line 41"));
  EXPECT_THAT(Message(outcome.status()), HasSubstr("has not ended after 100000 instructions"));
}

TEST(EngineTest, EveryMissingFlagIsFound) {
  // Without a flag either two accesses meet, or the pipe that no longer waits comes round and
  // raises its own flag a second time.
  struct Case {
    Leave leave;
    const char *race;
    const char *raised;
    // Or two loads of one place meet, where somebody reads it.
    const char *open = "none";
  };
  for (const Case &c :
       {Case{{.load_to_add = true}, "a flag from MTE2 to V is missing", "none"},
        Case{{.add_to_load = true}, "a flag from V to MTE2 is missing", "flag MTE2->V id 0 is"},
        Case{{.add_to_store = true}, "a flag from V to MTE3 is missing", "flag MTE3->V id 0 is"},
        Case{{.store_to_add = true}, "a flag from MTE3 to V is missing", "flag V->MTE3 id 0 is"}})
    for (Mode mode : {Mode::kFull, Mode::kFunctional}) {
      Add add(5, 1, c.leave);
      auto outcome = RunProgram(add.artifact, add.buffers, {.mode = mode});
      ASSERT_FALSE(outcome.ok()) << c.race;
      EXPECT_EQ(outcome.status().code(), absl::StatusCode::kInternal);
      EXPECT_THAT(Message(outcome.status()),
                  AnyOf(HasSubstr(c.race), HasSubstr(c.raised), HasSubstr(c.open)));
      EXPECT_THAT(Message(outcome.status()), HasSubstr("line 1"));
    }
}

TEST(EngineTest, AMissingFlagGivesWrongDataWhereNothingChecks) {
  Add add(5, 1, {.load_to_add = true});
  SimOptions unchecked;
  unchecked.check_races = false;
  auto outcome = RunProgram(add.artifact, add.buffers, {}, unchecked);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_FALSE(add.Right());
  EXPECT_TRUE(std::isnan(Values<float>(add.buffers[2])[0])) << "what was not loaded yet is NaN";
}

TEST(EngineTest, LoadsOverlapWithAdds) {
  // One tile more costs less than a tile alone, since two slots let the pipes overlap.
  auto time = [](int64_t tiles) {
    Add add(tiles, 1);
    return RunProgram(add.artifact, add.buffers)->phases[0].time_us();
  };
  const double few = time(4), many = time(36);
  EXPECT_LT((many - few) / 32, 0.6 * time(1));
}

TEST(EngineTest, AProfileNamesPipesPathsAndLines) {
  Add add(4, 40);
  auto outcome = RunProgram(add.artifact, add.buffers, {.profile = true});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const v1::PhaseProfile &phase = outcome->phases[0];
  EXPECT_EQ(phase.core_time_us_size(), 40);
  std::map<std::string, v1::PipeTime> pipes;
  for (const auto &pipe : phase.pipes())
    pipes[pipe.pipe()] = pipe;
  EXPECT_EQ(pipes["vector"].instructions(), 4 * 40);
  EXPECT_EQ(pipes["mte2"].instructions(), 8 * 40);
  EXPECT_GT(pipes["mte2"].busy_us(), pipes["vector"].busy_us());
  EXPECT_GT(pipes["scalar"].instructions(), 0);
  std::map<std::string, int64_t> bytes;
  for (const auto &path : phase.paths())
    bytes[path.path()] = path.bytes();
  const int64_t n = 4 * 40 * kTile * 4;
  EXPECT_EQ(bytes["gm_to_ub"], 2 * n);
  EXPECT_EQ(bytes["ub_to_gm"], n);
  EXPECT_EQ(bytes["hbm_read"], 2 * n);
  ASSERT_FALSE(outcome->lines.empty());
  EXPECT_EQ(outcome->lines[0].range().line(), 10u) << "loading takes longest";
  EXPECT_EQ(outcome->lines[0].pipe(), "mte2");
}

TEST(EngineTest, AHotRunReadsFromL2) {
  auto driver = MakeSimDriver();
  auto device = std::move(*driver->Open(0));
  Add add(4, 40);
  auto executable = std::move(*device->Load(add.artifact));
  std::vector<std::unique_ptr<device::Buffer>> buffers;
  std::vector<device::LaunchArgument> arguments;
  for (auto &b : add.buffers) {
    buffers.push_back(std::move(*device->Allocate(static_cast<int64_t>(b.size()))));
    arguments.push_back({.buffer = buffers.back().get()});
  }
  auto run = [&](bool hot) {
    auto outcome = device->Launch(*executable, arguments, {}, {.profile = true, .hot = hot});
    return std::pair(outcome->phases[0].l2_hit_ratio(), outcome->phases[0].cycles());
  };
  const auto cold = run(false), hot = run(true), cold_again = run(false);
  EXPECT_EQ(cold.first, 0);
  EXPECT_EQ(hot.first, 1);
  EXPECT_LT(hot.second, cold.second);
  EXPECT_EQ(cold, cold_again);
}

// A program of one instruction sequence on a vector core with one argument of `bytes`.
absl::Status RunSnippet(const std::function<void(Assembler &)> &body, int64_t bytes = 4096,
                        bool cube = false) {
  Assembler s("snippet", cube, 1);
  s.Line(33);
  body(s);
  std::vector<std::vector<std::byte>> buffers = {std::vector<std::byte>(bytes)};
  return RunProgram(MakeArtifact(s.Finish(), {bytes}, 1), buffers).status();
}

TEST(EngineTest, DeadlocksNamePipesAndLine) {
  absl::Status status = RunSnippet([](Assembler &s) {
    s.WaitFlag(Pipe::kMte2, Pipe::kV, 3);
    s.Line(34);
    s.WaitFlag(Pipe::kV, Pipe::kMte2, 2);
    s.SetFlag(Pipe::kMte2, Pipe::kV, 3);
    s.SetFlag(Pipe::kV, Pipe::kMte2, 2);
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Message(status), HasSubstr("deadlock"));
  EXPECT_THAT(Message(status), HasSubstr("pipe V waits for flag MTE2->V id 3 (line 33)"));
  EXPECT_THAT(Message(status), HasSubstr("pipe MTE2 waits for flag V->MTE2 id 2 (line 34)"));
}

TEST(EngineTest, TheScalarUnitCanDeadlockToo) {
  absl::Status status = RunSnippet([](Assembler &s) { s.WaitFlag(Pipe::kV, Pipe::kS, 0); });
  EXPECT_THAT(Message(status), HasSubstr("pipe S waits for flag V->S id 0 (line 33)"));
}

TEST(EngineTest, UnpairedFlagsAreErrors) {
  EXPECT_THAT(Message(RunSnippet([](Assembler &s) { s.SetFlag(Pipe::kMte2, Pipe::kV, 1); })),
              HasSubstr("line 33: flag MTE2->V id 1 is still raised"));
  EXPECT_THAT(Message(RunSnippet([](Assembler &s) {
                s.SetFlag(Pipe::kMte2, Pipe::kV, 1);
                s.SetFlag(Pipe::kMte2, Pipe::kV, 1);
              })),
              HasSubstr("raised again"));
  EXPECT_THAT(Message(RunSnippet([](Assembler &s) { s.SetFlag(Pipe::kMte2, Pipe::kV, 8); })),
              HasSubstr("there is no event id 8"));
}

TEST(EngineTest, AccessesOutOfBoundsNameTheLine) {
  auto load = [](int64_t ub, int64_t gm, int64_t bytes) {
    return Message(RunSnippet([&](Assembler &s) {
      s.Issue(PipeOp::kLoad, Pipe::kMte2, {}, {ub, Value::Reg(0, 1, gm), 1, bytes});
    }));
  };
  EXPECT_EQ(load(0, 0, 4096), "");
  EXPECT_THAT(load(0, 32, 4096), HasSubstr("line 33: load reads GM out of bounds: bytes 32..4128 "
                                           "of a buffer of 4096"));
  EXPECT_THAT(load(0, -32, 64), HasSubstr("belongs to no buffer"));
  EXPECT_THAT(load(196608 - 32, 0, 64), HasSubstr("load writes UB out of bounds"));
  EXPECT_THAT(load(-32, 0, 64), HasSubstr("load writes UB out of bounds"));
  EXPECT_THAT(load(16, 0, 64), HasSubstr("must be a multiple of 32"));
  EXPECT_THAT(load(0, 0, -4), HasSubstr("must be in 0.."));
  auto scalar = [](ScalarOp op, int64_t at) {
    return Message(RunSnippet([&](Assembler &s) {
      const int value = s.Register(), zero = s.Const(0);
      const bool ub = op == ScalarOp::kLoadUb32 || op == ScalarOp::kStoreUb32;
      s.Emit(op, value, ub ? zero : 0, kNoRegister, at);
      s.Emit(ScalarOp::kDcacheFlush);
    }));
  };
  EXPECT_EQ(scalar(ScalarOp::kLoadGm32, 4092), "");
  EXPECT_THAT(scalar(ScalarOp::kLoadGm32, 4096), HasSubstr("line 33: the scalar unit accesses"));
  EXPECT_THAT(scalar(ScalarOp::kStoreGm32, -4), HasSubstr("out of bounds"));
  EXPECT_THAT(scalar(ScalarOp::kStoreGm32, 2), HasSubstr("multiple"));
  EXPECT_THAT(scalar(ScalarOp::kStoreUb32, 196608), HasSubstr("out of bounds"));
}

TEST(EngineTest, TheDataCacheMustBeFlushed) {
  auto store = [](bool flush) {
    return RunSnippet([&](Assembler &s) {
      s.Emit(ScalarOp::kStoreGm64, s.Const(77), 0, kNoRegister, 8);
      if (flush)
        s.Emit(ScalarOp::kDcacheFlush);
    });
  };
  EXPECT_TRUE(store(true).ok()) << store(true);
  EXPECT_THAT(Message(store(false)), HasSubstr("line 33"));
  EXPECT_THAT(Message(store(false)), HasSubstr("a cache flush is missing"));
}

TEST(EngineTest, CoresThatShareACacheLineLoseEachOthersStores) {
  // Block i stores i + 1 into element i: eight of them share a line of 64 bytes.
  auto run = [](int64_t stride) {
    Assembler s("share", false, 1);
    const int block = s.Register(), value = s.Register(), index = s.Register();
    s.Emit(ScalarOp::kBlockIdx, block);
    s.Emit(ScalarOp::kAddI64, value, block, 0, 1);
    s.Emit(ScalarOp::kMulI64, index, block, 0, stride);
    s.Emit(ScalarOp::kLoadGm64, s.Register(), 0, index);
    // All lines are read before the first is written back.
    const int n = s.Const(1000);
    s.Loop(n, [](int) {});
    s.Emit(ScalarOp::kStoreGm64, value, 0, index);
    s.Issue(PipeOp::kVDup, Pipe::kV, {}, {0, 0, 64});
    s.Barrier(Pipe::kAll);
    s.Emit(ScalarOp::kDcacheFlush);
    std::vector<std::vector<std::byte>> buffers = {std::vector<std::byte>(4096)};
    EXPECT_TRUE(RunProgram(MakeArtifact(s.Finish(), {4096}, 8), buffers).ok());
    const auto values = Values<int64_t>(buffers[0]);
    int kept = 0;
    for (int64_t i = 0; i < 8; ++i)
      kept += values[i * stride] == i + 1;
    return kept;
  };
  EXPECT_EQ(run(8), 8);
  EXPECT_LT(run(1), 8);
}

TEST(EngineTest, TimingOnlyIsRefusedWhereDataDecide) {
  Assembler s("branch", false, 1);
  const int value = s.Register();
  s.Emit(ScalarOp::kLoadGm32, value, 0, kNoRegister);
  s.Emit(ScalarOp::kJumpIf, value, 0, 0, s.Here() + 1);
  std::vector<std::vector<std::byte>> buffers = {std::vector<std::byte>(64)};
  const v1::Artifact artifact = MakeArtifact(s.Finish(), {64}, 1);
  EXPECT_TRUE(RunProgram(artifact, buffers).ok());
  EXPECT_EQ(RunProgram(artifact, buffers, {.mode = Mode::kTimingOnly}).status().code(),
            absl::StatusCode::kInternal);
}

TEST(EngineTest, AReadAfterAWriteOnTheVectorPipeNeedsABarrier) {
  auto run = [](bool barrier) {
    return RunSnippet([&](Assembler &s) {
      s.Issue(PipeOp::kVDup, Pipe::kV, {}, {0, 0, 64});
      if (barrier)
        s.Barrier(Pipe::kV);
      s.Issue(PipeOp::kVScalar, Pipe::kV, {}, {256, 0, 0, 64});
    });
  };
  EXPECT_TRUE(run(true).ok()) << run(true);
  EXPECT_THAT(Message(run(false)), HasSubstr("a barrier on pipe V is missing"));
}

TEST(EngineTest, ABarrierOverAllPipesOrdersEverything) {
  EXPECT_TRUE(RunSnippet([](Assembler &s) {
                s.Issue(PipeOp::kLoad, Pipe::kMte2, {}, {0, Value::Reg(0), 1, 256});
                s.Barrier(Pipe::kAll);
                s.Issue(PipeOp::kVScalar, Pipe::kV, {}, {256, 0, 0, 64});
                s.Barrier(Pipe::kAll);
                s.Emit(ScalarOp::kLoadUb32, s.Register(), s.Const(256), kNoRegister);
                s.Barrier(Pipe::kAll);
                s.Issue(PipeOp::kStore, Pipe::kMte3, {}, {Value::Reg(0), 256, 1, 256});
              }).ok());
}

TEST(EngineTest, TheScalarUnitStallsOnAFullQueueOnly) {
  // A long instruction, then 32 that fit the queue behind it, then more that do not.
  auto scalar_end = [](int instructions) {
    Assembler s("queue", false, 1);
    for (int i = 0; i < instructions; ++i) {
      s.Issue(PipeOp::kVDup, Pipe::kV, {}, {0, 0, 40000});
    }
    std::vector<std::vector<std::byte>> buffers = {std::vector<std::byte>(64)};
    auto outcome = RunProgram(MakeArtifact(s.Finish(), {64}, 1), buffers, {.profile = true});
    for (const auto &pipe : outcome->phases[0].pipes())
      if (pipe.pipe() == "scalar")
        return pipe.wait_us();
    return -1.0;
  };
  EXPECT_EQ(scalar_end(33), 0);
  EXPECT_GT(scalar_end(34), 0);
}

TEST(EngineTest, ErrorRecordsAreReadFromTheLowestBlock) {
  Assembler s("check", false, 2);
  const int block = s.Register(), limit = s.Const(2), code = s.Const(7);
  s.Emit(ScalarOp::kBlockIdx, block);
  const int skip = s.Emit(ScalarOp::kJumpLtS, block, limit);
  s.Emit(ScalarOp::kStoreGm64, code, 1, kNoRegister);
  s.Emit(ScalarOp::kStoreGm64, block, 1, kNoRegister, 8);
  s.Emit(ScalarOp::kStoreGm64, limit, 1, kNoRegister, 16);
  s.Patch(skip, s.Here());
  s.Emit(ScalarOp::kDcacheFlush);
  std::vector<std::vector<std::byte>> buffers = {std::vector<std::byte>(64)};
  const v1::SimFunction f = s.Finish();
  auto outcome = RunProgram(MakeArtifact(f, {64}, 9, /*error=*/true), buffers);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->error_code, 7);
  EXPECT_EQ(outcome->error_value, 2);
  EXPECT_EQ(outcome->error_bound, 2);
  EXPECT_EQ(RunProgram(MakeArtifact(f, {64}, 2, true), buffers)->error_code, 0);
}

TEST(EngineTest, TheUnitFlagHoldsFixpipeUntilTheResultIsWhole) {
  auto product = [](bool unit_flag) {
    Assembler s("unit_flag", true, 1);
    auto mmad = [&](int64_t flag) {
      s.Issue(PipeOp::kMmad, Pipe::kM,
              {.type = Type::kF16, .src_type = Type::kF32, .space = Space::kL0C},
              {0, 0, 0, 128, 256, 64, 1, flag});
    };
    for (int result = 0; result < 2; ++result) {
      mmad(unit_flag ? 2 : 0);
      s.Issue(PipeOp::kFixpipe, Pipe::kFix,
              {.type = Type::kF32,
               .src_type = Type::kF32,
               .space = Space::kL0C,
               .aux = unit_flag ? 2 : 0},
              {Value::Reg(0), 0, 128, 256, 1024, 128});
    }
    std::vector<std::vector<std::byte>> buffers = {std::vector<std::byte>(4 * 128 * 256)};
    return RunProgram(MakeArtifact(s.Finish(), {4 * 128 * 256}, 1), buffers);
  };
  EXPECT_FALSE(product(false).ok()) << "M and FIX meet in L0C";
  auto right = product(true);
  EXPECT_TRUE(right.ok()) << right.status();
}

TEST(EngineTest, AtomicAddsFromManyBlocksAllCount) {
  Assembler s("atomic", false, 1);
  const int64_t one = 0x3f800000;
  s.Issue(PipeOp::kVDup, Pipe::kV, {}, {0, one, 16});
  s.SetFlag(Pipe::kV, Pipe::kMte3, 0);
  s.WaitFlag(Pipe::kV, Pipe::kMte3, 0);
  s.Issue(PipeOp::kStore, Pipe::kMte3, {.sub = static_cast<int>(Atomic::kAdd)},
          {Value::Reg(0), 0, 1, 64});
  std::vector<std::vector<std::byte>> buffers = {Bytes(std::vector<float>(16, 0.5))};
  ASSERT_TRUE(RunProgram(MakeArtifact(s.Finish(), {64}, 100), buffers).ok());
  EXPECT_EQ(Values<float>(buffers[0]), std::vector<float>(16, 100.5));
}

} // namespace
} // namespace pyasc::sim
