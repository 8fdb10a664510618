// Copies of a PhaseEmitter: rows by DMA, through UB, what is shorter element by element.
#include "compiler/ir/copies.h"
#include "compiler/target/ascend/npu.h"
#include "compiler/target/ascend/plan_scalar_emit.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace pyasc::npu {

using namespace mlir;

namespace {

// Bytes that go through UB at a time, and in how many of them at once: one comes in while another
// goes out.
constexpr int64_t kCopiedPiece = int64_t{16} << 10, kCopySlots = 2;

} // namespace

LogicalResult PhaseEmitter::emitCopy(memref::CopyOp op) {
  Location loc = op.getLoc();
  auto source = view(op.getSource()), target = view(op.getTarget());
  if (failed(source) || failed(target))
    return failure();
  if (emitRowCopy(loc, *source, *target, {}))
    return success();
  OpBuilder::InsertionGuard guard(builder_);
  SmallVector<OpFoldResult> at;
  for (OpFoldResult size : source->sizes) {
    auto loop =
        builder_.create<scf::ForOp>(loc, index(loc, 0), materialize(loc, size), index(loc, 1));
    at.push_back(loop.getInductionVar());
    builder_.setInsertionPointToStart(loop.getBody());
  }
  store(loc, load(loc, *source, at), *target, at);
  return success();
}

bool PhaseEmitter::emitRowCopy(Location loc, const FlatView &source, const FlatView &target,
                               ValueRange given) {
  Type element = cast<MemRefType>(target.base.getType()).getElementType();
  const size_t rank = target.sizes.size();
  if (source.cell || target.cell || source.origin == target.origin || source.sizes.size() != rank ||
      cast<MemRefType>(source.base.getType()).getElementType() != element ||
      !(element.isIntOrFloat() && element.getIntOrFloatBitWidth() >= 8 &&
        element.getIntOrFloatBitWidth() <= 32))
    return false;
  // Trailing dimensions [row, rank) that are one run of elements in both.
  size_t row = rank;
  int64_t length = 1;
  for (; row > given.size(); --row) {
    auto size = getConstantIntValue(target.sizes[row - 1]);
    if (!size || getConstantIntValue(target.strides[row - 1]) != length ||
        getConstantIntValue(source.strides[row - 1]) != length)
      break;
    length *= *size;
  }
  const int64_t bytes = bytesOf(element), piece = std::min(length, kCopiedPiece / bytes);
  if (length < ir::kShortestCopiedRow || outside_.copyBytes < kCopySlots * piece * bytes)
    return false;
  // The round whose slot is used: that of the loop around. What is in a branch, or in a loop that
  // ends by a condition, is left to the scalar unit.
  for (Operation *around = builder_.getInsertionBlock()->getParentOp(); !isa<func::FuncOp>(around);
       around = around->getParentOp())
    if (!isa<scf::ForOp>(around))
      return false;
  outside_.copyBytes -= kCopySlots * piece * bytes;

  OpBuilder::InsertionGuard guard(builder_);
  SmallVector<OpFoldResult> at;
  llvm::append_range(at, given);
  for (size_t d = given.size(); d < row; ++d) {
    auto loop = builder_.create<scf::ForOp>(loc, index(loc, 0), materialize(loc, target.sizes[d]),
                                            index(loc, 1));
    at.push_back(loop.getInductionVar());
    builder_.setInsertionPointToStart(loop.getBody());
  }
  at.resize(rank, builder_.getIndexAttr(0));
  Value from = address(loc, source, at), to = address(loc, target, at);
  Value count = index(loc, piece);
  if (piece < length) {
    auto loop =
        builder_.create<scf::ForOp>(loc, index(loc, 0), index(loc, length), index(loc, piece));
    builder_.setInsertionPointToStart(loop.getBody());
    Value begin = loop.getInductionVar();
    from = builder_.create<arith::AddIOp>(loc, from, begin);
    to = builder_.create<arith::AddIOp>(loc, to, begin);
    if (length % piece != 0)
      count = builder_.create<arith::MinSIOp>(
          loc, count, builder_.create<arith::SubIOp>(loc, index(loc, length), begin));
  }
  OpBuilder atEntry = OpBuilder::atBlockBegin(entry_);
  Value memory = atEntry.create<BufferOp>(loc, memoryType(piece, element, Space::ub), kCopySlots,
                                          IntegerAttr());
  if (!constantsEnd_)
    constantsEnd_ = memory.getDefiningOp();
  if (auto around = dyn_cast<scf::ForOp>(builder_.getInsertionBlock()->getParentOp())) {
    Value round =
        builder_.create<arith::SubIOp>(loc, around.getInductionVar(), around.getLowerBound());
    if (getConstantIntValue(around.getStep()) != 1)
      round = builder_.create<arith::DivUIOp>(loc, round, around.getStep());
    memory = builder_.create<SlotOp>(loc, memory.getType(), memory, round);
  }
  Value zero = index(loc, 0), one = index(loc, 1);
  builder_.create<LoadOp>(loc, memory, zero, source.base, from, one, count, count, count);
  builder_.create<StoreOp>(loc, target.base, to, memory, zero, one, count, count, count,
                           Atomic::none);
  movesRows_ = true;
  return true;
}

} // namespace pyasc::npu
