// asc-forward-copies: removes whole-array copies.
//
// A temporary that only ever holds a copy of a buffer nobody writes afterwards is replaced by that
// buffer (asc.shared_memory filled by asc.copy). A temporary whose last use is to be copied into a
// result is replaced by the result (accumulators that loops kept in a variable).
#include "compiler/transform/buffers.h"
#include "compiler/transform/nest.h"
#include "compiler/transform/pass_counts.h"
#include "compiler/transform/passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Pass/Pass.h"

namespace pyasc {

using namespace mlir;

namespace {

class ForwardCopies : public PassWrapper<ForwardCopies, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ForwardCopies)

  StringRef getArgument() const override { return "asc-forward-copies"; }
  StringRef getDescription() const override { return "Remove copies into and out of temporaries"; }

  void runOnOperation() override {
    int64_t removed = 0;
    SmallVector<memref::AllocOp> temporaries;
    getOperation().walk([&](memref::AllocOp op) { temporaries.push_back(op); });
    for (memref::AllocOp temporary : temporaries)
      removed += forwardSource(temporary) || forwardDestination(temporary);
    addPassCount(getOperation(), "forwarded_copies", removed);
  }

private:
  // temporary = source; uses of temporary -> uses of source
  bool forwardSource(memref::AllocOp temporary) {
    linalg::GenericOp copy;
    auto uses = usesOfBuffer(temporary);
    for (const BufferUse &use : uses) {
      if (!use.writes)
        continue;
      auto generic = dyn_cast<linalg::GenericOp>(use.op);
      if (copy || !generic || !isPlainCopy(generic) || use.value != temporary)
        return false;
      copy = generic;
    }
    if (!copy || uses.size() < 2)
      return false;
    Value source = copy.getDpsInputs()[0];
    // The copy has to come first at the function's top, and the source has to stay as it was.
    if (source.getType() != temporary.getType() ||
        copy->getBlock() != &getOperation().getBody().front())
      return false;
    for (const BufferUse &use : uses) {
      Operation *ancestor = copy->getBlock()->findAncestorOpInBlock(*use.op);
      if (!ancestor || (ancestor != copy && ancestor->isBeforeInBlock(copy)))
        return false;
    }
    Value root = rootBuffer(source);
    for (Operation *op = copy->getNextNode(); op; op = op->getNextNode())
      if (mayWrite(op, root))
        return false;
    copy.erase();
    // Views made before the copy was would now come before their source.
    for (Operation *user : llvm::make_early_inc_range(temporary->getUsers()))
      if (!DominanceInfo().properlyDominates(source, user))
        user->moveAfter(source.getDefiningOp());
    temporary.replaceAllUsesWith(source);
    temporary.erase();
    return true;
  }

  // ... writes temporary ...; result = temporary, the last use  ->  ... writes result ...
  bool forwardDestination(memref::AllocOp temporary) {
    Operation *first = nullptr;
    linalg::GenericOp last;
    for (const BufferUse &use : usesOfBuffer(temporary)) {
      auto generic = dyn_cast<linalg::GenericOp>(use.op);
      if (!generic || use.value != temporary || (first && generic->getBlock() != first->getBlock()))
        return false;
      if (!first || generic->isBeforeInBlock(first))
        first = generic;
      if (!last || last->isBeforeInBlock(generic))
        last = generic;
    }
    if (!first || first == last || !isPlainCopy(last) || last.getDpsInputs()[0] != temporary)
      return false;
    // A loop around must find nothing of the iteration before.
    auto opening = cast<linalg::GenericOp>(first);
    if (!overwritesOutput(opening) || opening.getDpsInits()[0] != temporary)
      return false;
    Value result = last.getDpsInits()[0], root = rootBuffer(result);
    if (root == temporary ||
        temporary.getType().getElementType() != cast<MemRefType>(result.getType()).getElementType())
      return false;
    for (Operation *op = first; op != last; op = op->getNextNode())
      if (mayTouch(op, root))
        return false;
    if (!hoist(result, first))
      return false;
    last.erase();
    temporary.replaceAllUsesWith(result);
    temporary.erase();
    return true;
  }

  // Moves the view `value`, and the index arithmetic it needs, before `point`.
  bool hoist(Value value, Operation *point) {
    SmallVector<Operation *> moves;
    if (!collectMoves(value, point, moves))
      return false;
    for (Operation *op : moves)
      op->moveBefore(point);
    return true;
  }

  bool collectMoves(Value value, Operation *point, SmallVector<Operation *> &moves) {
    Operation *definition = value.getDefiningOp();
    if (!definition || DominanceInfo().properlyDominates(definition, point) ||
        llvm::is_contained(moves, definition))
      return true;
    if (definition->getBlock() != point->getBlock() || !isPure(definition))
      return false;
    for (Value operand : definition->getOperands())
      if (!collectMoves(operand, point, moves))
        return false;
    moves.push_back(definition);
    return true;
  }
};

} // namespace

std::unique_ptr<Pass> createForwardCopiesPass() { return std::make_unique<ForwardCopies>(); }

} // namespace pyasc
