#include "compiler/target/ascend/testing/race_check.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include "compiler/target/ascend/npu.h"

using namespace mlir;

namespace pyasc::npu::testing {

namespace {

constexpr size_t kPipes = static_cast<size_t>(Pipe::ALL);
constexpr size_t kMostFaults = 5;
// On the number of instructions, so that a wrong loop ends.
constexpr int64_t kMostInstructions = 20000;

using Clock = std::array<int64_t, kPipes>;

void join(Clock &into, const Clock &other) {
  for (size_t i = 0; i < kPipes; ++i)
    into[i] = std::max(into[i], other[i]);
}

// Rows of bytes: [begin + i * stride, + length) for i < rows.
struct Bytes {
  int64_t begin = 0, rows = 1, stride = 0, length = 0;

  bool meets(const Bytes &other) const {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t low = begin + i * stride, j = 0; j < other.rows; ++j) {
        int64_t start = other.begin + j * other.stride;
        if (start < low + length && low < start + other.length)
          return true;
      }
    return false;
  }
  int64_t end() const { return begin + (rows - 1) * stride + length; }
};

struct Touch {
  Operation *op;
  size_t pipe;
  int64_t number; // on its pipe
  bool write;
  Bytes bytes;
};

struct Flag {
  bool raised = false;
  Clock clock{};         // what was done when it was raised
  int64_t lastWait = -1; // number on the waiting pipe
};

class Walk {
public:
  Walk(func::FuncOp function, int64_t block) : function(function), block(block) {}

  RaceReport run() {
    walk(function.getBody().front());
    for (auto &[key, flag] : flags)
      if (flag.raised)
        fault("a flag is raised at the end");
    report.instructions = instructions;
    return std::move(report);
  }

private:
  static size_t number(Pipe pipe) { return static_cast<size_t>(pipe); }

  void fault(const std::string &what) {
    if (report.faults.size() < kMostFaults)
      report.faults.push_back(what);
  }
  static std::string nameOf(Operation *op) {
    std::string text = op->getName().getStringRef().str();
    if (auto position = op->getLoc()->findInstanceOf<FileLineColLoc>())
      text += " (line " + std::to_string(position.getLine()) + ")";
    return text;
  }

  int64_t value(Value value) {
    auto found = values.find(value.getAsOpaquePointer());
    return found == values.end() ? 0 : found->second;
  }
  void set(Value value, int64_t number) { values[value.getAsOpaquePointer()] = number; }
  int64_t value(OpFoldResult result) {
    std::optional<int64_t> constant = getConstantIntValue(result);
    return constant ? *constant : value(cast<Value>(result));
  }

  // The values that the block's terminator passes on.
  SmallVector<int64_t> walk(Block &body);
  void step(Operation *op);
  void arithmetic(Operation *op);
  void loop(scf::ForOp loop);
  void loop(scf::WhileOp loop);

  // A work item of a pipe: its number, with what was handed out before in its clock.
  int64_t start(Pipe pipe) {
    ++instructions;
    Clock handed = clocks[number(Pipe::S)];
    // What the scalar unit stored is seen by other pipes through flags only.
    if (pipe != Pipe::S)
      handed[number(Pipe::S)] = 0;
    join(clocks[number(pipe)], handed);
    return ++counts[number(pipe)];
  }
  void touch(Operation *op, Pipe pipe, int64_t item, Value memory, Value offset, bool write,
             ArrayRef<AccessDim> dims);
  void setFlag(SetFlagOp op);
  void waitFlag(WaitFlagOp op);
  void barrier(Pipe pipe);

  func::FuncOp function;
  int64_t block;
  RaceReport report;
  int64_t instructions = 0;
  std::map<const void *, int64_t> values;
  std::array<Clock, kPipes> clocks{}; // of the next item of each pipe
  Clock counts{};
  std::map<std::tuple<int, int, int64_t>, Flag> flags;
  std::map<std::pair<int, const void *>, std::vector<Touch>> touches;
};

SmallVector<int64_t> Walk::walk(Block &body) {
  for (Operation &op : body) {
    if (instructions > kMostInstructions)
      return {};
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      SmallVector<int64_t> passed;
      for (Value operand : op.getOperands())
        passed.push_back(value(operand));
      return passed;
    }
    step(&op);
  }
  return {};
}

void Walk::loop(scf::ForOp loop) {
  SmallVector<int64_t> carried;
  for (Value init : loop.getInitArgs())
    carried.push_back(value(init));
  int64_t upper = value(loop.getUpperBound()), step = value(loop.getStep());
  for (int64_t i = value(loop.getLowerBound()); i < upper && step > 0; i += step) {
    if (instructions > kMostInstructions)
      break;
    set(loop.getInductionVar(), i);
    for (auto [argument, number] : llvm::zip(loop.getRegionIterArgs(), carried))
      set(argument, number);
    carried = walk(*loop.getBody());
  }
  for (auto [result, number] : llvm::zip(loop.getResults(), carried))
    set(result, number);
}

void Walk::loop(scf::WhileOp loop) {
  SmallVector<int64_t> carried;
  for (Value init : loop.getInits())
    carried.push_back(value(init));
  while (instructions <= kMostInstructions) {
    for (auto [argument, number] : llvm::zip(loop.getBeforeArguments(), carried))
      set(argument, number);
    SmallVector<int64_t> passed = walk(*loop.getBeforeBody());
    bool goesOn = passed.front() != 0;
    passed.erase(passed.begin());
    if (!goesOn) {
      for (auto [result, number] : llvm::zip(loop.getResults(), passed))
        set(result, number);
      return;
    }
    for (auto [argument, number] : llvm::zip(loop.getAfterArguments(), passed))
      set(argument, number);
    carried = walk(*loop.getAfterBody());
  }
}

void Walk::step(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return this->loop(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return this->loop(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    SmallVector<int64_t> passed;
    if (value(branch.getCondition()))
      passed = walk(*branch.thenBlock());
    else if (branch.elseBlock())
      passed = walk(*branch.elseBlock());
    for (auto [result, number] : llvm::zip(branch.getResults(), passed))
      set(result, number);
    return;
  }
  if (auto set = dyn_cast<SetFlagOp>(op))
    return setFlag(set);
  if (auto wait = dyn_cast<WaitFlagOp>(op))
    return waitFlag(wait);
  if (auto fence = dyn_cast<PipeBarrierOp>(op))
    return barrier(fence.getPipe());
  if (auto instruction = dyn_cast<InstructionOpInterface>(op)) {
    int64_t item = start(instruction.getPipe());
    for (const Access &access : instruction.getAccesses())
      touch(op, instruction.getPipe(), item, access.memory(), access.offset, access.write,
            access.dims);
    return;
  }
  OpFoldResult one = Builder(op->getContext()).getIndexAttr(1);
  if (auto load = dyn_cast<memref::LoadOp>(op))
    touch(op, Pipe::S, start(Pipe::S), load.getMemref(), load.getIndices().front(), false,
          {{one, one}});
  else if (auto store = dyn_cast<memref::StoreOp>(op))
    touch(op, Pipe::S, start(Pipe::S), store.getMemref(), store.getIndices().front(), true,
          {{one, one}});
  else
    arithmetic(op);
  // The scalar unit does one thing after the other.
  clocks[number(Pipe::S)][number(Pipe::S)] = counts[number(Pipe::S)];
}

void Walk::arithmetic(Operation *op) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex())
    return;
  Value result = op->getResult(0);
  if (std::optional<int64_t> constant = constantOf(result))
    return set(result, *constant);
  if (isa<BlockIdxOp>(op))
    return set(result, block);
  if (isa<NumBlocksOp>(op))
    return set(result, function->getAttrOfType<IntegerAttr>(kBlocks).getInt());
  auto operand = [&](unsigned i) {
    return i < op->getNumOperands() ? value(op->getOperand(i)) : int64_t{0};
  };
  int64_t a = operand(0), b = operand(1);
  if (isa<arith::AddIOp>(op))
    set(result, a + b);
  else if (isa<arith::SubIOp>(op))
    set(result, a - b);
  else if (isa<arith::MulIOp>(op))
    set(result, a * b);
  else if (isa<arith::DivUIOp, arith::DivSIOp>(op))
    set(result, b == 0 ? 0 : a / b);
  else if (isa<arith::RemUIOp, arith::RemSIOp>(op))
    set(result, b == 0 ? 0 : a % b);
  else if (isa<arith::CeilDivUIOp, arith::CeilDivSIOp>(op))
    set(result, b == 0 ? 0 : (a + b - 1) / b);
  else if (isa<arith::MinSIOp, arith::MinUIOp>(op))
    set(result, std::min(a, b));
  else if (isa<arith::MaxSIOp, arith::MaxUIOp>(op))
    set(result, std::max(a, b));
  else if (isa<arith::AndIOp>(op))
    set(result, a & b);
  else if (isa<arith::OrIOp>(op))
    set(result, a | b);
  else if (isa<arith::XOrIOp>(op))
    set(result, a ^ b);
  else if (isa<arith::SelectOp>(op))
    set(result, a ? b : operand(2));
  else if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
               arith::TruncIOp>(op))
    set(result, a);
  else if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    APInt left(64, a, true), right(64, b, true);
    set(result, arith::applyCmpPredicate(compare.getPredicate(), left, right));
  }
}

void Walk::touch(Operation *op, Pipe pipe, int64_t item, Value memory, Value offset, bool write,
                 ArrayRef<AccessDim> dims) {
  auto type = cast<MemRefType>(memory.getType());
  int64_t size = bytesOf(type.getElementType()), base = 0;
  const void *root = nullptr;
  Value buffer = memory;
  int64_t slot = 0;
  if (auto picked = memory.getDefiningOp<SlotOp>()) {
    buffer = picked.getBuffer();
    slot = value(picked.getIteration()) %
           static_cast<int64_t>(buffer.getDefiningOp<BufferOp>().getDepth());
  }
  if (auto made = buffer.getDefiningOp<BufferOp>())
    base = static_cast<int64_t>(*made.getAddr()) + slot * made.slotBytes();
  else
    root = buffer.getAsOpaquePointer();

  Bytes bytes{base, 1, 0, type.getNumElements() * size};
  if (!dims.empty()) {
    bytes.begin = base + value(offset) * size;
    bytes.length = value(dims.back().extent) * size;
    if (dims.size() > 1) {
      bytes.rows = value(dims.front().extent);
      bytes.stride = value(dims.front().stride) * size;
    }
    if (bytes.rows <= 0 || bytes.length <= 0)
      return;
    if (bytes.begin < base || bytes.end() > base + type.getNumElements() * size)
      fault(nameOf(op) + " leaves its buffer");
  }

  std::vector<Touch> &others = touches[{static_cast<int>(spaceOf(memory)), root}];
  const Clock &clock = clocks[number(pipe)];
  for (const Touch &other : others) {
    if ((!write && !other.write) || (other.op == op && other.number == item) ||
        clock[other.pipe] >= other.number)
      continue;
    if (pipe == Pipe::S && other.pipe == number(Pipe::S))
      continue;
    // mmads of enough fractals into one accumulator are ordered by the hardware.
    if (auto mmad = dyn_cast<MmadOp>(op);
        mmad && isa<MmadOp>(other.op) &&
        (value(mmad.getM()) + 15) / 16 * ((value(mmad.getN()) + 15) / 16) >= 10)
      continue;
    if (other.bytes.meets(bytes))
      fault(nameOf(other.op) + " and " + nameOf(op) + " meet in " +
            stringifySpace(spaceOf(memory)).str() + " bytes " + std::to_string(bytes.begin) +
            " .. " + std::to_string(bytes.end() - 1));
  }
  others.push_back({op, number(pipe), item, write, bytes});
}

void Walk::setFlag(SetFlagOp op) {
  int64_t item = start(op.getFrom());
  Flag &flag =
      flags[{static_cast<int>(op.getFrom()), static_cast<int>(op.getTo()), value(op.getId())}];
  if (flag.raised)
    fault(nameOf(op) + " raises a raised flag");
  if (flag.lastWait > clocks[number(op.getFrom())][number(op.getTo())])
    fault(nameOf(op) + " may raise a flag before it was lowered");
  flag.raised = true;
  flag.clock = clocks[number(op.getFrom())];
  flag.clock[number(op.getFrom())] = item;
}

void Walk::waitFlag(WaitFlagOp op) {
  int64_t item = start(op.getTo());
  Flag &flag =
      flags[{static_cast<int>(op.getFrom()), static_cast<int>(op.getTo()), value(op.getId())}];
  if (!flag.raised)
    fault(nameOf(op) + " waits for a flag that nothing raises");
  flag.raised = false;
  flag.lastWait = item;
  join(clocks[number(op.getTo())], flag.clock);
}

void Walk::barrier(Pipe pipe) {
  if (pipe != Pipe::ALL) {
    int64_t item = start(pipe);
    clocks[number(pipe)][number(pipe)] = item;
    return;
  }
  for (Clock &clock : clocks)
    join(clock, counts);
}

} // namespace

RaceReport checkRaces(func::FuncOp function, int64_t block) { return Walk(function, block).run(); }

} // namespace pyasc::npu::testing
