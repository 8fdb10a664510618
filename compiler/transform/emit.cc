#include "compiler/transform/emit.h"

#include "compiler/transform/emit_generic.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace pyasc {

using namespace mlir;
using affine::AffineForOp;

namespace {

class PlanEmitter {
public:
  explicit PlanEmitter(const Nest &nest) : nest(nest), root(nest.root) {}

  void run(ArrayRef<PlanNode> plan) {
    OpBuilder builder(root);
    IRMapping mapping;
    emit(plan, builder, mapping, /*isOutermost=*/true);
    root->erase();
  }

private:
  void emit(ArrayRef<PlanNode> nodes, OpBuilder &builder, IRMapping &mapping, bool isOutermost) {
    for (const PlanNode &node : nodes) {
      switch (node.kind) {
      case PlanNode::Kind::Raised: {
        EmitContext context{[&](Value value) { return materialize(value, builder, mapping); },
                            root->getBlock()};
        emitRaised(builder, nest, *node.raised, context);
        break;
      }
      case PlanNode::Kind::Kept: {
        AffineForOp loop = cloneLoop(nest.loops[node.loop].op, builder, mapping);
        if (isOutermost)
          setReason(loop, node.reason);
        OpBuilder inside = OpBuilder::atBlockBegin(loop.getBody());
        IRMapping innerMapping = mapping;
        innerMapping.map(AffineForOp(nest.loops[node.loop].op).getInductionVar(),
                         loop.getInductionVar());
        emit(node.children, inside, innerMapping, /*isOutermost=*/false);
        break;
      }
      case PlanNode::Kind::Scalar:
        emitScalar(node, builder, mapping, isOutermost);
        break;
      }
    }
  }

  void setReason(Operation *loop, const std::string &reason) {
    loop->setAttr("asc.scalar_reason", StringAttr::get(loop->getContext(), reason));
  }

  bool isOutside(Value value) const {
    return !AffineForOp(root)->isAncestor(value.getParentBlock()->getParentOp());
  }

  // The value in the new code; pure ops and loads that were left behind in loops around are cloned.
  Value materialize(Value value, OpBuilder &builder, IRMapping &mapping) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    if (isOutside(value))
      return value;
    Operation *definition = value.getDefiningOp();
    for (Value operand : definition->getOperands())
      materialize(operand, builder, mapping);
    IRMapping local = withOperands(definition->getOperands(), builder, mapping);
    Operation *copy = builder.clone(*definition, local);
    // Not recorded: a load repeated later may have to read again.
    return copy->getResult(cast<OpResult>(value).getResultNumber());
  }

  IRMapping withOperands(ValueRange operands, OpBuilder &builder, IRMapping &mapping) {
    IRMapping local = mapping;
    for (Value operand : operands)
      if (!local.contains(operand))
        local.map(operand, materialize(operand, builder, mapping));
    return local;
  }

  AffineForOp cloneLoop(AffineForOp loop, OpBuilder &builder, IRMapping &mapping) {
    auto mapped = [&](ValueRange operands) {
      SmallVector<Value> result;
      for (Value operand : operands)
        result.push_back(materialize(operand, builder, mapping));
      return result;
    };
    auto copy = builder.create<AffineForOp>(
        loop.getLoc(), mapped(loop.getLowerBoundOperands()), loop.getLowerBoundMap(),
        mapped(loop.getUpperBoundOperands()), loop.getUpperBoundMap(), loop.getStepAsInt());
    copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    return copy;
  }

  // Clones what the node's statements need from the block at its depth, in the order it stands.
  void emitScalar(const PlanNode &node, OpBuilder &builder, IRMapping &mapping, bool isOutermost) {
    llvm::SmallPtrSet<Operation *, 16> wanted, effects;
    for (unsigned s : node.statements) {
      effects.insert(nest.statements[s].op);
      wanted.insert(nest.statements[s].op);
      wanted.insert(nest.statements[s].slice.begin(), nest.statements[s].slice.end());
    }
    SmallVector<Operation *> tops;
    if (node.depth == 0) {
      tops.push_back(root);
    } else {
      unsigned around = nest.statements[node.statements[0]].loops[node.depth - 1];
      for (Operation &op : *AffineForOp(nest.loops[around].op).getBody())
        if (wanted.contains(&op) ||
            llvm::any_of(effects, [&](Operation *effect) { return op.isProperAncestor(effect); }))
          tops.push_back(&op);
    }
    IRMapping scope = mapping;
    for (Operation *top : tops) {
      llvm::SetVector<Value> captured(top->operand_begin(), top->operand_end());
      getUsedValuesDefinedAbove(top->getRegions(), captured);
      for (Value value : captured)
        if (!scope.contains(value))
          scope.map(value, materialize(value, builder, scope));
      Operation *copy = builder.clone(*top, scope);
      for (const Statement &statement : nest.statements)
        if (!effects.contains(statement.op) && top->isProperAncestor(statement.op))
          scope.lookup(statement.op)->erase();
      if (copy->getNumRegions() == 0)
        continue;
      removeDeadOps(copy);
      if (isOutermost && isa<AffineForOp>(copy))
        setReason(copy, node.reason);
    }
  }

  // Drops reads and pure ops without users, and loops and branches without effects.
  void removeDeadOps(Operation *top) {
    top->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
      if (op == top || op->hasTrait<OpTrait::IsTerminator>())
        return;
      bool isEmptyRegionOp = isa<AffineForOp, affine::AffineIfOp>(op) && op->use_empty() &&
                             llvm::all_of(op->getRegions(), [](Region &region) {
                               return region.empty() || region.front().getOperations().size() == 1;
                             });
      if (isEmptyRegionOp || isOpTriviallyDead(op))
        op->erase();
    });
  }

  const Nest &nest;
  AffineForOp root;
};

} // namespace

void emitPlan(const Nest &nest, ArrayRef<PlanNode> plan) { PlanEmitter(nest).run(plan); }

} // namespace pyasc
