// The exporter and the simulator together: npu text in, numbers out.
#include <cmath>
#include <functional>
#include <set>

#include "tests/sim/sim_harness.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace pyasc::tests {
namespace {

using sim::Bytes;
using sim::Values;
using ::testing::HasSubstr;

using Buffers = std::vector<std::vector<std::byte>>;

// A synced module of one function.
std::string Module(const std::string &arguments, const std::string &body,
                   const std::string &core = "aiv") {
  return "module attributes {npu.soc = \"ascend910b3\", npu.stage = \"synced\"} {\n"
         "func.func @main(" +
         arguments + ") attributes {npu.core = \"" + core + "\", npu.blocks = 1 : i64} {\n" + body +
         "return\n}\n}\n";
}

std::string Gm(const std::string &name, int64_t n, const std::string &type = "f32") {
  return name + ": memref<" + std::to_string(n) + "x" + type + ", #npu.space<gm>>";
}

// Index constants %c0, %c1, ...
std::string Constants(const std::set<int64_t> &values) {
  std::string text;
  for (int64_t v : values)
    text += "%c" + std::to_string(v) + " = arith.constant " + std::to_string(v) + " : index\n";
  return text;
}

// Runs `body`, which yields %r, on scalars loaded from in[0], in[1] of `type`; result of `to`.
template <typename T, typename R>
R Scalar(const std::string &type, const std::string &to, const std::string &body, T x, T y = T{}) {
  std::string in = "memref<2x" + type + ", #npu.space<gm>>";
  std::string out = "memref<1x" + to + ", #npu.space<gm>>";
  Buffers buffers = {Bytes(std::vector<T>{x, y}), Bytes(std::vector<R>(1))};
  auto outcome =
      RunText(Module("%in: " + in + ", %out: " + out,
                     Constants({0, 1}) + "%x = memref.load %in[%c0] : " + in +
                         "\n%y = memref.load %in[%c1] : " + in + "\n" + body +
                         "\nmemref.store %r, %out[%c0] : " + out + "\nnpu.dcache_flush\n"),
              buffers);
  EXPECT_TRUE(outcome.ok()) << outcome.status() << "\n" << body;
  return Values<R>(buffers[1])[0];
}

TEST(ExportSimTest, IntegerArithmeticWrapsAndKeepsItsSign) {
  auto i8 = [](const std::string &op, int8_t x, int8_t y) {
    return Scalar<int8_t, int8_t>("i8", "i8", "%r = " + op + " %x, %y : i8", x, y);
  };
  EXPECT_EQ(i8("arith.addi", 100, 100), -56);
  EXPECT_EQ(i8("arith.divui", -1, 2), 127);
  EXPECT_EQ(i8("arith.remsi", -7, 3), -1);
  EXPECT_EQ(i8("arith.floordivsi", -7, 2), -4);
  EXPECT_EQ(i8("arith.shrui", -2, 1), 127);
  EXPECT_EQ(i8("arith.minui", -1, 5), 5);
  EXPECT_EQ(i8("arith.maxsi", -1, 5), 5);
  auto convert = [](const std::string &body, int32_t x) {
    return Scalar<int32_t, int64_t>("i32", "i64", body, x);
  };
  EXPECT_EQ(convert("%r = arith.extsi %x : i32 to i64", -5), -5);
  EXPECT_EQ(convert("%r = arith.extui %x : i32 to i64", -5), 4294967291);
  EXPECT_EQ(convert("%t = arith.trunci %x : i32 to i8\n%r = arith.extsi %t : i8 to i64", 200), -56);
  EXPECT_EQ(convert("%t = arith.trunci %x : i32 to i1\n%r = arith.extsi %t : i1 to i64", 3), -1);
  EXPECT_EQ(convert("%t = arith.trunci %x : i32 to i1\n%r = arith.extui %t : i1 to i64", 3), 1);
  EXPECT_EQ(convert("%t = arith.index_cast %x : i32 to index\n%u = arith.muli %t, %t : index\n"
                    "%r = arith.index_cast %u : index to i64",
                    -100000),
            10000000000);
  EXPECT_EQ(convert("%t = arith.cmpi ult, %x, %y : i32\n%r = arith.extui %t : i1 to i64", -1), 0);
  EXPECT_EQ(convert("%t = arith.cmpi slt, %x, %y : i32\n%r = arith.extui %t : i1 to i64", -1), 1);
  EXPECT_EQ(convert("%t = math.absi %x : i32\n%r = arith.extsi %t : i32 to i64", INT32_MIN),
            INT32_MIN);
}

TEST(ExportSimTest, FloatArithmeticOfEveryWidth) {
  auto f32 = [](const std::string &op, float x, float y) {
    return Scalar<float, float>("f32", "f32", "%r = " + op + " %x, %y : f32", x, y);
  };
  EXPECT_EQ(f32("arith.addf", 1.5f, 2), 3.5f);
  EXPECT_EQ(f32("arith.divf", 1, 3), 1.0f / 3);
  EXPECT_TRUE(std::isnan(f32("arith.maximumf", NAN, 3)));
  EXPECT_EQ(f32("arith.maxnumf", NAN, 3), 3);
  EXPECT_EQ(f32("math.powf", 2, 10), 1024);
  EXPECT_EQ((Scalar<float, float>("f32", "f32", "%r = math.exp %x : f32", 1)), std::exp(1.0f));
  // 0x3c00 is 1.0, 0x1400 is 2^-10, the step above 1.
  auto f16 = [](const std::string &op, uint16_t x, uint16_t y) {
    return Scalar<uint16_t, uint16_t>("f16", "f16", "%r = " + op + " %x, %y : f16", x, y);
  };
  EXPECT_EQ(f16("arith.addf", 0x3c00, 0x1400), 0x3c01);
  EXPECT_EQ(f16("arith.subf", 0x3c00, 0x3c00), 0);
  EXPECT_EQ((Scalar<uint16_t, float>("bf16", "f32", "%r = arith.extf %x : bf16 to f32", 0x4049)),
            3.140625f);
  EXPECT_EQ((Scalar<float, int32_t>("f32", "i32", "%r = arith.fptosi %x : f32 to i32", -2.7f)), -2);
  EXPECT_EQ((Scalar<int32_t, float>("i32", "f32", "%r = arith.uitofp %x : i32 to f32", -1)),
            4294967296.0f);
  EXPECT_EQ((Scalar<int32_t, uint16_t>("i32", "f16", "%r = arith.sitofp %x : i32 to f16", 2049)),
            0x6800);
  EXPECT_EQ((Scalar<float, int32_t>("f32", "i32", "%r = arith.bitcast %x : f32 to i32", -1)),
            static_cast<int32_t>(0xbf800000));
  EXPECT_EQ((Scalar<float, float>("f32", "f32",
                                  "%z = arith.constant -0.0 : f32\n%c = arith.cmpf ogt, %x, %y : "
                                  "f32\n%r = arith.select %c, %x, %z : f32",
                                  1, 2)),
            0);
}

TEST(ExportSimTest, LoopsBranchesAndVariables) {
  // Fibonacci by swapping carried values, Collatz by a while loop, a variable that counts.
  const std::string out = "memref<4xi64, #npu.space<gm>>";
  Buffers buffers = {Bytes(std::vector<int64_t>(4))};
  auto outcome = RunText(Module("%out: " + out, Constants({0, 1, 2, 3, 10}) + R"(
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %three = arith.constant 3 : i64
    %count = memref.alloca() : memref<i64>
    memref.store %zero, %count[] : memref<i64>
    %fib:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %zero, %b = %one) -> (i64, i64) {
      %sum = arith.addi %a, %b : i64
      scf.yield %b, %sum : i64, i64
    }
    %swap:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %one, %b = %two) -> (i64, i64) {
      scf.yield %b, %a : i64, i64
    }
    %start = arith.constant 27 : i64
    %end = scf.while (%n = %start) : (i64) -> i64 {
      %more = arith.cmpi ne, %n, %one : i64
      scf.condition(%more) %n : i64
    } do {
    ^bb0(%n: i64):
      %steps = memref.load %count[] : memref<i64>
      %next_steps = arith.addi %steps, %one : i64
      memref.store %next_steps, %count[] : memref<i64>
      %bit = arith.andi %n, %one : i64
      %odd = arith.cmpi eq, %bit, %one : i64
      %next = scf.if %odd -> i64 {
        %t = arith.muli %n, %three : i64
        %u = arith.addi %t, %one : i64
        scf.yield %u : i64
      } else {
        %h = arith.divsi %n, %two : i64
        scf.yield %h : i64
      }
      scf.yield %next : i64
    }
    %steps = memref.load %count[] : memref<i64>
    memref.store %fib#0, %out[%c0] : memref<4xi64, #npu.space<gm>>
    memref.store %swap#0, %out[%c1] : memref<4xi64, #npu.space<gm>>
    memref.store %steps, %out[%c2] : memref<4xi64, #npu.space<gm>>
    memref.store %end, %out[%c3] : memref<4xi64, #npu.space<gm>>
    npu.dcache_flush
)"),
                         buffers);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(Values<int64_t>(buffers[0]), (std::vector<int64_t>{55, 2, 111, 1}));
}

TEST(ExportSimTest, WhatHasNoFormIsRefusedAtItsLine) {
  auto refused = [](const std::string &body) {
    auto function = ExportText(Module(Gm("%a", 4), body));
    EXPECT_EQ(function.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(function.status().message());
  };
  EXPECT_THAT(refused("%x = memref.alloc() : memref<4xf32> loc(\"0\":17:3)\n"),
              HasSubstr("line 17: the simulator has no form of the operation 'memref.alloc'"));
  EXPECT_THAT(refused("%x = memref.alloca() : memref<4xf32>\n"), HasSubstr("memref.alloca"));
  EXPECT_THAT(refused("%x = arith.constant dense<0.0> : vector<4xf32>\n"),
              HasSubstr("arith.constant"));
  EXPECT_THAT(refused("%x = npu.buffer : memref<64xf32, #npu.space<ub>>\n"),
              HasSubstr("no address"));
  std::string planned = Module("", "");
  planned.replace(planned.find("synced"), 6, "placed");
  EXPECT_THAT(std::string(ExportText(planned).status().message()), HasSubstr("synced"));
}

// ------------------------------------------------------------------------------ composite ops

// Loads in (n elements) to UB, runs `body` on %x, stores %y (m elements) to out. Other values:
// %t (tmp), %b (the same elements as %x again), constants.
std::vector<float> Vector(const std::vector<float> &in, int64_t m, const std::string &body) {
  const auto n = static_cast<int64_t>(in.size());
  auto ub = [](int64_t size) { return "memref<" + std::to_string(size) + "xf32, #npu.space<ub>>"; };
  std::string text = Constants({0, 1, n, m});
  text += "%x = npu.buffer addr 0 : " + ub(n) + "\n";
  text += "%y = npu.buffer addr 65536 : " + ub(m) + "\n";
  text += "%t = npu.buffer addr 131072 : " + ub(12288) + "\n";
  const std::string n_text = "%c" + std::to_string(n), m_text = "%c" + std::to_string(m);
  text += "npu.load %x[%c0], %in[%c0] count %c1 len " + n_text + " src_stride " + n_text +
          " dst_stride " + n_text + " : " + ub(n) + ", memref<" + std::to_string(n) +
          "xf32, #npu.space<gm>>\nnpu.pipe_barrier ALL\n" + body + "npu.pipe_barrier ALL\n";
  text += "npu.store %out[%c0], %y[%c0] count %c1 len " + m_text + " dst_stride " + m_text +
          " src_stride " + m_text + " : memref<" + std::to_string(m) + "xf32, #npu.space<gm>>, " +
          ub(m) + "\n";
  Buffers buffers = {Bytes(in), Bytes(std::vector<float>(m, -7777))};
  auto outcome = RunText(Module(Gm("%in", n) + ", " + Gm("%out", m), text), buffers);
  EXPECT_TRUE(outcome.ok()) << outcome.status() << text;
  return Values<float>(buffers[1]);
}

std::string Type(int64_t n) { return "memref<" + std::to_string(n) + "xf32, #npu.space<ub>>"; }

struct RowShape {
  int64_t rows, cols, stride;
};
// Narrow, exactly one and two chunks, several with a rest, many rows, wide strides.
const RowShape kRowShapes[] = {{1, 1, 8},     {5, 20, 24},   {3, 64, 64},    {4, 65, 72},
                               {2, 128, 128}, {3, 100, 104}, {7, 333, 336},  {300, 5, 8},
                               {256, 16, 16}, {3, 70, 2048}, {5, 2060, 2064}};

std::vector<float> Matrix(const RowShape &shape) {
  std::vector<float> in(shape.rows * shape.stride);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<float>(static_cast<int64_t>(i * 7919 % 211) - 105);
  return in;
}

// Makes a size a run-time value, so that the exporter cannot fold it: the same number by way of
// the number of blocks, which is 1.
std::string Size(const std::string &name, int64_t value, bool run_time) {
  std::string text =
      name + (run_time ? "_k" : "") + " = arith.constant " + std::to_string(value) + " : index\n";
  if (run_time)
    text += name + "_b = npu.num_blocks\n" + name + " = arith.muli " + name + "_k, " + name +
            "_b : index\n";
  return text;
}

TEST(ExportSimTest, RowReductionsOfEveryShape) {
  for (const RowShape &shape : kRowShapes)
    for (bool run_time : {false, true})
      for (const char *op : {"sum", "max", "min"}) {
        const std::vector<float> in = Matrix(shape);
        const auto out =
            Vector(in, shape.rows,
                   Size("%rows", shape.rows, run_time) + Size("%cols", shape.cols, run_time) +
                       Size("%stride", shape.stride, run_time) + "npu.vrow_reduce " + op +
                       " %y[%c0], %x[%c0] tmp %t[%c0] rows %rows cols %cols "
                       "row_stride %stride : " +
                       Type(shape.rows) + ", " + Type(static_cast<int64_t>(in.size())) + ", " +
                       Type(12288) + "\n");
        for (int64_t r = 0; r < shape.rows; ++r) {
          float expected = in[r * shape.stride];
          for (int64_t c = 1; c < shape.cols; ++c) {
            const float x = in[r * shape.stride + c];
            expected = *op == 's' ? expected + x
                                  : (op[1] == 'a' ? std::max(expected, x) : std::min(expected, x));
          }
          ASSERT_EQ(out[r], expected)
              << op << " row " << r << " of " << shape.rows << "x" << shape.cols << " stride "
              << shape.stride << " run time " << run_time;
        }
      }
}

TEST(ExportSimTest, OneOperandARowAndOneAColumn) {
  for (const RowShape &shape : kRowShapes)
    for (bool run_time : {false, true})
      for (bool by_row : {true, false})
        for (bool reverse : {false, true}) {
          const std::vector<float> in = Matrix(shape);
          const auto n = static_cast<int64_t>(in.size());
          // b is the start of the matrix itself: rows or cols of its elements, dense.
          if (RowShape{shape}.stride < (by_row ? 1 : shape.cols) ||
              n < (by_row ? (shape.rows + 7) / 8 * 8 : shape.cols))
            continue;
          const std::string op = by_row ? "npu.vrow_binary" : "npu.vcol_binary";
          const auto out = Vector(
              in, n,
              Size("%rows", shape.rows, run_time) + Size("%cols", shape.cols, run_time) +
                  Size("%stride", shape.stride, run_time) + op + " sub %y[%c0], %x[%c0], %x[%c0] " +
                  (by_row ? "tmp %t[%c0] " : "") + "rows %rows cols %cols row_stride %stride " +
                  (reverse ? "reverse " : "") + ": " + Type(n) + ", " + Type(n) + ", " + Type(n) +
                  (by_row ? ", " + Type(12288) : "") + "\n");
          for (int64_t r = 0; r < shape.rows; ++r)
            for (int64_t c = 0; c < shape.cols; ++c) {
              const float a = in[r * shape.stride + c], b = in[by_row ? r : c];
              ASSERT_EQ(out[r * shape.stride + c], reverse ? b - a : a - b)
                  << op << " " << r << "," << c << " of " << shape.rows << "x" << shape.cols
                  << " stride " << shape.stride << " run time " << run_time;
            }
        }
}

TEST(ExportSimTest, SlotsAlternateByIteration) {
  // Four slots' worth of constants go through two slots; the last two remain.
  const auto out = Vector(std::vector<float>(8), 16, R"(
    %c4 = arith.constant 4 : index
    %c2 = arith.constant 2 : index
    %slots = npu.buffer depth 2 addr 160000 : memref<8xf32, #npu.space<ub>>
    scf.for %i = %c0 to %c4 step %c1 {
      %s = npu.slot %slots[%i] : memref<8xf32, #npu.space<ub>>
      %j = arith.index_cast %i : index to i32
      %v = arith.sitofp %j : i32 to f32
      npu.vdup %s[%c0], %v count %c8 : memref<8xf32, #npu.space<ub>>, f32
    }
    npu.pipe_barrier V
    %zero = arith.constant 0.0 : f32
    scf.for %i = %c0 to %c2 step %c1 {
      %s = npu.slot %slots[%i] : memref<8xf32, #npu.space<ub>>
      %at = arith.muli %i, %c8 : index
      npu.vscalar adds %y[%at], %s[%c0], %zero count %c8
        : memref<16xf32, #npu.space<ub>>, memref<8xf32, #npu.space<ub>>, f32
    }
)");
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(out[15], 3);
}

} // namespace
} // namespace pyasc::tests
