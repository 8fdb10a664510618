// Phases of the vector cores around a contraction, which bring an operand or the result into a
// layout that the cube's transfers can walk.
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "compiler/target/ascend/contraction.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

// Elements of a row that are packed at a time: each takes a block of UB on the way.
constexpr int64_t kPackedRow = 1024;
// Bytes of UB for one slot of rows that are copied.
constexpr int64_t kCopiedBytes = 32768;
// Share of what is computed between the parts of long rows that is still worth it.
constexpr int64_t kLeastShare = 3; // parts are at least 3/4
constexpr int64_t kShareOf = 4;
// Rows as long as this are long enough.
constexpr int64_t kLongRow = 256;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A temporary of the kernel before `op`.
Value allocate(linalg::GenericOp op, int64_t elements, Type element) {
  OpBuilder builder(op);
  return builder.create<memref::AllocOp>(op.getLoc(), MemRefType::get({elements}, element));
}

// The loop over this core's tasks; returns task and iteration.
std::pair<Value, Value> taskLoop(Phase &phase, int64_t tasks, int64_t blocks) {
  OpBuilder &b = phase.builder;
  Value block = b.create<BlockIdxOp>(phase.loc);
  Value rest = b.createOrFold<arith::SubIOp>(phase.loc, phase.index(tasks), block);
  auto loop =
      b.create<scf::ForOp>(phase.loc, phase.index(0), phase.ceilDiv(rest, blocks), phase.index(1));
  b.setInsertionPointToStart(loop.getBody());
  Value round = loop.getInductionVar();
  return {phase.add(block, phase.mul(round, blocks)), round};
}

// The place that the linear index over dims has in an operand.
Value offsetOf(Phase &phase, Value base, Value linear, ArrayRef<ContractionDim> dims, int operand) {
  OpBuilder &b = phase.builder;
  for (const ContractionDim &dim : llvm::reverse(dims)) {
    Value coordinate = linear;
    if (&dim != dims.begin()) {
      coordinate = b.createOrFold<arith::RemUIOp>(phase.loc, linear, phase.index(dim.size));
      linear = b.createOrFold<arith::DivUIOp>(phase.loc, linear, phase.index(dim.size));
    }
    base = phase.add(base, phase.mul(coordinate, dim.strides[operand]));
  }
  return base;
}

} // namespace

LogicalResult packOperand(Planner &planner, Contraction &c, int operand) {
  ContractionDim &extent = operand == Contraction::A ? c.m : c.n;
  Type element = c.views[operand].element;
  SmallVector<ContractionDim> outer; // all but k
  auto take = [&](const ContractionDim &dim) {
    if (dim.strides[operand] != 0)
      outer.push_back(dim);
  };
  llvm::for_each(c.batch, take);
  llvm::for_each(c.outerK, take);
  take(extent);
  int64_t rows = 1;
  for (const ContractionDim &dim : outer)
    rows *= dim.size;
  Value packed = allocate(c.op, rows * c.k.size, element);

  int64_t chunk = std::min(kPackedRow, c.k.size), chunks = ceilDiv(c.k.size, chunk);
  int64_t tasks = rows * chunks, blocks = std::min(tasks, planner.cores("aiv"));
  Phase phase = planner.begin(c.op.getLoc(), "aiv", blocks);
  OpBuilder &b = phase.builder;
  FailureOr<GmView> from = phase.view(c.views[operand]);
  if (failed(from))
    return failure();
  Value to = phase.memory(packed);
  int64_t block = blockElements(element);
  Value apart = phase.buffer(chunk * block, element, Space::ub, 2);
  Value dense = phase.buffer(ceilDiv(chunk, block) * block, element, Space::ub, 2);
  Value scratch = phase.buffer(256 / bytesOf(element), element, Space::ub);
  auto [task, round] = taskLoop(phase, tasks, blocks);
  Value row = task, first = phase.index(0), length = phase.index(chunk);
  if (chunks > 1) {
    row = b.createOrFold<arith::DivUIOp>(phase.loc, task, phase.index(chunks));
    first = phase.mul(b.createOrFold<arith::RemUIOp>(phase.loc, task, phase.index(chunks)), chunk);
    length =
        phase.min(length, b.createOrFold<arith::SubIOp>(phase.loc, phase.index(c.k.size), first));
  }
  Value at = offsetOf(phase, from->offset, row, outer, operand);
  at = phase.add(at, phase.mul(first, c.k.strides[operand]));
  Value zero = phase.index(0), one = phase.index(1), width = phase.index(block);
  Value in = b.create<SlotOp>(phase.loc, apart, round),
        out = b.create<SlotOp>(phase.loc, dense, round);
  b.create<LoadOp>(phase.loc, in, zero, from->memory, at, length, one,
                   phase.index(c.k.strides[operand]), width);
  // Reducing blocks of one element packs them.
  b.create<VRowReduceOp>(phase.loc, Reduce::max, out, zero, in, zero, scratch, zero, length, one,
                         width);
  b.create<StoreOp>(phase.loc, to, phase.add(phase.mul(row, c.k.size), first), out, zero, one,
                    length, length, length, Atomic::none);

  // Dense strides, in the same order.
  c.views[operand] = *planner.locate(packed);
  int64_t stride = 1;
  auto place = [&](ContractionDim &dim) {
    if (dim.strides[operand] == 0)
      return;
    dim.strides[operand] = stride;
    stride *= dim.size;
  };
  c.k.strides[operand] = 0;
  stride = c.k.size;
  place(extent);
  for (auto *dims : {&c.outerK, &c.batch})
    for (ContractionDim &dim : llvm::reverse(*dims))
      place(dim);
  c.k.strides[operand] = 1;
  (operand == Contraction::A ? c.packA : c.packB) = false;
  return success();
}

std::optional<FlatRows> flattenRows(Planner &planner, const Contraction &c,
                                    const MemRefView &destination) {
  constexpr int kB = Contraction::B, kC = Contraction::C;
  if (c.n.size >= kLongRow || c.n.size == 1 || c.n.strides[kB] != 1 || !destination.terms.empty() ||
      (c.outerKs() < 2 && c.gathered != kB))
    return std::nullopt;
  for (auto [i, rows] : llvm::enumerate(c.batch)) {
    int64_t pitch = rows.strides[kB];
    if (rows.strides[Contraction::A] != 0 || rows.strides[kC] < c.n.size || pitch < c.n.size ||
        c.n.size * kShareOf < pitch * kLeastShare)
      continue;
    FlatRows flat;
    flat.contraction = c;
    flat.rows = rows.size;
    flat.columns = c.n.size;
    flat.pitch = pitch;
    flat.rowStride = rows.strides[kC];
    Contraction &own = flat.contraction;
    own.batch.erase(own.batch.begin() + i);
    own.n.size = (rows.size - 1) * pitch + c.n.size;
    if (own.k.size > own.tapCount() && own.k.strides[kB] < own.n.size) {
      if (c.gathered != kB)
        return std::nullopt; // the longer rows would overlap
      own.taps.insert(own.taps.begin(), {own.k.size / own.tapCount(), {0, own.k.strides[kB], 0}});
      own.k.strides[kB] = 0;
    }
    int64_t stride = rows.size * pitch;
    auto place = [&](ContractionDim &dim) {
      if (dim.size == 1 || dim.strides[kC] == 0)
        return;
      flat.outer.push_back({dim.size, {stride, 0, dim.strides[kC]}});
      dim.strides[kC] = stride;
      stride *= dim.size;
    };
    place(own.m);
    for (ContractionDim &dim : llvm::reverse(own.batch))
      place(dim);
    std::reverse(flat.outer.begin(), flat.outer.end());
    // The last row of the last matrix ends early; whole rows are allocated.
    flat.from = *planner.locate(allocate(c.op, stride, destination.element));
    return flat;
  }
  return std::nullopt;
}

LogicalResult copyParts(Planner &planner, const FlatRows &flat, const MemRefView &destination) {
  const Contraction &c = flat.contraction;
  Type element = destination.element;
  int64_t block = blockElements(element), padded = ceilDiv(flat.columns, block) * block;
  int64_t most = std::clamp<int64_t>(kCopiedBytes / (padded * bytesOf(element)), 1, 4095);
  int64_t chunk = std::min(flat.rows, most), chunks = ceilDiv(flat.rows, chunk);
  int64_t matrices = 1;
  for (const ContractionDim &dim : flat.outer)
    matrices *= dim.size;
  int64_t tasks = matrices * chunks, blocks = std::min(tasks, planner.cores("aiv"));
  linalg::GenericOp op = c.op;
  Phase phase = planner.begin(op.getLoc(), "aiv", blocks);
  OpBuilder &b = phase.builder;
  FailureOr<GmView> from = phase.view(flat.from), to = phase.view(destination);
  if (failed(from) || failed(to))
    return failure();
  Value rows = phase.buffer(chunk * padded, element, Space::ub, 2);
  auto [task, round] = taskLoop(phase, tasks, blocks);
  Value matrix = task, first = phase.index(0), count = phase.index(chunk);
  if (chunks > 1) {
    matrix = b.createOrFold<arith::DivUIOp>(phase.loc, task, phase.index(chunks));
    first = phase.mul(b.createOrFold<arith::RemUIOp>(phase.loc, task, phase.index(chunks)), chunk);
    count =
        phase.min(count, b.createOrFold<arith::SubIOp>(phase.loc, phase.index(flat.rows), first));
  }
  Value source = offsetOf(phase, from->offset, matrix, flat.outer, Contraction::A);
  Value target = offsetOf(phase, to->offset, matrix, flat.outer, Contraction::C);
  Value zero = phase.index(0), columns = phase.index(flat.columns), width = phase.index(padded);
  Value slot = b.create<SlotOp>(phase.loc, rows, round);
  b.create<LoadOp>(phase.loc, slot, zero, from->memory,
                   phase.add(source, phase.mul(first, flat.pitch)), count, columns,
                   phase.index(flat.pitch), width);
  b.create<StoreOp>(phase.loc, to->memory, phase.add(target, phase.mul(first, flat.rowStride)),
                    slot, zero, count, columns, phase.index(flat.rowStride), width, Atomic::none);
  return success();
}

} // namespace pyasc::npu
