#include "compiler/transform/passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace pyasc {

void buildStructurePipeline(mlir::OpPassManager &manager) {
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
}

void registerTransformPasses() {
  mlir::registerTransformsPasses();
  mlir::PassPipelineRegistration<>("structure", "Kernel form to structured form",
                                   buildStructurePipeline);
}

} // namespace pyasc
