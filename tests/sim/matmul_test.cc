// A whole matmul on the cube cores, written as an npu module: the answer, the speed of the
// simulation and the plausibility of its times.
#include <cmath>
#include <ctime>
#include <map>

#include "tests/sim/sim_harness.h"
#include "gtest/gtest.h"

namespace pyasc::tests {
namespace {

using sim::Bytes;
using sim::Values;

// C[m,n] = A[m,k] x B[k,n], float32; a block computes tiles block, block + blocks, ...; L1 and L0
// in two slots with flags, so that loads, L0 loads and mmads overlap.
std::string Matmul(int64_t m, int64_t n, int64_t k, int64_t tm, int64_t tn, int64_t tk) {
  auto gm = [](int64_t e) { return "memref<" + std::to_string(e) + "xf32, #npu.space<gm>>"; };
  auto on = [](int64_t e, const char *space) {
    return "memref<" + std::to_string(e) + "xf32, #npu.space<" + space + ">>";
  };
  std::map<std::string, std::string> words = {{"$A", gm(m * k)},
                                              {"$B", gm(k * n)},
                                              {"$C", gm(m * n)},
                                              {"$L1A", on(tm * tk, "l1")},
                                              {"$L1B", on(tk * tn, "l1")},
                                              {"$L0A", on(tm * tk, "l0a")},
                                              {"$L0B", on(tk * tn, "l0b")},
                                              {"$L0C", on(tm * tn, "l0c")},
                                              {"$m", std::to_string(m)},
                                              {"$n", std::to_string(n)},
                                              {"$k", std::to_string(k)},
                                              {"$tm", std::to_string(tm)},
                                              {"$tn", std::to_string(tn)},
                                              {"$tk", std::to_string(tk)},
                                              {"$tiles", std::to_string((m / tm) * (n / tn))},
                                              {"$columns", std::to_string(n / tn)},
                                              {"$l1b", std::to_string(2 * tm * tk * 4)}};
  std::string text = R"(
module attributes {npu.soc = "ascend910b3", npu.stage = "synced"} {
func.func @matmul(%A: $A, %B: $B, %C: $C) attributes {npu.core = "aic", npu.blocks = 20 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = arith.constant $n : index
  %k = arith.constant $k : index
  %tm = arith.constant $tm : index
  %tn = arith.constant $tn : index
  %tk = arith.constant $tk : index
  %tiles = arith.constant $tiles : index
  %columns = arith.constant $columns : index
  %l1a = npu.buffer depth 2 addr 0 : $L1A
  %l1b = npu.buffer depth 2 addr $l1b : $L1B
  %l0a = npu.buffer depth 2 addr 0 : $L0A
  %l0b = npu.buffer depth 2 addr 0 : $L0B
  %l0c = npu.buffer addr 0 : $L0C
  %block = npu.block_idx
  %blocks = npu.num_blocks
  npu.set_flag MTE1 -> MTE2, %c0
  npu.set_flag MTE1 -> MTE2, %c1
  npu.set_flag M -> MTE1, %c0
  npu.set_flag M -> MTE1, %c1
  npu.set_flag FIX -> M, %c0
  scf.for %tile = %block to %tiles step %blocks {
    %row = arith.divui %tile, %columns : index
    %col = arith.remui %tile, %columns : index
    %i = arith.muli %row, %tm : index
    %j = arith.muli %col, %tn : index
    %ik = arith.muli %i, %k : index
    npu.wait_flag FIX -> M, %c0
    scf.for %kk = %c0 to %k step %tk {
      %step = arith.divui %kk, %tk : index
      %id = arith.remui %step, %c2 : index
      %a1 = npu.slot %l1a[%step] : $L1A
      %b1 = npu.slot %l1b[%step] : $L1B
      %a0 = npu.slot %l0a[%step] : $L0A
      %b0 = npu.slot %l0b[%step] : $L0B
      %from_a = arith.addi %ik, %kk : index
      %kn = arith.muli %kk, %n : index
      %from_b = arith.addi %kn, %j : index
      npu.wait_flag MTE1 -> MTE2, %id
      npu.load_nd2nz %a1[%c0], %A[%from_a] rows %tm cols %tk src_stride %k dst_rows %tm
        : $L1A, $A
      npu.load_nd2nz %b1[%c0], %B[%from_b] rows %tk cols %tn src_stride %n dst_rows %tk
        : $L1B, $B
      npu.set_flag MTE2 -> MTE1, %id
      npu.wait_flag MTE2 -> MTE1, %id
      npu.wait_flag M -> MTE1, %id
      npu.load_l0 %a0[%c0], %a1[%c0] extent %tm k %tk src_rows %tm : $L0A, $L1A
      npu.load_l0 %b0[%c0], %b1[%c0] extent %tn k %tk src_rows %tk transpose : $L0B, $L1B
      npu.set_flag MTE1 -> MTE2, %id
      npu.set_flag MTE1 -> M, %id
      npu.wait_flag MTE1 -> M, %id
      %init = arith.cmpi eq, %kk, %c0 : index
      npu.mmad %l0c[%c0], %a0[%c0], %b0[%c0] m %tm n %tn k %tk init %init
        : $L0C, $L0A, $L0B
      npu.set_flag M -> MTE1, %id
    }
    npu.set_flag M -> FIX, %c0
    npu.wait_flag M -> FIX, %c0
    %in = arith.muli %i, %n : index
    %to = arith.addi %in, %j : index
    npu.fixpipe %C[%to], %l0c[%c0] m %tm n %tn dst_stride %n src_rows %tm : $C, $L0C
    npu.set_flag FIX -> M, %c0
  }
  npu.wait_flag MTE1 -> MTE2, %c0
  npu.wait_flag MTE1 -> MTE2, %c1
  npu.wait_flag M -> MTE1, %c0
  npu.wait_flag M -> MTE1, %c1
  npu.wait_flag FIX -> M, %c0
  npu.pipe_barrier ALL
  return
}
}
)";
  // Longest words first, so that $tm is not taken for $t and an m.
  for (auto it = words.rbegin(); it != words.rend(); ++it)
    for (size_t at = 0; (at = text.find(it->first, at)) != std::string::npos;)
      text.replace(at, it->first.size(), it->second);
  return text;
}

struct Problem {
  Problem(int64_t m, int64_t n, int64_t k) : a(m * k), b(k * n) {
    // Small integers: every sum is exact, so the order of additions does not matter.
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = static_cast<float>(static_cast<int64_t>(i * 2654435761u % 17) - 8);
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = static_cast<float>(static_cast<int64_t>(i * 40503u % 13) - 6);
    buffers = {Bytes(a), Bytes(b), Bytes(std::vector<float>(m * n, NAN))};
  }
  std::vector<float> a, b;
  std::vector<std::vector<std::byte>> buffers;
};

TEST(SimMatmulTest, TilesOnEveryCoreGiveTheProduct) {
  const int64_t m = 256, n = 384, k = 320;
  Problem p(m, n, k);
  auto outcome = RunText(Matmul(m, n, k, 64, 128, 64), p.buffers, 20);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const auto c = Values<float>(p.buffers[2]);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float expected = 0;
      for (int64_t x = 0; x < k; ++x)
        expected += p.a[i * k + x] * p.b[x * n + j];
      ASSERT_EQ(c[i * n + j], expected) << i << "," << j;
    }
}

TEST(SimMatmulTest, AThousandCubedTakesLessThanASecondOfCpuTime) {
  const int64_t n = 1024;
  Problem p(n, n, n);
  const std::string text = Matmul(n, n, n, 128, 128, 64);
  const std::clock_t start = std::clock();
  auto outcome = RunText(text, p.buffers, 20);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const double us = outcome->phases[0].time_us();
  std::printf("%.3f s of CPU time for %.1f us, %.0f GFLOP/s simulated\n", seconds, us,
              2e-3 * n * n * n / us);
#ifdef NDEBUG // the bound is for optimised code
  EXPECT_LT(seconds, 1);
#endif
  // Rows of the result against a sum in another order.
  const auto c = Values<float>(p.buffers[2]);
  for (int64_t i : {0, 511, 1023})
    for (int64_t j = 0; j < n; ++j) {
      double expected = 0;
      for (int64_t x = 0; x < n; ++x)
        expected += p.a[i * n + x] * p.b[x * n + j];
      ASSERT_EQ(c[i * n + j], expected);
    }
  // A cube core does 1024 multiply-adds of float32 a cycle: no fewer cycles than that, and 64
  // tiles on 20 cores in no more than a few times as many.
  const double ideal_us = 4.0 * 128 * 128 * 1024 / 1024 / 1800;
  EXPECT_GT(us, ideal_us);
  EXPECT_LT(us, 4 * ideal_us);
}

} // namespace
} // namespace pyasc::tests
