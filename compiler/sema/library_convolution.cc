// Convolution and pooling of images: tensors with the axes (N, C, H, W).
//
// A convolution of floats that steps by one is one operation with windows, over the image with a
// border of zeros: the cube unit takes it as a product. Others gather what each output sees into
// columns first, one copy for each place of the filter, and are one matrix product then. Pooling
// combines the places of the window with whole-tensor operations, along W and then along H. Windows
// with very many places become loops instead, so that the code stays small.
#include <algorithm>
#include <array>
#include <limits>

#include "compiler/sema/library_linalg.h"
#include "compiler/sema/library_reductions.h"

namespace pyasc::sema {

namespace {

using Pair = std::array<int64_t, 2>;

constexpr int64_t kMaxPlaces = 64; // of a window, written out one by one

// A number, or one for H and one for W.
std::optional<Pair> PairArgument(Emitter &e, const SourceRange &range, const Value &v,
                                 const std::string &what, int64_t least) {
  std::vector<Value> items = v.IsTuple() ? *v.items : std::vector<Value>{v, v};
  if (items.size() != 2) {
    e.Error("shape-mismatch", range, what + " is a number or a pair");
    return std::nullopt;
  }
  Pair pair;
  for (size_t i = 0; i < 2; ++i) {
    auto n = e.ConstantInt(range, items[i], what);
    if (!n)
      return std::nullopt;
    if (*n < least || *n > std::numeric_limits<int32_t>::max()) {
      e.Error("shape-mismatch", range,
              what + " must be at least " + std::to_string(least) + ", and is " +
                  std::to_string(*n));
      return std::nullopt;
    }
    pair[i] = *n;
  }
  return pair;
}

bool ExpectImage(Emitter &e, const SourceRange &range, const Value &v, const std::string &what,
                 const char *axes) {
  if (!e.ExpectTensor(range, v, what))
    return false;
  if (v.tensor.dims.size() == 4)
    return true;
  e.Error("rank-mismatch", range,
          what + " needs the axes " + axes + ", and has the shape " + ShapeText(v.tensor.Shape()));
  return false;
}

struct Window {
  Pair size, stride, padding, dilation = {1, 1};
  Pair in, out; // H and W of input and output
};

bool FindExtents(Emitter &e, const SourceRange &range, const std::string &name, const Value &x,
                 Window &w) {
  for (size_t i = 0; i < 2; ++i) {
    w.in[i] = x.tensor.dims[2 + i].size;
    int64_t reach = (w.size[i] - 1) * w.dilation[i] + 1;
    if (w.size[i] == 0 || w.in[i] + 2 * w.padding[i] < reach) {
      e.Error("shape-mismatch", range,
              "the window " + ShapeText({w.size[0], w.size[1]}) + " of " + name +
                  " does not fit into " + ShapeText({w.in[0], x.tensor.dims[3].size}) +
                  " with padding " + ShapeText({w.padding[0], w.padding[1]}));
      return false;
    }
    w.out[i] = (w.in[i] + 2 * w.padding[i] - reach) / w.stride[i] + 1;
  }
  return true;
}

// The outputs along axis `i` that see an element, not padding, at place `at` of their window: a run
// of `count` from `first`, whose elements begin at `source` and lie `stride` apart.
struct Run {
  int64_t first = 0, count = 0, source = 0;
};

Run FindRun(const Window &w, size_t i, int64_t at) {
  auto ceil_div = [](int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); };
  int64_t shift = w.padding[i] - at * w.dilation[i]; // element = output * stride - shift
  int64_t last = w.in[i] - 1 + shift;
  if (last < 0)
    return {};
  Run run;
  run.first = std::max<int64_t>(0, ceil_div(shift, w.stride[i]));
  run.count = std::max<int64_t>(0, std::min(w.out[i] - 1, last / w.stride[i]) - run.first + 1);
  run.source = run.first * w.stride[i] - shift;
  return run;
}

Value Slice(Emitter &e, const Value &tensor, size_t axis, int64_t first, int64_t count,
            int64_t step = 1) {
  Value v = tensor;
  v.tensor.fresh = false;
  TensorDim &d = v.tensor.dims[axis];
  d.size = count;
  if (d.root >= 0) {
    d.offset =
        e.AddIndex(d.offset, e.ToIndex(Value::IntConstant(first * d.step, DType::Int64, false)));
    d.step *= step;
  }
  return v;
}

Value Fixed(Emitter &e, const SourceRange &range, const Value &tensor, int64_t i, int64_t j) {
  Value all = Value::OfKind(Value::Kind::Slice);
  all.items = std::make_shared<std::vector<Value>>(3, Value::NoneValue());
  return e.View(range, tensor,
                Value::TupleOf({all, all, Value::WeakInt(i), Value::WeakInt(j), all, all}));
}

// x with `fill` around, where there is padding.
Value Padded(Emitter &e, const SourceRange &range, const Value &x, const Window &w,
             const Constant &fill) {
  if (w.padding == Pair{0, 0})
    return x;
  std::vector<int64_t> shape = x.tensor.Shape();
  for (size_t i = 0; i < 2; ++i)
    shape[2 + i] += 2 * w.padding[i];
  Value out = e.NewTensor(range, x.dtype, shape);
  if (out.IsInvalid())
    return out;
  e.Fill(range, out, fill);
  Value inside = out;
  for (size_t i = 0; i < 2; ++i)
    inside = Slice(e, inside, 2 + i, w.padding[i], w.in[i]);
  e.CopyInto(range, inside, x);
  return out;
}

// The element that output (h, w) sees at place (i, j).
Value Seen(Emitter &e, const SourceRange &range, const Value &padded, const Window &w,
           const std::vector<Value> &nc, const std::vector<Value> &out,
           const std::vector<Value> &place) {
  std::vector<Value> key = nc;
  for (size_t i = 0; i < 2; ++i) {
    Value at = e.Binary(range, BinaryOp::Mul, out[i], Value::WeakInt(w.stride[i]));
    Value tap = e.Binary(range, BinaryOp::Mul, place[i], Value::WeakInt(w.dilation[i]));
    key.push_back(e.Binary(range, BinaryOp::Add, at, tap));
  }
  return e.Subscript(range, padded, Value::TupleOf(key));
}

// columns[n, c, i, j, h, w]: what output (h, w) sees at place (i, j) of the filter.
Value Columns(Emitter &e, const SourceRange &range, const Value &x, const Window &w) {
  int64_t n = x.tensor.dims[0].size, c = x.tensor.dims[1].size;
  std::vector<int64_t> shape = {n, c, w.size[0], w.size[1], w.out[0], w.out[1]};
  Value columns = e.NewTensor(range, x.dtype, shape);
  if (columns.IsInvalid())
    return columns;
  if (w.size[0] * w.size[1] > kMaxPlaces) {
    Value padded = Padded(e, range, x, w, {});
    if (padded.IsInvalid())
      return padded;
    e.LoopNest(range, shape, [&](const std::vector<Value> &at) {
      Value seen = Seen(e, range, padded, w, {at[0], at[1]}, {at[4], at[5]}, {at[2], at[3]});
      e.StoreElement(range, e.View(range, columns, Value::TupleOf(at)), seen);
    });
    return columns;
  }
  if (w.padding != Pair{0, 0})
    e.Fill(range, columns, {});
  for (int64_t i = 0; i < w.size[0]; ++i)
    for (int64_t j = 0; j < w.size[1]; ++j) {
      Run h = FindRun(w, 0, i), v = FindRun(w, 1, j);
      if (h.count == 0 || v.count == 0)
        continue;
      Value from = Slice(e, x, 2, h.source, h.count, w.stride[0]);
      from = Slice(e, from, 3, v.source, v.count, w.stride[1]);
      Value to = Fixed(e, range, columns, i, j);
      to = Slice(e, to, 2, h.first, h.count);
      to = Slice(e, to, 3, v.first, v.count);
      e.CopyInto(range, to, from);
    }
  return columns;
}

// sum += weight * the image's windows. Stride 1; `sum` has the axes (n, [group,] filter, h, w).
bool AddWindows(Emitter &e, const SourceRange &range, const Value &x, const Value &weight,
                const Window &w, int64_t groups, const Value &sum) {
  std::vector<int64_t> xs = x.tensor.Shape(), ws = weight.tensor.Shape();
  // Of each channel the rows, one behind the other. What pads a row on its right pads the next one
  // on its left; the last one has half a row more.
  const bool padded = w.padding != Pair{0, 0};
  const int64_t rows = xs[2] + 2 * w.padding[0] + (w.padding[1] > 0 ? 1 : 0);
  const int64_t pitch = xs[3] + w.padding[1];
  Value image = x;
  if (padded) {
    image = e.NewTensor(range, x.dtype, {xs[0], xs[1], rows, pitch});
    if (image.IsInvalid())
      return false;
    e.Fill(range, image, {});
    Value inside = image;
    for (size_t i = 0; i < 2; ++i)
      inside = Slice(e, inside, 2 + i, w.padding[i], w.in[i]);
    e.CopyInto(range, inside, x);
  }
  std::vector<int64_t> image_shape = {xs[0]}, weight_shape;
  if (groups > 1) {
    image_shape.push_back(groups);
    weight_shape.push_back(groups);
  }
  image_shape.push_back(ws[1]);
  weight_shape.insert(weight_shape.end(), {ws[0] / groups, ws[1], ws[2], ws[3]});
  if (padded)
    image_shape.push_back(rows * pitch);
  else
    image_shape.insert(image_shape.end(), {xs[2], xs[3]});
  auto seen = e.Reshape(range, image, image_shape), taps = e.Reshape(range, weight, weight_shape);
  if (!seen || !taps)
    return false;

  std::vector<int64_t> extents = sum.tensor.Shape();
  const int lead = groups > 1 ? 2 : 1; // n and group, before filter, h, w, channel and place
  const int filter = lead, h = lead + 1, v = lead + 2, channel = lead + 3, i = lead + 4,
            j = lead + 5;
  extents.insert(extents.end(), {ws[1], ws[2], ws[3]});
  std::vector<bool> reduction(extents.size(), false);
  std::fill(reduction.end() - 3, reduction.end(), true);
  Emitter::GenericOperand left{*taps, {filter, channel, i, j}}, right{*seen, {0}}, out{sum, {0}};
  if (groups > 1) {
    left.axes.insert(left.axes.begin(), 1);
    right.axes.push_back(1);
    out.axes.push_back(1);
  }
  out.axes.insert(out.axes.end(), {filter, h, v});
  right.axes.push_back(channel);
  const auto place = right.axes.size();
  if (padded) {
    right.axes.push_back(v);
    right.window = {
        {place, h, pitch}, {place, i, w.dilation[0] * pitch}, {place, j, w.dilation[1]}};
  } else {
    right.axes.insert(right.axes.end(), {h, v});
    right.window = {{place, i, w.dilation[0]}, {place + 1, j, w.dilation[1]}};
  }
  const DType xt = x.dtype, wt = weight.dtype, wide = sum.dtype;
  e.Generic(range, extents, {left, right}, out, reduction,
            [&](ScalarOps &ops, mlir::ValueRange in, mlir::Value old) {
              mlir::Value product = ops.Binary(BinaryOp::Mul, ops.Cast(in[0], wt, wide),
                                               ops.Cast(in[1], xt, wide), wide);
              return ops.Binary(BinaryOp::Add, old, product, wide);
            });
  return true;
}

// The convolution of floats with stride 1; the bias is added to the sums.
Value WindowConv2d(Emitter &e, const SourceRange &range, const Value &x, const Value &weight,
                   const Value &bias, const Window &w, int64_t groups, DType t) {
  const int64_t filters = weight.tensor.dims[0].size;
  std::vector<int64_t> shape = {x.tensor.dims[0].size, filters, w.out[0], w.out[1]};
  std::vector<int64_t> grouped = shape;
  if (groups > 1)
    grouped = {shape[0], groups, filters / groups, shape[2], shape[3]};
  const DType wide = Is16BitFloat(t) ? DType::Float32 : t;
  Value out = e.NewTensor(range, t, shape);
  const bool apart = wide != t || !bias.IsNone();
  Value sum = apart ? e.NewTensor(range, wide, shape) : out;
  if (out.IsInvalid() || sum.IsInvalid())
    return Value::Invalid();
  e.Fill(range, sum, {});
  auto parts = e.Reshape(range, sum, grouped);
  if (!parts || !AddWindows(e, range, x, weight, w, groups, *parts))
    return Value::Invalid();
  if (!bias.IsNone()) {
    const DType bt = bias.dtype;
    const std::vector<int> all = {0, 1, 2, 3};
    e.Generic(range, shape, {{sum, all}, {bias, {1}}}, {out, all}, std::vector<bool>(4, false),
              [&](ScalarOps &ops, mlir::ValueRange in, mlir::Value) {
                return ops.Cast(ops.Binary(BinaryOp::Add, in[0], ops.Cast(in[1], bt, wide), wide),
                                wide, t);
              });
  } else if (apart) {
    e.CopyInto(range, out, sum);
  }
  return out;
}

Value EmitConv2d(Emitter &e, const BoundCall &call) {
  Value x = call.args[0], weight = call.args[1], bias = call.args[2];
  const SourceRange &range = call.range;
  if (!ExpectImage(e, call.where[0], x, "the input of conv2d", "(N, C, H, W)") ||
      !ExpectImage(e, call.where[1], weight, "the weight of conv2d",
                   "(filters, channels, height, width)"))
    return Value::Invalid();
  auto stride = PairArgument(e, call.where[3], call.args[3], "the stride", 1);
  auto padding = PairArgument(e, call.where[4], call.args[4], "the padding", 0);
  auto dilation = PairArgument(e, call.where[5], call.args[5], "the dilation", 1);
  auto groups = e.ConstantInt(call.where[6], call.args[6], "groups");
  if (!stride || !padding || !dilation || !groups)
    return Value::Invalid();
  std::vector<int64_t> xs = x.tensor.Shape(), ws = weight.tensor.Shape();
  int64_t n = xs[0], c = xs[1], filters = ws[0], g = *groups;
  if (g < 1 || c % g || filters % g)
    return e.Error("shape-mismatch", call.where[6],
                   std::to_string(g) + " groups do not divide " + std::to_string(c) +
                       " channels and " + std::to_string(filters) + " filters");
  if (ws[1] != c / g)
    return e.Error("shape-mismatch", range,
                   "the input has " + std::to_string(c) + " channels" +
                       (g > 1 ? " in " + std::to_string(g) + " groups" : "") +
                       ", and a filter takes " + std::to_string(ws[1]));
  Window w{{ws[2], ws[3]}, *stride, *padding, *dilation, {}, {}};
  if (!FindExtents(e, range, "conv2d", x, w))
    return Value::Invalid();
  auto t = ProductType(e, range, x, weight);
  if (!t)
    return Value::Invalid();
  bool biased = !bias.IsNone();
  if (biased) {
    if (!e.ExpectTensor(call.where[2], bias, "the bias of conv2d"))
      return Value::Invalid();
    if (bias.tensor.Shape() != std::vector<int64_t>{filters})
      return e.Error("shape-mismatch", call.where[2],
                     "the bias has the shape " + ShapeText(bias.tensor.Shape()) +
                         ", and there are " + std::to_string(filters) + " filters");
    t = e.CommonType(range, Value::Scalar(*t, nullptr), bias);
    if (!t)
      return Value::Invalid();
  }
  DType wide = Is16BitFloat(*t) ? DType::Float32 : *t;
  // A filter of one element that goes everywhere sees the input as it is.
  bool plain = w.size == Pair{1, 1} && w.stride == Pair{1, 1} && w.padding == Pair{0, 0};
  if (!plain && w.stride == Pair{1, 1} && IsFloat(*t))
    return WindowConv2d(e, range, x, weight, bias, w, g, *t);
  Value columns = plain ? x : Columns(e, range, x, w);
  if (columns.IsInvalid())
    return columns;
  int64_t depth = ws[1] * ws[2] * ws[3], places = w.out[0] * w.out[1];
  std::vector<int64_t> sum_shape = {n, filters, places}, column_shape = {n, depth, places},
                       weight_shape = {filters, depth};
  if (g > 1) {
    sum_shape = {n, g, filters / g, places};
    column_shape = {n, g, depth, places};
    weight_shape = {g, filters / g, depth};
  }
  // The result in its own shape; sums are made in it where nothing is rounded.
  Value out = e.NewTensor(range, *t, {n, filters, w.out[0], w.out[1]});
  auto right = e.Reshape(range, columns, column_shape);
  auto left = e.Reshape(range, weight, weight_shape);
  auto flat = out.IsInvalid() ? std::nullopt : e.Reshape(range, out, sum_shape);
  Value sum = wide == *t ? flat.value_or(Value::Invalid()) : e.NewTensor(range, wide, sum_shape);
  if (!right || !left || !flat || sum.IsInvalid())
    return Value::Invalid();
  if (biased) {
    auto shaped = g > 1 ? e.Reshape(range, bias, {g, filters / g}) : bias;
    if (!shaped)
      return Value::Invalid();
    e.CopyInto(range, sum, e.ExpandView(*shaped, g > 1 ? 2 : 1));
  } else {
    e.Fill(range, sum, {});
  }
  AddProduct(e, range, *left, *right, sum);
  if (wide != *t)
    e.CopyInto(range, *flat, sum);
  return out;
}

// combine over the window, in `wide`; padding does not take part.
Value Pool(Emitter &e, const SourceRange &range, const Value &x, const Window &w, DType wide,
           BinaryOp combine, const Constant &init) {
  int64_t n = x.tensor.dims[0].size, c = x.tensor.dims[1].size;
  DType from = x.dtype;
  auto as_wide = [&](ScalarOps &ops, mlir::ValueRange in) { return ops.Cast(in[0], from, wide); };
  if (w.size == w.stride && w.padding == Pair{0, 0}) {
    // Windows side by side: a reduction over the inner parts of the axes.
    Value used = x;
    for (size_t i = 0; i < 2; ++i)
      used = Slice(e, used, 2 + i, 0, w.out[i] * w.size[i]);
    auto split = e.Reshape(range, used, {n, c, w.out[0], w.size[0], w.out[1], w.size[1]});
    if (!split)
      return Value::Invalid();
    return Reduce(e, range, {*split}, {false, false, false, true, false, true}, wide, wide, init,
                  combine, as_wide);
  }
  if (w.size[0] + w.size[1] > kMaxPlaces) {
    Value padded = Padded(e, range, x, w, init);
    Value out = e.NewTensor(range, wide, {n, c, w.out[0], w.out[1]});
    if (padded.IsInvalid() || out.IsInvalid())
      return Value::Invalid();
    e.Fill(range, out, init);
    e.LoopNest(range, out.tensor.Shape(), [&](const std::vector<Value> &at) {
      Value place = e.View(range, out, Value::TupleOf(at));
      e.LoopNest(range, {w.size[0], w.size[1]}, [&](const std::vector<Value> &tap) {
        Value seen = Seen(e, range, padded, w, {at[0], at[1]}, {at[2], at[3]}, tap);
        e.StoreElement(
            range, place,
            e.Binary(range, combine, e.LoadElement(range, place), e.Cast(range, seen, wide)));
      });
    });
    return out;
  }
  Value v = x;
  for (size_t i = 2; i-- > 0;) {
    std::vector<int64_t> shape = v.tensor.Shape();
    shape[2 + i] = w.out[i];
    Value out = e.NewTensor(range, wide, shape);
    if (out.IsInvalid())
      return out;
    e.Fill(range, out, init);
    DType have = v.dtype;
    for (int64_t at = 0; at < w.size[i]; ++at) {
      Run run = FindRun(w, i, at);
      if (run.count == 0)
        continue;
      Value to = Slice(e, out, 2 + i, run.first, run.count);
      Value seen = Slice(e, v, 2 + i, run.source, run.count, w.stride[i]);
      std::vector<int> axes = {0, 1, 2, 3};
      e.Generic(
          range, to.tensor.Shape(), {{seen, axes}}, {to, axes}, std::vector<bool>(4, false),
          [&](ScalarOps &ops, mlir::ValueRange in, mlir::Value old) {
            return ops.Binary(combine, old, ops.Cast(in[0], have, wide), wide);
          },
          /*accumulates=*/true);
    }
    v = out;
  }
  return v;
}

enum Kind { kMaxPool, kAvgPool };

Value EmitPool(Emitter &e, const BoundCall &call) {
  std::string name(call.entry->name);
  const Value &x = call.args[0];
  const SourceRange &range = call.range;
  bool max = call.entry->tag == kMaxPool;
  if (!ExpectImage(e, call.where[0], x, "the argument of " + name, "(N, C, H, W)"))
    return Value::Invalid();
  auto size = PairArgument(e, call.where[1], call.args[1], "the window", 1);
  if (!size)
    return Value::Invalid();
  auto stride =
      call.args[2].IsNone() ? size : PairArgument(e, call.where[2], call.args[2], "the stride", 1);
  auto padding = PairArgument(e, call.where[3], call.args[3], "the padding", 0);
  if (!stride || !padding)
    return Value::Invalid();
  for (size_t i = 0; i < 2; ++i)
    if (2 * (*padding)[i] > (*size)[i])
      return e.Error("shape-mismatch", call.where[3],
                     "the padding is at most half of the window, so that no window lies outside");
  Window w{*size, *stride, *padding, {1, 1}, {}, {}};
  if (!FindExtents(e, range, name, x, w))
    return Value::Invalid();
  DType t = max || IsFloat(x.dtype) ? x.dtype : DType::Float32;
  DType wide = Is16BitFloat(t) ? DType::Float32 : t;
  if (max) {
    // Narrow floats are compared in float32, which holds them all.
    Constant least;
    least.f = -std::numeric_limits<double>::infinity();
    if (!IsFloat(t))
      least.i = MinInt(t);
    Value greatest = Pool(e, range, x, w, wide, BinaryOp::Max, least);
    return wide == t || greatest.IsInvalid() ? greatest : e.Cast(range, greatest, t);
  }
  Value sum = Pool(e, range, x, w, wide, BinaryOp::Add, {});
  if (sum.IsInvalid())
    return sum;
  auto count = static_cast<double>(w.size[0] * w.size[1]);
  return e.ElementwiseTyped(range, {sum}, {wide}, t, [=](ScalarOps &ops, mlir::ValueRange v) {
    return ops.Cast(ops.Binary(BinaryOp::TrueDiv, v[0], ops.Float(wide, count), wide), wide, t);
  });
}

// clang-format off
const LibraryEntry kTable[] = {
    {"conv2d", kAsc, "x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1", DTypes::Numeric, ShapeRule::Own, "correlation of images (N, C, H, W) with filters (F, C / groups, height, width); zeros around; 16-bit floats summed in float32", "conv2d(x, weight, bias, stride, padding, dilation, groups)", Lowering::Cube, EmitConv2d},
    {"max_pool2d", kAsc, "x, size, stride=None, padding=0", DTypes::Any, ShapeRule::Own, "greatest of each window, NaN if there is one; the windows lie side by side unless a stride is said; padding does not take part", "max_pool2d(x, size, stride, padding)", Lowering::Vector, EmitPool, nullptr, nullptr, kMaxPool},
    {"avg_pool2d", kAsc, "x, size, stride=None, padding=0", DTypes::Float, ShapeRule::Own, "mean of each window; padding counts as zeros", "avg_pool2d(x, size, stride, padding)", Lowering::Vector, EmitPool, nullptr, nullptr, kAvgPool},
};
// clang-format on

} // namespace

std::span<const LibraryEntry> ConvolutionTable() { return kTable; }

} // namespace pyasc::sema
