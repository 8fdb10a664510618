// Accumulations into one result that follow each other become one phase.
#include "compiler/target/ascend/plan_vector_phase.h"

namespace pyasc::npu {

using namespace mlir;

namespace {

// Parallel dimensions come first, then reductions; the number of the former.
std::optional<int64_t> leadingParallel(const VectorNest &nest) {
  int64_t parallel = 0;
  while (parallel < nest.rank() && !nest.reduction[parallel])
    ++parallel;
  for (int64_t d = parallel; d < nest.rank(); ++d)
    if (!nest.reduction[d])
      return std::nullopt;
  return parallel;
}

// Whether `operand` of one nest is the same elements as `result` of another, in the same order
// of the first `dims` dimensions.
bool sameElements(const VectorOperand &operand, const VectorOperand &result, int64_t dims) {
  if (operand.view.root != result.view.root || operand.view.terms != result.view.terms ||
      operand.view.offset + operand.offset != result.view.offset + result.offset)
    return false;
  for (int64_t d = 0; d < dims; ++d)
    if (operand.strides[d] != result.strides[d])
      return false;
  return true;
}

bool reads(const VectorNest &nest, Value root) {
  return llvm::any_of(nest.operands, [&](const VectorOperand &operand) {
    return !operand.isOutput && operand.used && operand.view.root == root;
  });
}

// A nest that sets its result to one value.
Value fillOf(const VectorNest &nest) {
  Block &body = *nest.op.getBody();
  if (nest.inputs() != 0 || nest.operands.size() != 1 || !body.without_terminator().empty())
    return {};
  Value value = body.getTerminator()->getOperand(0);
  return value.getParentBlock() == &body ? Value() : value;
}

} // namespace

FailureOr<size_t> planAccumulations(Planner &planner, ArrayRef<Operation *> steps) {
  std::string reason;
  auto analyse = [&](size_t at) -> FailureOr<VectorNest> {
    auto op = at < steps.size() ? dyn_cast<linalg::GenericOp>(steps[at]) : linalg::GenericOp();
    if (!op || op.getNumDpsInits() != 1)
      return failure();
    auto nest = analyseNest(planner, op, reason, /*merge=*/false);
    if (failed(nest) || nest->empty || !leadingParallel(*nest))
      return failure();
    return nest;
  };
  AccumulationGroup group;
  size_t taken = 0;
  auto start = analyse(0);
  if (failed(start))
    return 0;
  if (Value fill = fillOf(*start)) {
    group.fill = fill;
    taken = 1;
  }
  auto first = analyse(taken);
  if (failed(first) || !llvm::is_contained(first->reduction, true) ||
      first->operands.back().element.isInteger(1))
    return 0;
  int64_t dims = *leadingParallel(*first);
  const VectorOperand result = first->operands.back();
  auto fits = [&](const VectorNest &nest) {
    return *leadingParallel(nest) == dims &&
           std::equal(nest.extents.begin(), nest.extents.begin() + dims, first->extents.begin());
  };
  if (group.fill && (!fits(*start) || start->rank() != dims ||
                     !sameElements(start->operands.back(), result, dims)))
    return 0;
  auto loops = chooseLoops(*first, reason);
  if (failed(loops) || loops->form != VectorForm::accumulate)
    return 0;
  group.members.push_back({*first, *loops});
  ++taken;
  for (auto next = analyse(taken); succeeded(next); next = analyse(taken)) {
    if (!llvm::is_contained(next->reduction, true) || !fits(*next) ||
        !sameElements(next->operands.back(), result, dims) || reads(*next, result.view.root))
      break;
    auto adopted = adoptLoops(*next, *loops);
    if (!adopted)
      break;
    group.members.push_back({*next, *adopted});
    ++taken;
  }
  // An operation on the finished result, if nobody else wants that.
  if (auto next = analyse(taken); succeeded(next)) {
    const VectorOperand &target = next->operands.back();
    bool ready = next->rank() == dims && fits(*next) && !target.used &&
                 target.view.root != result.view.root && reads(*next, result.view.root) &&
                 isTemporary(result.view.root, steps.take_front(taken + 1));
    for (const VectorOperand &operand : next->operands)
      if (!operand.isOutput && operand.view.root == result.view.root)
        ready &= sameElements(operand, result, dims);
    for (const AccumulationGroup::Member &member : group.members)
      ready &= !reads(member.nest, target.view.root);
    std::optional<VectorLoops> adopted = ready ? adoptLoops(*next, *loops) : std::nullopt;
    if (adopted) {
      group.epilogue = AccumulationGroup::Member{*next, *adopted};
      ++taken;
    }
  }
  if (taken < 2)
    return 0;

  Location loc = first->op.getLoc();
  EmitPhase emit = [&](PhaseEmitter &emitter, TileBuffers &buffers, const Tiling &tiling,
                       std::string &why) -> LogicalResult {
    VectorEmitter vector(emitter, buffers, group, tiling);
    LogicalResult done = vector.emit();
    why = vector.reason();
    return done;
  };
  auto bytes = tryPhase(loc, trialTiling(*first, *loops), emit, reason);
  if (failed(bytes))
    return 0;
  auto tiling = chooseTiling(*first, *loops, *bytes, vectorBudget(planner), planner.cores("aiv"),
                             planner.soc());
  // Long sums with few results are better divided among the cores, one by one.
  if (failed(tiling) || (tiling->tasks * 2 <= planner.cores("aiv") && first->points() >= 1 << 16))
    return 0;
  if (failed(planPhase(planner, loc, *tiling, emit, reason)))
    return failure();
  for (Operation *step : steps.take_front(taken))
    planner.record({step->getLoc(), "vector",
                    "accumulation, one of " + std::to_string(taken) + " in a phase", ""});
  return taken;
}

} // namespace pyasc::npu
