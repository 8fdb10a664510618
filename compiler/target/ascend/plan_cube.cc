// Contractions on the cube unit.
//
// One phase a contraction. The result is cut into tiles of L0C size; each core takes a run of tiles
// that follow each other along one side of the result, so that it reads the panels of the other
// side again and again, alone. For a tile, panels of A and B along k go GM -> L1 (NZ) and, in
// shorter pieces, L1 -> L0A / L0B, two slots each so that loads run ahead; mmad accumulates in L0C;
// fixpipe writes the tile out, each element by one core only. A zero fill before and a rounding to
// 16 bits after the contraction become part of the fixpipe.
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

#include "compiler/target/ascend/contraction.h"
#include "compiler/target/ascend/cube_tiling.h"
#include "compiler/target/ascend/plan.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

constexpr int64_t kFractal = 16;
// Strides of ND to NZ are 16 bits wide.
constexpr int64_t kLongestStride = 65535;

class CubePhase {
public:
  CubePhase(Planner &planner, const Contraction &contraction, const CubeTiling &tiling)
      : contraction(contraction), tile(tiling),
        phase(planner.begin(linalg::GenericOp(contraction.op).getLoc(), "aic", tiling.blocks)),
        builder(phase.builder), loc(phase.loc) {}

  // `destination`: where C goes, of contraction.views[C]'s or of a 16-bit type; `accumulate`: add
  // to what is there.
  LogicalResult build(const MemRefView &destination, bool accumulate);

private:
  Value index(int64_t value) { return phase.index(value); }
  scf::ForOp loop(Value upper, int64_t step);
  // offset + the strides of dims for the linear index over them.
  Value offset(Value base, Value linear, ArrayRef<ContractionDim> dims, int operand);
  void loadPanel(Value l1, const GmView &gm, Value start, Value rows, Value cols, int64_t stride,
                 int64_t paddedRows);
  void loadL0(Value l0, Value l1, Value extent, Value kStart, Value k, bool transpose,
              int64_t l1Rows);

  const Contraction &contraction;
  CubeTiling tile;
  Phase phase;
  OpBuilder &builder;
  Location loc;
};

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

scf::ForOp CubePhase::loop(Value upper, int64_t step) {
  auto loop = builder.create<scf::ForOp>(loc, index(0), upper, index(step));
  builder.setInsertionPointToStart(loop.getBody());
  return loop;
}

Value CubePhase::offset(Value base, Value linear, ArrayRef<ContractionDim> dims, int operand) {
  for (const ContractionDim &dim : llvm::reverse(dims)) {
    Value coordinate = linear;
    if (&dim != dims.begin()) {
      coordinate = builder.createOrFold<arith::RemUIOp>(loc, linear, index(dim.size));
      linear = builder.createOrFold<arith::DivUIOp>(loc, linear, index(dim.size));
    }
    if (dim.strides[operand] != 0)
      base = phase.add(base, phase.mul(coordinate, dim.strides[operand]));
  }
  return base;
}

void CubePhase::loadPanel(Value l1, const GmView &gm, Value start, Value rows, Value cols,
                          int64_t stride, int64_t paddedRows) {
  if (stride <= kLongestStride) {
    builder.create<LoadNd2NzOp>(loc, l1, index(0), gm.memory, start, rows, cols, index(stride),
                                index(paddedRows));
    return;
  }
  OpBuilder::InsertionGuard guard(builder);
  Value row = loop(rows, 1).getInductionVar();
  builder.create<LoadNd2NzOp>(loc, l1, phase.mul(row, blockElements(gm.element)), gm.memory,
                              phase.add(start, phase.mul(row, stride)), index(1), cols, index(1),
                              index(paddedRows));
}

void CubePhase::loadL0(Value l0, Value l1, Value extent, Value kStart, Value k, bool transpose,
                       int64_t l1Rows) {
  Type element = cast<MemRefType>(l1.getType()).getElementType();
  // k runs along rows: C0 elements a step; or along columns: a column block every C0 steps, which
  // is src_rows elements a step, as kStart is a multiple of C0.
  Value from = phase.mul(kStart, transpose ? blockElements(element) : l1Rows);
  builder.create<LoadL0Op>(loc, l0, index(0), l1, from, extent, k, index(l1Rows),
                           transpose ? builder.getUnitAttr() : UnitAttr());
}

LogicalResult CubePhase::build(const MemRefView &destination, bool accumulate) {
  const ContractionDim &m = contraction.m, &n = contraction.n, &k = contraction.k;
  bool transposeA = contraction.transposeA, transposeB = contraction.transposeB;
  FailureOr<GmView> a = phase.view(contraction.views[Contraction::A]);
  FailureOr<GmView> b = phase.view(contraction.views[Contraction::B]);
  FailureOr<GmView> c = phase.view(destination);
  if (failed(a) || failed(b) || failed(c))
    return failure();

  Type element = a->element, accumulator = builder.getF32Type();
  Value l1a = phase.buffer(tile.m * tile.k_l1, element, Space::l1, 2);
  Value l1b = phase.buffer(tile.n * tile.k_l1, element, Space::l1, 2);
  Value l0a = phase.buffer(tile.m * tile.k_l0, element, Space::l0a, 2);
  Value l0b = phase.buffer(tile.n * tile.k_l0, element, Space::l0b, 2);
  Value l0c = phase.buffer(tile.m * tile.n, accumulator, Space::l0c, tile.l0c_slots);
  int64_t rowsA = transposeA ? tile.k_l1 : tile.m, rowsB = transposeB ? tile.k_l1 : tile.n;

  int64_t tilesM = ceilDiv(m.size, tile.m), tilesN = ceilDiv(n.size, tile.n);
  int64_t tiles = tilesM * tilesN * contraction.batches();
  int64_t panelsK = ceilDiv(k.size, tile.k_l1), panels = panelsK * contraction.outerKs();

  // The tiles of this core: a run of consecutive ones, as long as those of the others or one
  // longer.
  Value block = builder.create<BlockIdxOp>(loc);
  int64_t share = tiles / tile.blocks, more = tiles % tile.blocks;
  Value first = phase.mul(block, share), mine = index(share);
  if (more != 0) {
    first = phase.add(first, phase.min(block, index(more)));
    Value longer =
        builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, block, index(more));
    mine = builder.createOrFold<arith::SelectOp>(loc, longer, index(share + 1), index(share));
  }
  Value round = loop(mine, 1).getInductionVar();
  Value tileIndex = phase.add(first, round);
  auto split = [&](Value from, int64_t by) -> std::pair<Value, Value> {
    return {builder.createOrFold<arith::DivUIOp>(loc, from, index(by)),
            builder.createOrFold<arith::RemUIOp>(loc, from, index(by))};
  };
  Value tileM, tileN, batch, others;
  if (tile.along_m) {
    std::tie(others, tileM) = split(tileIndex, tilesM);
    std::tie(batch, tileN) = split(others, tilesN);
  } else {
    std::tie(others, tileN) = split(tileIndex, tilesN);
    std::tie(batch, tileM) = split(others, tilesM);
  }
  auto part = [&](Value start, int64_t total, int64_t most) -> Value {
    if (total % most == 0)
      return index(most);
    return phase.min(index(most), builder.createOrFold<arith::SubIOp>(loc, index(total), start));
  };
  Value m0 = phase.mul(tileM, tile.m), mNow = part(m0, m.size, tile.m);
  Value n0 = phase.mul(tileN, tile.n), nNow = part(n0, n.size, tile.n);
  auto corner = [&](const GmView &view, int operand) {
    Value at = offset(view.offset, batch, contraction.batch, operand);
    at = phase.add(at, phase.mul(m0, m.strides[operand]));
    return phase.add(at, phase.mul(n0, n.strides[operand]));
  };
  Value startA = corner(*a, Contraction::A), startB = corner(*b, Contraction::B),
        startC = corner(*c, Contraction::C);
  Value slotC = builder.create<SlotOp>(loc, l0c, round);

  {
    OpBuilder::InsertionGuard guard(builder);
    Value panel = loop(index(panels), 1).getInductionVar();
    Value count = phase.add(phase.mul(round, panels), panel);
    Value outer = index(0), inner = panel;
    if (contraction.outerKs() > 1) {
      outer = builder.createOrFold<arith::DivUIOp>(loc, panel, index(panelsK));
      inner = builder.createOrFold<arith::RemUIOp>(loc, panel, index(panelsK));
    }
    Value k0 = phase.mul(inner, tile.k_l1), kNow = part(k0, k.size, tile.k_l1);
    auto along = [&](Value start, int operand) {
      start = offset(start, outer, contraction.outerK, operand);
      return phase.add(start, phase.mul(k0, k.strides[operand]));
    };
    Value slotA = builder.create<SlotOp>(loc, l1a, count);
    Value slotB = builder.create<SlotOp>(loc, l1b, count);
    loadPanel(slotA, *a, along(startA, Contraction::A), transposeA ? kNow : mNow,
              transposeA ? mNow : kNow, (transposeA ? k : m).strides[Contraction::A], rowsA);
    loadPanel(slotB, *b, along(startB, Contraction::B), transposeB ? kNow : nNow,
              transposeB ? nNow : kNow, (transposeB ? k : n).strides[Contraction::B], rowsB);

    int64_t pieces = tile.k_l1 / tile.k_l0;
    Value kk = loop(kNow, tile.k_l0).getInductionVar();
    Value piece = builder.createOrFold<arith::DivUIOp>(loc, kk, index(tile.k_l0));
    Value turn = phase.add(phase.mul(count, pieces), piece);
    Value kPiece = phase.min(index(tile.k_l0), builder.createOrFold<arith::SubIOp>(loc, kNow, kk));
    Value inA = builder.create<SlotOp>(loc, l0a, turn),
          inB = builder.create<SlotOp>(loc, l0b, turn);
    loadL0(inA, slotA, mNow, kk, kPiece, transposeA, rowsA);
    loadL0(inB, slotB, nNow, kk, kPiece, transposeB, rowsB);
    Value isFirst = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::eq, phase.add(phase.mul(panel, pieces), piece), index(0));
    bool padded = transposeA && bytesOf(element) == 4;
    builder.create<MmadOp>(loc, slotC, index(0), inA, index(0), inB, index(0), mNow, nNow, kPiece,
                           isFirst, padded ? builder.getUnitAttr() : UnitAttr(),
                           /*unit_flag=*/Value());
  }
  Value columnBlock = phase.mul(phase.ceilDiv(mNow, kFractal), kFractal);
  builder.create<FixpipeOp>(loc, c->memory, startC, slotC, index(0), mNow, nNow,
                            index(std::max<int64_t>(m.strides[Contraction::C], 1)), columnBlock,
                            accumulate ? Atomic::add : Atomic::none, false);
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
  FailureOr<Contraction> contraction = analyseContraction(planner, op, reason);
  if (failed(contraction))
    return 0;
  Contraction c = *contraction;
  std::string what = "contraction " + std::to_string(c.m.size) + "x" + std::to_string(c.n.size) +
                     "x" + std::to_string(c.k.size * c.outerKs()) + " ";
  llvm::raw_string_ostream(what) << c.views[Contraction::A].element;
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
    CubeProblem problem{.m = c.m.size,
                        .n = c.n.size,
                        .k = c.k.size,
                        .batches = c.batches(),
                        .outer_k = c.outerKs(),
                        .element_bytes = bytesOf(c.views[Contraction::A].element),
                        .transposed_a = c.transposeA,
                        .transposed_b = c.transposeB};
    CubeTiling tiling = chooseCubeTiling(problem, planner.soc());
    if (failed(CubePhase(planner, c, tiling).build(flat ? flat->from : destination, !overwritten)))
      return 0;
    if (flat && failed(copyParts(planner, *flat, destination)))
      return 0;
  }
  planner.record({op.getLoc(), "cube", what, ""});
  return 1;
}

} // namespace pyasc::npu
