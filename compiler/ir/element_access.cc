#include "compiler/ir/element_access.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace pyasc::ir {

using namespace mlir;

std::optional<ElementAccess> ElementAccessOf(Operation *op) {
  if (auto load = dyn_cast_if_present<affine::AffineLoadOp>(op))
    return ElementAccess{load.getMemRef(), load.getAffineMap(), load.getMapOperands()};
  if (auto load = dyn_cast_if_present<memref::LoadOp>(op))
    return ElementAccess{load.getMemRef(), {}, load.getIndices()};
  if (auto store = dyn_cast_if_present<affine::AffineStoreOp>(op))
    return ElementAccess{store.getMemRef(), store.getAffineMap(), store.getMapOperands(), true};
  if (auto store = dyn_cast_if_present<memref::StoreOp>(op))
    return ElementAccess{store.getMemRef(), {}, store.getIndices(), true};
  return std::nullopt;
}

} // namespace pyasc::ir
