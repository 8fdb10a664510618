// Turns asc.check into stores to the error buffer, and asc.print into stores to the print log. In:
// kernel or structured form with both. Out: the same without: each check is a branch that records
// {code, value, bound} when the condition does not hold and nothing was recorded before; each print
// is a branch that appends a record. The log's size is stored by an atomic exchange, so that a
// reader may look at the log while the kernel runs.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

#include "compiler/ir/asc_dialect.h"
#include "compiler/ir/expand_print.h"
#include "compiler/target/host/host.h"

using namespace mlir;

namespace pyasc::compiler::host {
namespace {

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

void lower(ir::PrintOp print, Value log, Value errors) {
  OpBuilder builder(print);
  Location loc = print.getLoc();
  ir::ExpandPrint(builder, print, log, errors, [&](Value words) {
    Value first = builder.create<arith::ConstantIndexOp>(loc, 0);
    builder.create<memref::AtomicRMWOp>(loc, arith::AtomicRMWKind::assign, words, log,
                                        ValueRange{first});
  });
  print.erase();
}

struct LowerChecks : PassWrapper<LowerChecks, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerChecks)
  StringRef getArgument() const final { return "lower-checks"; }
  StringRef getDescription() const final { return "Lower asc.check and asc.print to stores"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, memref::MemRefDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    SmallVector<ir::CheckOp> checks;
    getOperation().walk([&](ir::CheckOp check) { checks.push_back(check); });
    for (ir::CheckOp check : checks) {
      Value buffer = ir::FindArgument(check, ir::AscDialect::kErrorBuffer);
      if (!buffer) {
        check.emitError("a check in a function without an error buffer");
        return signalPassFailure();
      }
      lower(check, buffer);
    }
    SmallVector<ir::PrintOp> prints;
    getOperation().walk([&](ir::PrintOp print) { prints.push_back(print); });
    for (ir::PrintOp print : prints) {
      Value log = ir::FindArgument(print, ir::AscDialect::kPrintLog);
      if (!log) {
        print.emitError("a print in a function without a print log");
        return signalPassFailure();
      }
      lower(print, log, ir::FindArgument(print, ir::AscDialect::kErrorBuffer));
    }
  }
};

} // namespace

std::unique_ptr<Pass> createLowerChecksPass() { return std::make_unique<LowerChecks>(); }

} // namespace pyasc::compiler::host
