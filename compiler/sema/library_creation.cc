// Making, placing and copying tensors; printing and checking.
#include <cmath>

#include "compiler/ir/asc_dialect.h"
#include "compiler/sema/emitter.h"

namespace pyasc::sema {

namespace {

DType DefaultType(const Value &fill) { return fill.IsNumber() ? fill.dtype : DType::Float32; }

std::optional<DType> TypeOr(Emitter &e, const BoundCall &call, size_t i, DType otherwise) {
  if (call.args[i].IsNone())
    return otherwise;
  return e.DTypeArgument(call.where[i], call.args[i]);
}

std::optional<std::vector<int64_t>> Shape(Emitter &e, const BoundCall &call) {
  return e.NewShapeArgument(call.where[0], call.args[0]);
}

enum Kind { kZeros, kOnes, kEmpty, kShared, kLocal };

Value EmitCreate(Emitter &e, const BoundCall &call) {
  auto shape = Shape(e, call);
  if (!shape)
    return Value::Invalid();
  auto t = TypeOr(e, call, 1, DType::Float32);
  if (!t)
    return Value::Invalid();
  Value v = e.NewTensor(call.range, *t, *shape, call.entry->tag == kShared);
  if (v.IsInvalid())
    return v;
  if (call.entry->tag == kShared) {
    auto strict = e.ConstantBool(call.where[2], call.args[2], "strict");
    if (!strict)
      return Value::Invalid();
    if (*strict)
      v.tensor.root.getDefiningOp()->setAttr(ir::AscDialect::kStrict, e.builder().getUnitAttr());
  }
  if (call.entry->tag == kZeros)
    e.Fill(call.range, v, {.i = 0, .f = 0});
  if (call.entry->tag == kOnes)
    e.Fill(call.range, v, {.i = 1, .f = 1});
  return v;
}

Value EmitFull(Emitter &e, const BoundCall &call) {
  auto shape = Shape(e, call);
  const Value &fill = call.args[1];
  if (!shape || !e.ExpectNumber(call.where[1], fill, "the value"))
    return Value::Invalid();
  auto t = TypeOr(e, call, 2, DefaultType(fill));
  if (!t)
    return Value::Invalid();
  auto stored = e.CastForStore(call.where[1], fill, *t, "a tensor");
  if (!stored)
    return Value::Invalid();
  Value v = e.NewTensor(call.range, *t, *shape);
  e.CopyInto(call.range, v, *stored);
  return v;
}

Value EmitLike(Emitter &e, const BoundCall &call) {
  if (!e.ExpectTensor(call.where[0], call.args[0],
                      "the argument of " + std::string(call.entry->name)))
    return Value::Invalid();
  size_t type_at = call.entry->tag < 0 ? 2 : 1;
  auto t = TypeOr(e, call, type_at, call.args[0].dtype);
  if (!t)
    return Value::Invalid();
  Value v = e.NewTensor(call.range, *t, call.args[0].tensor.Shape());
  if (call.entry->tag < 0) {
    auto stored = e.CastForStore(call.where[1], call.args[1], *t, "a tensor");
    if (!stored)
      return Value::Invalid();
    e.CopyInto(call.range, v, *stored);
  } else if (call.entry->tag != kEmpty) {
    double one = call.entry->tag == kOnes ? 1 : 0;
    e.Fill(call.range, v, {.i = static_cast<Int>(one), .f = one});
  }
  return v;
}

Value EmitArange(Emitter &e, const BoundCall &call) {
  Value start = call.args[0], stop = call.args[1], step = call.args[2];
  if (stop.IsNone()) {
    stop = start;
    start = Value::WeakInt(0);
  }
  for (const Value *v : {&start, &stop, &step})
    if (!v->IsConstant())
      return e.Error("not-static", call.range,
                     "the bounds of arange must be known at compile time");
  bool floats = IsFloat(start.dtype) || IsFloat(stop.dtype) || IsFloat(step.dtype);
  double a = start.ConstantAsDouble(), b = stop.ConstantAsDouble(), s = step.ConstantAsDouble();
  if (s == 0)
    return e.Error("bad-range", call.range, "the step of arange must not be zero");
  int64_t n = 0;
  DType whole = DType::Int32; // of whole numbers, as a variable's: int64 where that is too small
  if (floats) {
    // As with axes of any other tensor, what is beyond is refused where it is made.
    double count = std::min(std::ceil((b - a) / s), 9e18);
    n = count > 0 ? static_cast<int64_t>(count) : 0;
  } else {
    Int first = start.constant->i, end = stop.constant->i, by = step.constant->i;
    for (Int bound : {first, end, by})
      if (bound > MaxInt(DType::Int64) || bound < MinInt(DType::Int64))
        return e.Error("literal-overflow", call.range,
                       "the bound " + ToString(bound) + " of arange does not fit into int64");
    Int away = by > 0 ? end - first : first - end, size = by > 0 ? by : -by;
    Int count = away > 0 ? (away + size - 1) / size : 0;
    n = static_cast<int64_t>(std::min(count, MaxInt(DType::Int64)));
    for (Int element : {first, first + (count > 0 ? count - 1 : 0) * by})
      if (count > 0 && (element > MaxInt(DType::Int32) || element < MinInt(DType::Int32)))
        whole = DType::Int64;
  }
  auto t = TypeOr(e, call, 3, floats ? DType::Float32 : whole);
  if (!t)
    return Value::Invalid();
  Value v = e.NewTensor(call.range, *t, {n});
  if (v.IsInvalid())
    return v;
  // start + i * step, in int64 for integers and in the type's own width, as NumPy, for floats.
  e.LoopNest(call.range, {n}, [&](const std::vector<Value> &at) {
    Value element;
    if (floats) {
      Value scaled = e.Binary(call.range, BinaryOp::Mul, e.Cast(call.range, at[0], DType::Float32),
                              Value::WeakFloat(s));
      element = e.Binary(call.range, BinaryOp::Add, scaled, Value::WeakFloat(a));
    } else {
      element = e.Binary(call.range, BinaryOp::Mul, at[0], step);
      element = e.Binary(call.range, BinaryOp::Add, element, start);
    }
    e.StoreElement(call.range, e.View(call.range, v, at[0]), e.Cast(call.range, element, *t));
  });
  return v;
}

Value EmitEye(Emitter &e, const BoundCall &call) {
  auto n = e.ConstantInt(call.where[0], call.args[0], "the size");
  if (!n)
    return Value::Invalid();
  auto m = call.args[1].IsNone() ? n : e.ConstantInt(call.where[1], call.args[1], "the size");
  auto t = TypeOr(e, call, 2, DType::Float32);
  if (!m || !t)
    return Value::Invalid();
  for (auto [at, size] : {std::pair(0, *n), std::pair(call.args[1].IsNone() ? 0 : 1, *m)})
    if (size < 0)
      return e.Error("shape-mismatch", call.where[static_cast<size_t>(at)],
                     "an axis cannot have a negative size");
  Value v = e.NewTensor(call.range, *t, {*n, *m});
  if (v.IsInvalid())
    return v;
  e.Fill(call.range, v, {});
  e.LoopNest(call.range, {std::min(*n, *m)}, [&](const std::vector<Value> &at) {
    e.StoreElement(call.range, e.View(call.range, v, Value::TupleOf({at[0], at[0]})),
                   e.Cast(call.range, Value::WeakInt(1), *t));
  });
  return v;
}

// asc.copy(source, destination)
Value EmitCopy(Emitter &e, const BoundCall &call) {
  if (call.args[1].IsNone()) {
    if (!e.ExpectTensor(call.where[0], call.args[0], "the argument of copy"))
      return Value::Invalid();
    return e.Materialize(call.range, call.args[0]);
  }
  if (!e.ExpectTensor(call.where[1], call.args[1], "the destination of copy"))
    return Value::Invalid();
  if (!e.ExpectNumber(call.where[0], call.args[0], "the source of copy"))
    return Value::Invalid();
  e.StoreSubscript(call.range, call.args[1], Value::OfKind(Value::Kind::Ellipsis), call.args[0],
                   call.where[0]);
  return Value::NoneValue();
}

Value EmitNothing(Emitter &, const BoundCall &) { return Value::NoneValue(); }

Value EmitCast(Emitter &e, const BoundCall &call) {
  auto t = e.DTypeArgument(call.where[1], call.args[1]);
  if (!t || !e.ExpectNumber(call.where[0], call.args[0], "what is cast"))
    return Value::Invalid();
  return e.Cast(call.range, call.args[0], *t);
}

Value EmitItem(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  if (x.IsScalar())
    return x;
  if (!e.ExpectTensor(call.where[0], x, "the argument of item") || x.tensor.Count() != 1)
    return e.Error("shape-mismatch", call.range, "item() needs a tensor of one element");
  std::vector<Value> zeros(x.tensor.dims.size(), Value::WeakInt(0));
  return zeros.empty() ? e.LoadElement(call.range, x)
                       : e.Subscript(call.range, x, Value::TupleOf(zeros));
}

Value EmitAssertShape(Emitter &e, const BoundCall &call) {
  if (!e.ExpectTensor(call.where[0], call.args[0], "the argument of assert_shape"))
    return Value::Invalid();
  auto shape = e.ShapeArgument(call.where[1], call.args[1]);
  if (!shape)
    return Value::Invalid();
  std::vector<int64_t> have = call.args[0].tensor.Shape();
  bool fits = have.size() == shape->size();
  for (size_t i = 0; fits && i < have.size(); ++i)
    fits = (*shape)[i] == -1 || (*shape)[i] == have[i];
  if (!fits)
    return e.Error("assertion-failed", call.range,
                   "expected the shape " + ShapeText(*shape) + ", and the tensor has " +
                       ShapeText(have));
  return Value::NoneValue();
}

} // namespace

Value EmitPrint(Emitter &e, const BoundCall &call); // printing.cc
Value EmitDeviceAssert(Emitter &e, const BoundCall &call);

namespace {

constexpr uint8_t kArrays = kAsc | kNumpy;
constexpr ShapeRule kArg = ShapeRule::Argument;

// clang-format off
const LibraryEntry kTable[] = {
    {"zeros", kArrays, "shape, dtype=None", DTypes::Any, kArg, "filled with 0, float32 unless said", "np.zeros(shape, dtype)", Lowering::Vector, EmitCreate, nullptr, nullptr, kZeros},
    {"ones", kArrays, "shape, dtype=None", DTypes::Any, kArg, "filled with 1, float32 unless said", "np.ones(shape, dtype)", Lowering::Vector, EmitCreate, nullptr, nullptr, kOnes},
    {"empty", kArrays, "shape, dtype=None", DTypes::Any, kArg, "not initialised", "np.empty(shape, dtype)", Lowering::Vector, EmitCreate, nullptr, nullptr, kEmpty},
    {"full", kArrays, "shape, value, dtype=None", DTypes::Any, kArg, "filled with a value", "np.full(shape, value, dtype)", Lowering::Vector, EmitFull},
    {"zeros_like", kArrays, "x, dtype=None", DTypes::Any, kArg, "zeros in the shape of x", "np.zeros_like(x, dtype)", Lowering::Vector, EmitLike, nullptr, nullptr, kZeros},
    {"ones_like", kArrays, "x, dtype=None", DTypes::Any, kArg, "ones in the shape of x", "np.ones_like(x, dtype)", Lowering::Vector, EmitLike, nullptr, nullptr, kOnes},
    {"empty_like", kArrays, "x, dtype=None", DTypes::Any, kArg, "not initialised, in the shape of x", "np.empty_like(x, dtype)", Lowering::Vector, EmitLike, nullptr, nullptr, kEmpty},
    {"full_like", kArrays, "x, value, dtype=None", DTypes::Any, kArg, "a value in the shape of x", "np.full_like(x, value, dtype)", Lowering::Vector, EmitLike, nullptr, nullptr, -1},
    {"arange", kArrays, "start, stop=None, step=1, dtype=None", DTypes::Numeric, kArg, "evenly spaced numbers", "np.arange(start, stop, step, dtype)", Lowering::Scalar, EmitArange},
    {"eye", kArrays, "n, m=None, dtype=None", DTypes::Any, kArg, "ones on the diagonal", "np.eye(n, m, dtype=dtype)", Lowering::Scalar, EmitEye},
    {"shared_memory", kAsc, "shape, dtype=None, strict=False", DTypes::Any, kArg, "not initialised, in fast memory where it fits", "np.empty(shape, dtype)", Lowering::Vector, EmitCreate, nullptr, nullptr, kShared},
    {"local", kAsc, "shape, dtype=None", DTypes::Any, kArg, "not initialised, one for each iteration of the parallel loop around", "np.empty(shape, dtype)", Lowering::Vector, EmitCreate, nullptr, nullptr, kLocal},
    {"aligned_alloc", kAsc, "shape, dtype=None, alignment=32", DTypes::Any, kArg, "not initialised, at an aligned address", "np.empty(shape, dtype)", Lowering::Vector, EmitCreate, nullptr, nullptr, kLocal},
    {"copy", kArrays | kMethod, "source, destination=None", DTypes::Any, ShapeRule::Own, "copies source into destination, or into a new tensor", "np.copy(source)", Lowering::Vector, EmitCopy},
    {"cast", kAsc | kMethod, "x, dtype", DTypes::Any, ShapeRule::Elementwise, "x with another element type", "x.astype(dtype)", Lowering::Vector, EmitCast},
    {"astype", kAsc | kMethod, "x, dtype", DTypes::Any, ShapeRule::Elementwise, "x with another element type", "x.astype(dtype)", Lowering::Vector, EmitCast},
    {"item", kMethod, "x", DTypes::Any, ShapeRule::None, "the one element", "x.item()", Lowering::Scalar, EmitItem},
    {"prefetch", kAsc, "x", DTypes::Any, ShapeRule::None, "a hint that x is read soon; it changes no result", "None", Lowering::CompileTime, EmitNothing},
    {"barrier", kAsc, "", DTypes::Any, ShapeRule::None, "what stands before is done; statements run in order anyway", "None", Lowering::CompileTime, EmitNothing},
    {"print", kAsc | kBuiltin, "*values, sep=None, end=None", DTypes::Any, ShapeRule::None, "prints in debug mode", "print(*values)", Lowering::Scalar, EmitPrint},
    {"device_assert", kAsc, "condition, message=None", DTypes::Any, ShapeRule::None, "checked in debug mode", "None", Lowering::Scalar, EmitDeviceAssert},
    {"assert_shape", kAsc, "x, shape", DTypes::Any, ShapeRule::None, "checked at compile time", "None", Lowering::CompileTime, EmitAssertShape},
};
// clang-format on

} // namespace

std::span<const LibraryEntry> CreationTable() { return kTable; }

} // namespace pyasc::sema
