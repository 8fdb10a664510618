#include "compiler/ir/canonicalize.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace pyasc {

std::unique_ptr<mlir::Pass> createSafeCanonicalizerPass() {
  static constexpr llvm::StringLiteral kWrong =
      "(anonymous namespace)::EraseIdentityLinalgOp<mlir::linalg::GenericOp>";
  return mlir::createCanonicalizerPass(mlir::GreedyRewriteConfig(),
                                       /*disabledPatterns=*/{kWrong.str()});
}

} // namespace pyasc
