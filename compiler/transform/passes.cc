#include "compiler/transform/passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace pyasc {

void buildStructurePipeline(mlir::OpPassManager &manager) {
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
  manager.addNestedPass<mlir::func::FuncOp>(createPromoteCellsPass());
  manager.addNestedPass<mlir::func::FuncOp>(createRaiseLoopsPass());
  manager.addPass(mlir::createCanonicalizerPass());
}

void registerTransformPasses() {
  mlir::registerTransformsPasses();
  mlir::registerPass(createPromoteCellsPass);
  mlir::registerPass(createRaiseLoopsPass);
  mlir::PassPipelineRegistration<>("structure", "Kernel form to structured form",
                                   buildStructurePipeline);
}

} // namespace pyasc
