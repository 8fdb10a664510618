#include "compiler/driver/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/asc_dialect.h"
#include "compiler/ir/refusal.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"

namespace pyasc::compiler {
namespace {

using testing::HasSubstr;
using testing::Not;

// Does to the module what it is told.
class Misbehave : public mlir::PassWrapper<Misbehave, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Misbehave)
  explicit Misbehave(std::function<bool(mlir::ModuleOp)> work) : work_(std::move(work)) {}
  void runOnOperation() override {
    if (!work_(getOperation()))
      signalPassFailure();
  }

private:
  std::function<bool(mlir::ModuleOp)> work_;
};

// The diagnostics of a stage of one pass that does `work`.
std::vector<v1::Diagnostic> RunStage(std::function<bool(mlir::ModuleOp)> work) {
  mlir::MLIRContext context;
  ir::LoadKernelDialects(context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @f() -> index {
      %a = arith.constant 1 : index
      %b = arith.addi %a, %a : index loc("0":7:3)
      return %b : index
    })",
                                                                                     &context);
  diag::DiagnosticList diagnostics;
  v1::CompileReport report;
  v1::Artifact artifact;
  Stages stages(&diagnostics, &report, &artifact, false);
  EXPECT_FALSE(stages.Run("stage", *module, [&](mlir::OpPassManager &passes) {
    passes.addPass(std::make_unique<Misbehave>(work));
  }));
  return diagnostics.Take();
}

mlir::Operation *AddOf(mlir::ModuleOp module) {
  mlir::Operation *add = nullptr;
  module.walk([&](mlir::arith::AddIOp op) { add = op; });
  return add;
}

TEST(Stages, AnInvalidModuleIsAFaultOfOursWithoutIr) {
  std::vector<v1::Diagnostic> diagnostics = RunStage([](mlir::ModuleOp module) {
    mlir::Operation *add = AddOf(module);
    add->moveBefore(&add->getBlock()->front());
    return true;
  });
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code(), "internal-error");
  EXPECT_EQ(diagnostics[0].range().line(), 7u);
  EXPECT_THAT(diagnostics[0].message(), HasSubstr("the fault is pyasc's, not the kernel's"));
  std::string all = diagnostics[0].DebugString();
  EXPECT_THAT(all, HasSubstr("please report it"));
  EXPECT_THAT(all, HasSubstr("does not dominate"));
  EXPECT_THAT(all, Not(HasSubstr("arith.addi")));
}

TEST(Stages, ARefusalIsOneAndKeepsItsWords) {
  std::vector<v1::Diagnostic> diagnostics = RunStage([](mlir::ModuleOp module) {
    AddOf(module)->emitError(ir::kRefusal) << ": too large";
    return false;
  });
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code(), "cannot-lower");
  EXPECT_EQ(diagnostics[0].message(), "cannot be lowered: too large");
  EXPECT_THAT(diagnostics[0].DebugString(), Not(HasSubstr("arith.addi")));
}

TEST(Stages, APassThatFailsSilentlyIsAFaultToo) {
  std::vector<v1::Diagnostic> diagnostics = RunStage([](mlir::ModuleOp) { return false; });
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code(), "internal-error");
}

} // namespace
} // namespace pyasc::compiler
