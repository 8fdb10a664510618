// Whether and how a step of the scalar unit may be divided among cores.
//
// The scalar unit's data cache has lines of 64 bytes and is not coherent: a step is divided only
// where it is proved that no two cores write into the same line. Each core takes consecutive
// iterations of the outermost parallel loops.
#ifndef PYASC_COMPILER_TARGET_ASCEND_PLAN_SCALAR_SPLIT_H
#define PYASC_COMPILER_TARGET_ASCEND_PLAN_SCALAR_SPLIT_H

#include <cstdint>
#include <string>

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace pyasc::npu {

inline constexpr int64_t kCacheLine = 64;

struct ScalarSplit {
  // The parallel loops that are divided, outermost first: extents of their iterations. For an
  // affine nest `loops` has as many loops; for a generic it is empty and these are its first dims.
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<mlir::Operation *> loops;
  int64_t trips = 0; // product of the extents
  int64_t chunk = 0; // iterations a core takes
  int64_t blocks = 1;
  // Tensors allocated inside: each core needs a copy of its own.
  llvm::SmallVector<mlir::Value> privateTensors;
  std::string reason; // why not all cores take part; "" when they do

  bool divided() const { return blocks > 1; }
};

// `step`: an operation at the kernel's top. At most `cores` cores.
ScalarSplit SplitScalarStep(mlir::Operation *step, int64_t cores);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_PLAN_SCALAR_SPLIT_H
