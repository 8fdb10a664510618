// Elementwise functions of floats, and the selections.
#include <array>
#include <cmath>

#include "compiler/sema/emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace pyasc::sema {

namespace arith = mlir::arith;
namespace math = mlir::math;

namespace {

using Body = mlir::Value (*)(ScalarOps &, mlir::Value, DType);

template <class Op> mlir::Value Math(ScalarOps &ops, mlir::Value x, DType) {
  return ops.b.create<Op>(ops.loc, x);
}

mlir::Value Sigmoid(ScalarOps &ops, mlir::Value x, DType t) {
  // 1 / (1 + exp(-x)): exp overflows to inf for large -x, and the quotient is then 0, as it should.
  mlir::Value e = ops.b.create<math::ExpOp>(ops.loc, ops.Negate(x, t));
  mlir::Value one = ops.Float(t, 1);
  return ops.b.create<arith::DivFOp>(ops.loc, one, ops.Binary(BinaryOp::Add, one, e, t));
}

mlir::Value Silu(ScalarOps &ops, mlir::Value x, DType t) {
  mlir::Value e = ops.b.create<math::ExpOp>(ops.loc, ops.Negate(x, t));
  return ops.b.create<arith::DivFOp>(ops.loc, x, ops.Binary(BinaryOp::Add, ops.Float(t, 1), e, t));
}

mlir::Value Erfc(ScalarOps &ops, mlir::Value x, DType t) {
  return ops.Binary(BinaryOp::Sub, ops.Float(t, 1), ops.b.create<math::ErfOp>(ops.loc, x), t);
}

mlir::Value Gelu(ScalarOps &ops, mlir::Value x, DType t) {
  // x/2 (1 + erf(x / sqrt 2)), the exact form.
  mlir::Value scaled = ops.Binary(BinaryOp::Mul, x, ops.Float(t, std::sqrt(0.5)), t);
  mlir::Value erf = ops.b.create<math::ErfOp>(ops.loc, scaled);
  mlir::Value sum = ops.Binary(BinaryOp::Add, ops.Float(t, 1), erf, t);
  return ops.Binary(BinaryOp::Mul, ops.Binary(BinaryOp::Mul, x, ops.Float(t, 0.5), t), sum, t);
}

mlir::Value Reciprocal(ScalarOps &ops, mlir::Value x, DType t) {
  return ops.b.create<arith::DivFOp>(ops.loc, ops.Float(t, 1), x);
}

mlir::Value Rsqrt(ScalarOps &ops, mlir::Value x, DType t) {
  return ops.b.create<arith::DivFOp>(ops.loc, ops.Float(t, 1),
                                     ops.b.create<math::SqrtOp>(ops.loc, x));
}

mlir::Value Softplus(ScalarOps &ops, mlir::Value x, DType t) {
  // max(x, 0) + log1p(exp(-|x|)) does not overflow.
  mlir::Value e = ops.b.create<math::ExpOp>(ops.loc, ops.Negate(ops.Abs(x, t), t));
  mlir::Value log = ops.b.create<math::Log1pOp>(ops.loc, e);
  return ops.Binary(BinaryOp::Add, ops.Binary(BinaryOp::Max, x, ops.Float(t, 0), t), log, t);
}

// Applies `entry.body` in float32 for 16-bit types.
Value EmitFloatFunction(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  if (!e.ExpectNumber(call.where[0], x, "the argument of " + std::string(call.entry->name)))
    return Value::Invalid();
  if (x.IsConstant() && call.entry->fold) {
    double r = call.entry->fold(x.ConstantAsDouble());
    DType t = IsFloat(x.dtype) ? x.dtype : DType::Float32;
    Value folded = Value::WeakFloat(r);
    return x.weak ? folded : e.Cast(call.range, folded, t);
  }
  DType t = IsFloat(x.dtype) ? x.dtype : DType::Float32;
  DType wide = Is16BitFloat(t) ? DType::Float32 : t;
  Body body = call.entry->body;
  return e.Elementwise(call.range, {x}, t, t, [=](ScalarOps &ops, mlir::ValueRange v) {
    return ops.Cast(body(ops, ops.Cast(v[0], t, wide), wide), wide, t);
  });
}

// Functions that leave integers as they are.
Value EmitRounding(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  if (x.IsTensor() && !IsFloat(x.dtype))
    return e.Materialize(call.range, x); // a tensor of its own, as NumPy gives
  if (x.IsNumber() && !IsFloat(x.dtype))
    return x;
  return EmitFloatFunction(e, call);
}

Value EmitAbs(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  if (!e.ExpectNumber(call.where[0], x, "the argument of abs"))
    return Value::Invalid();
  DType t = x.dtype;
  if (x.IsConstant()) {
    // A literal's is Python's: that of the least int32 is an int64.
    if (x.weak && IsInteger(t)) {
      Value v = Value::WeakInt(x.constant->i < 0 ? -x.constant->i : x.constant->i);
      v.derived = x.derived;
      return v;
    }
    Value v = x;
    v.constant->i = x.constant->i < 0 ? -x.constant->i : x.constant->i;
    v.constant->f = std::fabs(x.constant->f);
    if (!IsFloat(t))
      v.constant->i = Wrap(v.constant->i, t);
    v.range = {v.constant->i, v.constant->i};
    return v;
  }
  if (t == DType::Bool)
    return x.IsTensor() ? e.Materialize(call.range, x) : x;
  return e.Elementwise(call.range, {x}, t, t,
                       [t](ScalarOps &ops, mlir::ValueRange v) { return ops.Abs(v[0], t); });
}

Value EmitSign(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  if (!e.ExpectNumber(call.where[0], x, "the argument of sign"))
    return Value::Invalid();
  DType t = x.dtype;
  if (t == DType::Bool)
    return x.IsTensor() ? e.Materialize(call.range, x) : x;
  return e.Elementwise(call.range, {x}, t, t, [t](ScalarOps &ops, mlir::ValueRange v) {
    bool f = IsFloat(t);
    mlir::Value zero = f ? ops.Float(t, 0) : ops.Int(t, 0),
                one = f ? ops.Float(t, 1) : ops.Int(t, 1);
    mlir::Value r = ops.Select(ops.Compare(CompareOp::Gt, v[0], zero, t), one, zero);
    if (!IsUnsigned(t)) {
      mlir::Value minus = f ? ops.Float(t, -1) : ops.Int(t, -1);
      r = ops.Select(ops.Compare(CompareOp::Lt, v[0], zero, t), minus, r);
    }
    return f ? ops.Select(ops.IsNan(v[0]), v[0], r) : r;
  });
}

Value EmitRelu(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  if (!e.ExpectNumber(call.where[0], x, "the argument of relu"))
    return Value::Invalid();
  return e.Binary(call.range, BinaryOp::Max, x,
                  IsFloat(x.dtype) ? Value::WeakFloat(0) : Value::WeakInt(0));
}

Value EmitMinMax(Emitter &e, const BoundCall &call) {
  return e.Binary(call.range, static_cast<BinaryOp>(call.entry->tag), call.args[0], call.args[1]);
}

Value EmitClip(Emitter &e, const BoundCall &call) {
  Value v = call.args[0];
  if (!e.ExpectNumber(call.where[0], v, "the argument of clip"))
    return Value::Invalid();
  if (!call.args[1].IsNone())
    v = e.Binary(call.range, BinaryOp::Max, v, call.args[1]);
  if (!call.args[2].IsNone() && !v.IsInvalid())
    v = e.Binary(call.range, BinaryOp::Min, v, call.args[2]);
  return v;
}

Value EmitWhere(Emitter &e, const BoundCall &call) {
  const Value &c = call.args[0], &x = call.args[1], &y = call.args[2];
  for (size_t i = 0; i < 3; ++i)
    if (!e.ExpectNumber(call.where[i], call.args[i], "an argument of where"))
      return Value::Invalid();
  if (!c.IsTensor()) {
    Value truth = e.Truth(call.where[0], c);
    if (truth.IsInvalid())
      return truth;
    return e.Select(call.range, truth, x, y);
  }
  auto type = e.CommonType(call.range, x, y);
  if (!type)
    return Value::Invalid();
  return e.ElementwiseTyped(
      call.range, {c, x, y}, {DType::Bool, *type, *type}, *type,
      [](ScalarOps &ops, mlir::ValueRange v) { return ops.Select(v[0], v[1], v[2]); });
}

enum Test { kIsNan, kIsInf, kIsFinite, kSignBit };

Value EmitTest(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  int test = call.entry->tag;
  if (!e.ExpectNumber(call.where[0], x, "the argument of " + std::string(call.entry->name)))
    return Value::Invalid();
  DType from = IsFloat(x.dtype) ? x.dtype : DType::Float32;
  DType t = from == DType::BFloat16 ? DType::Float32 : from; // LLVM's copysign of bfloat16 is wrong
  return e.Elementwise(call.range, {x}, from, DType::Bool, [=](ScalarOps &ops, mlir::ValueRange v) {
    mlir::Value f = ops.Cast(v[0], from, t), nan = ops.IsNan(f);
    if (test == kIsNan)
      return nan;
    if (test == kSignBit) {
      mlir::Value sign = ops.b.create<math::CopySignOp>(ops.loc, ops.Float(t, 1), f);
      return ops.Compare(CompareOp::Lt, sign, ops.Float(t, 0), t);
    }
    mlir::Value inf = ops.Compare(CompareOp::Eq, ops.Abs(f, t),
                                  ops.Float(t, std::numeric_limits<double>::infinity()), t);
    return test == kIsInf ? inf : ops.Not(ops.Or(nan, inf));
  });
}

// sqrt(x*x + y*y) without overflow on the way; infinite beside an infinity, even for a NaN.
mlir::Value Hypotenuse(ScalarOps &ops, mlir::Value x, mlir::Value y, DType t) {
  mlir::Value a = ops.Abs(x, t), b = ops.Abs(y, t);
  mlir::Value large = ops.Binary(BinaryOp::Max, a, b, t),
              small = ops.Binary(BinaryOp::Min, a, b, t);
  mlir::Value q = ops.Binary(BinaryOp::TrueDiv, small, large, t);
  mlir::Value sum =
      ops.Binary(BinaryOp::Add, ops.Float(t, 1), ops.Binary(BinaryOp::Mul, q, q, t), t);
  mlir::Value r = ops.Binary(BinaryOp::Mul, large, ops.b.create<math::SqrtOp>(ops.loc, sum), t);
  mlir::Value inf = ops.Float(t, std::numeric_limits<double>::infinity());
  r = ops.Select(ops.Compare(CompareOp::Eq, large, ops.Float(t, 0), t), large, r);
  mlir::Value infinite =
      ops.Or(ops.Compare(CompareOp::Eq, a, inf, t), ops.Compare(CompareOp::Eq, b, inf, t));
  return ops.Select(infinite, inf, r);
}

Value EmitAtan2OrSo(Emitter &e, const BoundCall &call) {
  auto type = e.CommonType(call.range, call.args[0], call.args[1]);
  for (size_t i = 0; i < 2; ++i)
    if (!e.ExpectNumber(call.where[i], call.args[i],
                        "an argument of " + std::string(call.entry->name)))
      return Value::Invalid();
  if (!type)
    return Value::Invalid();
  DType t = IsFloat(*type) ? *type : DType::Float32;
  DType wide = Is16BitFloat(t) ? DType::Float32 : t;
  int which = call.entry->tag;
  return e.Elementwise(call.range, {call.args[0], call.args[1]}, t, t,
                       [=](ScalarOps &ops, mlir::ValueRange v) {
                         mlir::Value x = ops.Cast(v[0], t, wide), y = ops.Cast(v[1], t, wide), r;
                         if (which == 0)
                           r = ops.b.create<math::Atan2Op>(ops.loc, x, y);
                         else if (which == 1)
                           r = ops.b.create<math::CopySignOp>(ops.loc, x, y);
                         else if (which == 2)
                           r = Hypotenuse(ops, x, y, wide);
                         else
                           r = ops.b.create<arith::RemFOp>(ops.loc, x, y);
                         return ops.Cast(r, wide, t);
                       });
}

Value EmitFma(Emitter &e, const BoundCall &call) {
  Value product = e.Binary(call.range, BinaryOp::Mul, call.args[0], call.args[1]);
  return e.Binary(call.range, BinaryOp::Add, product, call.args[2]);
}

// The operators by name.
Value EmitOperator(Emitter &e, const BoundCall &call) {
  return e.Binary(call.range, static_cast<BinaryOp>(call.entry->tag), call.args[0], call.args[1]);
}

Value EmitComparison(Emitter &e, const BoundCall &call) {
  return e.CompareValues(call.range, static_cast<CompareOp>(call.entry->tag), call.args[0],
                         call.args[1]);
}

Value EmitLogical(Emitter &e, const BoundCall &call) {
  std::vector<Value> truths;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Value &x = call.args[i];
    if (!e.ExpectNumber(call.where[i], x, "an argument"))
      return Value::Invalid();
    truths.push_back(x.dtype == DType::Bool ? x : e.Cast(call.range, x, DType::Bool));
  }
  if (call.entry->tag < 0)
    return e.Unary(call.range,
                   truths[0].IsTensor() ? syntax::UnaryOperator::Invert
                                        : syntax::UnaryOperator::Not,
                   truths[0]);
  return e.Binary(call.range, static_cast<BinaryOp>(call.entry->tag), truths[0], truths[1]);
}

Value EmitNegate(Emitter &e, const BoundCall &call) {
  return e.Unary(call.range, syntax::UnaryOperator::USub, call.args[0]);
}

double FoldRsqrt(double x) { return 1 / std::sqrt(x); }
double FoldExp2(double x) { return std::exp2(x); }
double FoldRound(double x) { return std::nearbyint(x); }

constexpr uint8_t kAll = kAsc | kMath | kNumpy;
constexpr uint8_t kArrays = kAsc | kNumpy;
constexpr ShapeRule kE = ShapeRule::Elementwise;
constexpr DTypes kF = DTypes::Float;

constexpr int Tag(BinaryOp op) { return static_cast<int>(op); }
constexpr int Tag(CompareOp op) { return static_cast<int>(op); }

// clang-format off
const LibraryEntry kTable[] = {
    {"exp", kAll, "x", kF, kE, "e to the x", "np.exp(x)", Lowering::Vector, EmitFloatFunction, Math<math::ExpOp>, std::exp},
    {"exp2", kAll, "x", kF, kE, "2 to the x", "np.exp2(x)", Lowering::Scalar, EmitFloatFunction, Math<math::Exp2Op>, FoldExp2},
    {"expm1", kAll, "x", kF, kE, "exp(x) - 1, exact near 0", "np.expm1(x)", Lowering::Vector, EmitFloatFunction, Math<math::ExpM1Op>, std::expm1},
    {"log", kAll, "x", kF, kE, "natural logarithm", "np.log(x)", Lowering::Vector, EmitFloatFunction, Math<math::LogOp>, std::log},
    {"log2", kAll, "x", kF, kE, "logarithm to base 2", "np.log2(x)", Lowering::Vector, EmitFloatFunction, Math<math::Log2Op>, std::log2},
    {"log10", kAll, "x", kF, kE, "logarithm to base 10", "np.log10(x)", Lowering::Vector, EmitFloatFunction, Math<math::Log10Op>, std::log10},
    {"log1p", kAll, "x", kF, kE, "log(1 + x), exact near 0", "np.log1p(x)", Lowering::Vector, EmitFloatFunction, Math<math::Log1pOp>, std::log1p},
    {"sqrt", kAll, "x", kF, kE, "square root", "np.sqrt(x)", Lowering::Vector, EmitFloatFunction, Math<math::SqrtOp>, std::sqrt},
    {"rsqrt", kAsc, "x", kF, kE, "1 / sqrt(x)", "1 / np.sqrt(x)", Lowering::Vector, EmitFloatFunction, Rsqrt, FoldRsqrt},
    {"cbrt", kAll, "x", kF, kE, "cube root", "np.cbrt(x)", Lowering::Scalar, EmitFloatFunction, Math<math::CbrtOp>, std::cbrt},
    {"reciprocal", kArrays, "x", kF, kE, "1 / x", "1 / x", Lowering::Vector, EmitFloatFunction, Reciprocal},
    {"sin", kAll, "x", kF, kE, "sine", "np.sin(x)", Lowering::Scalar, EmitFloatFunction, Math<math::SinOp>, std::sin},
    {"cos", kAll, "x", kF, kE, "cosine", "np.cos(x)", Lowering::Scalar, EmitFloatFunction, Math<math::CosOp>, std::cos},
    {"tan", kAll, "x", kF, kE, "tangent", "np.tan(x)", Lowering::Scalar, EmitFloatFunction, Math<math::TanOp>, std::tan},
    {"asin", kAll, "x", kF, kE, "inverse sine", "np.arcsin(x)", Lowering::Scalar, EmitFloatFunction, Math<math::AsinOp>, std::asin},
    {"acos", kAll, "x", kF, kE, "inverse cosine", "np.arccos(x)", Lowering::Scalar, EmitFloatFunction, Math<math::AcosOp>, std::acos},
    {"atan", kAll, "x", kF, kE, "inverse tangent", "np.arctan(x)", Lowering::Scalar, EmitFloatFunction, Math<math::AtanOp>, std::atan},
    {"arcsin", kNumpy, "x", kF, kE, "inverse sine", "np.arcsin(x)", Lowering::Scalar, EmitFloatFunction, Math<math::AsinOp>, std::asin},
    {"arccos", kNumpy, "x", kF, kE, "inverse cosine", "np.arccos(x)", Lowering::Scalar, EmitFloatFunction, Math<math::AcosOp>, std::acos},
    {"arctan", kNumpy, "x", kF, kE, "inverse tangent", "np.arctan(x)", Lowering::Scalar, EmitFloatFunction, Math<math::AtanOp>, std::atan},
    {"sinh", kAll, "x", kF, kE, "hyperbolic sine", "np.sinh(x)", Lowering::Scalar, EmitFloatFunction, Math<math::SinhOp>, std::sinh},
    {"cosh", kAll, "x", kF, kE, "hyperbolic cosine", "np.cosh(x)", Lowering::Scalar, EmitFloatFunction, Math<math::CoshOp>, std::cosh},
    {"tanh", kAll, "x", kF, kE, "hyperbolic tangent", "np.tanh(x)", Lowering::Vector, EmitFloatFunction, Math<math::TanhOp>, std::tanh},
    {"erf", kAsc | kMath, "x", kF, kE, "error function", "erf(x)", Lowering::Vector, EmitFloatFunction, Math<math::ErfOp>, std::erf},
    {"erfc", kAsc | kMath, "x", kF, kE, "1 - erf(x)", "erfc(x)", Lowering::Vector, EmitFloatFunction, Erfc, std::erfc},
    {"sigmoid", kAsc, "x", kF, kE, "1 / (1 + exp(-x))", "1 / (1 + np.exp(-x))", Lowering::Vector, EmitFloatFunction, Sigmoid},
    {"gelu", kAsc, "x", kF, kE, "Gaussian error linear unit, exact", "x / 2 * (1 + erf(x / np.sqrt(2)))", Lowering::Vector, EmitFloatFunction, Gelu},
    {"silu", kAsc, "x", kF, kE, "x * sigmoid(x)", "x / (1 + np.exp(-x))", Lowering::Vector, EmitFloatFunction, Silu},
    {"softplus", kAsc, "x", kF, kE, "log(1 + exp(x))", "np.logaddexp(x, 0)", Lowering::Vector, EmitFloatFunction, Softplus},
    {"relu", kAsc, "x", DTypes::Any, kE, "max(x, 0)", "np.maximum(x, 0)", Lowering::Vector, EmitRelu},
    {"floor", kArrays, "x", DTypes::Numeric, kE, "largest integer not above", "np.floor(x)", Lowering::Vector, EmitRounding, Math<math::FloorOp>, std::floor},
    {"ceil", kArrays, "x", DTypes::Numeric, kE, "least integer not below", "np.ceil(x)", Lowering::Vector, EmitRounding, Math<math::CeilOp>, std::ceil},
    {"trunc", kArrays, "x", DTypes::Numeric, kE, "towards zero", "np.trunc(x)", Lowering::Vector, EmitRounding, Math<math::TruncOp>, std::trunc},
    {"round", kArrays | kMethod, "x", DTypes::Numeric, kE, "to the nearest integer, ties to even", "np.rint(x)", Lowering::Vector, EmitRounding, Math<math::RoundEvenOp>, FoldRound},
    {"rint", kArrays, "x", DTypes::Numeric, kE, "to the nearest integer, ties to even", "np.rint(x)", Lowering::Vector, EmitRounding, Math<math::RoundEvenOp>, FoldRound},
    {"abs", kArrays | kBuiltin, "x", DTypes::Any, kE, "absolute value", "np.abs(x)", Lowering::Vector, EmitAbs},
    {"fabs", kAll, "x", DTypes::Any, kE, "absolute value", "np.abs(x)", Lowering::Vector, EmitAbs},
    {"absolute", kArrays, "x", DTypes::Any, kE, "absolute value", "np.abs(x)", Lowering::Vector, EmitAbs},
    {"sign", kArrays, "x", DTypes::Any, kE, "-1, 0 or 1; NaN for NaN", "np.sign(x)", Lowering::Vector, EmitSign},
    {"square", kArrays, "x", DTypes::Any, kE, "x * x", "x * x", Lowering::Vector, [](Emitter &e, const BoundCall &c) { return e.Binary(c.range, BinaryOp::Mul, c.args[0], c.args[0]); }},
    {"negative", kArrays, "x", DTypes::Any, kE, "-x", "-x", Lowering::Vector, EmitNegate},
    {"minimum", kArrays, "x, y", DTypes::Any, kE, "the less; NaN if there is one", "np.minimum(x, y)", Lowering::Vector, EmitMinMax, nullptr, nullptr, Tag(BinaryOp::Min)},
    {"maximum", kArrays, "x, y", DTypes::Any, kE, "the greater; NaN if there is one", "np.maximum(x, y)", Lowering::Vector, EmitMinMax, nullptr, nullptr, Tag(BinaryOp::Max)},
    {"clip", kArrays | kMethod, "x, min=None, max=None", DTypes::Any, kE, "x between min and max", "np.clip(x, min, max)", Lowering::Vector, EmitClip},
    {"clamp", kAsc | kMethod, "x, min=None, max=None", DTypes::Any, kE, "x between min and max", "np.clip(x, min, max)", Lowering::Vector, EmitClip},
    {"where", kArrays, "condition, x, y", DTypes::Any, kE, "x where the condition holds, else y", "np.where(condition, x, y)", Lowering::Vector, EmitWhere},
    {"select", kAsc, "condition, x, y", DTypes::Any, kE, "x where the condition holds, else y", "np.where(condition, x, y)", Lowering::Vector, EmitWhere},
    {"isnan", kAll, "x", kF, kE, "whether it is NaN", "np.isnan(x)", Lowering::Vector, EmitTest, nullptr, nullptr, kIsNan},
    {"isinf", kAll, "x", kF, kE, "whether it is infinite", "np.isinf(x)", Lowering::Vector, EmitTest, nullptr, nullptr, kIsInf},
    {"isfinite", kAll, "x", kF, kE, "whether it is neither NaN nor infinite", "np.isfinite(x)", Lowering::Vector, EmitTest, nullptr, nullptr, kIsFinite},
    {"signbit", kArrays, "x", kF, kE, "whether the sign bit is set", "np.signbit(x)", Lowering::Scalar, EmitTest, nullptr, nullptr, kSignBit},
    {"atan2", kAll, "y, x", kF, kE, "angle of the point (x, y)", "np.arctan2(y, x)", Lowering::Scalar, EmitAtan2OrSo, nullptr, nullptr, 0},
    {"arctan2", kArrays, "y, x", kF, kE, "angle of the point (x, y)", "np.arctan2(y, x)", Lowering::Scalar, EmitAtan2OrSo, nullptr, nullptr, 0},
    {"copysign", kAll, "x, y", kF, kE, "x with the sign of y", "np.copysign(x, y)", Lowering::Scalar, EmitAtan2OrSo, nullptr, nullptr, 1},
    {"hypot", kAll, "x, y", kF, kE, "length of the vector (x, y), without overflow on the way", "np.hypot(x, y)", Lowering::Vector, EmitAtan2OrSo, nullptr, nullptr, 2},
    {"fmod", kAll, "x, y", kF, kE, "remainder with the sign of x", "np.fmod(x, y)", Lowering::Scalar, EmitAtan2OrSo, nullptr, nullptr, 3},
    {"pow", kAll | kBuiltin, "x, y", DTypes::Numeric, kE, "x to the y", "np.power(x, y)", Lowering::Scalar, EmitOperator, nullptr, nullptr, Tag(BinaryOp::Pow)},
    {"power", kArrays, "x, y", DTypes::Numeric, kE, "x to the y", "np.power(x, y)", Lowering::Scalar, EmitOperator, nullptr, nullptr, Tag(BinaryOp::Pow)},
    {"fma", kAsc | kMath, "x, y, z", DTypes::Numeric, kE, "x * y + z", "x * y + z", Lowering::Vector, EmitFma},
    {"add", kArrays, "x, y", DTypes::Any, kE, "x + y", "x + y", Lowering::Vector, EmitOperator, nullptr, nullptr, Tag(BinaryOp::Add)},
    {"subtract", kArrays, "x, y", DTypes::Any, kE, "x - y", "x - y", Lowering::Vector, EmitOperator, nullptr, nullptr, Tag(BinaryOp::Sub)},
    {"sub", kAsc, "x, y", DTypes::Any, kE, "x - y", "x - y", Lowering::Vector, EmitOperator, nullptr, nullptr, Tag(BinaryOp::Sub)},
    {"multiply", kArrays, "x, y", DTypes::Any, kE, "x * y", "x * y", Lowering::Vector, EmitOperator, nullptr, nullptr, Tag(BinaryOp::Mul)},
    {"mul", kAsc, "x, y", DTypes::Any, kE, "x * y", "x * y", Lowering::Vector, EmitOperator, nullptr, nullptr, Tag(BinaryOp::Mul)},
    {"divide", kArrays, "x, y", DTypes::Any, kE, "x / y", "x / y", Lowering::Vector, EmitOperator, nullptr, nullptr, Tag(BinaryOp::TrueDiv)},
    {"div", kAsc, "x, y", DTypes::Any, kE, "x / y", "x / y", Lowering::Vector, EmitOperator, nullptr, nullptr, Tag(BinaryOp::TrueDiv)},
    {"floor_divide", kArrays, "x, y", DTypes::Any, kE, "x // y", "x // y", Lowering::Scalar, EmitOperator, nullptr, nullptr, Tag(BinaryOp::FloorDiv)},
    {"mod", kArrays, "x, y", DTypes::Any, kE, "x % y", "x % y", Lowering::Scalar, EmitOperator, nullptr, nullptr, Tag(BinaryOp::Mod)},
    {"remainder", kArrays, "x, y", DTypes::Any, kE, "x % y", "x % y", Lowering::Scalar, EmitOperator, nullptr, nullptr, Tag(BinaryOp::Mod)},
    {"bitwise_and", kArrays, "x, y", DTypes::Integer, kE, "x & y", "x & y", Lowering::Vector, EmitOperator, nullptr, nullptr, Tag(BinaryOp::And)},
    {"bitwise_or", kArrays, "x, y", DTypes::Integer, kE, "x | y", "x | y", Lowering::Vector, EmitOperator, nullptr, nullptr, Tag(BinaryOp::Or)},
    {"bitwise_xor", kArrays, "x, y", DTypes::Integer, kE, "x ^ y", "x ^ y", Lowering::Vector, EmitOperator, nullptr, nullptr, Tag(BinaryOp::Xor)},
    {"left_shift", kArrays, "x, y", DTypes::Integer, kE, "x << y", "x << y", Lowering::Scalar, EmitOperator, nullptr, nullptr, Tag(BinaryOp::Shl)},
    {"right_shift", kArrays, "x, y", DTypes::Integer, kE, "x >> y", "x >> y", Lowering::Scalar, EmitOperator, nullptr, nullptr, Tag(BinaryOp::Shr)},
    {"equal", kArrays, "x, y", DTypes::Any, kE, "x == y", "x == y", Lowering::Vector, EmitComparison, nullptr, nullptr, Tag(CompareOp::Eq)},
    {"not_equal", kArrays, "x, y", DTypes::Any, kE, "x != y", "x != y", Lowering::Vector, EmitComparison, nullptr, nullptr, Tag(CompareOp::Ne)},
    {"less", kArrays, "x, y", DTypes::Any, kE, "x < y", "x < y", Lowering::Vector, EmitComparison, nullptr, nullptr, Tag(CompareOp::Lt)},
    {"less_equal", kArrays, "x, y", DTypes::Any, kE, "x <= y", "x <= y", Lowering::Vector, EmitComparison, nullptr, nullptr, Tag(CompareOp::Le)},
    {"greater", kArrays, "x, y", DTypes::Any, kE, "x > y", "x > y", Lowering::Vector, EmitComparison, nullptr, nullptr, Tag(CompareOp::Gt)},
    {"greater_equal", kArrays, "x, y", DTypes::Any, kE, "x >= y", "x >= y", Lowering::Vector, EmitComparison, nullptr, nullptr, Tag(CompareOp::Ge)},
    {"logical_and", kArrays, "x, y", DTypes::Any, kE, "whether both are true", "np.logical_and(x, y)", Lowering::Vector, EmitLogical, nullptr, nullptr, Tag(BinaryOp::And)},
    {"logical_or", kArrays, "x, y", DTypes::Any, kE, "whether one is true", "np.logical_or(x, y)", Lowering::Vector, EmitLogical, nullptr, nullptr, Tag(BinaryOp::Or)},
    {"logical_xor", kArrays, "x, y", DTypes::Any, kE, "whether just one is true", "np.logical_xor(x, y)", Lowering::Vector, EmitLogical, nullptr, nullptr, Tag(BinaryOp::Xor)},
    {"logical_not", kArrays, "x", DTypes::Any, kE, "whether it is false", "np.logical_not(x)", Lowering::Vector, EmitLogical, nullptr, nullptr, -1},
};
// clang-format on

} // namespace

std::span<const LibraryEntry> ElementwiseTable() { return kTable; }

} // namespace pyasc::sema
