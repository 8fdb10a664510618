// Finds what a synced function leaves to chance, whatever the speed of its pipes.
//
// The function is walked as one core's scalar unit would walk it, and every instruction gets a
// vector clock: what is certainly done on each pipe when it starts. Two accesses to the same bytes,
// one of them a write, must be ordered by these clocks; a flag must not be raised while raised.
// Knows nothing of how npu-sync places flags.
#ifndef PYASC_COMPILER_TARGET_ASCEND_TESTING_RACE_CHECK_H
#define PYASC_COMPILER_TARGET_ASCEND_TESTING_RACE_CHECK_H

#include <cstdint>
#include <string>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pyasc::npu::testing {

struct RaceReport {
  // "load (line 3) and vbinary (line 7) meet in ub bytes 0 .. 255", at most a few.
  std::vector<std::string> faults;
  int64_t instructions = 0;
};

// Walks core `block`. Scalar arguments and everything loaded from memory are zero; float values
// are not tracked. REQUIRES: stage synced.
RaceReport checkRaces(mlir::func::FuncOp function, int64_t block);

} // namespace pyasc::npu::testing

#endif // PYASC_COMPILER_TARGET_ASCEND_TESTING_RACE_CHECK_H
