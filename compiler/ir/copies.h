// Operations that move elements as they are.
#ifndef PYASC_COMPILER_IR_COPIES_H
#define PYASC_COMPILER_IR_COPIES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace pyasc::ir {

// Elements from which on a row is worth being moved as one: for shorter ones the flags around its
// transfer cost as much as the scalar unit's loads and stores.
inline constexpr int64_t kShortestCopiedRow = 32;

// Whether `op` copies a tensor or a part of one as it is, each element to the same place in another
// of the same shape.
bool IsCopy(mlir::linalg::GenericOp op);

} // namespace pyasc::ir

#endif // PYASC_COMPILER_IR_COPIES_H
