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
// Elements between the rows of one load at most.
constexpr int64_t kLongestPitch = 65535;

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

// Cycles of a row: a request for every line of L2 that it touches, wherever rows begin that are
// `pitch` bytes apart. A mean over these places.
double rowCycles(int64_t bytes, int64_t pitch, const machine::Soc &soc, double rate) {
  // Finer steps change little.
  constexpr int64_t kStep = 32;
  const int64_t line = soc.gm.l2_line_bytes;
  const int64_t step = std::max(std::gcd(line, std::gcd(bytes, pitch)), kStep);
  auto request = [&](int64_t part) {
    return part == 0
               ? 0
               : std::max(soc.path("gm_to_l1").request_cycles, static_cast<double>(part) / rate);
  };
  const double whole = request(line);
  double cycles = 0;
  for (int64_t start = 0; start < line; start += step) {
    const int64_t first = std::min(bytes, line - start), rest = bytes - first;
    cycles += request(first) + static_cast<double>(rest / line) * whole + request(rest % line);
  }
  return cycles * static_cast<double>(step) / static_cast<double>(line);
}

// Cycles that the panels of one operand take to come, `extent` high along m (n).
double panelCycles(int64_t extent, bool along_k, double k, int64_t pitch, const CubeTiling &tile,
                   int64_t size, const machine::Soc &soc, double rate) {
  double rows = along_k ? k : extent * std::ceil(k / tile.k_l1);
  int64_t elements = along_k ? extent : std::min(static_cast<int64_t>(k), tile.k_l1);
  double row = rowCycles(elements * size, pitch * size, soc, rate);
  // Rows too far apart are an instruction each.
  if (pitch > kLongestPitch)
    row = std::max(row, soc.path("gm_to_l1").instruction_cycles);
  return rows * row;
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
  double bytes = k * size * (tile.m + tile.n);
  double own_rate = soc.gm.l2_read_bytes_per_cycle;
  double other_rate = soc.gm.l2_shared_read_bytes_per_cycle;
  // Panels are a core's own where no other core is at the same ones.
  int64_t tiles_m = ceilDiv(problem.m, tile.m), tiles_n = ceilDiv(problem.n, tile.n);
  auto is_own = [&](bool common, int64_t others, bool runs_along_others) {
    if (common && problem.batches > 1)
      return false;
    return others == 1 || (runs_along_others && static_cast<double>(others) <= waves);
  };
  bool own_a = is_own(problem.common_a, tiles_n, !tile.along_m);
  bool own_b = is_own(problem.common_b, tiles_m, tile.along_m);
  double mte2 = panelCycles(tile.m, problem.transposed_a, k, problem.pitch_a, tile,
                            problem.element_bytes, soc, own_a ? own_rate : other_rate) +
                panelCycles(tile.n, problem.transposed_b, k, problem.pitch_b, tile,
                            problem.element_bytes, soc, own_b ? own_rate : other_rate);
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
