// Subscripts: views, element loads and stores, bounds.
#include "compiler/sema/emitter.h"

#include "compiler/ir/asc_dialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace pyasc::sema {

namespace affine = mlir::affine;
namespace arith = mlir::arith;
namespace memref = mlir::memref;
using mlir::AffineExpr;

namespace {

std::string OutOfBounds(const std::string &index, int axis, int64_t size) {
  return "index " + index + " is out of bounds for axis " + std::to_string(axis) + " with size " +
         std::to_string(size);
}

} // namespace

Index Emitter::NormalizeIndex(const SourceRange &range, const Value &v, int axis, int64_t size) {
  if (v.IsConstantInt() && (v.constant->i < -size || v.constant->i >= size)) {
    Error("out-of-bounds", range, OutOfBounds(ToString(v.constant->i), axis, size));
    return {};
  }
  Index index = ToIndex(v);
  mlir::Location loc = Loc(range);
  bool low = index.range.low && *index.range.low >= 0;
  bool high = index.range.high && *index.range.high < size;
  bool low_wrapped = index.range.low && *index.range.low >= -size;
  if (index.expr) {
    AffineExpr e = index.expr;
    if (auto c = mlir::dyn_cast<mlir::AffineConstantExpr>(e)) {
      int64_t i = c.getValue();
      if (i < -size || i >= size) {
        Error("out-of-bounds", range, OutOfBounds(std::to_string(i), axis, size));
        return {};
      }
      return ToIndex(Value::IntConstant(i < 0 ? i + size : i, DType::Int64, false));
    }
    low = low || Prove(e);
    high = high || Prove(size - 1 - e);
    if (low && high)
      return index;
    if (!low && Prove(-e - 1)) {
      // Always from the end.
      if (Prove(e + size))
        return ToIndex(FromAffine(e + size));
    }
    for (AffineExpr beyond : {e - size, -e - size - 1})
      if (auto reached = Reaches(beyond, e)) {
        Error("out-of-bounds", range, OutOfBounds(std::to_string(*reached), axis, size));
        return {};
      }
    low_wrapped = low_wrapped || Prove(e + size);
  } else if (low && high) {
    return index;
  }
  // Known at run time only: wrap, check, and stay inside.
  mlir::Value i = IndexSsa(index, loc), wrapped = i;
  mlir::Value zero = b_.create<arith::ConstantIndexOp>(loc, 0);
  mlir::Value bound = b_.create<arith::ConstantIndexOp>(loc, size);
  Index result;
  if (!low) {
    ++wraps_;
    mlir::Value negative = b_.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, i, zero);
    mlir::Value from_end = b_.create<arith::AddIOp>(loc, i, bound);
    wrapped = b_.create<arith::SelectOp>(loc, negative, from_end, i);
  }
  bool inside = high && (low || low_wrapped);
  if (!inside && checks_) {
    if (size == 0) {
      Error("out-of-bounds", range, "the axis " + std::to_string(axis) + " has no elements");
      return {};
    }
    mlir::Value ok = b_.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, wrapped, bound);
    Check("out-of-bounds", range, ok, i, bound,
          "index {value} is out of bounds for axis " + std::to_string(axis) + " with size {bound}");
    wrapped = b_.create<arith::SelectOp>(loc, ok, wrapped, zero);
  }
  if (low && inside && index.expr)
    return index;
  result.value = wrapped;
  result.range = {0, size - 1};
  return result;
}

namespace {

// Python's slice.indices for constants.
void ClampSlice(Int &start, Int &stop, Int step, Int size, bool has_start, bool has_stop) {
  auto clamp = [&](Int v, Int low, Int high) { return std::max(low, std::min(v, high)); };
  Int low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  if (!has_start)
    start = step < 0 ? high : low;
  else
    start = clamp(start < 0 ? start + size : start, low, high);
  if (!has_stop)
    stop = step < 0 ? low : high;
  else
    stop = clamp(stop < 0 ? stop + size : stop, low, high);
}

} // namespace

// The part of an axis that `slice` selects; nullopt after a report.
std::optional<TensorDim> Emitter::SliceDim(const SourceRange &range, const TensorDim &dim, int axis,
                                           const Value &slice) {
  const std::vector<Value> &parts = *slice.items;
  for (const Value &p : parts)
    if (!p.IsNone() && !(p.IsIntegral() && p.dtype != DType::Bool)) {
      Error("bad-index", range, "the bounds of a slice must be integers, not " + Describe(p));
      return std::nullopt;
    }
  Int step = 1;
  if (!parts[2].IsNone()) {
    if (!parts[2].IsConstantInt()) {
      Error("not-static", range, "the step of a slice must be known at compile time");
      return std::nullopt;
    }
    step = parts[2].constant->i;
    if (step == 0) {
      Error("bad-index", range, "the step of a slice cannot be zero");
      return std::nullopt;
    }
  }
  bool has_start = !parts[0].IsNone(), has_stop = !parts[1].IsNone();
  TensorDim out = dim;
  auto apply = [&](const Index &first, int64_t size) {
    out.size = size;
    out.offset = dim.root < 0 ? Index{} : AddIndex(dim.offset, ScaleIndex(first, dim.step));
    out.step = dim.step * static_cast<int64_t>(step);
    return out;
  };
  if ((!has_start || parts[0].IsConstantInt()) && (!has_stop || parts[1].IsConstantInt())) {
    Int start = has_start ? parts[0].constant->i : 0, stop = has_stop ? parts[1].constant->i : 0;
    ClampSlice(start, stop, step, dim.size, has_start, has_stop);
    Int count = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
    count = std::max<Int>(count, 0);
    if (count == 0)
      start = 0;
    return apply(ToIndex(Value::IntConstant(start, DType::Int64, false)),
                 static_cast<int64_t>(count));
  }
  // First without the part of a loop in which the end of the axis cuts the slice; then with a check
  // at run time, unless some iteration surely fails it.
  auto refuse = [&](const std::string &why) -> std::optional<TensorDim> {
    std::vector<AffineExpr> exprs = parts[0].affine;
    exprs.insert(exprs.end(), parts[1].affine.begin(), parts[1].affine.end());
    if (SplitLoopOf(exprs))
      return std::nullopt;
    AffineExpr first = has_start ? AffineOf(parts[0]) : AffineExpr(),
               end = has_stop ? AffineOf(parts[1]) : AffineExpr();
    bool fails = (first && Reaches(-first - 1, first)) || (end && Reaches(end - dim.size - 1, end));
    if (has_start && has_stop && step > 0 && !fails && !parts[0].IsConstant() &&
        !parts[1].IsConstant())
      if (auto length = StaticLength(parts[0], parts[1]); length && *length >= 0) {
        if (*length == 0)
          return apply(ToIndex(Value::IntConstant(0, DType::Int64, false)), 0);
        auto start = RunTimeStart(range, parts[0], *length, axis, dim.size);
        if (!start)
          return std::nullopt;
        return apply(*start, static_cast<int64_t>((*length + step - 1) / step));
      }
    Error("dynamic-slice", range,
          why + "; shapes are static here: use a slice of constant length that stays inside the "
                "axis, or a loop over elements");
    return std::nullopt;
  };
  if (step < 0)
    return refuse("a slice that runs backwards needs constant bounds");
  AffineExpr low = has_start ? AffineOf(parts[0]) : ConstantExpr(0);
  if (!low)
    return refuse("the start of this slice is not an affine expression of loop variables");
  AffineExpr high;
  if (!has_stop)
    high = ConstantExpr(dim.size);
  else if (AffineExpr e = AffineOf(parts[1]))
    high = e;
  // A constant negative bound counts from the end.
  for (AffineExpr *e : {&low, &high})
    if (auto c = *e ? mlir::dyn_cast<mlir::AffineConstantExpr>(*e) : mlir::AffineConstantExpr())
      if (c.getValue() < 0)
        *e = ConstantExpr(c.getValue() + dim.size);
  // Python cuts a slice at the end of the axis.
  if (high && !Prove(dim.size - high)) {
    if (Prove(high - dim.size))
      high = ConstantExpr(dim.size);
    else
      high = {};
  }
  if (!high)
    return refuse("the end of this slice may lie past the end of axis " + std::to_string(axis) +
                  ", which has size " + std::to_string(dim.size));
  if (!Prove(low))
    return refuse("the start of this slice may be negative");
  AffineExpr length = mlir::simplifyAffineExpr(high - low, dims_.size(), 0);
  auto count = mlir::dyn_cast<mlir::AffineConstantExpr>(length);
  if (!count)
    return refuse("the length of this slice depends on a loop variable");
  // An end before its start is empty only where it is no place counted from the end.
  if (count.getValue() < 0 && !Prove(high))
    return refuse("the end of this slice may be negative");
  int64_t n = std::max<int64_t>(0, count.getValue());
  return apply(ToIndex(FromAffine(low)), static_cast<int64_t>((n + step - 1) / step));
}

bool Emitter::SplitLoopOf(const std::vector<AffineExpr> &exprs) {
  bool split = false;
  for (const LoopDim &loop : loop_dims_) {
    bool used = false;
    for (AffineExpr e : exprs)
      used |= e.isFunctionOfDim(loop.dim);
    if (used && !loop.key.empty())
      split |= memory_.peeled.insert(loop.key).second;
  }
  memory_.changed |= split;
  return split;
}

Value Emitter::View(const SourceRange &range, const Value &base, const Value &key) {
  std::vector<Value> keys;
  if (key.IsTuple() && !key.is_list)
    keys = *key.items;
  else
    keys = {key};
  const Tensor &from = base.tensor;
  size_t used = 0;
  int ellipses = 0;
  for (const Value &k : keys) {
    if (k.kind == Value::Kind::Ellipsis)
      ++ellipses;
    else if (!k.IsNone())
      ++used;
  }
  if (ellipses > 1)
    return Error("bad-index", range, "an index can have one '...' only");
  if (used > from.dims.size())
    return Error("too-many-indices", range,
                 "too many indices: the tensor has " + std::to_string(from.dims.size()) +
                     (from.dims.size() == 1 ? " axis" : " axes") + " and the index " +
                     std::to_string(used));
  Tensor out = from;
  out.dims.clear();
  out.fresh = false;
  size_t axis = 0;
  auto keep = [&](size_t n) {
    for (size_t i = 0; i < n; ++i)
      out.dims.push_back(from.dims[axis++]);
  };
  for (const Value &k : keys) {
    if (k.kind == Value::Kind::Ellipsis) {
      keep(from.dims.size() - used);
    } else if (k.IsNone()) {
      out.dims.push_back(UnitDim());
    } else if (k.kind == Value::Kind::Slice) {
      auto dim = SliceDim(range, from.dims[axis], static_cast<int>(axis), k);
      if (!dim)
        return Value::Invalid();
      out.dims.push_back(*dim);
      ++axis;
    } else if (k.IsScalar()) {
      if (k.dtype == DType::Bool)
        return Error("bad-index", range, "an index must be an integer, not a bool");
      if (IsFloat(k.dtype))
        return Error("bad-index", range,
                     "an index must be an integer, not " + Describe(k) + "; use // or int()");
      const TensorDim &dim = from.dims[axis];
      Index i = NormalizeIndex(range, k, static_cast<int>(axis), dim.size);
      if (!i.expr && !i.value)
        return Value::Invalid();
      if (dim.root >= 0)
        out.fixed.emplace_back(dim.root, AddIndex(dim.offset, ScaleIndex(i, dim.step)));
      ++axis;
    } else if (k.IsTensor()) {
      if (k.dtype == DType::Bool)
        return Error("unsupported-mask", range,
                     "indexing by a bool tensor would give a shape known only at run time; choose "
                     "element by element: to write where a mask holds, "
                     "y[:] = asc.where(mask, value, y)");
      return Error("unsupported-gather", range,
                   "indexing by a tensor is not supported; use asc.take(x, indices, axis) or a "
                   "loop");
    } else {
      return Error("bad-index", range,
                   "an index must be an integer, a slice, None or ..., not " + Describe(k));
    }
  }
  keep(from.dims.size() - axis);
  return Value::TensorOf(base.dtype, std::move(out));
}

Value Emitter::Subscript(const SourceRange &range, const Value &base, const Value &key) {
  if (base.IsInvalid() || key.IsInvalid())
    return Value::Invalid();
  if (base.IsTuple()) {
    Int size = static_cast<Int>(base.items->size());
    if (key.kind == Value::Kind::Slice) {
      Int bounds[3] = {0, 0, 1};
      for (int i = 0; i < 3; ++i) {
        const Value &p = (*key.items)[static_cast<size_t>(i)];
        if (!p.IsNone() && !p.IsConstantInt())
          return Error("not-static", range, "a tuple is sliced by constants only");
        if (!p.IsNone())
          bounds[i] = p.constant->i;
      }
      if (bounds[2] == 0)
        return Error("bad-index", range, "the step of a slice cannot be zero");
      ClampSlice(bounds[0], bounds[1], bounds[2], size, !(*key.items)[0].IsNone(),
                 !(*key.items)[1].IsNone());
      std::vector<Value> items;
      for (Int i = bounds[0]; bounds[2] > 0 ? i < bounds[1] : i > bounds[1]; i += bounds[2])
        items.push_back((*base.items)[static_cast<size_t>(i)]);
      return Value::TupleOf(std::move(items), base.is_list);
    }
    if (!key.IsConstantInt())
      return Error("not-static", range,
                   "a tuple is indexed by constants only; put the values into a tensor, or unroll "
                   "the loop with asc.static_range");
    Int i = key.constant->i;
    if (i < -size || i >= size)
      return Error("out-of-bounds", range,
                   "index " + ToString(i) + " is out of range for a tuple of " + ToString(size));
    return (*base.items)[static_cast<size_t>(i < 0 ? i + size : i)];
  }
  if (!base.IsTensor()) {
    std::string hint = base.IsScalar() ? "; a parameter that is an array is annotated "
                                         "asc.float32[N] or asc.tensor"
                                       : "";
    return Error("not-subscriptable", range, Describe(base) + " cannot be indexed" + hint);
  }
  Value view = View(range, base, key);
  if (view.IsInvalid() || !view.tensor.dims.empty())
    return view;
  RecordRead(range, view);
  return LoadElement(range, view);
}

// The index of each axis of the memref, for a view without axes.
std::vector<Index> Emitter::ElementIndices(const Tensor &view) {
  auto type = mlir::cast<mlir::MemRefType>(view.root.getType());
  std::vector<Index> indices(static_cast<size_t>(type.getRank()), Index{ConstantExpr(0), {}, {}});
  for (const auto &[axis, index] : view.fixed)
    indices[static_cast<size_t>(axis)] = index;
  return indices;
}

Value Emitter::LoadElement(const SourceRange &range, const Value &view) {
  if (no_emit_)
    return Value::Invalid();
  mlir::Location loc = Loc(range);
  std::vector<Index> indices = ElementIndices(view.tensor);
  llvm::SmallVector<AffineExpr> exprs;
  for (const Index &i : indices)
    if (i.expr)
      exprs.push_back(i.expr);
  mlir::Value v;
  if (exprs.size() == indices.size()) {
    Packed p = Pack(exprs);
    v = b_.create<affine::AffineLoadOp>(loc, view.tensor.root, p.map, p.operands);
  } else {
    llvm::SmallVector<mlir::Value> at;
    for (const Index &i : indices)
      at.push_back(IndexSsa(i, loc));
    v = b_.create<memref::LoadOp>(loc, view.tensor.root, at);
  }
  ScalarOps ops = Ops(range);
  if (view.tensor.wide)
    v = ops.Cast(v, DType::Float32, view.dtype);
  else
    v = ops.FromMemory(v, view.dtype);
  Value out = Value::Scalar(view.dtype, v);
  if (!IsFloat(view.dtype))
    out.range = {MinInt(view.dtype), MaxInt(view.dtype)};
  return out;
}

void Emitter::StoreElement(const SourceRange &range, const Value &view, const Value &value) {
  mlir::Location loc = Loc(range);
  ScalarOps ops = Ops(range);
  mlir::Value v = view.tensor.wide ? SsaAs(value, DType::Float32)
                                   : ops.ToMemory(SsaAs(value, view.dtype), view.dtype);
  std::vector<Index> indices = ElementIndices(view.tensor);
  llvm::SmallVector<AffineExpr> exprs;
  for (const Index &i : indices)
    if (i.expr)
      exprs.push_back(i.expr);
  if (exprs.size() == indices.size()) {
    Packed p = Pack(exprs);
    b_.create<affine::AffineStoreOp>(loc, v, view.tensor.root, p.map, p.operands);
    return;
  }
  llvm::SmallVector<mlir::Value> at;
  for (const Index &i : indices)
    at.push_back(IndexSsa(i, loc));
  b_.create<memref::StoreOp>(loc, v, view.tensor.root, at);
}

bool Emitter::MayWrite(const SourceRange &range, const Value &base) {
  if (copied_cells_.count(base.tensor.storage.getAsOpaquePointer())) {
    Error("rebound-alias", range,
          "this tensor started as another name of an array and is bound anew in a loop or branch: "
          "which of the two is written would be decided at run time; start from a copy");
    return false;
  }
  return true;
}

void Emitter::StoreSubscript(const SourceRange &range, const Value &base, const Value &key,
                             const Value &value, const SourceRange &value_range) {
  if (!base.IsTensor()) {
    Error("not-subscriptable", range,
          "only elements of tensors can be assigned, and this is " + Describe(base) +
              (base.IsTuple() ? "; tuples and lists do not change in kernels" : ""));
    return;
  }
  if (!MayWrite(range, base))
    return;
  Value view = View(range, base, key);
  if (view.IsInvalid())
    return;
  auto stored = CastForStore(value_range, value, base.dtype, "a tensor");
  if (!stored)
    return;
  RecordWrite(range, view, reduces_);
  if (view.tensor.dims.empty()) {
    if (stored->IsTensor()) {
      if (stored->tensor.Count() != 1) {
        Error("shape-mismatch", value_range,
              "cannot store " + Describe(*stored) + " into one element");
        return;
      }
      std::vector<Value> zeros(stored->tensor.dims.size(), Value::WeakInt(0));
      *stored = stored->tensor.dims.empty()
                    ? LoadElement(value_range, *stored)
                    : Subscript(value_range, *stored, Value::TupleOf(zeros));
    }
    StoreElement(range, view, *stored);
    return;
  }
  CopyInto(range, view, *stored);
}

} // namespace pyasc::sema
