// Row-wise steps that follow each other become one phase: each core takes tiles of whole rows,
// loads what the steps read once, and keeps what one step hands to the next in UB.
#include <algorithm>
#include <map>
#include <set>

#include "compiler/target/ascend/plan_vector_rows.h"
#include "compiler/target/ascend/row_group.h"
#include "compiler/target/ascend/row_sharing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace pyasc::npu {

using namespace mlir;

namespace {

// Rows up to this long are worked on several at a time; longer ones one by one, since row-wise
// instructions repeat over at most 255 blocks.
constexpr int64_t kRepeatedPitch = 2016;
constexpr int64_t kGoodTile = 4096;
constexpr int64_t kGoodRounds = 4;

// What a phase does for speed as long as its buffers fit.
struct RowOptions {
  // 16-bit operands that all rows share are widened once.
  bool widen = true;
  int64_t resultSlots = 2;
  int64_t inputSlots = 2;
  // What several steps compute is held from the first to the last of them.
  bool share = true;
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
        code_(emitter, buffers, tiling.size, loc_), sharing_(group) {}

  // All rows, divided among the cores.
  LogicalResult emit(std::string &reason) {
    return explained(succeeded(loadShared()) ? emitAll() : failure(), reason);
  }
  // Rows that `loops` chooses.
  LogicalResult emit(function_ref<LogicalResult(RowSteps::EmitTile)> loops, std::string &reason) {
    auto tile = [&](const RowTile &tile) {
      row_ = tile.row;
      rows_ = tile.rows;
      iteration_ = tile.iteration;
      fed_ = tile.fed;
      return emitSteps();
    };
    return explained(succeeded(loadShared()) ? loops(tile) : failure(), reason);
  }

private:
  LogicalResult explained(LogicalResult done, std::string &reason) const {
    if (failed(done))
      reason = !reason_.empty() ? reason_ : emitter_.reason();
    return done;
  }

  // What does not change from row to row is loaded once.
  LogicalResult loadShared() {
    for (const RowStep &step : group_.steps)
      for (auto [position, input] : llvm::enumerate(step.inputs)) {
        if (!input.used || input.access.rowStride != 0)
          continue;
        bool widen = isWidened(step, position);
        if (!(widen ? widened_ : values_).count(input.access) && failed(loadOnce(input, widen)))
          return failure();
      }
    return success();
  }

  LogicalResult emitAll() {
    Value block = builder_.create<BlockIdxOp>(loc_, builder_.getIndexType());
    Value cores = code_.index(tiling_.cores);
    Value mine = code_.index(tiling_.tasks / tiling_.cores);
    if (tiling_.tasks % tiling_.cores != 0)
      mine = builder_.createOrFold<arith::CeilDivUIOp>(
          loc_, builder_.createOrFold<arith::SubIOp>(loc_, code_.index(tiling_.tasks), block),
          cores);
    // Sets row_ and rows_; none are left where the tile is one too many.
    auto startTile = [&](Value iteration, bool isPast) {
      Value task = builder_.createOrFold<arith::AddIOp>(
          loc_, block, builder_.createOrFold<arith::MulIOp>(loc_, iteration, cores));
      int64_t size = tiling_.size.rows;
      iteration_ = iteration;
      row_ = builder_.createOrFold<arith::MulIOp>(loc_, task, code_.index(size));
      rows_ = code_.index(size);
      if (isPast || group_.rows % size != 0)
        rows_ = builder_.createOrFold<arith::MinSIOp>(
            loc_, rows_,
            builder_.createOrFold<arith::SubIOp>(loc_, code_.index(group_.rows), row_));
      if (isPast)
        rows_ = builder_.createOrFold<arith::MaxSIOp>(loc_, rows_, code_.index(0));
    };
    SmallVector<const RowOperand *> ahead = loadedAhead();
    auto loadAhead = [&](Value iteration, bool isPast) -> LogicalResult {
      startTile(iteration, isPast);
      for (const RowOperand *operand : ahead)
        if (failed(loadTile(*operand, ahead_.at(operand->access), isPast)))
          return failure();
      return success();
    };
    for (const RowOperand *operand : ahead)
      ahead_[operand->access] = buffers_.make(loc_, BufferKind::full, operand->element, 2);
    if (!ahead.empty() && failed(loadAhead(code_.index(0), false)))
      return failure();
    auto loop = builder_.create<scf::ForOp>(loc_, code_.index(0), mine, code_.index(1));
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(loop.getBody());
    Value next = builder_.create<arith::AddIOp>(loc_, loop.getInductionVar(), code_.index(1));
    if (!ahead.empty() && failed(loadAhead(next, true)))
      return failure();
    startTile(loop.getInductionVar(), false);
    return emitSteps();
  }

  // Where tiles are single rows, the scalar unit waits for what a row adds up to, and would ask for
  // the next one only then: rows are asked for one tile ahead.
  SmallVector<const RowOperand *> loadedAhead() const {
    SmallVector<const RowOperand *> result;
    std::set<RowAccess> written, seen;
    for (const RowStep &step : group_.steps)
      written.insert(step.result->access);
    if (tiling_.size.hasRows || tiling_.tasks <= tiling_.cores || options_.inputSlots < 2)
      return result;
    for (const RowStep &step : group_.steps)
      for (const RowOperand &input : step.inputs)
        if (input.used && input.kind == TileKind::full && input.access.rowStride != 0 &&
            !written.count(input.access) && seen.insert(input.access).second)
          result.push_back(&input);
    return result;
  }

  LogicalResult emitSteps() {
    shared_.clear();
    for (size_t number = 0; number < group_.steps.size(); ++number)
      if (failed(emitStep(number)))
        return failure();
    return success();
  }

  FailureOr<Value> address(const RowOperand &operand, Value &memory) {
    for (const RowTile::Fed &fed : fed_)
      if (fed.root.getAsOpaquePointer() == operand.access.root) {
        memory = fed.memory;
        return fed.offset;
      }
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

  // Loads the operand's rows of the tile into the slot of its iteration, which is returned.
  // `maybeNone`: there may be no rows.
  FailureOr<Value> loadTile(const RowOperand &operand, Value buffer, bool maybeNone) {
    Value gm;
    auto at = address(operand, gm);
    if (failed(at))
      return failure();
    const RowAccess &access = operand.access;
    Value memory = builder_.create<SlotOp>(loc_, buffer.getType(), buffer, iteration_);
    Value count = code_.index(1), length = code_.index(access.columns), stride = length;
    if (access.rowStride == access.columns && access.columns == tiling_.size.pitch)
      length = stride = builder_.createOrFold<arith::MulIOp>(loc_, rows_, length);
    else if (tiling_.size.hasRows)
      std::tie(count, stride) = std::pair(rows_, code_.index(access.rowStride));
    else if (maybeNone)
      count = rows_;
    auto load = builder_.create<LoadOp>(loc_, memory, code_.index(0), gm, *at, count, length,
                                        stride, pitch());
    load.setBypassL2(operand.streamed);
    return memory;
  }

  // The operand's part of the tile: as an earlier step left it, or from GM.
  FailureOr<TileValue> read(const RowOperand &operand) {
    auto known = values_.find(operand.access);
    if (known != values_.end())
      return known->second;
    const RowAccess &access = operand.access;
    if (auto ahead = ahead_.find(access); ahead != ahead_.end()) {
      Value buffer = ahead->second;
      return values_[access] = inBuffer(
                 operand, builder_.create<SlotOp>(loc_, buffer.getType(), buffer, iteration_));
    }
    if (operand.kind == TileKind::full) {
      Value buffer = buffers_.make(loc_, BufferKind::full, operand.element, options_.inputSlots);
      auto memory = loadTile(operand, buffer, false);
      if (failed(memory))
        return failure();
      return values_[access] = inBuffer(operand, *memory);
    }
    Value gm;
    auto at = address(operand, gm);
    if (failed(at))
      return failure();
    Value zero = code_.index(0), one = code_.index(1);
    TileValue value;
    if (access.rowStride == 1 || !tiling_.size.hasRows) {
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

  // Where tiles are single rows, what is one number a row is computed by the scalar unit, which is
  // to have it anyway: on the vector unit each operation would take its whole latency.
  static bool computesOnScalarUnit(const RowStep &step) {
    llvm::DenseSet<Value> wide; // or not f32
    Block *body = step.op.getBody();
    for (auto [position, input] : llvm::enumerate(step.inputs))
      if (input.kind != TileKind::uniform &&
          (input.kind != TileKind::column || !input.element.isF32()))
        wide.insert(body->getArgument(position));
    if (step.result->kind != TileKind::column || !step.result->element.isF32())
      wide.insert(body->getArguments().back());
    for (Operation &op : body->without_terminator()) {
      if (llvm::any_of(op.getOperands(), [&](Value operand) { return wide.contains(operand); })) {
        wide.insert(op.result_begin(), op.result_end());
        continue;
      }
      if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
               arith::ConstantOp, math::SqrtOp>(op) ||
          !op.getResult(0).getType().isF32())
        return false;
    }
    return true;
  }
  TileValue onScalarUnit(const RowStep &step, const TileValue &value) {
    return !tiling_.size.hasRows && value.kind == TileKind::column && value.storage.isF32() &&
                   value.memory && computesOnScalarUnit(step)
               ? code_.single(value)
               : value;
  }

  // What earlier steps computed for this one, and what it is to keep for later ones.
  void shareValues(size_t number, TileBody &body) {
    if (!options_.share)
      return;
    for (const RowSharing::Shared &taken : sharing_.taken(number)) {
      auto found = shared_.find(taken.key);
      if (found == shared_.end())
        continue;
      body.know(taken.value, found->second);
      if (sharing_.isLast(taken.key, number))
        shared_.erase(found); // it may be overwritten
    }
    for (const RowSharing::Shared &kept : sharing_.kept(number))
      body.keep(kept.value);
  }
  void keepValues(size_t number, TileBody &body) {
    for (const RowSharing::Shared &kept : sharing_.kept(number))
      if (TileValue value = body.kept(kept.value); value.memory && options_.share)
        shared_[kept.key] = std::move(value);
  }

  TileValue inFloat(const TileValue &value) {
    Type f32 = builder_.getF32Type();
    if (value.storage.isF32())
      return value;
    if (value.isUniform())
      return code_.uniform(builder_.createOrFold<arith::ExtFOp>(loc_, f32, value.scalar));
    return code_.cast(value, f32, Round::none);
  }

  // Whether a reduction starts from what a fill left that changes nothing.
  static bool isNeutral(const TileValue &before, const Combiner &combiner) {
    Attribute constant;
    return before.isUniform() && matchPattern(before.scalar, m_Constant(&constant)) &&
           constant == combiner.neutral;
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
      arguments.push_back(onScalarUnit(step, *value));
    }
    shareValues(number, body);
    FailureOr<TileValue> before = TileValue();
    if (readsResult(step))
      before = read(result);
    if (failed(before))
      return failure();
    arguments.push_back(onScalarUnit(step, *before));
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
      keepValues(number, body);
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
      if (!step.fromNeutral && !isNeutral(*before, combiner))
        value = code_.binary(combiner.binary, inFloat(*before), partial, direct ? into : nullptr);
      if (!direct)
        value = code_.cast(value, result.element, Round::rint, into);
      value.type = result.element;
    } else {
      if (failed(body.evaluate(std::move(arguments), {into})))
        return failBody();
      keepValues(number, body);
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
  // Buffers of what is loaded one tile ahead.
  std::map<RowAccess, Value> ahead_;
  // Operands of all rows in f32, for steps that want them so alone.
  std::map<RowAccess, TileValue> widened_;
  RowSharing sharing_;
  std::map<unsigned, TileValue> shared_; // by the key of sharing_
  Value iteration_, row_, rows_;
  SmallVector<RowTile::Fed, 2> fed_;
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

// The largest number of rows in a tile that fits into the budget, with the best options that leave
// any; 0: none. `emit` is to use `options`.
int64_t mostRows(const RowGroup &group, int64_t columns, Location loc, int64_t cores,
                 int64_t budget, const EmitPhase &emit, RowOptions &options, std::string &reason) {
  int64_t most = 0;
  // A long row takes so long that its result has left when the next one comes.
  for (RowOptions choice : {RowOptions{true, 2, 2, true},
                            {true, 1, 2, true},
                            {true, 2, 2, false},
                            {true, 1, 2, false},
                            {false, 1, 2, true},
                            {false, 1, 2, false},
                            {false, 1, 1, false}}) {
    options = choice;
    auto bytes =
        tryPhase(loc, tilingOf(group, columns, std::min<int64_t>(group.rows, 2), 1), emit, reason);
    if (failed(bytes))
      return 0;
    for (int64_t low = 1, high = std::min<int64_t>(group.rows, 4095); low <= high;) {
      int64_t middle = (low + high) / 2;
      if ((*bytes)(tilingOf(group, columns, middle, cores).size) <= budget) {
        most = middle;
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    if (most > 0)
      break;
  }
  return most;
}

} // namespace

FailureOr<size_t> planRows(Planner &planner, ArrayRef<Operation *> steps) {
  auto found = findRows(planner, steps);
  if (!found)
    return 0;
  auto &[group, columns, taken, absorbed] = *found;
  const int64_t rows = group.rows;
  std::string reason;
  Location loc = steps.front()->getLoc();
  RowOptions options;
  EmitPhase emit = [&](PhaseEmitter &emitter, TileBuffers &buffers, const Tiling &tiling,
                       std::string &why) -> LogicalResult {
    return RowEmitter(emitter, buffers, group, tiling, options).emit(why);
  };
  int64_t cores = planner.cores("aiv");
  int64_t most = mostRows(group, columns, loc, cores, vectorBudget(planner), emit, options, reason);
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

//===------------------------------------------------------------------------------------------===//
// For others
//===------------------------------------------------------------------------------------------===//

struct RowSteps::State {
  FoundRows found;
  RowOptions options;
};

RowSteps::RowSteps() = default;
RowSteps::~RowSteps() = default;

std::shared_ptr<RowSteps> RowSteps::find(Planner &planner, ArrayRef<Operation *> steps) {
  auto found = findRows(planner, steps);
  if (!found || found->taken != steps.size())
    return nullptr;
  std::shared_ptr<RowSteps> result(new RowSteps);
  result->state = std::make_unique<State>();
  result->state->found = std::move(*found);
  return result;
}

int64_t RowSteps::rows() const { return state->found.group.rows; }

static RowSteps::Use useOf(const RowAccess &access, const RowSteps::Use &before, Value root,
                           int64_t stride) {
  if (access.root != root.getAsOpaquePointer())
    return before;
  bool plain = access.start == 0 && access.rowStride == stride && access.columnStride == 1 &&
               access.columns == stride;
  return plain && before != RowSteps::Use::other ? RowSteps::Use::rows : RowSteps::Use::other;
}

RowSteps::Use RowSteps::readOf(Value root, int64_t stride) const {
  Use use = Use::none;
  for (const RowStep &step : state->found.group.steps)
    for (const RowOperand &input : step.inputs)
      if (input.used)
        use = useOf(input.access, use, root, stride);
  return use;
}

RowSteps::Use RowSteps::writeOf(Value root, int64_t stride) const {
  Use use = Use::none;
  for (const RowStep &step : state->found.group.steps)
    use = useOf(step.result->access, use, root, stride);
  return use;
}

bool RowSteps::touches(Value root) const {
  return readOf(root, 1) != Use::none || writeOf(root, 1) != Use::none;
}

LogicalResult RowSteps::emit(PhaseEmitter &emitter, TileBuffers &buffers, const Tiling &tiling,
                             function_ref<LogicalResult(EmitTile)> loops,
                             std::string &reason) const {
  return RowEmitter(emitter, buffers, state->found.group, tiling, state->options)
      .emit(loops, reason);
}

FailureOr<Tiling> RowSteps::chooseTiling(Location loc, int64_t most, int64_t budget,
                                         std::string &reason) {
  const auto &[group, columns, taken, absorbed] = state->found;
  EmitPhase emit = [&](PhaseEmitter &emitter, TileBuffers &buffers, const Tiling &tiling,
                       std::string &why) -> LogicalResult {
    return RowEmitter(emitter, buffers, state->found.group, tiling, state->options).emit(why);
  };
  int64_t rows = mostRows(group, columns, loc, 1, budget, emit, state->options, reason);
  if (rows == 0)
    return failure();
  int64_t pitch = tilingOf(group, columns, 1, 1).size.pitch;
  rows = std::min({rows, most, ceilDiv(kGoodTile, pitch)});
  return tilingOf(group, columns, ceilDiv(most, ceilDiv(most, rows)), 1);
}

} // namespace pyasc::npu
