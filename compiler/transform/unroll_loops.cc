// asc-unroll-loops: repeats the body of the loops that asc.range(unroll=n) asked for.
//
// In: structured form. Out: each loop with asc.unroll = n that raising left runs n iterations of
// the text a time, and what is left over in a loop of its own. A loop that became an operation
// needs no unrolling, and one whose bounds allow none keeps the attribute.
#include "compiler/ir/asc_dialect.h"
#include "compiler/transform/pass_counts.h"
#include "compiler/transform/passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Pass/Pass.h"

namespace pyasc {

using namespace mlir;

namespace {

// Ops that one loop may become: a hint must not make code that no one wants to compile.
constexpr int64_t kMaxOps = 4096;

class UnrollLoops : public PassWrapper<UnrollLoops, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnrollLoops)

  StringRef getArgument() const override { return "asc-unroll-loops"; }
  StringRef getDescription() const override { return "Unroll loops that ask for it"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    SmallVector<Operation *> loops; // inner ones first
    getOperation().walk([&](Operation *op) {
      if (op->hasAttr(ir::AscDialect::kUnroll))
        loops.push_back(op);
    });
    int64_t unrolled = 0;
    for (Operation *loop : loops)
      unrolled += unroll(loop);
    addPassCount(getOperation(), "unrolled_loops", unrolled);
  }

private:
  bool unroll(Operation *op) {
    auto attribute = op->getAttrOfType<IntegerAttr>(ir::AscDialect::kUnroll);
    int64_t ops = 0;
    op->walk([&](Operation *) { ++ops; });
    int64_t factor = attribute ? std::min(attribute.getInt(), kMaxOps / ops) : 1;
    if (factor <= 1)
      return false;
    // What is left over is no loop to unroll again.
    op->removeAttr(ir::AscDialect::kUnroll);
    LogicalResult done = failure();
    if (auto loop = dyn_cast<affine::AffineForOp>(op))
      done = affine::loopUnrollByFactor(loop, static_cast<uint64_t>(factor));
    else if (auto counted = dyn_cast<scf::ForOp>(op))
      done = loopUnrollByFactor(counted, static_cast<uint64_t>(factor));
    if (failed(done))
      op->setAttr(ir::AscDialect::kUnroll, attribute);
    return succeeded(done);
  }
};

} // namespace

std::unique_ptr<Pass> createUnrollLoopsPass() { return std::make_unique<UnrollLoops>(); }

} // namespace pyasc
