// Who reads and writes a buffer, through its views.
#ifndef PYASC_COMPILER_TRANSFORM_BUFFERS_H
#define PYASC_COMPILER_TRANSFORM_BUFFERS_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::linalg {
class GenericOp;
} // namespace mlir::linalg

namespace pyasc {

struct BufferUse {
  mlir::Operation *op;
  mlir::Value value; // the buffer or a view of it
  bool reads, writes;
};

// The ops that touch the buffer `root`, views followed. What is not understood reads and writes.
llvm::SmallVector<BufferUse> usesOfBuffer(mlir::Value root);

// True when `op`, or an op inside it, may write (or touch at all) a buffer that `root` may alias.
bool mayWrite(mlir::Operation *op, mlir::Value root);
bool mayTouch(mlir::Operation *op, mlir::Value root);

// True when the generic writes every element of its one output, in parallel, whatever it held.
bool overwritesOutput(mlir::linalg::GenericOp generic);
// True for an overwriting generic with one input that yields it unchanged over identity maps.
bool isPlainCopy(mlir::linalg::GenericOp generic);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_BUFFERS_H
