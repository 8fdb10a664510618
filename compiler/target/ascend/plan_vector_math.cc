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
    TileValue sum = mul(x, coefficients[0]);
    sum = code_.scalarOp(Scalar::adds, sum, number(coefficients[1]), &sum);
    for (double coefficient : coefficients.drop_front(2)) {
      sum = mul(sum, x, &sum);
      sum = code_.scalarOp(Scalar::adds, sum, number(coefficient), &sum);
    }
    return sum;
  }

  // x P(x^2) / Q(x^2) for |x| up to `bound`, where the function is one to the last place.
  TileValue rational(const TileValue &x, double bound, ArrayRef<double> p, ArrayRef<double> q,
                     const TileValue *into) {
    TileValue c = code_.scalarOp(Scalar::mins, x, number(bound));
    c = code_.scalarOp(Scalar::maxs, c, number(-bound), &c);
    TileValue z = mul(c, c);
    TileValue top = polynomial(z, p);
    top = mul(top, c, &top);
    c = {};
    return code_.binary(Binary::div, top, polynomial(z, q), into ? into : &top);
  }

  // Coefficients fitted to the least relative error on the interval: 6e-8.
  TileValue tanh(const TileValue &x, const TileValue *into) {
    return rational(x, 9.01,
                    {1.82077156829e-11, -1.27617289095e-8, 9.26115771278e-6, 2.92007557604e-3,
                     1.2918590757e-1, 0.999999941037},
                    {2.28005308996e-4, 2.37603608154e-2, 4.62518743122e-1, 1}, into);
  }

  // 1 + tanh(x), which keeps its digits where tanh is close to -1.
  TileValue onePlusTanh(const TileValue &minusTwoX, bool reciprocal) {
    TileValue e = code_.unary(Unary::exp, minusTwoX);
    e = code_.scalarOp(Scalar::adds, e, number(1), &e);
    return reciprocal ? e : code_.binary(Binary::div, code_.uniform(number(2)), e, &e);
  }

  // 1 + erf(x) as 1 + tanh(u): u(x) is an odd polynomial, fitted to the least error of the result,
  // 6e-8. In s = kErfScale * x its highest coefficient, of -2 u, is one, and u grows beyond all
  // bounds with x, so that nothing has to be cut off.
  TileValue onePlusErf(TileValue s, bool reciprocal) {
    TileValue z = mul(s, s);
    TileValue sum = add(z, -3.76873274903);
    for (double coefficient :
         {5.65319068279, -3.94616083672, -0.116378910615, 6.49155018855, 7.13360375488}) {
      sum = mul(sum, z, &sum);
      sum = code_.scalarOp(Scalar::adds, sum, number(coefficient), &sum);
    }
    sum = mul(sum, s, &sum);
    s = z = {};
    return onePlusTanh(sum, reciprocal);
  }

  // As tanh: 5e-8.
  TileValue erf(const TileValue &x, const TileValue *into) {
    return rational(x, 3.92,
                    {1.99222194503e-8, -1.95757221805e-6, 1.41819945443e-4, 3.70063700521e-3,
                     5.05704683519e-2, 1.99904041527e-1, 1.12837910941},
                    {9.55779141821e-4, 1.43513297556e-2, 1.14989803495e-1, 5.10492005887e-1, 1},
                    into);
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

TileValue emitOnePlusTanh(TileCode &code, const TileValue &minusTwoX, bool reciprocal) {
  return MathCode(code).onePlusTanh(minusTwoX, reciprocal);
}

TileValue emitOnePlusErf(TileCode &code, TileValue scaled, bool reciprocal) {
  return MathCode(code).onePlusErf(std::move(scaled), reciprocal);
}

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
