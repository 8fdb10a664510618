// Vector planning: a generic becomes an AIV phase of transfers and vector instructions on tiles.
//
// In: one generic of the structured form that is elementwise, a reduction along rows, or an
// accumulation over rows; a reduction with the step that fills its results. Out: one phase; cores
// take tiles in turn, buffers have two slots so that transfers overlap with work. A long reduction
// with few results takes two phases. What the unit cannot do is refused with a reason.
#include "compiler/target/ascend/plan.h"
#include "compiler/target/ascend/plan_vector_phase.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace pyasc::npu {

using namespace mlir;

namespace {

// Below this many points a loop of the scalar unit is done before a transfer arrives.
constexpr int64_t kFewPoints = 16;

std::string describe(const VectorNest &nest, const VectorLoops &loops) {
  std::string what = loops.form == VectorForm::elementwise  ? "elementwise "
                     : loops.form == VectorForm::accumulate ? "accumulation "
                     : loops.form == VectorForm::lineReduce ? "column reduction "
                                                            : "row reduction ";
  llvm::interleave(
      nest.op.getStaticLoopRanges(), [&](int64_t extent) { what += std::to_string(extent); },
      [&] { what += "x"; });
  llvm::raw_string_ostream(what) << " " << nest.operands.back().element;
  return what;
}

EmitPhase emitterOf(const VectorNest &nest, const VectorLoops &loops) {
  return [&](PhaseEmitter &emitter, TileBuffers &buffers, const Tiling &tiling,
             std::string &reason) -> LogicalResult {
    VectorEmitter vector(emitter, buffers, nest, loops, tiling);
    LogicalResult done = vector.emit();
    reason = vector.reason();
    return done;
  };
}

// One phase for a nest.
LogicalResult planNest(Planner &planner, const VectorNest &nest, const VectorLoops &loops,
                       const Tiling &tiling, std::string &reason) {
  return planPhase(planner, nest.op.getLoc(), tiling, emitterOf(nest, loops), reason);
}

// Whether each element of an operand is loaded once.
bool loadedOnce(const VectorNest &nest, const VectorOperand &operand) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [stride, extent] : llvm::zip_equal(operand.strides, nest.extents))
    dims.push_back({stride, extent});
  llvm::sort(dims);
  int64_t reach = 1;
  for (auto [stride, extent] : dims) {
    if (stride < reach)
      return false;
    reach = stride * extent;
  }
  return llvm::count_if(nest.operands, [&](const VectorOperand &other) {
           return other.view.root == operand.view.root;
         }) == 1;
}

struct Cut {
  VectorLoops loops;
  Tiling tiling;
};

FailureOr<Cut> cutNest(Planner &planner, const VectorNest &nest, std::string &reason) {
  auto loops = chooseLoops(nest, reason);
  if (failed(loops))
    return failure();
  auto bytes =
      tryPhase(nest.op.getLoc(), trialTiling(nest, *loops), emitterOf(nest, *loops), reason);
  if (failed(bytes))
    return failure();
  auto tiling = chooseTiling(nest, *loops, *bytes, vectorBudget(planner), planner.cores("aiv"),
                             planner.soc());
  if (failed(tiling)) {
    reason = "its values do not fit into the unified buffer";
    return failure();
  }
  return Cut{*loops, *tiling};
}

//===------------------------------------------------------------------------------------------===//
// Reductions with few results
//===------------------------------------------------------------------------------------------===//

// Points of a reduction from which partial results in parallel pay for one more phase.
constexpr int64_t kManyPoints = 1 << 16;
// What a core's part of the divided dimension must have at least.
constexpr int64_t kLeastPart = 16;
constexpr int64_t kLeastColumns = 2048;

struct Parts {
  int64_t divided = -1; // the dimension
  int64_t count = 1;
  int64_t length = 0; // of each but the last
};

// Which dimension's parts become parallel. `tasks`: what there is to share out without that.
Parts chooseParts(const VectorNest &nest, const VectorLoops &loops, int64_t tasks, int64_t cores) {
  Parts best;
  if (loops.form == VectorForm::elementwise || tasks * 2 > cores || nest.points() < kManyPoints)
    return best;
  for (int64_t d = 0; d < nest.rank(); ++d) {
    if (!nest.reduction[d])
      continue;
    int64_t least = d == loops.column ? kLeastColumns : kLeastPart;
    int64_t parts = std::min(cores / tasks, nest.extents[d] / least);
    if (parts <= best.count)
      continue;
    auto ceilDiv = [](int64_t a, int64_t b) { return llvm::divideCeilSigned(a, b); };
    int64_t length = ceilDiv(nest.extents[d], parts);
    if (length > 64)
      length = ceilDiv(length, 64) * 64;
    best = {d, ceilDiv(nest.extents[d], length), length};
  }
  return best;
}

// A generic that combines partial results as `op` does its elements: place[i] = op(place[i],
// partials[p, i]).
linalg::GenericOp combinePartials(linalg::GenericOp op, const Reduction &reduction, Value partials,
                                  Value place) {
  OpBuilder builder(op);
  AffineExpr part = builder.getAffineDimExpr(0), result = builder.getAffineDimExpr(1);
  AffineMap maps[] = {AffineMap::get(2, 0, {part, result}, builder.getContext()),
                      AffineMap::get(2, 0, result)};
  utils::IteratorType iterators[] = {utils::IteratorType::reduction, utils::IteratorType::parallel};
  Block &body = *op.getBody();
  return builder.create<linalg::GenericOp>(
      op.getLoc(), ValueRange{partials}, ValueRange{place}, maps, iterators,
      [&](OpBuilder &inner, Location at, ValueRange arguments) {
        IRMapping mapping;
        mapping.map(body.getArguments().back(), arguments[1]);
        Value combined = arguments[0];
        if (reduction.isFlag) {
          Value zero = inner.create<arith::ConstantOp>(at, inner.getZeroAttr(combined.getType()));
          combined = inner.create<arith::CmpIOp>(at, arith::CmpIPredicate::ne, combined, zero);
        }
        mapping.map(reduction.combined, combined);
        // What leads from there to the result.
        llvm::SmallSetVector<Operation *, 8> needed;
        auto need = [&](Value value) {
          Operation *by = value.getDefiningOp();
          if (by && by->getBlock() == &body && !mapping.contains(value))
            needed.insert(by);
        };
        Operation *yield = body.getTerminator();
        need(yield->getOperand(0));
        for (size_t i = 0; i < needed.size(); ++i)
          for (Value operand : SmallVector<Value>(needed[i]->getOperands()))
            need(operand);
        for (Operation &one : body)
          if (needed.contains(&one))
            inner.clone(one, mapping);
        inner.create<linalg::YieldOp>(at, mapping.lookup(yield->getOperand(0)));
      });
}

// Every part of the divided dimension reduces into partial results of its own; a second phase
// combines these in order. False, and nothing begun, when a part cannot be cut.
FailureOr<bool> planInParts(Planner &planner, const VectorNest &nest, const Parts &parts,
                            std::string &reason) {
  linalg::GenericOp op = nest.op;
  Location loc = op.getLoc();
  Type element = nest.operands.back().element;
  int64_t results = 1, points = 1;
  for (auto [extent, reduction] : llvm::zip_equal(nest.extents, nest.reduction))
    (reduction ? points : results) *= extent;
  points = points / nest.extents[parts.divided] * parts.length;
  auto reduction = findReduction(op, points, results * parts.count, reason);
  if (failed(reduction))
    return false;

  OpBuilder builder(op);
  Value partials =
      builder.create<memref::AllocOp>(loc, MemRefType::get({parts.count, results}, element));
  // Strides of a dense tensor of the results, for the parallel dimensions of the nest.
  SmallVector<int64_t> dense(nest.rank(), 0);
  int64_t stride = 1;
  for (int64_t d = nest.rank() - 1; d >= 0; --d) {
    if (nest.reduction[d])
      continue;
    dense[d] = stride;
    stride *= nest.extents[d];
  }

  VectorNest first = nest;
  first.fromNeutral = true;
  first.part = 0;
  first.divided = parts.divided + 1;
  first.dividedExtent = nest.extents[parts.divided];
  first.extents[parts.divided] = parts.length;
  first.extents.insert(first.extents.begin(), parts.count);
  first.reduction.insert(first.reduction.begin(), false);
  for (VectorOperand &operand : first.operands)
    operand.strides.insert(operand.strides.begin(), operand.strides[parts.divided] * parts.length);
  VectorOperand &target = first.operands.back();
  target.memref = partials;
  target.view = *planner.locate(partials);
  target.offset = 0;
  target.strides = dense;
  target.strides.insert(target.strides.begin(), results);

  Value place = builder.create<memref::AllocOp>(loc, MemRefType::get({results}, element));
  linalg::GenericOp combine = combinePartials(op, *reduction, partials, place);
  VectorNest last;
  last.op = combine;
  last.fill = nest.fill;
  last.extents.push_back(parts.count);
  last.reduction.push_back(true);
  VectorOperand input;
  input.memref = partials;
  input.view = *planner.locate(partials);
  input.element = element;
  input.strides.push_back(results);
  VectorOperand output = nest.operands.back();
  output.used = true;
  output.strides.assign(1, 0);
  for (int64_t d = 0; d < nest.rank(); ++d) {
    if (nest.reduction[d])
      continue;
    last.extents.push_back(nest.extents[d]);
    last.reduction.push_back(false);
    input.strides.push_back(dense[d]);
    output.strides.push_back(nest.operands.back().strides[d]);
  }
  last.operands.push_back(input);
  last.operands.push_back(output);
  simplifyNest(last);

  std::vector<VectorNest> nests{first, last};
  std::vector<Cut> cuts;
  for (const VectorNest &part : nests) {
    auto cut = cutNest(planner, part, reason);
    if (failed(cut))
      break;
    cuts.push_back(*cut);
  }
  FailureOr<bool> planned = cuts.size() == nests.size();
  if (*planned)
    for (auto [part, cut] : llvm::zip_equal(nests, cuts))
      if (succeeded(planned) && failed(planNest(planner, part, cut.loops, cut.tiling, reason)))
        planned = failure();
  combine.erase();
  place.getDefiningOp()->erase();
  if (succeeded(planned) && !*planned)
    partials.getDefiningOp()->erase();
  return planned;
}

// The value that the step sets the nest's result to, all of it and nothing else; null: it does not.
Value fillOf(Planner &planner, Operation *step, const VectorNest &nest) {
  auto op = dyn_cast<linalg::GenericOp>(step);
  std::string reason;
  if (!op || op.getNumDpsInputs() != 0 || op.getNumDpsInits() != 1 ||
      !op.getBody()->without_terminator().empty())
    return {};
  Value value = op.getBody()->getTerminator()->getOperand(0);
  auto fill = analyseNest(planner, op, reason);
  if (value.getParentBlock() == op.getBody() || failed(fill) || fill->empty)
    return {};
  VectorNest results = nest;
  for (int64_t d = results.rank() - 1; d >= 0; --d)
    if (results.reduction[d]) {
      results.extents.erase(results.extents.begin() + d);
      results.reduction.erase(results.reduction.begin() + d);
      for (VectorOperand &operand : results.operands)
        operand.strides.erase(operand.strides.begin() + d);
    }
  results.operands.erase(results.operands.begin(), results.operands.end() - 1);
  simplifyNest(results);
  const VectorOperand &set = fill->operands.back(), &result = results.operands.back();
  bool same = set.view.root == result.view.root && set.view.terms == result.view.terms &&
              set.view.offset + set.offset == result.view.offset + result.offset &&
              set.strides == result.strides && fill->extents == results.extents;
  for (const VectorOperand &operand : nest.operands)
    same &= operand.isOutput || operand.view.root != set.view.root;
  return same ? value : Value();
}

// Plans the nest of the last of `steps`, which is all they do.
size_t planOne(Planner &planner, ArrayRef<Operation *> steps, VectorNest &nest,
               std::string &reason) {
  for (VectorOperand &operand : nest.operands)
    operand.streamed =
        !operand.isOutput && loadedOnce(nest, operand) && planner.streams(operand.view.root, steps);
  if (nest.points() <= kFewPoints) {
    reason = "it has few elements";
    return 0;
  }
  auto loops = chooseLoops(nest, reason);
  if (failed(loops))
    return 0;
  auto record = [&](const std::string &how) {
    for (Operation *step : steps)
      planner.record({step->getLoc(), "vector", describe(nest, *loops) + how, ""});
    return steps.size();
  };
  auto cut = cutNest(planner, nest, reason);
  // What does not fit as a whole may in parts.
  Parts parts =
      chooseParts(nest, *loops, succeeded(cut) ? cut->tiling.tasks : 1, planner.cores("aiv"));
  FailureOr<bool> inParts = false;
  if (parts.count > 1)
    inParts = planInParts(planner, nest, parts, reason);
  if (failed(inParts))
    return 0;
  if (*inParts)
    return record(" in " + std::to_string(parts.count) + " parts");
  if (failed(cut) || failed(planNest(planner, nest, cut->loops, cut->tiling, reason)))
    return 0;
  return record(" on " + std::to_string(cut->tiling.cores) +
                (cut->tiling.cores == 1 ? " core" : " cores"));
}

} // namespace

size_t planVector(Planner &planner, ArrayRef<Operation *> steps, std::string &reason) {
  auto op = dyn_cast<linalg::GenericOp>(steps.front());
  if (!op) {
    reason = "it is no tensor operation";
    return 0;
  }
  for (auto planGroup : {planRows, planAccumulations}) {
    FailureOr<size_t> taken = planGroup(planner, steps);
    if (failed(taken)) {
      reason = "a group of operations has no phase";
      return 0;
    }
    if (*taken > 0)
      return *taken;
  }
  auto nest = analyseNest(planner, op, reason);
  if (failed(nest))
    return 0;
  if (nest->empty) {
    planner.record({op.getLoc(), "vector", "nothing to do", ""});
    return 1;
  }
  // A reduction behind the step that says what its results begin from does that, too.
  if (auto next = steps.size() > 1 ? dyn_cast<linalg::GenericOp>(steps[1]) : linalg::GenericOp();
      next && next.getNumReductionLoops() > 0) {
    std::string why;
    auto reduction = analyseNest(planner, next, why);
    // Reductions over single elements are none.
    if (succeeded(reduction) && llvm::is_contained(reduction->reduction, true) &&
        !reduction->empty && reduction->points() > kFewPoints)
      reduction->fill = fillOf(planner, op, *reduction);
    if (succeeded(reduction) && reduction->fill) {
      size_t taken = planOne(planner, steps.take_front(2), *reduction, why);
      if (taken > 0)
        return taken;
    }
  }
  return planOne(planner, steps.take_front(1), *nest, reason);
}

} // namespace pyasc::npu
