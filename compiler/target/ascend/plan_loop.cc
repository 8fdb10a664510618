// Loops around steps: launched round after round.
//
// In: a loop at the kernel's top level that runs a known number of times, and whose body is steps
// like those at the top level: a stencil in time, a recurrence whose rows are vectors. Out: the
// phases of one round, marked as a loop of phases (npu.loop, npu.rounds); they are given
// the loop variable. Launches cost time: where the steps are small, one core does
// the whole loop sooner, and this planner leaves it to the scalar one.
//
// Why that is the loop's meaning: a phase begins when the one before has ended, so a step sees all
// that steps before it wrote, in its round and in earlier ones. What a step is given besides - the
// loads and computations between the steps - its phase makes anew; spillScalars has put those into
// cells whose memory changes in between. No value and no cell outlives a phase (planScalar looks
// after the cells that one phase keeps to itself).
#include "compiler/target/ascend/plan.h"
#include "compiler/target/ascend/plan_scalar_emit.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

#include "compiler/ir/asc_dialect.h"
#include "compiler/ir/copies.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

// What the scalar unit takes at least to reach an element through its data cache, with the address.
constexpr double kScalarCyclesPerAccess = 20;
// What a phase of the vector unit takes besides its launch, until its first result has left.
constexpr double kLatencyUs = 2;

// The loop's variable and how it runs; none when that is known at run time only.
std::optional<Planner::Rounds> roundsOf(Operation *op) {
  std::optional<int64_t> lower, upper, step;
  Value variable;
  if (auto loop = dyn_cast<affine::AffineForOp>(op)) {
    if (!loop.hasConstantBounds())
      return std::nullopt;
    lower = loop.getConstantLowerBound();
    upper = loop.getConstantUpperBound();
    step = loop.getStepAsInt();
    variable = loop.getInductionVar();
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    lower = getConstantIntValue(loop.getLowerBound());
    upper = getConstantIntValue(loop.getUpperBound());
    step = getConstantIntValue(loop.getStep());
    variable = loop.getInductionVar();
  }
  int64_t span = 0;
  if (!variable || !variable.getType().isIndex() || !lower || !upper || !step || *step <= 0 ||
      llvm::SubOverflow(*upper, *lower, span))
    return std::nullopt;
  return Planner::Rounds{variable, *lower, *step,
                         span <= 0 ? 0 : llvm::divideCeilSigned(span, *step)};
}

// Of a row that is copied by DMA: to hand it out, and to move it.
constexpr double kCyclesPerCopiedRow = 100, kCopiedBytesPerCycle = 64;

// Cycles that the scalar unit would take for a step at least; 0 where nothing is known of it.
double scalarCycles(Operation *step) {
  auto generic = dyn_cast<linalg::GenericOp>(step);
  if (!generic)
    return 0;
  if (SmallVector<int64_t> ranges = generic.getStaticLoopRanges();
      ir::IsCopy(generic) && !ranges.empty() && ranges.back() >= ir::kShortestCopiedRow) {
    double rows = 1;
    for (int64_t extent : ArrayRef(ranges).drop_back())
      rows *= ShapedType::isDynamic(extent) ? 0 : static_cast<double>(extent);
    auto type = cast<MemRefType>(generic.getDpsInits()[0].getType());
    const auto bytes = static_cast<double>(ranges.back() * bytesOf(type.getElementType()));
    return rows * (kCyclesPerCopiedRow + bytes / kCopiedBytesPerCycle);
  }
  double accesses = 0; // a reduction may keep its results in registers
  for (OpOperand &operand : generic->getOpOperands())
    if (!generic.isDpsInit(&operand))
      accesses += generic.payloadUsesValueFromOperand(&operand);
    else if (generic.getNumReductionLoops() == 0)
      accesses += 1 + generic.payloadUsesValueFromOperand(&operand);
  double points = 1;
  for (int64_t extent : generic.getStaticLoopRanges())
    points *= ShapedType::isDynamic(extent) ? 0 : static_cast<double>(extent);
  return kScalarCyclesPerAccess * accesses * points;
}

// What launching a phase takes, before and on the cores.
double launchUs(func::FuncOp phase, const Planner &planner) {
  const auto blocks = static_cast<double>(phase->getAttrOfType<IntegerAttr>(kBlocks).getInt());
  const double share =
      std::min(1.0, blocks / static_cast<double>(planner.cores(
                                 phase->getAttrOfType<StringAttr>(kCore).getValue())));
  const machine::LaunchCost &launch = planner.soc().launch;
  return launch.head_us + (launch.full_head_us - launch.head_us) * share + launch.start_us +
         (launch.full_start_us - launch.start_us) * share + kLatencyUs;
}

std::string lineOf(Location loc) {
  auto position = loc->findInstanceOf<FileLineColLoc>();
  return position ? "line " + std::to_string(position.getLine()) + ": " : "";
}

constexpr StringLiteral kTooLittle =
    "a round of the loop has too little to do for launches of its own";

// The body of a loop around tensor operations, or null. The iterations of a parallel loop are
// shared out among the cores' scalar units.
Block *bodyOf(Operation *step) {
  Block *body = nullptr;
  if (auto loop = dyn_cast<affine::AffineForOp>(step))
    body = loop.getBody();
  else if (auto loop = dyn_cast<scf::ForOp>(step))
    body = loop.getBody();
  bool fits = body && !step->hasAttr(ir::AscDialect::kParallel) && step->getNumResults() == 0 &&
              !body->getOps<linalg::GenericOp>().empty();
  return fits ? body : nullptr;
}

// What shows without a plan.
bool isWorthTrying(Operation *step, const machine::Soc &soc, std::string &reason) {
  Block *body = bodyOf(step);
  if (!body)
    return false;
  std::optional<Planner::Rounds> found = roundsOf(step);
  if (!found) {
    reason = "how often the loop runs is known at run time only";
    return false;
  }
  double most = 0; // cycles of the scalar unit that a round could save
  for (Operation &inner : *body)
    most += scalarCycles(&inner);
  if (found->count > 0 && soc.cycles_to_us(most) > kLatencyUs)
    return true;
  reason = kTooLittle;
  return false;
}

} // namespace

bool mayBeRounds(const Planner &planner, Operation *step) {
  std::string reason;
  return !planner.loopRounds() && isWorthTrying(step, planner.soc(), reason);
}

size_t Planner::planLoop(Operation *step, std::string &reason) {
  if (!isWorthTrying(step, soc(), reason))
    return 0;
  const Rounds found = *roundsOf(step);
  spillScalars(*this, *bodyOf(step));
  const SmallVector<Operation *> steps = stepsOf(*bodyOf(step));
  const size_t phasesBefore = phases.size(), recordsBefore = records.size();
  records.push_back({step->getLoc(), "vector", "", ""}); // of the loop, filled in below
  rounds = found;
  double gain = 0; // cycles of the scalar unit that a round saves at least
  bool planned = true, onlyCube = true;
  for (ArrayRef<Operation *> rest = steps; planned && !rest.empty();) {
    size_t taken = 0;
    const size_t first = records.size();
    std::string reasons;
    planned = offer(rest, taken, reasons);
    if (!planned) {
      reason = reasons;
      break;
    }
    const bool isScalar = llvm::any_of(ArrayRef(records).drop_front(first),
                                       [](const Lowered &one) { return one.unit == "scalar"; });
    for (Operation *inner : rest.take_front(taken))
      gain += isScalar ? 0 : scalarCycles(inner);
    rest = rest.drop_front(taken);
  }
  rounds.reset();
  if (!planned)
    return 0;
  double launches = 0;
  for (func::FuncOp phase : ArrayRef(phases).drop_front(phasesBefore))
    launches += launchUs(phase, *this);
  if (soc().cycles_to_us(gain) <= launches) {
    reason = kTooLittle;
    return 0;
  }

  std::string scalar; // what keeps steps of the loop from the better units
  for (const Lowered &one : ArrayRef(records).drop_front(recordsBefore + 1)) {
    onlyCube &= one.unit == "cube";
    if (one.unit == "scalar" && scalar.empty())
      scalar = "in it on the scalar unit, " + lineOf(one.loc) + one.what +
               (one.reason.empty() ? "" : ", " + one.reason);
  }
  const size_t count = phases.size() - phasesBefore;
  Lowered &own = records[recordsBefore];
  own.unit = onlyCube ? "cube" : "vector";
  own.what = "loop, " + std::to_string(found.count) + " rounds of " + std::to_string(count) +
             (count == 1 ? " phase" : " phases");
  own.reason = std::move(scalar);
  Builder builder(function.getContext());
  ++loops;
  for (func::FuncOp phase : ArrayRef(phases).drop_front(phasesBefore)) {
    phase->setAttr(kLoop, builder.getI64IntegerAttr(loops));
    phase->setAttr(kRounds, builder.getI64ArrayAttr({found.start, found.step, found.count}));
  }
  return 1;
}

} // namespace pyasc::npu
