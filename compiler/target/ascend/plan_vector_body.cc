#include "compiler/target/ascend/plan_vector_body.h"

#include <cmath>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace pyasc::npu {

using namespace mlir;

LogicalResult TileBody::refuse(Operation *op, StringRef why) {
  reason_ = "the vector unit has no " + op->getName().getStringRef().str();
  if (op->getNumResults() > 0) {
    llvm::raw_string_ostream stream(reason_);
    stream << " on " << op->getOperand(op->getNumOperands() - 1).getType();
  }
  if (!why.empty())
    reason_ += " (" + why.str() + ")";
  return failure();
}

// One instruction, which may write where it reads.
static bool isOneInstruction(Operation &op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::MaximumFOp,
             arith::MinimumFOp, arith::NegFOp, math::AbsFOp, math::ExpOp, math::LogOp, math::SqrtOp,
             math::RsqrtOp>(op);
}

std::optional<TileValue> TileBody::placeOf(Operation &op, llvm::DenseMap<Value, int> &left) {
  Type type = op.getNumResults() == 1 ? op.getResult(0).getType() : Type();
  if (!isOneInstruction(op) || !(type.isF32() || type.isF16()))
    return std::nullopt;
  // A function of f16 is computed in f32.
  if (type.isF16() && isa<math::ExpOp, math::LogOp, math::SqrtOp, math::RsqrtOp>(op))
    return std::nullopt;
  for (Value operand : op.getOperands()) {
    auto found = values_.find(operand);
    if (found == values_.end())
      continue;
    const TileValue &value = found->second;
    if (left[operand] == llvm::count(op.getOperands(), operand) && value.storage == type &&
        value.kind == TileKind::full && value.lease && value.lease.use_count() == 1)
      return value;
  }
  return std::nullopt;
}

// The tanh or erf that gives the value; null: another operation does.
static Operation *sigmoidOf(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<math::TanhOp, math::ErfOp>(op) ? op : nullptr;
}

bool TileBody::isIncremented(Operation *sigmoid) {
  auto add =
      sigmoid->hasOneUse() ? dyn_cast<arith::AddFOp>(*sigmoid->user_begin()) : arith::AddFOp();
  if (!add || !sigmoid->getResult(0).getType().isF32() || add->getBlock() != &body_)
    return false;
  Value other = add.getLhs() == sigmoid->getResult(0) ? add.getRhs() : add.getLhs();
  return matchPattern(other, m_OneFloat());
}

// The factor of a product with a constant; null: it has none.
static FloatAttr constantFactor(Operation *op, Value &other) {
  auto product = dyn_cast_or_null<arith::MulFOp>(op);
  if (!product || !product.getType().isF32())
    return {};
  FloatAttr constant;
  for (auto [factor, rest] : {std::pair(product.getLhs(), product.getRhs()),
                              std::pair(product.getRhs(), product.getLhs())})
    if (matchPattern(factor, m_Constant(&constant))) {
      other = rest;
      return constant;
    }
  return {};
}

Operation *TileBody::quotientOf(Operation *sigmoid) {
  if (!isIncremented(sigmoid))
    return nullptr;
  Operation *sum = *sigmoid->user_begin();
  auto product = sum->hasOneUse() ? dyn_cast<arith::MulFOp>(*sum->user_begin()) : arith::MulFOp();
  if (!product || product->getBlock() != &body_ || !tiles_.contains(sigmoid->getResult(0)))
    return nullptr;
  Value other = product.getLhs() == sum->getResult(0) ? product.getRhs() : product.getLhs();
  Operation *scaled = other.getDefiningOp();
  if (!scaled || scaled->getBlock() != &body_ || !other.hasOneUse() || !tiles_.contains(other))
    return nullptr;
  // Up to here, what is 2 c q is finite where q is.
  Value rest;
  FloatAttr factor = constantFactor(scaled, rest);
  bool fits = factor && std::abs(factor.getValueAsDouble()) <= 0.5;
  return fits ? product.getOperation() : nullptr;
}

double TileBody::scaleOf(Operation *product) {
  Value rest;
  if (product->getBlock() != &body_ || !product->hasOneUse() || !constantFactor(product, rest))
    return 1;
  Operation *user = *product->user_begin();
  if (isa<math::ErfOp>(user))
    return isIncremented(user) && tiles_.contains(product->getResult(0)) ? kErfScale : 1;
  if (isa<math::TanhOp>(user)) {
    // A factor this large could overflow when it is doubled.
    bool fits = std::abs(constantFactor(product, rest).getValueAsDouble()) <= 0x1p126;
    return fits && isIncremented(user) && tiles_.contains(product->getResult(0)) ? -2 : 1;
  }
  if (isa<arith::MulFOp>(user))
    for (Value factor : user->getOperands())
      if (auto sum = factor.getDefiningOp<arith::AddFOp>())
        for (Value part : sum->getOperands())
          if (Operation *sigmoid = sigmoidOf(part); sigmoid && quotientOf(sigmoid) == user)
            return 2;
  return 1;
}

LogicalResult TileBody::evaluate(SmallVector<TileValue> arguments, ArrayRef<const TileValue *> into,
                                 Operation *skip, Value only) {
  values_ = std::move(known_);
  known_.clear();
  for (auto [argument, value] : llvm::zip_equal(body_.getArguments(), arguments)) {
    if (value.scalar)
      code_.emitter().map(argument, value.scalar);
    values_[argument] = std::move(value);
  }
  arguments.clear();
  tiles_.clear();
  for (auto &[value, is] : values_)
    if (!is.isUniform())
      tiles_.insert(value);
  for (Operation &op : body_.without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return tiles_.contains(operand); }))
      tiles_.insert(op.result_begin(), op.result_end());
  Operation *yield = body_.getTerminator();
  // What is known needs no operands.
  llvm::DenseSet<Operation *> wanted;
  auto want = [&](Operation &user) {
    for (Value operand : user.getOperands())
      if (!values_.count(operand))
        wanted.insert(operand.getDefiningOp());
  };
  if (!only)
    want(*yield);
  else if (!values_.count(only))
    wanted.insert(only.getDefiningOp());
  for (Operation &op : llvm::reverse(body_.without_terminator())) {
    if (!isPure(&op))
      wanted.insert(&op);
    if (wanted.contains(&op))
      want(op);
  }
  llvm::DenseMap<Value, int> left; // uses to come
  if (only)
    ++left[only];
  for (Operation &op : body_)
    if ((&op == yield && !only) || wanted.contains(&op))
      for (Value operand : op.getOperands())
        ++left[operand];
  for (Operation &op : body_.without_terminator()) {
    if (&op == skip || !wanted.contains(&op))
      continue;
    const TileValue *target = nullptr;
    if (op.getNumResults() == 1)
      for (auto [position, operand] : llvm::enumerate(yield->getOperands()))
        if (operand == op.getResult(0) && operand.hasOneUse() && position < into.size())
          target = into[position];
    std::optional<TileValue> place;
    if (!target && (place = placeOf(op, left)))
      target = &*place;
    auto result = compute(&op, target);
    if (failed(result)) {
      if (reason_.empty())
        return refuse(&op);
      return failure();
    }
    values_[op.getResult(0)] = *result;
    if (auto kept = kept_.find(op.getResult(0)); kept != kept_.end())
      kept->second = *result;
    for (Value operand : op.getOperands())
      if (--left[operand] == 0)
        values_.erase(operand);
  }
  return success();
}

FailureOr<TileValue> TileBody::value(Value value) {
  auto found = values_.find(value);
  if (found != values_.end())
    return found->second;
  auto scalar = code_.emitter().scalar(value);
  if (failed(scalar)) {
    reason_ = code_.emitter().reason();
    return failure();
  }
  return code_.uniform(*scalar);
}

FailureOr<TileValue> TileBody::take(Value value) {
  FailureOr<TileValue> result = this->value(value);
  values_.erase(value);
  return result;
}

TileValue TileBody::widened(const TileValue &value) {
  if (!value.storage.isBF16())
    return value;
  Type f32 = code_.builder().getF32Type();
  TileValue wide;
  if (value.isUniform())
    wide =
        code_.uniform(code_.builder().createOrFold<arith::ExtFOp>(code_.loc(), f32, value.scalar));
  else
    wide = code_.cast(value, f32, Round::none);
  wide.type = value.type;
  return wide;
}

// An f32 tile rounded to a float type.
TileValue TileBody::toType(const TileValue &float32, Type type, const TileValue *into) {
  if (type.isF32())
    return float32;
  return code_.cast(float32, type, Round::rint, into);
}

FailureOr<TileValue> TileBody::stored(const TileValue &value, TileKind kind,
                                      const TileValue *into) {
  TileValue result = value;
  Type type = value.type;
  if (type.isInteger(8) && value.kind != kind) {
    auto half = halfFromByte(value, /*isUnsigned=*/false);
    if (failed(half))
      return failure();
    return code_.cast(code_.toKind(*half, kind), type, Round::rint, into);
  }
  if (bytesOf(type) == 8 && value.kind != kind) {
    reason_ = "the vector unit cannot spread elements of 8 bytes";
    return failure();
  }
  if (result.storage.isBF16() && value.kind != kind && !value.isUniform())
    result = widened(result);
  if (result.kind != kind) {
    if (kind == TileKind::full)
      result = code_.toFull(result, into);
    else
      result = code_.toKind(result, kind);
  }
  if (type.isBF16() && result.storage.isF32())
    result = code_.cast(result, type, Round::rint, into);
  return result;
}

FailureOr<TileValue> TileBody::converted(TileValue value, Type to, bool isUnsigned) {
  OpBuilder &b = code_.builder();
  if (value.isMask())
    return fromMask(value.isUniform() ? code_.toKind(value, TileKind::full) : value, to, 1,
                    nullptr);
  Type from = value.storage;
  if (from == to)
    return value;
  if (from.isInteger(8)) {
    auto half = halfFromByte(value, isUnsigned);
    return failed(half) ? half : converted(std::move(*half), to, false);
  }
  if (value.isUniform()) {
    if (to.isF32() && isa<FloatType>(from))
      return code_.uniform(b.createOrFold<arith::ExtFOp>(code_.loc(), to, value.scalar));
    if (isa<FloatType>(from) && to.isInteger(32))
      return code_.uniform(b.createOrFold<arith::FPToSIOp>(code_.loc(), to, value.scalar));
    if (from.isInteger(16) && to.isInteger(32))
      return code_.uniform(b.createOrFold<arith::ExtSIOp>(code_.loc(), to, value.scalar));
  } else if ((to.isF32() && (from.isF16() || from.isBF16())) ||
             (to.isInteger(32) && (from.isF16() || from.isInteger(16)))) {
    return code_.cast(value, to, to.isInteger(32) && from.isF16() ? Round::rint : Round::none);
  }
  reason_ = "the vector unit cannot convert what is reduced";
  return failure();
}

FailureOr<TileValue> TileBody::compute(Operation *op, const TileValue *into) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return refuse(op);
  // Scalars stay with the scalar unit.
  SmallVector<TileValue> operands;
  for (Value operand : op->getOperands()) {
    auto known = value(operand);
    if (failed(known))
      return failure();
    operands.push_back(*known);
  }
  if (llvm::all_of(operands, [](const TileValue &v) { return v.isUniform(); })) {
    if (failed(code_.emitter().emit(op))) {
      reason_ = code_.emitter().reason();
      return failure();
    }
    return code_.uniform(*code_.emitter().scalar(op->getResult(0)));
  }
  if (isa<arith::CmpFOp, arith::CmpIOp>(op))
    return computeCompare(op);
  if (isa<arith::SelectOp>(op))
    return computeSelect(op, into);
  if (isa<CastOpInterface>(op))
    return computeCast(op, into);
  Type type = op->getResult(0).getType();
  if (type.isInteger(1))
    return computeMask(op);
  if (isa<FloatType>(type))
    return computeFloat(op, into);
  return computeInteger(op, into);
}

//===------------------------------------------------------------------------------------------===//
// Floats
//===------------------------------------------------------------------------------------------===//

namespace {

std::optional<Binary> floatBinary(Operation *op) {
  if (isa<arith::AddFOp>(op))
    return Binary::add;
  if (isa<arith::SubFOp>(op))
    return Binary::sub;
  if (isa<arith::MulFOp>(op))
    return Binary::mul;
  if (isa<arith::DivFOp>(op))
    return Binary::div;
  // The unit's max and min give NaN if there is one, as these do.
  if (isa<arith::MaximumFOp>(op))
    return Binary::max;
  if (isa<arith::MinimumFOp>(op))
    return Binary::min;
  return std::nullopt;
}

} // namespace

FailureOr<TileValue> TileBody::computeFloat(Operation *op, const TileValue *into) {
  Type type = op->getResult(0).getType();
  if (!type.isF32() && !type.isF16() && !type.isBF16())
    return refuse(op);
  // Results of bf16 are rounded after every operation, those of f16 by the unit itself.
  auto finish = [&](TileValue result) {
    result.type = type;
    return type.isBF16() && !result.storage.isBF16() ? toType(result, type, into) : result;
  };
  const TileValue *direct = type.isBF16() ? nullptr : into;
  SmallVector<TileValue> in;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    in.push_back(widened(*operand(op, i)));

  if (isa<arith::AddFOp>(op))
    for (Value sum : op->getOperands())
      if (Operation *sigmoid = sigmoidOf(sum); sigmoid && isIncremented(sigmoid))
        return value(sum);
  if (sigmoidOf(op->getResult(0)) && isIncremented(op)) {
    bool isErf = isa<math::ErfOp>(op);
    Operation *argument = op->getOperand(0).getDefiningOp();
    TileValue scaled = in[0];
    if (!argument || scaleOf(argument) == 1)
      scaled = code_.scalarOp(Scalar::muls, scaled, code_.constant(type, isErf ? kErfScale : -2));
    bool reciprocal = quotientOf(op) != nullptr;
    return isErf ? emitOnePlusErf(code_, std::move(scaled), reciprocal)
                 : emitOnePlusTanh(code_, scaled, reciprocal);
  }
  if (isa<arith::MulFOp>(op)) {
    Value rest;
    if (double scale = scaleOf(op); scale != 1) {
      const double factor = constantFactor(op, rest).getValueAsDouble() * scale;
      if (factor == 1)
        return value(rest);
      return finish(
          code_.scalarOp(Scalar::muls, *value(rest), code_.constant(type, factor), direct));
    }
    for (auto [i, factor] : llvm::enumerate(op->getOperands()))
      if (auto sum = factor.getDefiningOp<arith::AddFOp>())
        for (Value part : sum->getOperands())
          if (Operation *sigmoid = sigmoidOf(part); sigmoid && quotientOf(sigmoid) == op)
            return finish(code_.binary(Binary::div, in[1 - i], in[i], direct));
  }
  if (auto binary = floatBinary(op))
    return finish(code_.binary(*binary, in[0], in[1], direct));
  if (isa<arith::MaxNumFOp, arith::MinNumFOp>(op)) {
    // The number where one of the two is NaN.
    Binary kind = isa<arith::MaxNumFOp>(op) ? Binary::max : Binary::min;
    TileValue result = code_.binary(kind, in[0], in[1]);
    for (int i = 0; i < 2; ++i) {
      TileValue mine = code_.toKind(in[i], in[i].isUniform() ? result.kind : in[i].kind);
      result = code_.select(code_.compare(Compare::eq, mine, mine), result, in[1 - i],
                            i == 1 ? direct : nullptr);
    }
    return finish(result);
  }
  if (isa<arith::NegFOp>(op))
    return finish(code_.unary(Unary::neg, in[0], direct));
  if (isa<math::AbsFOp>(op))
    return finish(code_.unary(Unary::abs, in[0], direct));
  if (isa<math::FmaOp>(op))
    return finish(
        code_.binary(Binary::add, code_.binary(Binary::mul, in[0], in[1]), in[2], direct));

  // Functions are computed in f32 and rounded once.
  Type f32 = code_.builder().getF32Type();
  for (TileValue &value : in) {
    if (!value.storage.isF16())
      continue;
    value = value.isUniform() ? code_.uniform(code_.builder().createOrFold<arith::ExtFOp>(
                                    code_.loc(), f32, value.scalar))
                              : code_.cast(value, f32, Round::none);
  }
  const TileValue *last = type.isF32() ? into : nullptr;
  std::optional<Unary> unary;
  if (isa<math::ExpOp>(op))
    unary = Unary::exp;
  else if (isa<math::LogOp>(op))
    unary = Unary::ln;
  else if (isa<math::SqrtOp>(op))
    unary = Unary::sqrt;
  else if (isa<math::RsqrtOp>(op))
    unary = Unary::rsqrt;
  TileValue result;
  if (unary) {
    result = code_.unary(*unary, in[0], last);
  } else {
    if (in.size() == 2 && !in[1].isUniform())
      return refuse(op, "with an exponent an element");
    auto made = emitMathFunction(code_, op, in[0], last);
    if (failed(made))
      return refuse(op);
    result = *made;
  }
  result.type = type;
  return type.isF32() ? result : toType(result, type, into);
}

//===------------------------------------------------------------------------------------------===//
// Integers
//===------------------------------------------------------------------------------------------===//

FailureOr<TileValue> TileBody::computeInteger(Operation *op, const TileValue *into) {
  Type type = op->getResult(0).getType();
  if (!type.isInteger(16) && !type.isInteger(32))
    return refuse(op);
  auto a = operand(op, 0);
  auto done = [&](TileValue result) -> FailureOr<TileValue> {
    result.type = type;
    return result;
  };
  if (isa<math::AbsIOp>(op)) {
    TileValue negated = code_.scalarOp(Scalar::muls, *a, code_.constant(type, -1));
    return done(code_.binary(Binary::max, *a, negated, into));
  }
  auto b = operand(op, 1);
  if (isa<arith::AddIOp>(op))
    return done(code_.binary(Binary::add, *a, *b, into));
  if (isa<arith::SubIOp>(op))
    return done(code_.binary(Binary::sub, *a, *b, into));
  if (isa<arith::MulIOp>(op))
    return done(code_.binary(Binary::mul, *a, *b, into));
  if (isa<arith::MaxSIOp>(op))
    return done(code_.binary(Binary::max, *a, *b, into));
  if (isa<arith::MinSIOp>(op))
    return done(code_.binary(Binary::min, *a, *b, into));
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
    TileKind kind = TileCode::join(a->kind, b->kind);
    TileValue x = code_.toKind(*a, kind), y = code_.toKind(*b, kind);
    if (isa<arith::AndIOp>(op))
      return done(code_.binary(Binary::and_, x, y, into));
    TileValue either = code_.binary(Binary::or_, x, y, isa<arith::OrIOp>(op) ? into : nullptr);
    if (isa<arith::OrIOp>(op))
      return done(either);
    TileValue notBoth = code_.unary(Unary::not_, code_.binary(Binary::and_, x, y));
    return done(code_.binary(Binary::and_, either, notBoth, into));
  }
  return refuse(op);
}

//===------------------------------------------------------------------------------------------===//
// Casts
//===------------------------------------------------------------------------------------------===//

// i8 lives in UB as bytes; the unit reads them through f16.
FailureOr<TileValue> TileBody::halfFromByte(const TileValue &value, bool isUnsigned) {
  Type f16 = code_.builder().getF16Type();
  if (value.isUniform()) {
    Value half =
        isUnsigned ? code_.builder().createOrFold<arith::UIToFPOp>(code_.loc(), f16, value.scalar)
                   : code_.builder().createOrFold<arith::SIToFPOp>(code_.loc(), f16, value.scalar);
    return code_.uniform(half);
  }
  return code_.cast(value, f16, Round::none, nullptr, isUnsigned);
}

// `one` where the mask is set, else zero, in an element type.
FailureOr<TileValue> TileBody::fromMask(const TileValue &mask, Type type, double one,
                                        const TileValue *into) {
  OpBuilder &b = code_.builder();
  bool direct = type.isF32() || type.isF16() || type.isInteger(32) || type.isInteger(16);
  Type via = direct ? type : type.isInteger(8) ? b.getF16Type() : b.getF32Type();
  if (!direct && !type.isInteger(8) && !type.isBF16())
    return failure();
  TileValue ones = code_.uniform(code_.constant(via, one));
  TileValue zeros = code_.uniform(code_.constant(via, 0));
  TileValue number = code_.select(mask, ones, zeros, direct ? into : nullptr);
  number.type = type;
  if (type.isInteger(8))
    return code_.cast(number, type, Round::rint, into);
  return type.isBF16() ? toType(number, type, into) : number;
}

FailureOr<TileValue> TileBody::computeCast(Operation *op, const TileValue *into) {
  OpBuilder &b = code_.builder();
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  Type f16 = b.getF16Type(), f32 = b.getF32Type();
  TileValue in = *operand(op, 0);
  bool isUnsigned = isa<arith::ExtUIOp, arith::UIToFPOp, arith::FPToUIOp>(op);

  if (isa<arith::ExtFOp>(op) && to.isF32()) {
    TileValue wide = from.isBF16() ? widened(in) : code_.cast(in, f32, Round::none, into);
    wide.type = to;
    return wide;
  }
  if (isa<arith::TruncFOp>(op) && from.isF32() && (to.isF16() || to.isBF16()))
    return code_.cast(in, to, Round::rint, into);

  if (from.isInteger(1)) {
    if (isa<arith::ExtUIOp, arith::UIToFPOp>(op))
      return fromMask(in, to, 1, into);
    if (isa<arith::ExtSIOp, arith::SIToFPOp>(op))
      return fromMask(in, to, -1, into);
    return refuse(op);
  }
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    if (from.isInteger(8)) {
      auto half = halfFromByte(in, isUnsigned);
      if (to.isF16())
        return half;
      return toType(code_.cast(*half, f32, Round::none, to.isF32() ? into : nullptr), to, into);
    }
    if (isUnsigned || (!from.isInteger(16) && !from.isInteger(32)))
      return refuse(op);
    // Exact up to 2^24, and beyond that f16 is infinite either way; bf16 could round twice.
    if (from.isInteger(32) && to.isBF16())
      return refuse(op);
    Round round = from.isInteger(16) ? Round::none : Round::rint;
    TileValue number = code_.cast(in, f32, round, to.isF32() ? into : nullptr);
    return toType(number, to, into);
  }
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op)) {
    TileValue number = widened(in);
    if (number.storage.isF16())
      number = code_.cast(number, f32, Round::none);
    if (!isUnsigned && (to.isInteger(32) || to.isInteger(16)))
      return code_.cast(number, to, Round::trunc, into);
    if (!to.isInteger(8))
      return refuse(op);
    TileValue whole = code_.cast(number, f32, Round::trunc);
    return code_.cast(code_.cast(whole, f16, Round::rint), to, Round::trunc, into, isUnsigned);
  }
  if (isa<arith::ExtSIOp, arith::ExtUIOp>(op)) {
    if (from.isInteger(8) && (to.isInteger(16) || to.isInteger(32)))
      return code_.cast(*halfFromByte(in, isUnsigned), to, Round::rint, into);
    if (!isUnsigned &&
        ((from.isInteger(16) && to.isInteger(32)) || (from.isInteger(32) && to.isInteger(64))))
      return code_.cast(in, to, Round::none, into);
    return refuse(op);
  }
  // A bool in memory is 0 or 1.
  if (isa<arith::TruncIOp>(op) && from.isInteger(8) && to.isInteger(1))
    return code_.compare(Compare::ne, *halfFromByte(in, true),
                         code_.uniform(code_.constant(f16, 0)));
  return refuse(op);
}

//===------------------------------------------------------------------------------------------===//
// Masks
//===------------------------------------------------------------------------------------------===//

FailureOr<TileValue> TileBody::computeCompare(Operation *op) {
  OpBuilder &b = code_.builder();
  TileValue x = *operand(op, 0), y = *operand(op, 1);
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    if (!x.type.isF32() && !x.type.isF16() && !x.type.isBF16())
      return refuse(op);
    x = widened(x);
    y = widened(y);
    auto is = [&](Compare predicate) { return code_.compare(predicate, x, y); };
    auto isNot = [&](Compare predicate) { return code_.maskNot(is(predicate)); };
    auto ordered = [&]() {
      TileValue left = code_.toKind(x, x.isUniform() ? y.kind : x.kind);
      TileValue right = code_.toKind(y, y.isUniform() ? x.kind : y.kind);
      return code_.maskBinary(Binary::and_, code_.compare(Compare::eq, left, left),
                              code_.compare(Compare::eq, right, right));
    };
    switch (compare.getPredicate()) {
    case arith::CmpFPredicate::OEQ:
      return is(Compare::eq);
    case arith::CmpFPredicate::OGT:
      return is(Compare::gt);
    case arith::CmpFPredicate::OGE:
      return is(Compare::ge);
    case arith::CmpFPredicate::OLT:
      return is(Compare::lt);
    case arith::CmpFPredicate::OLE:
      return is(Compare::le);
    case arith::CmpFPredicate::UNE:
      return isNot(Compare::eq); // whatever the unit's `ne` says of NaN
    case arith::CmpFPredicate::UGT:
      return isNot(Compare::le);
    case arith::CmpFPredicate::UGE:
      return isNot(Compare::lt);
    case arith::CmpFPredicate::ULT:
      return isNot(Compare::ge);
    case arith::CmpFPredicate::ULE:
      return isNot(Compare::gt);
    case arith::CmpFPredicate::ONE:
      return code_.maskBinary(Binary::or_, is(Compare::lt), is(Compare::gt));
    case arith::CmpFPredicate::UEQ:
      return code_.maskNot(code_.maskBinary(Binary::or_, is(Compare::lt), is(Compare::gt)));
    case arith::CmpFPredicate::ORD:
      return ordered();
    case arith::CmpFPredicate::UNO:
      return code_.maskNot(ordered());
    default:
      return refuse(op);
    }
  }
  auto compare = cast<arith::CmpIOp>(op);
  Type type = x.type;
  if (type.isInteger(8)) {
    // Equality is the same for signed and unsigned bytes.
    bool isUnsigned = compare.getPredicate() >= arith::CmpIPredicate::ult;
    auto left = halfFromByte(x, isUnsigned), right = halfFromByte(y, isUnsigned);
    x = *left;
    y = *right;
  } else if (type.isInteger(16)) {
    if (compare.getPredicate() >= arith::CmpIPredicate::ult)
      return refuse(op, "unsigned");
    for (TileValue *value : {&x, &y})
      *value = value->isUniform() ? code_.uniform(b.createOrFold<arith::SIToFPOp>(
                                        code_.loc(), b.getF32Type(), value->scalar))
                                  : code_.cast(*value, b.getF32Type(), Round::none);
  } else if (!type.isInteger(32)) {
    return refuse(op);
  }
  bool isFloat = isa<FloatType>(x.storage);
  // i32 is compared for equality only: a <= b where max(a, b) is b.
  auto atMost = [&](const TileValue &low, const TileValue &high) {
    return isFloat ? code_.compare(Compare::le, low, high)
                   : code_.compare(Compare::eq, code_.binary(Binary::max, low, high), high);
  };
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::eq:
    return code_.compare(Compare::eq, x, y);
  case arith::CmpIPredicate::ne:
    return code_.maskNot(code_.compare(Compare::eq, x, y));
  case arith::CmpIPredicate::sle:
    return atMost(x, y);
  case arith::CmpIPredicate::sge:
    return atMost(y, x);
  case arith::CmpIPredicate::slt:
    return code_.maskNot(atMost(y, x));
  case arith::CmpIPredicate::sgt:
    return code_.maskNot(atMost(x, y));
  default:
    break;
  }
  if (!isFloat)
    return refuse(op, "unsigned");
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::ule:
    return atMost(x, y);
  case arith::CmpIPredicate::uge:
    return atMost(y, x);
  case arith::CmpIPredicate::ult:
    return code_.maskNot(atMost(y, x));
  default:
    return code_.maskNot(atMost(x, y));
  }
}

FailureOr<TileValue> TileBody::computeMask(Operation *op) {
  if (!isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return refuse(op);
  TileValue a = *operand(op, 0), b = *operand(op, 1);
  if (isa<arith::AndIOp>(op))
    return code_.maskBinary(Binary::and_, a, b);
  TileValue either = code_.maskBinary(Binary::or_, a, b);
  if (isa<arith::OrIOp>(op))
    return either;
  TileValue notBoth = code_.maskNot(code_.maskBinary(Binary::and_, a, b));
  return code_.maskBinary(Binary::and_, either, notBoth);
}

FailureOr<TileValue> TileBody::computeSelect(Operation *op, const TileValue *into) {
  TileValue mask = *operand(op, 0), a = *operand(op, 1), b = *operand(op, 2);
  Type type = op->getResult(0).getType();
  if (type.isInteger(1)) {
    TileValue chosen = code_.maskBinary(Binary::and_, mask, a);
    TileValue other =
        code_.maskBinary(Binary::and_,
                         code_.maskNot(code_.toKind(
                             mask, mask.isUniform() ? TileCode::join(a.kind, b.kind) : mask.kind)),
                         b);
    return code_.maskBinary(Binary::or_, chosen, other);
  }
  if (type.isInteger(8)) {
    auto left = halfFromByte(a, false), right = halfFromByte(b, false);
    TileValue half = code_.select(mask, *left, *right);
    return code_.cast(half, type, Round::rint, into);
  }
  if (bytesOf(type) == 8)
    return refuse(op);
  TileValue left = widened(a), right = widened(b);
  TileValue result = code_.select(mask, left, right, type.isBF16() ? nullptr : into);
  result.type = type;
  return type.isBF16() ? toType(result, type, into) : result;
}

} // namespace pyasc::npu
