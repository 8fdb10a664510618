// Orders the iterators of linalg.generic ops for a cache and a vector unit, before they become
// loops. In: structured form. Out: the same, with each generic's iterators permuted so that the
// innermost one walks through the output with unit stride, where the op has such an iterator.
//
// Why: `C[i,j] += A[i,k] * B[k,j]` with k innermost is a chain of dependent additions and strided
// loads; with j innermost it is a vector loop. The order in which one element's terms are added
// stays as it was, since reduction iterators keep their order among themselves.

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

#include "compiler/target/host/host.h"

using namespace mlir;

namespace pyasc::compiler::host {
namespace {

// The iterator that indexes the last dimension of every output, when it is parallel.
std::optional<unsigned> unitStrideIterator(linalg::GenericOp op) {
  std::optional<unsigned> found;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (map.getNumResults() == 0)
      return std::nullopt;
    auto dim = dyn_cast<AffineDimExpr>(map.getResults().back());
    if (!dim || (found && *found != dim.getPosition()))
      return std::nullopt;
    found = dim.getPosition();
  }
  if (!found || op.getIteratorTypesArray()[*found] != utils::IteratorType::parallel)
    return std::nullopt;
  return found;
}

struct OrderLoops : PassWrapper<OrderLoops, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OrderLoops)
  StringRef getArgument() const final { return "host-order-loops"; }
  StringRef getDescription() const final { return "Put unit-stride iterators innermost"; }

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : ops) {
      std::optional<unsigned> inner = unitStrideIterator(op);
      if (!inner || *inner + 1 == op.getNumLoops())
        continue;
      SmallVector<unsigned> order;
      for (unsigned i = 0; i < op.getNumLoops(); ++i)
        if (i != *inner)
          order.push_back(i);
      order.push_back(*inner);
      rewriter.setInsertionPoint(op);
      if (failed(linalg::interchangeGenericOp(rewriter, op, order))) {
        op.emitError("cannot order the loops of this operation");
        return signalPassFailure();
      }
    }
  }
};

} // namespace

std::unique_ptr<Pass> createOrderLoopsPass() { return std::make_unique<OrderLoops>(); }

} // namespace pyasc::compiler::host
