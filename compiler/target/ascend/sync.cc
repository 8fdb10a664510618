// npu-sync: placed -> synced.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include "compiler/target/ascend/npu.h"
#include "compiler/target/ascend/passes.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

struct SyncPass : PassWrapper<SyncPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SyncPass)
  StringRef getArgument() const override { return "npu-sync"; }
  StringRef getDescription() const override { return "Insert flags and barriers"; }

  void runOnOperation() override {
    getOperation().emitError("synchronisation is not there yet");
    signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createSyncPass() { return std::make_unique<SyncPass>(); }

} // namespace pyasc::npu
