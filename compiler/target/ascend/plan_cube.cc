// Contractions on the cube unit.
//
// One phase a contraction. The result is cut into tiles of L0C size; each core takes a run of tiles
// that follow each other along one side of the result, so that it reads the panels of the other
// side again and again, alone (cube_code.h); each element is written by one core only. A zero fill
// before and a rounding to 16 bits after the contraction become part of the fixpipe.
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

#include "compiler/target/ascend/cube_code.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

// One phase for a contraction. `destination`: where C goes, of contraction.views[C]'s or of a
// 16-bit type; `accumulate`: add to what is there.
LogicalResult buildPhase(Planner &planner, const Contraction &contraction, const CubeTiling &tiling,
                         const MemRefView &destination, bool accumulate) {
  Phase phase = planner.begin(linalg::GenericOp(contraction.op).getLoc(), "aic", tiling.blocks);
  FailureOr<GmView> a = phase.view(contraction.views[Contraction::A]);
  FailureOr<GmView> b = phase.view(contraction.views[Contraction::B]);
  FailureOr<GmView> c = phase.view(destination);
  if (failed(a) || failed(b) || failed(c))
    return failure();
  CubeRun run{.a = *a, .b = *b, .c = *c, .accumulate = accumulate};
  Value core = phase.builder.create<BlockIdxOp>(phase.loc);
  std::tie(run.first, run.count) =
      TileWalk(contraction, tiling).share(phase.builder, phase.loc, core);
  // Cores that read the same panels cold share the work of it.
  run.firstPanel = core;
  emitCubeTiles(phase, contraction, tiling, makeCubeBuffers(phase, a->element, tiling), run);
  return success();
}

//===------------------------------------------------------------------------------------------===//
// What the fixpipe can do for the steps around
//===------------------------------------------------------------------------------------------===//

// Whether a generic only fills its output with zeros.
bool isZeroFill(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || op->getNumResults() != 0 || op.getNumReductionLoops() != 0 ||
      !op.getIndexingMapsArray().back().isPermutation())
    return false;
  return matchPattern(op.getRegion().front().getTerminator()->getOperand(0), m_AnyZeroFloat());
}

bool touches(const Footprint &footprint, Value root) {
  return footprint.unknown || footprint.reads.contains(root) || footprint.writes.contains(root);
}

// A rounding of c after step `i` that the fixpipe can do, so that c itself is never needed: it is a
// temporary, read by nothing else, and the rounded copy can be written as early as the contraction.
linalg::GenericOp findRounding(Planner &planner, ArrayRef<Operation *> steps, size_t i,
                               const Contraction &contraction, const MemRefView &c) {
  if (!c.root.getDefiningOp<memref::AllocOp>())
    return {};
  linalg::GenericOp rounding;
  for (Operation *step : steps.drop_front(i + 1)) {
    if (!touches(footprintOf(planner, step), c.root))
      continue;
    rounding = rounding ? linalg::GenericOp() : dyn_cast<linalg::GenericOp>(step);
    if (!rounding || !isRounding(rounding))
      return {}; // a second reader, or one that needs all the bits
  }
  if (!rounding)
    return {};
  FailureOr<MemRefView> from = planner.locate(rounding.getDpsInputs()[0]);
  FailureOr<MemRefView> to = planner.locate(rounding.getDpsInits()[0]);
  if (failed(from) || failed(to) || !(*from == c) || !to->terms.empty() || to->strides != c.strides)
    return {};
  for (const MemRefView &view : contraction.views)
    if (view.root == to->root)
      return {};
  for (Operation *step : steps.drop_front(i + 1)) {
    if (step == rounding)
      return rounding;
    if (touches(footprintOf(planner, step), to->root))
      return {};
  }
  return {};
}

} // namespace

void foldAroundContractions(Planner &planner, ArrayRef<Operation *> steps) {
  std::string reason;
  for (size_t i = 0; i < steps.size(); ++i) {
    auto op = dyn_cast<linalg::GenericOp>(steps[i]);
    if (!op || !isContraction(op))
      continue;
    FailureOr<Contraction> contraction = analyseContraction(planner, op, reason);
    // What is folded here relies on the cube: its plan cannot fail once all places are constants.
    if (failed(contraction) || contraction->isEmpty() ||
        llvm::any_of(contraction->views, [](auto &view) { return !view.terms.empty(); }))
      continue;
    FailureOr<MemRefView> c = planner.locate(op.getDpsInits()[0]);
    Operation *fill = nullptr;
    for (size_t before = i; before-- > 0 && !fill;)
      if (touches(footprintOf(planner, steps[before]), c->root))
        fill = steps[before];
    auto generic = dyn_cast_or_null<linalg::GenericOp>(fill);
    if (!generic || planner.isFolded(fill) || !isZeroFill(generic))
      continue;
    FailureOr<MemRefView> filled = planner.locate(generic.getDpsInits()[0]);
    if (failed(filled) || !(*filled == *c))
      continue;
    planner.fold(fill);
    Value destination = op.getDpsInits()[0];
    if (linalg::GenericOp rounding = findRounding(planner, steps, i, *contraction, *c)) {
      planner.fold(rounding);
      destination = rounding.getDpsInits()[0];
    }
    planner.overwrite(op, destination);
  }
}

size_t planContraction(Planner &planner, ArrayRef<Operation *> steps, std::string &reason) {
  reason = "";
  auto op = dyn_cast<linalg::GenericOp>(steps.front());
  if (!op || !isContraction(op))
    return 0; // no work for the cube: nothing that the report should explain
  SmallVector<ContractionDim> together;
  size_t taken = tapsOf(planner, steps, together);
  FailureOr<Contraction> contraction = analyseContraction(planner, op, reason, together);
  if (taken > 1 && (failed(contraction) || contraction->packA || contraction->packB)) {
    taken = 1;
    contraction = analyseContraction(planner, op, reason);
  }
  if (failed(contraction))
    return 0;
  Contraction c = *contraction;
  std::string what = describeContraction(c);
  if (!c.isEmpty()) {
    reason = "an operand's position cannot be computed ahead";
    Value overwritten = planner.overwritten(op);
    MemRefView destination = c.views[Contraction::C];
    if (overwritten)
      destination = *planner.locate(overwritten);
    for (int operand : {Contraction::A, Contraction::B})
      if ((operand == Contraction::A ? c.packA : c.packB) &&
          failed(packOperand(planner, c, operand)))
        return 0;
    std::optional<FlatRows> flat;
    if (overwritten)
      flat = flattenRows(planner, c, destination);
    if (flat)
      c = flat->contraction;
    CubeTiling tiling = chooseCubeTiling(problemOf(c), planner.soc());
    if (failed(buildPhase(planner, c, tiling, flat ? flat->from : destination, !overwritten)))
      return 0;
    if (flat && failed(copyParts(planner, *flat, destination)))
      return 0;
  }
  for (Operation *step : steps.take_front(taken))
    planner.record({step->getLoc(), "cube", what, ""});
  return taken;
}

} // namespace pyasc::npu
