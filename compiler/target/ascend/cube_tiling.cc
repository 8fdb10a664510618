#include "compiler/target/ascend/cube_tiling.h"

#include <algorithm>
#include <limits>

namespace pyasc::npu {

namespace {

constexpr int64_t kFractal = 16;
// Results are f32 while they accumulate.
constexpr int64_t kAccumulatorBytes = 4;
// Longest panel in L1 along k, in bytes of a row: long rows load well, but the first load of a
// core hides behind nothing.
constexpr int64_t kPanelRowBytes = 1024;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }
int64_t roundDown(int64_t a, int64_t b) { return a / b * b; }

// Fills in k sizes and slots for a tile of m x n; false when it does not fit.
bool fit(const CubeProblem &problem, const machine::Soc &soc, CubeTiling &tile) {
  int64_t size = problem.element_bytes, k = roundUp(problem.k, kFractal);
  int64_t accumulator = tile.m * tile.n * kAccumulatorBytes;
  if (accumulator > soc.l0c_bytes)
    return false;
  tile.l0c_slots = 2 * accumulator <= soc.l0c_bytes ? 2 : 1;
  int64_t a = soc.l0a_bytes / 2 / (tile.m * size), b = soc.l0b_bytes / 2 / (tile.n * size);
  tile.k_l0 = std::min({roundDown(a, kFractal), roundDown(b, kFractal), k});
  if (tile.k_l0 < kFractal)
    return false;
  int64_t panel = soc.l1_bytes / 2 / ((tile.m + tile.n) * size);
  panel = std::min({panel, std::max(kPanelRowBytes / size, tile.k_l0), roundUp(k, tile.k_l0)});
  tile.k_l1 = roundDown(panel, tile.k_l0);
  return tile.k_l1 >= tile.k_l0;
}

// Cycles of the slowest core, as the busiest pipe of a tile times the tiles it gets.
double cost(const CubeProblem &problem, const machine::Soc &soc, const CubeTiling &tile) {
  double size = problem.element_bytes;
  double k = static_cast<double>(problem.k) * problem.outer_k;
  int64_t tiles = ceilDiv(problem.m, tile.m) * ceilDiv(problem.n, tile.n) * problem.batches;
  double waves = ceilDiv(tiles, soc.cube_cores);

  double unit = size == 4 ? soc.cube.k_fp32 : soc.cube.k_fp16;
  double mmads = ceilDiv(problem.k, tile.k_l0) * problem.outer_k;
  double cube = tile.m / 16.0 * (tile.n / 16.0) * k / unit + mmads * soc.cube.pipelined_cycles;
  const machine::PathCost &toA = soc.path("l1_to_l0a"), &toB = soc.path("l1_to_l0b");
  double mte1 = k * size * (tile.m / toA.bytes_per_cycle + tile.n / toB.bytes_per_cycle) +
                mmads * (toA.instruction_cycles + toB.instruction_cycles);
  double bytes = k * size * (tile.m + tile.n);
  double mte2 = bytes / soc.gm.l2_shared_read_bytes_per_cycle;
  double fix = tile.m * tile.n * static_cast<double>(kAccumulatorBytes) /
               soc.path("l0c_to_gm").bytes_per_cycle;

  // The other pipes count a little: they do not overlap perfectly, and less traffic is better.
  double busiest = std::max({cube, mte1, mte2});
  busiest += 0.05 * (cube + mte1 + mte2 - busiest) + (tile.l0c_slots == 1 ? fix : 0);
  double first = tile.k_l1 * size * (tile.m + tile.n) / soc.gm.l2_shared_read_bytes_per_cycle;
  // All cores together share the L2.
  double shared = tiles * bytes / soc.gm.l2_gb_per_s * soc.clock_ghz;
  return std::max(waves * busiest, shared) + first + fix;
}

} // namespace

CubeTiling chooseCubeTiling(const CubeProblem &problem, const machine::Soc &soc) {
  CubeTiling best;
  double least = std::numeric_limits<double>::infinity();
  int64_t most = soc.l0c_bytes / kAccumulatorBytes / kFractal;
  for (int64_t m = kFractal; m <= std::min(roundUp(problem.m, kFractal), most); m += kFractal) {
    for (int64_t n = kFractal; n <= std::min(roundUp(problem.n, kFractal), most); n += kFractal) {
      CubeTiling tile{.m = m, .n = n};
      if (!fit(problem, soc, tile))
        break; // larger n does not fit either
      double cycles = cost(problem, soc, tile);
      if (cycles < least) {
        least = cycles;
        best = tile;
      }
    }
  }
  int64_t tiles = ceilDiv(problem.m, best.m) * ceilDiv(problem.n, best.n) * problem.batches;
  best.blocks = std::min<int64_t>(tiles, soc.cube_cores);
  return best;
}

} // namespace pyasc::npu
