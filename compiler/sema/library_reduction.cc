// Reductions over axes.
#include <cmath>
#include <limits>

#include "compiler/sema/library_reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace pyasc::sema {

namespace {

struct Axes {
  std::vector<bool> reduced;
  std::vector<int64_t> kept_shape; // without the reduced axes
  std::vector<int64_t> keep_shape; // with ones in their place
  int64_t count = 1;               // elements that one result combines
};

std::optional<Axes> ReadAxes(Emitter &e, const BoundCall &call, const Value &x, size_t at) {
  auto rank = static_cast<int>(x.tensor.dims.size());
  Axes axes;
  axes.reduced.assign(static_cast<size_t>(rank), call.args[at].IsNone());
  if (!call.args[at].IsNone()) {
    std::vector<Value> list =
        call.args[at].IsTuple() ? *call.args[at].items : std::vector<Value>{call.args[at]};
    for (const Value &v : list) {
      auto axis = e.AxisArgument(call.where[at], v, rank);
      if (!axis)
        return std::nullopt;
      if (axes.reduced[static_cast<size_t>(*axis)]) {
        e.Error("bad-axis", call.where[at], "an axis is named twice");
        return std::nullopt;
      }
      axes.reduced[static_cast<size_t>(*axis)] = true;
    }
  }
  for (size_t i = 0; i < axes.reduced.size(); ++i) {
    int64_t n = x.tensor.dims[i].size;
    if (axes.reduced[i]) {
      axes.count *= n;
      axes.keep_shape.push_back(1);
    } else {
      axes.kept_shape.push_back(n);
      axes.keep_shape.push_back(n);
    }
  }
  return axes;
}

} // namespace

// out[kept] = combine(init, body(x)) over the reduced axes; in `wide`, rounded to `t` at the end.
Value Reduce(Emitter &e, const SourceRange &range, const std::vector<Value> &operands,
             const std::vector<bool> &reduced, DType wide, DType t, const Constant &init,
             BinaryOp combine, const Emitter::Body &body) {
  const Value &x = operands[0];
  std::vector<int64_t> extents = x.tensor.Shape(), kept;
  std::vector<int> out_axes;
  for (size_t i = 0; i < extents.size(); ++i)
    if (!reduced[i]) {
      kept.push_back(extents[i]);
      out_axes.push_back(static_cast<int>(i));
    }
  Value sum = e.NewTensor(range, wide, kept);
  if (sum.IsInvalid())
    return sum;
  // Over no axis (axis=(), or a tensor of rank 0) every element is a result of its own.
  const bool single = out_axes.size() == extents.size();
  if (!single)
    e.Fill(range, sum, init);
  std::vector<Emitter::GenericOperand> inputs;
  for (const Value &v : operands) {
    std::vector<int> axes;
    axes.reserve(v.tensor.dims.size());
    for (size_t i = 0; i < v.tensor.dims.size(); ++i)
      axes.push_back(v.tensor.dims[i].size == 1 && extents[i] != 1 ? -1 : static_cast<int>(i));
    inputs.push_back({v, axes});
  }
  e.Generic(range, extents, inputs, {sum, out_axes}, reduced,
            [&](ScalarOps &ops, mlir::ValueRange in, mlir::Value out) {
              mlir::Value element = body(ops, in);
              return single ? element : ops.Binary(combine, out, element, wide);
            });
  return wide == t ? sum : e.Cast(range, sum, t);
}

// The result as NumPy gives it: a scalar when no axis is left, ones where they are kept.
Value Finish(Emitter &e, const SourceRange &range, const Value &x, const std::vector<bool> &reduced,
             bool keepdims) {
  if (x.IsInvalid())
    return x;
  if (keepdims) {
    Value v = x;
    for (size_t i = 0; i < reduced.size(); ++i)
      if (reduced[i])
        v = e.ExpandView(v, static_cast<int>(i));
    return v;
  }
  return x.tensor.dims.empty() ? e.LoadElement(range, x) : x;
}

DType SumType(DType t) {
  // NumPy sums small integers in 64 bits.
  if (t == DType::Bool)
    return DType::Int64;
  if (IsInteger(t))
    return IsUnsigned(t) ? DType::UInt64 : DType::Int64;
  return t;
}

namespace {

DType Wide(DType t) { return Is16BitFloat(t) ? DType::Float32 : t; }

enum Kind { kSum, kProd, kMax, kMin, kAny, kAll, kMean, kVar, kStd, kCountNonzero };

Value EmitReduction(Emitter &e, const BoundCall &call) {
  Value x = call.args[0];
  std::string name(call.entry->name);
  int kind = call.entry->tag;
  if (x.IsScalar() && (kind == kMax || kind == kMin) && call.args[1].IsNumber())
    return e.Binary(call.range, kind == kMax ? BinaryOp::Max : BinaryOp::Min, x, call.args[1]);
  if (!e.ExpectTensor(call.where[0], x, "the argument of " + name))
    return Value::Invalid();
  if ((kind == kMax || kind == kMin) && call.args[1].IsTensor())
    return e.Error("type-mismatch", call.where[1],
                   "the second argument of " + name + " is an axis; asc." + name +
                       "imum compares two tensors");
  auto axes = ReadAxes(e, call, x, 1);
  auto keep = e.ConstantBool(call.where[2], call.args[2], "keepdims");
  if (!axes || !keep)
    return Value::Invalid();
  DType from = x.dtype, t = from, wide = from;
  Constant init;
  BinaryOp combine = BinaryOp::Add;
  SourceRange range = call.range;
  switch (kind) {
  case kSum:
  case kProd:
    t = SumType(from);
    if (call.args.size() > 3 && !call.args[3].IsNone()) {
      auto asked = e.DTypeArgument(call.where[3], call.args[3]);
      if (!asked)
        return Value::Invalid();
      t = *asked;
    }
    wide = Wide(t);
    if (kind == kProd) {
      combine = BinaryOp::Mul;
      init = {.i = 1, .f = 1};
    }
    break;
  case kMean:
  case kVar:
  case kStd:
    t = IsFloat(from) ? from : DType::Float32;
    wide = Wide(t);
    break;
  case kCountNonzero:
    t = wide = DType::Int64;
    break;
  case kMax:
  case kMin:
    if (axes->count == 0)
      return e.Error("zero-size", range, name + " of no elements has no value");
    combine = kind == kMax ? BinaryOp::Max : BinaryOp::Min;
    init.f = kind == kMax ? -std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::infinity();
    if (!IsFloat(t))
      init.i = kind == kMax ? MinInt(t) : MaxInt(t);
    break;
  case kAny:
  case kAll:
  default:
    t = wide = DType::Bool;
    combine = kind == kAny ? BinaryOp::Or : BinaryOp::And;
    init.i = kind == kAll;
    break;
  }
  if (!e.CheckDType(range, t))
    return Value::Invalid();
  auto as_wide = [&](ScalarOps &ops, mlir::ValueRange in) { return ops.Cast(in[0], from, wide); };
  if (kind == kCountNonzero)
    return Finish(e, range,
                  Reduce(e, range, {x}, axes->reduced, wide, t, init, combine,
                         [&](ScalarOps &ops, mlir::ValueRange in) {
                           return ops.Cast(ops.Cast(in[0], from, DType::Bool), DType::Bool, wide);
                         }),
                  axes->reduced, *keep);
  if (kind < kMean)
    return Finish(e, range, Reduce(e, range, {x}, axes->reduced, wide, t, init, combine, as_wide),
                  axes->reduced, *keep);
  // Means divide the float32 sum, and round once.
  double n = static_cast<double>(axes->count);
  Value sum = Reduce(e, range, {x}, axes->reduced, wide, wide, init, combine, as_wide);
  Value mean = e.Binary(range, BinaryOp::TrueDiv, sum, Value::FloatConstant(n, wide, false));
  if (kind == kMean)
    return Finish(e, range, wide == t ? mean : e.Cast(range, mean, t), axes->reduced, *keep);
  double ddof = 0;
  if (call.args.size() > 3 && !call.args[3].IsNone()) {
    if (!call.args[3].IsConstant())
      return e.Error("not-static", call.where[3], "ddof must be known at compile time");
    ddof = call.args[3].ConstantAsDouble();
  }
  if (mean.IsInvalid())
    return mean;
  Value centre = mean;
  for (size_t i = 0; i < axes->reduced.size(); ++i)
    if (axes->reduced[i])
      centre = e.ExpandView(centre, static_cast<int>(i));
  Value squares = Reduce(e, range, {x, centre}, axes->reduced, wide, wide, {}, BinaryOp::Add,
                         [&](ScalarOps &ops, mlir::ValueRange in) {
                           mlir::Value d =
                               ops.Binary(BinaryOp::Sub, ops.Cast(in[0], from, wide), in[1], wide);
                           return ops.Binary(BinaryOp::Mul, d, d, wide);
                         });
  Value result = e.Binary(range, BinaryOp::TrueDiv, squares,
                          Value::FloatConstant(std::max(n - ddof, 0.0), wide, false));
  if (kind == kStd)
    result = e.Elementwise(range, {result}, wide, wide, [](ScalarOps &ops, mlir::ValueRange v) {
      return ops.b.create<mlir::math::SqrtOp>(ops.loc, v[0]).getResult();
    });
  return Finish(e, range, wide == t || result.IsInvalid() ? result : e.Cast(range, result, t),
                axes->reduced, *keep);
}

// The index of the first extremum along an axis; the first NaN wins.
Value EmitArgExtremum(Emitter &e, const BoundCall &call) {
  Value x = call.args[0];
  std::string name(call.entry->name);
  bool max = call.entry->tag == kMax;
  SourceRange range = call.range;
  if (!e.ExpectTensor(call.where[0], x, "the argument of " + name))
    return Value::Invalid();
  auto keep = e.ConstantBool(call.where[2], call.args[2], "keepdims");
  if (!keep)
    return Value::Invalid();
  size_t original_rank = x.tensor.dims.size();
  int axis = 0;
  if (call.args[1].IsNone()) {
    auto flat = e.Reshape(range, x, {x.tensor.Count()});
    if (!flat)
      return Value::Invalid();
    x = *flat;
  } else {
    auto a = e.AxisArgument(call.where[1], call.args[1], static_cast<int>(original_rank));
    if (!a)
      return Value::Invalid();
    axis = *a;
  }
  int64_t n = x.tensor.dims[static_cast<size_t>(axis)].size;
  if (n == 0)
    return e.Error("zero-size", range, name + " of no elements has no value");
  std::vector<int64_t> kept = x.tensor.Shape();
  kept.erase(kept.begin() + axis);
  DType t = x.dtype;
  Value best = e.NewTensor(range, t, kept), index = e.NewTensor(range, DType::Int64, kept);
  if (best.IsInvalid() || index.IsInvalid())
    return Value::Invalid();
  e.LoopNest(
      range, kept,
      [&](const std::vector<Value> &at) {
        auto place = [&](const Value &tensor) {
          return at.empty() ? tensor : e.View(range, tensor, Value::TupleOf(at));
        };
        auto element = [&](const Value &k) {
          std::vector<Value> key = at;
          key.insert(key.begin() + axis, k);
          return e.Subscript(range, x, Value::TupleOf(key));
        };
        e.StoreElement(range, place(best), element(Value::WeakInt(0)));
        e.StoreElement(range, place(index), Value::IntConstant(0, DType::Int64, false));
        e.LoopNest(range, {n}, [&](const std::vector<Value> &k) {
          Value v = element(k[0]), old = e.LoadElement(range, place(best)),
                old_index = e.LoadElement(range, place(index));
          ScalarOps ops = e.Ops(range);
          mlir::Value a = e.Ssa(v), b = e.Ssa(old);
          mlir::Value better = ops.Compare(max ? CompareOp::Gt : CompareOp::Lt, a, b, t);
          if (IsFloat(t)) // nothing beats a NaN, and a NaN beats every number
            better = ops.And(ops.Or(better, ops.IsNan(a)), ops.Not(ops.IsNan(b)));
          e.StoreElement(range, place(best), Value::Scalar(t, ops.Select(better, a, b)));
          e.StoreElement(
              range, place(index),
              Value::Scalar(DType::Int64, ops.Select(better, e.Ssa(k[0]), e.Ssa(old_index))));
        });
      },
      /*parallel=*/true);
  if (*keep) {
    Value v = index;
    if (call.args[1].IsNone())
      for (size_t i = 0; i < original_rank; ++i)
        v = e.ExpandView(v, 0);
    else
      v = e.ExpandView(v, axis);
    return v;
  }
  return index.tensor.dims.empty() ? e.LoadElement(range, index) : index;
}

Value EmitCumulative(Emitter &e, const BoundCall &call) {
  Value x = call.args[0];
  SourceRange range = call.range;
  if (!e.ExpectTensor(call.where[0], x, "the argument of " + std::string(call.entry->name)))
    return Value::Invalid();
  int axis = 0;
  if (call.args[1].IsNone()) {
    auto flat = e.Reshape(range, x, {x.tensor.Count()});
    if (!flat)
      return Value::Invalid();
    x = *flat;
  } else {
    auto a = e.AxisArgument(call.where[1], call.args[1], static_cast<int>(x.tensor.dims.size()));
    if (!a)
      return Value::Invalid();
    axis = *a;
  }
  DType t = SumType(x.dtype), wide = Wide(t);
  bool product = call.entry->tag == kProd;
  std::vector<int64_t> shape = x.tensor.Shape();
  Value out = e.NewTensor(range, t, shape);
  int64_t n = shape[static_cast<size_t>(axis)];
  std::vector<int64_t> others = shape;
  others.erase(others.begin() + axis);
  Value running = e.NewTensor(range, wide, {});
  if (out.IsInvalid() || running.IsInvalid())
    return Value::Invalid();
  e.LoopNest(range, others, [&](const std::vector<Value> &at) {
    Value start = product ? Value::WeakInt(1) : Value::WeakInt(0);
    e.StoreElement(range, running, e.Cast(range, start, wide));
    e.LoopNest(range, {n}, [&](const std::vector<Value> &k) {
      std::vector<Value> key = at;
      key.insert(key.begin() + axis, k[0]);
      Value v = e.Cast(range, e.Subscript(range, x, Value::TupleOf(key)), wide);
      Value sum = e.Binary(range, product ? BinaryOp::Mul : BinaryOp::Add,
                           e.LoadElement(range, running), v);
      e.StoreElement(range, running, sum);
      e.StoreElement(range, e.View(range, out, Value::TupleOf(key)), e.Cast(range, sum, t));
    });
  });
  return out;
}

constexpr uint8_t kReach = kAsc | kNumpy | kMethod;
constexpr ShapeRule kR = ShapeRule::Reduction;

// clang-format off
const LibraryEntry kTable[] = {
    {"sum", kReach, "x, axis=None, keepdims=False, dtype=None", DTypes::Any, kR, "sum; 16-bit floats in float32, integers in 64 bits", "np.sum(x, axis, keepdims=keepdims)", Lowering::Vector, EmitReduction, nullptr, nullptr, kSum},
    {"prod", kReach, "x, axis=None, keepdims=False, dtype=None", DTypes::Any, kR, "product", "np.prod(x, axis, keepdims=keepdims)", Lowering::Vector, EmitReduction, nullptr, nullptr, kProd},
    {"max", kReach, "x, axis=None, keepdims=False", DTypes::Any, kR, "greatest; NaN if there is one", "np.max(x, axis, keepdims=keepdims)", Lowering::Vector, EmitReduction, nullptr, nullptr, kMax},
    {"min", kReach, "x, axis=None, keepdims=False", DTypes::Any, kR, "least; NaN if there is one", "np.min(x, axis, keepdims=keepdims)", Lowering::Vector, EmitReduction, nullptr, nullptr, kMin},
    {"amax", kAsc | kNumpy, "x, axis=None, keepdims=False", DTypes::Any, kR, "greatest; NaN if there is one", "np.max(x, axis, keepdims=keepdims)", Lowering::Vector, EmitReduction, nullptr, nullptr, kMax},
    {"amin", kAsc | kNumpy, "x, axis=None, keepdims=False", DTypes::Any, kR, "least; NaN if there is one", "np.min(x, axis, keepdims=keepdims)", Lowering::Vector, EmitReduction, nullptr, nullptr, kMin},
    {"any", kReach | kBuiltin, "x, axis=None, keepdims=False", DTypes::Any, kR, "whether some element is true", "np.any(x, axis, keepdims=keepdims)", Lowering::Vector, EmitReduction, nullptr, nullptr, kAny},
    {"all", kReach | kBuiltin, "x, axis=None, keepdims=False", DTypes::Any, kR, "whether all elements are true", "np.all(x, axis, keepdims=keepdims)", Lowering::Vector, EmitReduction, nullptr, nullptr, kAll},
    {"mean", kReach, "x, axis=None, keepdims=False", DTypes::Any, kR, "arithmetic mean", "np.mean(x, axis, keepdims=keepdims)", Lowering::Vector, EmitReduction, nullptr, nullptr, kMean},
    {"var", kReach, "x, axis=None, keepdims=False, ddof=0", DTypes::Any, kR, "variance, in two passes", "np.var(x, axis, ddof=ddof, keepdims=keepdims)", Lowering::Vector, EmitReduction, nullptr, nullptr, kVar},
    {"std", kReach, "x, axis=None, keepdims=False, ddof=0", DTypes::Any, kR, "standard deviation", "np.std(x, axis, ddof=ddof, keepdims=keepdims)", Lowering::Vector, EmitReduction, nullptr, nullptr, kStd},
    {"count_nonzero", kAsc | kNumpy, "x, axis=None, keepdims=False", DTypes::Any, kR, "how many elements are not zero", "np.count_nonzero(x, axis, keepdims=keepdims)", Lowering::Vector, EmitReduction, nullptr, nullptr, kCountNonzero},
    {"argmax", kReach, "x, axis=None, keepdims=False", DTypes::Any, kR, "index of the first greatest, or first NaN", "np.argmax(x, axis, keepdims=keepdims)", Lowering::Scalar, EmitArgExtremum, nullptr, nullptr, kMax},
    {"argmin", kReach, "x, axis=None, keepdims=False", DTypes::Any, kR, "index of the first least, or first NaN", "np.argmin(x, axis, keepdims=keepdims)", Lowering::Scalar, EmitArgExtremum, nullptr, nullptr, kMin},
    {"cumsum", kReach, "x, axis=None", DTypes::Any, ShapeRule::Own, "running sums", "np.cumsum(x, axis)", Lowering::Scalar, EmitCumulative, nullptr, nullptr, kSum},
    {"cumprod", kReach, "x, axis=None", DTypes::Any, ShapeRule::Own, "running products", "np.cumprod(x, axis)", Lowering::Scalar, EmitCumulative, nullptr, nullptr, kProd},
};
// clang-format on

} // namespace

std::span<const LibraryEntry> ReductionTable() { return kTable; }

} // namespace pyasc::sema
