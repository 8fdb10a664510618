// asc-mark-parallel: says of serial loops that their iterations may run in any order.
//
// In: structured form. Out: the same; an affine.for at the top level that was left as a loop, and
// of whose iterations no two touch an element that one of them writes, has asc.parallel. So the
// rows of a recurrence within each row go to all cores. Tensors of one element that only loops use
// are cells now, which each iteration may have for itself.
#include "compiler/transform/cells.h"
#include "compiler/transform/dependence.h"
#include "compiler/transform/pass_counts.h"
#include "compiler/transform/passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/Pass.h"

#include "compiler/ir/asc_dialect.h"

namespace pyasc {

using namespace mlir;
using affine::AffineForOp;

namespace {

// Whether every load of the cell in `block` comes after a store in it; `assigned`: whether there
// surely was one, before and afterwards.
bool isAssignedFirst(Block &block, Value cell, bool &assigned) {
  for (Operation &op : block) {
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        if (bool state = assigned; !isAssignedFirst(inner, cell, state)) // it may never run
          return false;
    if (storedCell(&op) == cell)
      assigned = true;
    else if (loadedCell(&op) == cell && !assigned)
      return false;
  }
  return true;
}

// A variable that begins anew in every iteration and is nothing outside of the loop.
bool isPrivate(AffineForOp loop, Value memref) {
  bool assigned = false;
  return isCell(memref) &&
         llvm::all_of(memref.getUsers(),
                      [&](Operation *user) { return loop->isProperAncestor(user); }) &&
         isAssignedFirst(*loop.getBody(), memref, assigned);
}

// Tensors of one element that are used as variables, as the running sum of cumsum, become cells.
void makeCells(Block &entry) {
  for (auto alloc : llvm::make_early_inc_range(entry.getOps<memref::AllocOp>())) {
    auto isAccess = [&](Operation *user) {
      return isa<affine::AffineLoadOp, memref::LoadOp>(user) ||
             (isa<affine::AffineStoreOp, memref::StoreOp>(user) &&
              user->getOperand(0) != alloc.getMemref());
    };
    if (alloc.getType().getRank() != 0 || !alloc->getDiscardableAttrDictionary().empty() ||
        !llvm::all_of(alloc->getUsers(), isAccess))
      continue;
    OpBuilder builder(alloc);
    auto cell = builder.create<memref::AllocaOp>(alloc.getLoc(), alloc.getType());
    alloc.replaceAllUsesWith(cell.getMemref());
    alloc.erase();
  }
}

struct MarkParallel : PassWrapper<MarkParallel, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MarkParallel)

  StringRef getArgument() const override { return "asc-mark-parallel"; }
  StringRef getDescription() const override { return "Mark loops whose iterations have no order"; }

  void runOnOperation() override {
    int64_t marked = 0;
    makeCells(getOperation().getBody().front());
    for (auto loop : getOperation().getBody().front().getOps<AffineForOp>()) {
      if (loop->hasAttr(ir::AscDialect::kParallel) || loop->getNumResults() != 0)
        continue;
      std::string reason;
      ProofCache cache;
      std::optional<Nest> nest = Nest::analyse(loop, reason);
      if (!nest ||
          !isOutermostParallel(*nest, [&](Value memref) { return isPrivate(loop, memref); }, cache))
        continue;
      loop->setAttr(ir::AscDialect::kParallel, UnitAttr::get(&getContext()));
      ++marked;
    }
    addPassCount(getOperation(), "parallel_loops", marked);
  }
};

} // namespace

std::unique_ptr<Pass> createMarkParallelPass() { return std::make_unique<MarkParallel>(); }

} // namespace pyasc
