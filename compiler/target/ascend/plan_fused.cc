// A product and the elementwise operation behind it, in one group of cube and vector cores.
//
// In: a contraction and, next to it, an operation on its result that nothing else wants. Out: two
// phases that run together. Each cube core leaves its tiles in a ring of slots in global memory,
// small enough to stay in L2; its two vector cores take half the rows of a tile each, apply the
// operation and store. Two flags between the cores carry it, both counted per AI core:
//
//   full   cube -> vectors, set behind the store of a tile, one a tile; the vector cores wait for
//          it before they load. So a slot is read only after it was written.
//   free   vectors -> cube, set when both have loaded all of a tile, for every tile but the last
//          `slots` ones; the cube core waits for it before every tile but the first `slots`. So a
//          slot is written again only after both have read it, and at the end no flag is left.
//
// Cube and vector cores count the same tiles (TileWalk::share), none on some cores; a vector core
// whose half of a tile is empty still waits and sets. Executed op by op nothing can wait for ever:
// the cube core's tile t needs `free` of tile t - slots, the vector cores' tile t needs `full` of
// t. At most `slots` flags of a kind are up at once, far below what a counter holds.
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "compiler/target/ascend/cube_code.h"
#include "compiler/target/ascend/plan_chain.h"
#include "compiler/target/ascend/plan_vector_phase.h"
#include "compiler/target/ascend/row_group.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

constexpr int64_t kSlots = 2;
constexpr int64_t kFull = 0, kFree = 1; // ids of flags between cores
constexpr int64_t kGroupMode = 2;       // a cube core and its two vector cores
// The longest row that row-wise instructions repeat over.
constexpr int64_t kRepeatedPitch = 2016;
// Elements from which longer tiles gain little.
constexpr int64_t kGoodTile = 4096;
// Elements of a product from which it matters that all vector cores have work.
constexpr int64_t kManyElements = 1 << 16;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The operation behind a product in terms of the product's dimensions: its batch ones, m, n.
struct Epilogue {
  VectorNest nest;
  VectorLoops loops;
  Value product; // what holds the product
};

// The nest with exactly the dimensions of the product, whose element `operand` is.
std::optional<VectorNest> alignNest(VectorNest nest, const VectorOperand &operand,
                                    const Contraction &contraction) {
  SmallVector<int64_t> order;
  for (int64_t d = 0; d < nest.rank(); ++d)
    if (nest.extents[d] > 1)
      order.push_back(d);
  llvm::sort(order, [&](int64_t a, int64_t b) { return operand.strides[a] > operand.strides[b]; });
  SmallVector<const ContractionDim *> dims;
  for (const ContractionDim &dim : contraction.batch)
    dims.push_back(&dim);
  dims.push_back(&contraction.m);
  dims.push_back(&contraction.n);
  SmallVector<size_t> places(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    places[i] = i;
  auto strideOf = [&](size_t i) { return dims[i]->strides[Contraction::C]; };
  llvm::sort(places, [&](size_t a, size_t b) { return strideOf(a) > strideOf(b); });

  VectorNest result = nest;
  result.extents.assign(dims.size(), 1);
  result.reduction.assign(dims.size(), false);
  for (VectorOperand &other : result.operands)
    other.strides.assign(dims.size(), 0);
  size_t next = 0;
  for (size_t i : places) {
    int64_t extent = 1;
    size_t begin = next;
    while (extent < dims[i]->size && next < order.size())
      extent *= nest.extents[order[next++]];
    if (extent != dims[i]->size || next == begin || operand.strides[order[next - 1]] != strideOf(i))
      return std::nullopt;
    for (size_t j = begin; j + 1 < next; ++j)
      for (const VectorOperand &other : nest.operands)
        if (other.strides[order[j]] != other.strides[order[j + 1]] * nest.extents[order[j + 1]])
          return std::nullopt;
    result.extents[i] = extent;
    for (auto [to, from] : llvm::zip_equal(result.operands, nest.operands))
      to.strides[i] = from.strides[order[next - 1]];
  }
  if (next != order.size())
    return std::nullopt;
  return result;
}

std::optional<Epilogue> findEpilogue(Planner &planner, ArrayRef<Operation *> steps,
                                     const Contraction &contraction) {
  Value product = planner.overwritten(steps[0]);
  auto op = steps.size() > 1 ? dyn_cast<linalg::GenericOp>(steps[1]) : linalg::GenericOp();
  if (!op || !product || contraction.m.size == 1 || contraction.n.size == 1)
    return std::nullopt;
  FailureOr<MemRefView> place = planner.locate(product);
  if (failed(place) || !place->root.getDefiningOp<memref::AllocOp>() ||
      !planner.usedOnlyBy(place->root, steps.take_front(2)))
    return std::nullopt;
  std::string reason;
  auto nest = analyseNest(planner, op, reason, /*merge=*/false);
  if (failed(nest) || nest->empty || llvm::is_contained(nest->reduction, true))
    return std::nullopt;
  const VectorOperand *fed = nullptr;
  for (const VectorOperand &operand : nest->operands) {
    Value root = operand.view.root;
    if (operand.isOutput) {
      // The cube is still reading while the first tiles are stored.
      if (root == contraction.views[Contraction::A].root ||
          root == contraction.views[Contraction::B].root || root == place->root)
        return std::nullopt;
    } else if (root == place->root) {
      if (fed || !operand.view.terms.empty() ||
          operand.view.offset + operand.offset != place->offset)
        return std::nullopt;
      fed = &operand;
    }
  }
  if (!fed || !fed->used)
    return std::nullopt;
  auto aligned = alignNest(*nest, *fed, contraction);
  if (!aligned)
    return std::nullopt;
  VectorLoops loops;
  loops.column = aligned->rank() - 1;
  loops.row = aligned->rank() - 2;
  for (int64_t d = 0; d < loops.row; ++d)
    loops.outer.push_back(d);
  auto adopted = adoptLoops(*aligned, loops);
  if (!adopted)
    return std::nullopt;
  return Epilogue{std::move(*aligned), *adopted, place->root};
}

// The vector cores' side.
class EpilogueCode {
public:
  EpilogueCode(PhaseEmitter &emitter, TileBuffers &buffers, const Tiling &tiling,
               const Contraction &contraction, const CubeTiling &cube, const Epilogue &epilogue,
               Value ring)
      : vector(emitter, buffers, epilogue.nest, epilogue.loops, tiling), emitter(emitter),
        builder(emitter.builder()), loc(epilogue.nest.op.getLoc()), tiling(tiling),
        contraction(contraction), cube(cube), epilogue(epilogue), ring(ring) {}

  LogicalResult emit(std::string &why) {
    LogicalResult done = emitAll();
    why = vector.reason();
    return done;
  }

private:
  Value index(int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); }
  template <typename Op> Value make(Value a, Value b) {
    return builder.createOrFold<Op>(loc, a, b);
  }

  LogicalResult emitAll() {
    if (failed(vector.prepare()))
      return failure();
    auto memory = emitter.view(ring);
    if (failed(memory))
      return failure();
    const TileWalk walk(contraction, cube);
    Value me = builder.create<BlockIdxOp>(loc);
    Value core = make<arith::DivUIOp>(me, index(2)), half = make<arith::RemUIOp>(me, index(2));
    auto [first, count] = walk.share(builder, loc, core);
    auto rounds = builder.create<scf::ForOp>(loc, index(0), count, index(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(rounds.getBody());
    Value round = rounds.getInductionVar();
    const TileWalk::Place place = walk.place(builder, loc, make<arith::AddIOp>(first, round));
    Value share = make<arith::CeilDivUIOp>(place.rows, index(2));
    Value skipped = make<arith::MulIOp>(half, share);
    Value rows = make<arith::MinSIOp>(share, make<arith::SubIOp>(place.rows, skipped));
    Value slot = make<arith::AddIOp>(make<arith::MulIOp>(core, index(kSlots)),
                                     make<arith::RemUIOp>(round, index(kSlots)));
    Value start = make<arith::MulIOp>(slot, index(cube.m * cube.n));

    builder.create<CrossWaitOp>(loc, Pipe::MTE2, index(kFull));
    {
      Value size = index(tiling.size.rows);
      Value parts = make<arith::CeilDivUIOp>(rows, size);
      auto loop = builder.create<scf::ForOp>(loc, index(0), parts, index(1));
      OpBuilder::InsertionGuard inner(builder);
      builder.setInsertionPointToStart(loop.getBody());
      Value done = make<arith::MulIOp>(loop.getInductionVar(), size);
      Value row = make<arith::AddIOp>(skipped, done);
      int64_t most = ceilDiv(ceilDiv(cube.m, 2), tiling.size.rows);
      VectorEmitter::Place tile;
      // Batch dimensions, the last one fastest.
      tile.at.assign(epilogue.nest.rank(), Value());
      Value rest = place.batch;
      for (int64_t d = epilogue.nest.rank() - 3; d >= 0; --d) {
        Value extent = index(epilogue.nest.extents[d]);
        tile.at[d] = d == 0 ? rest : make<arith::RemUIOp>(rest, extent);
        rest = make<arith::DivUIOp>(rest, extent);
      }
      tile.at[epilogue.loops.row] = make<arith::AddIOp>(place.m, row);
      tile.at[epilogue.loops.column] = place.n;
      tile.rows = make<arith::MinSIOp>(size, make<arith::SubIOp>(rows, done));
      tile.columns = place.columns;
      tile.iteration =
          make<arith::AddIOp>(make<arith::MulIOp>(round, index(most)), loop.getInductionVar());
      tile.fed = {epilogue.product, memory->base,
                  make<arith::AddIOp>(start, make<arith::MulIOp>(row, index(cube.n))), cube.n};
      if (failed(vector.emitTile(tile)))
        return failure();
    }
    if (walk.most() <= kSlots)
      return success();
    Value again = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt,
                                                make<arith::AddIOp>(round, index(kSlots)), count);
    auto branch = builder.create<scf::IfOp>(loc, again, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
    builder.create<CrossSetOp>(loc, kGroupMode, Pipe::MTE2, index(kFree));
    return success();
  }

  VectorEmitter vector;
  PhaseEmitter &emitter;
  OpBuilder &builder;
  Location loc;
  const Tiling &tiling;
  const Contraction &contraction;
  const CubeTiling &cube;
  const Epilogue &epilogue;
  Value ring;
};

// The cube cores' side.
LogicalResult buildProducts(Planner &planner, const Contraction &contraction,
                            const CubeTiling &tiling, Value ring, int64_t group) {
  Phase phase = planner.begin(linalg::GenericOp(contraction.op).getLoc(), "aic", tiling.blocks);
  OpBuilder &builder = phase.builder;
  Location loc = phase.loc;
  phase.function->setAttr(kGroup, builder.getI64IntegerAttr(group));
  FailureOr<GmView> a = phase.view(contraction.views[Contraction::A]);
  FailureOr<GmView> b = phase.view(contraction.views[Contraction::B]);
  FailureOr<GmView> c = phase.view(ring);
  if (failed(a) || failed(b) || failed(c))
    return failure();
  CubeRun run{.a = *a, .b = *b, .c = *c};
  Value core = builder.create<BlockIdxOp>(loc);
  std::tie(run.first, run.count) = TileWalk(contraction, tiling).share(builder, loc, core);
  run.firstPanel = core; // as in planContraction
  run.rowStride = tiling.n;
  run.ringStart = [&](Value round) {
    Value turn = builder.createOrFold<arith::RemUIOp>(loc, round, phase.index(kSlots));
    return phase.mul(phase.add(phase.mul(core, kSlots), turn), tiling.m * tiling.n);
  };
  run.beforeStore = [&](Value round) {
    if (TileWalk(contraction, tiling).most() <= kSlots)
      return;
    OpBuilder::InsertionGuard guard(builder);
    Value again =
        builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, round, phase.index(kSlots));
    auto branch = builder.create<scf::IfOp>(loc, again, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
    builder.create<CrossWaitOp>(loc, Pipe::FIX, phase.index(kFree));
  };
  run.afterStore = [&](Value) {
    builder.create<CrossSetOp>(loc, kGroupMode, Pipe::FIX, phase.index(kFull));
  };
  emitCubeTiles(phase, contraction, tiling, makeCubeBuffers(phase, a->element, tiling), run);
  return success();
}

} // namespace

size_t planFused(Planner &planner, ArrayRef<Operation *> steps, std::string &reason) {
  reason = "";
  auto op = dyn_cast<linalg::GenericOp>(steps.front());
  if (!op || steps.size() < 2 || !isContraction(op) || !planner.overwritten(op))
    return 0;
  if (const RowChain *chain = planner.chainOf(op))
    return planChain(planner, *chain, steps, reason);
  // Row-wise steps are better off together, each row loaded once.
  if (findRows(planner, steps.drop_front(1)))
    return 0;
  std::string why;
  FailureOr<Contraction> found = analyseContraction(planner, op, why);
  if (failed(found) || found->isEmpty())
    return 0;
  Contraction contraction = *found;
  const MemRefView destination = *planner.locate(planner.overwritten(op));
  auto epilogue = findEpilogue(planner, steps, contraction);
  if (!epilogue || flattenRows(planner, contraction, destination))
    return 0;
  CubeTiling cube = chooseCubeTiling(problemOf(contraction), planner.soc());
  const TileWalk walk(contraction, cube);
  int64_t cubes = planner.cores("aic");
  if (planner.cores("aiv") < 2 * cubes || cube.n > kRepeatedPitch)
    return 0;
  // A few tiles would keep a few vector cores busy while the others have nothing.
  if (2 * cube.blocks < cubes && walk.tiles() * cube.m * cube.n > kManyElements)
    return 0;

  Location loc = epilogue->nest.op.getLoc();
  OpBuilder builder(op);
  Value ring = builder.create<memref::AllocOp>(
      loc, MemRefType::get({cube.blocks * kSlots * cube.m * cube.n}, destination.element));
  planner.markRing(ring);
  int64_t group = planner.nextGroup();
  EmitPhase emit = [&](PhaseEmitter &emitter, TileBuffers &buffers, const Tiling &tiling,
                       std::string &because) -> LogicalResult {
    emitter.builder().getBlock()->getParentOp()->setAttr(kGroup, builder.getI64IntegerAttr(group));
    return EpilogueCode(emitter, buffers, tiling, contraction, cube, *epilogue, ring).emit(because);
  };
  auto tilingOf = [&](int64_t rows) {
    Tiling tiling;
    tiling.size.rows = rows;
    tiling.size.pitch = ceilDiv(cube.n, kPitchUnit) * kPitchUnit;
    tiling.size.hasRows = true;
    // Rows of a tile are always divided, so nothing that follows them is loaded once.
    tiling.rowTiles = 2;
    tiling.columnTiles = walk.tilesN;
    tiling.tasks = tiling.cores = 2 * cube.blocks;
    return tiling;
  };
  auto bytes = tryPhase(loc, tilingOf(2), emit, why);
  if (failed(bytes))
    return 0;
  int64_t half = ceilDiv(cube.m, 2);
  int64_t rows = std::min(half, ceilDiv(kGoodTile, cube.n));
  while (rows > 0 && (*bytes)(tilingOf(rows).size) > vectorBudget(planner))
    rows /= 2;
  if (rows == 0)
    return 0;
  rows = ceilDiv(half, ceilDiv(half, rows)); // equal parts

  for (int operand : {Contraction::A, Contraction::B})
    if ((operand == Contraction::A ? contraction.packA : contraction.packB) &&
        failed(packOperand(planner, contraction, operand)))
      return 0;
  if (failed(buildProducts(planner, contraction, cube, ring, group)) ||
      failed(planPhase(planner, loc, tilingOf(rows), emit, why)))
    return 0;
  planner.record({op.getLoc(), "cube", describeContraction(contraction), ""});
  planner.record(
      {loc, "vector", "elementwise on the product's tiles, as the cube cores hand them over", ""});
  return 2;
}

} // namespace pyasc::npu
