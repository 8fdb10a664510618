#include "compiler/target/ascend/conflicts.h"

#include <map>
#include <optional>
#include <utility>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

SmallVector<Operation *> loopsAround(Operation *op) {
  SmallVector<Operation *> loops;
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (isa<LoopLikeOpInterface>(parent))
      loops.push_back(parent);
  return {loops.rbegin(), loops.rend()};
}

// Two executions (0 and 1) of parts of a function, whose first `equal` common loops are in the
// same iteration.
class Executions {
public:
  Executions(ArrayRef<Operation *> common, size_t equal) : common(common), equal(equal) {}

  LinearSystem system;

  Linear value(Value value, int execution);
  Linear value(OpFoldResult value, int execution) {
    if (std::optional<int64_t> constant = getConstantIntValue(value))
      return {{}, *constant};
    return this->value(cast<Value>(value), execution);
  }
  // The number of an iteration of a common loop, from 0 on; the loop must be an scf.for.
  Linear iteration(scf::ForOp loop, int execution) {
    value(loop.getInductionVar(), execution);
    return iterations.at({loop.getInductionVar().getAsOpaquePointer(),
                          shared(loop.getInductionVar()) ? 0 : execution});
  }

private:
  // Whether a value is the same in both executions.
  bool shared(Value value) const;
  Linear compute(Value value, int execution);
  Linear computeOp(Operation *op, int execution);
  // (quotient, remainder) of a division by a positive constant.
  std::pair<Linear, Linear> divide(const Linear &dividend, int64_t divisor);

  ArrayRef<Operation *> common;
  size_t equal;
  std::map<std::pair<void *, int>, Linear> known;
  std::map<std::pair<void *, int>, Linear> iterations;
};

bool Executions::shared(Value value) const {
  Operation *owner = value.getParentBlock()->getParentOp();
  for (size_t i = equal; i < common.size(); ++i)
    if (common[i]->isAncestor(owner))
      return false;
  // Below the common loops the two executions are different ops or the same one: a loop that only
  // one of them is in has iterations of its own.
  for (Operation *parent = owner; parent; parent = parent->getParentOp())
    if (isa<LoopLikeOpInterface>(parent) && !llvm::is_contained(common, parent))
      return false;
  return true;
}

// Whether a value is seen not to be negative by what makes it.
bool isNotNegative(Value value) {
  if (std::optional<int64_t> constant = constantOf(value))
    return *constant >= 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() && isNotNegative(loop.getLowerBound());
  }
  Operation *op = value.getDefiningOp();
  if (isa<BlockIdxOp, NumBlocksOp>(op))
    return true;
  if (isa<arith::MaxSIOp>(op))
    return isNotNegative(op->getOperand(0)) || isNotNegative(op->getOperand(1));
  return isa<arith::AddIOp, arith::MulIOp, arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp,
             arith::MinSIOp, arith::MinUIOp>(op) &&
         llvm::all_of(op->getOperands(), isNotNegative);
}

Linear Executions::value(Value value, int execution) {
  if (shared(value))
    execution = 0;
  std::pair<void *, int> key(value.getAsOpaquePointer(), execution);
  auto found = known.find(key);
  if (found != known.end())
    return found->second;
  Linear result = compute(value, execution);
  return known[key] = result;
}

std::pair<Linear, Linear> Executions::divide(const Linear &dividend, int64_t divisor) {
  Linear quotient = system.variable();
  Linear remainder = dividend;
  remainder.add(quotient, -divisor);
  system.positive(remainder);
  Linear room{{}, divisor - 1};
  system.positive(room.add(remainder, -1));
  return {quotient, remainder};
}

Linear Executions::compute(Value value, int execution) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    std::optional<int64_t> step = loop ? constantOf(loop.getStep()) : std::nullopt;
    if (!step || *step <= 0 || argument != loop.getInductionVar()) {
      Linear free = system.variable();
      if (loop && argument == loop.getInductionVar())
        iterations[{value.getAsOpaquePointer(), execution}] = free;
      return free;
    }
    Linear iteration = system.variable();
    iterations[{value.getAsOpaquePointer(), execution}] = iteration;
    system.positive(iteration);
    Linear induction = this->value(loop.getLowerBound(), execution);
    induction.add(iteration, *step);
    Linear below = this->value(loop.getUpperBound(), execution);
    below.add(induction, -1).constant -= 1;
    system.positive(below);
    return induction;
  }
  return computeOp(value.getDefiningOp(), execution);
}

Linear Executions::computeOp(Operation *op, int execution) {
  if (std::optional<int64_t> constant = constantOf(op->getResult(0)))
    return {{}, *constant};
  if (isa<BlockIdxOp, NumBlocksOp>(op)) {
    auto blocks = op->getParentOfType<func::FuncOp>()->getAttrOfType<IntegerAttr>(kBlocks);
    int64_t count = blocks ? blocks.getInt() : 1;
    if (isa<NumBlocksOp>(op))
      return {{}, count};
    Linear block = system.variable();
    system.positive(block);
    Linear above{{}, count - 1};
    system.positive(above.add(block, -1));
    return block;
  }
  auto operand = [&](int i) { return value(op->getOperand(i), execution); };
  if (isa<arith::AddIOp>(op))
    return operand(0).add(operand(1));
  if (isa<arith::SubIOp>(op))
    return operand(0).add(operand(1), -1);
  if (isa<arith::IndexCastOp>(op))
    return operand(0);
  if (isa<arith::MulIOp>(op)) {
    Linear a = operand(0), b = operand(1);
    if (a.isConstant())
      std::swap(a, b);
    if (b.isConstant())
      return Linear().add(a, b.constant);
  }
  // Indices are not negative, so signed and unsigned divisions agree.
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp, arith::CeilDivUIOp>(op)) {
    Linear a = operand(0), b = operand(1);
    if (b.isConstant() && b.constant > 0) {
      if (isa<arith::CeilDivUIOp>(op))
        a.constant += b.constant - 1;
      auto [quotient, remainder] = divide(a, b.constant);
      return isa<arith::RemUIOp, arith::RemSIOp>(op) ? remainder : quotient;
    }
  }
  // That a minimum is one of its operands is not said; the set is only larger for it.
  if (isa<arith::MinSIOp, arith::MinUIOp, arith::MaxSIOp, arith::MaxUIOp>(op)) {
    int sign = isa<arith::MinSIOp, arith::MinUIOp>(op) ? 1 : -1;
    Linear result = system.variable();
    for (int i = 0; i < 2; ++i) {
      Linear difference = Linear().add(operand(i), sign);
      system.positive(difference.add(result, -sign));
    }
    if (isNotNegative(op->getResult(0)))
      system.positive(result);
    return result;
  }
  // One of two constants: between them. Bounded systems are decided much faster.
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    std::optional<int64_t> a = constantOf(select.getTrueValue()),
                           b = constantOf(select.getFalseValue());
    if (a && b) {
      Linear result = system.variable();
      system.positive(Linear{{}, -std::min(*a, *b)}.add(result));
      system.positive(Linear{{}, std::max(*a, *b)}.add(result, -1));
      return result;
    }
  }
  return system.variable();
}

// The first element's position plus those of the dims; nullopt when a stride is no constant.
std::optional<Linear> elementOf(Executions &executions, const MemoryUse &use, int execution) {
  Linear element = executions.value(use.offset, execution);
  for (const AccessDim &dim : use.dims) {
    Linear stride = executions.value(dim.stride, execution);
    Linear extent = executions.value(dim.extent, execution);
    if (!stride.isConstant() && !(extent.isConstant() && extent.constant <= 1))
      return std::nullopt;
    Linear index = executions.system.variable();
    executions.system.positive(index);
    Linear room = extent;
    room.add(index, -1).constant -= 1;
    executions.system.positive(room);
    element.add(index, stride.isConstant() ? stride.constant : 0);
  }
  return element;
}

// Whether the two uses may meet in one element, with the first `equal` common loops in the same
// iteration and `second` in a later one of the next loop, if there is a next.
bool mayMeet(const MemoryUse &first, const MemoryUse &second, ArrayRef<Operation *> common,
             size_t equal, LinearSystemMemo &memo) {
  Executions executions(common, equal);
  std::optional<Linear> a = elementOf(executions, first, 0), b = elementOf(executions, second, 1);
  if (!a || !b)
    return true;
  executions.system.zero(a->add(*b, -1));
  if (equal < common.size())
    if (auto loop = dyn_cast<scf::ForOp>(common[equal])) {
      Linear later = executions.iteration(loop, 1);
      later.add(executions.iteration(loop, 0), -1).constant -= 1;
      executions.system.positive(later);
    }
  return !memo.isEmpty(executions.system);
}

// What flags between cores guard: a tile is written again only after whoever waits for it has read
// it, and so long after it was written.
bool isRing(Value root) {
  auto argument = dyn_cast<BlockArgument>(root);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  return function && function.getArgAttr(argument.getArgNumber(), kRing);
}

// Bytes that a buffer holds in its space.
bool shareBytes(BufferOp a, BufferOp b) {
  if (a == b)
    return true;
  const std::optional<uint64_t> addrA = a.getAddr(), addrB = b.getAddr();
  if (a.getSpace() != b.getSpace() || !addrA || !addrB)
    return false;
  const auto beginA = static_cast<int64_t>(*addrA), beginB = static_cast<int64_t>(*addrB);
  return beginA < beginB + b.totalBytes() && beginB < beginA + a.totalBytes();
}

// The loop, from 0 on in steps of 1, whose induction variable plus `constant` a value is; else
// null.
scf::ForOp countingLoop(Value value, int64_t &constant) {
  constant = 0;
  if (auto add = value.getDefiningOp<arith::AddIOp>())
    if (std::optional<int64_t> more = constantOf(add.getRhs())) {
      constant = *more;
      value = add.getLhs();
    }
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  bool counts = loop && value == loop.getInductionVar() && constantOf(loop.getLowerBound()) == 0 &&
                constantOf(loop.getStep()) == 1;
  return counts ? loop : scf::ForOp();
}

// Of slots that different values pick: what is loaded some iterations ahead.
Conflict betweenSlots(SlotOp first, SlotOp second, int64_t depth) {
  int64_t a = 0, b = 0;
  scf::ForOp loop = countingLoop(first.getIteration(), a);
  if (!loop || loop != countingLoop(second.getIteration(), b) || (a - b) % depth == 0)
    return {true, true};
  Conflict result{false, true, first.getIteration(), second.getIteration(), depth};
  result.distance = ((a - b) % depth + depth) % depth;
  result.counter = loop;
  return result;
}

} // namespace

SmallVector<MemoryUse, 4> memoryUsesOf(Operation *op) {
  SmallVector<MemoryUse, 4> uses;
  auto add = [&](Value memory, Value offset, bool write, ArrayRef<AccessDim> dims) {
    MemoryUse use{op, memory, nullptr, offset, write, llvm::to_vector<3>(dims)};
    if (auto slot = memory.getDefiningOp<SlotOp>()) {
      use.slot = slot;
      use.root = slot.getBuffer();
    }
    uses.push_back(std::move(use));
  };
  if (auto instruction = dyn_cast<InstructionOpInterface>(op)) {
    for (const Access &access : instruction.getAccesses())
      add(access.memory(), access.offset, access.write, access.dims);
    return uses;
  }
  OpFoldResult one = Builder(op->getContext()).getIndexAttr(1);
  if (auto load = dyn_cast<memref::LoadOp>(op))
    add(load.getMemref(), load.getIndices().front(), false, {{one, one}});
  else if (auto store = dyn_cast<memref::StoreOp>(op))
    add(store.getMemref(), store.getIndices().front(), true, {{one, one}});
  return uses;
}

Conflict conflictOf(const MemoryUse &first, const MemoryUse &second, Sought sought,
                    LinearSystemMemo &memo) {
  if (!first.write && !second.write)
    return {};
  auto bufferA = first.root.getDefiningOp<BufferOp>(),
       bufferB = second.root.getDefiningOp<BufferOp>();
  if (!bufferA != !bufferB || (bufferA && !shareBytes(bufferA, bufferB)) ||
      (!bufferA && first.root != second.root))
    return {}; // arguments of a phase never share memory
  if (isRing(first.root))
    return {};
  if (first.root != second.root)
    return {true, true};

  Conflict result{true, true};
  SlotOp slotA = first.slot, slotB = second.slot;
  if (slotA && slotB && slotA.getIteration() == slotB.getIteration()) {
    if (bufferA.getDepth() > 1) {
      result.key = result.laterKey = slotA.getIteration();
      result.depth = result.distance = static_cast<int64_t>(bufferA.getDepth());
      int64_t constant = 0;
      result.counter = countingLoop(slotA.getIteration(), constant);
    }
  } else if (slotA && slotB) {
    return betweenSlots(slotA, slotB, static_cast<int64_t>(bufferA.getDepth()));
  } else if (slotA || slotB) {
    return result;
  }
  if (first.dims.empty() || second.dims.empty())
    return result;
  // On the chip the same offset is met again in the next iteration; nothing to prove.
  if (bufferA && first.offset == second.offset && constantOf(first.offset))
    return result;

  SmallVector<Operation *> common;
  for (auto [a, b] : llvm::zip(loopsAround(first.op), loopsAround(second.op))) {
    if (a != b)
      break;
    common.push_back(a);
  }
  result.same = sought != Sought::later && (first.offset == second.offset ||
                                            mayMeet(first, second, common, common.size(), memo));
  result.later = false;
  if (result.same && sought == Sought::either)
    return result;
  for (size_t equal = common.size(); equal-- > 0 && !result.later;) {
    result.later = mayMeet(first, second, common, equal, memo);
    if (result.later)
      result.carrier = dyn_cast<scf::ForOp>(common[equal]);
  }
  return result;
}

} // namespace pyasc::npu
