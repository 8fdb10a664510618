// Matrix products.
#include "compiler/sema/library_linalg.h"

namespace pyasc::sema {

// Iteration: batch axes, m, n, k.
void AddProduct(Emitter &e, const SourceRange &range, const Value &x, const Value &y,
                const Value &sum) {
  std::vector<int64_t> extents = sum.tensor.Shape();
  size_t lead = extents.size() - 2;
  auto b = static_cast<int>(lead);
  extents.push_back(x.tensor.dims.back().size);
  auto axes_of = [&](const Value &v, int first, int second) {
    size_t own = v.tensor.dims.size() - 2;
    std::vector<int> axes;
    for (size_t i = 0; i < own; ++i) {
      size_t at = lead - own + i;
      bool stretched = v.tensor.dims[i].size == 1 && extents[at] != 1;
      axes.push_back(stretched ? -1 : static_cast<int>(at));
    }
    axes.push_back(first);
    axes.push_back(second);
    return axes;
  };
  std::vector<int> out_axes;
  for (int i = 0; i < b + 2; ++i)
    out_axes.push_back(i);
  std::vector<bool> reduction(extents.size(), false);
  reduction.back() = true;
  DType xt = x.dtype, yt = y.dtype, wide = sum.dtype;
  e.Generic(range, extents, {{x, axes_of(x, b, b + 2)}, {y, axes_of(y, b + 2, b + 1)}},
            {sum, out_axes}, reduction, [&](ScalarOps &ops, mlir::ValueRange in, mlir::Value out) {
              mlir::Value p = ops.Binary(BinaryOp::Mul, ops.Cast(in[0], xt, wide),
                                         ops.Cast(in[1], yt, wide), wide);
              return ops.Binary(BinaryOp::Add, out, p, wide);
            });
}

std::optional<DType> ProductType(Emitter &e, const SourceRange &range, Value &x, Value &y) {
  if (e.mixed() && x.dtype != y.dtype && IsFloat(x.dtype) && IsFloat(y.dtype) &&
      (Is16BitFloat(x.dtype) || Is16BitFloat(y.dtype))) {
    // The wider operand is rounded to the other's type; the sums stay float32.
    DType t = Is16BitFloat(x.dtype) ? x.dtype : y.dtype;
    Value &wider = x.dtype == t ? y : x;
    wider = e.Cast(range, wider, t);
    return t;
  }
  auto t = e.CommonType(range, x, y);
  if (t == DType::Bool) {
    e.Error("type-mismatch", range, "a product of bool tensors; cast one to an integer type");
    return std::nullopt;
  }
  return t;
}

namespace {

// x[..., m, k] @ y[..., k, n] as NumPy: batch axes broadcast, one-dimensional operands count as a
// row or a column.
Value EmitMatmul(Emitter &e, const BoundCall &call) {
  Value x = call.args[0], y = call.args[1];
  SourceRange range = call.range;
  if (!e.ExpectTensor(call.where[0], x, "an operand of a matrix product") ||
      !e.ExpectTensor(call.where[1], y, "an operand of a matrix product"))
    return Value::Invalid();
  for (size_t i = 2; i < 4 && i < call.args.size(); ++i) {
    auto flip = e.ConstantBool(call.where[i], call.args[i], "a transpose flag");
    if (!flip)
      return Value::Invalid();
    Value &v = i == 2 ? x : y;
    size_t rank = v.tensor.dims.size();
    if (*flip && rank >= 2) {
      std::vector<int> order(rank);
      for (size_t k = 0; k < rank; ++k)
        order[k] = static_cast<int>(k);
      std::swap(order[rank - 1], order[rank - 2]);
      v = e.TransposeView(v, order);
    }
  }
  if (x.tensor.dims.empty() || y.tensor.dims.empty())
    return e.Error("rank-mismatch", range, "a matrix product needs operands with axes");
  bool row = x.tensor.dims.size() == 1, column = y.tensor.dims.size() == 1;
  if (row)
    x = e.ExpandView(x, 0);
  if (column)
    y = e.ExpandView(y, 1);
  std::vector<int64_t> xs = x.tensor.Shape(), ys = y.tensor.Shape();
  int64_t m = xs[xs.size() - 2], k = xs.back(), k2 = ys[ys.size() - 2], n = ys.back();
  if (k != k2)
    return e.Error("shape-mismatch", range,
                   "cannot multiply matrices of shapes " + ShapeText(call.args[0].tensor.Shape()) +
                       " and " + ShapeText(call.args[1].tensor.Shape()) + ": the inner sizes " +
                       std::to_string(k) + " and " + std::to_string(k2) + " differ");
  std::vector<int64_t> batch;
  size_t xb = xs.size() - 2, yb = ys.size() - 2, lead = std::max(xb, yb);
  for (size_t i = 0; i < lead; ++i) {
    int64_t a = i + xb < lead ? 1 : xs[i + xb - lead], b = i + yb < lead ? 1 : ys[i + yb - lead];
    if (a != b && a != 1 && b != 1)
      return e.Error("shape-mismatch", range,
                     "the batch axes of " + ShapeText(xs) + " and " + ShapeText(ys) +
                         " cannot be broadcast together");
    batch.push_back(a == 1 ? b : a);
  }
  auto common = ProductType(e, range, x, y);
  if (!common)
    return Value::Invalid();
  DType t = *common;
  DType wide = Is16BitFloat(t) ? DType::Float32 : t;
  std::vector<int64_t> out_shape = batch;
  for (int64_t d : {m, n})
    out_shape.push_back(d);
  Value sum = e.NewTensor(range, wide, out_shape);
  if (sum.IsInvalid())
    return sum;
  e.Fill(range, sum, {});
  AddProduct(e, range, x, y, sum);
  Value result = wide == t ? sum : e.Cast(range, sum, t);
  if (!row && !column)
    return result;
  std::vector<int64_t> shape = batch;
  if (!row)
    shape.push_back(m);
  if (!column)
    shape.push_back(n);
  auto reshaped = e.Reshape(range, result, shape);
  if (!reshaped)
    return Value::Invalid();
  if (!reshaped->tensor.dims.empty())
    return *reshaped;
  return e.LoadElement(range, *reshaped);
}

Value EmitOuter(Emitter &e, const BoundCall &call) {
  Value x = call.args[0], y = call.args[1];
  for (size_t i = 0; i < 2; ++i)
    if (!e.ExpectTensor(call.where[i], call.args[i], "an operand of outer") ||
        call.args[i].tensor.dims.size() != 1)
      return e.Error("rank-mismatch", call.where[i], "outer needs tensors with one axis");
  return e.Binary(call.range, BinaryOp::Mul, e.ExpandView(x, 1), e.ExpandView(y, 0));
}

constexpr uint8_t kArrays = kAsc | kNumpy;

// clang-format off
const LibraryEntry kTable[] = {
    {"matmul", kArrays, "x, y, transpose_x=False, transpose_y=False", DTypes::Numeric, ShapeRule::Own, "matrix product; batch axes broadcast, 16-bit floats summed in float32", "matmul(x, y, transpose_x, transpose_y)", Lowering::Cube, EmitMatmul},
    {"dot", kArrays | kMethod, "x, y", DTypes::Numeric, ShapeRule::Own, "matrix product", "np.matmul(x, y)", Lowering::Cube, EmitMatmul},
    {"batch_matmul", kAsc, "x, y, transpose_x=False, transpose_y=False", DTypes::Numeric, ShapeRule::Own, "matrix product of each pair", "matmul(x, y, transpose_x, transpose_y)", Lowering::Cube, EmitMatmul},
    {"bmm", kAsc, "x, y", DTypes::Numeric, ShapeRule::Own, "matrix product of each pair", "np.matmul(x, y)", Lowering::Cube, EmitMatmul},
    {"outer", kArrays, "x, y", DTypes::Numeric, ShapeRule::Own, "products of all pairs", "np.multiply.outer(x, y)", Lowering::Vector, EmitOuter},
};
// clang-format on

} // namespace

std::span<const LibraryEntry> LinearAlgebraTable() { return kTable; }

} // namespace pyasc::sema
