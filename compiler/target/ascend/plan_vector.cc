// Vector planning: a generic becomes an AIV phase of transfers and vector instructions on tiles.
//
// In: one generic of the structured form that is elementwise, a reduction along rows, or an
// accumulation over rows. Out: one phase; cores take tiles in turn, buffers have two slots so
// that transfers overlap with work. A long reduction with few results takes three phases. What
// the unit cannot do is refused with a reason.
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

// Points of a reduction from which partial results in parallel pay for two more phases.
constexpr int64_t kManyPoints = 1 << 16;
// What a core's part of the divided dimension must have at least.
constexpr int64_t kLeastPart = 16;
constexpr int64_t kLeastColumns = 2048;

// The dimension whose parts become parallel, and the number of parts; 1: none.
std::pair<int64_t, int64_t> chooseParts(const VectorNest &nest, const Cut &cut, int64_t cores) {
  if (cut.loops.form == VectorForm::elementwise || cut.tiling.tasks * 2 > cores ||
      nest.points() < kManyPoints || !findCombiner(nest.op))
    return {-1, 1};
  int64_t best = -1, most = 1;
  for (int64_t d = 0; d < nest.rank(); ++d) {
    if (!nest.reduction[d])
      continue;
    int64_t least = d == cut.loops.column ? kLeastColumns : kLeastPart;
    int64_t parts = std::min(cores / cut.tiling.tasks, nest.extents[d] / least);
    if (parts > most) {
      best = d;
      most = parts;
    }
  }
  return {best, most};
}

// Every part of the divided dimension reduces into partial results of its own; a second phase
// reduces what is left over, and a last one adds the partial results in order.
// False, and nothing begun, when a part cannot be cut.
FailureOr<bool> planInParts(Planner &planner, const VectorNest &nest, int64_t divided,
                            int64_t parts, std::string &reason) {
  linalg::GenericOp op = nest.op;
  Location loc = op.getLoc();
  Type element = nest.operands.back().element;
  int64_t results = 1;
  for (auto [extent, reduction] : llvm::zip_equal(nest.extents, nest.reduction))
    results *= reduction ? 1 : extent;
  int64_t length = nest.extents[divided] / parts;
  if (length > 64)
    length -= length % 64;

  OpBuilder builder(op);
  Value partials = builder.create<memref::AllocOp>(loc, MemRefType::get({parts, results}, element));
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
  first.extents[divided] = length;
  first.extents.insert(first.extents.begin(), parts);
  first.reduction.insert(first.reduction.begin(), false);
  for (VectorOperand &operand : first.operands)
    operand.strides.insert(operand.strides.begin(), operand.strides[divided] * length);
  VectorOperand &target = first.operands.back();
  target.memref = partials;
  target.view = *planner.locate(partials);
  target.offset = 0;
  target.strides = dense;
  target.strides.insert(target.strides.begin(), results);

  VectorNest rest = nest;
  int64_t done = parts * length;
  rest.extents[divided] -= done;
  for (VectorOperand &operand : rest.operands)
    operand.offset += operand.strides[divided] * done;

  // The last phase's body is the combination alone.
  Value place = builder.create<memref::AllocOp>(loc, MemRefType::get({results}, element));
  AffineExpr part = builder.getAffineDimExpr(0), result = builder.getAffineDimExpr(1);
  AffineMap maps[] = {AffineMap::get(2, 0, {part, result}, builder.getContext()),
                      AffineMap::get(2, 0, result)};
  utils::IteratorType iterators[] = {utils::IteratorType::reduction, utils::IteratorType::parallel};
  Combiner combiner = *findCombiner(op);
  auto combine = builder.create<linalg::GenericOp>(
      loc, ValueRange{partials}, ValueRange{place}, maps, iterators,
      [&](OpBuilder &inner, Location at, ValueRange arguments) {
        IRMapping mapping;
        bool outFirst = combiner.op->getOperand(1) == combiner.element;
        mapping.map(combiner.element, arguments[0]);
        mapping.map(combiner.op->getOperand(outFirst ? 0 : 1), arguments[1]);
        inner.create<linalg::YieldOp>(at, inner.clone(*combiner.op, mapping)->getResults());
      });
  VectorNest last;
  last.op = combine;
  last.extents.push_back(parts);
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

  std::vector<VectorNest> nests{first};
  if (rest.extents[divided] > 0)
    nests.push_back(rest);
  nests.push_back(last);
  std::vector<Cut> cuts;
  for (VectorNest &part : nests) {
    simplifyNest(part);
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
  return planned;
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
  for (VectorOperand &operand : nest->operands)
    operand.streamed = !operand.isOutput && loadedOnce(*nest, operand) &&
                       planner.streams(operand.view.root, steps.take_front(1));
  if (nest->points() <= kFewPoints) {
    reason = "it has few elements";
    return 0;
  }
  auto cut = cutNest(planner, *nest, reason);
  if (failed(cut))
    return 0;
  auto [divided, parts] = chooseParts(*nest, *cut, planner.cores("aiv"));
  FailureOr<bool> inParts = false;
  if (parts > 1)
    inParts = planInParts(planner, *nest, divided, parts, reason);
  if (failed(inParts))
    return 0;
  if (*inParts) {
    planner.record({op.getLoc(), "vector",
                    describe(*nest, cut->loops) + " in " + std::to_string(parts) + " parts", ""});
    return 1;
  }
  if (failed(planNest(planner, *nest, cut->loops, cut->tiling, reason)))
    return 0;
  planner.record({op.getLoc(), "vector",
                  describe(*nest, cut->loops) + " on " + std::to_string(cut->tiling.cores) +
                      (cut->tiling.cores == 1 ? " core" : " cores"),
                  ""});
  return 1;
}

} // namespace pyasc::npu
