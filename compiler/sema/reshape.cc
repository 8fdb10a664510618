// Reshape: another shape of a tensor, as a view of its memory.
//
// As NumPy has it (numpy.reshape, numpy.ravel): a view wherever strides can express the new shape,
// and a copy elsewhere. Views here are of a memref with identity layout, whose axes can be joined
// and split (ReshapePart); where that cannot express what strides can, such as a part that starts
// in the middle of a new row, the part is copied, and whether anything is written that would tell
// the copy from a view is seen when all is emitted (CheckDetachedParts).
#include "compiler/sema/emitter.h"

#include <limits>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace pyasc::sema {

namespace memref = mlir::memref;

namespace {

// On an allocation: it holds a copy that is a view to Python.
constexpr llvm::StringLiteral kDetached = "asc.detached";

std::vector<int64_t> WithoutOnes(std::vector<int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

// The axes with more than one element; places of the others become fixed ones of `view`.
std::vector<TensorDim> MovingDims(Tensor *view, const Tensor &tensor) {
  std::vector<TensorDim> moving;
  for (const TensorDim &d : tensor.dims) {
    if (d.size != 1)
      moving.push_back(d);
    else if (d.root >= 0)
      view->fixed.emplace_back(d.root, d.offset);
  }
  return moving;
}

// Axes [first, last) of a tensor and of its new shape that hold equally many elements.
struct AxisGroup {
  size_t from, from_end, to, to_end;
};

// The least such groups, in order; neither side has axes of one element.
std::vector<AxisGroup> GroupAxes(const std::vector<TensorDim> &dims,
                                 const std::vector<int64_t> &shape) {
  std::vector<AxisGroup> groups;
  for (size_t i = 0, k = 0; i < dims.size();) {
    AxisGroup g{i, i + 1, k, k + 1};
    int64_t have = dims[i].size, want = shape[k];
    while (have != want) {
      if (have < want)
        have *= dims[g.from_end++].size;
      else
        want *= shape[g.to_end++];
    }
    groups.push_back(g);
    i = g.from_end;
    k = g.to_end;
  }
  return groups;
}

llvm::ArrayRef<int64_t> RootShape(const Tensor &tensor) {
  return mlir::cast<mlir::MemRefType>(tensor.root.getType()).getShape();
}

// Whether NumPy's reshape gives a view: axes that are joined have to follow each other in memory.
bool SharesMemory(const Tensor &tensor, const std::vector<int64_t> &shape) {
  llvm::ArrayRef<int64_t> root = RootShape(tensor);
  std::vector<int64_t> strides(root.size(), 1);
  for (size_t r = root.size(); r-- > 1;)
    strides[r - 1] = strides[r] * root[r];
  Tensor unused;
  std::vector<TensorDim> dims = MovingDims(&unused, tensor);
  auto stride = [&](const TensorDim &d) {
    return d.root < 0 ? 0 : strides[static_cast<size_t>(d.root)] * d.step;
  };
  for (const AxisGroup &g : GroupAxes(dims, WithoutOnes(shape)))
    for (size_t i = g.from; i + 1 < g.from_end; ++i)
      if (stride(dims[i]) != dims[i + 1].size * stride(dims[i + 1]))
        return false;
  return true;
}

} // namespace

std::optional<std::vector<int64_t>> Emitter::CompleteShape(const SourceRange &range,
                                                           const Value &tensor,
                                                           const std::vector<int64_t> &asked) {
  std::vector<int64_t> shape = asked;
  // Products that are too large for any tensor stay so, and are never mistaken for its count.
  auto times = [](int64_t x, int64_t y) {
    int64_t product = 0;
    return __builtin_mul_overflow(x, y, &product) ? std::numeric_limits<int64_t>::max() : product;
  };
  int64_t known = 1, unknown = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      if (unknown >= 0) {
        Error("shape-mismatch", range, "only one axis of a shape can be -1");
        return std::nullopt;
      }
      unknown = static_cast<int64_t>(i);
    } else {
      known = times(known, shape[i]);
    }
  }
  int64_t count = tensor.tensor.Count();
  if (unknown >= 0 && known > 0)
    shape[static_cast<size_t>(unknown)] = count / known;
  int64_t total = 1;
  for (int64_t d : shape)
    total = times(total, d);
  if (total != count || (unknown >= 0 && known == 0)) { // any size would do beside a zero
    Error("shape-mismatch", range,
          "cannot reshape " + ShapeText(tensor.tensor.Shape()) + " into " + ShapeText(asked));
    return std::nullopt;
  }
  return shape;
}

std::optional<Value> Emitter::Reshape(const SourceRange &range, const Value &tensor,
                                      const std::vector<int64_t> &asked, bool as_named) {
  auto complete = CompleteShape(range, tensor, asked);
  if (!complete)
    return std::nullopt;
  const std::vector<int64_t> &shape = *complete;
  const int64_t count = tensor.tensor.Count();
  if (tensor.tensor.Shape() == shape)
    return tensor;
  // Axes of one element come and go without moving anything.
  if (count > 0 && WithoutOnes(shape) == WithoutOnes(tensor.tensor.Shape())) {
    Value v = tensor;
    v.tensor.dims.clear();
    std::vector<TensorDim> kept = MovingDims(&v.tensor, tensor.tensor);
    size_t next = 0;
    for (int64_t d : shape)
      v.tensor.dims.push_back(d == 1 ? UnitDim() : kept[next++]);
    return v;
  }
  Value source = tensor;
  if (!IsWhole(source.tensor)) {
    if (as_named && count > 0)
      if (std::optional<Value> view = ReshapePart(range, tensor, shape))
        return view;
    source = Materialize(range, source);
    if (source.IsInvalid())
      return std::nullopt;
    if (as_named && count > 0 && !tensor.tensor.fresh && SharesMemory(tensor.tensor, shape))
      DetachPart(range, tensor, source);
  }
  if (count == 0)
    return NewTensor(range, tensor.dtype, shape);
  auto type = mlir::cast<mlir::MemRefType>(source.tensor.root.getType());
  auto target = mlir::MemRefType::get(shape, type.getElementType());
  mlir::Location loc = Loc(range);
  // Views of memory that is made at an allocation point must stand where the memory is known.
  mlir::Value root = source.tensor.root;
  auto reassociation = mlir::getReassociationIndicesForReshape(type, target);
  if (reassociation && type.getRank() > target.getRank()) {
    root = b_.create<memref::CollapseShapeOp>(loc, target, root, *reassociation);
  } else if (reassociation && type.getRank() < target.getRank()) {
    root = b_.create<memref::ExpandShapeOp>(loc, target, root, *reassociation);
  } else {
    mlir::ReassociationIndices all;
    for (int64_t i = 0; i < type.getRank(); ++i)
      all.push_back(i);
    if (type.getRank() > 1)
      root = b_.create<memref::CollapseShapeOp>(
          loc, mlir::MemRefType::get({count}, type.getElementType()), root,
          llvm::ArrayRef<mlir::ReassociationIndices>{all});
    mlir::ReassociationIndices out;
    for (int64_t i = 0; i < target.getRank(); ++i)
      out.push_back(i);
    if (target.getRank() > 1)
      root = b_.create<memref::ExpandShapeOp>(loc, target, root,
                                              llvm::ArrayRef<mlir::ReassociationIndices>{out});
  }
  Value v = WholeTensor(tensor.dtype, root);
  v.tensor.storage = source.tensor.storage;
  v.tensor.wide = source.tensor.wide;
  v.tensor.fresh = source.tensor.fresh;
  return v;
}

std::optional<Value> Emitter::ReshapePart(const SourceRange &range, const Value &tensor,
                                          const std::vector<int64_t> &shape) {
  llvm::ArrayRef<int64_t> root = RootShape(tensor.tensor);
  Value v = tensor;
  v.tensor.dims.clear();
  const std::vector<TensorDim> dims = MovingDims(&v.tensor, tensor.tensor);
  const std::vector<int64_t> wanted = WithoutOnes(shape);
  const std::vector<AxisGroup> groups = GroupAxes(dims, wanted);

  // Axes [first, last] of the memref that are joined and split again into `parts`.
  struct Run {
    size_t first, last;
    std::vector<int64_t> parts;
    int64_t inner, row; // elements of an element of axis `first`, and of one of the first part
    size_t group;
  };
  std::vector<Run> runs;
  for (size_t n = 0; n < groups.size(); ++n) {
    const AxisGroup &g = groups[n];
    if (g.from_end - g.from == 1 && g.to_end - g.to == 1)
      continue;
    const TensorDim &head = dims[g.from];
    if (head.root < 0 || head.step != 1)
      return std::nullopt;
    Run run{static_cast<size_t>(head.root), static_cast<size_t>(head.root), {}, 1, 1, n};
    for (size_t i = g.from + 1; i < g.from_end; ++i) {
      const TensorDim &d = dims[i];
      auto axis = static_cast<size_t>(d.root);
      if (d.root <= static_cast<int>(run.last) || d.step != 1 || KnownIndex(d.offset) != 0 ||
          d.size != root[axis])
        return std::nullopt;
      for (size_t between = run.last + 1; between < axis; ++between)
        if (root[between] != 1)
          return std::nullopt;
      run.last = axis;
      run.inner *= d.size;
    }
    for (size_t k = g.to + 1; k < g.to_end; ++k)
      run.row *= wanted[k];
    const int64_t total = root[run.first] * run.inner;
    const std::optional<int64_t> start = KnownIndex(head.offset);
    if (total % run.row != 0 || (start ? *start * run.inner % run.row : run.inner % run.row) != 0)
      return std::nullopt;
    run.parts.push_back(total / run.row);
    run.parts.insert(run.parts.end(), wanted.begin() + static_cast<std::ptrdiff_t>(g.to) + 1,
                     wanted.begin() + static_cast<std::ptrdiff_t>(g.to_end));
    runs.push_back(run);
  }

  // The memref with its axes joined, and then split.
  std::vector<int64_t> joined, split;
  llvm::SmallVector<mlir::ReassociationIndices> joins, splits;
  std::vector<int> place(root.size(), -1); // of an axis that stays, or of the first of a run
  std::vector<bool> gone(root.size(), false);
  for (size_t axis = 0; axis < root.size();) {
    auto run =
        std::find_if(runs.begin(), runs.end(), [&](const Run &r) { return r.first == axis; });
    const size_t last = run == runs.end() ? axis : run->last;
    place[axis] = static_cast<int>(split.size());
    joins.emplace_back();
    splits.emplace_back();
    int64_t count = 1;
    for (size_t a = axis; a <= last; ++a) {
      joins.back().push_back(static_cast<int64_t>(a));
      count *= root[a];
      gone[a] = a > axis;
    }
    joined.push_back(count);
    for (int64_t part : run == runs.end() ? std::vector<int64_t>{count} : run->parts) {
      splits.back().push_back(static_cast<int64_t>(split.size()));
      split.push_back(part);
    }
    axis = last + 1;
  }
  const mlir::Location loc = Loc(range);
  mlir::Type element = mlir::cast<mlir::MemRefType>(v.tensor.root.getType()).getElementType();
  if (joined.size() != root.size())
    v.tensor.root = b_.create<memref::CollapseShapeOp>(loc, mlir::MemRefType::get(joined, element),
                                                       v.tensor.root, joins);
  if (split.size() != joined.size())
    v.tensor.root = b_.create<memref::ExpandShapeOp>(loc, mlir::MemRefType::get(split, element),
                                                     v.tensor.root, splits);

  std::erase_if(v.tensor.fixed, [&](const auto &f) { return gone[static_cast<size_t>(f.first)]; });
  for (auto &[axis, index] : v.tensor.fixed)
    axis = place[static_cast<size_t>(axis)];
  std::vector<TensorDim> made;
  for (size_t n = 0; n < groups.size(); ++n) {
    TensorDim d = dims[groups[n].from];
    if (d.root >= 0)
      d.root = place[static_cast<size_t>(d.root)];
    auto run = std::find_if(runs.begin(), runs.end(), [&](const Run &r) { return r.group == n; });
    if (run == runs.end()) {
      made.push_back(d);
      continue;
    }
    const std::optional<int64_t> start = KnownIndex(d.offset);
    d.offset =
        start ? ToIndex(Value::IntConstant(*start * run->inner / run->row, DType::Int64, false))
              : ScaleIndex(d.offset, run->inner / run->row);
    d.size = wanted[groups[n].to];
    made.push_back(d);
    for (size_t k = 1; k < run->parts.size(); ++k) {
      TensorDim rest;
      rest.size = run->parts[k];
      rest.root = d.root + static_cast<int>(k);
      rest.offset = ToIndex(Value::IntConstant(0, DType::Int64, false));
      made.push_back(rest);
    }
  }
  size_t next = 0;
  for (int64_t size : shape)
    v.tensor.dims.push_back(size == 1 ? UnitDim() : made[next++]);
  return v;
}

void Emitter::DetachPart(const SourceRange &range, const Value &part, const Value &copy) {
  mlir::Value memory = HolderOf(copy.tensor.root);
  memory.getDefiningOp()->setAttr(kDetached, b_.getUnitAttr());
  detached_[memory.getAsOpaquePointer()] = {part.tensor.storage, range};
}

void Emitter::CheckDetachedParts() {
  if (detached_.empty())
    return;
  // Whatever writes, in the order of the text.
  std::vector<mlir::Value> written;
  std::map<const void *, size_t> copied_at; // the first write of a copy, which makes it
  std::vector<mlir::Value> copies;
  function_.getBody().walk([&](mlir::Operation *op) {
    if (op->hasAttr(kDetached))
      copies.push_back(op->getResult(0));
  });
  ForEachWrite(function_, [&](mlir::Value holder) {
    copied_at.try_emplace(holder.getAsOpaquePointer(), written.size());
    written.push_back(holder);
  });
  for (mlir::Value copy : copies) {
    copy.getDefiningOp()->removeAttr(kDetached);
    auto made = copied_at.find(copy.getAsOpaquePointer());
    if (made == copied_at.end())
      continue;
    const auto &[storage, range] = detached_.at(copy.getAsOpaquePointer());
    mlir::Value source = HolderOf(storage);
    for (size_t n = made->second + 1; n < written.size(); ++n)
      if (written[n] == copy || written[n] == source) {
        Error("unsupported-view", range,
              "in NumPy this is a view of part of the tensor, and one of the two is written later; "
              "no view can be made here of a part that is strided or starts within a row of its "
              "new shape: reshape the whole tensor and take the part then, or reshape a copy");
        break;
      }
  }
}

} // namespace pyasc::sema
