// asc-promote-cells: makes cells as few and as short-lived as can be.
//
// In: variables as rank-0 allocas (kernel form). Out: loads that see one known store use its value,
// stores that nobody reads are gone, and a cell that serves unrelated purposes one after the other
// (in one block, or in several loops) is split into cells of their own. What remains is carried by
// a loop or set under a condition.
#include "compiler/transform/cells.h"
#include "compiler/transform/pass_counts.h"
#include "compiler/transform/passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/DenseSet.h"

namespace pyasc {

using namespace mlir;

namespace {

using CellSet = llvm::DenseSet<Value>;

bool isBranch(Operation *op) { return isa<scf::IfOp, affine::AffineIfOp>(op); }
bool isCountedLoop(Operation *op) { return isa<scf::ForOp, affine::AffineForOp>(op); }

class PromoteCells : public PassWrapper<PromoteCells, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PromoteCells)

  StringRef getArgument() const override { return "asc-promote-cells"; }
  StringRef getDescription() const override { return "Forward, drop and split scalar cells"; }

  void runOnOperation() override {
    forwarded = removed = 0;
    liveBefore.clear();
    exposedBy.clear();
    origin.clear();
    cells.clear();
    getOperation().walk([&](memref::AllocaOp op) {
      if (isCell(op))
        cells.insert(op);
    });
    for (Block &block : getOperation().getBody())
      forward(block, llvm::DenseMap<Value, Value>());
    for (Block &block : getOperation().getBody())
      sweep(block, {}, /*remove=*/true);
    splitInBlocks();
    splitAtLoops();
    removeUnusedCells();
    addPassCount(getOperation(), "forwarded_loads", forwarded);
    addPassCount(getOperation(), "removed_stores", removed);
  }

private:
  Value loaded(Operation *op) const {
    Value cell = loadedCell(op);
    return cells.contains(cell) ? cell : Value();
  }
  Value stored(Operation *op) const {
    Value cell = storedCell(op);
    return cells.contains(cell) ? cell : Value();
  }

  void collect(Operation *op, CellSet &allLoaded, CellSet &allStored) const {
    op->walk([&](Operation *inner) {
      if (Value cell = loaded(inner))
        allLoaded.insert(cell);
      if (Value cell = stored(inner))
        allStored.insert(cell);
    });
  }

  // Replaces loads by the value that is known at their place. `known` dominates `block`.
  void forward(Block &block, llvm::DenseMap<Value, Value> known) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (Value cell = loaded(&op)) {
        auto [entry, isNew] = known.try_emplace(cell, op.getResult(0));
        if (!isNew) {
          op.getResult(0).replaceAllUsesWith(entry->second);
          op.erase();
          ++forwarded;
        }
      } else if (Value cell = stored(&op)) {
        known[cell] = storedValue(&op);
      } else if (op.getNumRegions() != 0) {
        CellSet reads, writes;
        collect(&op, reads, writes);
        auto inside = known;
        if (!isBranch(&op))
          for (Value cell : writes)
            inside.erase(cell);
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            forward(inner, inside);
        for (Value cell : writes)
          known.erase(cell);
      }
    }
  }

  // Walks backwards from the cells that are live at the block's end to those at its start, and
  // removes stores to cells that are not live.
  CellSet sweep(Block &block, CellSet live, bool remove) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (Value cell = loaded(&op)) {
        live.insert(cell);
      } else if (Value cell = stored(&op)) {
        bool isNeeded = live.erase(cell);
        if (!isNeeded && remove) {
          op.erase();
          ++removed;
        }
      } else if (op.getNumRegions() != 0) {
        live = sweepRegions(op, live, remove);
        if (remove)
          liveBefore[&op] = live;
      }
    }
    return live;
  }

  CellSet sweepRegions(Operation &op, const CellSet &after, bool remove) {
    CellSet result = after;
    auto sweepAll = [&](const CellSet &atEnd, bool removeInside) {
      CellSet atStart;
      for (Region &region : op.getRegions())
        for (Block &inner : region) {
          CellSet live = sweep(inner, atEnd, removeInside);
          atStart.insert(live.begin(), live.end());
        }
      return atStart;
    };
    if (isBranch(&op)) {
      bool hasElse = llvm::all_of(op.getRegions(), [](Region &r) { return !r.empty(); });
      CellSet inside = sweepAll(after, remove);
      if (hasElse)
        return inside;
      result.insert(inside.begin(), inside.end());
      return result;
    }
    // What one iteration reads first is live at the end of the one before; nothing else of what is
    // live after the loop's body depends on what is live behind the loop.
    const CellSet own = exposed(op);
    result.insert(own.begin(), own.end());
    if (remove)
      sweepAll(result, true);
    return result;
  }

  // The cells that a loop may read before it stores to them. Kept, since every level of a nest asks
  // for it again; removing stores of cells that are not live does not change it.
  CellSet exposed(Operation &loop) {
    if (auto known = exposedBy.find(&loop); known != exposedBy.end())
      return known->second;
    CellSet cells;
    if (isCountedLoop(&loop)) {
      for (Region &region : loop.getRegions())
        for (Block &inner : region) {
          CellSet live = sweep(inner, {}, false);
          cells.insert(live.begin(), live.end());
        }
    } else {
      CellSet writes;
      collect(&loop, cells, writes);
    }
    return exposedBy[&loop] = cells;
  }

  Value makeCellLike(Value cell) {
    OpBuilder builder(cell.getDefiningOp());
    Value fresh = builder.clone(*cell.getDefiningOp())->getResult(0);
    cells.insert(fresh);
    auto known = origin.find(cell);
    origin[fresh] = known == origin.end() ? cell : known->second;
    return fresh;
  }

  static void rename(Operation *op, Value from, Value to) {
    op->walk([&](Operation *inner) { inner->replaceUsesOfWith(from, to); });
  }

  // A store ends what the cell meant before it in the same block.
  void splitInBlocks() {
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks) {
      llvm::DenseMap<Value, Operation *> segmentStart;
      SmallVector<Operation *> stores;
      for (Operation &op : *block)
        if (stored(&op))
          stores.push_back(&op);
      for (Operation *store : stores) {
        Value cell = stored(store);
        Operation *&start = segmentStart[cell];
        if (start) {
          Value fresh = makeCellLike(cell);
          for (Operation *op = start; op != store; op = op->getNextNode())
            rename(op, cell, fresh);
        }
        segmentStart[cell] = store;
      }
    }
  }

  // A loop that neither gets a cell's value from before nor leaves one behind has its own.
  void splitAtLoops() {
    auto originOf = [&](Value cell) {
      auto known = origin.find(cell);
      return known == origin.end() ? cell : known->second;
    };
    getOperation().walk<WalkOrder::PreOrder>([&](affine::AffineForOp loop) {
      CellSet reads, writes;
      collect(loop, reads, writes);
      for (Value cell : writes) {
        bool isUsedOutside = llvm::any_of(
            cell.getUsers(), [&](Operation *user) { return !loop->isProperAncestor(user); });
        auto live = liveBefore.find(loop);
        if (!isUsedOutside || live == liveBefore.end() || live->second.contains(originOf(cell)))
          continue;
        Value fresh = makeCellLike(cell);
        rename(loop, cell, fresh);
      }
    });
  }

  void removeUnusedCells() {
    getOperation().walk([&](memref::AllocaOp cell) {
      if (!isCell(cell) || llvm::any_of(cell->getUsers(), [](Operation *user) {
            return loadedCell(user) != Value();
          }))
        return;
      for (Operation *user : llvm::make_early_inc_range(cell->getUsers())) {
        user->erase();
        ++removed;
      }
      cell.erase();
    });
  }

  int64_t forwarded = 0, removed = 0;
  CellSet cells;
  llvm::DenseMap<Value, Value> origin; // of a split cell: the one it had been when lives were swept
  // Live at the start of an op with regions, by original cells.
  llvm::DenseMap<Operation *, CellSet> liveBefore;
  llvm::DenseMap<Operation *, CellSet> exposedBy;
};

} // namespace

bool isCell(Value memref) {
  auto alloca = memref.getDefiningOp<memref::AllocaOp>();
  return alloca && alloca.getType().getRank() == 0 &&
         llvm::all_of(alloca->getUsers(), [&](Operation *user) {
           return loadedCell(user) == memref || storedCell(user) == memref;
         });
}

Value loadedCell(Operation *op) {
  Value memref;
  if (auto load = dyn_cast<affine::AffineLoadOp>(op))
    memref = load.getMemRef();
  else if (auto load = dyn_cast<memref::LoadOp>(op))
    memref = load.getMemRef();
  auto alloca = memref ? memref.getDefiningOp<memref::AllocaOp>() : memref::AllocaOp();
  return alloca && alloca.getType().getRank() == 0 ? memref : Value();
}

Value storedValue(Operation *store) {
  if (auto affineStore = dyn_cast<affine::AffineStoreOp>(store))
    return affineStore.getValueToStore();
  return cast<memref::StoreOp>(store).getValueToStore();
}

Value storedCell(Operation *op) {
  Value memref;
  if (auto store = dyn_cast<affine::AffineStoreOp>(op))
    memref = store.getMemRef();
  else if (auto store = dyn_cast<memref::StoreOp>(op))
    memref = store.getMemRef();
  auto alloca = memref ? memref.getDefiningOp<memref::AllocaOp>() : memref::AllocaOp();
  return alloca && alloca.getType().getRank() == 0 ? memref : Value();
}

std::unique_ptr<Pass> createPromoteCellsPass() { return std::make_unique<PromoteCells>(); }

} // namespace pyasc
