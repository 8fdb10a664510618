// Tile sizes of a contraction on the cube cores.
#ifndef PYASC_COMPILER_TARGET_ASCEND_CUBE_TILING_H
#define PYASC_COMPILER_TARGET_ASCEND_CUBE_TILING_H

#include <cstdint>

#include "compiler/machine/machine.h"

namespace pyasc::npu {

struct CubeProblem {
  int64_t m = 1, n = 1, k = 1;
  // Independent products of that size; reductions of length k that follow each other into one C.
  int64_t batches = 1, outer_k = 1;
  int64_t element_bytes = 4;
  // Rows of A (B) in GM run along k, not along m (n).
  bool transposed_a = false, transposed_b = true;
  // All batches have the same A (B).
  bool common_a = false, common_b = false;
  // Elements from one row to the next; with a smaller common divisor where there are more ways
  // from row to row.
  int64_t pitch_a = 1, pitch_b = 1;
};

// All sizes are positive multiples of 16.
struct CubeTiling {
  int64_t m = 0, n = 0; // of the result, one L0C slot
  int64_t k_l1 = 0;     // of the panels in L1, a multiple of k_l0
  int64_t k_l0 = 0;     // of one mmad
  int64_t l0c_slots = 1;
  int64_t blocks = 1; // cores
  // A core's tiles follow each other along m, so that it reads B's panels again and again.
  bool along_m = true;
};

// The tiling that a simple cost model likes best among those that fit: two slots of each panel in
// L1 and L0A/L0B, l0c_slots tiles in L0C. REQUIRES: all extents positive.
// `rows`: the tile's m where it is given; 0: any.
CubeTiling chooseCubeTiling(const CubeProblem &problem, const machine::Soc &soc, int64_t rows = 0);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_CUBE_TILING_H
