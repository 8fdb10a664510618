#include "compiler/target/ascend/cube_code.h"

#include <numeric>

using namespace mlir;

namespace pyasc::npu {

namespace {

constexpr int64_t kFractal = 16;
// Strides of ND to NZ are 16 bits wide.
constexpr int64_t kLongestStride = 65535;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

//===------------------------------------------------------------------------------------------===//
// Which tiles
//===------------------------------------------------------------------------------------------===//

TileWalk::TileWalk(const Contraction &contraction, const CubeTiling &tiling)
    : tilesM(ceilDiv(contraction.m.size, tiling.m)), tilesN(ceilDiv(contraction.n.size, tiling.n)),
      batches(contraction.batches()), contraction(contraction), tiling(tiling) {}

std::pair<Value, Value> TileWalk::share(OpBuilder &builder, Location loc, Value core) const {
  auto index = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantIndexOp>(loc, value);
  };
  int64_t each = tiles() / tiling.blocks, more = tiles() % tiling.blocks;
  Value first = builder.createOrFold<arith::MulIOp>(loc, core, index(each)), count = index(each);
  if (more != 0) {
    first = builder.createOrFold<arith::AddIOp>(
        loc, first, builder.createOrFold<arith::MinSIOp>(loc, core, index(more)));
    Value longer =
        builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, core, index(more));
    count = builder.createOrFold<arith::SelectOp>(loc, longer, index(each + 1), index(each));
  }
  return {first, count};
}

TileWalk::Place TileWalk::place(OpBuilder &builder, Location loc, Value tile, Value rows) const {
  auto index = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantIndexOp>(loc, value);
  };
  auto split = [&](Value from, int64_t by) -> std::pair<Value, Value> {
    return {builder.createOrFold<arith::DivUIOp>(loc, from, index(by)),
            builder.createOrFold<arith::RemUIOp>(loc, from, index(by))};
  };
  auto part = [&](Value start, int64_t total, int64_t most, Value given) -> Value {
    if (!given && total % most == 0)
      return index(most);
    Value all = given ? given : index(total);
    return builder.createOrFold<arith::MinSIOp>(
        loc, index(most), builder.createOrFold<arith::SubIOp>(loc, all, start));
  };
  Value tileM, tileN, others;
  Place place;
  if (tiling.along_m) {
    std::tie(others, tileM) = split(tile, tilesM);
    std::tie(place.batch, tileN) = split(others, tilesN);
  } else {
    std::tie(others, tileN) = split(tile, tilesN);
    std::tie(place.batch, tileM) = split(others, tilesM);
  }
  place.m = builder.createOrFold<arith::MulIOp>(loc, tileM, index(tiling.m));
  place.n = builder.createOrFold<arith::MulIOp>(loc, tileN, index(tiling.n));
  place.rows = part(place.m, contraction.m.size, tiling.m, rows);
  place.columns = part(place.n, contraction.n.size, tiling.n, {});
  return place;
}

CubeProblem problemOf(const Contraction &c) {
  auto pitchOf = [&](const ContractionDim &extent, bool transposed, int operand) {
    int64_t pitch = (transposed ? c.k : extent).strides[operand];
    if (operand == c.gathered)
      for (const ContractionDim &tap : c.taps)
        pitch = std::gcd(pitch, tap.strides[operand]);
    return pitch;
  };
  auto isCommon = [&](int operand) {
    return llvm::all_of(c.batch, [&](const auto &dim) { return dim.strides[operand] == 0; });
  };
  return {.m = c.m.size,
          .n = c.n.size,
          .k = c.k.size,
          .batches = c.batches(),
          .outer_k = c.outerKs(),
          .element_bytes = bytesOf(c.views[Contraction::A].element),
          .transposed_a = c.transposeA,
          .transposed_b = c.transposeB,
          .common_a = isCommon(Contraction::A),
          .common_b = isCommon(Contraction::B),
          .pitch_a = pitchOf(c.m, c.transposeA, Contraction::A),
          .pitch_b = pitchOf(c.n, c.transposeB, Contraction::B)};
}

//===------------------------------------------------------------------------------------------===//
// Code
//===------------------------------------------------------------------------------------------===//

CubeBuffers makeCubeBuffers(Phase &phase, Type element, const CubeTiling &tile) {
  return {phase.buffer(tile.m * tile.k_l1, element, Space::l1, 2),
          phase.buffer(tile.n * tile.k_l1, element, Space::l1, 2),
          phase.buffer(tile.m * tile.k_l0, element, Space::l0a, 2),
          phase.buffer(tile.n * tile.k_l0, element, Space::l0b, 2),
          phase.buffer(tile.m * tile.n, phase.builder.getF32Type(), Space::l0c, tile.l0c_slots)};
}

void loadCubePanel(Phase &phase, Value l1, const GmView &gm, Value start, Value rows, Value columns,
                   int64_t stride, int64_t paddedRows, Value target, int64_t rowStep) {
  OpBuilder &builder = phase.builder;
  if (!target)
    target = phase.index(0);
  if (stride <= kLongestStride) {
    builder.create<LoadNd2NzOp>(phase.loc, l1, target, gm.memory, start, rows, columns,
                                phase.index(stride), phase.index(paddedRows), rowStep);
    return;
  }
  OpBuilder::InsertionGuard guard(builder);
  auto loop = builder.create<scf::ForOp>(phase.loc, phase.index(0), rows, phase.index(1));
  builder.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar();
  builder.create<LoadNd2NzOp>(
      phase.loc, l1, phase.add(target, phase.mul(row, blockElements(gm.element) * rowStep)),
      gm.memory, phase.add(start, phase.mul(row, stride)), phase.index(1), columns, phase.index(1),
      phase.index(paddedRows), /*row_step=*/1);
}

void loadCubePiece(Phase &phase, Value l0, Value l1, Value extent, Value kStart, Value k,
                   bool transpose, int64_t l1Rows) {
  Type element = cast<MemRefType>(l1.getType()).getElementType();
  // k runs along rows: C0 elements a step; or along columns: a column block every C0 steps, which
  // is src_rows elements a step, as kStart is a multiple of C0.
  Value from = phase.mul(kStart, transpose ? blockElements(element) : l1Rows);
  phase.builder.create<LoadL0Op>(phase.loc, l0, phase.index(0), l1, from, extent, k,
                                 phase.index(l1Rows),
                                 transpose ? phase.builder.getUnitAttr() : UnitAttr());
}

namespace {

class CubeCode {
public:
  CubeCode(Phase &phase, const Contraction &contraction, const CubeTiling &tiling,
           const CubeBuffers &buffers)
      : contraction(contraction), tile(tiling), buffers(buffers), phase(phase),
        builder(phase.builder), loc(phase.loc) {}

  void emit(const CubeRun &run);

private:
  Value index(int64_t value) { return phase.index(value); }
  scf::ForOp loop(Value upper, int64_t step);
  // The panel of the operand that k does not walk through densely: a load for each tap, whose rows
  // go between those of the others. `start`: of k = 0.
  void gatherPanel(Value l1, const GmView &gm, Value start, Value columns, Value k0, Value kNow,
                   int64_t paddedRows);
  // offset + the strides of dims for the linear index over them.
  Value offset(Value base, Value linear, ArrayRef<ContractionDim> dims, int operand);

  const Contraction &contraction;
  const CubeTiling &tile;
  const CubeBuffers &buffers;
  Phase &phase;
  OpBuilder &builder;
  Location loc;
};

scf::ForOp CubeCode::loop(Value upper, int64_t step) {
  auto loop = builder.create<scf::ForOp>(loc, index(0), upper, index(step));
  builder.setInsertionPointToStart(loop.getBody());
  return loop;
}

Value CubeCode::offset(Value base, Value linear, ArrayRef<ContractionDim> dims, int operand) {
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

void CubeCode::gatherPanel(Value l1, const GmView &gm, Value start, Value columns, Value k0,
                           Value kNow, int64_t paddedRows) {
  const int operand = contraction.gathered;
  const int64_t taps = contraction.tapCount();
  OpBuilder::InsertionGuard guard(builder);
  Value tap = loop(index(taps), 1).getInductionVar();
  // Of the steps from k0 on, those of this tap.
  auto rowsBefore = [&](Value end) {
    Value last = builder.createOrFold<arith::SubIOp>(loc, phase.add(end, index(taps - 1)), tap);
    return builder.createOrFold<arith::DivUIOp>(loc, last, index(taps));
  };
  Value first = rowsBefore(k0), end = rowsBefore(phase.add(k0, kNow));
  Value rows = builder.createOrFold<arith::SubIOp>(loc, end, first);
  Value target =
      builder.createOrFold<arith::SubIOp>(loc, phase.add(phase.mul(first, taps), tap), k0);
  Value source = offset(start, tap, contraction.taps, operand);
  const int64_t stride = contraction.k.strides[operand];
  source = phase.add(source, phase.mul(first, stride));
  loadCubePanel(phase, l1, gm, source, rows, columns, std::max<int64_t>(stride, 1), paddedRows,
                phase.mul(target, blockElements(gm.element)), taps);
}

void CubeCode::emit(const CubeRun &run) {
  const ContractionDim &m = contraction.m, &n = contraction.n, &k = contraction.k;
  bool transposeA = contraction.transposeA, transposeB = contraction.transposeB;
  int64_t rowsA = transposeA ? tile.k_l1 : tile.m, rowsB = transposeB ? tile.k_l1 : tile.n;
  int64_t panelsK = ceilDiv(k.size, tile.k_l1), panels = panelsK * contraction.outerKs();
  Type element = run.a.element;

  OpBuilder::InsertionGuard around(builder);
  Value kept;
  if (run.keepsA) {
    Value turn = run.before ? run.before : index(0);
    kept = builder.create<SlotOp>(loc, buffers.l1a, turn);
    auto once = builder.create<scf::ForOp>(loc, index(0), phase.min(run.count, index(1)), index(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(once.getBody());
    Value rows = run.rows ? run.rows : index(m.size);
    loadCubePanel(phase, kept, run.a, run.a.offset, transposeA ? index(k.size) : rows,
                  transposeA ? rows : index(k.size), (transposeA ? k : m).strides[Contraction::A],
                  rowsA);
  }
  Value round = loop(run.count, 1).getInductionVar();
  Value turnOfTile = run.before ? phase.add(run.before, round) : round;
  const TileWalk walk(contraction, tile);
  Value number = phase.add(run.first, round);
  if (run.firstTile)
    number = builder.createOrFold<arith::RemUIOp>(loc, phase.add(number, run.firstTile),
                                                  index(walk.tiles()));
  const TileWalk::Place place = walk.place(builder, loc, number, run.rows);
  Value mNow = place.rows, nNow = place.columns;
  auto corner = [&](const GmView &view, int operand) {
    Value at = offset(view.offset, place.batch, contraction.batch, operand);
    at = phase.add(at, phase.mul(place.m, m.strides[operand]));
    return phase.add(at, phase.mul(place.n, n.strides[operand]));
  };
  Value startA = corner(run.a, Contraction::A), startB = corner(run.b, Contraction::B);
  Value startC =
      run.ringStart ? run.ringStart(run.firstTile ? number : round) : corner(run.c, Contraction::C);
  Value slotC = builder.create<SlotOp>(loc, buffers.l0c, turnOfTile);

  {
    OpBuilder::InsertionGuard guard(builder);
    Value panel = loop(index(panels), 1).getInductionVar();
    Value count = phase.add(phase.mul(turnOfTile, panels), panel);
    Value here = panel;
    if (run.firstPanel && panels > 1)
      here = builder.createOrFold<arith::RemUIOp>(loc, phase.add(panel, run.firstPanel),
                                                  index(panels));
    Value outer = index(0), inner = here;
    if (contraction.outerKs() > 1) {
      outer = builder.createOrFold<arith::DivUIOp>(loc, here, index(panelsK));
      inner = builder.createOrFold<arith::RemUIOp>(loc, here, index(panelsK));
    }
    Value k0 = phase.mul(inner, tile.k_l1), kNow = index(tile.k_l1);
    if (k.size % tile.k_l1 != 0)
      kNow = phase.min(kNow, builder.createOrFold<arith::SubIOp>(loc, index(k.size), k0));
    auto along = [&](Value start, int operand) {
      start = offset(start, outer, contraction.outerK, operand);
      // Of an operand that is gathered, where k = 0 lies.
      return operand == contraction.gathered ? start
                                             : phase.add(start, phase.mul(k0, k.strides[operand]));
    };
    auto panelOf = [&](Value slot, const GmView &gm, Value start, int operand, bool transposed,
                       Value extent, const ContractionDim &dim, int64_t rows) {
      if (operand == contraction.gathered)
        gatherPanel(slot, gm, start, extent, k0, kNow, rows);
      else
        loadCubePanel(phase, slot, gm, start, transposed ? kNow : extent,
                      transposed ? extent : kNow, (transposed ? k : dim).strides[operand], rows);
    };
    Value slotA = kept ? kept : builder.create<SlotOp>(loc, buffers.l1a, count).getResult();
    Value slotB = builder.create<SlotOp>(loc, buffers.l1b, count);
    if (!kept)
      panelOf(slotA, run.a, along(startA, Contraction::A), Contraction::A, transposeA, mNow, m,
              rowsA);
    panelOf(slotB, run.b, along(startB, Contraction::B), Contraction::B, transposeB, nNow, n,
            rowsB);

    int64_t pieces = tile.k_l1 / tile.k_l0;
    Value kk = loop(kNow, tile.k_l0).getInductionVar();
    Value piece = builder.createOrFold<arith::DivUIOp>(loc, kk, index(tile.k_l0));
    Value turn = phase.add(phase.mul(count, pieces), piece);
    Value kPiece = phase.min(index(tile.k_l0), builder.createOrFold<arith::SubIOp>(loc, kNow, kk));
    Value inA = builder.create<SlotOp>(loc, buffers.l0a, turn),
          inB = builder.create<SlotOp>(loc, buffers.l0b, turn);
    loadCubePiece(phase, inA, slotA, mNow, kk, kPiece, transposeA, rowsA);
    loadCubePiece(phase, inB, slotB, nNow, kk, kPiece, transposeB, rowsB);
    Value isFirst = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::eq, phase.add(phase.mul(panel, pieces), piece), index(0));
    bool padded = transposeA && bytesOf(element) == 4;
    builder.create<MmadOp>(loc, slotC, index(0), inA, index(0), inB, index(0), mNow, nNow, kPiece,
                           isFirst, padded ? builder.getUnitAttr() : UnitAttr(),
                           /*unit_flag=*/Value());
  }
  if (run.beforeStore)
    run.beforeStore(round);
  Value columnBlock = phase.mul(phase.ceilDiv(mNow, kFractal), kFractal);
  int64_t stride = run.ringStart ? run.rowStride : std::max<int64_t>(m.strides[Contraction::C], 1);
  builder.create<FixpipeOp>(loc, run.c.memory, startC, slotC, index(0), mNow, nNow, index(stride),
                            columnBlock, run.accumulate ? Atomic::add : Atomic::none, false);
  if (run.afterStore)
    run.afterStore(round);
}

} // namespace

void emitCubeTiles(Phase &phase, const Contraction &contraction, const CubeTiling &tiling,
                   const CubeBuffers &buffers, const CubeRun &run) {
  CubeCode(phase, contraction, tiling, buffers).emit(run);
}

} // namespace pyasc::npu
