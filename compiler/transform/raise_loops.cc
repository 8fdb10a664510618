// asc-raise-loops: turns loop nests into linalg.generic on memrefs.
//
// In: affine.for nests over affine.load/store and pure scalar ops (kernel form). Out: the same
// computation as structured operations in dependence order, inside the loops that have to stay;
// those carry asc.scalar_reason. A nest of which nothing can be raised is left untouched.
#include "compiler/transform/convert_branches.h"
#include "compiler/transform/emit.h"
#include "compiler/transform/expand_cells.h"
#include "compiler/transform/pass_counts.h"
#include "compiler/transform/passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/DenseSet.h"

namespace pyasc {

using namespace mlir;
using affine::AffineForOp;

namespace {

class RaiseLoops : public PassWrapper<RaiseLoops, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RaiseLoops)

  StringRef getArgument() const override { return "asc-raise-loops"; }
  StringRef getDescription() const override { return "Turn loop nests into linalg.generic"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<linalg::LinalgDialect, memref::MemRefDialect, affine::AffineDialect,
                    arith::ArithDialect>();
  }

  void runOnOperation() override {
    raised = kept = 0;
    visit(getOperation().getBody());
    addPassCount(getOperation(), "raised_statements", raised);
    addPassCount(getOperation(), "scalar_loops", kept);
  }

private:
  void visit(Region &region) {
    for (Block &block : region)
      for (Operation &op : llvm::make_early_inc_range(block)) {
        if (auto loop = dyn_cast<AffineForOp>(op); loop && raise(loop))
          continue;
        for (Region &inner : op.getRegions())
          visit(inner);
      }
  }

  // True when the loop is replaced, or known to hold nothing that can be raised.
  bool raise(AffineForOp loop) {
    // Work on a copy: what cannot be raised had better stay as its author wrote it.
    auto trial = cast<AffineForOp>(OpBuilder(loop).clone(*loop));
    convertBranches(trial);
    std::string reason;
    std::optional<Nest> nest = Nest::analyse(trial, reason);
    if (!nest) {
      setReason(loop, reason);
      trial->erase();
      return false;
    }
    ProofCache cache;
    if (eraseUnreachable(*nest, cache))
      nest = Nest::analyse(trial, reason);
    if (nest->statements.empty()) { // no iteration does anything
      trial->erase();
      loop->erase();
      return true;
    }
    std::vector<Expansion> expansions = expandCells(*nest, loop, cache);
    std::vector<PlanNode> plan;
    do {
      nest = Nest::analyse(trial, reason);
      plan = makePlan(*nest, cache);
    } while (contractScalarCells(*nest, plan, expansions));

    bool isRaised = llvm::any_of(plan, [](const PlanNode &node) { return node.containsRaised(); });
    for (const PlanNode &node : plan) {
      count(node);
      kept += node.kind != PlanNode::Kind::Raised;
    }
    if (isRaised) {
      emitPlan(*nest, plan);
      loop->erase();
      return true;
    }
    setReason(loop, plan.empty() ? "" : plan[0].reason);
    for (const Expansion &expansion : expansions)
      contractCell(expansion);
    trial->erase();
    return true;
  }

  // Erases statements that no iteration reaches, as behind `if i < j` where i starts at j: their
  // indices may lie outside of the tensor, and no view could be made of them. True if there are
  // any.
  bool eraseUnreachable(const Nest &nest, ProofCache &cache) {
    SmallVector<Operation *> unreachable;
    for (const Statement &statement : nest.statements) {
      System domain(nest.getNumVariables());
      nest.addDomain(domain, statement.loops, statement.guards);
      nest.addDivisions(domain);
      if (domain.isProvablyEmpty(cache))
        unreachable.push_back(statement.op);
    }
    for (Operation *op : unreachable)
      op->erase();
    return !unreachable.empty();
  }

  std::vector<PlanNode> makePlan(Nest &nest, ProofCache &cache) {
    computePins(nest, cache);
    std::vector<std::optional<Update>> updates;
    for (const Statement &statement : nest.statements)
      updates.push_back(matchUpdate(nest, statement));
    return distribute(nest, computeDependences(nest, updates, cache), updates, cache);
  }

  // An expanded cell that scalar code still uses was expanded in vain: undo. True if any was.
  bool contractScalarCells(const Nest &nest, ArrayRef<PlanNode> plan,
                           std::vector<Expansion> &expansions) {
    llvm::DenseSet<Value> inVain;
    auto visitNode = [&](auto &self, const PlanNode &node) -> void {
      if (node.kind == PlanNode::Kind::Scalar)
        for (unsigned s : node.statements)
          for (const Access &access : nest.statements[s].accesses)
            inVain.insert(access.memref);
      for (const PlanNode &child : node.children)
        self(self, child);
    };
    for (const PlanNode &node : plan)
      visitNode(visitNode, node);
    size_t before = expansions.size();
    llvm::erase_if(expansions, [&](const Expansion &expansion) {
      if (!inVain.contains(expansion.buffer))
        return false;
      contractCell(expansion);
      return true;
    });
    return expansions.size() != before;
  }

  void count(const PlanNode &node) {
    raised += node.kind == PlanNode::Kind::Raised;
    for (const PlanNode &child : node.children)
      count(child);
  }

  void setReason(AffineForOp loop, StringRef reason) {
    if (!loop->getParentOfType<AffineForOp>() && !loop->hasAttr("asc.scalar_reason"))
      loop->setAttr("asc.scalar_reason", StringAttr::get(loop.getContext(), reason));
  }

  int64_t raised = 0, kept = 0;
};

} // namespace

std::unique_ptr<Pass> createRaiseLoopsPass() { return std::make_unique<RaiseLoops>(); }

} // namespace pyasc
