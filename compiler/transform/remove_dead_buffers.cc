// asc-remove-dead-buffers: removes temporaries that nobody reads, with the ops that fill them.
#include "compiler/transform/buffers.h"
#include "compiler/transform/pass_counts.h"
#include "compiler/transform/passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/Pass.h"

namespace pyasc {

using namespace mlir;

namespace {

class RemoveDeadBuffers : public PassWrapper<RemoveDeadBuffers, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RemoveDeadBuffers)

  StringRef getArgument() const override { return "asc-remove-dead-buffers"; }
  StringRef getDescription() const override { return "Remove temporaries without readers"; }

  void runOnOperation() override {
    int64_t removed = 0;
    SmallVector<Operation *> buffers;
    getOperation().walk([&](Operation *op) {
      if (isa<memref::AllocOp, memref::AllocaOp>(op))
        buffers.push_back(op);
    });
    // A dead buffer's writers may be the last readers of another.
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation *&buffer : buffers)
        if (buffer && remove(buffer)) {
          buffer = nullptr;
          changed = true;
          ++removed;
        }
    }
    addPassCount(getOperation(), "removed_buffers", removed);
  }

private:
  bool remove(Operation *buffer) {
    SmallVector<Operation *> writers;
    for (const BufferUse &use : usesOfBuffer(buffer->getResult(0))) {
      // A generic that updates the buffer reads it only to write it again.
      auto generic = dyn_cast<linalg::GenericOp>(use.op);
      bool onlyFills = generic ? generic.getNumDpsInits() == 1 &&
                                     !llvm::is_contained(generic.getDpsInputs(), use.value)
                               : isa<affine::AffineStoreOp, memref::StoreOp>(use.op);
      if (!onlyFills)
        return false;
      writers.push_back(use.op);
    }
    for (Operation *writer : writers)
      writer->erase();
    eraseViews(buffer->getResult(0));
    buffer->erase();
    return true;
  }

  void eraseViews(Value value) {
    for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
      eraseViews(user->getResult(0));
      user->erase();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createRemoveDeadBuffersPass() {
  return std::make_unique<RemoveDeadBuffers>();
}

} // namespace pyasc
