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
// In turn t the cube core does the scores of t and then the product of t - kLag, the vector cores
// the powers of t and then the sum of t - kLag. Op by op nothing waits for ever, since of what a
// turn waits for, nothing is in a later turn of the other side, and in the same turn only the
// vector cores wait: scores t for the loads of scores t - kSlots, in the vector cores' turn t -
// kSlots; powers t for scores t, and for the load of powers t - kSlots in the cube core's turn t -
// kSlots + kLag; product t - kLag for powers t - kLag, and for the load of product t - kLag -
// kSlots in turn t - kSlots; the sum of t - kLag for product t - kLag.
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

// Between scores and powers of a turn, and its product and sum: so many turns later the others have
// long been done, and nobody waits for a flag to arrive.
constexpr int64_t kLag = 3;
constexpr int64_t kSlots = kLag + 1;
constexpr int64_t kScoresFull = 0, kScoresFree = 1, kPowersFull = 2, kPowersFree = 3,
                  kProductFull = 4, kProductFree = 5;
constexpr int64_t kFractal = 16;
// A block has no more rows: a tile of the cube.
constexpr int64_t kMostRows = 128;
// The widest result: more would leave the cube short pieces of k.
constexpr int64_t kMostWidth = 256;
// Panels of a block of columns: with more, less is added up and carried through L2; but a core
// wants several turns, so that its cube and vector cores work side by side.
constexpr int64_t kMostPanels = 16, kLeastPanels = 2, kGoodTurns = 8;
// Rows of scores this short are better whole.
constexpr int64_t kLeastColumns = 1024;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

//===------------------------------------------------------------------------------------------===//
// Sizes
//===------------------------------------------------------------------------------------------===//

// The cube's side of one product: whole k of a panel in L1, pieces in L0.
struct CubeSide {
  Contraction contraction; // of a turn
  int64_t m = 0, n = 0;    // of a tile
  int64_t k = 0;           // of a panel in L1
  int64_t piece = 0;       // of k in L0
  int64_t slots = 1;       // of L0A and L0B

  bool transposesA() const { return contraction.transposeA; }
  bool transposesB() const { return contraction.transposeB; }
  int64_t bytes() const { return bytesOf(contraction.views[Contraction::A].element); }
  // Rows of a panel in L1.
  int64_t rowsA() const { return transposesA() ? k : m; }
  int64_t rowsB() const { return transposesB() ? k : n; }
};

// The two products have half of L0 each: while one is computed, the other is loaded.
bool fit(CubeSide &side, const machine::Soc &soc) {
  const int64_t room = std::min(soc.l0a_bytes / side.m, soc.l0b_bytes / side.n) / side.bytes();
  side.piece = std::min(room / 2 / kFractal * kFractal, side.k);
  if (side.piece < side.k) {
    // Pieces of one panel follow each other.
    side.piece = room / 4 / kFractal * kFractal;
    side.slots = 2;
  }
  if (side.piece < kFractal)
    return false;
  // Equal pieces.
  side.piece = roundUp(ceilDiv(side.k, ceilDiv(side.k, side.piece)), kFractal);
  return true;
}

struct CubeSides {
  CubeSide scores, product;
  int64_t queries = 2; // slots of A's panel of the scores in L1
  // Scores leave L0C part by part of their rows, so that the next ones are not held up.
  int64_t part = 0, scoresSlots = 1;
};

std::optional<CubeSides> chooseSides(const RowChain &chain, const Contraction &first,
                                     const Contraction &second, const machine::Soc &soc) {
  CubeSides sides;
  CubeSide &scores = sides.scores, &product = sides.product;
  scores.contraction = first;
  product.contraction = second;
  scores.m = product.m = roundUp(chain.block, kFractal);
  scores.n = product.k = kPanel;
  scores.k = roundUp(first.k.size, kFractal);
  product.n = roundUp(chain.width, kFractal);
  if (!fit(scores, soc) || !fit(product, soc))
    return std::nullopt;
  const int64_t room = soc.l0c_bytes / 4 - product.m * product.n;
  sides.part = scores.m;
  if (room / (scores.m * scores.n) < 2 && scores.piece == scores.k)
    sides.part = roundUp(ceilDiv(scores.m, 2), kFractal);
  sides.scoresSlots = std::min<int64_t>(room / (sides.part * scores.n), 2);
  const int64_t panels =
      2 * scores.bytes() * (scores.n * scores.k + product.m * product.k + product.n * product.k);
  sides.queries =
      std::min<int64_t>((soc.l1_bytes - panels) / (scores.m * scores.k * scores.bytes()), 2);
  if (sides.scoresSlots < 1 || panels > soc.l1_bytes || sides.queries < 1)
    return std::nullopt;
  return sides;
}

OnlineShape shapeOf(const RowChain &chain, Type result) {
  return {.rows = ceilDiv(chain.block, 2),
          .columns = chain.columns,
          .width = chain.width,
          .lag = kLag,
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
  // The turn whose product and sum are next; 0 while there is none.
  Value before(Value turn) {
    Value lag = ops.index(kLag);
    return ops.make<arith::SubIOp>(ops.make<arith::MaxSIOp>(turn, lag), lag);
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

class CubeCore {
public:
  CubeCore(Phase &phase, const RowChain &chain, const CubeSides &sides, int64_t cores)
      : phase(phase), builder(phase.builder), loc(phase.loc), chain(chain), sides(sides),
        ops(builder, loc), cores(cores) {}

  LogicalResult emit(const Rings &rings) {
    const Contraction &first = sides.scores.contraction, &second = sides.product.contraction;
    FailureOr<GmView> queries = phase.view(first.views[Contraction::A]);
    FailureOr<GmView> keys = phase.view(first.views[Contraction::B]);
    FailureOr<GmView> values = phase.view(second.views[Contraction::B]);
    FailureOr<GmView> scores = phase.view(rings.scores), powers = phase.view(rings.powers),
                      product = phase.view(rings.product);
    if (failed(queries) || failed(keys) || failed(values) || failed(scores) || failed(powers) ||
        failed(product))
      return failure();
    q = *queries, k = *keys, v = *values, s = *scores, p = *powers, o = *product;
    makeBuffers();
    Turns turns(ops, chain, builder.create<BlockIdxOp>(loc), cores);
    OpBuilder::InsertionGuard guard(builder);
    emitTurn(turns, ops.loop(ops.add(turns.count, ops.index(kLag))).getInductionVar());
    return success();
  }

private:
  void makeBuffers() {
    const CubeSide &one = sides.scores, &two = sides.product;
    auto make = [&](int64_t elements, Type type, Space space, int64_t slots) {
      return phase.buffer(elements, type, space, slots);
    };
    l1q = make(one.m * one.k, q.element, Space::l1, sides.queries);
    l1k = make(one.n * one.k, k.element, Space::l1, 2);
    l1p = make(two.m * two.k, p.element, Space::l1, 2);
    l1v = make(two.n * two.k, v.element, Space::l1, 2);
    l0q = make(sides.part * one.piece, q.element, Space::l0a,
               keepsQueries() ? ceilDiv(one.m, sides.part) : one.slots);
    l0k = make(one.n * one.piece, k.element, Space::l0b, one.slots);
    l0p = make(two.m * two.piece, p.element, Space::l0a, two.slots);
    l0v = make(two.n * two.piece, v.element, Space::l0b, two.slots);
    Type f32 = builder.getF32Type();
    l0s = make(sides.part * one.n, f32, Space::l0c, sides.scoresSlots);
    l0o = make(two.m * two.n, f32, Space::l0c, 1);
  }

  // One piece of k: the block of A stays in L0 for a turn.
  bool keepsQueries() const { return sides.scores.piece == sides.scores.k; }
  Value slot(Value buffer, Value number) { return builder.create<SlotOp>(loc, buffer, number); }
  Value padded(Value rows) { return phase.mul(phase.ceilDiv(rows, kFractal), kFractal); }
  void repeat(Value count, llvm::function_ref<void(Value)> body) {
    OpBuilder::InsertionGuard guard(builder);
    body(ops.loop(count).getInductionVar());
  }
  Value oneIf(Value condition) { return ops.choose(condition, ops.index(1), ops.index(0)); }

  // A panel of A or B, all of `depth`.
  void loadPanel(const CubeSide &side, int operand, Value l1, const GmView &gm, Value start,
                 Value extent, Value depth) {
    const bool isA = operand == Contraction::A;
    const bool transposed = isA ? side.transposesA() : side.transposesB();
    const ContractionDim &along = isA ? side.contraction.m : side.contraction.n;
    loadCubePanel(phase, l1, gm, start, transposed ? depth : extent, transposed ? extent : depth,
                  (transposed ? side.contraction.k : along).strides[operand],
                  isA ? side.rowsA() : side.rowsB());
  }

  // What is in two panels, multiplied. `number`: of the panel.
  void multiply(const CubeSide &side, Value c, Value a, Value b, Value l0a, Value l0b, Value number,
                Value m, Value n, Value depth, Value isFirst) {
    const int64_t pieces = ceilDiv(side.k, side.piece);
    auto body = [&](Value piece) {
      Value start = ops.mul(piece, side.piece);
      Value length = phase.min(ops.index(side.piece), ops.make<arith::SubIOp>(depth, start));
      Value turn = ops.add(ops.mul(number, pieces), piece);
      Value inA = slot(l0a, turn), inB = slot(l0b, turn);
      loadCubePiece(phase, inA, a, m, start, length, side.transposesA(), side.rowsA());
      loadCubePiece(phase, inB, b, n, start, length, side.transposesB(), side.rowsB());
      Value isStart =
          builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, piece, ops.index(0));
      const bool isPadded = side.transposesA() && side.bytes() == 4;
      builder.create<MmadOp>(loc, c, ops.index(0), inA, ops.index(0), inB, ops.index(0), m, n,
                             length, ops.both(isFirst, isStart),
                             isPadded ? builder.getUnitAttr() : UnitAttr(), /*unit_flag=*/Value());
    };
    if (pieces == 1)
      body(ops.index(0));
    else
      repeat(phase.ceilDiv(depth, side.piece), body);
  }

  // The parts of `rows` rows of scores: number, first row, and how many.
  void forParts(Value rows, llvm::function_ref<void(Value, Value, Value)> body) {
    if (sides.part == sides.scores.m) {
      repeat(phase.min(rows, ops.index(1)), [&](Value part) { body(part, part, rows); });
      return;
    }
    repeat(phase.ceilDiv(rows, sides.part), [&](Value part) {
      Value start = ops.mul(part, sides.part);
      body(part, start, phase.min(ops.index(sides.part), ops.make<arith::SubIOp>(rows, start)));
    });
  }

  void emitTurn(Turns &turns, Value turn) {
    const CubeSide &one = sides.scores, &two = sides.product;
    const Contraction &first = one.contraction, &second = two.contraction;
    Value zero = ops.index(0), always = builder.create<arith::ConstantIntOp>(loc, 1, 1);
    // The scores of this turn, the product of one before.
    Value here = ops.less(turn, turns.count), there = ops.less(ops.index(kLag - 1), turn);
    Value before = turns.before(turn);
    const Turn now = turns.at(turn), past = turns.at(before);
    if (turns.reuses) {
      ops.when(ops.both(here, turns.waits(turn)), [&] { ops.wait(Pipe::FIX, kScoresFree); });
    }
    ops.when(there, [&] { ops.wait(Pipe::MTE2, kPowersFull); });
    Value numberOfBlock = ops.make<arith::DivUIOp>(turn, ops.index(blocksOfColumns(chain)));
    Value rowsOfA = slot(l1q, numberOfBlock);
    Value isNew =
        builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, now.block, zero);
    repeat(oneIf(ops.both(here, isNew)), [&](Value) {
      Value start = phase.add(q.offset, ops.mul(now.row, first.m.strides[Contraction::A]));
      loadPanel(one, Contraction::A, rowsOfA, q, start, now.rows, ops.index(first.k.size));
    });
    if (keepsQueries()) {
      Value some = ops.choose(here, now.rows, zero);
      forParts(some, [&](Value part, Value start, Value rows) {
        builder.create<LoadL0Op>(
            loc, slot(l0q, part), zero, rowsOfA,
            ops.mul(start, one.transposesA() ? one.rowsA() : blockElements(q.element)), rows,
            ops.index(first.k.size), ops.index(one.rowsA()),
            one.transposesA() ? builder.getUnitAttr() : UnitAttr());
      });
    }
    auto panelsOf = [&](const Turn &which) {
      return turns.isWhole() ? ops.index(chain.panels) : phase.ceilDiv(which.columns, kPanel);
    };
    auto widthOf = [&](const Turn &which, Value column) {
      Value whole = ops.index(kPanel);
      if (chain.columns % kPanel == 0)
        return whole;
      return phase.min(whole, ops.make<arith::SubIOp>(which.columns, column));
    };
    Value scores = turns.slot(turn, slotOfScores(chain));
    Value powers = turns.slot(before, slotOfScores(chain));
    Value panelsNow = panelsOf(now), panelsPast = panelsOf(past);
    repeat(ops.index(chain.panels), [&](Value panel) {
      Value column = ops.mul(panel, kPanel), place = ops.mul(panel, chain.block * kPanel);
      // Slots alternate from turn to turn as well.
      Value number = ops.add(ops.mul(turn, chain.panels | 1), panel);
      repeat(oneIf(ops.both(here, ops.less(panel, panelsNow))), [&](Value) {
        Value width = widthOf(now, column), rows = now.rows;
        Value panelOfB = slot(l1k, number);
        loadPanel(one, Contraction::B, panelOfB, k,
                  phase.add(k.offset,
                            ops.mul(ops.add(now.column, column), first.n.strides[Contraction::B])),
                  width, ops.index(first.k.size));
        if (!keepsQueries()) {
          Value c = slot(l0s, number);
          multiply(one, c, rowsOfA, panelOfB, l0q, l0k, number, rows, width,
                   ops.index(first.k.size), always);
          builder.create<FixpipeOp>(loc, s.memory, ops.add(scores, place), c, zero, rows, width,
                                    ops.index(kPanel), padded(rows), Atomic::none, false);
          return;
        }
        Value depth = ops.index(first.k.size), inB = slot(l0k, number);
        loadCubePiece(phase, inB, panelOfB, width, zero, depth, one.transposesB(), one.rowsB());
        const bool isPadded = one.transposesA() && one.bytes() == 4;
        forParts(rows, [&](Value part, Value start, Value some) {
          Value c = slot(l0s, sides.part == one.m ? number : part);
          builder.create<MmadOp>(loc, c, zero, slot(l0q, part), zero, inB, zero, some, width, depth,
                                 always, isPadded ? builder.getUnitAttr() : UnitAttr(),
                                 /*unit_flag=*/Value());
          builder.create<FixpipeOp>(
              loc, s.memory, ops.add(ops.add(scores, place), ops.mul(start, kPanel)), c, zero, some,
              width, ops.index(kPanel), padded(some), Atomic::none, false);
        });
      });
      repeat(oneIf(ops.both(there, ops.less(panel, panelsPast))), [&](Value) {
        Value depth = widthOf(past, column), rows = past.rows, width = ops.index(chain.width);
        Value panelOfA = slot(l1p, number), panelOfB = slot(l1v, number);
        loadCubePanel(phase, panelOfA, p, ops.add(powers, place), rows, depth, kPanel, two.m);
        loadPanel(two, Contraction::B, panelOfB, v,
                  phase.add(v.offset, ops.mul(ops.add(past.column, column),
                                              second.k.strides[Contraction::B])),
                  width, depth);
        Value isFirst =
            builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, panel, zero);
        multiply(two, slot(l0o, zero), panelOfA, panelOfB, l0p, l0v, number, rows, width, depth,
                 isFirst);
      });
    });
    ops.when(here, [&] { ops.set(Pipe::FIX, kScoresFull); });
    if (turns.reuses) {
      ops.when(ops.both(there, turns.isAwaited(before)), [&] { ops.set(Pipe::MTE2, kPowersFree); });
      ops.when(ops.both(there, turns.waits(before)), [&] { ops.wait(Pipe::FIX, kProductFree); });
    }
    repeat(oneIf(there), [&](Value) {
      builder.create<FixpipeOp>(loc, o.memory, turns.slot(before, slotOfProduct(chain)),
                                slot(l0o, zero), zero, past.rows, ops.index(chain.width),
                                ops.index(roundUp(chain.width, kFractal)), padded(past.rows),
                                Atomic::none, false);
    });
    ops.when(there, [&] { ops.set(Pipe::FIX, kProductFull); });
  }

  Phase &phase;
  OpBuilder &builder;
  Location loc;
  const RowChain &chain;
  const CubeSides &sides;
  ChainOps ops;
  int64_t cores;
  GmView q, k, v, s, p, o;
  Value l1q, l1k, l1p, l1v, l0q, l0k, l0p, l0v, l0s, l0o;
};

LogicalResult buildCube(Planner &planner, const RowChain &chain, const CubeSides &sides,
                        const Rings &rings, int64_t cores, int64_t group) {
  Phase phase = planner.begin(linalg::GenericOp(chain.first).getLoc(), "aic", cores);
  phase.function->setAttr(kGroup, phase.builder.getI64IntegerAttr(group));
  return CubeCore(phase, chain, sides, cores).emit(rings);
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
  Value turn = ops.loop(ops.add(turns.count, ops.index(kLag))).getInductionVar();
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
    Value here = ops.less(ops.index(kLag - 1), turn);
    Value before = turns.before(turn);
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

namespace {

void choosePanels(RowChain &chain, int64_t blocks, int64_t cores, const machine::Soc &soc) {
  const int64_t panels = ceilDiv(chain.columns, kPanel);
  // Rings take no more than half of L2: what is read again and again wants room as well.
  const int64_t bytes = cores * kSlots * chain.block * kPanel *
                        (bytesOf(chain.scoresElement) + bytesOf(chain.probabilitiesElement));
  const int64_t most = std::min({kMostPanels, panels, soc.l2_bytes / 2 / bytes});
  const int64_t wanted =
      std::clamp(panels * blocks / kGoodTurns, kLeastPanels, std::max(most, kLeastPanels));
  chain.panels = ceilDiv(panels, ceilDiv(panels, wanted)); // equal blocks
}

} // namespace

bool chooseOnline(Planner &planner, RowChain &chain, const Contraction &first,
                  const Contraction &second) {
  if (chain.columns < kLeastColumns || chain.width > kMostWidth)
    return false;
  RowChain wanted = chain;
  // The most rows of a block that fit, so that all cores get the same number of blocks.
  const int64_t cores = planner.cores("aic");
  Type result = linalg::GenericOp(chain.second).getDpsInits()[0].getType();
  result = cast<MemRefType>(result).getElementType();
  for (int64_t turns = ceilDiv(chain.rows, cores * kMostRows);; ++turns) {
    wanted.block = ceilDiv(chain.rows, cores * turns);
    choosePanels(wanted, turns, cores, planner.soc());
    auto bytes = bytesFor(wanted, result);
    if (!bytes)
      return false;
    if (*bytes <= vectorBudget(planner) && chooseSides(wanted, first, second, planner.soc()))
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
  auto sides = chooseSides(chain, *first, *second, planner.soc());
  if (!sides)
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
  if (failed(buildCube(planner, chain, *sides, rings, cores, group)) ||
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
