// Two products with row-wise steps between them, in one group of cube and vector cores: attention.
//
// In: S = A B^T (perhaps rounded), steps that work on the rows of S and give P, O = P V. Out: two
// phases that run together. A core takes blocks of rows, one after the other: its cube core
// computes a block of S into a ring in global memory, small enough to stay in L2; its two vector
// cores take half the rows each and leave P in a second ring; from there the cube core multiplies
// it with V. In turn t the cube core does the first product of block t and the second of block t -
// 1, so that cube and vector work at the same time. Both rings have kSlots slots, and four counted
// flags per AI core guard them:
//
//   scores full  cube -> vectors, behind the stores of a block of S; waited for before its loads
//   scores free  vectors -> cube, when both have loaded the block; waited for before the block
//                kSlots later is stored
//   rows full    vectors -> cube, when both have stored their rows of P; before its loads
//   rows free    cube -> vectors, when the second product has loaded P; before the block kSlots
//   later
//
// "Free" is set only where a later block of the core waits for it, so no flag is left at the end.
// Both sides count the same blocks; a vector core without rows waits and sets all the same. Op by
// op nothing waits for ever: the first product of turn t needs the vectors' loads of block t -
// kSlots, which need only that block's own scores and the cube's second product of block t - 2
// kSlots; the second product of block t - 1 needs the vectors' block t - 1, whose scores this turn
// is past and whose place in the ring of P the cube has freed in turn t - kSlots.
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

#include "compiler/target/ascend/cube_code.h"
#include "compiler/target/ascend/plan_chain.h"
#include "compiler/target/ascend/row_chain.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

constexpr int64_t kSlots = 2;
constexpr int64_t kScoresFull = 0, kScoresFree = 1, kRowsFull = 2, kRowsFree = 3;
constexpr int64_t kFractal = 16;
// A block has no more rows: a tile of the cube.
constexpr int64_t kMostRows = 128;
// Shorter blocks would load B and V too often for what is computed with them.
constexpr int64_t kLeastRows = 32;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

} // namespace

namespace {

//===------------------------------------------------------------------------------------------===//
// Finding chains
//===------------------------------------------------------------------------------------------===//

bool isFillOf(Operation *step, Value memref) {
  auto fill = dyn_cast_or_null<linalg::GenericOp>(step);
  return fill && fill.getNumDpsInputs() == 0 && fill.getNumDpsInits() == 1 &&
         fill.getDpsInits()[0] == memref &&
         matchPattern(fill.getBody()->getTerminator()->getOperand(0), m_AnyZeroFloat());
}

linalg::GenericOp productAt(Operation *step) {
  auto op = dyn_cast_or_null<linalg::GenericOp>(step);
  return op && isContraction(op) ? op : linalg::GenericOp();
}

linalg::GenericOp roundingOf(Operation *step, Value memref) {
  auto op = dyn_cast_or_null<linalg::GenericOp>(step);
  return op && isRounding(op) && op.getDpsInputs()[0] == memref ? op : linalg::GenericOp();
}

// A plain product of rows: no batch, no second k, nothing packed; C's rows are its own.
bool isPlain(const Contraction &c) {
  return c.batch.empty() && c.outerK.empty() && c.gathered < 0 && !c.packA && !c.packB &&
         !c.isEmpty() && c.m.size > 1 && c.n.size > 1 && c.n.strides[Contraction::C] == 1 &&
         llvm::all_of(c.views, [](const MemRefView &view) { return view.terms.empty(); });
}

// The rows of a block so that all cores get the same number of blocks, and the rings stay in L2.
int64_t chooseBlock(const RowChain &chain, const machine::Soc &soc) {
  int64_t cores = soc.cube_cores;
  int64_t bytes = kSlots * cores * chain.columns *
                  (bytesOf(chain.scoresElement) + bytesOf(chain.probabilitiesElement));
  int64_t most = std::min(kMostRows, soc.l2_bytes * 3 / 4 / bytes);
  if (most < std::min(kLeastRows, ceilDiv(chain.rows, cores)))
    return 0;
  int64_t turns = ceilDiv(chain.rows, cores * most);
  return ceilDiv(chain.rows, cores * turns);
}

// The chain whose first step (a fill) is steps[0].
std::shared_ptr<RowChain> chainAt(Planner &planner, ArrayRef<Operation *> steps) {
  auto chain = std::make_shared<RowChain>();
  std::string reason;
  if (steps.size() < 6 || !(chain->first = productAt(steps[1])))
    return nullptr;
  Value sum = chain->first.getDpsInits()[0];
  if (!isFillOf(steps[0], sum))
    return nullptr;
  size_t at = 2;
  chain->scores = sum;
  if (auto rounding = roundingOf(steps[at], sum)) {
    chain->scores = rounding.getDpsInits()[0];
    ++at;
  }
  size_t begin = at;
  while (at < steps.size() && !productAt(steps[at]))
    ++at;
  if (at == steps.size() || at < begin + 2)
    return nullptr;
  chain->second = productAt(steps[at]);
  Value total = chain->second.getDpsInits()[0], result = total;
  if (!isFillOf(steps[at - 1], total))
    return nullptr;
  chain->between = at - 1 - begin;
  ArrayRef<Operation *> rowSteps = steps.slice(begin, chain->between);
  size_t end = at + 1;
  if (end < steps.size())
    if (auto rounding = roundingOf(steps[end], total)) {
      result = rounding.getDpsInits()[0];
      ++end;
    }
  chain->members = llvm::to_vector(steps.take_front(end));

  auto first = analyseContraction(planner, chain->first, reason);
  auto second = analyseContraction(planner, chain->second, reason);
  if (failed(first) || failed(second) || !isPlain(*first) || !isPlain(*second))
    return nullptr;
  chain->rows = first->m.size;
  chain->columns = first->n.size;
  auto matrix = [&](Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    return memref.getDefiningOp<memref::AllocOp>() && type.getLayout().isIdentity() &&
           type.getShape() == ArrayRef<int64_t>{chain->rows, chain->columns};
  };
  chain->probabilities = second->views[Contraction::A].root;
  if (!matrix(chain->scores) || !matrix(sum) || !matrix(chain->probabilities) ||
      first->m.strides[Contraction::C] != chain->columns || second->m.size != chain->rows ||
      second->k.size != chain->columns || second->transposeA ||
      second->m.strides[Contraction::A] != chain->columns ||
      second->k.strides[Contraction::A] != 1 || second->views[Contraction::A].offset != 0)
    return nullptr;
  chain->scoresElement = cast<MemRefType>(chain->scores.getType()).getElementType();
  chain->probabilitiesElement = cast<MemRefType>(chain->probabilities.getType()).getElementType();
  // L0 serves both products.
  if (chain->scores == chain->probabilities ||
      first->views[Contraction::A].element != second->views[Contraction::A].element)
    return nullptr;

  // What lies in the rings is nobody else's.
  for (Value own : {sum, chain->scores, chain->probabilities})
    if (!planner.usedOnlyBy(own, chain->members))
      return nullptr;
  chain->steps = RowSteps::find(planner, rowSteps);
  using Use = RowSteps::Use;
  if (!chain->steps || chain->steps->rows() != chain->rows ||
      chain->steps->readOf(chain->scores, chain->columns) != Use::rows ||
      chain->steps->writeOf(chain->scores, chain->columns) != Use::none ||
      chain->steps->writeOf(chain->probabilities, chain->columns) != Use::rows ||
      chain->steps->readOf(chain->probabilities, chain->columns) == Use::other ||
      (sum != chain->scores && chain->steps->touches(sum)))
    return nullptr;
  // Blocks are at different steps at the same time: what one step writes, the others may not touch.
  FailureOr<MemRefView> output = planner.locate(result);
  if (failed(output) || !output->terms.empty() || chain->steps->touches(output->root))
    return nullptr;
  Value inputs[] = {first->views[Contraction::A].root, first->views[Contraction::B].root,
                    second->views[Contraction::B].root};
  for (Value input : inputs)
    if (input == output->root || chain->steps->writeOf(input, 1) != Use::none)
      return nullptr;
  if (planner.cores("aiv") < 2 * planner.cores("aic"))
    return nullptr;
  chain->width = second->n.size;
  chain->softmax = findOnlineSoftmax(planner, rowSteps, chain->scores, chain->probabilities);
  if (chain->softmax && chooseOnline(planner, *chain, *first, *second))
    return chain;
  chain->block = chooseBlock(*chain, planner.soc());
  if (chain->block == 0)
    return nullptr;
  if (failed(chain->steps->chooseTiling(chain->first.getLoc(), ceilDiv(chain->block, 2),
                                        vectorBudget(planner), reason)))
    return nullptr;
  return chain;
}

//===------------------------------------------------------------------------------------------===//
// Code
//===------------------------------------------------------------------------------------------===//

// Whether any core has more blocks than slots, so that slots have to come free.
bool reuses(const RowChain &chain, int64_t cores) {
  return ceilDiv(ceilDiv(chain.rows, chain.block), cores) > kSlots;
}
// The start of a core's slot for its block `turn`.
Value slotOf(ChainOps &ops, Value core, Value turn, const RowChain &chain) {
  Value number = ops.add(ops.mul(core, kSlots), ops.make<arith::RemUIOp>(turn, ops.index(kSlots)));
  return ops.mul(number, chain.block * chain.columns);
}

struct Rings {
  Value scores, probabilities; // tensors of the kernel
};

// A contraction as one block of rows sees it.
Contraction ofBlock(Contraction contraction, int64_t rows) {
  contraction.m.size = rows;
  return contraction;
}

struct Tilings {
  Contraction first, second;
  CubeTiling one, two;
};

// Tiles that hold all rows of a block. Nothing when a panel of A does not hold all of k.
std::optional<Tilings> chooseTilings(const RowChain &chain, const Contraction &first,
                                     const Contraction &second, const machine::Soc &soc) {
  Tilings tilings{ofBlock(first, chain.block), ofBlock(second, chain.block), {}, {}};
  int64_t rows = roundUp(chain.block, kFractal);
  CubeProblem one = problemOf(tilings.first), two = problemOf(tilings.second);
  one.batches = two.batches = ceilDiv(chain.rows, chain.block);
  tilings.one = chooseCubeTiling(one, soc, rows);
  tilings.two = chooseCubeTiling(two, soc, rows);
  if (tilings.one.m != rows || tilings.two.m != rows)
    return std::nullopt;
  // Panels of both products lie in L1 at the same time, so that loads run ahead from one to the
  // other.
  auto bytes = [](const CubeTiling &tile, const CubeProblem &problem) {
    return 2 * (tile.m + tile.n) * tile.k_l1 * problem.element_bytes;
  };
  while (bytes(tilings.one, one) + bytes(tilings.two, two) > soc.l1_bytes) {
    bool second = bytes(tilings.two, two) >= bytes(tilings.one, one);
    CubeTiling &larger = second ? tilings.two : tilings.one;
    int64_t pieces = larger.k_l1 / larger.k_l0;
    if (pieces < 2)
      return std::nullopt;
    larger.k_l1 = pieces / 2 * larger.k_l0;
  }
  return tilings;
}

// What is on the chip: L0 serves both products in turn.
std::pair<CubeBuffers, CubeBuffers> makeBuffers(Phase &phase, Type a, Type v,
                                                const Tilings &tilings, const machine::Soc &soc) {
  const CubeTiling &one = tilings.one, &two = tilings.two;
  auto l1 = [&](int64_t elements, Type type) { return phase.buffer(elements, type, Space::l1, 2); };
  Value l0a = phase.buffer(std::max(one.m * one.k_l0, two.m * two.k_l0), a, Space::l0a, 2);
  Value l0b = phase.buffer(std::max(one.n * one.k_l0, two.n * two.k_l0), a, Space::l0b, 2);
  int64_t results = std::max(one.m * one.n, two.m * two.n);
  int64_t slots = 2 * results * 4 <= soc.l0c_bytes ? 2 : 1;
  Value l0c = phase.buffer(results, phase.builder.getF32Type(), Space::l0c, slots);
  return {{l1(one.m * one.k_l1, a), l1(one.n * one.k_l1, a), l0a, l0b, l0c},
          {l1(two.m * two.k_l1, v), l1(two.n * two.k_l1, v), l0a, l0b, l0c}};
}

LogicalResult buildCube(Planner &planner, const RowChain &chain, const Tilings &tilings,
                        const MemRefView &destination, const Rings &rings, int64_t cores,
                        int64_t group) {
  Phase phase = planner.begin(linalg::GenericOp(chain.first).getLoc(), "aic", cores);
  OpBuilder &builder = phase.builder;
  Location loc = phase.loc;
  phase.function->setAttr(kGroup, builder.getI64IntegerAttr(group));
  const Contraction &first = tilings.first, &second = tilings.second;
  FailureOr<GmView> a = phase.view(first.views[Contraction::A]);
  FailureOr<GmView> b = phase.view(first.views[Contraction::B]);
  FailureOr<GmView> v = phase.view(second.views[Contraction::B]);
  FailureOr<GmView> o = phase.view(destination);
  FailureOr<GmView> scores = phase.view(rings.scores);
  FailureOr<GmView> probabilities = phase.view(rings.probabilities);
  if (failed(a) || failed(b) || failed(v) || failed(o) || failed(scores) || failed(probabilities))
    return failure();
  auto [one, two] = makeBuffers(phase, a->element, v->element, tilings, planner.soc());
  ChainOps ops(builder, loc);
  Value core = builder.create<BlockIdxOp>(loc);
  auto [firstBlock, count] = ops.share(core, chain, cores);
  int64_t tilesOne = TileWalk(first, tilings.one).tiles();
  int64_t tilesTwo = TileWalk(second, tilings.two).tiles();

  OpBuilder::InsertionGuard guard(builder);
  Value turn = ops.loop(ops.add(count, ops.index(1))).getInductionVar();
  Value zero = ops.index(0);
  {
    Value here = ops.less(turn, count);
    Value row = ops.mul(ops.add(firstBlock, turn), chain.block);
    Value start = slotOf(ops, core, turn, chain);
    Value again = builder.create<arith::AndIOp>(
        loc, here,
        builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, turn, ops.index(kSlots)));
    if (reuses(chain, cores))
      ops.when(again, [&] { ops.wait(Pipe::FIX, kScoresFree); });
    CubeRun run{.a = *a, .b = *b, .c = *scores};
    run.a.offset = phase.add(a->offset, ops.mul(row, first.m.strides[Contraction::A]));
    run.first = zero;
    run.count = builder.create<arith::SelectOp>(loc, here, ops.index(tilesOne), zero);
    run.before = ops.mul(turn, tilesOne);
    run.rows = ops.rowsAt(row, chain);
    run.keepsA = first.k.size <= tilings.one.k_l1;
    run.rowStride = chain.columns;
    run.ringStart = [&](Value tile) { return ops.add(start, ops.mul(tile, tilings.one.n)); };
    emitCubeTiles(phase, first, tilings.one, one, run);
    ops.when(here, [&] { ops.set(Pipe::FIX, kScoresFull); });
  }
  {
    Value here = ops.less(zero, turn);
    Value before =
        ops.make<arith::SubIOp>(ops.make<arith::MaxSIOp>(turn, ops.index(1)), ops.index(1));
    Value row = ops.mul(ops.add(firstBlock, before), chain.block);
    ops.when(here, [&] { ops.wait(Pipe::MTE2, kRowsFull); });
    CubeRun run{.a = *probabilities, .b = *v, .c = *o};
    run.a.offset = slotOf(ops, core, before, chain);
    run.c.offset = phase.add(o->offset, ops.mul(row, second.m.strides[Contraction::C]));
    run.first = zero;
    run.count = builder.create<arith::SelectOp>(loc, here, ops.index(tilesTwo), zero);
    run.before = ops.mul(before, tilesTwo);
    run.rows = ops.rowsAt(row, chain);
    emitCubeTiles(phase, second, tilings.two, two, run);
    Value again = builder.create<arith::AndIOp>(
        loc, here, ops.less(ops.add(before, ops.index(kSlots)), count));
    if (reuses(chain, cores))
      ops.when(again, [&] { ops.set(Pipe::MTE2, kRowsFree); });
  }
  return success();
}

LogicalResult emitVector(PhaseEmitter &emitter, TileBuffers &buffers, const Tiling &tiling,
                         const RowChain &chain, const Rings &rings, int64_t cores,
                         std::string &why) {
  OpBuilder &builder = emitter.builder();
  Location loc = linalg::GenericOp(chain.first).getLoc();
  ChainOps ops(builder, loc);
  auto loops = [&](RowSteps::EmitTile emitTile) -> LogicalResult {
    auto scores = emitter.view(rings.scores), probabilities = emitter.view(rings.probabilities);
    if (failed(scores) || failed(probabilities))
      return failure();
    Value me = builder.create<BlockIdxOp>(loc);
    Value core = ops.make<arith::DivUIOp>(me, ops.index(2));
    Value half = ops.make<arith::RemUIOp>(me, ops.index(2));
    auto [firstBlock, count] = ops.share(core, chain, cores);
    OpBuilder::InsertionGuard guard(builder);
    Value turn = ops.loop(count).getInductionVar();
    Value start = ops.mul(ops.add(firstBlock, turn), chain.block);
    Value rows = ops.rowsAt(start, chain);
    Value share = ops.make<arith::CeilDivUIOp>(rows, ops.index(2));
    Value skipped = ops.make<arith::MulIOp>(half, share);
    Value mine = ops.make<arith::MinSIOp>(share, ops.make<arith::SubIOp>(rows, skipped));
    Value place = slotOf(ops, core, turn, chain);
    ops.wait(Pipe::MTE2, kScoresFull);
    Value again =
        builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, turn, ops.index(kSlots));
    if (reuses(chain, cores))
      ops.when(again, [&] { ops.wait(Pipe::MTE3, kRowsFree); });
    {
      OpBuilder::InsertionGuard inner(builder);
      int64_t size = tiling.size.rows;
      Value part = ops.loop(ops.make<arith::CeilDivUIOp>(mine, ops.index(size))).getInductionVar();
      Value done = ops.mul(part, size), row = ops.add(skipped, done);
      RowTile tile;
      tile.row = ops.add(start, row);
      tile.rows = size == 1 ? ops.index(1)
                            : ops.make<arith::MinSIOp>(ops.index(size),
                                                       ops.make<arith::SubIOp>(mine, done));
      tile.iteration = ops.add(ops.mul(turn, ceilDiv(ceilDiv(chain.block, 2), size)), part);
      Value offset = ops.add(place, ops.mul(row, chain.columns));
      tile.fed.push_back({chain.scores, scores->base, offset});
      tile.fed.push_back({chain.probabilities, probabilities->base, offset});
      if (failed(emitTile(tile)))
        return failure();
    }
    if (reuses(chain, cores))
      ops.when(ops.less(ops.add(turn, ops.index(kSlots)), count),
               [&] { ops.set(Pipe::MTE2, kScoresFree); });
    ops.set(Pipe::MTE3, kRowsFull);
    return success();
  };
  return chain.steps->emit(emitter, buffers, tiling, loops, why);
}

} // namespace

std::vector<std::shared_ptr<RowChain>> findChains(Planner &planner, ArrayRef<Operation *> steps) {
  std::vector<std::shared_ptr<RowChain>> chains;
  for (size_t at = 0; at < steps.size();) {
    auto chain = chainAt(planner, steps.drop_front(at));
    at += chain ? chain->members.size() : 1;
    if (chain)
      chains.push_back(std::move(chain));
  }
  return chains;
}

ArrayRef<Operation *> membersOf(const RowChain &chain) { return chain.members; }
Operation *headOf(const RowChain &chain) { return chain.first; }

size_t planChain(Planner &planner, const RowChain &chain, ArrayRef<Operation *> steps,
                 std::string &reason) {
  // As found, less what is folded.
  if (steps.size() < chain.between + 2 || steps[chain.between + 1] != chain.second ||
      planner.overwritten(chain.first) != chain.scores || !planner.overwritten(chain.second))
    return 0;
  if (chain.panels > 0)
    return planOnline(planner, chain, steps, reason);
  auto first = analyseContraction(planner, chain.first, reason);
  auto second = analyseContraction(planner, chain.second, reason);
  if (failed(first) || failed(second))
    return 0;
  auto tilings = chooseTilings(chain, *first, *second, planner.soc());
  if (!tilings)
    return 0;
  Location loc = linalg::GenericOp(chain.first).getLoc();
  auto tiling =
      chain.steps->chooseTiling(loc, ceilDiv(chain.block, 2), vectorBudget(planner), reason);
  if (failed(tiling))
    return 0;
  int64_t cores = std::min(planner.cores("aic"), ceilDiv(chain.rows, chain.block));
  tiling->tasks = tiling->cores = 2 * cores;
  OpBuilder builder(steps.front());
  auto ring = [&](Type element) -> Value {
    return builder.create<memref::AllocOp>(
        loc, MemRefType::get({cores * kSlots * chain.block * chain.columns}, element));
  };
  Rings rings{ring(chain.scoresElement), ring(chain.probabilitiesElement)};
  planner.markRing(rings.scores);
  planner.markRing(rings.probabilities);
  int64_t group = planner.nextGroup();
  EmitPhase emit = [&](PhaseEmitter &emitter, TileBuffers &buffers, const Tiling &with,
                       std::string &why) -> LogicalResult {
    emitter.builder().getBlock()->getParentOp()->setAttr(kGroup, builder.getI64IntegerAttr(group));
    return emitVector(emitter, buffers, with, chain, rings, cores, why);
  };
  FailureOr<MemRefView> destination = planner.locate(planner.overwritten(chain.second));
  if (failed(destination) ||
      failed(buildCube(planner, chain, *tilings, *destination, rings, cores, group)) ||
      failed(planPhase(planner, loc, *tiling, emit, reason)))
    return 0;
  std::string where =
      ", " + std::to_string(chain.block) + " rows at a time on cube and vector " + "cores together";
  planner.record({loc, "cube", describeContraction(*first) + where, ""});
  for (Operation *step : steps.slice(1, chain.between))
    planner.record({step->getLoc(), "vector", "rows between two products" + where, ""});
  planner.record(
      {linalg::GenericOp(chain.second).getLoc(), "cube", describeContraction(*second) + where, ""});
  return chain.between + 2;
}

} // namespace pyasc::npu
