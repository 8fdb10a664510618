// Softmax and the normalisations, built from reductions and elementwise operations.
#include <limits>

#include "compiler/sema/library_reductions.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace pyasc::sema {

namespace math = mlir::math;

namespace {

struct Setup {
  Value x;
  DType t, wide;
  std::vector<bool> reduced;
  double count = 1;
};

std::optional<Setup> Prepare(Emitter &e, const BoundCall &call, const Value &axis_value,
                             const SourceRange &axis_range) {
  Setup s;
  s.x = call.args[0];
  if (!e.ExpectTensor(call.where[0], s.x, "the argument of " + std::string(call.entry->name)))
    return std::nullopt;
  auto axis = e.AxisArgument(axis_range, axis_value, static_cast<int>(s.x.tensor.dims.size()));
  if (!axis)
    return std::nullopt;
  s.t = IsFloat(s.x.dtype) ? s.x.dtype : DType::Float32;
  s.wide = Is16BitFloat(s.t) ? DType::Float32 : s.t;
  s.reduced.assign(s.x.tensor.dims.size(), false);
  s.reduced[static_cast<size_t>(*axis)] = true;
  s.count = static_cast<double>(s.x.tensor.dims[static_cast<size_t>(*axis)].size);
  return s;
}

Value Keep(Emitter &e, const Value &x, const std::vector<bool> &reduced) {
  Value v = x;
  if (!v.IsInvalid())
    for (size_t i = 0; i < reduced.size(); ++i)
      if (reduced[i])
        v = e.ExpandView(v, static_cast<int>(i));
  return v;
}

Value EmitSoftmax(Emitter &e, const BoundCall &call) {
  auto s = Prepare(e, call, call.args[1], call.where[1]);
  if (!s)
    return Value::Invalid();
  bool log = call.entry->tag == 1;
  const SourceRange &range = call.range;
  DType from = s->x.dtype, wide = s->wide, t = s->t;
  auto as_wide = [&](ScalarOps &ops, mlir::ValueRange in) { return ops.Cast(in[0], from, wide); };
  // Subtracting the row's maximum keeps exp from overflowing; a row of -inf alone gives NaN.
  Value max = Keep(e,
                   Reduce(e, range, {s->x}, s->reduced, wide, wide,
                          {.f = -std::numeric_limits<double>::infinity()}, BinaryOp::Max, as_wide),
                   s->reduced);
  Value shifted = e.ElementwiseTyped(range, {s->x, max}, {wide, wide}, wide,
                                     [wide](ScalarOps &ops, mlir::ValueRange v) {
                                       return ops.Binary(BinaryOp::Sub, v[0], v[1], wide);
                                     });
  Value exps = e.Elementwise(range, {shifted}, wide, wide, [](ScalarOps &ops, mlir::ValueRange v) {
    return ops.b.create<math::ExpOp>(ops.loc, v[0]).getResult();
  });
  if (exps.IsInvalid())
    return exps;
  Value sum = Keep(e,
                   Reduce(e, range, {exps}, s->reduced, wide, wide, {}, BinaryOp::Add,
                          [](ScalarOps &, mlir::ValueRange in) { return in[0]; }),
                   s->reduced);
  if (log)
    return e.ElementwiseTyped(range, {shifted, sum}, {wide, wide}, t,
                              [wide, t](ScalarOps &ops, mlir::ValueRange v) {
                                mlir::Value l = ops.b.create<math::LogOp>(ops.loc, v[1]);
                                return ops.Cast(ops.Binary(BinaryOp::Sub, v[0], l, wide), wide, t);
                              });
  return e.ElementwiseTyped(
      range, {exps, sum}, {wide, wide}, t, [wide, t](ScalarOps &ops, mlir::ValueRange v) {
        return ops.Cast(ops.Binary(BinaryOp::TrueDiv, v[0], v[1], wide), wide, t);
      });
}

Value EmitNorm(Emitter &e, const BoundCall &call) {
  bool centred = call.entry->tag == 1;
  // layer_norm(x, weight, bias, eps, axis), rms_norm(x, weight, eps, axis)
  size_t eps_at = centred ? 3 : 2, axis_at = eps_at + 1;
  auto s = Prepare(e, call, call.args[axis_at], call.where[axis_at]);
  if (!s)
    return Value::Invalid();
  const SourceRange &range = call.range;
  const Value &eps = call.args[eps_at];
  if (!eps.IsScalar())
    return e.Error("type-mismatch", call.where[eps_at], "eps must be a number");
  DType from = s->x.dtype, wide = s->wide, t = s->t;
  Value count = Value::FloatConstant(s->count, wide, false);
  Value x = s->x;
  if (centred) {
    Value sum =
        Reduce(e, range, {x}, s->reduced, wide, wide, {}, BinaryOp::Add,
               [&](ScalarOps &ops, mlir::ValueRange in) { return ops.Cast(in[0], from, wide); });
    Value mean = Keep(e, e.Binary(range, BinaryOp::TrueDiv, sum, count), s->reduced);
    x = e.ElementwiseTyped(range, {x, mean}, {wide, wide}, wide,
                           [wide](ScalarOps &ops, mlir::ValueRange v) {
                             return ops.Binary(BinaryOp::Sub, v[0], v[1], wide);
                           });
    if (x.IsInvalid())
      return x;
    from = wide;
  }
  Value squares = Reduce(e, range, {x}, s->reduced, wide, wide, {}, BinaryOp::Add,
                         [&](ScalarOps &ops, mlir::ValueRange in) {
                           mlir::Value v = ops.Cast(in[0], from, wide);
                           return ops.Binary(BinaryOp::Mul, v, v, wide);
                         });
  Value mean_square = e.Binary(range, BinaryOp::TrueDiv, squares, count);
  Value scale = Keep(
      e,
      e.ElementwiseTyped(range, {mean_square, eps}, {wide, wide}, wide,
                         [wide](ScalarOps &ops, mlir::ValueRange v) {
                           mlir::Value sum = ops.Binary(BinaryOp::Add, v[0], v[1], wide);
                           mlir::Value root = ops.b.create<math::SqrtOp>(ops.loc, sum);
                           return ops.Binary(BinaryOp::TrueDiv, ops.Float(wide, 1), root, wide);
                         }),
      s->reduced);
  if (scale.IsInvalid())
    return scale;
  // One axis has no elements left: the scale is a scalar tensor that broadcasts all the same.
  std::vector<Value> operands = {x, scale};
  bool weight = !call.args[1].IsNone(), bias = centred && !call.args[2].IsNone();
  if (weight)
    operands.push_back(call.args[1]);
  if (bias)
    operands.push_back(call.args[2]);
  for (const Value &v : operands)
    if (!e.ExpectNumber(range, v, "an argument of " + std::string(call.entry->name)))
      return Value::Invalid();
  return e.ElementwiseTyped(range, operands, std::vector<DType>(operands.size(), wide), t,
                            [=](ScalarOps &ops, mlir::ValueRange v) {
                              mlir::Value r = ops.Binary(BinaryOp::Mul, v[0], v[1], wide);
                              size_t next = 2;
                              if (weight)
                                r = ops.Binary(BinaryOp::Mul, r, v[next++], wide);
                              if (bias)
                                r = ops.Binary(BinaryOp::Add, r, v[next], wide);
                              return ops.Cast(r, wide, t);
                            });
}

// clang-format off
const LibraryEntry kTable[] = {
    {"softmax", kAsc, "x, axis=-1", DTypes::Float, ShapeRule::Elementwise, "exp(x - max) over its sum along an axis", "softmax(x, axis)", Lowering::Vector, EmitSoftmax, nullptr, nullptr, 0},
    {"log_softmax", kAsc, "x, axis=-1", DTypes::Float, ShapeRule::Elementwise, "logarithm of softmax", "np.log(softmax(x, axis))", Lowering::Vector, EmitSoftmax, nullptr, nullptr, 1},
    {"layer_norm", kAsc, "x, weight=None, bias=None, eps=1e-5, axis=-1", DTypes::Float, ShapeRule::Elementwise, "zero mean and unit variance along an axis, scaled and shifted", "(x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps) * weight + bias", Lowering::Vector, EmitNorm, nullptr, nullptr, 1},
    {"rms_norm", kAsc, "x, weight=None, eps=1e-6, axis=-1", DTypes::Float, ShapeRule::Elementwise, "unit mean square along an axis, scaled", "x / np.sqrt((x * x).mean(axis, keepdims=True) + eps) * weight", Lowering::Vector, EmitNorm, nullptr, nullptr, 0},
};
// clang-format on

} // namespace

std::span<const LibraryEntry> NormalizationTable() { return kTable; }

} // namespace pyasc::sema
