// npu-place: planned -> placed.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include "compiler/target/ascend/npu.h"
#include "compiler/target/ascend/passes.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

struct PlacePass : PassWrapper<PlacePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlacePass)
  StringRef getArgument() const override { return "npu-place"; }
  StringRef getDescription() const override { return "Give on-chip buffers their addresses"; }

  void runOnOperation() override {
    getOperation().emitError("placement is not there yet");
    signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createPlacePass(const PlanOptions &) { return std::make_unique<PlacePass>(); }

} // namespace pyasc::npu
