// The data effects of single instructions against naive definitions.
#include "profiler/sim/units.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "profiler/sim/half.h"
#include "gtest/gtest.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;

struct Bench {
  explicit Bench(bool cube) : memory(*machine::FindSoc("ascend910b3"), cube), gm(1 << 30) {}

  // Runs one instruction; fails the test when the operation is refused.
  void Run(PipeOp op, Descriptor d, std::vector<int64_t> v) {
    d.op = op;
    Operation o;
    o.descriptor = &d;
    std::copy(v.begin(), v.end(), o.v);
    std::vector<Access> accesses;
    ASSERT_EQ(AccessesOf(o, accesses).what, "");
    Execute(o, memory, gm);
  }
  template <typename T> T *At(Space space, int64_t byte) {
    return reinterpret_cast<T *>(memory[space].data() + byte);
  }
  template <typename T> T *Gm(uint64_t address) {
    return reinterpret_cast<T *>(gm.Find(address, 0)->data());
  }

  CoreMemory memory;
  GlobalMemory gm;
};

Descriptor D(Type type, Type src_type = Type::kF32, Space space = Space::kUb, int sub = 0,
             int aux = 0) {
  Descriptor d;
  d.type = type;
  d.src_type = src_type;
  d.space = space;
  d.sub = static_cast<uint8_t>(sub);
  d.aux = static_cast<uint8_t>(aux);
  return d;
}

// ----------------------------------------------------------------------------------- the cube

struct Matmul {
  int64_t m, n, k;
  Type type;
  bool a_transposed, b_rows_along_n;
};

// From GM through L1 and L0 to GM again, as a matmul's plan does.
void CheckMatmul(const Matmul &shape) {
  Bench bench(true);
  const int64_t m = shape.m, n = shape.n, k = shape.k;
  const int64_t size = TypeBytes(shape.type);
  const bool ints = shape.type == Type::kI8;
  std::mt19937 random(static_cast<unsigned>(m * 31 + n * 7 + k));
  std::vector<double> a(m * k), b(k * n);
  auto put = [&](uint64_t address, int64_t at, double &value) {
    const int drawn = static_cast<int>(random() % 255) - 127;
    switch (shape.type) {
    case Type::kI8:
      value = bench.Gm<int8_t>(address)[at] = static_cast<int8_t>(drawn);
      break;
    case Type::kF16:
      bench.Gm<uint16_t>(address)[at] = FloatToHalf(static_cast<float>(drawn) / 64);
      value = HalfToFloat(bench.Gm<uint16_t>(address)[at]);
      break;
    case Type::kBF16:
      bench.Gm<uint16_t>(address)[at] = FloatToBfloat16(static_cast<float>(drawn) / 64);
      value = Bfloat16ToFloat(bench.Gm<uint16_t>(address)[at]);
      break;
    default:
      value = bench.Gm<float>(address)[at] = static_cast<float>(drawn) / 64;
    }
  };
  const uint64_t ga = *bench.gm.Allocate(m * k * size), gb = *bench.gm.Allocate(k * n * size);
  const uint64_t gc = *bench.gm.Allocate(m * n * 4);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t x = 0; x < k; ++x)
      put(ga, shape.a_transposed ? x * m + i : i * k + x, a[i * k + x]);
  for (int64_t x = 0; x < k; ++x)
    for (int64_t j = 0; j < n; ++j)
      put(gb, shape.b_rows_along_n ? j * k + x : x * n + j, b[x * n + j]);

  const Descriptor nz = D(shape.type, shape.type, Space::kL1);
  auto load = [&](uint64_t gm, int64_t l1, int64_t rows, int64_t cols) {
    bench.Run(PipeOp::kLoadNd2Nz, nz,
              {l1, static_cast<int64_t>(gm), rows, cols, cols * size, RoundUp(rows, 16), 1});
  };
  const int64_t l1_b = 256 * 1024;
  shape.a_transposed ? load(ga, 0, k, m) : load(ga, 0, m, k);
  shape.b_rows_along_n ? load(gb, l1_b, n, k) : load(gb, l1_b, k, n);
  bench.Run(PipeOp::kLoadL0, D(shape.type, shape.type, Space::kL0A, shape.a_transposed),
            {0, 0, m, k, RoundUp(shape.a_transposed ? k : m, 16)});
  bench.Run(PipeOp::kLoadL0, D(shape.type, shape.type, Space::kL0B, !shape.b_rows_along_n),
            {0, l1_b, n, k, RoundUp(shape.b_rows_along_n ? n : k, 16)});
  const Type sum = ints ? Type::kI32 : Type::kF32;
  const Descriptor mmad = D(shape.type, sum, Space::kL0C, 0, shape.a_transposed && size == 4);
  bench.Run(PipeOp::kMmad, mmad, {0, 0, 0, m, n, k, 1, 0});
  bench.Run(PipeOp::kMmad, mmad, {0, 0, 0, m, n, k, 0, 0});
  bench.Run(PipeOp::kFixpipe, D(sum, sum, Space::kL0C),
            {static_cast<int64_t>(gc), 0, m, n, n * 4, RoundUp(m, 16)});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double expected = 0;
      for (int64_t x = 0; x < k; ++x)
        expected += 2 * a[i * k + x] * b[x * n + j];
      const double got = ints ? bench.Gm<int32_t>(gc)[i * n + j] : bench.Gm<float>(gc)[i * n + j];
      // The values are multiples of 2^-12 and small: every sum is exact.
      ASSERT_EQ(got, expected) << i << "," << j << " of " << m << "x" << n << "x" << k;
    }
}

TEST(CubeTest, MatmulsOfEveryTypeLayoutAndOddExtentAreExact) {
  for (Type type : {Type::kF32, Type::kF16, Type::kBF16, Type::kI8})
    for (bool a_transposed : {false, true})
      for (bool b_rows_along_n : {false, true}) {
        // 8-bit elements have no transposing load.
        if (type == Type::kI8 && (a_transposed || !b_rows_along_n))
          continue;
        for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{16, 16, 16},
                               {32, 48, 64},
                               {1, 1, 1},
                               {17, 33, 5},
                               {3, 40, 23},
                               {64, 16, 72}})
          CheckMatmul({m, n, k, type, a_transposed, b_rows_along_n});
      }
}

TEST(CubeTest, FixpipeConvertsAddsAndCutsNegatives) {
  Bench bench(true);
  float *c = bench.At<float>(Space::kL0C, 0);
  for (int i = 0; i < 16 * 16; ++i)
    c[i] = static_cast<float>(i - 100) + 0x1p-12f;
  const uint64_t gm = *bench.gm.Allocate(10 * 16 * 2);
  bench.Run(PipeOp::kFixpipe, D(Type::kF16, Type::kF32, Space::kL0C, 0, 1),
            {static_cast<int64_t>(gm), 0, 10, 11, 32, 16});
  for (int r = 0; r < 10; ++r)
    for (int e = 0; e < 11; ++e)
      EXPECT_EQ(bench.Gm<uint16_t>(gm)[r * 16 + e],
                FloatToHalf(std::max(0.0f, static_cast<float>(r * 16 + e - 100) + 0x1p-12f)));
  EXPECT_EQ(bench.Gm<uint16_t>(gm)[11], kPoison) << "beyond n nothing is written";
  const uint64_t sum = *bench.gm.Allocate(4);
  *bench.Gm<float>(sum) = 1000;
  bench.Run(PipeOp::kFixpipe,
            D(Type::kF32, Type::kF32, Space::kL0C, static_cast<int>(Atomic::kAdd)),
            {static_cast<int64_t>(sum), 0, 1, 1, 4, 16});
  EXPECT_EQ(*bench.Gm<float>(sum), 900.0f + 0x1p-12f);
}

// ------------------------------------------------------------------------------ the transfers

TEST(TransferTest, MatricesGoBetweenTheRowsOfOthers) {
  Bench bench(true);
  const uint64_t gm = *bench.gm.Allocate(4096);
  for (int i = 0; i < 2048; ++i)
    bench.Gm<uint16_t>(gm)[i] = static_cast<uint16_t>(i);
  // 5 rows of 20 elements, 100 apart; to every third row of column blocks that are 16 high.
  bench.Run(PipeOp::kLoadNd2Nz, D(Type::kF16, Type::kF16, Space::kL1),
            {32, static_cast<int64_t>(gm), 5, 20, 200, 16, 3});
  for (int row = 0; row < 16; ++row)
    for (int col = 0; col < 32; ++col) {
      const int at = ((col / 16 * 16) + row) * 16 + col % 16;
      const uint16_t got = *bench.At<uint16_t>(Space::kL1, 32 + at * 2);
      if (row % 3 != 0 || row > 12)
        EXPECT_EQ(got, kPoison) << "row " << row << " is not touched";
      else
        EXPECT_EQ(got, col < 20 ? row / 3 * 100 + col : 0);
    }
}

TEST(TransferTest, StridedLoadsKeepTheirBlocksAndSpoilTheRest) {
  Bench bench(false);
  const uint64_t gm = *bench.gm.Allocate(1000);
  for (int i = 0; i < 1000; ++i)
    bench.Gm<uint8_t>(gm)[i] = static_cast<uint8_t>(i * 7);
  bench.Run(PipeOp::kLoad, D(Type::kI8), {64, static_cast<int64_t>(gm) + 3, 5, 37, 101, 96});
  for (int burst = 0; burst < 5; ++burst) {
    const uint8_t *at = bench.At<uint8_t>(Space::kUb, 64 + burst * 96);
    for (int i = 0; i < 37; ++i)
      EXPECT_EQ(at[i], static_cast<uint8_t>((3 + burst * 101 + i) * 7));
    EXPECT_EQ(at[37 + 1], at[37 + 3]) << "poison, not data";
    EXPECT_EQ(at[64], kPoison & 0xff) << "the gap is not touched";
  }
}

TEST(TransferTest, StoresWriteSingleBytes) {
  Bench bench(false);
  const uint64_t gm = *bench.gm.Allocate(200);
  std::fill_n(bench.Gm<uint8_t>(gm), 200, 9);
  std::fill_n(bench.At<uint8_t>(Space::kUb, 0), 256, 1);
  bench.Run(PipeOp::kStore, D(Type::kI8), {static_cast<int64_t>(gm) + 1, 0, 3, 5, 50, 64});
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(bench.Gm<uint8_t>(gm)[i], i >= 1 && i < 151 && (i - 1) % 50 < 5 ? 1 : 9) << i;
}

// ----------------------------------------------------------------------------------- vectors

TEST(VectorTest, BinaryOperationsOnEveryType) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const std::vector<float> xs = {1.5f, -2, 0.0f, -0.0f, inf, nan, 7, 65504},
                           ys = {3, 0.5f, -0.0f, 0.0f, -inf, 1, nan, 65504};
  const auto max = [](float x, float y) {
    return std::isnan(x) || std::isnan(y) ? NAN
           : x == y                       ? (std::signbit(x) ? y : x)
                                          : std::fmax(x, y);
  };
  const std::vector<std::pair<Binary, std::function<float(float, float)>>> ops = {
      {Binary::kAdd, std::plus<float>()},
      {Binary::kSub, std::minus<float>()},
      {Binary::kMul, std::multiplies<float>()},
      {Binary::kDiv, std::divides<float>()},
      {Binary::kMax, max},
      {Binary::kMin, [&](float x, float y) { return -max(-x, -y); }}};
  auto same = [](float x, float y) {
    return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
  };
  for (const auto &[op, f] : ops) {
    Bench bench(false);
    // More than one piece, and an odd rest.
    for (int i = 0; i < 700; ++i) {
      bench.At<float>(Space::kUb, 0)[i] = xs[i % 8];
      bench.At<float>(Space::kUb, 4096)[i] = ys[i % 8];
      bench.At<uint16_t>(Space::kUb, 12288)[i] = FloatToHalf(xs[i % 8]);
      bench.At<uint16_t>(Space::kUb, 16384)[i] = FloatToHalf(ys[i % 8]);
    }
    bench.Run(PipeOp::kVBinary, D(Type::kF32, Type::kF32, Space::kUb, static_cast<int>(op)),
              {8192, 0, 4096, 700});
    bench.Run(PipeOp::kVBinary, D(Type::kF16, Type::kF16, Space::kUb, static_cast<int>(op)),
              {12288, 12288, 16384, 700});
    for (int i = 0; i < 700; ++i) {
      const float expected = f(xs[i % 8], ys[i % 8]);
      ASSERT_TRUE(same(bench.At<float>(Space::kUb, 8192)[i], expected))
          << static_cast<int>(op) << " " << i;
      ASSERT_TRUE(same(HalfToFloat(bench.At<uint16_t>(Space::kUb, 12288)[i]),
                       HalfToFloat(FloatToHalf(expected))))
          << static_cast<int>(op) << " " << i;
    }
    EXPECT_EQ(bench.At<uint16_t>(Space::kUb, 8192)[1400], kPoison) << "count is exact";
  }
  Bench bench(false);
  int32_t *x = bench.At<int32_t>(Space::kUb, 0), *y = bench.At<int32_t>(Space::kUb, 32);
  x[0] = INT32_MAX, y[0] = 2, x[1] = -5, y[1] = 3;
  bench.Run(PipeOp::kVBinary, D(Type::kI32, Type::kI32, Space::kUb, static_cast<int>(Binary::kMul)),
            {64, 0, 32, 2});
  EXPECT_EQ(bench.At<int32_t>(Space::kUb, 64)[0], -2) << "wraps";
  EXPECT_EQ(bench.At<int32_t>(Space::kUb, 64)[1], -15);
}

TEST(VectorTest, RepeatsWithStridesBroadcastRowsAndColumns) {
  Bench bench(false);
  // 5 rows of 20 columns, 24 apart; b is one block a row, then one row for all.
  float *a = bench.At<float>(Space::kUb, 0), *b = bench.At<float>(Space::kUb, 4096);
  for (int i = 0; i < 5 * 24; ++i)
    a[i] = static_cast<float>(i);
  for (int i = 0; i < 64; ++i)
    b[i] = static_cast<float>(1000 * (i / 8));
  const Descriptor add = D(Type::kF32);
  bench.Run(PipeOp::kVBinary, add, {8192, 0, 4096, 20, 5, 1, 3, 1, 3, 0, 1});
  for (int r = 0; r < 5; ++r)
    for (int c = 0; c < 20; ++c)
      EXPECT_EQ(bench.At<float>(Space::kUb, 8192)[r * 24 + c],
                static_cast<float>(r * 24 + c + 1000 * r));
  EXPECT_EQ(bench.At<uint16_t>(Space::kUb, 8192)[40], kPoison) << "the mask ends the row";
  for (int i = 0; i < 20; ++i)
    b[i] = static_cast<float>(100 * i);
  bench.Run(PipeOp::kVBinary, add, {8192, 0, 4096, 20, 5, 1, 3, 1, 3, 1, 0});
  for (int r = 0; r < 5; ++r)
    for (int c = 0; c < 20; ++c)
      EXPECT_EQ(bench.At<float>(Space::kUb, 8192)[r * 24 + c],
                static_cast<float>(r * 24 + c + 100 * c));
}

TEST(VectorTest, BroadcastFillsBlocks) {
  Bench bench(false);
  for (int i = 0; i < 16; ++i)
    bench.At<uint16_t>(Space::kUb, 0)[i] = static_cast<uint16_t>(i + 1);
  bench.Run(PipeOp::kVBroadcast, D(Type::kF16), {1024, 0, 2});
  for (int i = 0; i < 16 * 16; ++i)
    EXPECT_EQ(bench.At<uint16_t>(Space::kUb, 1024)[i], i / 16 + 1);
}

TEST(VectorTest, EverySecondOrFourthElement) {
  Bench bench(false);
  for (int i = 0; i < 300; ++i)
    bench.At<uint16_t>(Space::kUb, 0)[i] = static_cast<uint16_t>(i);
  bench.Run(PipeOp::kVDeinterleave, D(Type::kF16), {4096, 0, 299, 2});
  bench.Run(PipeOp::kVDeinterleave, D(Type::kI16), {8192, 0, 298, 4});
  for (int i = 0; i < 150; ++i)
    EXPECT_EQ(bench.At<uint16_t>(Space::kUb, 4096)[i], 2 * i);
  EXPECT_EQ(bench.At<uint16_t>(Space::kUb, 4096)[150], kPoison);
  for (int i = 0; i < 75; ++i)
    EXPECT_EQ(bench.At<uint16_t>(Space::kUb, 8192)[i], 4 * i);
  EXPECT_EQ(bench.At<uint16_t>(Space::kUb, 8192)[75], kPoison);
}

TEST(VectorTest, BlocksBecomeElements) {
  Bench bench(false);
  for (int i = 0; i < 128; ++i)
    bench.At<float>(Space::kUb, 0)[i] = static_cast<float>(i % 8 == 3 ? 1000 + i : i % 8);
  bench.Run(PipeOp::kVReduceBlock,
            D(Type::kF32, Type::kF32, Space::kUb, static_cast<int>(Reduce::kSum)), {4096, 0, 2});
  bench.Run(PipeOp::kVReduceBlock,
            D(Type::kF32, Type::kF32, Space::kUb, static_cast<int>(Reduce::kMax)), {8192, 0, 2});
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(bench.At<float>(Space::kUb, 4096)[i], static_cast<float>(1000 + 3 + 8 * i + 25));
    EXPECT_EQ(bench.At<float>(Space::kUb, 8192)[i], static_cast<float>(1003 + 8 * i));
  }
  EXPECT_EQ(bench.At<uint16_t>(Space::kUb, 4096)[32], kPoison);
}

TEST(VectorTest, TransposesPiecesOfSixteenRows) {
  // Two repeats each: 16 rows of 32 halves or of 16 floats, rows of src 96 bytes apart, of dst 64.
  Bench bench(false);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 32; ++j)
      bench.At<uint16_t>(Space::kUb, 0)[i * 48 + j] = static_cast<uint16_t>(100 * i + j);
  bench.Run(PipeOp::kVTranspose, D(Type::kF16), {8192, 0, 2, 64, 96});
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 32; ++j)
      EXPECT_EQ(bench.At<uint16_t>(Space::kUb, 8192)[j * 32 + i], 100 * i + j);
  EXPECT_EQ(bench.At<uint16_t>(Space::kUb, 8192)[16], kPoison) << "16 of each row are written";
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j)
      bench.At<int32_t>(Space::kUb, 0)[i * 24 + j] = 100 * i + j;
  bench.Run(PipeOp::kVTranspose, D(Type::kI32), {16384, 0, 2, 64, 96});
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j)
      EXPECT_EQ(bench.At<int32_t>(Space::kUb, 16384)[j * 16 + i], 100 * i + j);
}

TEST(VectorTest, ReductionsOfAnyLength) {
  for (int64_t n : {1, 5, 64, 65, 1000, 4097}) {
    Bench bench(false);
    float *a = bench.At<float>(Space::kUb, 0);
    float max = -1e9, min = 1e9;
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      a[i] = static_cast<float>(i * 37 % 101) - 50;
      max = std::max(max, a[i]);
      min = std::min(min, a[i]);
      sum += a[i];
    }
    for (auto [op, expected] :
         {std::pair<Reduce, double>{Reduce::kSum, sum}, {Reduce::kMax, max}, {Reduce::kMin, min}}) {
      bench.Run(PipeOp::kVReduce, D(Type::kF32, Type::kF32, Space::kUb, static_cast<int>(op)),
                {65536, 0, 32768, n});
      EXPECT_EQ(*bench.At<float>(Space::kUb, 65536), expected) << n;
    }
    EXPECT_EQ(bench.At<uint16_t>(Space::kUb, 65536)[2], kPoison) << "the rest of the block is lost";
  }
}

TEST(VectorTest, RowReductionsGiveOneResultARow) {
  Bench bench(false);
  for (int i = 0; i < 3 * 64; ++i)
    bench.At<float>(Space::kUb, 0)[i] = static_cast<float>(i);
  bench.Run(PipeOp::kVReduceRepeat, D(Type::kF32), {4096 + 4, 0, 50, 3, 4, 1, 8});
  for (int r = 0; r < 3; ++r)
    EXPECT_EQ(bench.At<float>(Space::kUb, 4096)[r + 1],
              static_cast<float>(50 * 64 * r + 49 * 50 / 2));
}

TEST(VectorTest, ComparisonsAndSelection) {
  Bench bench(false);
  float *a = bench.At<float>(Space::kUb, 0), *b = bench.At<float>(Space::kUb, 256);
  for (int i = 0; i < 64; ++i) {
    a[i] = static_cast<float>(i % 5);
    b[i] = static_cast<float>(i % 3);
  }
  a[9] = NAN;
  const std::vector<std::pair<Compare, std::function<bool(float, float)>>> ops = {
      {Compare::kLt, std::less<float>()},     {Compare::kLe, std::less_equal<float>()},
      {Compare::kGt, std::greater<float>()},  {Compare::kGe, std::greater_equal<float>()},
      {Compare::kEq, std::equal_to<float>()}, {Compare::kNe, std::not_equal_to<float>()}};
  for (const auto &[op, f] : ops) {
    const Descriptor d = D(Type::kF32, Type::kF32, Space::kUb, static_cast<int>(op));
    bench.Run(PipeOp::kVCompare, d, {1024, 0, 256, 64});
    bench.Run(PipeOp::kVCompareS, d, {1056, 0, 0x40000000, 64});
    bench.Run(PipeOp::kVSelect, D(Type::kF32), {512, 1024, 0, 256, 50});
    for (int i = 0; i < 64; ++i) {
      EXPECT_EQ(bench.At<uint8_t>(Space::kUb, 1024)[i / 8] >> (i % 8) & 1, f(a[i], b[i])) << i;
      EXPECT_EQ(bench.At<uint8_t>(Space::kUb, 1056)[i / 8] >> (i % 8) & 1, f(a[i], 2)) << i;
    }
    for (int i = 0; i < 50; ++i) {
      const float expected = f(a[i], b[i]) ? a[i] : b[i], got = bench.At<float>(Space::kUb, 512)[i];
      EXPECT_TRUE(std::isnan(expected) ? std::isnan(got) : got == expected) << i;
    }
  }
}

TEST(VectorTest, CastsRoundByTheirModeAndSaturate) {
  struct Case {
    Rounding rounding;
    float in;
    int32_t out;
  };
  for (const Case &c : {Case{Rounding::kRint, 2.5f, 2}, Case{Rounding::kRint, -3.5f, -4},
                        Case{Rounding::kRound, 2.5f, 3}, Case{Rounding::kRound, -2.5f, -3},
                        Case{Rounding::kFloor, -2.1f, -3}, Case{Rounding::kCeil, -2.9f, -2},
                        Case{Rounding::kTrunc, -2.9f, -2}, Case{Rounding::kTrunc, 3e9f, INT32_MAX},
                        Case{Rounding::kTrunc, -3e9f, INT32_MIN}, Case{Rounding::kRint, NAN, 0}}) {
    Bench bench(false);
    *bench.At<float>(Space::kUb, 0) = c.in;
    bench.Run(PipeOp::kVCast, D(Type::kI32, Type::kF32, Space::kUb, static_cast<int>(c.rounding)),
              {32, 0, 1});
    EXPECT_EQ(*bench.At<int32_t>(Space::kUb, 32), c.out) << c.in;
  }
  // 16-bit floats: the neighbours of 1 are 2^-10 above and 2^-11 below.
  struct Half {
    Rounding rounding;
    float in;
    uint16_t out;
  };
  const float above = 1 + 0x1p-12f, below = -1 - 0x1p-12f;
  for (const Half &c :
       {Half{Rounding::kRint, above, 0x3c00}, Half{Rounding::kFloor, above, 0x3c00},
        Half{Rounding::kCeil, above, 0x3c01}, Half{Rounding::kTrunc, above, 0x3c00},
        Half{Rounding::kFloor, below, 0xbc01}, Half{Rounding::kCeil, below, 0xbc00},
        Half{Rounding::kTrunc, below, 0xbc00}, Half{Rounding::kRound, 1 + 0x1p-11f, 0x3c01},
        Half{Rounding::kRint, 1 + 0x1p-11f, 0x3c00}, Half{Rounding::kNone, 1e9f, 0x7c00},
        Half{Rounding::kFloor, 1e9f, 0x7bff}, Half{Rounding::kRound, 65519, 0x7bff},
        Half{Rounding::kRound, 65520, 0x7c00}}) {
    Bench bench(false);
    *bench.At<float>(Space::kUb, 0) = c.in;
    bench.Run(PipeOp::kVCast, D(Type::kF16, Type::kF32, Space::kUb, static_cast<int>(c.rounding)),
              {32, 0, 1});
    EXPECT_EQ(*bench.At<uint16_t>(Space::kUb, 32), c.out)
        << c.in << " mode " << static_cast<int>(c.rounding);
  }
}

TEST(VectorTest, CastsWidenInPlaceAndChangeSigns) {
  Bench bench(false);
  for (int i = 0; i < 40; ++i)
    bench.At<int32_t>(Space::kUb, 0)[i] = i * 1000 - 20000;
  bench.Run(PipeOp::kVCast, D(Type::kI64, Type::kI32), {1024, 0, 40});
  bench.Run(PipeOp::kVCast, D(Type::kI16, Type::kI32), {2048, 0, 40});
  bench.Run(PipeOp::kVCast, D(Type::kF32, Type::kI64), {4096, 1024, 40});
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(bench.At<int64_t>(Space::kUb, 1024)[i], i * 1000 - 20000);
    EXPECT_EQ(bench.At<int16_t>(Space::kUb, 2048)[i], i * 1000 - 20000);
    EXPECT_EQ(bench.At<float>(Space::kUb, 4096)[i], static_cast<float>(i * 1000 - 20000));
  }
  *bench.At<uint8_t>(Space::kUb, 0) = 200;
  bench.Run(PipeOp::kVCast, D(Type::kF16, Type::kU8), {32, 0, 1});
  EXPECT_EQ(HalfToFloat(*bench.At<uint16_t>(Space::kUb, 32)), 200);
  bench.Run(PipeOp::kVCast, D(Type::kF16, Type::kI8), {32, 0, 1});
  EXPECT_EQ(HalfToFloat(*bench.At<uint16_t>(Space::kUb, 32)), -56);
}

TEST(VectorTest, OperandsThatOverlapInPartAreRefused) {
  Descriptor d = D(Type::kF32);
  d.op = PipeOp::kVBinary;
  Operation o;
  o.descriptor = &d;
  std::vector<Access> accesses;
  for (auto [dst, ok] : {std::pair<int64_t, bool>{0, true}, {32, false}, {256, true}}) {
    const int64_t v[] = {dst, 0, 4096, 64};
    std::copy(std::begin(v), std::end(v), o.v);
    EXPECT_EQ(AccessesOf(o, accesses).empty(), ok) << dst;
  }
}

} // namespace
} // namespace pyasc::sim
