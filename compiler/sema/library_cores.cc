// Updates of one element by many iterations, and what a kernel may ask about cores.
#include "compiler/sema/emitter.h"

namespace pyasc::sema {

namespace {

// tensor[index] = combine(tensor[index], value), undivided: iterations of a parallel loop that
// update one element are reduced, not raced.
Value EmitAtomic(Emitter &e, const BoundCall &call) {
  const Value &tensor = call.args[0];
  std::string name(call.entry->name);
  if (!e.ExpectTensor(call.where[0], tensor, "the first argument of " + name) ||
      !e.ExpectNumber(call.where[2], call.args[2], "the value of " + name) ||
      !e.MayWrite(call.range, tensor))
    return Value::Invalid();
  Value view = e.View(call.where[1], tensor, call.args[1]);
  if (view.IsInvalid())
    return view;
  bool element = view.tensor.dims.empty();
  if (element && call.args[2].IsTensor())
    return e.Error("shape-mismatch", call.where[2],
                   name + " updates one element, and the value is " + Describe(call.args[2]));
  Value old = element ? e.LoadElement(call.range, view) : view;
  Value now = e.Binary(call.range, static_cast<BinaryOp>(call.entry->tag), old, call.args[2]);
  auto stored = e.CastForStore(call.where[2], now, tensor.dtype, "the tensor");
  if (!stored)
    return Value::Invalid();
  auto op = static_cast<BinaryOp>(call.entry->tag);
  e.RecordWrite(call.range, view,
                op == BinaryOp::Add   ? "+"
                : op == BinaryOp::Max ? "max"
                                      : "min",
                /*shared=*/true);
  if (element)
    e.StoreElement(call.range, view, *stored);
  else
    e.CopyInto(call.range, view, *stored);
  return Value::NoneValue();
}

// A kernel is one program for the whole problem, whatever cores the compiler divides its loops
// among: it runs as block 0 of 1. Inside a parallel loop the question has no answer.
Value EmitBlock(Emitter &e, const BoundCall &call) {
  if (e.InParallelLoop())
    return e.Error("no-block-here", call.range,
                   "asc." + std::string(call.entry->name) +
                       "() inside a parallel loop: which core runs an iteration, and how many "
                       "there are, is the compiler's choice; use the loop variable");
  return Value::IntConstant(call.entry->tag, DType::Int64, false);
}

// clang-format off
const LibraryEntry kTable[] = {
    {"atomic_add", kAsc, "tensor, index, value", DTypes::Numeric, ShapeRule::None, "adds to the element at an index, undivided", "tensor[index] += value", Lowering::Scalar, EmitAtomic, nullptr, nullptr, static_cast<int>(BinaryOp::Add)},
    {"atomic_max", kAsc, "tensor, index, value", DTypes::Numeric, ShapeRule::None, "raises the element at an index to at least a value, undivided; NaN if there is one", "tensor[index] = np.maximum(tensor[index], value)", Lowering::Scalar, EmitAtomic, nullptr, nullptr, static_cast<int>(BinaryOp::Max)},
    {"atomic_min", kAsc, "tensor, index, value", DTypes::Numeric, ShapeRule::None, "lowers the element at an index to at most a value, undivided; NaN if there is one", "tensor[index] = np.minimum(tensor[index], value)", Lowering::Scalar, EmitAtomic, nullptr, nullptr, static_cast<int>(BinaryOp::Min)},
    {"block_idx", kAsc, "", DTypes::Integer, ShapeRule::None, "which block of the launch this is: 0, since a kernel is one program for the whole problem", "0", Lowering::CompileTime, EmitBlock, nullptr, nullptr, 0},
    {"num_blocks", kAsc, "", DTypes::Integer, ShapeRule::None, "how many blocks the launch has: 1; parallel loops are what cores share", "1", Lowering::CompileTime, EmitBlock, nullptr, nullptr, 1},
};
// clang-format on

} // namespace

std::span<const LibraryEntry> CoresTable() { return kTable; }

} // namespace pyasc::sema
