#include "compiler/target/ascend/plan_vector_emit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pyasc::npu {

using namespace mlir;

VectorEmitter::VectorEmitter(PhaseEmitter &emitter, TileBuffers &buffers, const VectorNest &nest,
                             const VectorLoops &loops, const Tiling &tiling)
    : emitter_(emitter), builder_(emitter.builder()), buffers_(buffers), nest_(nest), loops_(loops),
      tiling_(tiling), loc_(nest.op.getLoc()),
      code_(emitter, buffers, tiling.size, nest.op.getLoc()),
      body_(code_, *nest.op.getOperation()->getRegion(0).begin()), at_(nest.rank()) {}

LogicalResult VectorEmitter::emit() {
  if (failed(prepare()))
    return failure();
  // Core b takes the tasks b, b + cores, b + 2 cores, ...
  Value block = builder_.create<BlockIdxOp>(loc_, builder_.getIndexType());
  Value tasks = code_.index(tiling_.tasks), cores = code_.index(tiling_.cores);
  Value mine = tiling_.tasks % tiling_.cores == 0
                   ? code_.index(tiling_.tasks / tiling_.cores)
                   : builder_.createOrFold<arith::CeilDivUIOp>(loc_, minus(tasks, block), cores);
  auto loop = builder_.create<scf::ForOp>(loc_, code_.index(0), mine, code_.index(1));
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(loop.getBody());
  iteration_ = loop.getInductionVar();
  Value skipped = builder_.createOrFold<arith::MulIOp>(loc_, iteration_, cores);
  startTask(builder_.createOrFold<arith::AddIOp>(loc_, block, skipped));
  LogicalResult done = loops_.form == VectorForm::elementwise  ? emitElementwise()
                       : loops_.form == VectorForm::accumulate ? emitAccumulate()
                                                               : emitRowReduce();
  if (failed(done) && reason_.empty())
    reason_ = body_.reason().empty() ? emitter_.reason() : body_.reason();
  return done;
}

//===------------------------------------------------------------------------------------------===//
// Tasks
//===------------------------------------------------------------------------------------------===//

bool VectorEmitter::follows(const VectorOperand &operand, ArrayRef<int64_t> dims) const {
  return llvm::any_of(dims, [&](int64_t d) { return operand.strides[d] != 0; });
}

bool VectorEmitter::followsTask(const Source &source) const {
  const VectorOperand &operand = *source.operand;
  auto cut = [&](int64_t d, int64_t tiles) {
    return d >= 0 && tiles > 1 && operand.strides[d] != 0;
  };
  return follows(operand, loops_.outer) || cut(loops_.row, tiling_.rowTiles) ||
         cut(loops_.column, tiling_.columnTiles) || cut(loops_.block, tiling_.blockTiles);
}

// Buffers, and what is loaded once for all tasks.
LogicalResult VectorEmitter::prepare() {
  for (const VectorOperand &operand : nest_.operands) {
    if (operand.isOutput)
      break;
    Source source{&operand, kindOf(operand, loops_), {}, false, {}};
    source.invariant = operand.used && source.kind != TileKind::uniform && !followsTask(source) &&
                       !follows(operand, loops_.steps);
    if (operand.used && source.kind != TileKind::uniform) {
      BufferKind kind = source.kind == TileKind::full  ? BufferKind::full
                        : source.kind == TileKind::row ? BufferKind::row
                                                       : BufferKind::column;
      source.buffer = buffers_.make(loc_, kind, operand.element, source.invariant ? 1 : 2);
    }
    sources_.push_back(source);
  }
  if (llvm::none_of(sources_, [](const Source &source) { return source.invariant; }))
    return success();
  // Nothing of it is cut, so its first tile is all of it.
  auto whole = [&](int64_t d) { return code_.index(d < 0 ? 1 : nest_.extents[d]); };
  for (Value &start : at_)
    start = code_.index(0);
  code_.setTile(whole(loops_.row), whole(loops_.column));
  for (Source &source : sources_)
    if (source.invariant && failed(load(source, code_.index(0))))
      return failure();
  return success();
}

Value VectorEmitter::minus(Value a, Value b) {
  return builder_.createOrFold<arith::SubIOp>(loc_, a, b);
}

// min(size, extent - start), a constant where no tile is cut short.
Value VectorEmitter::limit(Value start, int64_t size, int64_t extent) {
  if (extent % size == 0)
    return code_.index(size);
  return builder_.createOrFold<arith::MinSIOp>(loc_, code_.index(size),
                                               minus(code_.index(extent), start));
}

void VectorEmitter::startTask(Value task) {
  Value rest = task;
  int64_t left = tiling_.tasks; // values that `rest` may have
  // The next digit of the task's number, of `count` values.
  auto digit = [&](int64_t count) -> Value {
    if (count == 1)
      return code_.index(0);
    if (count == left)
      return rest;
    left /= count;
    Value base = code_.index(count);
    Value value = builder_.createOrFold<arith::RemUIOp>(loc_, rest, base);
    rest = builder_.createOrFold<arith::DivUIOp>(loc_, rest, base);
    return value;
  };
  auto start = [&](int64_t d, int64_t size, int64_t tiles) {
    if (d >= 0)
      at_[d] = builder_.createOrFold<arith::MulIOp>(loc_, digit(tiles), code_.index(size));
  };
  const TileSize &size = tiling_.size;
  bool reduces = loops_.form == VectorForm::rowReduce;
  if (reduces)
    at_[loops_.column] = code_.index(0);
  else
    start(loops_.column, size.pitch, tiling_.columnTiles);
  start(loops_.row, size.rows, tiling_.rowTiles);
  start(loops_.block, size.blocks, tiling_.blockTiles);
  for (int64_t d : llvm::reverse(loops_.outer))
    at_[d] = digit(nest_.extents[d]);
  for (int64_t d : loops_.steps)
    at_[d] = code_.index(0);

  Value rows = loops_.row < 0 ? code_.index(1)
                              : limit(at_[loops_.row], size.rows, nest_.extents[loops_.row]);
  if (loops_.block >= 0)
    blockCount_ = limit(at_[loops_.block], size.blocks, nest_.extents[loops_.block]);
  code_.setTile(rows, limit(at_[loops_.column], size.pitch, nest_.extents[loops_.column]));
}

//===------------------------------------------------------------------------------------------===//
// Transfers
//===------------------------------------------------------------------------------------------===//

FailureOr<Value> VectorEmitter::address(const VectorOperand &operand) {
  auto view = emitter_.view(operand.memref);
  if (failed(view))
    return failure();
  OpFoldResult at = emitter_.add(loc_, view->offset, builder_.getIndexAttr(operand.offset));
  for (auto [start, stride] : llvm::zip_equal(at_, operand.strides))
    if (start)
      at = emitter_.add(
          loc_, at, emitter_.mul(loc_, getAsOpFoldResult(start), builder_.getIndexAttr(stride)));
  return emitter_.materialize(loc_, at);
}

bool VectorEmitter::isDense(const VectorOperand &operand) const {
  int64_t pitch = tiling_.size.pitch;
  return loops_.row >= 0 && operand.strides[loops_.row] == pitch &&
         nest_.extents[loops_.column] == pitch;
}

void VectorEmitter::transferIn(const Source &source, Value memory, Value to, Value gm, Value at) {
  const VectorOperand &operand = *source.operand;
  Value one = code_.index(1);
  Value pitch = code_.index(tiling_.size.pitch);
  auto burst = [&](Value to, Value from, Value length) {
    builder_.create<LoadOp>(loc_, memory, to, gm, from, one, length, length, pitch);
  };
  if (source.kind == TileKind::row)
    return burst(to, at, code_.cols());
  if (source.kind == TileKind::column)
    return burst(to, at, code_.rows());
  if (loops_.row < 0)
    return burst(to, at, code_.cols());
  if (isDense(operand))
    return burst(to, at, code_.count(TileKind::full));
  int64_t stride = operand.strides[loops_.row];
  if (stride >= nest_.extents[loops_.column]) {
    builder_.create<LoadOp>(loc_, memory, to, gm, at, code_.rows(), code_.cols(),
                            code_.index(stride), pitch);
    return;
  }
  // Rows that overlap in GM come one by one.
  auto loop = builder_.create<scf::ForOp>(loc_, code_.index(0), code_.rows(), one);
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar();
  Value from = builder_.createOrFold<arith::AddIOp>(
      loc_, at, builder_.createOrFold<arith::MulIOp>(loc_, row, code_.index(stride)));
  Value place = builder_.createOrFold<arith::MulIOp>(loc_, row, pitch);
  burst(builder_.createOrFold<arith::AddIOp>(loc_, to, place), from, code_.cols());
}

LogicalResult VectorEmitter::load(Source &source, Value iteration) {
  const VectorOperand &operand = *source.operand;
  if (!operand.used)
    return success();
  auto at = address(operand);
  auto view = emitter_.view(operand.memref);
  if (failed(at) || failed(view))
    return failure();
  if (source.kind == TileKind::uniform) {
    Value scalar = view->cell ? builder_.create<memref::LoadOp>(loc_, view->base)
                              : builder_.create<memref::LoadOp>(loc_, view->base, *at);
    source.value = code_.uniform(scalar);
    return success();
  }
  Value memory = source.buffer;
  if (!source.invariant)
    memory = builder_.create<SlotOp>(loc_, memory.getType(), memory, iteration);
  transferIn(source, memory, code_.index(0), view->base, *at);
  source.value.kind = source.kind;
  source.value.type = source.value.storage = operand.element;
  source.value.memory = memory;
  source.value.offset = code_.index(0);
  return success();
}

LogicalResult VectorEmitter::store(const VectorOperand &operand, const TileValue &value) {
  auto at = address(operand);
  auto view = emitter_.view(operand.memref);
  if (failed(at) || failed(view))
    return failure();
  Value one = code_.index(1), pitch = code_.index(tiling_.size.pitch);
  Value count = one, length = code_.cols(), stride = pitch;
  if (value.kind == TileKind::column) {
    length = code_.rows();
  } else if (loops_.row >= 0 && isDense(operand)) {
    length = code_.count(TileKind::full);
  } else if (loops_.row >= 0) {
    count = code_.rows();
    stride = code_.index(operand.strides[loops_.row]);
  }
  if (count == one)
    stride = length;
  builder_.create<StoreOp>(loc_, view->base, *at, value.memory, value.offset, count, length, stride,
                           pitch, Atomic::none);
  return success();
}

Value VectorEmitter::neutral(const Combiner &combiner) {
  return builder_.create<arith::ConstantOp>(loc_, combiner.neutral);
}

SmallVector<TileValue> VectorEmitter::arguments() const {
  SmallVector<TileValue> values;
  for (const Source &source : sources_)
    values.push_back(source.value);
  return values;
}

//===------------------------------------------------------------------------------------------===//
// Forms
//===------------------------------------------------------------------------------------------===//

LogicalResult VectorEmitter::emitElementwise() {
  for (Source &source : sources_)
    if (!source.invariant && failed(load(source, iteration_)))
      return failure();
  SmallVector<TileValue> values = arguments();
  // Results get buffers of their own; what they held before is an input like any other.
  SmallVector<TileValue> results;
  for (const VectorOperand &out : nest_.operands) {
    if (!out.isOutput)
      continue;
    TileValue before;
    if (out.used) {
      Source source{&out, TileKind::full, {}, false, {}};
      source.buffer = buffers_.make(loc_, BufferKind::full, out.element, 2);
      if (failed(load(source, iteration_)))
        return failure();
      before = source.value;
    }
    values.push_back(before);
    TileValue result;
    result.kind = TileKind::full;
    result.type = result.storage = out.element;
    Value buffer = buffers_.make(loc_, BufferKind::full, out.element, 2);
    result.memory = builder_.create<SlotOp>(loc_, buffer.getType(), buffer, iteration_);
    result.offset = code_.index(0);
    results.push_back(result);
  }
  SmallVector<const TileValue *> into;
  for (const TileValue &result : results)
    into.push_back(&result);
  if (failed(body_.evaluate(values, into)))
    return failure();
  Operation *yield = nest_.op.getBody()->getTerminator();
  for (auto [position, result] : llvm::enumerate(results)) {
    auto value = body_.value(yield->getOperand(position));
    if (failed(value))
      return failure();
    auto final = body_.stored(*value, TileKind::full, &result);
    if (failed(final) || failed(store(nest_.operands[nest_.inputs() + position], *final)))
      return failure();
  }
  return success();
}

// Loops over the reduction dimensions that are not part of a tile; `number` counts the steps of
// all tasks, so that slots alternate.
LogicalResult VectorEmitter::emitSteps(size_t level, Value number,
                                       llvm::function_ref<LogicalResult(Value)> body) {
  if (level == loops_.steps.size())
    return body(number);
  int64_t d = loops_.steps[level];
  Value extent = code_.index(nest_.extents[d]);
  auto loop = builder_.create<scf::ForOp>(loc_, code_.index(0), extent, code_.index(1));
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(loop.getBody());
  at_[d] = loop.getInductionVar();
  Value next = builder_.createOrFold<arith::AddIOp>(
      loc_, builder_.createOrFold<arith::MulIOp>(loc_, number, extent), loop.getInductionVar());
  LogicalResult result = emitSteps(level + 1, next, body);
  at_[d] = code_.index(0);
  return result;
}

LogicalResult VectorEmitter::emitAccumulate() {
  const VectorOperand &out = nest_.operands.back();
  if (out.element.isBF16() || bytesOf(out.element) == 8 || bytesOf(out.element) == 1)
    return fail("a reduction over rows cannot be kept in this element type");
  Value buffer = buffers_.make(loc_, BufferKind::accumulators, out.element, 2);
  Value memory = builder_.create<SlotOp>(loc_, buffer.getType(), buffer, iteration_);
  int64_t tile = llvm::divideCeil(tiling_.size.rows * tiling_.size.pitch, 128) * 128;
  TileValue accumulator;
  accumulator.kind = TileKind::full;
  accumulator.type = accumulator.storage = out.element;
  accumulator.memory = memory;
  accumulator.offset = code_.index(0);

  // Runs `body` once an accumulator, with at_[block] and the accumulator's place set.
  auto eachBlock = [&](llvm::function_ref<LogicalResult()> body) -> LogicalResult {
    if (loops_.block < 0 || tiling_.size.blocks == 1)
      return body();
    Value first = at_[loops_.block];
    auto loop = builder_.create<scf::ForOp>(loc_, code_.index(0), blockCount_, code_.index(1));
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    at_[loops_.block] = builder_.createOrFold<arith::AddIOp>(loc_, first, number);
    accumulator.offset = builder_.createOrFold<arith::MulIOp>(loc_, number, code_.index(tile));
    LogicalResult result = body();
    at_[loops_.block] = first;
    accumulator.offset = code_.index(0);
    return result;
  };

  Source before{&out, TileKind::full, buffer, true, {}};
  auto combiner = findCombiner(nest_.op);
  auto start = [&]() -> LogicalResult {
    if (nest_.fromNeutral) {
      code_.fill(TileKind::full, neutral(*combiner), &accumulator);
      return success();
    }
    auto at = address(out);
    auto view = emitter_.view(out.memref);
    if (failed(at) || failed(view))
      return failure();
    transferIn(before, memory, accumulator.offset, view->base, *at);
    return success();
  };
  if (failed(eachBlock(start)))
    return failure();

  auto followsBlock = [&](const Source &source) {
    return loops_.block >= 0 && tiling_.size.blocks > 1 &&
           source.operand->strides[loops_.block] != 0;
  };
  for (Source &source : sources_)
    if (!source.invariant && !follows(*source.operand, loops_.steps) && !followsBlock(source) &&
        failed(load(source, iteration_)))
      return failure();
  auto step = [&](Value number) -> LogicalResult {
    for (Source &source : sources_)
      if (follows(*source.operand, loops_.steps) && !followsBlock(source) &&
          failed(load(source, number)))
        return failure();
    return eachBlock([&]() -> LogicalResult {
      for (Source &source : sources_)
        if (followsBlock(source) && failed(load(source, number)))
          return failure();
      SmallVector<TileValue> values = arguments();
      values.push_back(accumulator);
      if (failed(body_.evaluate(values, {&accumulator})))
        return failure();
      auto value = body_.value(nest_.op.getBody()->getTerminator()->getOperand(0));
      if (failed(value))
        return failure();
      if (value->memory == accumulator.memory && value->offset == accumulator.offset)
        return success();
      // The body did not end in an instruction that could write the accumulator.
      auto full = body_.stored(*value, TileKind::full, nullptr);
      if (failed(full) || full->storage != out.element)
        return fail("the reduction's result has another type than its accumulator");
      if (isa<FloatType>(out.element))
        code_.scalarOp(Scalar::muls, *full, code_.constant(out.element, 1), &accumulator);
      else
        code_.scalarOp(Scalar::adds, *full, code_.constant(out.element, 0), &accumulator);
      return success();
    });
  };
  if (failed(emitSteps(0, iteration_, step)))
    return failure();
  return eachBlock([&] { return store(out, accumulator); });
}

LogicalResult VectorEmitter::emitRowReduce() {
  const VectorOperand &out = nest_.operands.back();
  auto combiner = findCombiner(nest_.op);
  if (!combiner || !combiner->reduce)
    return fail("a reduction of this kind has no instruction");
  Type f32 = builder_.getF32Type();

  // The results so far, in f32: one element a row.
  TileValue before;
  before.kind = TileKind::column;
  before.type = before.storage = out.element;
  Value buffer = buffers_.make(loc_, BufferKind::column, out.element, 2);
  before.memory = builder_.create<SlotOp>(loc_, buffer.getType(), buffer, iteration_);
  before.offset = code_.index(0);
  auto at = address(out);
  auto view = emitter_.view(out.memref);
  if (failed(at) || failed(view))
    return failure();
  Value rows = code_.rows(), one = code_.index(1);
  if (nest_.fromNeutral)
    code_.fill(TileKind::column, neutral(*combiner), &before);
  else
    builder_.create<LoadOp>(loc_, before.memory, before.offset, view->base, *at, one, rows, rows,
                            code_.index(kPitchUnit));
  TileValue sum = before;
  if (!out.element.isF32()) {
    sum = code_.cast(before, f32, Round::none);
    sum.type = out.element;
  }

  for (Source &source : sources_)
    if (!source.invariant && !follows(*source.operand, loops_.steps) &&
        !(tiling_.columnTiles > 1 && source.operand->strides[loops_.column] != 0) &&
        failed(load(source, iteration_)))
      return failure();

  auto part = [&](Value number) -> LogicalResult {
    for (Source &source : sources_)
      if (!source.invariant &&
          (follows(*source.operand, loops_.steps) ||
           (tiling_.columnTiles > 1 && source.operand->strides[loops_.column] != 0)) &&
          failed(load(source, number)))
        return failure();
    SmallVector<TileValue> values = arguments();
    values.push_back(sum);
    if (failed(body_.evaluate(values, {}, combiner->op)))
      return failure();
    auto element = body_.value(combiner->element);
    if (failed(element))
      return failure();
    TileValue tile = body_.widened(*element);
    if (tile.storage.isF16())
      tile = tile.isUniform()
                 ? code_.uniform(builder_.createOrFold<arith::ExtFOp>(loc_, f32, tile.scalar))
                 : code_.cast(tile, f32, Round::none);
    if (!tile.storage.isF32())
      return fail("a reduction of this element type has no instruction");
    TileValue partial = code_.reduceRows(*combiner->reduce, code_.toFull(tile));
    code_.binary(combiner->binary, sum, partial, &sum);
    return success();
  };
  auto step = [&](Value number) -> LogicalResult {
    if (tiling_.columnTiles == 1)
      return part(number);
    Value tiles = code_.index(tiling_.columnTiles);
    auto loop = builder_.create<scf::ForOp>(loc_, code_.index(0), tiles, one);
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(loop.getBody());
    Value width = code_.index(tiling_.size.pitch);
    at_[loops_.column] = builder_.createOrFold<arith::MulIOp>(loc_, loop.getInductionVar(), width);
    code_.setTile(rows,
                  limit(at_[loops_.column], tiling_.size.pitch, nest_.extents[loops_.column]));
    Value next = builder_.createOrFold<arith::AddIOp>(
        loc_, builder_.createOrFold<arith::MulIOp>(loc_, number, tiles), loop.getInductionVar());
    return part(next);
  };
  if (failed(emitSteps(0, iteration_, step)))
    return failure();
  at_[loops_.column] = code_.index(0);
  code_.setTile(rows, code_.index(1));
  TileValue final = sum;
  if (!out.element.isF32())
    final = code_.cast(sum, out.element, Round::rint, &before);
  return store(out, final);
}

} // namespace pyasc::npu
