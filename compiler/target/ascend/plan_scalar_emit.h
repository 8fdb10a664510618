// Copies steps of the kernel into a phase function that runs on the scalar unit.
//
// In: operations of the structured (or kernel) form. Out: scf, arith, math and loads and stores on
// flat 1-D memrefs: everything that has a shape (ranks, views, affine maps, generics) becomes
// loops and index arithmetic. The vector planner uses the same class for the scalars, views and
// loops around its instructions.
#ifndef PYASC_COMPILER_TARGET_ASCEND_PLAN_SCALAR_EMIT_H
#define PYASC_COMPILER_TARGET_ASCEND_PLAN_SCALAR_EMIT_H

#include <functional>
#include <string>

#include "compiler/ir/asc_dialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace pyasc::npu {

// A tensor or a part of one, in terms of the phase: element (i, j, ...) is
// base[offset + i * strides[0] + j * strides[1] + ...].
struct FlatView {
  mlir::Value base;   // 1-D memref in GM, or a rank-0 cell
  mlir::Value origin; // the kernel's argument, alloc or alloca that `base` stands for
  mlir::OpFoldResult offset;
  llvm::SmallVector<mlir::OpFoldResult> sizes;
  llvm::SmallVector<mlir::OpFoldResult> strides;
  bool cell = false;
};

class PhaseEmitter {
public:
  // How the phase reaches what lives outside of it. Each callback is asked once a value.
  struct Outside {
    // The flat GM memref of this phase that holds the kernel's `tensor` (an argument or an alloc).
    std::function<mlir::Value(mlir::Value tensor)> bindTensor;
    // The phase's value for a scalar argument of the kernel.
    std::function<mlir::FailureOr<mlir::Value>(mlir::BlockArgument argument)> bindScalar;
    // Whether a rank-0 alloca of the kernel is used by this phase alone: then it becomes a cell of
    // the phase, otherwise bindTensor places it in GM.
    std::function<bool(mlir::Value cell)> isLocalCell;
    // The number of elements between the copies of a tensor that each core owns for itself, or 0
    // for a tensor that all cores share.
    std::function<int64_t(mlir::Value tensor)> privateStride;
    // Bytes of UB that copies of rows may take for themselves; 0: all copies go element by element.
    int64_t copyBytes = 0;
  };

  // `entry` is the (terminated or open) entry block of the phase function; `builder` inserts the
  // phase's code, at or below that block.
  PhaseEmitter(mlir::OpBuilder &builder, mlir::Block *entry, Outside outside);

  // Emits `op` and everything inside it at the builder's insertion point. On failure of this or
  // any other call, reason() says why, and the phase must be thrown away.
  mlir::LogicalResult emit(mlir::Operation *op);
  mlir::LogicalResult emitBlock(mlir::Block &block); // without its terminator

  // The phase's value for a scalar of the kernel. A value from outside of what has been emitted so
  // far is rebuilt at the phase's start.
  mlir::FailureOr<mlir::Value> scalar(mlir::Value value);
  mlir::FailureOr<FlatView> view(mlir::Value memref);
  void map(mlir::Value from, mlir::Value to) { values_.map(from, to); }
  void forget(mlir::Value from) { values_.erase(from); }

  // base[offset + sum(indices * strides)] as an index value.
  mlir::Value address(mlir::Location loc, const FlatView &view,
                      llvm::ArrayRef<mlir::OpFoldResult> indices);
  mlir::Value load(mlir::Location loc, const FlatView &view,
                   llvm::ArrayRef<mlir::OpFoldResult> indices);
  void store(mlir::Location loc, mlir::Value value, const FlatView &view,
             llvm::ArrayRef<mlir::OpFoldResult> indices);

  // The generic's loops with the leading `ivs.size()` of them given: their variables are `ivs`.
  mlir::LogicalResult emitGeneric(mlir::linalg::GenericOp op, mlir::ValueRange ivs);
  // The body of `generic` on scalars: `arguments` are the block arguments' values.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  emitBody(mlir::linalg::GenericOp op, mlir::ValueRange ivs, mlir::ValueRange arguments);

  // Whether all that has been emitted so far stores is rows, by DMA, and what checks record.
  bool movesRowsOnly() const { return movesRows_ && !storesElements_; }

  mlir::OpBuilder &builder() { return builder_; }
  const std::string &reason() const { return reason_; }
  mlir::Value index(mlir::Location loc, int64_t value);
  mlir::Value materialize(mlir::Location loc, mlir::OpFoldResult value);
  mlir::OpFoldResult add(mlir::Location loc, mlir::OpFoldResult a, mlir::OpFoldResult b);
  mlir::OpFoldResult mul(mlir::Location loc, mlir::OpFoldResult a, mlir::OpFoldResult b);
  mlir::FailureOr<llvm::SmallVector<mlir::OpFoldResult>>
  expand(mlir::Location loc, mlir::AffineMap map, mlir::ValueRange operands);

private:
  // Notes the reason of a failure.
  mlir::LogicalResult refuse(std::string reason) {
    reason_ = std::move(reason);
    return mlir::failure();
  }
  mlir::LogicalResult emitAffineFor(mlir::affine::AffineForOp op);
  mlir::LogicalResult emitAffineIf(mlir::affine::AffineIfOp op);
  mlir::LogicalResult emitCopy(mlir::memref::CopyOp op);
  // The same by DMA, through UB, where the last dimensions are long rows that lie dense in both;
  // the leading `given.size()` dimensions are at those places. False: nothing was emitted.
  bool emitRowCopy(mlir::Location loc, const FlatView &source, const FlatView &target,
                   mlir::ValueRange given);
  mlir::LogicalResult emitAtomic(mlir::memref::AtomicRMWOp op);
  mlir::LogicalResult emitCheck(mlir::Operation *op);
  mlir::LogicalResult emitPrint(ir::PrintOp print);
  mlir::LogicalResult emitByCloning(mlir::Operation *op);
  mlir::LogicalResult emitRegion(mlir::Region &from, mlir::Region &to);
  mlir::FailureOr<FlatView> makeView(mlir::Value memref);
  mlir::FailureOr<llvm::SmallVector<mlir::OpFoldResult>> indices(mlir::Location loc,
                                                                 mlir::ValueRange operands);
  mlir::FailureOr<llvm::SmallVector<mlir::OpFoldResult>>
  folded(mlir::Location loc, llvm::ArrayRef<mlir::OpFoldResult> values);
  // Runs `make` with the builder at the end of what is rebuilt at the phase's start.
  mlir::LogicalResult atStart(llvm::function_ref<mlir::LogicalResult()> make);

  mlir::OpBuilder &builder_;
  mlir::Block *entry_;
  Outside outside_;
  mlir::IRMapping values_;
  mlir::Operation *published_ = nullptr; // the store that ends the print being emitted
  llvm::DenseMap<mlir::Value, FlatView> views_;
  llvm::DenseMap<int64_t, mlir::Value> constants_;
  // The entry block starts with cells and index constants, then what was rebuilt at the start.
  mlir::Operation *constantsEnd_ = nullptr;
  mlir::Operation *startEnd_ = nullptr;
  bool atStart_ = false;
  bool movesRows_ = false, storesElements_ = false;
  std::string reason_;
};

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_PLAN_SCALAR_EMIT_H
