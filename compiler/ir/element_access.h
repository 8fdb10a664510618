// Loads and stores of one element, of affine and memref alike.
#ifndef PYASC_COMPILER_IR_ELEMENT_ACCESS_H
#define PYASC_COMPILER_IR_ELEMENT_ACCESS_H

#include <optional>

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/ValueRange.h"

namespace pyasc::ir {

// Lives as long as the operation that it was taken from stands unchanged.
struct ElementAccess {
  mlir::Value memref;
  mlir::AffineMap map; // null: `operands` are the indices themselves
  mlir::ValueRange operands;
  bool isStore = false;
};

// What `op` accesses, or none: it is no load or store of one element, or null.
std::optional<ElementAccess> ElementAccessOf(mlir::Operation *op);

} // namespace pyasc::ir

#endif // PYASC_COMPILER_IR_ELEMENT_ACCESS_H
