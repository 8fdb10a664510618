// Row-wise steps that follow each other become one phase: each core takes tiles of whole rows,
// loads what the steps read once, and keeps what one step hands to the next in UB.
#include <algorithm>
#include <map>

#include "compiler/target/ascend/plan_vector_phase.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pyasc::npu {

using namespace mlir;

namespace {

// Rows up to this long are worked on several at a time; longer ones one by one, since row-wise
// instructions repeat over at most 255 blocks.
constexpr int64_t kRepeatedPitch = 2016;
constexpr int64_t kGoodTile = 4096;
constexpr int64_t kGoodRounds = 4;

// The elements of a tensor that a step touches for row r: start + r * rowStride + c * columnStride
// for c < columns.
struct RowAccess {
  void *root;
  int64_t start, rowStride, columnStride, columns;

  auto tie() const { return std::tie(root, start, rowStride, columnStride, columns); }
  bool operator<(const RowAccess &other) const { return tie() < other.tie(); }
  bool operator==(const RowAccess &other) const { return tie() == other.tie(); }
  int64_t end() const { return start + (columns - 1) * columnStride + 1; }
};

struct RowOperand {
  RowAccess access;
  Value memref;
  Type element;
  bool used;
  TileKind kind;         // column: an element a row
  bool streamed = false; // see Planner::streams
};

struct RowStep {
  mutable linalg::GenericOp op;
  SmallVector<RowOperand, 0> inputs;
  std::optional<RowOperand> result;
  bool reduces = false;
  int64_t columns = 1;
  bool storesResult = true;
  // A reduction that starts from the neutral element, not from what the result holds.
  bool fromNeutral = false;
};

// What a phase does for speed as long as its buffers fit.
struct RowOptions {
  // 16-bit operands that all rows share are widened once.
  bool widen = true;
  int64_t resultSlots = 2;
  int64_t inputSlots = 2;
};

//===------------------------------------------------------------------------------------------===//
// Finding groups
//===------------------------------------------------------------------------------------------===//

// Merges dimensions [from, to) into the last of them; false when an operand walks them otherwise.
bool merge(VectorNest &nest, int64_t from, int64_t to) {
  for (int64_t d = to - 2; d >= from; --d) {
    if (nest.reduction[d] != nest.reduction[d + 1])
      return false;
    for (VectorOperand &operand : nest.operands)
      if (operand.strides[d] != operand.strides[d + 1] * nest.extents[d + 1])
        return false;
    nest.extents[d + 1] *= nest.extents[d];
    nest.extents.erase(nest.extents.begin() + d);
    nest.reduction.erase(nest.reduction.begin() + d);
    for (VectorOperand &operand : nest.operands)
      operand.strides.erase(operand.strides.begin() + d);
  }
  return true;
}

void dropUnits(VectorNest &nest) {
  for (int64_t d = nest.rank() - 1; d >= 0; --d) {
    if (nest.extents[d] != 1)
      continue;
    nest.extents.erase(nest.extents.begin() + d);
    nest.reduction.erase(nest.reduction.begin() + d);
    for (VectorOperand &operand : nest.operands)
      operand.strides.erase(operand.strides.begin() + d);
  }
}

// The number of rows that a reduction over its last dimensions has; 0: it is none.
int64_t rowsOfReduction(VectorNest nest) {
  dropUnits(nest);
  int64_t rows = 1, d = 0;
  for (; d < nest.rank() && !nest.reduction[d]; ++d)
    rows *= nest.extents[d];
  if (d == nest.rank())
    return 0;
  for (; d < nest.rank(); ++d)
    if (!nest.reduction[d])
      return 0;
  return rows;
}

// The step as rows, each with columns of its own.
std::optional<RowStep> asRows(VectorNest nest, int64_t rows) {
  dropUnits(nest);
  int64_t split = 0, product = 1;
  while (split < nest.rank() && product < rows)
    product *= nest.extents[split++];
  if (product != rows || split == 0)
    return std::nullopt;
  int64_t inner = nest.rank() - split;
  if (!merge(nest, split, nest.rank()) || !merge(nest, 0, split) || nest.reduction[0])
    return std::nullopt;
  RowStep step;
  step.op = nest.op;
  step.columns = inner > 0 ? nest.extents[1] : 1;
  step.reduces = inner > 0 && nest.reduction[1];
  for (const VectorOperand &operand : nest.operands) {
    if (!operand.view.terms.empty() || (operand.isOutput && step.result))
      return std::nullopt;
    int64_t columnStride = inner > 0 ? operand.strides[1] : 0;
    bool wide = columnStride != 0;
    RowOperand row{{operand.view.root.getAsOpaquePointer(), operand.view.offset + operand.offset,
                    operand.strides[0], columnStride, wide ? step.columns : 1},
                   operand.memref,
                   operand.element,
                   operand.used,
                   TileKind::uniform};
    const RowAccess &access = row.access;
    if (wide)
      row.kind = access.rowStride != 0 ? TileKind::full : TileKind::row;
    else if (access.rowStride != 0)
      row.kind = TileKind::column;
    bool fine = !wide || columnStride == 1;
    if (row.kind == TileKind::full)
      fine &= access.rowStride >= step.columns;
    if (row.kind == TileKind::column)
      fine &= access.rowStride > 0;
    if (operand.isOutput) {
      TileKind natural = inner > 0 && !step.reduces ? TileKind::full : TileKind::column;
      fine &= row.kind == natural && (natural == TileKind::full || access.rowStride == 1);
    } else if (row.kind == TileKind::column && access.rowStride != 1) {
      fine &= operand.element.isF32() || operand.element.isF16();
    }
    if (!fine && (operand.isOutput || operand.used))
      return std::nullopt;
    if (operand.isOutput)
      step.result = row;
    else
      step.inputs.push_back(row);
  }
  if (step.reduces) {
    auto combiner = findCombiner(step.op);
    Type element = step.result->element;
    if (!combiner || !combiner->reduce || !(element.isF32() || element.isF16() || element.isBF16()))
      return std::nullopt;
  }
  return step;
}

// A value as its body reads it, perhaps widened to f32, and nothing else.
bool isPlain(Value value, Block *body) {
  if (auto wide = value.getDefiningOp<arith::ExtFOp>())
    value = wide.getIn();
  return value == body->getArgument(0);
}

// Whether `first` sets the results to the first element of each row and `rest` reduces the others
// into them, by a maximum or minimum: then `rest` becomes the reduction of whole rows, which gives
// the same, since these neither round nor depend on the order.
bool startsWithFirst(const RowStep &first, RowStep &rest) {
  if (!rest.reduces || rest.fromNeutral || first.reduces || first.columns != 1 ||
      first.inputs.size() != 1 || rest.inputs.size() != 1 || first.result->used ||
      !(first.result->access == rest.result->access))
    return false;
  Combiner combiner = *findCombiner(rest.op);
  const RowAccess &one = first.inputs[0].access, &others = rest.inputs[0].access;
  if ((combiner.binary != Binary::max && combiner.binary != Binary::min) ||
      one.root == first.result->access.root || one.root != others.root ||
      one.start + 1 != others.start || one.rowStride != others.rowStride ||
      others.columnStride != 1 || others.rowStride <= others.columns ||
      first.inputs[0].element != rest.inputs[0].element ||
      !isPlain(first.op.getBody()->getTerminator()->getOperand(0), first.op.getBody()) ||
      !isPlain(combiner.element, rest.op.getBody()))
    return false;
  rest.inputs[0].access.start -= 1;
  rest.inputs[0].access.columns += 1;
  rest.columns += 1;
  rest.fromNeutral = true;
  return true;
}

// Whether nothing but these steps uses the tensor.
bool isTemporary(Value root, ArrayRef<Operation *> steps) {
  Operation *alloc = root.getDefiningOp();
  if (!alloc || !isa<memref::AllocOp>(alloc))
    return false;
  SmallVector<Operation *> users(alloc->getUsers());
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    if (user->getNumResults() == 1 && isa<MemRefType>(user->getResult(0).getType()))
      users.append(user->user_begin(), user->user_end());
    else if (!llvm::is_contained(steps, user))
      return false;
  }
  return true;
}

class RowGroup {
public:
  explicit RowGroup(int64_t rows) : rows(rows) {}

  // Adds the step unless rows of different steps would depend on each other.
  bool add(RowStep step) {
    for (const RowOperand &input : step.inputs) {
      if (!input.used)
        continue;
      if (written_.count(input.access.root) && !(written_.at(input.access.root) == input.access))
        return false;
    }
    const RowAccess &result = step.result->access;
    auto before = written_.find(result.root);
    if (before != written_.end() && !(before->second == result))
      return false;
    // Everything read of the same tensor must be of the same row.
    auto sameRow = [&](const RowAccess &read) {
      return read.root != result.root ||
             (read.rowStride == result.rowStride &&
              std::max(read.end(), result.end()) - std::min(read.start, result.start) <=
                  result.rowStride);
    };
    for (const RowAccess &read : read_)
      if (!sameRow(read))
        return false;
    for (const RowOperand &input : step.inputs)
      if (input.used && !sameRow(input.access))
        return false;
    for (const RowOperand &input : step.inputs)
      if (input.used)
        read_.push_back(input.access);
    written_.insert({result.root, result});
    steps.push_back(std::move(step));
    return true;
  }

  // Undoes the last add.
  void removeLast() {
    RowStep last = std::move(steps.back());
    steps.pop_back();
    std::vector<RowStep> others = std::move(steps);
    steps.clear();
    written_.clear();
    read_.clear();
    for (RowStep &step : others)
      add(std::move(step));
  }

  int64_t rows;
  std::vector<RowStep> steps;

private:
  std::map<void *, RowAccess> written_;
  std::vector<RowAccess> read_;
};

//===------------------------------------------------------------------------------------------===//
// Emission
//===------------------------------------------------------------------------------------------===//

class RowEmitter {
public:
  RowEmitter(PhaseEmitter &emitter, TileBuffers &buffers, const RowGroup &group,
             const Tiling &tiling, RowOptions options)
      : emitter_(emitter), builder_(emitter.builder()), buffers_(buffers), group_(group),
        tiling_(tiling), options_(options), loc_(group.steps.front().op.getLoc()),
        code_(emitter, buffers, tiling.size, loc_) {}

  LogicalResult emit(std::string &reason) {
    if (succeeded(emitAll()))
      return success();
    reason = !reason_.empty() ? reason_ : emitter_.reason();
    return failure();
  }

private:
  LogicalResult emitAll() {
    // What does not change from row to row is loaded once.
    for (const RowStep &step : group_.steps)
      for (auto [position, input] : llvm::enumerate(step.inputs)) {
        if (!input.used || input.access.rowStride != 0)
          continue;
        bool widen = isWidened(step, position);
        if (!(widen ? widened_ : values_).count(input.access) && failed(loadOnce(input, widen)))
          return failure();
      }

    Value block = builder_.create<BlockIdxOp>(loc_, builder_.getIndexType());
    Value cores = code_.index(tiling_.cores);
    Value mine = code_.index(tiling_.tasks / tiling_.cores);
    if (tiling_.tasks % tiling_.cores != 0)
      mine = builder_.createOrFold<arith::CeilDivUIOp>(
          loc_, builder_.createOrFold<arith::SubIOp>(loc_, code_.index(tiling_.tasks), block),
          cores);
    auto loop = builder_.create<scf::ForOp>(loc_, code_.index(0), mine, code_.index(1));
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(loop.getBody());
    iteration_ = loop.getInductionVar();
    Value task = builder_.createOrFold<arith::AddIOp>(
        loc_, block, builder_.createOrFold<arith::MulIOp>(loc_, iteration_, cores));
    int64_t size = tiling_.size.rows;
    row_ = builder_.createOrFold<arith::MulIOp>(loc_, task, code_.index(size));
    rows_ = code_.index(size);
    if (group_.rows % size != 0)
      rows_ = builder_.createOrFold<arith::MinSIOp>(
          loc_, rows_, builder_.createOrFold<arith::SubIOp>(loc_, code_.index(group_.rows), row_));
    for (size_t number = 0; number < group_.steps.size(); ++number)
      if (failed(emitStep(number)))
        return failure();
    return success();
  }

  FailureOr<Value> address(const RowOperand &operand, Value &memory) {
    auto view = emitter_.view(operand.memref);
    if (failed(view))
      return failure();
    memory = view->base;
    OpFoldResult at = builder_.getIndexAttr(operand.access.start);
    if (operand.access.rowStride != 0)
      at = emitter_.add(loc_, at,
                        emitter_.mul(loc_, getAsOpFoldResult(row_),
                                     builder_.getIndexAttr(operand.access.rowStride)));
    return emitter_.materialize(loc_, at);
  }

  TileValue inBuffer(const RowOperand &operand, Value memory) {
    TileValue value;
    value.kind = operand.kind;
    value.type = value.storage = operand.element;
    value.memory = memory;
    value.offset = code_.index(0);
    return value;
  }

  // Whether a step wants an input that all rows share in f32 only.
  bool isWidened(const RowStep &step, size_t position) const {
    const RowOperand &input = step.inputs[position];
    Value argument = step.op.getBody()->getArgument(position);
    return options_.widen && input.access.rowStride == 0 && input.kind == TileKind::row &&
           (input.element.isF16() || input.element.isBF16()) && !argument.use_empty() &&
           llvm::all_of(argument.getUsers(), [](Operation *user) {
             return isa<arith::ExtFOp>(user) && user->getResult(0).getType().isF32();
           });
  }

  LogicalResult loadOnce(const RowOperand &operand, bool widen) {
    Value gm;
    auto at = address(operand, gm);
    if (failed(at))
      return failure();
    if (operand.kind == TileKind::uniform) {
      values_[operand.access] = code_.uniform(builder_.create<memref::LoadOp>(loc_, gm, *at));
      return success();
    }
    // What is widened meets f32 tiles in the loop, which have room for it.
    Value memory = widen ? buffers_.makeBeforeLoop(loc_, BufferKind::row, operand.element)
                         : buffers_.make(loc_, BufferKind::row, operand.element, 1);
    Value length = code_.index(operand.access.columns), one = code_.index(1);
    builder_.create<LoadOp>(loc_, memory, code_.index(0), gm, *at, one, length, length, pitch());
    TileValue value = inBuffer(operand, memory);
    // A single row is as good as the whole tile.
    value.kind = tiling_.size.hasRows ? TileKind::row : TileKind::full;
    if (!widen) {
      values_[operand.access] = value;
      return success();
    }
    code_.setTile(one, length);
    Type f32 = builder_.getF32Type();
    TileValue wide = value;
    wide.type = wide.storage = f32;
    wide.memory = buffers_.make(loc_, BufferKind::row, f32, 1);
    widened_[operand.access] = code_.cast(value, f32, Round::none, &wide);
    return success();
  }

  Value pitch() { return code_.index(tiling_.size.pitch); }

  Value slotOf(BufferKind kind, Type element, int64_t slots = 2) {
    Value buffer = buffers_.make(loc_, kind, element, slots);
    return builder_.create<SlotOp>(loc_, buffer.getType(), buffer, iteration_);
  }

  // The operand's part of the tile: as an earlier step left it, or from GM.
  FailureOr<TileValue> read(const RowOperand &operand) {
    auto known = values_.find(operand.access);
    if (known != values_.end())
      return known->second;
    Value gm;
    auto at = address(operand, gm);
    if (failed(at))
      return failure();
    Value zero = code_.index(0), one = code_.index(1);
    const RowAccess &access = operand.access;
    TileValue value;
    if (operand.kind == TileKind::full) {
      Value memory = slotOf(BufferKind::full, operand.element, options_.inputSlots);
      value = inBuffer(operand, memory);
      Value length = code_.index(access.columns);
      bool dense = access.rowStride == access.columns && access.columns == tiling_.size.pitch;
      if (dense)
        length = builder_.createOrFold<arith::MulIOp>(loc_, rows_, length);
      bool several = tiling_.size.hasRows && !dense;
      auto load =
          builder_.create<LoadOp>(loc_, memory, zero, gm, *at, several ? rows_ : one, length,
                                  several ? code_.index(access.rowStride) : length, pitch());
      load.setBypassL2(operand.streamed);
    } else if (access.rowStride == 1 || !tiling_.size.hasRows) {
      Value memory = slotOf(BufferKind::column, operand.element);
      value = inBuffer(operand, memory);
      builder_.create<LoadOp>(loc_, memory, zero, gm, *at, one, rows_, rows_, pitch());
    } else {
      // Each element arrives at the start of a block; reducing blocks of one element packs them.
      Value apart = slotOf(BufferKind::rowBinaryScratch, operand.element);
      Value block = code_.index(blockElements(operand.element));
      builder_.create<LoadOp>(loc_, apart, zero, gm, *at, rows_, one, code_.index(access.rowStride),
                              block);
      value = code_.fresh(TileKind::column, operand.element);
      auto scratch = buffers_.take(loc_, BufferKind::column, operand.element);
      builder_.create<VRowReduceOp>(loc_, Reduce::max, value.memory, value.offset, apart, zero,
                                    scratch->memory, zero, rows_, one, block);
    }
    values_[operand.access] = value;
    return value;
  }

  TileValue inFloat(const TileValue &value) {
    Type f32 = builder_.getF32Type();
    if (value.storage.isF32())
      return value;
    if (value.isUniform())
      return code_.uniform(builder_.createOrFold<arith::ExtFOp>(loc_, f32, value.scalar));
    return code_.cast(value, f32, Round::none);
  }

  bool fail(const std::string &reason) {
    reason_ = reason;
    return false;
  }

  LogicalResult emitStep(size_t number) {
    const RowStep &step = group_.steps[number];
    const RowOperand &result = *step.result;
    code_.setTile(rows_, code_.index(step.columns));
    linalg::GenericOp op = step.op;
    TileBody body(code_, *op.getBody());
    auto failBody = [&] {
      reason_ = body.reason();
      return failure();
    };

    SmallVector<TileValue> arguments;
    for (auto [position, input] : llvm::enumerate(step.inputs)) {
      FailureOr<TileValue> value = TileValue();
      if (input.used && isWidened(step, position)) {
        for (Operation *user : op.getBody()->getArgument(position).getUsers())
          body.know(user->getResult(0), widened_.at(input.access));
      } else if (input.used) {
        value = read(input);
      }
      if (failed(value))
        return failure();
      arguments.push_back(*value);
    }
    FailureOr<TileValue> before = TileValue();
    if (readsResult(step))
      before = read(result);
    if (failed(before))
      return failure();
    arguments.push_back(*before);
    // What is used for the last time here may be overwritten.
    dropUnneeded(number);

    bool storing = step.storesResult && isLastWrite(number);
    TileValue place;
    if (storing)
      place = inBuffer(result,
                       slotOf(result.kind == TileKind::full ? BufferKind::full : BufferKind::column,
                              result.element, options_.resultSlots));
    const TileValue *into = storing ? &place : nullptr;
    TileValue value;
    if (step.reduces) {
      Combiner combiner = *findCombiner(op);
      if (failed(body.evaluate(std::move(arguments), {}, combiner.op)))
        return failBody();
      auto element = body.take(combiner.element);
      if (failed(element))
        return failBody();
      TileValue tile = inFloat(*element);
      *element = {};
      if (!tile.storage.isF32())
        return failure(!fail("a reduction of this element type has no instruction"));
      TileValue full = code_.toFull(tile);
      tile = {};
      TileValue partial = code_.reduceRows(*combiner.reduce, std::move(full));
      bool direct = result.element.isF32();
      value = partial;
      if (!step.fromNeutral)
        value = code_.binary(combiner.binary, inFloat(*before), partial, direct ? into : nullptr);
      if (!direct)
        value = code_.cast(value, result.element, Round::rint, into);
      value.type = result.element;
    } else {
      if (failed(body.evaluate(std::move(arguments), {into})))
        return failBody();
      auto yielded = body.value(op.getBody()->getTerminator()->getOperand(0));
      if (failed(yielded))
        return failBody();
      value = *yielded;
    }
    if (storing) {
      auto stored = body.stored(value, result.kind, into);
      if (failed(stored))
        return failBody();
      if (failed(store(result, *stored)))
        return failure();
      value = *stored;
    }
    values_[result.access] = value;
    dropUnneeded(number);
    return success();
  }

  LogicalResult store(const RowOperand &operand, const TileValue &value) {
    Value gm;
    auto at = address(operand, gm);
    if (failed(at))
      return failure();
    const RowAccess &access = operand.access;
    Value count = code_.index(1), length = rows_, stride = rows_;
    if (operand.kind == TileKind::full) {
      bool dense = access.rowStride == access.columns && access.columns == tiling_.size.pitch;
      length = stride = code_.index(access.columns);
      if (dense) {
        length = stride = builder_.createOrFold<arith::MulIOp>(loc_, rows_, length);
      } else if (tiling_.size.hasRows) {
        count = rows_;
        stride = code_.index(access.rowStride);
      }
    }
    builder_.create<StoreOp>(loc_, gm, *at, value.memory, value.offset, count, length, stride,
                             pitch(), Atomic::none);
    return success();
  }

  bool isLastWrite(size_t number) const {
    for (size_t later = number + 1; later < group_.steps.size(); ++later)
      if (group_.steps[later].result->access == group_.steps[number].result->access)
        return false;
    return true;
  }

  static bool readsResult(const RowStep &step) {
    return step.reduces ? !step.fromNeutral : step.result->used;
  }

  // Gives back the buffers of values that no later step reads.
  void dropUnneeded(size_t number) {
    for (auto it = values_.begin(); it != values_.end();) {
      bool needed = it->first.rowStride == 0;
      for (size_t later = number + 1; later < group_.steps.size() && !needed; ++later) {
        const RowStep &step = group_.steps[later];
        for (const RowOperand &input : step.inputs)
          needed |= input.used && input.access == it->first;
        needed |= readsResult(step) && step.result->access == it->first;
      }
      it = needed ? std::next(it) : values_.erase(it);
    }
  }

  PhaseEmitter &emitter_;
  OpBuilder &builder_;
  TileBuffers &buffers_;
  const RowGroup &group_;
  const Tiling &tiling_;
  RowOptions options_;
  Location loc_;
  TileCode code_;
  std::map<RowAccess, TileValue> values_;
  // Operands of all rows in f32, for steps that want them so alone.
  std::map<RowAccess, TileValue> widened_;
  Value iteration_, row_, rows_;
  std::string reason_;
};

int64_t ceilDiv(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

Tiling tilingOf(const RowGroup &group, int64_t columns, int64_t tileRows, int64_t cores) {
  Tiling tiling;
  tiling.size.pitch = ceilDiv(columns, kPitchUnit) * kPitchUnit;
  tiling.size.hasRows = tiling.size.pitch <= kRepeatedPitch;
  tiling.size.rows = tiling.size.hasRows ? tileRows : 1;
  tiling.rowTiles = tiling.tasks = ceilDiv(group.rows, tiling.size.rows);
  tiling.cores = std::min(tiling.tasks, cores);
  return tiling;
}

} // namespace

FailureOr<size_t> planRows(Planner &planner, ArrayRef<Operation *> steps) {
  // The rows are those of the first reduction in a row of tensor operations.
  std::string reason;
  std::vector<VectorNest> nests;
  int64_t rows = 0;
  for (Operation *step : steps) {
    auto op = dyn_cast<linalg::GenericOp>(step);
    auto nest = op ? analyseNest(planner, op, reason, /*merge=*/false) : FailureOr<VectorNest>();
    if (!op || failed(nest) || nest->empty)
      break;
    nests.push_back(*nest);
    if (rows == 0)
      rows = rowsOfReduction(*nest);
  }
  if (rows <= 1)
    return 0;
  RowGroup group(rows);
  int64_t columns = 1;
  bool reduces = false;
  size_t taken = 0;
  SmallVector<Operation *> absorbed;
  for (const VectorNest &nest : nests) {
    auto step = asRows(nest, rows);
    if (!step)
      break;
    // A product whose zeros were folded into it, for the cube, adds to nothing here either.
    if (Value destination = planner.overwritten(nest.op)) {
      if (!step->reduces || destination != nest.op.getDpsInits()[0])
        break;
      step->fromNeutral = true;
    }
    bool whole = !group.steps.empty() && startsWithFirst(group.steps.back(), *step);
    if (whole) {
      absorbed.push_back(group.steps.back().op);
      group.removeLast();
    }
    int64_t width = step->columns;
    bool isReduction = step->reduces;
    if (!group.add(std::move(*step))) {
      if (whole)
        return 0; // its first element is lost
      break;
    }
    columns = std::max(columns, width);
    reduces |= isReduction;
    ++taken;
  }
  if (taken < 2 || !reduces || group.steps.empty())
    return 0;
  for (RowStep &step : group.steps)
    for (RowOperand &input : step.inputs)
      input.streamed =
          planner.streams(Value::getFromOpaquePointer(input.access.root), steps.take_front(taken));
  for (RowStep &step : group.steps)
    step.storesResult = !isTemporary(Value::getFromOpaquePointer(step.result->access.root),
                                     steps.take_front(taken));

  Location loc = steps.front()->getLoc();
  RowOptions options;
  EmitPhase emit = [&](PhaseEmitter &emitter, TileBuffers &buffers, const Tiling &tiling,
                       std::string &why) -> LogicalResult {
    return RowEmitter(emitter, buffers, group, tiling, options).emit(why);
  };
  int64_t cores = planner.cores("aiv");
  int64_t most = 0;
  // A long row takes so long that its result has left when the next one comes.
  for (RowOptions choice : {RowOptions{true, 2, 2}, {true, 1, 2}, {false, 1, 2}, {false, 1, 1}}) {
    options = choice;
    auto bytes =
        tryPhase(loc, tilingOf(group, columns, std::min<int64_t>(rows, 2), 1), emit, reason);
    if (failed(bytes))
      return 0;
    for (int64_t low = 1, high = std::min<int64_t>(rows, 4095); low <= high;) {
      int64_t middle = (low + high) / 2;
      if ((*bytes)(tilingOf(group, columns, middle, cores).size) <= vectorBudget(planner)) {
        most = middle;
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    if (most > 0)
      break;
  }
  if (most == 0)
    return 0;
  int64_t pitch = tilingOf(group, columns, 1, cores).size.pitch;
  int64_t share = ceilDiv(rows, cores);
  int64_t size = std::max(ceilDiv(share, kGoodRounds), std::min(share, ceilDiv(kGoodTile, pitch)));
  size = std::min(size, most);
  // The same number of rounds with equal tiles.
  int64_t rounds = ceilDiv(ceilDiv(rows, size), cores);
  size = std::min(size, ceilDiv(rows, rounds * cores));
  Tiling tiling = tilingOf(group, columns, size, cores);
  if (failed(planPhase(planner, loc, tiling, emit, reason)))
    return failure();
  for (Operation *op : absorbed)
    planner.record({op->getLoc(), "vector", "part of the row reduction that follows", ""});
  for (const RowStep &step : group.steps) {
    linalg::GenericOp op = step.op;
    planner.record({op.getLoc(), "vector",
                    std::string(step.reduces ? "row reduction " : "rows ") + std::to_string(rows) +
                        "x" + std::to_string(step.columns) + ", one of " + std::to_string(taken) +
                        " in a phase",
                    ""});
  }
  return taken;
}

} // namespace pyasc::npu
