// Sorting: a merge sort of each row, bottom up and stable, on the scalar unit.
#include "compiler/sema/emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace pyasc::sema {

namespace arith = mlir::arith;
namespace memref = mlir::memref;

namespace {

struct Sorted {
  Value values, positions; // positions only when they were asked for
};

// Whether `b` comes before an equal-ranked or greater `a`: strictly, so that equals keep their
// order. NaN counts as the greatest number.
mlir::Value ComesBefore(ScalarOps &ops, mlir::Value b, mlir::Value a, DType t, bool descending) {
  mlir::Value less = ops.Compare(descending ? CompareOp::Gt : CompareOp::Lt, b, a, t);
  if (!IsFloat(t))
    return less;
  mlir::Value nan_a = ops.IsNan(a), nan_b = ops.IsNan(b);
  return descending ? ops.Or(less, ops.And(nan_b, ops.Not(nan_a)))
                    : ops.Or(less, ops.And(nan_a, ops.Not(nan_b)));
}

std::vector<Value> WithAxis(const std::vector<Value> &at, int axis, const Value &k) {
  std::vector<Value> key = at;
  key.insert(key.begin() + axis, k);
  return key;
}

// One pass of a row: runs of 2^level elements in half `level % 2` of the buffers are merged
// pairwise into the other half. `i` and `j` are the cells of the next element of either run.
void MergePass(Emitter &e, const SourceRange &range, const Sorted &buffers, DType t, int64_t n,
               bool descending, mlir::Value i_cell, mlir::Value j_cell, const Value &level) {
  auto &b = e.builder();
  mlir::Location loc = e.Loc(range);
  auto index = [&](int64_t v) -> mlir::Value { return b.create<arith::ConstantIndexOp>(loc, v); };
  mlir::Value pass = e.IndexSsa(level, loc), one = index(1), count = index(n);
  mlir::Value from = b.create<arith::RemUIOp>(loc, pass, index(2));
  mlir::Value into = b.create<arith::SubIOp>(loc, one, from);
  mlir::Value run = b.create<arith::ShLIOp>(loc, one, pass);
  mlir::Value pair = b.create<arith::AddIOp>(loc, run, run);
  e.LoopNest(range, {n}, [&](const std::vector<Value> &at) {
    ScalarOps ops = e.Ops(range);
    mlir::Value k = e.IndexSsa(at[0], loc);
    mlir::Value inside = b.create<arith::RemUIOp>(loc, k, pair);
    mlir::Value begin = b.create<arith::SubIOp>(loc, k, inside);
    auto end_of = [&](mlir::Value length) -> mlir::Value {
      mlir::Value end = b.create<arith::AddIOp>(loc, begin, length);
      return b.create<arith::MinSIOp>(loc, end, count);
    };
    mlir::Value middle = end_of(run), end = end_of(pair);
    mlir::Value starts = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, inside, index(0));
    auto next = [&](mlir::Value cell, mlir::Value first) -> mlir::Value {
      mlir::Value kept = b.create<memref::LoadOp>(loc, cell);
      kept = b.create<arith::IndexCastOp>(loc, b.getIndexType(), kept);
      return ops.Select(starts, first, kept);
    };
    mlir::Value i = next(i_cell, k), j = next(j_cell, middle);
    auto below = [&](mlir::Value x, mlir::Value bound) -> mlir::Value {
      return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, bound);
    };
    mlir::Value last = index(n - 1);
    auto read = [&](const Value &buffer, mlir::Value position) {
      mlir::Value kept = b.create<arith::MinSIOp>(loc, position, last);
      mlir::Value v =
          b.create<memref::LoadOp>(loc, buffer.tensor.root, mlir::ValueRange{from, kept});
      return ops.FromMemory(v, buffer.dtype);
    };
    mlir::Value left = read(buffers.values, i), right = read(buffers.values, j);
    mlir::Value take_right =
        ops.And(below(j, end),
                ops.Or(ops.Not(below(i, middle)), ComesBefore(ops, right, left, t, descending)));
    auto write = [&](const Value &buffer, mlir::Value l, mlir::Value r) {
      b.create<memref::StoreOp>(loc, ops.ToMemory(ops.Select(take_right, r, l), buffer.dtype),
                                buffer.tensor.root, mlir::ValueRange{into, k});
    };
    write(buffers.values, left, right);
    if (!buffers.positions.IsInvalid())
      write(buffers.positions, read(buffers.positions, i), read(buffers.positions, j));
    auto advance = [&](mlir::Value cell, mlir::Value old, bool right_side) {
      mlir::Value more = b.create<arith::AddIOp>(loc, old, one);
      mlir::Value now =
          right_side ? ops.Select(take_right, more, old) : ops.Select(take_right, old, more);
      b.create<memref::StoreOp>(loc, b.create<arith::IndexCastOp>(loc, b.getI64Type(), now), cell);
    };
    advance(i_cell, i, false);
    advance(j_cell, j, true);
  });
}

Sorted Sort(Emitter &e, const SourceRange &range, const Value &x, int axis, bool descending,
            bool with_positions) {
  std::vector<int64_t> shape = x.tensor.Shape(), rows = shape;
  rows.erase(rows.begin() + axis);
  int64_t n = shape[static_cast<size_t>(axis)];
  DType t = x.dtype;
  Sorted out;
  out.values = e.NewTensor(range, t, shape);
  if (with_positions)
    out.positions = e.NewTensor(range, DType::Int64, shape);
  if (out.values.IsInvalid() || x.tensor.Count() == 0)
    return out;
  int64_t passes = 0;
  while ((int64_t{1} << passes) < n)
    ++passes;
  mlir::Value i = e.NewCellMemory(e.builder().getI64Type(), range),
              j = e.NewCellMemory(e.builder().getI64Type(), range);
  e.LoopNest(
      range, rows,
      [&](const std::vector<Value> &at) {
        Sorted buffers;
        buffers.values = e.NewTensor(range, t, {2, n});
        if (with_positions)
          buffers.positions = e.NewTensor(range, DType::Int64, {2, n});
        auto half = [&](const Value &buffer, int64_t which, const Value &k) {
          return e.View(range, buffer, Value::TupleOf({Value::WeakInt(which), k}));
        };
        e.LoopNest(range, {n}, [&](const std::vector<Value> &k) {
          Value element = e.Subscript(range, x, Value::TupleOf(WithAxis(at, axis, k[0])));
          e.StoreElement(range, half(buffers.values, 0, k[0]), element);
          if (with_positions)
            e.StoreElement(range, half(buffers.positions, 0, k[0]), k[0]);
        });
        e.LoopNest(range, {passes}, [&](const std::vector<Value> &level) {
          MergePass(e, range, buffers, t, n, descending, i, j, level[0]);
        });
        e.LoopNest(range, {n}, [&](const std::vector<Value> &k) {
          auto give = [&](const Value &to, const Value &buffer) {
            e.StoreElement(range, e.View(range, to, Value::TupleOf(WithAxis(at, axis, k[0]))),
                           e.LoadElement(range, half(buffer, passes % 2, k[0])));
          };
          give(out.values, buffers.values);
          if (with_positions)
            give(out.positions, buffers.positions);
        });
      },
      /*parallel=*/true);
  return out;
}

std::optional<int> Axis(Emitter &e, const BoundCall &call, size_t at) {
  if (!e.ExpectTensor(call.where[0], call.args[0],
                      "the argument of " + std::string(call.entry->name)))
    return std::nullopt;
  return e.AxisArgument(call.where[at], call.args[at],
                        static_cast<int>(call.args[0].tensor.dims.size()));
}

Value EmitSort(Emitter &e, const BoundCall &call) {
  auto axis = Axis(e, call, 1);
  auto descending = e.ConstantBool(call.where[2], call.args[2], "descending");
  if (!axis || !descending)
    return Value::Invalid();
  return Sort(e, call.range, call.args[0], *axis, *descending, false).values;
}

Value EmitTopK(Emitter &e, const BoundCall &call) {
  auto axis = Axis(e, call, 2);
  auto k = e.ConstantInt(call.where[1], call.args[1], "k");
  if (!axis || !k)
    return Value::Invalid();
  int64_t n = call.args[0].tensor.dims[static_cast<size_t>(*axis)].size;
  if (*k < 0 || *k > n)
    return e.Error("shape-mismatch", call.where[1],
                   "topk cannot take " + std::to_string(*k) + " of an axis of " +
                       std::to_string(n));
  Sorted sorted = Sort(e, call.range, call.args[0], *axis, true, true);
  if (sorted.values.IsInvalid() || sorted.positions.IsInvalid())
    return Value::Invalid();
  for (Value *v : {&sorted.values, &sorted.positions}) {
    v->tensor.dims[static_cast<size_t>(*axis)].size = *k;
    v->tensor.fresh = false;
  }
  return Value::TupleOf({sorted.values, sorted.positions});
}

// clang-format off
const LibraryEntry kTable[] = {
    {"sort", kAsc, "x, axis=-1, descending=False", DTypes::Any, ShapeRule::Elementwise, "sorted along an axis; equals keep their order; NaN counts as the greatest", "sort(x, axis, descending)", Lowering::Scalar, EmitSort},
    {"topk", kAsc, "x, k, axis=-1", DTypes::Any, ShapeRule::Own, "the k greatest along an axis, the greatest first, and their int64 indices; of equals the first comes first; NaN counts as the greatest", "topk(x, k, axis)", Lowering::Scalar, EmitTopK},
};
// clang-format on

} // namespace

std::span<const LibraryEntry> OrderTable() { return kTable; }

} // namespace pyasc::sema
