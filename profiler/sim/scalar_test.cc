// The scalar unit's arithmetic, and its speed.
#include <chrono>
#include <cmath>

#include "profiler/sim/half.h"
#include "profiler/sim/sim_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;

uint64_t F(float value) { return std::bit_cast<uint32_t>(value); }

// Runs op on two registers and a constant; returns the result register's 64 bits.
int64_t Eval(ScalarOp op, uint64_t b, uint64_t c = 0, int64_t imm = 0) {
  Assembler s("eval", false, 1);
  const int x = s.Const(static_cast<int64_t>(b)), y = s.Const(static_cast<int64_t>(c));
  const int result = s.Register();
  s.Emit(op, result, x, y, imm);
  s.Emit(ScalarOp::kStoreGm64, result, 0, kNoRegister);
  s.Emit(ScalarOp::kDcacheFlush);
  std::vector<std::vector<std::byte>> buffers = {std::vector<std::byte>(8)};
  auto outcome = RunProgram(MakeArtifact(s.Finish(), {8}, 1), buffers);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return Values<int64_t>(buffers[0])[0];
}

TEST(ScalarTest, IntegersWrapInTheirWidth) {
  struct Case {
    ScalarOp op;
    int64_t b, c, expected;
  };
  for (const Case &c : {
           Case{ScalarOp::kAdd8, 127, 1, -128},
           Case{ScalarOp::kAdd16, 32767, 1, -32768},
           Case{ScalarOp::kAdd32, INT32_MAX, 1, INT32_MIN},
           Case{ScalarOp::kAdd64, INT64_MAX, 1, INT64_MIN},
           Case{ScalarOp::kMul32, 65536, 65536, 0},
           Case{ScalarOp::kMul8, 16, 16, 0},
           Case{ScalarOp::kDivS32, -7, 2, -3},
           Case{ScalarOp::kDivS32, INT32_MIN, -1, INT32_MIN},
           Case{ScalarOp::kRemS32, -7, 2, -1},
           Case{ScalarOp::kDivU8, -1, 2, 127},
           Case{ScalarOp::kDivU32, -1, 1, -1},
           Case{ScalarOp::kRemU16, -1, 256, 255},
           Case{ScalarOp::kFloorDivS64, -7, 2, -4},
           Case{ScalarOp::kFloorDivS64, 7, -2, -4},
           Case{ScalarOp::kCeilDivS64, 7, 2, 4},
           Case{ScalarOp::kCeilDivS64, -7, 2, -3},
           Case{ScalarOp::kCeilDivU8, -1, 2, -128},
           Case{ScalarOp::kShl32, 1, 31, INT32_MIN},
           Case{ScalarOp::kShrS16, -4, 1, -2},
           Case{ScalarOp::kShrU16, -4, 1, 32766},
           Case{ScalarOp::kMulHiU32, -1, -1, -2},
           Case{ScalarOp::kMulHiS64, INT64_MIN, INT64_MIN, int64_t{1} << 62},
           Case{ScalarOp::kClz16, 1, 0, 15},
           Case{ScalarOp::kCtz8, 0, 0, 8},
           Case{ScalarOp::kPopcount32, -1, 0, 32},
           Case{ScalarOp::kCmpLtU, 5, -1, 1},
           Case{ScalarOp::kCmpLtS, 5, -1, 0},
           Case{ScalarOp::kMinU, 5, -1, 5},
           Case{ScalarOp::kSext8, 255, 0, -1},
           Case{ScalarOp::kZext8, -1, 0, 255},
           Case{ScalarOp::kSextBool, 1, 0, -1},
           Case{ScalarOp::kBool, -2, 0, 0},
       })
    EXPECT_EQ(Eval(c.op, static_cast<uint64_t>(c.b), static_cast<uint64_t>(c.c)), c.expected)
        << InfoOf(c.op).name << " " << c.b << " " << c.c;
}

TEST(ScalarTest, WhatHasNoResultIsAFault) {
  auto fault = [](ScalarOp op, int64_t b, int64_t c, int64_t imm = 0) {
    Assembler s("fault", false, 1);
    const int x = s.Const(b), y = s.Const(c);
    s.Emit(op, s.Register(), x, y, imm);
    std::vector<std::vector<std::byte>> buffers = {std::vector<std::byte>(8)};
    return std::string(RunProgram(MakeArtifact(s.Finish(), {8}, 1), buffers).status().message());
  };
  for (const ScalarOp op : {ScalarOp::kDivS8, ScalarOp::kRemS8, ScalarOp::kDivU8, ScalarOp::kRemU8,
                            ScalarOp::kFloorDivS8, ScalarOp::kCeilDivS8, ScalarOp::kCeilDivU8})
    for (const int bits : {8, 16, 32, 64})
      EXPECT_THAT(fault(OfWidth(op, bits), 5, 0), testing::HasSubstr("divides by zero")) << bits;
  for (const ScalarOp op : {ScalarOp::kShl8, ScalarOp::kShrS8, ScalarOp::kShrU8})
    for (const int bits : {8, 16, 32, 64}) {
      EXPECT_EQ(fault(OfWidth(op, bits), 5, bits - 1), "") << bits;
      EXPECT_THAT(fault(OfWidth(op, bits), 5, bits), testing::HasSubstr("shifts by")) << bits;
      EXPECT_THAT(fault(OfWidth(op, bits), 5, -1), testing::HasSubstr("shifts by")) << bits;
    }
  EXPECT_THAT(fault(ScalarOp::kMulI64, int64_t{1} << 61, 0, 8), testing::HasSubstr("64 bits"));
  EXPECT_THAT(fault(ScalarOp::kScaledAdd64, INT64_MAX, 1, 8), testing::HasSubstr("64 bits"));
  EXPECT_THAT(fault(ScalarOp::kWork, -1, 0), testing::HasSubstr("scalar_work"));
}

TEST(ScalarTest, AnIndexThatWrapsNamesNoByte) {
  for (const bool gm : {true, false})
    for (const int64_t index : {int64_t{1} << 61, -(int64_t{1} << 61), INT64_MAX, INT64_MIN}) {
      Assembler s("index", false, 1);
      const int zero = s.Const(0), at = s.Const(index);
      s.Emit(gm ? ScalarOp::kLoadGm64 : ScalarOp::kLoadUb64, s.Register(), gm ? 0 : zero, at);
      std::vector<std::vector<std::byte>> buffers = {std::vector<std::byte>(64)};
      EXPECT_FALSE(RunProgram(MakeArtifact(s.Finish(), {64}, 1), buffers).ok()) << index;
    }
}

TEST(ScalarTest, FloatsRoundAndConvertAsIeeeSays) {
  EXPECT_EQ(Eval(ScalarOp::kAddF32, F(16777216), F(1)), static_cast<int64_t>(F(16777216)));
  EXPECT_EQ(Eval(ScalarOp::kF32ToS32, F(-2.9f)), -2);
  EXPECT_EQ(Eval(ScalarOp::kF32ToS32, F(3e9f)), INT32_MAX);
  EXPECT_EQ(Eval(ScalarOp::kF32ToS8, F(-300)), -128);
  EXPECT_EQ(Eval(ScalarOp::kF32ToU8, F(300)), -1);
  EXPECT_EQ(Eval(ScalarOp::kF32ToU32, F(-1)), 0);
  EXPECT_EQ(Eval(ScalarOp::kF32ToS64, F(NAN)), 0);
  EXPECT_EQ(Eval(ScalarOp::kF32ToU64, F(1e30f)), -1);
  EXPECT_EQ(Eval(ScalarOp::kUintToF32, static_cast<uint64_t>(-1)),
            static_cast<int64_t>(F(18446744073709551616.0f)));
  EXPECT_EQ(Eval(ScalarOp::kIntToF32, static_cast<uint64_t>(-1)), static_cast<int64_t>(F(-1)));
  EXPECT_EQ(Eval(ScalarOp::kF32ToF16, F(1 + 0x1p-11f)), 0x3c00);
  EXPECT_EQ(Eval(ScalarOp::kF16ToF32, 0xfc00), static_cast<int64_t>(F(-INFINITY)));
  EXPECT_EQ(Eval(ScalarOp::kMinF32, F(0.0f), F(-0.0f)), static_cast<int64_t>(F(-0.0f)));
  EXPECT_TRUE(std::isnan(
      std::bit_cast<float>(static_cast<uint32_t>(Eval(ScalarOp::kMaxF32, F(NAN), F(1))))));
  EXPECT_EQ(Eval(ScalarOp::kMaxNumF32, F(NAN), F(1)), static_cast<int64_t>(F(1)));
  EXPECT_EQ(Eval(ScalarOp::kFunF32, F(-0.0f), 0, static_cast<int64_t>(Function::kNeg)),
            static_cast<int64_t>(F(0.0f)));
  EXPECT_EQ(Eval(ScalarOp::kFunF32, F(2.5f), 0, static_cast<int64_t>(Function::kRoundEven)),
            static_cast<int64_t>(F(2)));
  EXPECT_EQ(Eval(ScalarOp::kFun2F32, F(-2), 3, static_cast<int64_t>(Function::kPowI)),
            static_cast<int64_t>(F(-8)));
}

TEST(ScalarTest, ComparisonsOfFloatsKnowNan) {
  const struct {
    Predicate predicate;
    bool less, equal, greater, unordered;
  } table[] = {{Predicate::kOeq, false, true, false, false},
               {Predicate::kOgt, false, false, true, false},
               {Predicate::kOge, false, true, true, false},
               {Predicate::kOlt, true, false, false, false},
               {Predicate::kOle, true, true, false, false},
               {Predicate::kOne, true, false, true, false},
               {Predicate::kOrd, true, true, true, false},
               {Predicate::kUeq, false, true, false, true},
               {Predicate::kUgt, false, false, true, true},
               {Predicate::kUge, false, true, true, true},
               {Predicate::kUlt, true, false, false, true},
               {Predicate::kUle, true, true, false, true},
               {Predicate::kUne, true, false, true, true},
               {Predicate::kUno, false, false, false, true},
               {Predicate::kTrue, true, true, true, true},
               {Predicate::kFalse, false, false, false, false}};
  for (const auto &row : table) {
    auto eval = [&](float x, float y) {
      return Eval(ScalarOp::kCmpF32, F(x), F(y), static_cast<int64_t>(row.predicate));
    };
    EXPECT_EQ(eval(1, 2), row.less) << static_cast<int>(row.predicate);
    EXPECT_EQ(eval(2, 2), row.equal) << static_cast<int>(row.predicate);
    EXPECT_EQ(eval(3, 2), row.greater) << static_cast<int>(row.predicate);
    EXPECT_EQ(eval(NAN, 2), row.unordered) << static_cast<int>(row.predicate);
  }
}

TEST(ScalarTest, MemoryRoundTripsEveryWidth) {
  for (int bits : {8, 16, 32, 64}) {
    Assembler s("memory", false, 1);
    const int value = s.Const(-3), index = s.Const(5), base = s.Const(64), back = s.Register();
    s.Emit(OfWidth(ScalarOp::kStoreUb8, bits), value, base, index, bits / 8);
    s.Emit(OfWidth(ScalarOp::kLoadUb8, bits), back, base, index, bits / 8);
    s.Emit(OfWidth(ScalarOp::kStoreGm8, bits), back, 0, index);
    s.Emit(OfWidth(ScalarOp::kLoadGm8, bits), back, 0, index);
    s.Emit(ScalarOp::kStoreGm64, back, 0, kNoRegister);
    s.Emit(ScalarOp::kDcacheFlush);
    std::vector<std::vector<std::byte>> buffers = {std::vector<std::byte>(64)};
    auto outcome = RunProgram(MakeArtifact(s.Finish(), {64}, 1), buffers);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(Values<int64_t>(buffers[0])[0], -3) << bits;
  }
}

TEST(ScalarTest, MoreThanAHundredMillionInstructionsASecond) {
  // s += a[i & 255] * i, seven instructions an iteration.
  Assembler s("speed", false, 1);
  const int64_t iterations = 4000000;
  const int n = s.Const(iterations), mask = s.Const(255), sum = s.Const(0), at = s.Register(),
            x = s.Register();
  s.Loop(n, [&](int i) {
    s.Emit(ScalarOp::kAnd, at, i, mask);
    s.Emit(ScalarOp::kLoadGm32, x, 0, at);
    s.Emit(ScalarOp::kMul32, x, x, i);
    s.Emit(ScalarOp::kAdd32, sum, sum, x);
  });
  s.Emit(ScalarOp::kStoreGm64, sum, 0, kNoRegister);
  s.Emit(ScalarOp::kDcacheFlush);
  std::vector<std::vector<std::byte>> buffers = {Bytes(std::vector<int32_t>(256, 3))};
  const v1::Artifact artifact = MakeArtifact(s.Finish(), {1024}, 1);
  const auto start = std::chrono::steady_clock::now();
  auto outcome = RunProgram(artifact, buffers);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const double rate = 7 * static_cast<double>(iterations) / seconds.count() / 1e6;
  RecordProperty("million_instructions_per_second", static_cast<int>(rate));
  std::printf("%.0f million instructions a second\n", rate);
  // A loaded machine and sanitizers are slower: this only guards against a blunder.
  EXPECT_GT(rate, 10);
}

} // namespace
} // namespace pyasc::sim
