// Tensor values: allocation, views as operands of linalg.generic, elementwise operations, copies.
#include "compiler/sema/emitter.h"

#include <limits>

#include "compiler/ir/asc_dialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace pyasc::sema {

namespace affine = mlir::affine;
namespace linalg = mlir::linalg;
namespace memref = mlir::memref;

namespace {

bool SameIndex(const Index &a, const Index &b) { return a.expr == b.expr && a.value == b.value; }

bool SameView(const Tensor &a, const Tensor &b) {
  if (a.root != b.root || a.dims.size() != b.dims.size() || a.fixed.size() != b.fixed.size())
    return false;
  for (size_t i = 0; i < a.dims.size(); ++i)
    if (a.dims[i].root != b.dims[i].root || a.dims[i].step != b.dims[i].step ||
        a.dims[i].size != b.dims[i].size || !SameIndex(a.dims[i].offset, b.dims[i].offset))
      return false;
  for (size_t i = 0; i < a.fixed.size(); ++i)
    if (a.fixed[i].first != b.fixed[i].first || !SameIndex(a.fixed[i].second, b.fixed[i].second))
      return false;
  return true;
}

} // namespace

// Temporaries are made once a run of the kernel, or once an iteration of the innermost parallel
// loop around: iterations may run at the same time, and nothing in one outlives it.
mlir::OpBuilder::InsertPoint Emitter::AllocationPoint() {
  mlir::Block *block = parallel_bodies_.empty() ? &function_.front() : parallel_bodies_.back();
  return {block, block->begin()};
}

Value Emitter::WholeTensor(DType t, mlir::Value memref) {
  Tensor tensor;
  tensor.root = tensor.storage = memref;
  auto type = mlir::cast<mlir::MemRefType>(memref.getType());
  for (int i = 0; i < type.getRank(); ++i) {
    TensorDim d;
    d.size = type.getDimSize(static_cast<unsigned>(i));
    d.root = i;
    d.offset.expr = mlir::getAffineConstantExpr(0, type.getContext());
    d.offset.range = {0, 0};
    tensor.dims.push_back(d);
  }
  return Value::TensorOf(t, std::move(tensor));
}

Value Emitter::NewTensor(const SourceRange &range, DType t, const std::vector<int64_t> &shape,
                         bool shared) {
  if (no_emit_ || !CheckDType(range, t))
    return Value::Invalid();
  constexpr int64_t kMaxElements = int64_t{1} << 40;
  int64_t count = 1;
  for (int64_t d : shape) {
    if (d == 0)
      continue; // bounds the others nevertheless, as in NumPy: products of them must fit
    if (count > kMaxElements / d)
      return Error("tensor-too-large", range, "the tensor " + ShapeText(shape) + " is too large");
    count *= d;
  }
  mlir::OpBuilder::InsertionGuard guard(b_);
  b_.restoreInsertionPoint(AllocationPoint());
  auto alloc = b_.create<memref::AllocOp>(Loc(range),
                                          mlir::MemRefType::get(shape, MemoryType(&context_, t)));
  if (shared)
    alloc->setAttr(ir::AscDialect::kShared, b_.getUnitAttr());
  Value v = WholeTensor(t, alloc);
  v.tensor.fresh = true;
  return v;
}

std::optional<std::vector<int64_t>> Emitter::Broadcast(const SourceRange &range,
                                                       const std::vector<Value> &operands) {
  std::vector<int64_t> shape;
  for (const Value &v : operands) {
    if (!v.IsTensor())
      continue;
    std::vector<int64_t> s = v.tensor.Shape();
    if (s.size() > shape.size())
      shape.insert(shape.begin(), s.size() - shape.size(), 1);
    for (size_t i = 0; i < s.size(); ++i) {
      int64_t &have = shape[shape.size() - s.size() + i];
      if (s[i] == have || s[i] == 1)
        continue;
      if (have != 1) {
        std::string shapes;
        for (const Value &x : operands)
          if (x.IsTensor())
            shapes += (shapes.empty() ? "" : " and ") + ShapeText(x.tensor.Shape());
        Error("shape-mismatch", range, "the shapes " + shapes + " cannot be broadcast together");
        return std::nullopt;
      }
      have = s[i];
    }
  }
  return shape;
}

bool Emitter::NeedsCopyForGeneric(const Value &tensor) {
  for (const TensorDim &d : tensor.tensor.dims)
    if (d.step < 0)
      return true;
  return false;
}

Emitter::MemrefOperand Emitter::OperandOf(const SourceRange &range, const GenericOperand &operand,
                                          const std::vector<int64_t> &extents) {
  const Tensor &t = operand.tensor.tensor;
  MemrefOperand out;
  auto type = mlir::cast<mlir::MemRefType>(t.root.getType());
  auto rank = static_cast<size_t>(type.getRank());
  bool whole = t.fixed.empty();
  std::vector<int> dim_of(rank, -1);
  for (size_t i = 0; i < t.dims.size(); ++i) {
    const TensorDim &d = t.dims[i];
    if (d.root < 0)
      continue;
    dim_of[static_cast<size_t>(d.root)] = static_cast<int>(i);
    whole = whole && operand.axes[i] >= 0 && d.step == 1 && KnownIndex(d.offset) == 0 &&
            d.size == type.getDimSize(static_cast<unsigned>(d.root));
  }
  for (size_t r = 0; r < rank; ++r)
    whole = whole && dim_of[r] >= 0;
  auto keep = [&](size_t dim) {
    for (const GenericOperand::WindowTerm &term : operand.window)
      if (term.dim == dim)
        out.window.push_back({out.axes.size(), term.axis, term.step});
    out.axes.push_back(operand.axes[dim]);
  };
  if (whole) {
    out.memref = t.root;
    for (size_t r = 0; r < rank; ++r)
      keep(static_cast<size_t>(dim_of[r]));
    return out;
  }
  mlir::Location loc = Loc(range);
  llvm::SmallVector<mlir::OpFoldResult> offsets(rank), sizes(rank), strides(rank);
  llvm::SmallVector<int64_t> kept;
  auto fold = [&](const Index &i) -> mlir::OpFoldResult {
    if (std::optional<int64_t> known = KnownIndex(i))
      return b_.getIndexAttr(*known);
    return IndexSsa(i, loc);
  };
  for (size_t r = 0; r < rank; ++r) {
    sizes[r] = strides[r] = b_.getIndexAttr(1);
    offsets[r] = b_.getIndexAttr(0);
    if (dim_of[r] < 0)
      continue;
    auto i = static_cast<size_t>(dim_of[r]);
    const TensorDim &d = t.dims[i];
    offsets[r] = fold(d.offset);
    if (operand.axes[i] < 0)
      continue;
    sizes[r] = b_.getIndexAttr(d.size);
    // One element has no step: MLIR takes the view of a stepped one for that of another axis.
    strides[r] = b_.getIndexAttr(d.size == 1 ? 1 : d.step);
    kept.push_back(d.size);
    keep(i);
  }
  for (const auto &[r, index] : t.fixed)
    offsets[static_cast<size_t>(r)] = fold(index);
  auto result = mlir::cast<mlir::MemRefType>(
      memref::SubViewOp::inferRankReducedResultType(kept, type, offsets, sizes, strides));
  out.memref = b_.create<memref::SubViewOp>(loc, result, t.root, offsets, sizes, strides);
  return out;
}

void Emitter::Generic(const SourceRange &range, const std::vector<int64_t> &extents,
                      const std::vector<GenericOperand> &inputs, const GenericOperand &output,
                      const std::vector<bool> &is_reduction, const GenericBody &body,
                      bool accumulates) {
  for (int64_t e : extents)
    if (e == 0)
      return;
  if (NeedsCopyForGeneric(output.tensor)) {
    // A view that runs backwards is no operand: compute forwards, then copy by a loop.
    Value forward = Materialize(range, output.tensor);
    Generic(range, extents, inputs, GenericOperand{forward, output.axes}, is_reduction, body,
            accumulates);
    std::vector<int64_t> shape = output.tensor.tensor.Shape();
    LoopNest(range, shape, [&](const std::vector<Value> &at) {
      Value element = Subscript(range, forward, Value::TupleOf(at));
      Value place = View(range, output.tensor, Value::TupleOf(at));
      StoreElement(range, place, element);
    });
    return;
  }
  std::vector<GenericOperand> ready = inputs;
  for (GenericOperand &in : ready)
    if (NeedsCopyForGeneric(in.tensor))
      in.tensor = Materialize(range, in.tensor);
  llvm::SmallVector<mlir::Value> ins;
  std::vector<MemrefOperand> operands;
  for (const GenericOperand &in : ready) {
    operands.push_back(OperandOf(range, in, extents));
    ins.push_back(operands.back().memref);
  }
  operands.push_back(OperandOf(range, output, extents));
  MemrefOperand out = operands.back();
  // An axis of one element that no operand has in memory is no loop.
  std::vector<bool> used(extents.size());
  for (const MemrefOperand &m : operands)
    for (int axis : m.axes)
      used[static_cast<size_t>(axis)] = true;
  llvm::SmallVector<mlir::utils::IteratorType> iterators;
  std::vector<unsigned> loop_of(extents.size());
  for (size_t i = 0; i < extents.size(); ++i) {
    loop_of[i] = static_cast<unsigned>(iterators.size());
    if (used[i] || extents[i] != 1)
      iterators.push_back(is_reduction[i] ? mlir::utils::IteratorType::reduction
                                          : mlir::utils::IteratorType::parallel);
  }
  llvm::SmallVector<mlir::AffineMap> maps;
  for (const MemrefOperand &m : operands) {
    llvm::SmallVector<mlir::AffineExpr> results;
    auto loop = [&](int axis) {
      return mlir::getAffineDimExpr(loop_of[static_cast<size_t>(axis)], &context_);
    };
    for (int axis : m.axes)
      results.push_back(loop(axis));
    for (const GenericOperand::WindowTerm &term : m.window)
      results[term.dim] = results[term.dim] + loop(term.axis) * term.step;
    maps.push_back(
        mlir::AffineMap::get(static_cast<unsigned>(iterators.size()), 0, results, &context_));
  }
  mlir::Location loc = Loc(range);
  auto from_memory = [&](ScalarOps &ops, mlir::Value v, const Value &tensor) {
    if (tensor.tensor.wide)
      return ops.Cast(v, DType::Float32, tensor.dtype);
    return ops.FromMemory(v, tensor.dtype);
  };
  b_.create<linalg::GenericOp>(
      loc, mlir::TypeRange{}, ins, mlir::ValueRange{out.memref}, maps, iterators,
      [&](mlir::OpBuilder &builder, mlir::Location where, mlir::ValueRange args) {
        ScalarOps ops(builder, where);
        llvm::SmallVector<mlir::Value> values;
        for (size_t i = 0; i < ready.size(); ++i)
          values.push_back(from_memory(ops, args[i], ready[i].tensor));
        bool reads_output = accumulates;
        for (bool r : is_reduction)
          reads_output |= r;
        mlir::Value previous;
        if (reads_output)
          previous = from_memory(ops, args.back(), output.tensor);
        mlir::Value result = body(ops, values, previous);
        if (output.tensor.tensor.wide)
          result = ops.Cast(result, output.tensor.dtype, DType::Float32);
        else
          result = ops.ToMemory(result, output.tensor.dtype);
        builder.create<linalg::YieldOp>(where, result);
      });
}

namespace {

// Axes of an operand that is broadcast to `shape`.
std::vector<int> BroadcastAxes(const Tensor &t, const std::vector<int64_t> &shape) {
  std::vector<int> axes;
  size_t lead = shape.size() - t.dims.size();
  for (size_t i = 0; i < t.dims.size(); ++i) {
    bool stretched = t.dims[i].size == 1 && shape[lead + i] != 1;
    axes.push_back(stretched || t.dims[i].root < 0 ? -1 : static_cast<int>(lead + i));
  }
  return axes;
}

std::vector<int> Iota(size_t n) {
  std::vector<int> axes(n);
  for (size_t i = 0; i < n; ++i)
    axes[i] = static_cast<int>(i);
  return axes;
}

} // namespace

Value Emitter::Elementwise(const SourceRange &range, const std::vector<Value> &operands,
                           DType operand_type, DType result_type, const Body &body) {
  return ElementwiseTyped(range, operands, std::vector<DType>(operands.size(), operand_type),
                          result_type, body);
}

Value Emitter::ElementwiseTyped(const SourceRange &range, const std::vector<Value> &operands,
                                const std::vector<DType> &operand_types, DType result_type,
                                const Body &body) {
  for (const Value &v : operands)
    if (v.IsInvalid())
      return v;
  if (no_emit_)
    return Value::Invalid();
  bool tensors = false;
  for (const Value &v : operands)
    tensors |= v.IsTensor();
  if (!tensors) {
    llvm::SmallVector<mlir::Value> values;
    SourceRange saved = here_;
    here_ = range;
    for (size_t i = 0; i < operands.size(); ++i)
      values.push_back(SsaAs(operands[i], operand_types[i]));
    here_ = saved;
    ScalarOps ops = Ops(range);
    return Value::Scalar(result_type, body(ops, values));
  }
  auto shape = Broadcast(range, operands);
  if (!shape)
    return Value::Invalid();
  Value out = NewTensor(range, result_type, *shape);
  if (out.IsInvalid())
    return out;
  std::vector<GenericOperand> inputs;
  std::vector<mlir::Value> scalars(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].IsTensor())
      inputs.push_back({operands[i], BroadcastAxes(operands[i].tensor, *shape)});
    else if (!operands[i].IsConstant())
      scalars[i] = SsaAs(operands[i], operand_types[i]);
  }
  Generic(range, *shape, inputs, {out, Iota(shape->size())},
          std::vector<bool>(shape->size(), false),
          [&](ScalarOps &ops, mlir::ValueRange in, mlir::Value) {
            llvm::SmallVector<mlir::Value> values;
            size_t next = 0;
            for (size_t i = 0; i < operands.size(); ++i) {
              const Value &v = operands[i];
              if (v.IsTensor())
                values.push_back(ops.Cast(in[next++], v.dtype, operand_types[i]));
              else if (v.IsConstant())
                values.push_back(ops.Constant(
                    operand_types[i], IsFloat(operand_types[i])
                                          ? Constant{.f = v.ConstantAsDouble()}
                                          : Constant{.i = Wrap(v.constant->i, operand_types[i])}));
              else
                values.push_back(scalars[i]);
            }
            return body(ops, values);
          });
  return out;
}

void Emitter::CopyInto(const SourceRange &range, const Value &target, const Value &value) {
  if (value.IsInvalid() || target.IsInvalid() || no_emit_)
    return;
  std::vector<int64_t> shape = target.tensor.Shape();
  // What the memory holds.
  DType t = target.tensor.wide ? DType::Float32 : target.dtype;
  Value raw = target;
  raw.dtype = t;
  raw.tensor.wide = false;
  if (value.IsTensor()) {
    std::vector<int64_t> from = value.tensor.Shape();
    // NumPy lets a stored value have more axes as long as they are 1.
    Value source = value;
    while (source.tensor.dims.size() > shape.size() && source.tensor.dims[0].size == 1) {
      TensorDim d = source.tensor.dims[0];
      if (d.root >= 0)
        source.tensor.fixed.emplace_back(d.root, d.offset);
      source.tensor.dims.erase(source.tensor.dims.begin());
    }
    bool fits = source.tensor.dims.size() <= shape.size();
    for (size_t i = 0; fits && i < source.tensor.dims.size(); ++i) {
      int64_t n = source.tensor.dims[i].size,
              want = shape[shape.size() - source.tensor.dims.size() + i];
      fits = n == want || n == 1;
    }
    if (!fits) {
      Error("shape-mismatch", range,
            "cannot store a tensor of shape " + ShapeText(from) + " into one of shape " +
                ShapeText(shape));
      return;
    }
    if (source.tensor.storage == target.tensor.storage) {
      if (SameView(source.tensor, target.tensor) && source.dtype == target.dtype)
        return;
      source = Materialize(range, source);
    }
    Generic(range, shape, {{source, BroadcastAxes(source.tensor, shape)}},
            {raw, Iota(shape.size())}, std::vector<bool>(shape.size(), false),
            [&](ScalarOps &ops, mlir::ValueRange in, mlir::Value) {
              return ops.Cast(in[0], source.dtype, t);
            });
    return;
  }
  mlir::Value scalar;
  if (!value.IsConstant())
    scalar = SsaAs(value, t);
  Generic(range, shape, {}, {raw, Iota(shape.size())}, std::vector<bool>(shape.size(), false),
          [&](ScalarOps &ops, mlir::ValueRange, mlir::Value) {
            if (scalar)
              return scalar;
            return ops.Constant(t, IsFloat(t) ? Constant{.f = value.ConstantAsDouble()}
                                              : Constant{.i = Wrap(value.constant->i, t)});
          });
}

void Emitter::Fill(const SourceRange &range, const Value &tensor, const Constant &c) {
  Value v = Value::OfKind(Value::Kind::Scalar);
  v.dtype = tensor.dtype;
  v.constant = c;
  CopyInto(range, tensor, v);
}

Value Emitter::Materialize(const SourceRange &range, const Value &tensor) {
  std::vector<int64_t> shape = tensor.tensor.Shape();
  Value out = NewTensor(range, tensor.dtype, shape);
  if (out.IsInvalid())
    return out;
  if (NeedsCopyForGeneric(tensor)) {
    LoopNest(range, shape, [&](const std::vector<Value> &at) {
      Value place = View(range, out, Value::TupleOf(at));
      StoreElement(range, place, Subscript(range, tensor, Value::TupleOf(at)));
    });
    return out;
  }
  CopyInto(range, out, tensor);
  return out;
}

void Emitter::LoopNest(const SourceRange &range, const std::vector<int64_t> &extents,
                       const std::function<void(const std::vector<Value> &)> &body, bool parallel) {
  std::vector<Value> indices;
  std::function<void(size_t)> level = [&](size_t k) {
    if (k == extents.size())
      return body(indices);
    auto loop = b_.create<affine::AffineForOp>(Loc(range), 0, extents[k]);
    if (parallel)
      loop->setAttr(ir::AscDialect::kParallel, b_.getUnitAttr());
    mlir::AffineExpr dim = NewDim(loop.getInductionVar(), {0, extents[k] - 1});
    size_t domain_size = domain_.size(), dims = dims_.size() - 1;
    domain_.push_back({dim, false});
    domain_.push_back({extents[k] - 1 - dim, false});
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(loop.getBody()->getTerminator());
    if (parallel)
      parallel_bodies_.push_back(loop.getBody());
    ++region_depth_;
    indices.push_back(FromAffine(dim));
    level(k + 1);
    indices.pop_back();
    --region_depth_;
    if (parallel)
      parallel_bodies_.pop_back();
    domain_.resize(domain_size);
    dims_.resize(dims);
  };
  level(0);
}

// ---- Views ----

Value Emitter::TransposeView(const Value &tensor, const std::vector<int> &order) {
  Value v = tensor;
  v.tensor.fresh = false;
  for (size_t i = 0; i < order.size(); ++i)
    v.tensor.dims[i] = tensor.tensor.dims[static_cast<size_t>(order[i])];
  return v;
}

Value Emitter::ExpandView(const Value &tensor, int axis) {
  Value v = tensor;
  v.tensor.dims.insert(v.tensor.dims.begin() + axis, UnitDim());
  return v;
}

// Stretched axes keep their place in the memref but do not move in it.
Value Emitter::BroadcastView(const Value &tensor, const std::vector<int64_t> &shape) {
  Value v = tensor;
  v.tensor.fresh = false;
  std::vector<TensorDim> dims(shape.size());
  size_t lead = shape.size() - tensor.tensor.dims.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    dims[i].size = shape[i];
    if (i < lead)
      continue;
    const TensorDim &d = tensor.tensor.dims[i - lead];
    if (d.size == shape[i]) {
      dims[i] = d;
    } else if (d.root >= 0) {
      v.tensor.fixed.emplace_back(d.root, d.offset);
    }
  }
  v.tensor.dims = dims;
  return v;
}

} // namespace pyasc::sema
