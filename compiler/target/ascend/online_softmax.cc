#include "compiler/target/ascend/online_softmax.h"

#include <cmath>
#include <limits>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace pyasc::npu {

using namespace mlir;

namespace {

constexpr double kLn2 = 0.6931471805599453;
constexpr int64_t kLanes = 64;        // of f32 in a repeat
constexpr int64_t kBankPattern = 512; // bytes of UB after which banks are the same

int64_t roundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

//===------------------------------------------------------------------------------------------===//
// Finding it
//===------------------------------------------------------------------------------------------===//

// An operation of a step's body, with the step that says what its arguments are.
struct Term {
  const RowStep *step;
  Value value;

  const RowOperand *operand() const {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != step->op.getBody() ||
        argument.getArgNumber() >= step->inputs.size())
      return nullptr;
    return &step->inputs[argument.getArgNumber()];
  }
  bool reads(const RowAccess &access) const {
    const RowOperand *read = operand();
    return read && read->access == access;
  }
  bool isOutside() const { return Value(value).getParentBlock() != step->op.getBody(); }
  Operation *op() const { return isOutside() ? nullptr : value.getDefiningOp(); }
  Term of(Value other) const { return {step, other}; }
};

// Whether two steps compute the same number of the same elements.
bool isSame(const Term &a, const Term &b) {
  if (const RowOperand *operand = a.operand())
    return b.reads(operand->access) && operand->element == b.operand()->element;
  if (a.isOutside())
    return a.value == b.value;
  Operation *one = a.op(), *two = b.op();
  if (!one || !two || one->getName() != two->getName() ||
      one->getAttrDictionary() != two->getAttrDictionary() ||
      one->getNumOperands() != two->getNumOperands() || one->getNumResults() != 1 ||
      two->getNumResults() != 1 || one->getNumRegions() != 0 ||
      one->getResult(0).getType() != two->getResult(0).getType())
    return false;
  for (auto [x, y] : llvm::zip_equal(one->getOperands(), two->getOperands()))
    if (!isSame(a.of(x), b.of(y)))
      return false;
  return true;
}

Term resultOf(const RowStep &step) {
  return {&step, step.op.getBody()->getTerminator()->getOperand(0)};
}

Term unwidened(const Term &term) {
  auto wide = dyn_cast_or_null<arith::ExtFOp>(term.op());
  return wide ? term.of(wide.getIn()) : term;
}

// What a step sets its result to, a constant; null: it does something else.
TypedAttr fillOf(const RowStep &step) {
  Attribute constant;
  if (step.reduces || llvm::any_of(step.inputs, [](const RowOperand &in) { return in.used; }) ||
      !matchPattern(resultOf(step).value, m_Constant(&constant)))
    return {};
  return dyn_cast<TypedAttr>(constant);
}

class Finder {
public:
  Finder(OnlineSoftmax &found, Value scores, Value probabilities)
      : found(found), steps(found.rows.group.steps), scores(scores.getAsOpaquePointer()),
        probabilities(probabilities.getAsOpaquePointer()) {}

  bool run() {
    // Elementwise steps, up to the maximum.
    while (at < steps.size() && !steps[at].reduces && !isFillAt(at) && isElementwise(steps[at]))
      ++at;
    found.before = at;
    found.scores = scores;
    const RowStep *maximum = reductionAt(Binary::max);
    if (!maximum)
      return false;
    found.maximum = maximum;
    found.element = findCombiner(maximum->op)->element;
    const Term score{maximum, found.element};
    if (!found.element.getType().isF32())
      return false;
    // exp(score - maximum)
    if (at == steps.size())
      return false;
    const RowStep &power = steps[at++];
    Term term = resultOf(power);
    auto exponential = dyn_cast_or_null<math::ExpOp>(term.op());
    auto difference = exponential
                          ? term.of(exponential.getOperand()).value.getDefiningOp<arith::SubFOp>()
                          : arith::SubFOp();
    if (power.reduces || !difference || !power.result->element.isF32() ||
        !isSame(score, term.of(difference.getLhs())) ||
        !term.of(difference.getRhs()).reads(maximum->result->access) || power.storesResult)
      return false;
    // Its sum, and the quotient.
    auto isPower = [&](const Term &value) {
      return value.reads(power.result->access) || isSame(term, value);
    };
    const RowStep *sum = reductionAt(Binary::add);
    if (!sum || !isPower({sum, findCombiner(sum->op)->element}) || at + 1 != steps.size())
      return false;
    const RowStep &last = steps[at];
    Term quotient = resultOf(last);
    if (auto rounding = dyn_cast_or_null<arith::TruncFOp>(quotient.op()))
      quotient = quotient.of(rounding.getIn());
    auto division = dyn_cast_or_null<arith::DivFOp>(quotient.op());
    if (!division || !isPower(quotient.of(division.getLhs())) ||
        !quotient.of(division.getRhs()).reads(sum->result->access) ||
        last.result->access.root != probabilities)
      return false;
    // Perhaps through steps that only widen.
    Term plain = unwidened(score);
    for (size_t number = found.before; number-- > 0;)
      if (plain.reads(steps[number].result->access))
        plain = unwidened(resultOf(steps[number]));
    found.isPlain = plain.operand() && plain.operand()->access.root == scores;
    return true;
  }

private:
  bool isFillAt(size_t number) const { return bool(fillOf(steps[number])); }

  bool isElementwise(const RowStep &step) const {
    return step.result->kind == TileKind::full && !step.storesResult && !step.result->used &&
           operandsFit(step);
  }

  // What the code loads panel by panel.
  bool operandsFit(const RowStep &step) const {
    return llvm::all_of(step.inputs, [&](const RowOperand &input) {
      return !input.used || input.access.columnStride == 1 || input.kind == TileKind::uniform ||
             (input.kind == TileKind::column && input.access.rowStride == 1);
    });
  }

  // The reduction that begins here, perhaps with a fill: of f32, from what changes nothing, to a
  // result that nobody else wants.
  const RowStep *reductionAt(Binary kind) {
    const RowStep *fill = at < steps.size() && isFillAt(at) ? &steps[at++] : nullptr;
    if (at == steps.size() || !steps[at].reduces)
      return nullptr;
    const RowStep &step = steps[at++];
    auto combiner = findCombiner(step.op);
    if (!combiner || !combiner->reduce || combiner->binary != kind || step.storesResult ||
        !step.result->element.isF32() || !operandsFit(step))
      return nullptr;
    if (step.fromNeutral)
      return fill ? nullptr : &step;
    return fill && fill->result->access == step.result->access && !fill->storesResult &&
                   fillOf(*fill) == combiner->neutral
               ? &step
               : nullptr;
  }

  OnlineSoftmax &found;
  const std::vector<RowStep> &steps;
  void *scores, *probabilities;
  size_t at = 0;
};

} // namespace

std::unique_ptr<OnlineSoftmax> findOnlineSoftmax(Planner &planner, ArrayRef<Operation *> steps,
                                                 Value scores, Value probabilities) {
  auto rows = findRows(planner, steps);
  if (!rows || rows->taken != steps.size())
    return nullptr;
  auto found = std::make_unique<OnlineSoftmax>();
  found->rows = std::move(*rows);
  return Finder(*found, scores, probabilities).run() ? std::move(found) : nullptr;
}

//===------------------------------------------------------------------------------------------===//
// Memory
//===------------------------------------------------------------------------------------------===//

int64_t bytesOf(const OnlineShape &shape, const OnlineSoftmax &softmax) {
  auto whole = [](int64_t bytes) { return roundUp(bytes, kBankPattern); };
  const int64_t tile = shape.rows * kPanel, sums = shape.rows * shape.pitch();
  const bool narrow = softmax.isPlain && shape.scores.isF16();
  const int64_t in = 2 * whole(tile * bytesOf(shape.scores));
  const int64_t out = 2 * whole(tile * bytesOf(shape.probabilities));
  // Of these, one or two are in use at a time.
  const int64_t lanes = whole(tile * (narrow ? 2 : 4)), x = whole(tile * 4);
  const int64_t reduced = whole(shape.rows * 256);
  const int64_t product = whole(sums * 4), rounded = whole(sums * bytesOf(shape.result));
  const int64_t passing =
      std::max({narrow ? lanes : lanes + x, x + reduced, product + rounded, lanes + reduced});
  const int64_t columns =
      (6 + 2 * (shape.lag + 1)) * whole(shape.rows * 4) + whole(roundUp(shape.rows, 8) * 32);
  return in + out + whole(sums * 4) + whole(tile * 4) + passing + columns;
}

OnlineCode::OnlineCode(PhaseEmitter &emitter, TileBuffers &buffers, const OnlineSoftmax &softmax,
                       const OnlineShape &shape, Location loc)
    : emitter_(emitter), builder_(emitter.builder()), buffers_(buffers), softmax_(softmax),
      shape_(shape), loc_(loc),
      code_(emitter, buffers, TileSize{shape.rows, kPanel, 1, /*hasRows=*/true}, loc),
      f32_(builder_.getF32Type()),
      lanes_(softmax.isPlain && shape.scores.isF16() ? shape.scores : f32_) {}

void OnlineCode::prepare() {
  const int64_t rows = shape_.rows, tile = rows * kPanel, sums = rows * shape_.pitch();
  sum_ = buffer(sums, f32_);
  laneSums_ = buffer(tile, f32_);
  tailSums_ = buffer(rows, f32_);
  maxima_ = buffer(rows, f32_);
  factors_ = buffer(rows, f32_, shape_.lag + 1);
  totals_ = buffer(rows, f32_, shape_.lag + 1);
  in_ = buffer(tile, shape_.scores, 2);
  out_ = buffer(tile, shape_.probabilities, 2);
  laneMaxima_ = buffer(tile, lanes_);
  blockMaxima_ = buffer(rows, f32_);
  narrow_ = buffer(rows, lanes_);
  product_ = buffer(sums, f32_);
  broadcast_ = buffer(roundUp(rows, 8) * 8, f32_);
  if (!shape_.probabilities.isF32())
    x_ = buffer(tile, f32_);
  // Memory that is full keeps loads waiting for what shares it: these are rarely used.
  const bool fits = shape_.pitch() <= kPanel;
  if (!shape_.result.isF32() && !(fits && shape_.result == shape_.scores))
    rounded_ = buffer(sums, shape_.result);
  reduced_ = x_ && lanes_ != f32_ && shape_.tail() == 0 ? x_ : buffer(rows * kLanes, f32_);
  // These live from block to block.
  Value zero = number(0, f32_);
  builder_.create<VDupOp>(loc_, sum_, index(0), zero, index(sums));
  builder_.create<VDupOp>(loc_, laneSums_, index(0), zero, index(tile));
  builder_.create<VDupOp>(loc_, tailSums_, index(0), zero, index(rows));
  builder_.create<VDupOp>(loc_, maxima_, index(0), zero, index(rows));
}

//===------------------------------------------------------------------------------------------===//
// Pieces
//===------------------------------------------------------------------------------------------===//

Value OnlineCode::add(Value a, Value b) { return builder_.createOrFold<arith::AddIOp>(loc_, a, b); }
Value OnlineCode::mul(Value a, int64_t b) {
  return builder_.createOrFold<arith::MulIOp>(loc_, a, index(b));
}
Value OnlineCode::number(double value, Type type) { return code_.constant(type, value); }

// Rounded up so that slots are whole blocks.
Value OnlineCode::buffer(int64_t elements, Type element, int64_t depth) {
  mlir::Block *entry = &builder_.getBlock()->getParent()->front();
  OpBuilder start = OpBuilder::atBlockBegin(entry);
  MemRefType type = memoryType(roundUp(elements, 128), element, Space::ub);
  return start.create<BufferOp>(loc_, type, depth, IntegerAttr());
}

Value OnlineCode::slot(Value buffer, Value turn) {
  return builder_.create<SlotOp>(loc_, buffer.getType(), buffer, turn);
}

void OnlineCode::repeat(Value count, function_ref<void(Value)> body) {
  auto loop = builder_.create<scf::ForOp>(loc_, index(0), count, index(1));
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void OnlineCode::binary(Binary op, Value dst, Value a, Value b, Value count) {
  Value zero = index(0);
  builder_.create<VBinaryOp>(loc_, op, dst, zero, a, zero, b, zero, count);
}

void OnlineCode::rowBinary(Binary op, Value dst, Value a, Value b, Value rows, Value columns,
                           int64_t stride) {
  Value zero = index(0);
  builder_.create<VRowBinaryOp>(loc_, op, dst, zero, a, zero, b, zero, broadcast_, zero, rows,
                                columns, index(stride), /*reverse=*/false);
}

void OnlineCode::rowReduce(Reduce op, Value dst, Value a, Value rows, Value columns) {
  Value zero = index(0);
  Value scratch = cast<MemRefType>(a.getType()).getElementType() == f32_ ? reduced_ : a;
  builder_.create<VRowReduceOp>(loc_, op, dst, zero, a, zero, scratch, zero, rows, columns,
                                index(kPanel));
}

Value OnlineCode::loadScores(const Block &block, const Place &scores, Value panel, Value columns) {
  Value memory = slot(in_, panel);
  Value from = add(scores.start, mul(panel, scores.panelStride));
  Value pitch = index(kPanel);
  if (constantOf(columns) == kPanel) {
    Value length = mul(block.rows, kPanel);
    builder_.create<LoadOp>(loc_, memory, index(0), scores.memory, from, index(1), length, length,
                            length);
  } else {
    builder_.create<LoadOp>(loc_, memory, index(0), scores.memory, from, block.rows, columns, pitch,
                            pitch);
  }
  return memory;
}

//===------------------------------------------------------------------------------------------===//
// The scores
//===------------------------------------------------------------------------------------------===//

FailureOr<TileValue> OnlineCode::read(const RowOperand &operand, const Block &block, Value column,
                                      Value columns) {
  auto view = emitter_.view(operand.memref);
  if (failed(view)) {
    reason_ = emitter_.reason();
    return failure();
  }
  const RowAccess &access = operand.access;
  Value at = add(index(access.start), mul(block.row, access.rowStride));
  TileValue value;
  value.kind = operand.kind;
  value.type = value.storage = operand.element;
  value.offset = index(0);
  if (operand.kind == TileKind::uniform)
    return code_.uniform(builder_.create<memref::LoadOp>(loc_, view->base, at));
  if (operand.kind != TileKind::column)
    at = add(at, column);
  Value &memory = operands_[access];
  if (!memory)
    memory = buffers_.make(loc_, bufferOf(operand.kind), operand.element, 1);
  value.memory = memory;
  const bool full = operand.kind == TileKind::full;
  Value length = operand.kind == TileKind::column ? block.rows : columns;
  builder_.create<LoadOp>(loc_, memory, index(0), view->base, at, full ? block.rows : index(1),
                          length, full ? index(access.rowStride) : length, index(kPanel));
  return value;
}

FailureOr<TileValue> OnlineCode::evaluate(Value memory, const Block &block, Value panel,
                                          Value columns) {
  code_.setTile(block.rows, columns);
  Value column = add(block.column, mul(panel, kPanel));
  std::map<RowAccess, TileValue> values;
  auto body = [&](const RowStep &step, Operation *skip, Value wanted) -> FailureOr<TileValue> {
    SmallVector<TileValue> arguments;
    for (const RowOperand &input : step.inputs) {
      TileValue value;
      if (input.used && input.access.root == softmax_.scores) {
        value.kind = TileKind::full;
        value.type = value.storage = shape_.scores;
        value.memory = memory;
        value.offset = index(0);
      } else if (auto known = values.find(input.access); known != values.end()) {
        value = known->second;
      } else if (input.used) {
        auto loaded = read(input, block, column, columns);
        if (failed(loaded))
          return failure();
        value = *loaded;
      }
      arguments.push_back(value);
    }
    arguments.push_back({});
    TileBody code(code_, *step.op.getBody());
    FailureOr<TileValue> value = failure();
    if (succeeded(code.evaluate(std::move(arguments), {}, skip)))
      value = code.value(wanted);
    if (failed(value)) {
      reason_ = code.reason();
      return failure();
    }
    // As it would stand in memory.
    Type type = skip ? Type(f32_) : step.result->element;
    TileValue result = code_.toFull(*value);
    result.type = type;
    return result;
  };
  for (size_t number = 0; number < softmax_.before; ++number) {
    const RowStep &step = softmax_.rows.group.steps[number];
    auto value = body(step, nullptr, resultOf(step).value);
    if (failed(value))
      return failure();
    values[step.result->access] = *value;
  }
  const RowStep &maximum = *softmax_.maximum;
  return body(maximum, findCombiner(maximum.op)->op, softmax_.element);
}

//===------------------------------------------------------------------------------------------===//
// Powers
//===------------------------------------------------------------------------------------------===//

LogicalResult OnlineCode::emitMaxima(const Block &block, const Place &scores, Value panel,
                                     Value columns, bool whole) {
  Value memory = loadScores(block, scores, panel, columns);
  if (hasWideScores()) {
    auto x = evaluate(memory, block, panel, columns);
    if (failed(x))
      return failure();
    memory = x->memory;
    // The lease ends here, but nothing takes the buffer before it is read.
  }
  if (whole) {
    binary(Binary::max, laneMaxima_, laneMaxima_, memory, mul(block.rows, kPanel));
    return success();
  }
  rowReduce(Reduce::max, narrow_, memory, block.rows, columns);
  return success();
}

LogicalResult OnlineCode::emitExponentials(const Block &block, const Place &scores,
                                           const Place &powers, Value panel, Value columns,
                                           bool whole) {
  Value zero = index(0), count = mul(block.rows, kPanel);
  Value memory = loadScores(block, scores, panel, columns);
  Value out = slot(out_, panel);
  Value x = x_ ? x_ : out;
  if (softmax_.isPlain && shape_.scores.isF32()) {
    rowBinary(Binary::sub, x, memory, maxima_, block.rows, columns, kPanel);
  } else if (softmax_.isPlain) {
    builder_.create<VCastOp>(loc_, x, zero, memory, zero, count, Round::none, false);
    rowBinary(Binary::sub, x, x, maxima_, block.rows, columns, kPanel);
  } else {
    auto score = evaluate(memory, block, panel, columns);
    if (failed(score))
      return failure();
    rowBinary(Binary::sub, x, score->memory, maxima_, block.rows, columns, kPanel);
  }
  builder_.create<VUnaryOp>(loc_, Unary::exp, x, zero, x, zero, count);
  if (whole) {
    binary(Binary::add, laneSums_, laneSums_, x, count);
  } else {
    rowReduce(Reduce::sum, blockMaxima_, x, block.rows, columns);
    binary(Binary::add, tailSums_, tailSums_, blockMaxima_, block.rows);
  }
  if (x != out)
    builder_.create<VCastOp>(loc_, out, zero, x, zero, count, Round::rint, false);
  Value to = add(powers.start, mul(panel, powers.panelStride));
  Value pitch = index(kPanel);
  if (whole)
    builder_.create<StoreOp>(loc_, powers.memory, to, out, zero, index(1), count, count, count,
                             Atomic::none);
  else
    builder_.create<StoreOp>(loc_, powers.memory, to, out, zero, block.rows, columns, pitch, pitch,
                             Atomic::none);
  return success();
}

LogicalResult OnlineCode::emitPowers(const Block &block, const Place &scores, const Place &powers) {
  Value zero = index(0), panel = index(kPanel), tail = index(shape_.tail());
  Value rows = block.rows;
  bool fine = true;
  Value least = number(-std::numeric_limits<float>::max(), f32_);
  repeat(block.isFirst, [&](Value) {
    Value nothing = number(0, f32_);
    builder_.create<VDupOp>(loc_, maxima_, zero, least, rows);
    builder_.create<VDupOp>(loc_, laneSums_, zero, nothing, mul(rows, kPanel));
    builder_.create<VDupOp>(loc_, tailSums_, zero, nothing, rows);
  });

  // The maxima of this block.
  builder_.create<VDupOp>(loc_, laneMaxima_, zero,
                          number(-std::numeric_limits<double>::infinity(), lanes_),
                          mul(rows, kPanel));
  repeat(block.panels,
         [&](Value p) { fine &= succeeded(emitMaxima(block, scores, p, panel, /*whole=*/true)); });
  rowReduce(Reduce::max, lanes_ == f32_ ? blockMaxima_ : narrow_, laneMaxima_, rows, panel);
  auto widen = [&] {
    if (lanes_ != f32_)
      builder_.create<VCastOp>(loc_, blockMaxima_, zero, narrow_, zero, rows, Round::none, false);
  };
  widen();
  // Where sums of powers times elements might be too large, all powers are smaller.
  auto lower = [&] {
    if (shape_.probabilities.isF16())
      return;
    double by = std::ceil(std::log2(static_cast<double>(shape_.columns))) * kLn2;
    builder_.create<VScalarOp>(loc_, Scalar::adds, blockMaxima_, zero, blockMaxima_, zero,
                               number(by, f32_), rows);
  };
  lower();
  Value factors = slot(factors_, block.turn);
  // The maximum so far and the factor from the one before.
  builder_.create<VScalarOp>(loc_, Scalar::adds, factors, zero, maxima_, zero, number(0, f32_),
                             rows);
  binary(Binary::max, maxima_, maxima_, blockMaxima_, rows);
  if (shape_.tail() != 0)
    repeat(block.tail, [&](Value) {
      fine &= succeeded(emitMaxima(block, scores, block.panels, tail, /*whole=*/false));
      if (lanes_ == f32_)
        builder_.create<VScalarOp>(loc_, Scalar::adds, blockMaxima_, zero, narrow_, zero,
                                   number(0, f32_), rows);
      widen();
      lower();
      binary(Binary::max, maxima_, maxima_, blockMaxima_, rows);
    });
  binary(Binary::sub, factors, factors, maxima_, rows);
  builder_.create<VUnaryOp>(loc_, Unary::exp, factors, zero, factors, zero, rows);
  rowBinary(Binary::mul, laneSums_, laneSums_, factors, rows, panel, kPanel);
  if (shape_.tail() != 0)
    binary(Binary::mul, tailSums_, tailSums_, factors, rows);

  repeat(block.panels, [&](Value p) {
    fine &= succeeded(emitExponentials(block, scores, powers, p, panel, /*whole=*/true));
  });
  if (shape_.tail() != 0)
    repeat(block.tail, [&](Value) {
      fine &=
          succeeded(emitExponentials(block, scores, powers, block.panels, tail, /*whole=*/false));
    });
  repeat(block.isLast, [&](Value) {
    Value totals = slot(totals_, block.turn);
    rowReduce(Reduce::sum, totals, laneSums_, rows, panel);
    if (shape_.tail() != 0)
      binary(Binary::add, totals, totals, tailSums_, rows);
  });
  return success(fine);
}

//===------------------------------------------------------------------------------------------===//
// Products
//===------------------------------------------------------------------------------------------===//

void OnlineCode::emitSum(const Block &block, Value product, Value productStart, Value result,
                         Value resultStart, int64_t resultStride) {
  const int64_t pitch = shape_.pitch();
  Value zero = index(0), width = index(shape_.width), rows = block.rows;
  Value count = mul(rows, pitch);
  if (shape_.width == pitch)
    builder_.create<LoadOp>(loc_, product_, zero, product, productStart, index(1), count, count,
                            count);
  else
    builder_.create<LoadOp>(loc_, product_, zero, product, productStart, rows, width, index(pitch),
                            index(pitch));
  repeat(block.isFirst,
         [&](Value) { builder_.create<VDupOp>(loc_, sum_, zero, number(0, f32_), count); });
  rowBinary(Binary::mul, sum_, sum_, slot(factors_, block.turn), rows, width, pitch);
  binary(Binary::add, sum_, sum_, product_, count);
  repeat(block.isLast, [&](Value) {
    rowBinary(Binary::div, sum_, sum_, slot(totals_, block.turn), rows, width, pitch);
    Value from = sum_;
    if (!shape_.result.isF32()) {
      from = rounded_ ? rounded_ : slot(in_, zero);
      builder_.create<VCastOp>(loc_, from, zero, sum_, zero, count, Round::rint, false);
    }
    builder_.create<StoreOp>(loc_, result, resultStart, from, zero, rows, width,
                             index(resultStride), index(pitch), Atomic::none);
  });
}

} // namespace pyasc::npu
