// asc-raise-loops: turns loop nests into linalg.generic on memrefs.
//
// In: affine.for nests over affine.load/store and pure scalar ops (kernel form). Out: the same
// computation as structured operations in dependence order, inside the loops that have to stay;
// those carry asc.scalar_reason. A nest of which nothing can be raised is left untouched.
//
// Tensor operations in a loop (over rows, say) are raised too: as loops over elements they are
// statements like others, and become operations over all iterations (expand_tensors.h). That is
// kept where no serial loop is left around them, else the operations stay as they are, and what
// stands inside of the loop is looked at.
#include "compiler/ir/asc_dialect.h"
#include "compiler/transform/convert_branches.h"
#include "compiler/transform/emit.h"
#include "compiler/transform/expand_cells.h"
#include "compiler/transform/expand_tensors.h"
#include "compiler/transform/pass_counts.h"
#include "compiler/transform/passes.h"
#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
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

// A copy of a loop that is rewritten and planned: what cannot be raised had better stay as its
// author wrote it.
class Trial {
public:
  explicit Trial(AffineForOp original)
      : original(original), loop(cast<AffineForOp>(OpBuilder(original).clone(*original))) {
    convertBranches(loop);
  }

  AffineForOp original, loop;
  std::optional<Nest> nest;
  std::vector<PlanNode> nodes;
  bool isEmpty = false; // no iteration does anything

  // False, with the reason, when the loop cannot be modelled.
  bool plan(std::string &reason) {
    nest = Nest::analyse(loop, reason);
    if (!nest)
      return false;
    ProofCache cache;
    if (eraseUnreachable(cache))
      nest = Nest::analyse(loop, reason);
    isEmpty = nest->statements.empty();
    if (isEmpty)
      return true;
    expansions = expandCells(*nest, original, cache);
    do {
      nest = Nest::analyse(loop, reason);
      makePlan(cache);
    } while (contractScalarCells());
    return true;
  }

  // Plans the loop with its outermost `count` loops inside of the serial ones, when no iteration of
  // them depends on another. False, with the reason, when they cannot go there.
  bool planSunk(unsigned count, std::string &reason) {
    if (isEmpty)
      return false;
    ProofCache cache;
    computePins(*nest, cache);
    std::vector<std::optional<Update>> updates;
    for (const Statement &statement : nest->statements) {
      updates.push_back(matchUpdate(*nest, statement));
      if (!statement.obstacle.empty() || statement.pinnedDepth) {
        reason = statement.obstacle;
        return false;
      }
    }
    for (const Dependence &dependence : computeDependences(*nest, updates, cache))
      if (!dependence.isIndependent && dependence.depth < count)
        return false;
    auto isSerial = [](AffineForOp loop) { return !loop->hasAttr(kElementLoop); };
    if (!nest->sink(count, isSerial))
      return false;
    makePlan(cache);
    return true;
  }

  void drop() {
    for (const Expansion &expansion : expansions)
      contractCell(expansion);
    loop->erase();
  }

private:
  // Erases statements that no iteration reaches, as behind `if i < j` where i starts at j: their
  // indices may lie outside of the tensor, and no view could be made of them. True if there are
  // any.
  bool eraseUnreachable(ProofCache &cache) {
    SmallVector<Operation *> unreachable;
    for (const Statement &statement : nest->statements) {
      System domain(nest->getNumVariables());
      nest->addDomain(domain, statement.loops, statement.guards);
      nest->addDivisions(domain);
      if (domain.isProvablyEmpty(cache))
        unreachable.push_back(statement.op);
    }
    for (Operation *op : unreachable)
      op->erase();
    return !unreachable.empty();
  }

  void makePlan(ProofCache &cache) {
    computePins(*nest, cache);
    std::vector<std::optional<Update>> updates;
    for (const Statement &statement : nest->statements)
      updates.push_back(matchUpdate(*nest, statement));
    nodes = distribute(*nest, computeDependences(*nest, updates, cache), updates, cache);
  }

  // An expanded cell that scalar code still uses was expanded in vain: undo. True if any was.
  bool contractScalarCells() {
    llvm::DenseSet<Value> inVain;
    auto visitNode = [&](auto &self, const PlanNode &node) -> void {
      if (node.kind == PlanNode::Kind::Scalar)
        for (unsigned s : node.statements)
          for (const Access &access : nest->statements[s].accesses)
            inVain.insert(access.memref);
      for (const PlanNode &child : node.children)
        self(self, child);
    };
    for (const PlanNode &node : nodes)
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

  std::vector<Expansion> expansions;
};

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

  // True when the loop is replaced, or all that can be raised in it has been.
  bool raise(AffineForOp loop) {
    std::string reason;
    if (!hasTensorOperations(loop))
      return raiseStatements(loop, reason);
    if (raiseTensors(loop, reason))
      return true;
    // What stands inside may be whole operations of its own.
    visit(loop.getRegion());
    raiseStatements(loop, reason);
    return true;
  }

  // Raises the loop with the tensor operations in it; when not all that it should, it stays as it
  // was, and `why` says it.
  bool raiseTensors(AffineForOp loop, std::string &why) {
    auto attempt = [&](unsigned numOwners, llvm::function_ref<bool(Trial &, std::string &)> accept,
                       std::string &reason) {
      SmallVector<Operation *> temporaries;
      Trial trial(loop);
      if (expandTensors(trial.loop, loop, numOwners, temporaries, reason) && trial.plan(reason) &&
          accept(trial, reason)) {
        finish(trial);
        return true;
      }
      trial.drop();
      for (Operation *temporary : temporaries)
        temporary->erase();
      return false;
    };
    bool isParallel = loop->hasAttr(ir::AscDialect::kParallel);
    // What the first attempt shows of the others; it may fail for temporaries of all rounds.
    bool hasRounds = true, hasParts = false;
    auto isWhole = [&](Trial &trial, std::string &reason) {
      hasRounds = llvm::count_if(trial.nest->loops, [](const NestLoop &known) {
                    return !AffineForOp(known.op)->hasAttr(kElementLoop);
                  }) > countParallel(loop);
      hasParts = isParallel && isPartlyRaised(trial, reason);
      return isAllRaised(trial, isParallel, reason);
    };
    auto isSunk = [&](Trial &trial, std::string &reason) {
      return trial.planSunk(countParallel(loop), reason) && isWorthRounds(trial);
    };
    std::string ofRounds;
    return attempt(~0u, isWhole, why) ||
           (hasRounds && attempt(countParallel(loop), isSunk, ofRounds)) ||
           (hasParts && attempt(~0u, isPartlyRaised, ofRounds));
  }

  // The parallel loops that stand right in each other, the first one, of any kind, included.
  static unsigned countParallel(AffineForOp loop) {
    unsigned count = 1;
    while (true) {
      AffineForOp inner;
      for (Operation &op : loop.getBody()->without_terminator()) {
        auto next = dyn_cast<AffineForOp>(op);
        if (inner || (!next && !isMemoryEffectFree(&op)) ||
            (next && !next->hasAttr(ir::AscDialect::kParallel)))
          return count;
        inner = next ? next : inner;
      }
      if (!inner)
        return count;
      loop = inner;
      ++count;
    }
  }

  static bool isAllRaised(const Trial &trial, bool isParallel, std::string &reason) {
    for (const PlanNode &node : trial.nodes) {
      if (!node.raised) {
        reason = node.reason;
        return false;
      }
      // The results of all rounds of a serial loop would be kept, to be added up.
      bool addsUpRounds = llvm::any_of(node.raised->dimensions, [&](const RaisedDimension &d) {
        return d.isReduction && d.form.mentions(trial.nest->loops[0].variable);
      });
      if (!isParallel && addsUpRounds) {
        reason = "the iterations of the loop add to one tensor";
        return false;
      }
    }
    return !trial.nodes.empty();
  }

  // Of a parallel loop: what is left of it stays parallel.
  static bool isPartlyRaised(const Trial &trial, std::string &) {
    return llvm::any_of(trial.nodes,
                        [](const PlanNode &node) { return node.raised.has_value(); }) &&
           llvm::none_of(trial.nodes,
                         [](const PlanNode &node) { return node.kind == PlanNode::Kind::Kept; });
  }

  // Whether nothing but operations is left in the serial loops, each with so much to do that
  // setting it going for every round is not what takes the time.
  static bool isWorthRounds(const Trial &trial) {
    constexpr double leastWork = 1 << 14;
    double work = 0, operations = 0;
    auto visitNode = [&](auto &self, const PlanNode &node) -> bool {
      if (node.kind == PlanNode::Kind::Scalar)
        return false;
      if (node.raised && node.depth > 0) {
        double points = 1;
        for (unsigned l : innerLoops(*trial.nest, *node.raised))
          if (AffineForOp loop = trial.nest->loops[l].op; loop.hasConstantBounds())
            points *= static_cast<double>(affine::getConstantTripCount(loop).value_or(1));
        work += points;
        ++operations;
      }
      return llvm::all_of(node.children, [&](const PlanNode &child) { return self(self, child); });
    };
    return llvm::all_of(trial.nodes,
                        [&](const PlanNode &node) { return visitNode(visitNode, node); }) &&
           work >= leastWork * operations;
  }

  // `stays` says why tensor operations in the loop were not raised, if there are any.
  bool raiseStatements(AffineForOp loop, const std::string &stays) {
    Trial trial(loop);
    std::string reason;
    bool isModelled = trial.plan(reason);
    if (!isModelled) {
      setReason(loop, reason, stays);
      trial.drop();
      return false;
    }
    if (trial.isEmpty) {
      trial.drop();
      loop->erase();
      return true;
    }
    if (llvm::any_of(trial.nodes, [](const PlanNode &node) { return node.containsRaised(); })) {
      finish(trial);
      return true;
    }
    for (const PlanNode &node : trial.nodes)
      kept += node.kind != PlanNode::Kind::Raised;
    setReason(loop, trial.nodes.empty() ? "" : trial.nodes[0].reason, stays);
    trial.drop();
    return true;
  }

  // Replaces the loop by what the plan says.
  void finish(Trial &trial) {
    for (const PlanNode &node : trial.nodes) {
      count(node);
      kept += node.kind != PlanNode::Kind::Raised;
    }
    trial.loop.walk([](AffineForOp loop) { loop->removeAttr(kElementLoop); });
    emitPlan(*trial.nest, trial.nodes);
    trial.original->erase();
  }

  void count(const PlanNode &node) {
    raised += node.kind == PlanNode::Kind::Raised;
    for (const PlanNode &child : node.children)
      count(child);
  }

  void setReason(AffineForOp loop, StringRef reason, const std::string &stays) {
    if (loop->getParentOfType<AffineForOp>() || loop->hasAttr("asc.scalar_reason"))
      return;
    loop->setAttr("asc.scalar_reason",
                  StringAttr::get(loop.getContext(), stays.empty() ? reason : StringRef(stays)));
  }

  int64_t raised = 0, kept = 0;
};

} // namespace

std::unique_ptr<Pass> createRaiseLoopsPass() { return std::make_unique<RaiseLoops>(); }

} // namespace pyasc
