// Attention on rows of any length: two products with a softmax between them, one block of rows and
// one block of columns after the other, in one group of cube and vector cores.
//
// In: a chain (plan_chain.cc) whose steps are a softmax (online_softmax.h). Out: two phases that
// run together. A turn is a block of rows with a block of columns; a core takes all blocks of
// columns of a block of rows, then the next one. Its cube core computes the scores of a turn into a
// ring, its two vector cores turn half the rows each into powers in a second ring, the cube core
// multiplies these with their rows of V into a third one, and the vector cores add that up. So what
// is in memory beside the operands does not grow with the sequence, and stays in L2. Six counted
// flags per AI core guard the rings, of kSlots slots each:
//
//   scores full, powers full, product full   from who stores to who loads, one a turn
//   scores free, powers free, product free   back, when all is loaded; for the turn kSlots later,
//                                            and only where there is one
//
// In turn t the cube core does the scores of t and the product of t - 1, the vector cores the
// powers of t and the sum of t - 1. Op by op nothing waits for ever: scores t need the loads of
// scores t - kSlots, in an earlier turn of the vector cores; powers t need scores t, and the load
// of powers t - kSlots, in an earlier turn of the cube core; product t - 1 needs powers t - 1 and
// the sum of t - 1
// - kSlots, both in earlier turns of the vector cores; the sum of t - 1 needs product t - 1, which
// the cube core does before it needs anything of the vector cores' turn t.
//
// Rings hold panels of kPanel columns, all rows of a panel together: what a vector core loads of
// one is a single burst, and its rows are near enough for row-wise instructions.
#include <numeric>

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "compiler/target/ascend/cube_code.h"
#include "compiler/target/ascend/row_chain.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

constexpr int64_t kSlots = 2;
constexpr int64_t kScoresFull = 0, kScoresFree = 1, kPowersFull = 2, kPowersFree = 3,
                  kProductFull = 4, kProductFree = 5;
constexpr int64_t kFractal = 16;
// A block has no more rows: a tile of the cube.
constexpr int64_t kMostRows = 128;
// The widest result: more would leave the cube short pieces of k.
constexpr int64_t kMostWidth = 256;
// Panels of a block of columns: with more, less is added up; with fewer, cores wait less for each
// other at the start and the end.
constexpr int64_t kMostPanels = 8;
// Rows of scores this short are better whole.
constexpr int64_t kLeastColumns = 1024;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

//===------------------------------------------------------------------------------------------===//
// Sizes
//===------------------------------------------------------------------------------------------===//

struct Tilings {
  Contraction first, second; // of a turn
  CubeTiling one, two;
};

// A tile of the cube with panels along k in pieces that fit into L0.
bool fit(CubeTiling &tile, int64_t k, int64_t bytes, int64_t unit, const machine::Soc &soc) {
  tile.k_l0 = std::min(soc.l0a_bytes / 2 / (tile.m * bytes), soc.l0b_bytes / 2 / (tile.n * bytes));
  tile.k_l0 = std::min(tile.k_l0 / kFractal * kFractal, roundUp(k, kFractal));
  if (tile.k_l0 < kFractal)
    return false;
  // Pieces divide the panel.
  if (unit != 0) {
    while (unit % tile.k_l0 != 0)
      tile.k_l0 -= kFractal;
    tile.k_l1 = unit;
    return true;
  }
  int64_t room = soc.l1_bytes / 4 / (2 * (tile.m + tile.n) * bytes);
  tile.k_l1 = std::min(std::max<int64_t>(room / tile.k_l0, 1) * tile.k_l0, roundUp(k, tile.k_l0));
  return true;
}

std::optional<Tilings> chooseTilings(const RowChain &chain, const Contraction &first,
                                     const Contraction &second, const machine::Soc &soc) {
  Tilings result{first, second, {}, {}};
  Contraction &scores = result.first, &product = result.second;
  const int64_t columns = chain.panels * kPanel;
  scores.m.size = product.m.size = chain.block;
  scores.n.size = product.k.size = columns;
  // Panels of the ring: an element of k is a whole column of one further.
  product.m.strides[Contraction::A] = kPanel;
  product.k.strides[Contraction::A] = chain.block;
  const int64_t bytes = bytesOf(scores.views[Contraction::A].element);
  CubeTiling &one = result.one, &two = result.two;
  one.m = two.m = roundUp(chain.block, kFractal);
  one.n = kPanel;
  two.n = roundUp(chain.width, kFractal);
  if (!fit(one, scores.k.size, bytes, 0, soc) || !fit(two, columns, bytes, kPanel, soc))
    return std::nullopt;
  auto inL1 = [&](const CubeTiling &tile) { return 2 * (tile.m + tile.n) * tile.k_l1 * bytes; };
  auto inL0c = [&](const CubeTiling &tile) { return tile.m * tile.n * 4; };
  const int64_t results = std::max(inL0c(one), inL0c(two));
  if (inL1(one) + inL1(two) > soc.l1_bytes || results > soc.l0c_bytes)
    return std::nullopt;
  one.l0c_slots = two.l0c_slots = 2 * results <= soc.l0c_bytes ? 2 : 1;
  return result;
}

OnlineShape shapeOf(const RowChain &chain, Type result) {
  return {.rows = ceilDiv(chain.block, 2),
          .columns = chain.columns,
          .width = chain.width,
          .scores = chain.scoresElement,
          .probabilities = chain.probabilitiesElement,
          .result = result};
}

// Blocks of columns of a block of rows.
int64_t blocksOfColumns(const RowChain &chain) {
  return ceilDiv(chain.columns, chain.panels * kPanel);
}

// Elements of a core in the rings, and of one slot of it.
int64_t slotOfScores(const RowChain &chain) { return chain.block * chain.panels * kPanel; }
int64_t slotOfProduct(const RowChain &chain) {
  return chain.block * roundUp(chain.width, kFractal);
}

struct Rings {
  Value scores, powers, product;
};

//===------------------------------------------------------------------------------------------===//
// Code
//===------------------------------------------------------------------------------------------===//

// A turn in terms of both kinds of cores.
struct Turn {
  Value row, rows;       // of the block, in the tensors
  Value block;           // number of the block of columns
  Value column, columns; // of the block of columns
};

class Turns {
public:
  Turns(ChainOps &ops, const RowChain &chain, Value core, int64_t cores)
      : ops(ops), chain(chain), core(core) {
    auto [firstBlock, blocks] = ops.share(core, chain, cores);
    first = firstBlock;
    count = ops.mul(blocks, blocksOfColumns(chain));
    reuses = ceilDiv(ceilDiv(chain.rows, chain.block), cores) * blocksOfColumns(chain) > kSlots;
  }

  Turn at(Value turn) {
    const int64_t blocks = blocksOfColumns(chain);
    Turn result;
    Value number = ops.add(first, ops.make<arith::DivUIOp>(turn, ops.index(blocks)));
    result.row = ops.mul(number, chain.block);
    result.rows = ops.rowsAt(result.row, chain);
    result.block = ops.make<arith::RemUIOp>(turn, ops.index(blocks));
    result.column = ops.mul(result.block, chain.panels * kPanel);
    result.columns = ops.index(chain.panels * kPanel);
    if (!isWhole())
      result.columns = ops.make<arith::MinSIOp>(
          result.columns, ops.make<arith::SubIOp>(ops.index(chain.columns), result.column));
    return result;
  }
  // Whether all blocks of columns have as many.
  bool isWhole() const { return chain.columns % (chain.panels * kPanel) == 0; }

  Value slot(Value turn, int64_t elements) {
    Value number =
        ops.add(ops.mul(core, kSlots), ops.make<arith::RemUIOp>(turn, ops.index(kSlots)));
    return ops.mul(number, elements);
  }
  // Whether a turn waits for a slot, or a later one will wait for its.
  Value waits(Value turn) { return ops.less(ops.index(kSlots - 1), turn); }
  Value isAwaited(Value turn) { return ops.less(ops.add(turn, ops.index(kSlots)), count); }

  ChainOps &ops;
  const RowChain &chain;
  Value core, first, count;
  bool reuses;
};

LogicalResult buildCube(Planner &planner, const RowChain &chain, const Tilings &tilings,
                        const Rings &rings, int64_t cores, int64_t group) {
  Phase phase = planner.begin(linalg::GenericOp(chain.first).getLoc(), "aic", cores);
  OpBuilder &builder = phase.builder;
  Location loc = phase.loc;
  phase.function->setAttr(kGroup, builder.getI64IntegerAttr(group));
  const Contraction &first = tilings.first, &second = tilings.second;
  FailureOr<GmView> a = phase.view(first.views[Contraction::A]);
  FailureOr<GmView> b = phase.view(first.views[Contraction::B]);
  FailureOr<GmView> v = phase.view(second.views[Contraction::B]);
  FailureOr<GmView> scores = phase.view(rings.scores), powers = phase.view(rings.powers),
                    product = phase.view(rings.product);
  if (failed(a) || failed(b) || failed(v) || failed(scores) || failed(powers) || failed(product))
    return failure();
  const CubeTiling &one = tilings.one, &two = tilings.two;
  auto l1 = [&](int64_t elements, Type type) { return phase.buffer(elements, type, Space::l1, 2); };
  Value l0a = phase.buffer(std::max(one.m * one.k_l0, two.m * two.k_l0), a->element, Space::l0a, 2);
  Value l0b = phase.buffer(std::max(one.n * one.k_l0, two.n * two.k_l0), a->element, Space::l0b, 2);
  Value l0c = phase.buffer(std::max(one.m * one.n, two.m * two.n), builder.getF32Type(), Space::l0c,
                           one.l0c_slots);
  const CubeBuffers forScores{l1(one.m * one.k_l1, a->element), l1(one.n * one.k_l1, b->element),
                              l0a, l0b, l0c};
  const CubeBuffers forProduct{l1(two.m * two.k_l1, powers->element),
                               l1(two.n * two.k_l1, v->element), l0a, l0b, l0c};

  ChainOps ops(builder, loc);
  Turns turns(ops, chain, builder.create<BlockIdxOp>(loc), cores);
  OpBuilder::InsertionGuard guard(builder);
  Value turn = ops.loop(ops.add(turns.count, ops.index(1))).getInductionVar();
  Value zero = ops.index(0);
  {
    Value here = ops.less(turn, turns.count);
    const Turn now = turns.at(turn);
    Value start = turns.slot(turn, slotOfScores(chain));
    if (turns.reuses)
      ops.when(ops.both(here, turns.waits(turn)), [&] { ops.wait(Pipe::FIX, kScoresFree); });
    CubeRun run{.a = *a, .b = *b, .c = *scores};
    run.a.offset = phase.add(a->offset, ops.mul(now.row, first.m.strides[Contraction::A]));
    run.b.offset = phase.add(b->offset, ops.mul(now.column, first.n.strides[Contraction::B]));
    run.first = zero;
    Value panels = turns.isWhole() ? ops.index(chain.panels) : phase.ceilDiv(now.columns, kPanel);
    run.count = ops.choose(here, panels, zero);
    // An odd number, so that slots alternate from turn to turn as well.
    run.before = ops.mul(turn, chain.panels | 1);
    run.rows = now.rows;
    if (!turns.isWhole())
      run.columns = now.columns;
    run.keepsA = first.k.size <= one.k_l1;
    run.rowStride = kPanel;
    run.ringStart = [&](Value tile) { return ops.add(start, ops.mul(tile, chain.block * kPanel)); };
    emitCubeTiles(phase, first, one, forScores, run);
    ops.when(here, [&] { ops.set(Pipe::FIX, kScoresFull); });
  }
  {
    Value here = ops.less(zero, turn);
    Value before =
        ops.make<arith::SubIOp>(ops.make<arith::MaxSIOp>(turn, ops.index(1)), ops.index(1));
    const Turn now = turns.at(before);
    ops.when(here, [&] { ops.wait(Pipe::MTE2, kPowersFull); });
    if (turns.reuses)
      ops.when(ops.both(here, turns.waits(before)), [&] { ops.wait(Pipe::FIX, kProductFree); });
    CubeRun run{.a = *powers, .b = *v, .c = *product};
    run.a.offset = turns.slot(before, slotOfScores(chain));
    run.b.offset = phase.add(v->offset, ops.mul(now.column, second.k.strides[Contraction::B]));
    run.first = zero;
    run.count = ops.choose(here, ops.index(1), zero);
    run.before = before;
    run.rows = now.rows;
    if (!turns.isWhole())
      run.depth = now.columns;
    run.rowStride = roundUp(chain.width, kFractal);
    Value start = turns.slot(before, slotOfProduct(chain));
    run.ringStart = [&](Value) { return start; };
    emitCubeTiles(phase, second, two, forProduct, run);
    if (turns.reuses)
      ops.when(ops.both(here, turns.isAwaited(before)), [&] { ops.set(Pipe::MTE2, kPowersFree); });
    ops.when(here, [&] { ops.set(Pipe::FIX, kProductFull); });
  }
  return success();
}

// `destination`: null in a trial.
LogicalResult emitVector(PhaseEmitter &emitter, TileBuffers &buffers, const RowChain &chain,
                         const OnlineShape &shape, const Rings &rings, Value destination,
                         int64_t start, int64_t stride, int64_t cores, std::string &why) {
  OpBuilder &builder = emitter.builder();
  Location loc = linalg::GenericOp(chain.first).getLoc();
  ChainOps ops(builder, loc);
  auto scores = emitter.view(rings.scores), powers = emitter.view(rings.powers),
       product = emitter.view(rings.product), result = emitter.view(destination);
  if (failed(scores) || failed(powers) || failed(product) || failed(result)) {
    why = emitter.reason();
    return failure();
  }
  OnlineCode code(emitter, buffers, *chain.softmax, shape, loc);
  code.prepare();
  Value me = builder.create<BlockIdxOp>(loc);
  Value core = ops.make<arith::DivUIOp>(me, ops.index(2));
  Value half = ops.make<arith::RemUIOp>(me, ops.index(2));
  Turns turns(ops, chain, core, cores);
  Value zero = ops.index(0), one = ops.index(1);

  OpBuilder::InsertionGuard guard(builder);
  Value turn = ops.loop(ops.add(turns.count, one)).getInductionVar();
  // A block as this core sees it, without rows when it is not `here`.
  Value skipped;
  auto blockAt = [&](Value number, Value here) {
    const Turn now = turns.at(number);
    OnlineCode::Block block;
    Value share = ops.make<arith::CeilDivUIOp>(now.rows, ops.index(2));
    skipped = ops.make<arith::MulIOp>(half, share);
    block.rows = ops.make<arith::MinSIOp>(share, ops.make<arith::SubIOp>(now.rows, skipped));
    block.rows = ops.choose(here, block.rows, zero);
    block.row = ops.add(now.row, skipped);
    block.column = now.column;
    Value some = ops.choose(ops.less(zero, block.rows), one, zero);
    block.panels =
        ops.make<arith::MulIOp>(some, ops.make<arith::DivUIOp>(now.columns, ops.index(kPanel)));
    auto isBlock = [&](int64_t which) {
      Value is = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, now.block,
                                                     ops.index(which));
      return ops.choose(is, some, zero);
    };
    block.isFirst = isBlock(0);
    block.isLast = isBlock(blocksOfColumns(chain) - 1);
    block.tail = block.isLast;
    block.turn = number;
    return block;
  };
  {
    Value here = ops.less(turn, turns.count);
    OnlineCode::Block block = blockAt(turn, here);
    Value at = ops.add(turns.slot(turn, slotOfScores(chain)), ops.mul(skipped, kPanel));
    ops.when(here, [&] { ops.wait(Pipe::MTE2, kScoresFull); });
    if (turns.reuses)
      ops.when(ops.both(here, turns.waits(turn)), [&] { ops.wait(Pipe::MTE3, kPowersFree); });
    if (failed(code.emitPowers(block, {scores->base, at, chain.block * kPanel},
                               {powers->base, at, chain.block * kPanel}))) {
      why = code.reason();
      return failure();
    }
    if (turns.reuses)
      ops.when(ops.both(here, turns.isAwaited(turn)), [&] { ops.set(Pipe::MTE2, kScoresFree); });
    ops.when(here, [&] { ops.set(Pipe::MTE3, kPowersFull); });
  }
  {
    Value here = ops.less(zero, turn);
    Value before = ops.make<arith::SubIOp>(ops.make<arith::MaxSIOp>(turn, one), one);
    OnlineCode::Block block = blockAt(before, here);
    const int64_t pitch = roundUp(chain.width, kFractal);
    Value from = ops.add(turns.slot(before, slotOfProduct(chain)), ops.mul(skipped, pitch));
    ops.when(here, [&] { ops.wait(Pipe::MTE2, kProductFull); });
    code.emitSum(block, product->base, from, result->base,
                 ops.add(ops.index(start), ops.mul(block.row, stride)), stride);
    if (turns.reuses)
      ops.when(ops.both(here, turns.isAwaited(before)), [&] { ops.set(Pipe::MTE2, kProductFree); });
  }
  return success();
}

// Bytes of UB for blocks of chain.block rows; nothing when the steps cannot be emitted.
std::optional<int64_t> bytesFor(const RowChain &chain, Type result) {
  const OnlineShape shape = shapeOf(chain, result);
  Tiling tiling;
  tiling.size = {shape.rows, kPanel, 1, /*hasRows=*/true};
  // In the place of rings: nothing is read or written in a trial.
  const Rings rings{chain.scores, chain.probabilities,
                    linalg::GenericOp(chain.second).getDpsInits()[0]};
  EmitPhase emit = [&](PhaseEmitter &emitter, TileBuffers &buffers, const Tiling &,
                       std::string &why) {
    return emitVector(emitter, buffers, chain, shape, rings, rings.product, 0, chain.width, 1, why);
  };
  std::string reason;
  auto bytes = tryPhase(linalg::GenericOp(chain.first).getLoc(), tiling, emit, reason);
  if (failed(bytes))
    return std::nullopt;
  return (*bytes)(tiling.size) + bytesOf(shape, *chain.softmax);
}

} // namespace

bool chooseOnline(Planner &planner, RowChain &chain, const Contraction &first,
                  const Contraction &second) {
  if (chain.columns < kLeastColumns || chain.width > kMostWidth)
    return false;
  RowChain wanted = chain;
  const int64_t panels = ceilDiv(chain.columns, kPanel);
  wanted.panels = ceilDiv(panels, ceilDiv(panels, kMostPanels));
  // The most rows of a block that fit, so that all cores get the same number of blocks.
  const int64_t cores = planner.cores("aic");
  Type result = linalg::GenericOp(chain.second).getDpsInits()[0].getType();
  result = cast<MemRefType>(result).getElementType();
  for (int64_t turns = ceilDiv(chain.rows, cores * kMostRows);; ++turns) {
    wanted.block = ceilDiv(chain.rows, cores * turns);
    auto bytes = bytesFor(wanted, result);
    if (!bytes)
      return false;
    if (*bytes <= vectorBudget(planner) && chooseTilings(wanted, first, second, planner.soc()))
      break;
    if (wanted.block <= kFractal)
      return false;
  }
  chain = wanted;
  return true;
}

size_t planOnline(Planner &planner, const RowChain &chain, ArrayRef<Operation *> steps,
                  std::string &reason) {
  auto first = analyseContraction(planner, chain.first, reason);
  auto second = analyseContraction(planner, chain.second, reason);
  FailureOr<MemRefView> destination = planner.locate(planner.overwritten(chain.second));
  if (failed(first) || failed(second) || failed(destination))
    return 0;
  auto tilings = chooseTilings(chain, *first, *second, planner.soc());
  if (!tilings)
    return 0;
  Location loc = linalg::GenericOp(chain.first).getLoc();
  const int64_t cores = std::min(planner.cores("aic"), ceilDiv(chain.rows, chain.block));
  OpBuilder builder(steps.front());
  auto ring = [&](int64_t slot, Type element) -> Value {
    Value memory =
        builder.create<memref::AllocOp>(loc, MemRefType::get({cores * kSlots * slot}, element));
    planner.markRing(memory);
    return memory;
  };
  const Rings rings{ring(slotOfScores(chain), chain.scoresElement),
                    ring(slotOfScores(chain), chain.probabilitiesElement),
                    ring(slotOfProduct(chain), builder.getF32Type())};
  const OnlineShape shape = shapeOf(chain, destination->element);
  Tiling tiling;
  tiling.size = {shape.rows, kPanel, 1, /*hasRows=*/true};
  tiling.tasks = tiling.cores = 2 * cores;
  const int64_t group = planner.nextGroup();
  EmitPhase emit = [&](PhaseEmitter &emitter, TileBuffers &buffers, const Tiling &,
                       std::string &why) {
    emitter.builder().getBlock()->getParentOp()->setAttr(kGroup, builder.getI64IntegerAttr(group));
    return emitVector(emitter, buffers, chain, shape, rings, destination->root, destination->offset,
                      second->m.strides[Contraction::C], cores, why);
  };
  if (failed(buildCube(planner, chain, *tilings, rings, cores, group)) ||
      failed(planPhase(planner, loc, tiling, emit, reason)))
    return 0;
  std::string where = ", " + std::to_string(chain.block) + " rows and " +
                      std::to_string(chain.panels * kPanel) +
                      " columns at a time on cube and vector cores together";
  planner.record({loc, "cube", describeContraction(*first) + where, ""});
  for (Operation *step : steps.slice(1, chain.between))
    planner.record({step->getLoc(), "vector",
                    "softmax with a running maximum, divided behind the second product, within "
                    "2^-20 a block of columns" +
                        where,
                    ""});
  planner.record(
      {linalg::GenericOp(chain.second).getLoc(), "cube", describeContraction(*second) + where, ""});
  return chain.between + 2;
}

} // namespace pyasc::npu
