// Cells: the rank-0 allocas that hold a kernel's reassigned variables.
#ifndef PYASC_COMPILER_TRANSFORM_CELLS_H
#define PYASC_COMPILER_TRANSFORM_CELLS_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace pyasc {

// True for the result of a rank-0 memref.alloca that is only loaded and stored.
bool isCell(mlir::Value memref);
// The cell that `op` loads or stores, else null.
mlir::Value loadedCell(mlir::Operation *op);
mlir::Value storedCell(mlir::Operation *op);
mlir::Value storedValue(mlir::Operation *store);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_CELLS_H
