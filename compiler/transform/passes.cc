#include "compiler/transform/passes.h"

#include "compiler/ir/canonicalize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace pyasc {

void buildStructurePipeline(mlir::OpPassManager &manager) {
  auto addCleanUp = [&] {
    manager.addPass(createSafeCanonicalizerPass());
    manager.addPass(mlir::createCSEPass());
  };
  auto addOnFunctions = [&](std::unique_ptr<mlir::Pass> pass) {
    manager.addNestedPass<mlir::func::FuncOp>(std::move(pass));
  };
  addCleanUp();
  // Copies of parameters go before raising, so that loops see the parameter itself.
  addOnFunctions(createForwardCopiesPass());
  addOnFunctions(createPromoteCellsPass());
  // An accumulator that is written through a temporary would be a recurrence of two statements.
  addOnFunctions(createFuseInLoopsPass());
  addOnFunctions(createRaiseLoopsPass());
  addCleanUp();
  // Producers are inlined before copies are forwarded: a fused producer needs no destination.
  addOnFunctions(createFuseElementwisePass());
  addOnFunctions(createForwardCopiesPass());
  addOnFunctions(createRemoveDeadBuffersPass());
  addOnFunctions(createRaiseRowCopiesPass());
  // What is unrolled could not be raised any more.
  addOnFunctions(createUnrollLoopsPass());
  // What is fused no more.
  addOnFunctions(createSplitPositionsPass());
  addCleanUp();
  // Of what is left as it is now.
  addOnFunctions(createMarkParallelPass());
}

void registerTransformPasses() {
  mlir::registerTransformsPasses();
  mlir::registerPass(createForwardCopiesPass);
  mlir::registerPass(createMarkParallelPass);
  mlir::registerPass(createFuseElementwisePass);
  mlir::registerPass(createPromoteCellsPass);
  mlir::registerPass(createRaiseLoopsPass);
  mlir::registerPass(createRaiseRowCopiesPass);
  mlir::registerPass(createRemoveDeadBuffersPass);
  mlir::registerPass(createSplitPositionsPass);
  mlir::registerPass(createUnrollLoopsPass);
  mlir::PassPipelineRegistration<>("structure", "Kernel form to structured form",
                                   buildStructurePipeline);
}

} // namespace pyasc
