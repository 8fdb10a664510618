// Reductions on tiles: what is combined is evaluated over a tile, folded into one line or one
// column, and added to the results so far.
//
// Lines (a reduction whose results lie along the vector) are folded by halves. So are columns,
// where the unit has no instruction that reduces them: the tile is transposed first. Sums of
// integers in 64 bits, which the unit does not have, are made of 32-bit sums; see
// Reduction::inHalves.
#include "compiler/target/ascend/plan_vector_reduce.h"

#include "compiler/target/ascend/plan_vector_emit.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace pyasc::npu {

using namespace mlir;

namespace {

// Elements of a 64-bit sum whose lower halves still add up in 32 bits: each is at most 2^15, and
// 2^8 more because the upper half is found by rounding to 24 bits.
constexpr int64_t kMostHalves = (int64_t{1} << 31) / ((1 << 15) + (1 << 8)) - 1;
// 64-bit elements that the scalar unit adds up in UB; it takes some 20 cycles for each.
constexpr int64_t kMostByScalar = 1 << 14;

// x for the body's `cmpi ne x, 0`, a bool as memory holds it.
Value truthOf(Value value) {
  auto compare = value.getDefiningOp<arith::CmpIOp>();
  bool fits = compare && compare.getPredicate() == arith::CmpIPredicate::ne &&
              matchPattern(compare.getRhs(), m_Zero());
  return fits ? compare.getLhs() : Value();
}

// The bound of what the widened elements may be in magnitude; 0: the unit cannot widen them.
int64_t magnitudeOf(Operation *widening) {
  Type from = widening->getOperand(0).getType();
  bool isUnsigned = isa<arith::ExtUIOp>(widening);
  if (from.isInteger(1))
    return isUnsigned ? 1 : 0;
  if (from.isInteger(8))
    return isUnsigned ? 255 : 128;
  if (isUnsigned)
    return 0;
  return from.isInteger(16) ? int64_t{1} << 15 : from.isInteger(32) ? int64_t{1} << 31 : 0;
}

} // namespace

std::optional<Reduce> Reduction::rowInstruction() const {
  if (!work.isF32() && !work.isF16())
    return std::nullopt;
  switch (binary) {
  case Binary::add:
    return Reduce::sum;
  case Binary::max:
    return Reduce::max;
  case Binary::min:
    return Reduce::min;
  default:
    return std::nullopt;
  }
}

FailureOr<Reduction> findReduction(linalg::GenericOp generic, int64_t points, int64_t results,
                                   std::string &reason) {
  Block &body = *generic.getBody();
  Value out = body.getArguments().back(), given = out;
  Reduction found;
  Value yielded = body.getTerminator()->getOperand(0);
  Operation *op = yielded.getDefiningOp();
  Type type = out.getType();
  Builder builder(type.getContext());
  reason = "a reduction of this kind has no instruction";
  if (generic.getNumDpsInits() != 1 || !op || op->getBlock() != &body || !out.hasOneUse())
    return failure();
  if (isa<arith::ExtUIOp>(op) && type.isInteger(8) && op->getOperand(0).getType().isInteger(1)) {
    Operation *truth = *out.getUsers().begin();
    op = op->getOperand(0).getDefiningOp();
    if (!op || op->getBlock() != &body || !isa<arith::OrIOp, arith::AndIOp>(op) ||
        !op->hasOneUse() || truth->getNumResults() != 1 || truthOf(truth->getResult(0)) != out ||
        !truth->hasOneUse())
      return failure();
    given = truth->getResult(0);
    found.isFlag = true;
  }
  if (op->getNumOperands() != 2 || *given.getUsers().begin() != op ||
      op->getOperand(0) == op->getOperand(1))
    return failure();
  found.op = op;
  found.combined = found.element = op->getOperand(op->getOperand(0) == given ? 1 : 0);
  if (found.isFlag) {
    bool any = isa<arith::OrIOp>(op);
    found.binary = any ? Binary::max : Binary::min;
    found.neutral = IntegerAttr::get(type, any ? 0 : 1);
    found.work = builder.getF16Type();
    return found;
  }
  // Maxima and minima from the combiner that other plans know, too.
  if (std::optional<Combiner> combiner = findCombiner(generic)) {
    found.binary = combiner->binary;
    found.neutral = combiner->neutral;
  } else if (isa<arith::MulIOp>(op)) {
    found.binary = Binary::mul;
    found.neutral = IntegerAttr::get(type, 1);
  } else {
    return failure();
  }
  if (isa<FloatType>(type)) {
    found.work = builder.getF32Type();
    return type.isF64() ? FailureOr<Reduction>() : found;
  }
  if (type.isInteger(32) || type.isInteger(16)) {
    found.work = type;
    return found;
  }
  if (type.isInteger(8) && found.binary != Binary::add && found.binary != Binary::mul) {
    found.work = builder.getF16Type();
    return found;
  }
  reason = "the vector unit has no such reduction of these integers";
  if (!type.isInteger(64) || found.binary != Binary::add)
    return failure();
  Operation *widening = found.combined.getDefiningOp();
  if (isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(widening) && widening->getBlock() == &body &&
      widening->hasOneUse()) {
    int64_t magnitude = magnitudeOf(widening);
    found.element = widening->getOperand(0);
    if (magnitude > 0 && points <= (int64_t{1} << 24) / magnitude &&
        !found.element.getType().isInteger(16)) {
      found.work = builder.getF32Type();
      return found;
    }
    found.work = builder.getI32Type();
    if (magnitude > 0 && points < (int64_t{1} << 31) / magnitude)
      return found;
    found.inHalves = true;
    reason = "a 64-bit sum of so many elements does not fit into 32-bit parts";
    return magnitude > 0 && points <= kMostHalves ? FailureOr<Reduction>(found)
                                                  : FailureOr<Reduction>();
  }
  found.work = type;
  found.byScalar = true;
  return isa<BlockArgument>(found.combined) && points * results <= kMostByScalar
             ? FailureOr<Reduction>(found)
             : FailureOr<Reduction>();
}

FailureOr<Reduction> findReduction(const VectorNest &nest, std::string &reason) {
  int64_t points = 1, results = 1;
  for (auto [extent, reduces] : llvm::zip_equal(nest.extents, nest.reduction))
    (reduces ? points : results) *= extent;
  return findReduction(nest.op, points, results, reason);
}

//===------------------------------------------------------------------------------------------===//
// Emission
//===------------------------------------------------------------------------------------------===//

namespace {

// The results of a tile while it is being reduced.
class Results {
public:
  Results(TileCode &code, TileBuffers &buffers, const Reduction &reduction, Type out, TileKind kind)
      : code_(code), b_(code.builder()), loc_(code.loc()), reduction_(reduction), out_(out),
        kind_(kind) {
    auto make = [&](Type type) {
      TileValue value;
      value.kind = kind;
      value.type = value.storage = type;
      value.memory = buffers.make(loc_, bufferOf(kind), type, 1);
      value.offset = code.index(0);
      return value;
    };
    sum_ = make(reduction.work);
    if (reduction.inHalves)
      upper_ = make(reduction.work);
    if (out != reduction.work)
      final_ = make(out);
  }

  // Where the value from which a result begins may be loaded to; null: it is no value in memory.
  TileValue target() const { return final_.memory ? final_ : sum_; }
  // What begins from zero, so that the vector unit need not add 64-bit numbers.
  bool addsBefore() const { return out_.isInteger(64) && !reduction_.byScalar; }

  // Begins from target()'s elements.
  void begin() {
    if (addsBefore()) {
      hasBefore_ = true;
      return beginFrom(code_.constant(reduction_.work, 0));
    }
    if (final_.memory)
      convert(final_, sum_);
  }
  // Begins from a scalar of the result's type.
  void begin(Value scalar) {
    hasBefore_ = addsBefore() && !matchPattern(scalar, m_Zero());
    if (addsBefore()) {
      if (hasBefore_)
        fill(final_, scalar);
      return beginFrom(code_.constant(reduction_.work, 0));
    }
    if (reduction_.byScalar)
      return fill(sum_, scalar);
    Type work = reduction_.work;
    if (scalar.getType() != work)
      scalar = isa<FloatType>(scalar.getType())
                   ? b_.createOrFold<arith::ExtFOp>(loc_, work, scalar)
                   : b_.createOrFold<arith::SIToFPOp>(loc_, work, scalar);
    beginFrom(scalar);
  }

  // Adds a tile of the reduction's elements, in its work type; full, of rows x columns.
  void add(TileValue tile) {
    if (reduction_.byScalar)
      return addByScalar(tile);
    if (reduction_.inHalves)
      code_.binary(Binary::add, upper_, fold(upperHalf(tile)), &upper_);
    code_.binary(reduction_.binary, sum_, fold(std::move(tile)), &sum_);
  }

  // In the result's type.
  TileValue finish() {
    if (!final_.memory)
      return sum_;
    if (out_.isInteger(64) && (hasBefore_ || reduction_.inHalves))
      finishByScalar();
    else if (out_.isInteger(64) || !isa<FloatType>(out_))
      code_.cast(sum_, out_, sum_.storage.isInteger(32) ? Round::none : Round::rint, &final_);
    else
      code_.cast(sum_, out_, Round::rint, &final_);
    return final_;
  }

private:
  void fill(const TileValue &value, Value scalar) {
    if (bytesOf(value.storage) != 8 && bytesOf(value.storage) != 1) {
      code_.fill(kind_, scalar, &value);
      return;
    }
    each(code_.count(kind_), [&](Value i) { store(scalar, value, i); });
  }
  void beginFrom(Value scalar) {
    code_.fill(kind_, scalar, &sum_);
    if (upper_.memory)
      code_.fill(kind_, code_.constant(reduction_.work, 0), &upper_);
  }
  void convert(const TileValue &from, const TileValue &to) {
    code_.cast(from, to.storage, Round::none, &to);
  }

  // round(x / 2^16)
  TileValue upperHalf(const TileValue &x) {
    TileValue number = code_.cast(x, b_.getF32Type(), Round::rint);
    code_.scalarOp(Scalar::muls, number, code_.constant(b_.getF32Type(), 0x1p-16), &number);
    return code_.cast(number, x.storage, Round::rint);
  }

  TileValue fold(TileValue tile) {
    if (kind_ == TileKind::row)
      return code_.reduceLines(reduction_.binary, std::move(tile));
    if (auto instruction = reduction_.rowInstruction())
      return code_.reduceRows(*instruction, std::move(tile));
    return code_.foldRows(reduction_.binary, std::move(tile));
  }

  void each(Value count, llvm::function_ref<void(Value)> body) {
    auto loop = b_.create<scf::ForOp>(loc_, code_.index(0), count, code_.index(1));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }
  Value load(const TileValue &value, Value at) {
    return b_.create<memref::LoadOp>(loc_, value.memory, at);
  }
  void store(Value scalar, const TileValue &value, Value at) {
    b_.create<memref::StoreOp>(loc_, scalar, value.memory, at);
  }

  void addByScalar(const TileValue &tile) {
    Value rows = code_.hasRows() ? code_.rows() : code_.index(1);
    each(rows, [&](Value r) {
      Value start = b_.createOrFold<arith::MulIOp>(loc_, r, code_.index(code_.pitch()));
      each(code_.cols(), [&](Value c) {
        Value into = kind_ == TileKind::column ? r : c;
        Value element = load(tile, b_.createOrFold<arith::AddIOp>(loc_, start, c));
        store(b_.create<arith::AddIOp>(loc_, load(sum_, into), element), sum_, into);
      });
    });
  }

  // 2^16 times the upper halves' sum, and what the sum modulo 2^32 is more than that.
  void finishByScalar() {
    TileValue sum = sum_;
    if (!sum.storage.isInteger(32))
      sum = code_.cast(sum_, b_.getI32Type(), Round::rint);
    each(code_.count(kind_), [&](Value i) {
      Type i64 = b_.getI64Type();
      Value low = load(sum, i), result;
      if (upper_.memory) {
        Value upper = load(upper_, i);
        Value shifted = b_.create<arith::ShLIOp>(loc_, upper, code_.constant(b_.getI32Type(), 16));
        Value rest =
            b_.create<arith::ExtSIOp>(loc_, i64, b_.create<arith::SubIOp>(loc_, low, shifted));
        Value wide = b_.create<arith::ShLIOp>(loc_, b_.create<arith::ExtSIOp>(loc_, i64, upper),
                                              code_.constant(i64, 16));
        result = b_.create<arith::AddIOp>(loc_, wide, rest);
      } else {
        result = b_.create<arith::ExtSIOp>(loc_, i64, low);
      }
      if (hasBefore_)
        result = b_.create<arith::AddIOp>(loc_, load(final_, i), result);
      store(result, final_, i);
    });
  }

  TileCode &code_;
  OpBuilder &b_;
  Location loc_;
  const Reduction &reduction_;
  Type out_;
  TileKind kind_;
  TileValue sum_, upper_, final_; // final_: null memory where the work type is the result's
  bool hasBefore_ = false;
};

} // namespace

// The body's element over the tile, in the reduction's work type.
FailureOr<TileValue> VectorEmitter::reducedTile(const Reduction &reduction) {
  SmallVector<TileValue> values = arguments();
  values.push_back(TileValue()); // the result is not asked for
  if (failed(body().evaluate(std::move(values), {}, nullptr, reduction.element)))
    return failure();
  auto element = body().take(reduction.element);
  if (failed(element))
    return failure();
  auto tile = body().converted(std::move(*element), reduction.work,
                               isa_and_nonnull<arith::ExtUIOp>(reduction.combined.getDefiningOp()));
  if (failed(tile))
    return failure();
  if (reduction.byScalar)
    return tile->kind == TileKind::full
               ? tile
               : FailureOr<TileValue>(fail("elements of 8 bytes cannot be spread"));
  return code_.toFull(*tile);
}

LogicalResult VectorEmitter::emitReduce() {
  const VectorOperand &out = nest().operands.back();
  std::string why;
  auto reduction = findReduction(nest(), why);
  if (failed(reduction))
    return fail(why);
  const bool isRow = loops().form == VectorForm::rowReduce;
  const TileKind kind = isRow ? TileKind::column : TileKind::row;
  // The dimension that is cut into tiles one after another.
  const int64_t along = isRow ? loops().column : loops().row;
  const int64_t tiles = isRow ? tiling_.columnTiles : tiling_.rowTiles;
  const int64_t size = isRow ? tiling_.size.pitch : tiling_.size.rows;
  Value rows = code_.rows(), cols = code_.cols();
  // The extent of results is what counts for them.
  auto setTile = [&](Value length) {
    isRow ? code_.setTile(rows, length) : code_.setTile(length, cols);
  };
  at_[along] = code_.index(0);
  setTile(code_.index(1));

  Results results(code_, buffers_, *reduction, out.element, kind);
  if (nest().fromNeutral) {
    results.begin(builder_.create<arith::ConstantOp>(loc_, reduction->neutral));
  } else if (nest().fill) {
    auto value = emitter_.scalar(nest().fill);
    if (failed(value))
      return failure();
    results.begin(*value);
  } else {
    auto at = address(out);
    auto view = emitter_.view(out.memref);
    if (failed(at) || failed(view))
      return failure();
    TileValue before = results.target();
    Value count = code_.count(kind);
    builder_.create<LoadOp>(loc_, before.memory, before.offset, view->base, *at, code_.index(1),
                            count, count, code_.index(kPitchUnit));
    results.begin();
  }

  auto isCut = [&](const Source &source) {
    return follows(*source.operand, loops().steps) ||
           ((tiles > 1 || nest().divided == along) && source.operand->strides[along] != 0);
  };
  setTile(limit(code_.index(0), size, along));
  for (Source &source : sources())
    if (!source.invariant && !isCut(source) && failed(load(source, iteration_)))
      return failure();
  auto part = [&](Value number) -> LogicalResult {
    for (Source &source : sources())
      if (!source.invariant && isCut(source) && failed(load(source, number)))
        return failure();
    auto tile = reducedTile(*reduction);
    if (failed(tile))
      return failure();
    results.add(std::move(*tile));
    return success();
  };
  auto step = [&](Value number) -> LogicalResult {
    if (tiles == 1)
      return part(number);
    Value count = code_.index(tiles);
    // The last part may be shorter by whole tiles.
    Value mine =
        nest().divided == along
            ? builder_.createOrFold<arith::CeilDivUIOp>(loc_, extentOf(along), code_.index(size))
            : count;
    auto loop = builder_.create<scf::ForOp>(loc_, code_.index(0), mine, code_.index(1));
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(loop.getBody());
    at_[along] =
        builder_.createOrFold<arith::MulIOp>(loc_, loop.getInductionVar(), code_.index(size));
    setTile(limit(at_[along], size, along));
    return part(builder_.createOrFold<arith::AddIOp>(
        loc_, builder_.createOrFold<arith::MulIOp>(loc_, number, count), loop.getInductionVar()));
  };
  if (failed(emitSteps(0, iteration_, step)))
    return failure();
  at_[along] = code_.index(0);
  setTile(code_.index(1));
  return store(out, results.finish());
}

} // namespace pyasc::npu
