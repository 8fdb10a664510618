// When the buffers of a function hold something: the ground of placement and of its check.
#ifndef PYASC_COMPILER_TARGET_ASCEND_LIVE_RANGES_H
#define PYASC_COMPILER_TARGET_ASCEND_LIVE_RANGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"

#include "compiler/machine/machine.h"
#include "compiler/target/ascend/npu.h"

namespace pyasc::npu {

// A buffer and the part of the function, in the order of a walk over its ops, in which it may hold
// something that is read later. Two buffers with disjoint ranges may share bytes. Empty when the
// buffer is never used (begin > end).
struct LiveRange {
  BufferOp buffer;
  int64_t begin = 1, end = 0;
  // The same with all of the outermost loops that it touches.
  int64_t wideBegin = 1, wideEnd = 0;

  bool overlaps(const LiveRange &other) const { return begin <= other.end && other.begin <= end; }
  bool sharesLoop(const LiveRange &other) const {
    return wideBegin <= other.wideEnd && other.wideBegin <= wideEnd;
  }
};

// One range a buffer, in program order. A range covers a loop that it touches unless each
// iteration begins by writing the buffer anew; buffers of several slots cover their loop always, so
// that iterations may overlap.
llvm::SmallVector<LiveRange> liveRangesOf(mlir::func::FuncOp function);

// Bytes of a memory that a kernel may use.
int64_t bytesOfSpace(Space space, const machine::Soc &soc);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_LIVE_RANGES_H
