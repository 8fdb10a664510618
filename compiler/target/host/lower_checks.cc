// Turns asc.check into stores to the error buffer. In: kernel or structured form with checks. Out:
// the same without: each check is a branch that records {code, value, bound} when the condition
// does not hold and nothing was recorded before.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

#include "compiler/ir/asc_dialect.h"
#include "compiler/target/host/host.h"

using namespace mlir;

namespace pyasc::compiler::host {
namespace {

Value errorBuffer(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), ir::AscDialect::kErrorBuffer))
      return argument;
  return {};
}

void lower(ir::CheckOp check, Value buffer) {
  OpBuilder builder(check);
  Location loc = check.getLoc();
  auto index = [&](int64_t i) { return builder.create<arith::ConstantIndexOp>(loc, i); };
  auto word = [&](int64_t i) { return builder.create<arith::ConstantIntOp>(loc, i, 64); };
  Value failed = builder.create<arith::XOrIOp>(loc, check.getOk(),
                                               builder.create<arith::ConstantIntOp>(loc, 1, 1));
  auto branch = builder.create<scf::IfOp>(loc, failed, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value recorded = builder.create<memref::LoadOp>(loc, buffer, ValueRange{index(0)});
  Value first = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, recorded, word(0));
  auto record = builder.create<scf::IfOp>(loc, first, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(record.thenBlock());
  Type i64 = builder.getI64Type();
  Value fields[] = {word(check.getCode()),
                    builder.create<arith::IndexCastOp>(loc, i64, check.getValue()),
                    builder.create<arith::IndexCastOp>(loc, i64, check.getBound())};
  for (int i = 0; i < 3; ++i)
    builder.create<memref::StoreOp>(loc, fields[i], buffer, ValueRange{index(i)});
  check.erase();
}

struct LowerChecks : PassWrapper<LowerChecks, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerChecks)
  StringRef getArgument() const final { return "lower-checks"; }
  StringRef getDescription() const final { return "Lower asc.check to error buffer stores"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, memref::MemRefDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    SmallVector<ir::CheckOp> checks;
    getOperation().walk([&](ir::CheckOp check) { checks.push_back(check); });
    for (ir::CheckOp check : checks) {
      Value buffer = errorBuffer(check->getParentOfType<func::FuncOp>());
      if (!buffer) {
        check.emitError("a check in a function without an error buffer");
        return signalPassFailure();
      }
      lower(check, buffer);
    }
  }
};

} // namespace

std::unique_ptr<Pass> createLowerChecksPass() { return std::make_unique<LowerChecks>(); }

} // namespace pyasc::compiler::host
