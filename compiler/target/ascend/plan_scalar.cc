// Scalar planning: steps that neither cube nor vector unit can do become AIV phases whose scalar
// unit does everything, element by element.
//
// In: any steps of the structured or the kernel form. Out: one phase; on several cores where the
// step's outermost loops are parallel and its writes can be kept in separate cache lines.
#include "compiler/ir/asc_dialect.h"
#include "compiler/target/ascend/plan.h"
#include "compiler/target/ascend/plan_scalar_emit.h"
#include "compiler/target/ascend/plan_scalar_split.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace pyasc::npu {

using namespace mlir;

namespace {

// Of UB, for copies of rows: less than any vector core has.
constexpr int64_t kCopyBytes = int64_t{128} << 10;

std::string describe(Operation *step, int64_t blocks) {
  std::string what;
  if (auto generic = dyn_cast<linalg::GenericOp>(step)) {
    what = "operation over ";
    llvm::interleave(
        generic.getStaticLoopRanges(), [&](int64_t extent) { what += std::to_string(extent); },
        [&] { what += "x"; });
  } else if (isa<affine::AffineForOp, scf::ForOp, scf::WhileOp>(step)) {
    what = "loop";
  } else if (isa<affine::AffineIfOp, scf::IfOp>(step)) {
    what = "branch";
  } else {
    what = "statement";
  }
  return what + (blocks > 1 ? " on " + std::to_string(blocks) + " cores" : " on one core");
}

// Why no better unit takes a step that is no operation; "" where that is known better elsewhere.
std::string reasonOf(Operation *step) {
  if (auto reason = step->getAttrOfType<StringAttr>("asc.scalar_reason"))
    return reason.getValue().str();
  if (isa<scf::WhileOp>(step))
    return "the loop ends when a value that it computes says so";
  if (auto loop = dyn_cast<scf::ForOp>(step);
      loop && !(getConstantIntValue(loop.getLowerBound()) &&
                getConstantIntValue(loop.getUpperBound()) && getConstantIntValue(loop.getStep())))
    return "how often the loop runs is known at run time only";
  return "";
}

void record(Planner &planner, Operation *step, const ScalarSplit &split, bool movesRows) {
  Lowered lowered{step->getLoc(), "scalar", describe(step, split.blocks), ""};
  if (movesRows) {
    lowered.unit = "transfer";
    lowered.what = "copies of rows";
  } else {
    lowered.reason = reasonOf(step);
  }
  lowered.cores = split.blocks;
  lowered.coresReason = split.reason;
  planner.record(std::move(lowered));
}

// Steps after the first that run in its phase too: statements, loops and branches that would
// have no more cores in a phase of their own. Generics, and loops of them, are offered to the
// better units first.
size_t countTogether(Planner &planner, ArrayRef<Operation *> steps, int64_t cores) {
  size_t count = 1;
  while (count < steps.size() && !isa<linalg::GenericOp>(steps[count]) &&
         !mayBeRounds(planner, steps[count]) && !SplitScalarStep(steps[count], cores).divided())
    ++count;
  return count;
}

// Whether every load of the cell in `op` sees a store of this run; `assigned`: whether it surely
// has one, and afterwards the same of what follows.
bool loadsAfterStores(Operation *op, Value cell, bool &assigned) {
  auto block = [&](Block &inner, bool &state) {
    return llvm::all_of(inner, [&](Operation &one) { return loadsAfterStores(&one, cell, state); });
  };
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    bool then = assigned, otherwise = assigned;
    if (!block(*branch.thenBlock(), then) ||
        (branch.elseBlock() && !block(*branch.elseBlock(), otherwise)))
      return false;
    assigned = then && otherwise;
    return true;
  }
  // What is in a region may never run.
  for (Region &region : op->getRegions())
    for (Block &inner : region)
      if (bool state = assigned; !block(inner, state))
        return false;
  if (!llvm::is_contained(op->getOperands(), cell))
    return true;
  if (isa<memref::StoreOp, affine::AffineStoreOp>(op))
    return assigned = true;
  return assigned && isa<memref::LoadOp, affine::AffineLoadOp>(op);
}

// Rounded up so that copies of different cores share no cache line.
int64_t privateElements(Value tensor) {
  auto type = cast<MemRefType>(tensor.getType());
  int64_t bytes = bytesOf(type.getElementType());
  return llvm::divideCeil(type.getNumElements() * bytes, kCacheLine) * kCacheLine / bytes;
}

// The step's loops for the iterations of this core.
LogicalResult emitShare(PhaseEmitter &emitter, Operation *step, const ScalarSplit &split) {
  OpBuilder &builder = emitter.builder();
  Location loc = step->getLoc();
  Value block = builder.create<BlockIdxOp>(loc, builder.getIndexType());
  Value chunk = emitter.index(loc, split.chunk);
  Value from = builder.create<arith::MulIOp>(loc, block, chunk);
  Value to = builder.create<arith::MinSIOp>(loc, builder.create<arith::AddIOp>(loc, from, chunk),
                                            emitter.index(loc, split.trips));
  auto loop = builder.create<scf::ForOp>(loc, from, to, emitter.index(loc, 1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> iterations(split.extents.size());
  Value rest = loop.getInductionVar();
  for (size_t k = split.extents.size(); k-- > 0;) {
    if (k == 0) {
      iterations[0] = rest;
      break;
    }
    Value extent = emitter.index(loc, split.extents[k]);
    iterations[k] = builder.create<arith::RemUIOp>(loc, rest, extent);
    rest = builder.create<arith::DivUIOp>(loc, rest, extent);
  }
  if (auto generic = dyn_cast<linalg::GenericOp>(step))
    return emitter.emitGeneric(generic, iterations);
  for (auto [k, op] : llvm::enumerate(split.loops)) {
    auto level = cast<affine::AffineForOp>(op);
    OpFoldResult at = emitter.mul(loc, iterations[k], builder.getIndexAttr(level.getStepAsInt()));
    at = emitter.add(loc, at, builder.getIndexAttr(level.getConstantLowerBound()));
    emitter.map(level.getInductionVar(), emitter.materialize(loc, at));
    for (Operation &inner : level.getBody()->without_terminator())
      if (!llvm::is_contained(split.loops, &inner) && failed(emitter.emit(&inner)))
        return failure();
  }
  return success();
}

} // namespace

size_t planScalar(Planner &planner, ArrayRef<Operation *> steps, std::string &reason) {
  int64_t cores = planner.cores("aiv");
  ScalarSplit split = SplitScalarStep(steps.front(), cores);
  size_t count = split.divided() ? 1 : countTogether(planner, steps, cores);
  Operation *first = steps.front(), *last = steps[count - 1];

  Phase phase = planner.begin(first->getLoc(), "aiv", split.blocks);
  PhaseEmitter::Outside outside;
  auto isPrivate = [&](Value tensor) {
    return split.divided() && llvm::is_contained(split.privateTensors, tensor);
  };
  outside.bindTensor = [&](Value tensor) {
    if (!isPrivate(tensor))
      return phase.memory(tensor);
    return phase.workspace(privateElements(tensor) * split.blocks,
                           cast<MemRefType>(tensor.getType()).getElementType());
  };
  outside.privateStride = [&](Value tensor) -> int64_t {
    return isPrivate(tensor) ? privateElements(tensor) : 0;
  };
  outside.bindScalar = [&](BlockArgument argument) { return phase.scalar(argument); };
  outside.isLocalCell = [&](Value cell) {
    // What one round of a loop leaves in a cell the next one may read. (Where a step is divided,
    // SplitScalarStep has seen to it that each iteration assigns its cells.)
    bool assigned = false;
    if (planner.loopRounds() && !split.divided())
      for (Operation *op = first;; op = op->getNextNode()) {
        if (!loadsAfterStores(op, cell, assigned))
          return false;
        if (op == last)
          break;
      }
    // What is computed from the cell between steps is made again where a later step uses it, which
    // then reads the cell.
    SmallVector<Operation *> worklist(cell.getUsers());
    llvm::SmallPtrSet<Operation *, 8> seen;
    while (!worklist.empty()) {
      Operation *user = worklist.pop_back_val();
      if (!seen.insert(user).second)
        continue;
      Operation *top = first->getBlock()->findAncestorOpInBlock(*user);
      if (!top || top->isBeforeInBlock(first) || last->isBeforeInBlock(top))
        return false;
      if (top == user &&
          (isa<memref::LoadOp, affine::AffineLoadOp>(user) || isMemoryEffectFree(user)))
        llvm::append_range(worklist, user->getUsers());
    }
    return true;
  };
  outside.copyBytes = kCopyBytes;
  PhaseEmitter emitter(phase.builder, &phase.function.front(), std::move(outside));

  if (split.divided()) {
    if (failed(emitShare(emitter, first, split))) {
      reason = emitter.reason();
      return 0;
    }
  } else {
    // Loads and computations between the steps belong to the phase at their place.
    for (Operation *op = first;; op = op->getNextNode()) {
      if (!planner.isFolded(op) && failed(emitter.emit(op))) {
        reason = emitter.reason();
        return 0;
      }
      if (op == last)
        break;
    }
  }
  for (Operation *step : steps.take_front(count))
    record(planner, step, step == first ? split : SplitScalarStep(step, cores),
           emitter.movesRowsOnly());
  return count;
}

} // namespace pyasc::npu
