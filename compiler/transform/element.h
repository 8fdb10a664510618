// One element of a buffer as a load or store names it.
#ifndef PYASC_COMPILER_TRANSFORM_ELEMENT_H
#define PYASC_COMPILER_TRANSFORM_ELEMENT_H

#include <cstdint>
#include <optional>
#include <utility>

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace pyasc {

struct Element {
  mlir::Operation *op;
  bool isStore;
  mlir::Value memref;
  mlir::AffineMap map;                  // null for memref.load and memref.store
  llvm::SmallVector<mlir::Value> index; // the map's operands, or the indices themselves

  // Nothing when `op` is no load or store of one element.
  static std::optional<Element> of(mlir::Operation *op);

  // What the store stores. REQUIRES: isStore.
  mlir::Value stored() const;
  // True only when both name the same element wherever both are evaluated.
  bool isSameAs(const Element &other) const;
  // True when the bounds of the affine loops around alone keep every index inside.
  bool isInBounds() const;

  // Loads or stores the element at the builder's place. REQUIRES: the index values dominate it.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc) const;
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value) const;
};

// Least and greatest value of an index that affine loops with known bounds make; nothing when it
// depends on anything else.
std::optional<std::pair<int64_t, int64_t>> indexRange(mlir::Value index);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_ELEMENT_H
