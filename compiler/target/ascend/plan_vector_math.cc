// Functions without an instruction, as sequences on f32 tiles.
#include "compiler/target/ascend/plan_vector_body.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

namespace pyasc::npu {

using namespace mlir;

namespace {

class MathCode {
public:
  MathCode(TileCode &code) : code_(code), f32_(code.builder().getF32Type()) {}

  Value number(double value) { return code_.constant(f32_, value); }
  TileValue add(const TileValue &a, double s) { return code_.scalarOp(Scalar::adds, a, number(s)); }
  TileValue mul(const TileValue &a, double s, const TileValue *into = nullptr) {
    return code_.scalarOp(Scalar::muls, a, number(s), into);
  }
  TileValue add(const TileValue &a, const TileValue &b) { return code_.binary(Binary::add, a, b); }
  TileValue sub(const TileValue &a, const TileValue &b) { return code_.binary(Binary::sub, a, b); }
  TileValue mul(const TileValue &a, const TileValue &b, const TileValue *into = nullptr) {
    return code_.binary(Binary::mul, a, b, into);
  }
  TileValue div(const TileValue &a, const TileValue &b) { return code_.binary(Binary::div, a, b); }
  TileValue exp(const TileValue &a) { return code_.unary(Unary::exp, a); }
  TileValue log(const TileValue &a) { return code_.unary(Unary::ln, a); }
  TileValue abs(const TileValue &a) { return code_.unary(Unary::abs, a); }
  TileValue one(const TileValue &like) { return code_.fill(like.kind, number(1)); }

  TileValue where(Compare op, const TileValue &a, double s, const TileValue &yes,
                  const TileValue &no, const TileValue *into = nullptr) {
    return code_.select(code_.compare(op, a, code_.uniform(number(s))), yes, no, into);
  }

  // Coefficients from the highest power down.
  TileValue polynomial(const TileValue &x, ArrayRef<double> coefficients) {
    TileValue sum = add(mul(x, coefficients[0]), coefficients[1]);
    for (double coefficient : coefficients.drop_front(2))
      sum = add(mul(sum, x), coefficient);
    return sum;
  }

  // Below 0.625 a polynomial, since 1 - exp(-2x) loses digits there.
  TileValue tanh(const TileValue &x, const TileValue *into) {
    TileValue size = abs(x);
    TileValue e = exp(mul(size, -2));
    TileValue large = div(add(mul(e, -1), 1), add(e, 1));
    large = where(Compare::lt, x, 0, mul(large, -1), large);
    TileValue z = mul(x, x);
    TileValue p = polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                                 1.33314422036e-1, -3.33332819422e-1});
    TileValue small = add(mul(mul(p, z), x), x);
    return where(Compare::lt, size, 0.625, small, large, into);
  }

  // Below 1 a polynomial; from there on 1 - exp(-x^2) times a polynomial of 1 / (1 + p x).
  TileValue erf(const TileValue &x, const TileValue *into) {
    TileValue size = abs(x);
    TileValue t = div(one(x), add(mul(size, 0.3275911), 1));
    TileValue p =
        mul(polynomial(t, {1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592}), t);
    TileValue z = mul(x, x);
    TileValue large = add(mul(mul(p, exp(mul(z, -1))), -1), 1);
    large = where(Compare::lt, x, 0, mul(large, -1), large);
    TileValue q = polynomial(z, {7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3,
                                 -2.685381193529856e-2, 1.128358514861418e-1, -3.761262582423300e-1,
                                 1.128379165726710});
    return where(Compare::lt, size, 1, mul(q, x), large, into);
  }

  // log(u) * x / (u - 1) with u = 1 + x: the error of u cancels.
  TileValue log1p(const TileValue &x, const TileValue *into) {
    TileValue u = add(x, 1);
    TileValue d = add(u, -1);
    TileValue result = mul(log(u), div(x, d));
    // u = 1: x itself; u infinite: infinity (d / d would be NaN).
    result = where(Compare::eq, d, 0, x, result);
    return where(Compare::eq, x, std::numeric_limits<double>::infinity(), x, result, into);
  }

  TileValue expm1(const TileValue &x, const TileValue *into) {
    TileValue u = exp(x);
    TileValue d = add(u, -1);
    TileValue result = mul(d, div(x, log(u)));
    result = where(Compare::eq, d, 0, x, result);
    result = where(Compare::eq, d, -1, d, result);
    return where(Compare::eq, u, std::numeric_limits<double>::infinity(), u, result, into);
  }

  // x to a small whole power, by the same products as repeated multiplication.
  FailureOr<TileValue> power(const TileValue &x, double exponent, const TileValue *into) {
    if (exponent == 1)
      return x;
    if (exponent == 2)
      return mul(x, x, into);
    if (exponent == 3)
      return mul(mul(x, x), x, into);
    if (exponent == 4) {
      TileValue square = mul(x, x);
      return mul(square, square, into);
    }
    if (exponent == -1)
      return code_.binary(Binary::div, one(x), x, into);
    return failure();
  }

private:
  TileCode &code_;
  Type f32_;
};

} // namespace

FailureOr<TileValue> emitMathFunction(TileCode &code, Operation *op, const TileValue &x,
                                      const TileValue *into) {
  MathCode math(code);
  Type f32 = code.builder().getF32Type();
  if (isa<math::TanhOp>(op))
    return math.tanh(x, into);
  if (isa<math::ErfOp>(op))
    return math.erf(x, into);
  if (isa<math::Log1pOp>(op))
    return math.log1p(x, into);
  if (isa<math::ExpM1Op>(op))
    return math.expm1(x, into);
  if (isa<math::Log2Op>(op))
    return math.mul(math.log(x), 1.4426950408889634, into);
  if (isa<math::Log10Op>(op))
    return math.mul(math.log(x), 0.4342944819032518, into);
  if (isa<math::FloorOp>(op))
    return code.cast(x, f32, Round::floor, into);
  if (isa<math::CeilOp>(op))
    return code.cast(x, f32, Round::ceil, into);
  if (isa<math::TruncOp>(op))
    return code.cast(x, f32, Round::trunc, into);
  if (isa<math::RoundOp>(op))
    return code.cast(x, f32, Round::round, into);
  if (isa<math::RoundEvenOp>(op))
    return code.cast(x, f32, Round::rint, into);
  if (isa<math::PowFOp>(op)) {
    FloatAttr exponent;
    if (matchPattern(op->getOperand(1), m_Constant(&exponent)))
      return math.power(x, exponent.getValueAsDouble(), into);
    return failure();
  }
  if (isa<math::FPowIOp>(op)) {
    IntegerAttr exponent;
    if (matchPattern(op->getOperand(1), m_Constant(&exponent)))
      return math.power(x, exponent.getInt(), into);
    return failure();
  }
  return failure();
}

} // namespace pyasc::npu
