#include "compiler/ir/copies.h"

namespace pyasc::ir {

using namespace mlir;

bool IsCopy(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 1 && op.getNumDpsInits() == 1 &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap m) { return m.isIdentity(); }) &&
         llvm::hasSingleElement(op.getBody()->getOperations()) &&
         op.getBody()->getTerminator()->getOperand(0) == op.getBody()->getArgument(0);
}

} // namespace pyasc::ir
