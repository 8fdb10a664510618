// Python's builtins, ranges, and what is said to the compiler rather than computed.
#include <cmath>

#include "compiler/sema/emitter.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace pyasc::sema {

namespace {

bool IsIndexNumber(const Value &v) { return v.IsIntegral() && v.dtype != DType::Bool; }

Value MakeRange(std::string kind, std::vector<Value> items) {
  Value v = Value::OfKind(Value::Kind::Range);
  v.text = std::move(kind);
  v.items = std::make_shared<std::vector<Value>>(std::move(items));
  return v;
}

// range(stop), range(start, stop[, step]) and its kin.
Value EmitRange(Emitter &e, const BoundCall &call) {
  constexpr const char *kKinds[] = {"range", "parallel_for", "static_range"};
  std::vector<Value> items = call.rest;
  std::string name(call.entry->name);
  if (items.empty() || items.size() > 3)
    return e.Error("argument-count", call.range,
                   name + "() takes (stop), (start, stop) or (start, stop, step)");
  for (const Value &v : items)
    if (!IsIndexNumber(v))
      return e.Error("type-mismatch", call.range,
                     "the bounds of " + name + "() must be integers, and one is " + Describe(v) +
                         (v.IsScalar() && IsFloat(v.dtype) ? "; use //, or int()" : ""));
  if (items.size() == 1)
    items.insert(items.begin(), Value::WeakInt(0));
  if (items.size() == 2)
    items.push_back(Value::WeakInt(1));
  if (items[2].IsConstantInt() && items[2].constant->i == 0)
    return e.Error("bad-range", call.range, "the step of " + name + "() must not be zero");
  if (call.entry->tag == 1 && !(items[2].IsConstantInt() && items[2].constant->i > 0))
    return e.Error("bad-range", call.range,
                   "the step of asc.parallel_for must be a positive constant");
  Value v = MakeRange(kKinds[call.entry->tag], std::move(items));
  if (!call.args.empty() && !call.args[0].IsNone()) {
    auto unroll = e.ConstantInt(call.where[0], call.args[0], "unroll");
    if (!unroll)
      return Value::Invalid();
    if (*unroll < 1)
      return e.Error("bad-range", call.where[0], "unroll must be at least 1");
    v.options.emplace_back("unroll", *unroll);
  }
  return v;
}

Value EmitGrid(Emitter &e, const BoundCall &call) {
  std::vector<Value> items = call.rest;
  if (items.size() == 1 && items[0].IsTuple())
    items = std::vector<Value>(*items[0].items);
  if (items.empty())
    return e.Error("argument-count", call.range, "parallel_for_grid() needs at least one extent");
  for (const Value &v : items)
    if (!IsIndexNumber(v))
      return e.Error("type-mismatch", call.range,
                     "the extents of parallel_for_grid() must be integers, and one is " +
                         Describe(v));
  return MakeRange("grid", std::move(items));
}

Value EmitMinMax(Emitter &e, const BoundCall &call) {
  auto op = static_cast<BinaryOp>(call.entry->tag);
  std::string name(call.entry->name);
  std::vector<Value> items = call.rest;
  if (items.size() == 1 && items[0].IsTensor()) {
    Value reduce = Value::OfKind(Value::Kind::Library);
    reduce.library = FindLibraryEntry(op == BinaryOp::Min ? "amin" : "amax", kAsc);
    return e.CallValue(call.range, reduce, items, {call.range}, {}, {});
  }
  if (items.size() == 1 && items[0].IsTuple())
    items = std::vector<Value>(*items[0].items);
  if (items.empty())
    return e.Error("argument-count", call.range, name + "() needs at least one value");
  Value v = items[0];
  for (size_t i = 1; i < items.size(); ++i)
    v = e.Binary(call.range, op, v, items[i]);
  return v;
}

Value EmitSumBuiltin(Emitter &e, const BoundCall &call) {
  if (call.args[0].IsTensor()) {
    // Python's sum runs over the first axis.
    Value reduce = Value::OfKind(Value::Kind::Library);
    reduce.library = FindLibraryEntry("sum", kAsc);
    return e.CallValue(call.range, reduce, {call.args[0], Value::WeakInt(0)},
                       {call.where[0], call.range}, {}, {});
  }
  if (!call.args[0].IsTuple())
    return e.Error("type-mismatch", call.where[0],
                   "sum() needs a tensor, tuple or list, not " + Describe(call.args[0]));
  Value v = call.args[1];
  for (const Value &x : *call.args[0].items)
    v = e.Binary(call.range, BinaryOp::Add, v, x);
  return v;
}

Value EmitLen(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  if (x.IsTuple())
    return Value::WeakInt(static_cast<Int>(x.items->size()));
  if (x.IsTensor() && !x.tensor.dims.empty())
    return Value::WeakInt(x.tensor.dims[0].size);
  return e.Error("type-mismatch", call.where[0], Describe(x) + " has no length");
}

Value ToWeakInt(Emitter &e, const SourceRange &range, double whole) {
  if (!(whole >= -0x1p63 && whole < 0x1p63)) // NaN too
    return e.Error("cast-overflow", range, "the number does not fit into an integer");
  return Value::WeakInt(static_cast<Int>(whole));
}

Value EmitInt(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  if (x.IsTensor())
    return e.Error("type-mismatch", call.where[0],
                   "int() takes a scalar; cast a tensor with asc.int32(x)");
  if (x.kind == Value::Kind::String || !x.IsScalar())
    return e.Error("type-mismatch", call.where[0], "int() needs a number, not " + Describe(x));
  // Only a literal gives a literal: a variable's type must not depend on whether it is known.
  if (x.IsConstant() && x.weak) {
    if (!IsFloat(x.dtype))
      return Value::WeakInt(x.constant->i);
    return ToWeakInt(e, call.range, std::trunc(x.constant->f));
  }
  return e.Cast(call.range, x, DType::Int64);
}

Value EmitFloat(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  if (x.kind == Value::Kind::String) {
    std::string text;
    for (char c : x.text)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    char *end = nullptr;
    double v = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end)
      return e.Error("type-mismatch", call.where[0], "float() cannot read '" + x.text + "'");
    return Value::WeakFloat(v);
  }
  if (!x.IsScalar())
    return e.Error("type-mismatch", call.where[0],
                   "float() needs a number, not " + Describe(x) +
                       (x.IsTensor() ? "; cast a tensor with asc.float32(x)" : ""));
  if (x.IsConstant() && x.weak)
    return Value::WeakFloat(x.ConstantAsDouble());
  return e.Cast(call.range, x, x.dtype == DType::Float64 ? DType::Float64 : DType::Float32);
}

Value EmitBool(Emitter &e, const BoundCall &call) { return e.Truth(call.where[0], call.args[0]); }

Value EmitRound(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  if (x.IsTensor() || !call.args[1].IsNone()) {
    if (!call.args[1].IsNone())
      return e.Error("unsupported-argument", call.where[1],
                     "round() to digits is not supported; scale, round and scale back");
    Value round = Value::OfKind(Value::Kind::Library);
    round.library = FindLibraryEntry("rint", kAsc);
    return e.CallValue(call.range, round, {x}, {call.where[0]}, {}, {});
  }
  if (!x.IsScalar())
    return e.Error("type-mismatch", call.where[0], "round() needs a number, not " + Describe(x));
  if (!IsFloat(x.dtype))
    return x;
  if (x.IsConstant() && x.weak)
    return ToWeakInt(e, call.range, std::nearbyint(x.constant->f));
  // To an integer, ties to even.
  DType t = x.dtype, wide = Is16BitFloat(t) ? DType::Float32 : t;
  Value rounded = e.Elementwise(call.range, {x}, t, wide, [=](ScalarOps &ops, mlir::ValueRange v) {
    return ops.b.create<mlir::math::RoundEvenOp>(ops.loc, ops.Cast(v[0], t, wide)).getResult();
  });
  return e.Cast(call.range, rounded, DType::Int64);
}

// math.floor and math.ceil give integers, as in Python.
Value EmitMathFloor(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  if (!x.IsScalar())
    return e.Error("type-mismatch", call.where[0],
                   "math." + std::string(call.entry->name) + "() needs a scalar, not " +
                       Describe(x) + "; for tensors use asc." + std::string(call.entry->name));
  if (!IsFloat(x.dtype))
    return x;
  int which = call.entry->tag;
  if (x.IsConstant() && x.weak) {
    double f = x.constant->f;
    return ToWeakInt(e, call.range,
                     which == 0   ? std::floor(f)
                     : which == 1 ? std::ceil(f)
                                  : std::trunc(f));
  }
  DType t = x.dtype, wide = Is16BitFloat(t) ? DType::Float32 : t;
  Value rounded = e.Elementwise(call.range, {x}, t, wide, [=](ScalarOps &ops, mlir::ValueRange v) {
    mlir::Value f = ops.Cast(v[0], t, wide);
    if (which == 0)
      return ops.b.create<mlir::math::FloorOp>(ops.loc, f).getResult();
    if (which == 1)
      return ops.b.create<mlir::math::CeilOp>(ops.loc, f).getResult();
    return ops.b.create<mlir::math::TruncOp>(ops.loc, f).getResult();
  });
  return e.Cast(call.range, rounded, DType::Int64);
}

Value EmitDivmod(Emitter &e, const BoundCall &call) {
  Value q = e.Binary(call.range, BinaryOp::FloorDiv, call.args[0], call.args[1]);
  Value r = e.Binary(call.range, BinaryOp::Mod, call.args[0], call.args[1]);
  if (q.IsInvalid() || r.IsInvalid())
    return Value::Invalid();
  return Value::TupleOf({q, r});
}

Value EmitCeilDiv(Emitter &e, const BoundCall &call) {
  Value minus = e.Unary(call.range, syntax::UnaryOperator::USub, call.args[0]);
  if (minus.IsInvalid())
    return minus;
  Value q = e.Binary(call.range, BinaryOp::FloorDiv, minus, call.args[1]);
  return q.IsInvalid() ? q : e.Unary(call.range, syntax::UnaryOperator::USub, q);
}

Value EmitEnumerate(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  std::vector<Value> items;
  if (x.IsTuple()) {
    Int i = 0;
    for (const Value &v : *x.items)
      items.push_back(Value::TupleOf({Value::WeakInt(i++), v}));
    return Value::TupleOf(std::move(items));
  }
  return e.Error("not-static", call.where[0],
                 "enumerate() runs over tuples and lists; for a tensor use range(len(x))");
}

Value EmitZip(Emitter &e, const BoundCall &call) {
  size_t n = SIZE_MAX;
  for (const Value &x : call.rest) {
    if (!x.IsTuple())
      return e.Error("not-static", call.range,
                     "zip() runs over tuples and lists; for tensors use an index");
    n = std::min(n, x.items->size());
  }
  std::vector<Value> items;
  for (size_t i = 0; i < n && !call.rest.empty(); ++i) {
    std::vector<Value> row;
    for (const Value &x : call.rest)
      row.push_back((*x.items)[i]);
    items.push_back(Value::TupleOf(std::move(row)));
  }
  return Value::TupleOf(std::move(items));
}

Value EmitReversed(Emitter &e, const BoundCall &call) {
  const Value &x = call.args[0];
  if (x.IsTuple())
    return Value::TupleOf(std::vector<Value>(x.items->rbegin(), x.items->rend()));
  if (x.kind == Value::Kind::Range && x.text != "grid") {
    // The last element first: start + (n - 1) * step down to start.
    const std::vector<Value> &r = *x.items;
    if (r[2].IsConstantInt() && r[2].constant->i == 1) {
      Value one = Value::WeakInt(1);
      Value first = e.Binary(call.range, BinaryOp::Sub, r[1], one);
      Value last = e.Binary(call.range, BinaryOp::Sub, r[0], one);
      if (first.IsInvalid() || last.IsInvalid())
        return Value::Invalid();
      return MakeRange(x.text, {first, last, Value::WeakInt(-1)});
    }
  }
  return e.Error("unsupported-reversed", call.where[0],
                 "reversed() takes a tuple or a range of step 1; give the range a negative step");
}

Value EmitTupleOrList(Emitter &e, const BoundCall &call) {
  bool list = call.entry->tag == 1;
  if (call.args[0].IsNone())
    return Value::TupleOf({}, list);
  if (call.args[0].IsTuple())
    return Value::TupleOf(std::vector<Value>(*call.args[0].items), list);
  if (call.args[0].kind == Value::Kind::Range) {
    std::vector<Value> items;
    const std::vector<Value> &r = *call.args[0].items;
    if (r.size() == 3 && r[0].IsConstantInt() && r[1].IsConstantInt() && r[2].IsConstantInt()) {
      for (Int i = r[0].constant->i, s = r[2].constant->i;
           (s > 0 ? i < r[1].constant->i : i > r[1].constant->i) && items.size() < 4096; i += s)
        items.push_back(Value::WeakInt(i));
      return Value::TupleOf(std::move(items), list);
    }
  }
  return e.Error("not-static", call.where[0],
                 "only tuples, lists and constant ranges become a tuple or list");
}

Value EmitStaticAssert(Emitter &e, const BoundCall &call) {
  Value c = e.Truth(call.where[0], call.args[0]);
  if (c.IsInvalid())
    return c;
  if (!c.IsConstant())
    return e.Error("not-static", call.where[0], "the condition must be known at compile time");
  if (!c.constant->i)
    return e.Error("assertion-failed", call.range,
                   call.args[1].kind == Value::Kind::String
                       ? "static assertion failed: " + call.args[1].text
                       : "static assertion failed");
  return Value::NoneValue();
}

Value EmitDims(Emitter &e, const BoundCall &call) {
  return e.Error("unsupported-dims", call.range,
                 "asc.dims belongs at module level, where it names the symbolic axes of "
                 "annotations");
}

// clang-format off
const LibraryEntry kTable[] = {
    {"range", kBuiltin | kAsc, "*bounds, unroll=None", DTypes::Integer, ShapeRule::None, "a counted loop", "range(*bounds)", Lowering::Scalar, EmitRange, nullptr, nullptr, 0},
    {"parallel_for", kAsc, "*bounds", DTypes::Integer, ShapeRule::None, "a counted loop whose iterations may run in any order", "range(*bounds)", Lowering::Scalar, EmitRange, nullptr, nullptr, 1},
    {"parallel_for_grid", kAsc, "*extents", DTypes::Integer, ShapeRule::None, "nested parallel loops; gives a tuple of indices", "np.ndindex(*extents)", Lowering::Scalar, EmitGrid},
    {"static_range", kAsc, "*bounds", DTypes::Integer, ShapeRule::None, "a loop that is unrolled", "range(*bounds)", Lowering::CompileTime, EmitRange, nullptr, nullptr, 2},
    {"min", kBuiltin, "*values", DTypes::Any, ShapeRule::Elementwise, "the least", "min(*values)", Lowering::Scalar, EmitMinMax, nullptr, nullptr, static_cast<int>(BinaryOp::Min)},
    {"max", kBuiltin, "*values", DTypes::Any, ShapeRule::Elementwise, "the greatest", "max(*values)", Lowering::Scalar, EmitMinMax, nullptr, nullptr, static_cast<int>(BinaryOp::Max)},
    {"sum", kBuiltin, "values, start=0", DTypes::Any, ShapeRule::Reduction, "the sum of a tuple, or over a tensor's first axis", "sum(values, start)", Lowering::Scalar, EmitSumBuiltin},
    {"len", kBuiltin, "x", DTypes::Any, ShapeRule::None, "size of the first axis", "len(x)", Lowering::CompileTime, EmitLen},
    {"int", kBuiltin, "x", DTypes::Any, ShapeRule::Elementwise, "towards zero, as an int64", "int(x)", Lowering::Scalar, EmitInt},
    {"float", kBuiltin, "x", DTypes::Any, ShapeRule::Elementwise, "as a float32", "float(x)", Lowering::Scalar, EmitFloat},
    {"bool", kBuiltin, "x", DTypes::Any, ShapeRule::Elementwise, "whether it is not zero", "bool(x)", Lowering::Scalar, EmitBool},
    {"round", kBuiltin, "x, digits=None", DTypes::Any, ShapeRule::Elementwise, "to the nearest integer, ties to even", "round(x)", Lowering::Scalar, EmitRound},
    {"floor", kMath, "x", DTypes::Float, ShapeRule::Elementwise, "largest integer not above", "math.floor(x)", Lowering::Scalar, EmitMathFloor, nullptr, nullptr, 0},
    {"ceil", kMath, "x", DTypes::Float, ShapeRule::Elementwise, "least integer not below", "math.ceil(x)", Lowering::Scalar, EmitMathFloor, nullptr, nullptr, 1},
    {"trunc", kMath, "x", DTypes::Float, ShapeRule::Elementwise, "towards zero", "math.trunc(x)", Lowering::Scalar, EmitMathFloor, nullptr, nullptr, 2},
    {"divmod", kBuiltin, "x, y", DTypes::Numeric, ShapeRule::Own, "(x // y, x % y)", "divmod(x, y)", Lowering::Scalar, EmitDivmod},
    {"cdiv", kAsc, "x, y", DTypes::Integer, ShapeRule::Elementwise, "x / y, rounded up", "-(-x // y)", Lowering::Scalar, EmitCeilDiv},
    {"enumerate", kBuiltin, "values", DTypes::Any, ShapeRule::None, "pairs of position and value", "enumerate(values)", Lowering::CompileTime, EmitEnumerate},
    {"zip", kBuiltin, "*values", DTypes::Any, ShapeRule::None, "tuples side by side", "zip(*values)", Lowering::CompileTime, EmitZip},
    {"reversed", kBuiltin, "values", DTypes::Any, ShapeRule::None, "from the end", "reversed(values)", Lowering::CompileTime, EmitReversed},
    {"tuple", kBuiltin, "values=None", DTypes::Any, ShapeRule::None, "a tuple of the values", "tuple(values)", Lowering::CompileTime, EmitTupleOrList, nullptr, nullptr, 0},
    {"list", kBuiltin, "values=None", DTypes::Any, ShapeRule::None, "a list of the values", "list(values)", Lowering::CompileTime, EmitTupleOrList, nullptr, nullptr, 1},
    {"static_assert", kAsc, "condition, message=None", DTypes::Any, ShapeRule::None, "a compile-time check", "None", Lowering::CompileTime, EmitStaticAssert},
    {"dims", kAsc, "names", DTypes::Any, ShapeRule::None, "symbolic axes, at module level", "None", Lowering::CompileTime, EmitDims},
};
// clang-format on

} // namespace

std::span<const LibraryEntry> BuiltinTable() { return kTable; }

} // namespace pyasc::sema
