// Whether two instructions of a placed function may touch the same bytes.
//
// Bytes on the chip are compared by the addresses of buffers; elements of one memref by integer
// programming over the loops around (linear_system.h). Unknown means yes.
#ifndef PYASC_COMPILER_TARGET_ASCEND_CONFLICTS_H
#define PYASC_COMPILER_TARGET_ASCEND_CONFLICTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallVector.h"

#include "compiler/target/ascend/linear_system.h"
#include "compiler/target/ascend/npu.h"

namespace pyasc::npu {

// One access of an op, with the buffer or function argument that it reaches.
struct MemoryUse {
  mlir::Operation *op = nullptr;
  mlir::Value root; // of a BufferOp, or an argument in gm
  SlotOp slot;      // null: slot 0
  mlir::Value offset;
  bool write = false;
  llvm::SmallVector<AccessDim, 3> dims; // empty: anything
};

// Of an instruction, or of a scalar load or store; empty for other ops.
llvm::SmallVector<MemoryUse, 4> memoryUsesOf(mlir::Operation *op);

struct Conflict {
  // In one iteration of all loops around both.
  bool same = false;
  // Between an iteration and a later one of some loop around both.
  bool later = false;
  // Not null: only where these two values, of the first and of the second use, pick the same one of
  // `depth` slots. The second use is then `distance` uses later, of which each iteration of the
  // loop `counter` has one, or so many and any number of times the depth.
  mlir::Value key, laterKey;
  int64_t depth = 1;
  int64_t distance = 0;
  // Not null: the loop whose induction variable and constants the keys are: it counts iterations
  // exactly. Where the constants differ there is no conflict within an iteration.
  mlir::scf::ForOp counter = {};
  // Not null: no loop inside this one, of those around both, takes part in `later`.
  mlir::scf::ForOp carrier = {};

  explicit operator bool() const { return same || later; }
};

// What of a conflict is asked for; the rest may be said not to be.
enum class Sought { either, both, later };

// Of `first` with a `second` that runs after it. No conflict between two reads.
Conflict conflictOf(const MemoryUse &first, const MemoryUse &second, Sought sought,
                    LinearSystemMemo &memo);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_CONFLICTS_H
