// Views, and operations that move elements about.
#include <algorithm>

#include "compiler/sema/emitter.h"

namespace pyasc::sema {

namespace {

bool Tensor0(Emitter &e, const BoundCall &call) {
  return e.ExpectTensor(call.where[0], call.args[0],
                        "the argument of " + std::string(call.entry->name));
}

// The axes that argument `at` names, one or a tuple of them, each once.
std::optional<std::vector<size_t>> NamedAxes(Emitter &e, const BoundCall &call, size_t at,
                                             size_t rank) {
  const Value &v = call.args[at];
  std::vector<size_t> axes;
  for (const Value &x : v.IsTuple() ? *v.items : std::vector<Value>{v}) {
    auto axis = e.AxisArgument(call.where[at], x, static_cast<int>(rank));
    if (!axis)
      return std::nullopt;
    if (std::ranges::count(axes, static_cast<size_t>(*axis)) > 0) {
      e.Error("bad-axis", call.where[at], "an axis is named twice");
      return std::nullopt;
    }
    axes.push_back(static_cast<size_t>(*axis));
  }
  return axes;
}

// Arguments after the tensor: one shape, or its axes one by one.
Value ShapeOrRest(const BoundCall &call) {
  if (call.rest.size() == 1)
    return call.rest[0];
  return Value::TupleOf(call.rest);
}

Value EmitReshape(Emitter &e, const BoundCall &call) {
  if (!Tensor0(e, call))
    return Value::Invalid();
  auto shape = e.ShapeArgument(call.range, ShapeOrRest(call));
  if (!shape)
    return Value::Invalid();
  auto v = e.Reshape(call.range, call.args[0], *shape, true);
  return v.value_or(Value::Invalid());
}

Value EmitFlatten(Emitter &e, const BoundCall &call) {
  if (!Tensor0(e, call))
    return Value::Invalid();
  // flatten copies, ravel need not.
  Value x = call.entry->tag == 1 ? e.Materialize(call.range, call.args[0]) : call.args[0];
  return e.Reshape(call.range, x, {x.tensor.Count()}, true).value_or(Value::Invalid());
}

Value EmitTranspose(Emitter &e, const BoundCall &call) {
  if (!Tensor0(e, call))
    return Value::Invalid();
  auto rank = static_cast<int>(call.args[0].tensor.dims.size());
  std::vector<int> order;
  std::vector<Value> axes = call.rest;
  if (axes.size() == 1 && axes[0].IsTuple())
    axes = std::vector<Value>(*axes[0].items);
  if (axes.empty() || (axes.size() == 1 && axes[0].IsNone())) {
    for (int i = 0; i < rank; ++i)
      order.push_back(rank - 1 - i);
    return e.TransposeView(call.args[0], order);
  }
  if (axes.size() == 2 && rank != 2) {
    // Two axes of a tensor with more are swapped.
    for (int i = 0; i < rank; ++i)
      order.push_back(i);
    auto a = e.AxisArgument(call.range, axes[0], rank),
         b = e.AxisArgument(call.range, axes[1], rank);
    if (!a || !b)
      return Value::Invalid();
    std::swap(order[static_cast<size_t>(*a)], order[static_cast<size_t>(*b)]);
    return e.TransposeView(call.args[0], order);
  }
  if (static_cast<int>(axes.size()) != rank)
    return e.Error("bad-axis", call.range,
                   "a transposition of " + std::to_string(rank) + " axes names all of them");
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (const Value &v : axes) {
    auto a = e.AxisArgument(call.range, v, rank);
    if (!a)
      return Value::Invalid();
    if (seen[static_cast<size_t>(*a)])
      return e.Error("bad-axis", call.range, "an axis is named twice");
    seen[static_cast<size_t>(*a)] = true;
    order.push_back(*a);
  }
  return e.TransposeView(call.args[0], order);
}

Value EmitSwapAxes(Emitter &e, const BoundCall &call) {
  if (!Tensor0(e, call))
    return Value::Invalid();
  auto rank = static_cast<int>(call.args[0].tensor.dims.size());
  auto a = e.AxisArgument(call.where[1], call.args[1], rank),
       b = e.AxisArgument(call.where[2], call.args[2], rank);
  if (!a || !b)
    return Value::Invalid();
  std::vector<int> order;
  for (int i = 0; i < rank; ++i)
    order.push_back(i == *a ? *b : i == *b ? *a : i);
  return e.TransposeView(call.args[0], order);
}

Value EmitBroadcastTo(Emitter &e, const BoundCall &call) {
  if (!e.ExpectNumber(call.where[0], call.args[0], "the argument of broadcast_to"))
    return Value::Invalid();
  auto shape = e.NewShapeArgument(call.where[1], call.args[1]);
  if (!shape)
    return Value::Invalid();
  const Value &x = call.args[0];
  if (x.IsScalar()) {
    Value v = e.NewTensor(call.range, x.dtype, *shape);
    e.CopyInto(call.range, v, e.Strong(x));
    return v;
  }
  std::vector<int64_t> from = x.tensor.Shape();
  bool fits = from.size() <= shape->size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    int64_t want = (*shape)[shape->size() - from.size() + i];
    fits = from[i] == want || from[i] == 1;
  }
  if (!fits)
    return e.Error("shape-mismatch", call.range,
                   "cannot broadcast " + ShapeText(from) + " to " + ShapeText(*shape));
  // A copy: a view whose elements share memory could not be written as NumPy forbids it.
  Value v = e.NewTensor(call.range, x.dtype, *shape);
  e.CopyInto(call.range, v, x);
  return v;
}

Value EmitExpandDims(Emitter &e, const BoundCall &call) {
  if (!Tensor0(e, call))
    return Value::Invalid();
  auto rank = static_cast<int>(call.args[0].tensor.dims.size());
  auto axis = e.AxisArgument(call.where[1], call.args[1], rank + 1);
  return axis ? e.ExpandView(call.args[0], *axis) : Value::Invalid();
}

Value EmitSqueeze(Emitter &e, const BoundCall &call) {
  if (!Tensor0(e, call))
    return Value::Invalid();
  const Value &x = call.args[0];
  std::vector<int64_t> shape = x.tensor.Shape();
  std::vector<bool> drop(shape.size());
  if (call.args[1].IsNone()) {
    for (size_t i = 0; i < shape.size(); ++i)
      drop[i] = shape[i] == 1;
  } else {
    auto axes = NamedAxes(e, call, 1, shape.size());
    if (!axes)
      return Value::Invalid();
    for (size_t axis : *axes) {
      if (shape[axis] != 1)
        return e.Error("shape-mismatch", call.where[1],
                       "axis " + std::to_string(axis) + " has size " + std::to_string(shape[axis]) +
                           " and cannot be squeezed away");
      drop[axis] = true;
    }
  }
  std::vector<int64_t> out;
  for (size_t i = 0; i < shape.size(); ++i)
    if (!drop[i])
      out.push_back(shape[i]);
  return e.Reshape(call.range, x, out).value_or(Value::Invalid());
}

std::optional<std::vector<Value>> TensorList(Emitter &e, const BoundCall &call) {
  if (!call.args[0].IsTuple() || call.args[0].items->empty()) {
    e.Error("type-mismatch", call.where[0],
            std::string(call.entry->name) + " takes a tuple or list of tensors");
    return std::nullopt;
  }
  for (const Value &v : *call.args[0].items)
    if (!e.ExpectTensor(call.where[0], v, "each argument of " + std::string(call.entry->name)))
      return std::nullopt;
  return *call.args[0].items;
}

Value Join(Emitter &e, const BoundCall &call, const std::vector<Value> &parts, int axis) {
  std::vector<int64_t> shape = parts[0].tensor.Shape();
  DType t = parts[0].dtype;
  auto at = static_cast<size_t>(axis);
  for (size_t i = 1; i < parts.size(); ++i) {
    std::vector<int64_t> s = parts[i].tensor.Shape(), a = shape, b = s;
    if (a.size() == b.size())
      a[at] = b[at] = 0;
    if (a != b)
      return e.Error("shape-mismatch", call.range,
                     "cannot join " + ShapeText(parts[0].tensor.Shape()) + " and " + ShapeText(s) +
                         " along axis " + std::to_string(axis));
    shape[at] += s[at];
    auto both =
        e.CommonType(call.range, Value::Scalar(t, nullptr), Value::Scalar(parts[i].dtype, nullptr));
    if (!both)
      return Value::Invalid();
    t = *both;
  }
  Value out = e.NewTensor(call.range, t, shape);
  if (out.IsInvalid())
    return out;
  int64_t offset = 0;
  for (const Value &part : parts) {
    Value window = out;
    TensorDim &d = window.tensor.dims[at];
    d.size = part.tensor.dims[at].size;
    d.offset = e.ToIndex(Value::IntConstant(offset, DType::Int64, false));
    offset += d.size;
    e.CopyInto(call.range, window, part);
  }
  return out;
}

Value EmitConcat(Emitter &e, const BoundCall &call) {
  auto parts = TensorList(e, call);
  if (!parts)
    return Value::Invalid();
  auto axis =
      e.AxisArgument(call.where[1], call.args[1], static_cast<int>((*parts)[0].tensor.dims.size()));
  return axis ? Join(e, call, *parts, *axis) : Value::Invalid();
}

Value EmitStack(Emitter &e, const BoundCall &call) {
  auto parts = TensorList(e, call);
  if (!parts)
    return Value::Invalid();
  auto axis = e.AxisArgument(call.where[1], call.args[1],
                             static_cast<int>((*parts)[0].tensor.dims.size()) + 1);
  if (!axis)
    return Value::Invalid();
  for (Value &v : *parts) {
    if (v.tensor.dims.size() != (*parts)[0].tensor.dims.size() && &v != &(*parts)[0])
      if (v.tensor.dims.size() + 1 != (*parts)[0].tensor.dims.size())
        return e.Error("shape-mismatch", call.range, "stack needs tensors of one shape");
    v = e.ExpandView(v, *axis);
  }
  return Join(e, call, *parts, *axis);
}

Value EmitSplit(Emitter &e, const BoundCall &call) {
  if (!Tensor0(e, call))
    return Value::Invalid();
  auto count = e.ConstantInt(call.where[1], call.args[1], "the number of parts");
  auto axis = e.AxisArgument(call.where[2], call.args[2],
                             static_cast<int>(call.args[0].tensor.dims.size()));
  if (!count || !axis)
    return Value::Invalid();
  int64_t n = call.args[0].tensor.dims[static_cast<size_t>(*axis)].size;
  if (*count <= 0 || n % *count)
    return e.Error("shape-mismatch", call.range,
                   "an axis of " + std::to_string(n) + " does not split into " +
                       std::to_string(*count) + " equal parts");
  if (*count > static_cast<int64_t>(kMaxItems))
    return e.Error("kernel-too-large", call.where[1],
                   "a list of " + std::to_string(*count) +
                       " tensors is too large for a kernel (at most " + std::to_string(kMaxItems) +
                       "); loop over slices of the tensor instead");
  std::vector<Value> parts;
  for (int64_t i = 0; i < *count; ++i) {
    Value window = call.args[0];
    window.tensor.fresh = false;
    TensorDim &d = window.tensor.dims[static_cast<size_t>(*axis)];
    d.size = n / *count;
    if (d.root >= 0)
      d.offset = e.AddIndex(
          d.offset, e.ToIndex(Value::IntConstant(i * d.size * d.step, DType::Int64, false)));
    parts.push_back(window);
  }
  return Value::TupleOf(std::move(parts), true);
}

Value EmitFlip(Emitter &e, const BoundCall &call) {
  if (!Tensor0(e, call))
    return Value::Invalid();
  Value v = call.args[0];
  std::vector<size_t> axes;
  if (call.args[1].IsNone()) {
    for (size_t i = 0; i < v.tensor.dims.size(); ++i)
      axes.push_back(i);
  } else {
    auto named = NamedAxes(e, call, 1, v.tensor.dims.size());
    if (!named)
      return Value::Invalid();
    axes = *named;
  }
  for (size_t i : axes) {
    TensorDim &d = v.tensor.dims[i];
    if (d.root < 0 || d.size < 2)
      continue;
    d.offset = e.AddIndex(
        d.offset, e.ToIndex(Value::IntConstant((d.size - 1) * d.step, DType::Int64, false)));
    d.step = -d.step;
  }
  v.tensor.fresh = false;
  return v;
}

Value EmitPad(Emitter &e, const BoundCall &call) {
  if (!Tensor0(e, call))
    return Value::Invalid();
  const Value &x = call.args[0];
  size_t rank = x.tensor.dims.size();
  std::vector<std::pair<Int, Int>> widths;
  auto pair = [&](const Value &v) -> bool {
    if (v.IsConstantInt()) {
      widths.emplace_back(v.constant->i, v.constant->i);
      return true;
    }
    if (!v.IsTuple() || v.items->size() != 2 || !(*v.items)[0].IsConstantInt() ||
        !(*v.items)[1].IsConstantInt())
      return false;
    widths.emplace_back((*v.items)[0].constant->i, (*v.items)[1].constant->i);
    return true;
  };
  const Value &w = call.args[1];
  bool ok = true;
  if (w.IsConstantInt()) {
    ok = pair(w);
    if (ok)
      widths.assign(rank, widths[0]);
  } else if (w.IsTuple() && !w.items->empty() && (*w.items)[0].IsTuple()) {
    for (const Value &v : *w.items)
      ok = ok && pair(v);
  } else {
    ok = pair(w);
    if (ok)
      widths.assign(rank, widths[0]);
  }
  for (auto [a, b] : widths)
    ok = ok && a >= 0 && b >= 0;
  if (!ok || widths.size() != rank)
    return e.Error("shape-mismatch", call.where[1],
                   "the widths of a padding are a number, a pair, or a pair for each axis");
  std::vector<int64_t> shape = x.tensor.Shape();
  for (size_t i = 0; i < rank; ++i) {
    Int size = shape[i] + widths[i].first + widths[i].second;
    if (size > MaxInt(DType::Int64))
      return e.Error("tensor-too-large", call.range,
                     "an axis of " + ToString(size) + " elements is too large");
    shape[i] = static_cast<int64_t>(size);
  }
  auto fill = e.CastForStore(call.where[2], call.args[2], x.dtype, "the tensor");
  Value out = e.NewTensor(call.range, x.dtype, shape);
  if (!fill || out.IsInvalid())
    return Value::Invalid();
  e.CopyInto(call.range, out, *fill);
  Value window = out;
  for (size_t i = 0; i < rank; ++i) {
    window.tensor.dims[i].size = x.tensor.dims[i].size;
    window.tensor.dims[i].offset =
        e.ToIndex(Value::IntConstant(widths[i].first, DType::Int64, false));
  }
  e.CopyInto(call.range, window, x);
  return out;
}

Value EmitTile(Emitter &e, const BoundCall &call) {
  if (!Tensor0(e, call))
    return Value::Invalid();
  auto times = e.NewShapeArgument(call.where[1], call.args[1]);
  if (!times)
    return Value::Invalid();
  Value x = call.args[0];
  while (x.tensor.dims.size() < times->size())
    x = e.ExpandView(x, 0);
  while (times->size() < x.tensor.dims.size())
    times->insert(times->begin(), 1);
  // (t0, n0, t1, n1, ...) copied from a view that does not move along the t axes, then merged.
  std::vector<int64_t> wide, flat;
  Value v = x;
  for (size_t i = 0; i < times->size(); ++i) {
    wide.push_back((*times)[i]);
    wide.push_back(x.tensor.dims[i].size);
    v = e.ExpandView(v, static_cast<int>(2 * i));
  }
  Value out = e.NewTensor(call.range, x.dtype, wide);
  if (out.IsInvalid())
    return out;
  for (size_t i = 0; i < times->size(); ++i) // now known to be small enough
    flat.push_back(wide[2 * i] * wide[2 * i + 1]);
  e.CopyInto(call.range, out, v);
  return e.Reshape(call.range, out, flat).value_or(Value::Invalid());
}

// x with axis `axis` replaced by those that `indices` names.
Value EmitTake(Emitter &e, const BoundCall &call) {
  if (!Tensor0(e, call))
    return Value::Invalid();
  Value x = call.args[0];
  const Value &indices = call.args[1];
  SourceRange range = call.range;
  if (indices.IsScalar() || indices.IsTensor()) {
    if (IsFloat(indices.dtype) || indices.dtype == DType::Bool)
      return e.Error("bad-index", call.where[1], "the indices must be integers");
  } else {
    return e.Error("type-mismatch", call.where[1], "the indices must be an integer tensor");
  }
  int axis = 0;
  if (call.args[2].IsNone()) {
    auto flat = e.Reshape(range, x, {x.tensor.Count()});
    if (!flat)
      return Value::Invalid();
    x = *flat;
  } else {
    auto a = e.AxisArgument(call.where[2], call.args[2], static_cast<int>(x.tensor.dims.size()));
    if (!a)
      return Value::Invalid();
    axis = *a;
  }
  std::vector<int64_t> from = x.tensor.Shape(), shape(from.begin(), from.begin() + axis);
  std::vector<int64_t> at_shape =
      indices.IsTensor() ? indices.tensor.Shape() : std::vector<int64_t>{};
  shape.insert(shape.end(), at_shape.begin(), at_shape.end());
  shape.insert(shape.end(), from.begin() + axis + 1, from.end());
  Value out = e.NewTensor(range, x.dtype, shape);
  if (out.IsInvalid())
    return out;
  // What lies behind the axis is copied as a whole.
  const size_t count = at_shape.size(), behind = from.size() - static_cast<size_t>(axis) - 1;
  const std::vector<int64_t> named(shape.begin(),
                                   shape.end() - static_cast<std::ptrdiff_t>(behind));
  e.LoopNest(
      range, named,
      [&](const std::vector<Value> &at) {
        Value index = indices;
        if (count > 0)
          index = e.Subscript(call.where[1], indices,
                              Value::TupleOf(std::vector<Value>(at.begin() + axis, at.end())));
        std::vector<Value> key(at.begin(), at.begin() + axis);
        key.push_back(index);
        Value part = e.Subscript(range, x, Value::TupleOf(key));
        if (part.IsInvalid())
          return;
        Value place = at.empty() ? out : e.View(range, out, Value::TupleOf(at));
        if (behind == 0)
          e.StoreElement(range, place, part);
        else
          e.CopyInto(range, place, part);
      },
      /*parallel=*/true);
  return shape.empty() ? e.LoadElement(range, out) : out;
}

// x[..., indices[i], ...] = values[..., i, ...], in the order of i.
Value EmitScatter(Emitter &e, const BoundCall &call) {
  if (!Tensor0(e, call))
    return Value::Invalid();
  const Value &x = call.args[0], &indices = call.args[1];
  Value values = call.args[2];
  SourceRange range = call.range;
  if (!e.ExpectTensor(call.where[1], indices, "the indices of scatter") ||
      !e.ExpectNumber(call.where[2], values, "the values of scatter") || !e.MayWrite(range, x))
    return Value::Invalid();
  if (IsFloat(indices.dtype) || indices.dtype == DType::Bool)
    return e.Error("bad-index", call.where[1], "the indices must be integers");
  if (indices.tensor.dims.size() != 1)
    return e.Error("rank-mismatch", call.where[1], "the indices of scatter have one axis");
  auto axis = e.AxisArgument(call.where[3], call.args[3], static_cast<int>(x.tensor.dims.size()));
  if (!axis)
    return Value::Invalid();
  auto at_axis = static_cast<size_t>(*axis);
  std::vector<int64_t> shape = x.tensor.Shape();
  shape[at_axis] = indices.tensor.dims[0].size;
  if (values.IsTensor()) {
    std::vector<int64_t> have = values.tensor.Shape();
    bool fits = have.size() <= shape.size();
    for (size_t i = 0; fits && i < have.size(); ++i)
      fits = have[i] == 1 || have[i] == shape[shape.size() - have.size() + i];
    if (!fits)
      return e.Error("shape-mismatch", call.where[2],
                     "the values have the shape " + ShapeText(have) + ", and " + ShapeText(shape) +
                         " are stored");
    // The values are read as they were before.
    if (values.tensor.storage == x.tensor.storage)
      values = e.Materialize(range, values);
    values = e.BroadcastView(values, shape);
  }
  e.LoopNest(range, {shape[at_axis]}, [&](const std::vector<Value> &at) {
    auto part = [&](const Value &k) {
      Value all = Value::OfKind(Value::Kind::Slice);
      all.items = std::make_shared<std::vector<Value>>(3, Value::NoneValue());
      std::vector<Value> key(at_axis, all);
      key.push_back(k);
      return Value::TupleOf(std::move(key));
    };
    Value value = values.IsTensor() ? e.Subscript(range, values, part(at[0])) : values;
    e.StoreSubscript(range, x, part(e.Subscript(call.where[1], indices, at[0])), value,
                     call.where[2]);
  });
  return Value::NoneValue();
}

constexpr uint8_t kArrays = kAsc | kNumpy;
constexpr ShapeRule kOwn = ShapeRule::Own;

// clang-format off
const LibraryEntry kTable[] = {
    {"reshape", kArrays | kMethod, "x, *shape", DTypes::Any, ShapeRule::Argument, "the same elements in another shape; a view where NumPy has one", "np.reshape(x, shape)", Lowering::View, EmitReshape},
    {"flatten", kAsc | kMethod, "x", DTypes::Any, kOwn, "a copy with one axis", "x.flatten()", Lowering::Vector, EmitFlatten, nullptr, nullptr, 1},
    {"ravel", kArrays | kMethod, "x", DTypes::Any, kOwn, "the same elements along one axis; a view where NumPy has one", "np.ravel(x)", Lowering::View, EmitFlatten, nullptr, nullptr, 0},
    {"transpose", kArrays | kMethod, "x, *axes", DTypes::Any, kOwn, "axes in another order, reversed unless said; a view", "np.transpose(x, axes)", Lowering::View, EmitTranspose},
    {"permute", kAsc | kMethod, "x, *axes", DTypes::Any, kOwn, "axes in another order; a view", "np.transpose(x, axes)", Lowering::View, EmitTranspose},
    {"swapaxes", kArrays | kMethod, "x, axis1, axis2", DTypes::Any, kOwn, "two axes exchanged; a view", "np.swapaxes(x, axis1, axis2)", Lowering::View, EmitSwapAxes},
    {"broadcast_to", kArrays, "x, shape", DTypes::Any, ShapeRule::Argument, "a copy, stretched to a shape", "np.broadcast_to(x, shape)", Lowering::Vector, EmitBroadcastTo},
    {"expand_dims", kArrays, "x, axis", DTypes::Any, kOwn, "with a new axis of size 1; a view", "np.expand_dims(x, axis)", Lowering::View, EmitExpandDims},
    {"unsqueeze", kAsc | kMethod, "x, axis", DTypes::Any, kOwn, "with a new axis of size 1; a view", "np.expand_dims(x, axis)", Lowering::View, EmitExpandDims},
    {"squeeze", kArrays | kMethod, "x, axis=None", DTypes::Any, kOwn, "without axes of size 1; a view", "np.squeeze(x, axis)", Lowering::View, EmitSqueeze},
    {"concat", kAsc, "tensors, axis=0", DTypes::Any, kOwn, "joined along an axis", "np.concatenate(tensors, axis)", Lowering::Vector, EmitConcat},
    {"concatenate", kArrays, "tensors, axis=0", DTypes::Any, kOwn, "joined along an axis", "np.concatenate(tensors, axis)", Lowering::Vector, EmitConcat},
    {"stack", kArrays, "tensors, axis=0", DTypes::Any, kOwn, "joined along a new axis", "np.stack(tensors, axis)", Lowering::Vector, EmitStack},
    {"split", kArrays, "x, parts, axis=0", DTypes::Any, kOwn, "equal parts along an axis, as views", "np.split(x, parts, axis)", Lowering::View, EmitSplit},
    {"flip", kArrays, "x, axis=None", DTypes::Any, kOwn, "with axes reversed; a view", "np.flip(x, axis)", Lowering::View, EmitFlip},
    {"pad", kAsc, "x, widths, value=0", DTypes::Any, kOwn, "with a constant around", "np.pad(x, widths, constant_values=value)", Lowering::Vector, EmitPad},
    {"tile", kArrays, "x, times", DTypes::Any, kOwn, "repeated along the axes", "np.tile(x, times)", Lowering::Vector, EmitTile},
    {"take", kArrays, "x, indices, axis=None", DTypes::Any, kOwn, "the elements that indices name along an axis", "np.take(x, indices, axis)", Lowering::Scalar, EmitTake},
    {"scatter", kAsc, "x, indices, values, axis=0", DTypes::Any, ShapeRule::None, "stores values at the places that indices name along an axis, in their order: of equals the last stays", "x[indices] = values", Lowering::Scalar, EmitScatter},
    {"gather", kAsc, "x, indices, axis=0", DTypes::Any, kOwn, "the elements that indices name along an axis", "np.take(x, indices, axis)", Lowering::Scalar, EmitTake},
};
// clang-format on

} // namespace

std::span<const LibraryEntry> ShapeTable() { return kTable; }

} // namespace pyasc::sema
