// Gives temporaries their place on a CPU. In: kernel-form memory (cells as rank-0 allocas,
// temporaries as allocs that nobody frees). Out: every cell's alloca in the entry block (an alloca
// inside a loop would grow the stack), and every alloc freed at the end of its own block.
//
// Freeing there is right because no memref leaves the block that it was made in: kernel form has no
// memref results, yields or loop-carried memrefs.

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/Pass.h"

#include "compiler/target/host/host.h"

using namespace mlir;

namespace pyasc::compiler::host {
namespace {

struct PlaceAllocations : PassWrapper<PlaceAllocations, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceAllocations)
  StringRef getArgument() const final { return "host-place-allocations"; }
  StringRef getDescription() const final { return "Hoist cells, free temporaries"; }

  void runOnOperation() override {
    Block &entry = getOperation().getBody().front();
    SmallVector<memref::AllocaOp> cells;
    SmallVector<memref::AllocOp> temporaries;
    getOperation().walk([&](Operation *op) {
      if (auto cell = dyn_cast<memref::AllocaOp>(op))
        cells.push_back(cell);
      else if (auto temporary = dyn_cast<memref::AllocOp>(op))
        temporaries.push_back(temporary);
    });
    for (memref::AllocaOp cell : llvm::reverse(cells))
      if (cell->getBlock() != &entry && cell->getNumOperands() == 0)
        cell->moveBefore(&entry, entry.begin());
    for (memref::AllocOp temporary : temporaries) {
      OpBuilder builder(temporary->getBlock()->getTerminator());
      builder.create<memref::DeallocOp>(temporary.getLoc(), temporary);
      temporary.setAlignment(64);
    }
  }
};

} // namespace

std::unique_ptr<Pass> createPlaceAllocationsPass() { return std::make_unique<PlaceAllocations>(); }

} // namespace pyasc::compiler::host
