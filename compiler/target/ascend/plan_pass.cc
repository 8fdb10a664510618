// The planning pass around Planner (plan.h), and the pipeline of the Ascend lowering.
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include "compiler/ir/canonicalize.h"
#include "compiler/target/ascend/passes.h"
#include "compiler/target/ascend/plan.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

struct PlanPass : PassWrapper<PlanPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanPass)
  explicit PlanPass(PlanOptions options) : plan(options) {}
  PlanPass(const PlanPass &other) : PassWrapper(other), plan(other.plan) {}

  StringRef getArgument() const override { return "npu-plan"; }
  StringRef getDescription() const override { return "Plan a structured kernel's phases"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<NpuDialect, arith::ArithDialect, scf::SCFDialect, affine::AffineDialect,
                    math::MathDialect, memref::MemRefDialect>();
  }

  void runOnOperation() override {
    if (!soc.empty())
      plan.soc = machine::FindSoc(soc);
    plan.use_cube &= !withoutCube;
    plan.use_vector &= !withoutVector;
    if (!plan.soc) {
      getOperation().emitError("there is no SoC of the name ") << soc.getValue();
      return signalPassFailure();
    }
    SmallVector<func::FuncOp> kernels;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr("asc.kernel"))
        kernels.push_back(function);
    if (kernels.size() != 1) {
      getOperation().emitError("needs one asc.kernel function, has ") << kernels.size();
      return signalPassFailure();
    }
    if (failed(Planner(kernels.front(), plan).run()))
      signalPassFailure();
  }

  PlanOptions plan;
  Option<std::string> soc{*this, "soc", llvm::cl::desc("SoC to plan for")};
  Option<bool> withoutCube{*this, "without-cube", llvm::cl::desc("Plan nothing for the cube")};
  Option<bool> withoutVector{*this, "without-vector", llvm::cl::desc("Plan nothing for V")};
};

} // namespace

std::unique_ptr<Pass> createPlanPass(const PlanOptions &options) {
  return std::make_unique<PlanPass>(options);
}

void buildAscendPipeline(OpPassManager &manager, const PlanOptions &options) {
  manager.addPass(createPlanPass(options));
  manager.addPass(createSafeCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createVerifyStagePass());
  manager.addPass(createPlacePass());
  manager.addPass(createVerifyStagePass());
  manager.addPass(createSyncPass());
  manager.addPass(createSafeCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createVerifyStagePass());
}

void registerAscendPasses() {
  registerPass([] { return createPlanPass(); });
  registerPass([] { return createPlacePass(); });
  registerPass([] { return createSyncPass(); });
  registerPass([] { return createVerifyStagePass(); });
  PassPipelineRegistration<>("ascend", "Structured form to a synced npu module",
                             [](OpPassManager &manager) { buildAscendPipeline(manager, {}); });
}

} // namespace pyasc::npu
