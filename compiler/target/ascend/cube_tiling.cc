#include "compiler/target/ascend/cube_tiling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

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
  // Equal pieces.
  tile.k_l0 = roundUp(ceilDiv(k, ceilDiv(k, tile.k_l0)), kFractal);
  int64_t panel = soc.l1_bytes / 2 / ((tile.m + tile.n) * size);
  panel = std::min({panel, std::max(kPanelRowBytes / size, tile.k_l0), roundUp(k, tile.k_l0)});
  tile.k_l1 = roundDown(panel, tile.k_l0);
  // Rows of whole lines of L2.
  int64_t line = std::lcm(soc.gm.l2_line_bytes / size, tile.k_l0);
  if (tile.k_l1 > line)
    tile.k_l1 = roundDown(tile.k_l1, line);
  return tile.k_l1 >= tile.k_l0;
}

// Cycles that the panels of one operand take to come, `extent` high along m (n): each row is a
// request for every line of L2 that it touches.
double panelCycles(int64_t extent, bool along_k, double k, const CubeTiling &tile, double size,
                   const machine::Soc &soc, double rate) {
  double rows = along_k ? k : extent * std::ceil(k / tile.k_l1);
  double bytes = size * (along_k ? extent : std::min<double>(k, tile.k_l1));
  double line = soc.gm.l2_line_bytes, lines = std::ceil(bytes / line);
  if (std::fmod(bytes, line) != 0)
    lines += 0.5; // a row may begin and end within lines
  return rows * std::max(bytes / rate, lines * soc.path("gm_to_l1").request_cycles);
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
  double mte1 = k * size * (tile.m / toA.bytes_per_cycle + tile.n / toB.bytes_per_cycle) *
                    soc.cube.load_l0_factor +
                mmads * (toA.instruction_cycles + toB.instruction_cycles);
  // One side's panels are this core's own, the other's are shared with all cores.
  double bytes = k * size * (tile.m + tile.n);
  double own_rate = soc.gm.l2_read_bytes_per_cycle;
  double other_rate = soc.gm.l2_shared_read_bytes_per_cycle;
  double mte2 = panelCycles(tile.m, problem.transposed_a, k, tile, size, soc,
                            tile.along_m ? other_rate : own_rate) +
                panelCycles(tile.n, problem.transposed_b, k, tile, size, soc,
                            tile.along_m ? own_rate : other_rate);
  double fix = std::max(tile.m * tile.n * static_cast<double>(kAccumulatorBytes) /
                            soc.path("l0c_to_gm").bytes_per_cycle,
                        tile.m * soc.path("l0c_to_gm").request_cycles);

  // The other pipes count a little: they do not overlap perfectly, and less traffic is better.
  double busiest = std::max({cube, mte1, mte2});
  busiest += 0.05 * (cube + mte1 + mte2 - busiest) + (tile.l0c_slots == 1 ? fix : 0);
  double first = tile.k_l1 * size * (tile.m + tile.n) / soc.gm.l2_shared_read_bytes_per_cycle;
  // All cores together share the L2.
  double shared = tiles * bytes / soc.gm.l2_gb_per_s * soc.clock_ghz;
  return std::max(waves * busiest, shared) + first + fix;
}

} // namespace

CubeTiling chooseCubeTiling(const CubeProblem &problem, const machine::Soc &soc, int64_t rows) {
  CubeTiling best;
  double least = std::numeric_limits<double>::infinity();
  int64_t most = soc.l0c_bytes / kAccumulatorBytes / kFractal;
  for (int64_t m = kFractal; m <= std::min(roundUp(problem.m, kFractal), most); m += kFractal) {
    if (rows != 0 && m != rows)
      continue;
    for (int64_t n = kFractal; n <= std::min(roundUp(problem.n, kFractal), most); n += kFractal) {
      CubeTiling tile{.m = m, .n = n};
      if (!fit(problem, soc, tile))
        break; // larger n does not fit either
      tile.along_m = tile.m <= tile.n;
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
