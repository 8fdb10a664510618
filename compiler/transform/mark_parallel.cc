// asc-mark-parallel: says of serial loops that their iterations may run in any order.
//
// In: structured form. Out: the same; an affine.for at the top level that was left as a loop, and
// of whose iterations no two touch an element that one of them writes, has asc.parallel. So the
// rows of a recurrence within each row go to all cores, and those that each copy a row from where
// an index in memory says. Tensors of one element that only loops use are cells now, which each
// iteration may have for itself.
#include "compiler/transform/cells.h"
#include "compiler/transform/dependence.h"
#include "compiler/transform/pass_counts.h"
#include "compiler/transform/passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"

#include "compiler/ir/asc_dialect.h"
#include "compiler/ir/copies.h"
#include "compiler/ir/element_access.h"

namespace pyasc {

using namespace mlir;
using affine::AffineForOp;

namespace {

// Whether every load of the cell in `block` comes after a store in it; `assigned`: whether there
// surely was one, before and afterwards.
bool isAssignedFirst(Block &block, Value cell, bool &assigned) {
  for (Operation &op : block) {
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        if (bool state = assigned; !isAssignedFirst(inner, cell, state)) // it may never run
          return false;
    if (storedCell(&op) == cell)
      assigned = true;
    else if (loadedCell(&op) == cell && !assigned)
      return false;
  }
  return true;
}

// A variable that begins anew in every iteration and is nothing outside of the loop.
bool isPrivate(AffineForOp loop, Value memref) {
  bool assigned = false;
  return isCell(memref) &&
         llvm::all_of(memref.getUsers(),
                      [&](Operation *user) { return loop->isProperAncestor(user); }) &&
         isAssignedFirst(*loop.getBody(), memref, assigned);
}

// Tensors of one element that are used as variables, as the running sum of cumsum, become cells.
void makeCells(Block &entry) {
  for (auto alloc : llvm::make_early_inc_range(entry.getOps<memref::AllocOp>())) {
    auto isAccess = [&](Operation *user) {
      return isa<affine::AffineLoadOp, memref::LoadOp>(user) ||
             (isa<affine::AffineStoreOp, memref::StoreOp>(user) &&
              user->getOperand(0) != alloc.getMemref());
    };
    if (alloc.getType().getRank() != 0 || !alloc->getDiscardableAttrDictionary().empty() ||
        !llvm::all_of(alloc->getUsers(), isAccess))
      continue;
    OpBuilder builder(alloc);
    auto cell = builder.create<memref::AllocaOp>(alloc.getLoc(), alloc.getType());
    alloc.replaceAllUsesWith(cell.getMemref());
    alloc.erase();
  }
}

// How an access uses a dimension of its tensor: at the loop's variable plus `offset`.
struct OwnRow {
  unsigned dimension;
  int64_t offset;
  bool operator==(const OwnRow &) const = default;
};

// The dimensions in which the access is at a place of the iteration's own.
SmallVector<OwnRow> ownRows(const ir::ElementAccess &access, Value variable) {
  SmallVector<OwnRow> rows;
  if (!access.map) {
    for (auto [k, index] : llvm::enumerate(access.operands))
      if (index == variable)
        rows.push_back({static_cast<unsigned>(k), 0});
    return rows;
  }
  for (auto [k, result] : llvm::enumerate(access.map.getResults())) {
    AffineExpr expr = result;
    int64_t offset = 0;
    if (auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
        sum && sum.getKind() == AffineExprKind::Add && isa<AffineConstantExpr>(sum.getRHS())) {
      offset = cast<AffineConstantExpr>(sum.getRHS()).getValue();
      expr = sum.getLHS();
    }
    if (auto dim = dyn_cast<AffineDimExpr>(expr);
        dim && access.operands[dim.getPosition()] == variable)
      rows.push_back({static_cast<unsigned>(k), offset});
  }
  return rows;
}

// Whether everything that an iteration writes lies in rows of its own, which no other one reads or
// writes, wherever it reads the rest: enough where Nest sees too little, because an index is read
// from memory or checked. Products and other work on tensors have better places than one core each.
bool writesOwnRows(AffineForOp loop) {
  Value variable = loop.getInductionVar();
  struct Use {
    SmallVector<OwnRow> rows;
    bool write;
  };
  llvm::MapVector<Value, SmallVector<Use>> uses;
  auto viewOf = [&](Value view, bool write) {
    SmallVector<OwnRow> rows;
    auto part = view.getDefiningOp<memref::SubViewOp>();
    if (part && part.getSource() == rootBuffer(view))
      for (auto [k, offset] : llvm::enumerate(part.getMixedOffsets()))
        if (offset == OpFoldResult(variable) && isConstantIntValue(part.getMixedSizes()[k], 1))
          rows.push_back({static_cast<unsigned>(k), 0});
    uses[rootBuffer(view)].push_back({rows, write});
  };
  WalkResult result = loop.getBody()->walk([&](Operation *op) {
    if (std::optional<ir::ElementAccess> access = ir::ElementAccessOf(op)) {
      // The dimensions of a view are its own.
      Value root = rootBuffer(access->memref);
      uses[root].push_back(
          {root == access->memref ? ownRows(*access, variable) : SmallVector<OwnRow>(),
           access->isStore});
    } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (!ir::IsCopy(generic))
        return WalkResult::interrupt();
      viewOf(generic.getDpsInputs()[0], false);
      viewOf(generic.getDpsInits()[0], true);
      return WalkResult::skip();
    } else if (!isa<AffineForOp, affine::AffineIfOp, affine::AffineYieldOp, scf::IfOp, scf::YieldOp,
                    linalg::YieldOp, ir::CheckOp>(op) &&
               !isMemoryEffectFree(op)) {
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return false;
  for (auto &[root, all] : uses) {
    if (llvm::none_of(all, [](const Use &use) { return use.write; }))
      continue;
    for (auto &[other, unused] : uses)
      if (other != root && !areDistinctBuffers(other, root))
        return false;
    const SmallVector<OwnRow> &candidates = all.front().rows;
    if (llvm::none_of(candidates, [&](const OwnRow &row) {
          return llvm::all_of(all,
                              [&](const Use &use) { return llvm::is_contained(use.rows, row); });
        }))
      return false;
  }
  return true;
}

struct MarkParallel : PassWrapper<MarkParallel, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MarkParallel)

  StringRef getArgument() const override { return "asc-mark-parallel"; }
  StringRef getDescription() const override { return "Mark loops whose iterations have no order"; }

  void runOnOperation() override {
    int64_t marked = 0;
    makeCells(getOperation().getBody().front());
    for (auto loop : getOperation().getBody().front().getOps<AffineForOp>()) {
      if (loop->hasAttr(ir::AscDialect::kParallel) || loop->getNumResults() != 0)
        continue;
      std::string reason;
      ProofCache cache;
      std::optional<Nest> nest = Nest::analyse(loop, reason);
      const bool parallel =
          (nest && isOutermostParallel(
                       *nest, [&](Value memref) { return isPrivate(loop, memref); }, cache)) ||
          writesOwnRows(loop);
      if (!parallel)
        continue;
      loop->setAttr(ir::AscDialect::kParallel, UnitAttr::get(&getContext()));
      ++marked;
    }
    addPassCount(getOperation(), "parallel_loops", marked);
  }
};

} // namespace

std::unique_ptr<Pass> createMarkParallelPass() { return std::make_unique<MarkParallel>(); }

} // namespace pyasc
