#include "compiler/target/ascend/plan_vector_emit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pyasc::npu {

using namespace mlir;

VectorEmitter::VectorEmitter(PhaseEmitter &emitter, TileBuffers &buffers, const VectorNest &nest,
                             const VectorLoops &loops, const Tiling &tiling)
    : emitter_(emitter), builder_(emitter.builder()), buffers_(buffers), tiling_(tiling),
      loc_(nest.op.getLoc()), code_(emitter, buffers, tiling.size, nest.op.getLoc()),
      at_(nest.rank()) {
  addPart(nest, loops);
  part_ = &parts_.front();
}

VectorEmitter::VectorEmitter(PhaseEmitter &emitter, TileBuffers &buffers,
                             const AccumulationGroup &group, const Tiling &tiling)
    : VectorEmitter(emitter, buffers, group.members.front().nest, group.members.front().loops,
                    tiling) {
  group_ = &group;
  for (const AccumulationGroup::Member &member : llvm::drop_begin(group.members))
    addPart(member.nest, member.loops);
  if (group.epilogue)
    addPart(group.epilogue->nest, group.epilogue->loops);
  part_ = &parts_.front();
}

void VectorEmitter::addPart(const VectorNest &nest, const VectorLoops &loops) {
  parts_.push_back({&nest, &loops, {}, std::make_unique<TileBody>(code_, *nest.op.getBody())});
  at_.resize(std::max<size_t>(at_.size(), nest.rank()));
}

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
  LogicalResult done = loops().form == VectorForm::elementwise  ? emitElementwise()
                       : loops().form == VectorForm::accumulate ? emitAccumulate()
                                                                : emitReduce();
  explain(done);
  return done;
}

LogicalResult VectorEmitter::emitTile(const Place &place) {
  place_ = &place;
  at_.assign(place.at.begin(), place.at.end());
  iteration_ = place.iteration;
  code_.setTile(place.rows, place.columns);
  LogicalResult done = emitElementwise();
  explain(done);
  place_ = nullptr;
  return done;
}

void VectorEmitter::explain(LogicalResult done) {
  if (succeeded(done))
    return;
  for (const Part &part : parts_)
    if (reason_.empty())
      reason_ = part.body->reason();
  if (reason_.empty())
    reason_ = emitter_.reason();
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
  return follows(operand, loops().outer) || cut(loops().row, tiling_.rowTiles) ||
         cut(loops().column, tiling_.columnTiles) || cut(loops().block, tiling_.blockTiles);
}

// Buffers, and what is loaded once for all tasks.
LogicalResult VectorEmitter::prepare() {
  bool someInvariant = false;
  for (Part &part : parts_) {
    part_ = &part;
    for (const VectorOperand &operand : nest().operands) {
      if (operand.isOutput)
        break;
      Source source{&operand, kindOf(operand, loops()), {}, false, {}};
      bool loaded = operand.used && source.kind != TileKind::uniform && !isAccumulator(operand);
      source.invariant = loaded && !followsTask(source) && !follows(operand, loops().steps);
      someInvariant |= source.invariant;
      if (loaded) {
        int64_t step = stepOf(operand, loops());
        BufferKind kind = isTransposed(operand, loops()) ? BufferKind::transposed
                          : step == 2                    ? BufferKind::everySecond
                          : step == 4                    ? BufferKind::everyFourth
                                                         : bufferOf(source.kind);
        source.buffer = buffers_.make(loc_, kind, operand.element, source.invariant ? 1 : 2);
      }
      sources().push_back(source);
    }
  }
  part_ = &parts_.front();
  if (!someInvariant)
    return success();
  // Nothing of it is cut, so its first tile is all of it.
  auto whole = [&](int64_t d) { return code_.index(d < 0 ? 1 : nest().extents[d]); };
  for (Value &start : at_)
    start = code_.index(0);
  code_.setTile(whole(loops().row), whole(loops().column));
  for (Part &part : parts_) {
    part_ = &part;
    for (Source &source : sources())
      if (source.invariant && failed(load(source, code_.index(0))))
        return failure();
  }
  part_ = &parts_.front();
  return success();
}

// The result that a group's epilogue works on.
bool VectorEmitter::isAccumulator(const VectorOperand &operand) const {
  return group_ && group_->epilogue && part_ == &parts_.back() &&
         operand.view.root == parts_.front().nest->operands.back().view.root;
}

Value VectorEmitter::minus(Value a, Value b) {
  return builder_.createOrFold<arith::SubIOp>(loc_, a, b);
}

Value VectorEmitter::extentOf(int64_t d) {
  if (d != nest().divided)
    return code_.index(nest().extents[d]);
  Value length = code_.index(nest().extents[d]);
  Value before = builder_.createOrFold<arith::MulIOp>(loc_, at_[nest().part], length);
  return builder_.createOrFold<arith::MinSIOp>(loc_, length,
                                               minus(code_.index(nest().dividedExtent), before));
}

// min(size, extent - start), a constant where no tile is cut short.
Value VectorEmitter::limit(Value start, int64_t size, int64_t d) {
  if (d != nest().divided && nest().extents[d] % size == 0)
    return code_.index(size);
  return builder_.createOrFold<arith::MinSIOp>(loc_, code_.index(size), minus(extentOf(d), start));
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
  // Tiles along a reduction are a loop of the task.
  auto dimension = [&](int64_t d, int64_t extent, int64_t tiles) {
    if (d >= 0 && nest().reduction[d])
      at_[d] = code_.index(0);
    else
      start(d, extent, tiles);
  };
  dimension(loops().column, size.pitch, tiling_.columnTiles);
  dimension(loops().row, size.rows, tiling_.rowTiles);
  start(loops().block, size.blocks, tiling_.blockTiles);
  for (int64_t d : llvm::reverse(loops().outer))
    at_[d] = digit(nest().extents[d]);
  for (int64_t d : loops().steps)
    at_[d] = code_.index(0);

  Value rows = loops().row < 0 ? code_.index(1) : limit(at_[loops().row], size.rows, loops().row);
  if (loops().block >= 0)
    blockCount_ = limit(at_[loops().block], size.blocks, loops().block);
  code_.setTile(rows, limit(at_[loops().column], size.pitch, loops().column));
}

//===------------------------------------------------------------------------------------------===//
// Transfers
//===------------------------------------------------------------------------------------------===//

FailureOr<Value> VectorEmitter::address(const VectorOperand &operand) {
  auto view = emitter_.view(operand.memref);
  if (failed(view))
    return failure();
  OpFoldResult at = emitter_.add(loc_, view->offset, builder_.getIndexAttr(operand.offset));
  for (auto [start, stride] : llvm::zip(at_, operand.strides))
    if (start)
      at = emitter_.add(
          loc_, at, emitter_.mul(loc_, getAsOpFoldResult(start), builder_.getIndexAttr(stride)));
  return emitter_.materialize(loc_, at);
}

bool VectorEmitter::isDense(const VectorOperand &operand) const {
  int64_t pitch = tiling_.size.pitch;
  // A product's tile may be narrower than its rows.
  return loops().row >= 0 && operand.strides[loops().row] == pitch &&
         nest().extents[loops().column] == pitch &&
         (!place_ || getConstantIntValue(place_->columns) == pitch);
}

void VectorEmitter::transferIn(const Source &source, Value memory, Value to, Value gm, Value at) {
  const VectorOperand &operand = *source.operand;
  Value one = code_.index(1);
  const int64_t step = stepOf(operand, loops());
  Value pitch = code_.index(tiling_.size.pitch * step), columns = columnsOf(step);
  auto burst = [&](Value to, Value from, Value length) {
    auto load = builder_.create<LoadOp>(loc_, memory, to, gm, from, one, length, length, pitch);
    load.setBypassL2(operand.streamed);
  };
  if (source.kind == TileKind::column)
    return burst(to, at, code_.rows());
  if (source.kind == TileKind::row || loops().row < 0)
    return burst(to, at, columns);
  if (isTransposed(operand, loops())) {
    int64_t apart = operand.strides[loops().column];
    builder_.create<LoadOp>(loc_, memory, to, gm, at, code_.cols(), code_.rows(),
                            code_.index(apart), code_.index(code_.transposedPitch()));
    return;
  }
  if (step == 1 && isDense(operand))
    return burst(to, at, code_.count(TileKind::full));
  int64_t stride = operand.strides[loops().row];
  if (stride >= step * nest().extents[loops().column]) {
    auto load = builder_.create<LoadOp>(loc_, memory, to, gm, at, code_.rows(), columns,
                                        code_.index(stride), pitch);
    load.setBypassL2(operand.streamed);
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
  burst(builder_.createOrFold<arith::AddIOp>(loc_, to, place), from, columns);
}

LogicalResult VectorEmitter::load(Source &source, Value iteration) {
  const VectorOperand &operand = *source.operand;
  if (!operand.used)
    return success();
  bool fed = place_ && operand.view.root == place_->fed.root;
  auto at = fed ? FailureOr<Value>(Value()) : address(operand);
  auto view = fed ? FailureOr<FlatView>(FlatView()) : emitter_.view(operand.memref);
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
  if (fed)
    builder_.create<LoadOp>(loc_, memory, code_.index(0), place_->fed.memory, place_->fed.offset,
                            code_.rows(), code_.cols(), code_.index(place_->fed.stride),
                            code_.index(tiling_.size.pitch));
  else
    transferIn(source, memory, code_.index(0), view->base, *at);
  if (isTransposed(operand, loops()) || stepOf(operand, loops()) > 1) {
    source.value = {};
    source.value = isTransposed(operand, loops())
                       ? code_.transpose(memory)
                       : code_.deinterleave(memory, stepOf(operand, loops()));
    return success();
  }
  source.value.kind = source.kind;
  source.value.type = source.value.storage = operand.element;
  source.value.memory = memory;
  source.value.offset = code_.index(0);
  return success();
}

Value VectorEmitter::columnsOf(int64_t step) {
  if (step == 1)
    return code_.cols();
  return minus(builder_.createOrFold<arith::MulIOp>(loc_, code_.cols(), code_.index(step)),
               code_.index(step - 1));
}

LogicalResult VectorEmitter::store(const VectorOperand &operand, const TileValue &value) {
  auto at = address(operand);
  auto view = emitter_.view(operand.memref);
  if (failed(at) || failed(view))
    return failure();
  const int64_t step = stepOf(operand, loops());
  Value one = code_.index(1), pitch = code_.index(tiling_.size.pitch * step);
  Value count = one, length = columnsOf(step), stride = pitch;
  if (value.kind == TileKind::column) {
    length = code_.rows();
  } else if (value.kind == TileKind::row) {
    length = code_.cols();
  } else if (step == 1 && loops().row >= 0 && isDense(operand)) {
    length = code_.count(TileKind::full);
  } else if (loops().row >= 0) {
    count = code_.rows();
    stride = code_.index(operand.strides[loops().row]);
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

SmallVector<TileValue> VectorEmitter::arguments() {
  SmallVector<TileValue> values;
  for (const Source &source : sources())
    values.push_back(source.value);
  return values;
}

//===------------------------------------------------------------------------------------------===//
// Forms
//===------------------------------------------------------------------------------------------===//

LogicalResult VectorEmitter::emitElementwise() {
  for (Source &source : sources())
    if (!source.invariant && failed(load(source, iteration_)))
      return failure();
  SmallVector<TileValue> values = arguments();
  // Results get buffers of their own; what they held before is an input like any other.
  SmallVector<TileValue> results;
  SmallVector<Value> between; // what every second element of is a result
  for (const VectorOperand &out : nest().operands) {
    if (!out.isOutput)
      continue;
    TileValue before;
    between.push_back({});
    if (int64_t step = stepOf(out, loops()); step > 1) {
      auto at = address(out);
      auto view = emitter_.view(out.memref);
      if (failed(at) || failed(view))
        return failure();
      Value buffer = buffers_.make(loc_, BufferKind::everySecond, out.element, 2);
      between.back() = builder_.create<SlotOp>(loc_, buffer.getType(), buffer, iteration_);
      Source source{&out, TileKind::full, {}, false, {}};
      transferIn(source, between.back(), code_.index(0), view->base, *at);
      values.push_back(out.used ? code_.deinterleave(between.back(), step) : before);
      results.push_back({});
      continue;
    }
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
    into.push_back(result.memory ? &result : nullptr);
  if (failed(body().evaluate(std::move(values), into)))
    return failure();
  Operation *yield = nest().op.getBody()->getTerminator();
  for (auto [position, result] : llvm::enumerate(results)) {
    auto value = body().value(yield->getOperand(position));
    if (failed(value))
      return failure();
    auto final = body().stored(*value, TileKind::full, result.memory ? &result : nullptr);
    if (succeeded(final) && between[position])
      final = code_.interleave(between[position], *final);
    if (failed(final) || failed(store(nest().operands[nest().inputs() + position], *final)))
      return failure();
  }
  return success();
}

// Loops over the reduction dimensions that are not part of a tile; `number` counts the steps of
// all tasks, so that slots alternate.
LogicalResult VectorEmitter::emitSteps(size_t level, Value number,
                                       llvm::function_ref<LogicalResult(Value)> body) {
  if (level == loops().steps.size())
    return body(number);
  int64_t d = loops().steps[level];
  Value extent = code_.index(nest().extents[d]);
  auto loop = builder_.create<scf::ForOp>(loc_, code_.index(0), extentOf(d), code_.index(1));
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
  const VectorOperand &out = nest().operands.back();
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
    int64_t block = loops().block;
    if (block < 0 || tiling_.size.blocks == 1)
      return body();
    Value first = at_[block];
    auto loop = builder_.create<scf::ForOp>(loc_, code_.index(0), blockCount_, code_.index(1));
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    at_[block] = builder_.createOrFold<arith::AddIOp>(loc_, first, number);
    accumulator.offset = builder_.createOrFold<arith::MulIOp>(loc_, number, code_.index(tile));
    LogicalResult result = body();
    at_[block] = first;
    accumulator.offset = code_.index(0);
    return result;
  };

  Source before{&out, TileKind::full, buffer, true, {}};
  auto combiner = findCombiner(nest().op);
  auto begin = [&](Value scalar) -> LogicalResult {
    auto value = emitter_.scalar(scalar);
    if (failed(value))
      return failure();
    code_.fill(TileKind::full, *value, &accumulator);
    return success();
  };
  auto start = [&]() -> LogicalResult {
    if (group_ && group_->fill)
      return begin(group_->fill);
    if (nest().fromNeutral) {
      code_.fill(TileKind::full, neutral(*combiner), &accumulator);
      return success();
    }
    if (nest().fill)
      return begin(nest().fill);
    auto at = address(out);
    auto view = emitter_.view(out.memref);
    if (failed(at) || failed(view))
      return failure();
    transferIn(before, memory, accumulator.offset, view->base, *at);
    return success();
  };
  if (failed(eachBlock(start)))
    return failure();
  size_t members = group_ ? group_->members.size() : 1;
  for (Part &part : llvm::MutableArrayRef(parts_).take_front(members)) {
    part_ = &part;
    if (failed(addUp(accumulator, eachBlock)))
      return failure();
  }
  part_ = &parts_.back();
  return eachBlock(
      [&] { return members == parts_.size() ? store(out, accumulator) : finish(accumulator); });
}

// The steps of one part.
LogicalResult VectorEmitter::addUp(
    TileValue &accumulator,
    llvm::function_ref<LogicalResult(llvm::function_ref<LogicalResult()>)> eachBlock) {
  Type element = accumulator.type;
  auto followsBlock = [&](const Source &source) {
    return loops().block >= 0 && tiling_.size.blocks > 1 &&
           source.operand->strides[loops().block] != 0;
  };
  for (Source &source : sources())
    if (!source.invariant && !follows(*source.operand, loops().steps) && !followsBlock(source) &&
        failed(load(source, iteration_)))
      return failure();
  auto step = [&](Value number) -> LogicalResult {
    for (Source &source : sources())
      if (follows(*source.operand, loops().steps) && !followsBlock(source) &&
          failed(load(source, number)))
        return failure();
    return eachBlock([&]() -> LogicalResult {
      for (Source &source : sources())
        if (followsBlock(source) && failed(load(source, number)))
          return failure();
      SmallVector<TileValue> values = arguments();
      values.push_back(accumulator);
      if (failed(body().evaluate(std::move(values), {&accumulator})))
        return failure();
      auto value = body().value(nest().op.getBody()->getTerminator()->getOperand(0));
      if (failed(value))
        return failure();
      if (value->memory == accumulator.memory && value->offset == accumulator.offset)
        return success();
      // The body did not end in an instruction that could write the accumulator.
      auto full = body().stored(*value, TileKind::full, nullptr);
      if (failed(full) || full->storage != element)
        return fail("the reduction's result has another type than its accumulator");
      code_.copy(accumulator.memory, accumulator.offset, full->memory, full->offset,
                 code_.count(TileKind::full));
      return success();
    });
  };
  return emitSteps(0, iteration_, step);
}

// The epilogue on one accumulator.
LogicalResult VectorEmitter::finish(const TileValue &accumulator) {
  for (Source &source : sources()) {
    if (isAccumulator(*source.operand))
      source.value = accumulator;
    else if (!source.invariant && failed(load(source, iteration_)))
      return failure();
  }
  SmallVector<TileValue> values = arguments();
  values.push_back(TileValue());
  if (failed(body().evaluate(std::move(values), {})))
    return failure();
  auto value = body().value(nest().op.getBody()->getTerminator()->getOperand(0));
  if (failed(value))
    return failure();
  auto full = body().stored(*value, TileKind::full, nullptr);
  if (failed(full))
    return failure();
  return store(nest().operands.back(), *full);
}

} // namespace pyasc::npu
