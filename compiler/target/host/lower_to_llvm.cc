// The pipeline from structured form to the LLVM dialect, and its last, converting pass.

#include "compiler/ir/canonicalize.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "compiler/target/host/host.h"

using namespace mlir;

namespace pyasc::compiler::host {
namespace {

// One conversion of everything that is left, with bare pointers for memrefs: all shapes are static.
struct ConvertToLLVM : PassWrapper<ConvertToLLVM, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertToLLVM)
  StringRef getArgument() const final { return "host-convert-to-llvm"; }
  StringRef getDescription() const final { return "Convert to the LLVM dialect"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    MLIRContext &context = getContext();
    getOperation().walk(simplifyEmptyArguments);
    LowerToLLVMOptions options(&context);
    options.useBarePtrCallConv = true;
    LLVMTypeConverter types(&context, options);
    LLVMConversionTarget target(context);
    target.addLegalOp<ModuleOp>();
    RewritePatternSet patterns(&context);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    index::populateIndexToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(types, patterns);
    populateFuncToLLVMConversionPatterns(types, patterns);
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }

private:
  // MLIR finds no strides in a memref<3x0xf32>. Nothing reads or writes one: any pointer will do.
  static void simplifyEmptyArguments(func::FuncOp function) {
    if (function.isDeclaration())
      return;
    for (BlockArgument argument : function.getArguments()) {
      auto type = dyn_cast<MemRefType>(argument.getType());
      if (type && type.getNumElements() == 0 && argument.use_empty())
        argument.setType(MemRefType::get({0}, type.getElementType()));
    }
    function.setType(FunctionType::get(function.getContext(), function.front().getArgumentTypes(),
                                       function.getFunctionType().getResults()));
  }
};

// math ops that neither LLVM's intrinsics nor an expansion cover become calls to libm.
struct MathToLibm : PassWrapper<MathToLibm, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MathToLibm)
  StringRef getArgument() const final { return "host-math-to-libm"; }
  StringRef getDescription() const final { return "Call libm where LLVM has no intrinsic"; }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathToLibmConversionPatterns(patterns);
    ConversionTarget target(getContext());
    target.addLegalDialect<arith::ArithDialect, func::FuncDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<math::TanhOp, math::ErfOp, math::AtanOp, math::Atan2Op, math::TanOp,
                        math::SinhOp, math::CoshOp, math::AsinOp, math::AcosOp, math::AsinhOp,
                        math::AcoshOp, math::AtanhOp, math::CbrtOp, math::ExpM1Op, math::Log1pOp>();
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createConvertToLLVMPass() { return std::make_unique<ConvertToLLVM>(); }

void buildLowerToLLVMPipeline(OpPassManager &pm) {
  pm.addPass(createSaturateCastsPass());
  pm.addPass(createLowerChecksPass());
  pm.addPass(createOrderLoopsPass());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addNestedPass<func::FuncOp>(createPlaceAllocationsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSafeCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(std::make_unique<MathToLibm>());
  // The options keep a reference to the list.
  static const std::string emulated[] = {"bf16"};
  arith::ArithEmulateUnsupportedFloatsOptions bf16;
  bf16.sourceTypeStrs = emulated;
  bf16.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(bf16));
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  pm.addPass(createConvertSCFToCFPass());
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

} // namespace pyasc::compiler::host
