#include "compiler/target/ascend/dependences.h"

#include <array>
#include <limits>

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace pyasc::npu {

bool isInLoop(Block *block) {
  for (Operation *parent = block->getParentOp(); parent; parent = parent->getParentOp())
    if (isa<LoopLikeOpInterface>(parent))
      return true;
  return false;
}

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr size_t kPipes = static_cast<size_t>(Pipe::ALL);

struct Event {
  Operation *op;
  Pipe pipe;
  SmallVector<MemoryUse, 4> uses;
};

// Positions of ops in their blocks; a later iteration of a block of n ops continues at n.
class Positions {
public:
  int64_t of(Operation *op) {
    Block *block = op->getBlock();
    if (!sizes.contains(block)) {
      int64_t number = 0;
      for (Operation &inner : *block)
        numbers[&inner] = number++;
      sizes[block] = number;
    }
    return numbers[op];
  }
  int64_t size(Block *block) {
    of(&block->front());
    return sizes[block];
  }

private:
  DenseMap<Operation *, int64_t> numbers;
  DenseMap<Block *, int64_t> sizes;
};

class Finder {
public:
  explicit Finder(func::FuncOp function) : function(function) {}

  Dependences run();

private:
  void collect(const Event &first, const Event &second);
  void fence(const Dependence &samePipe, const Event &second);
  // Whether the accepted flags make the dependence hold already.
  bool follows(const Dependence &dependence);
  bool accept(Dependence dependence);
  // Flags may not be raised twice: a flag in a loop needs the way back, too.
  void closeProtocol();
  void placeBarriers();

  int64_t at(Operation *op) { return positions.of(op); }
  int64_t span(const Dependence &dependence) {
    int64_t span = at(dependence.consumer) - at(dependence.producer);
    return dependence.isBack() ? span + positions.size(dependence.block) : span;
  }

  func::FuncOp function;
  Positions positions;
  LinearSystemMemo memo;
  std::vector<Dependence> wanted;
  std::vector<Dependence> samePipe;
  Dependences result;
};

Dependences Finder::run() {
  std::vector<Event> events;
  function.walk([&](Operation *op) {
    SmallVector<MemoryUse, 4> uses = memoryUsesOf(op);
    if (uses.empty())
      return;
    auto instruction = dyn_cast<InstructionOpInterface>(op);
    events.push_back({op, instruction ? instruction.getPipe() : Pipe::S, std::move(uses)});
  });
  // The scalar unit is in order with itself.
  std::vector<const Event *> others;
  for (const Event &event : events)
    if (event.pipe != Pipe::S)
      others.push_back(&event);
  for (const Event &first : events) {
    if (first.pipe != Pipe::S)
      for (const Event &second : events)
        collect(first, second);
    else
      for (const Event *second : others)
        collect(first, *second);
  }

  // Short ones first: long ones follow from them more often than the other way round.
  std::stable_sort(wanted.begin(), wanted.end(),
                   [&](const Dependence &a, const Dependence &b) { return span(a) < span(b); });
  for (Dependence &dependence : wanted)
    accept(std::move(dependence));
  closeProtocol();
  placeBarriers();
  return std::move(result);
}

void Finder::collect(const Event &first, const Event &second) {
  // Lift both to the innermost block that holds them.
  Block *block = first.op->getBlock();
  while (!block->findAncestorOpInBlock(*second.op))
    block = block->getParentOp()->getBlock();
  Operation *producer = block->findAncestorOpInBlock(*first.op);
  Operation *consumer = block->findAncestorOpInBlock(*second.op);
  const int64_t from = at(producer), to = at(consumer);
  const bool inLoop = isInLoop(block), inOneOp = from == to && first.op != second.op;
  if (!inOneOp && from >= to && !inLoop)
    return;
  const Sought sought = inOneOp ? Sought::both : from >= to ? Sought::later : Sought::either;
  for (const MemoryUse &a : first.uses) {
    for (const MemoryUse &b : second.uses) {
      Conflict conflict = conflictOf(a, b, sought, memo);
      if (!conflict)
        continue;
      Dependence dependence;
      dependence.block = block;
      dependence.producer = producer;
      dependence.consumer = consumer;
      // An op that meets itself in an outer loop only need not wait in the inner ones.
      if (first.op == second.op && conflict.carrier) {
        dependence.block = conflict.carrier.getBody();
        dependence.producer = dependence.consumer =
            dependence.block->findAncestorOpInBlock(*first.op);
      }
      dependence.from = first.pipe;
      dependence.to = second.pipe;
      dependence.key = conflict.key;
      dependence.consumerKey = conflict.laterKey;
      dependence.depth = conflict.depth;
      // In two regions of one op: in branches only iterations can conflict, in an scf.while also
      // what it tests with what it does. Rare, so there is no finer way.
      if (inOneOp) {
        Operation *fenced = dependence.consumer;
        if (isa<LoopLikeOpInterface>(fenced)) {
          fenced = second.op;
          while (fenced->getParentOp() != dependence.consumer)
            fenced = fenced->getParentOp();
        } else if (!conflict.later || !inLoop) {
          continue;
        }
        result.fences[fenced].barrierAllBefore = true;
        continue;
      }
      if (from >= to && !conflict.later)
        continue;
      dependence.distance = from >= to ? std::max<int64_t>(1, conflict.distance) : 0;
      const bool counted = conflict.counter && dependence.block == conflict.counter.getBody();
      dependence.isExact = !dependence.key || counted;
      // What is loaded ahead in a loop of the entry block; any other is taken for a conflict of
      // every iteration.
      const bool ahead = dependence.key != dependence.consumerKey;
      if (ahead && counted && conflict.counter->getParentOp() == function) {
        dependence.distance = conflict.distance;
        (first.pipe == second.pipe ? samePipe : wanted).push_back(dependence);
        continue;
      }
      // Slots are picked by a value that the flag ops must reach.
      if (dependence.key && (!inLoop || ahead))
        dependence.dropKeys();
      if (dependence.key) {
        Block *owner = dependence.key.getParentBlock(), *within = dependence.block;
        Operation *firstUser = dependence.isBack() ? dependence.consumer : dependence.producer;
        Operation *maker = dependence.key.getDefiningOp();
        bool reaches = owner == within ? !maker || maker->isBeforeInBlock(firstUser)
                                       : owner->getParent()->isProperAncestor(within->getParent());
        if (!reaches)
          dependence.dropKeys();
      }
      bool scalarGm = !a.root.getDefiningOp<BufferOp>();
      if (scalarGm && first.pipe == Pipe::S && a.write)
        result.fences[dependence.producer].flushAfter = true;
      if (scalarGm && second.pipe == Pipe::S)
        result.fences[dependence.consumer].flushBefore = true;
      (first.pipe == second.pipe ? samePipe : wanted).push_back(dependence);
    }
  }
}

bool Finder::follows(const Dependence &dependence) {
  int64_t next = positions.size(dependence.block);
  int64_t start = at(dependence.producer);
  // Positions of later iterations count on. Of what is not exact, those of the next use of a slot.
  auto later = [&](const Dependence &d) {
    return d.isExact ? d.distance * next : d.isBack() ? next : 0;
  };
  const int64_t goal = at(dependence.consumer) + later(dependence);
  // Work of a pipe from this position on starts after the producer ended.
  std::array<int64_t, kPipes> after;
  after.fill(kNever);
  auto reach = [&](Pipe pipe, int64_t position) {
    int64_t &known = after[static_cast<size_t>(pipe)];
    bool better = position < known;
    known = std::min(known, position);
    // The scalar unit hands out all later work once it goes on; what it stores itself is visible to
    // other pipes by a flag only, so this does not count for its own work.
    if (pipe == Pipe::S && dependence.from != Pipe::S)
      for (int64_t &other : after)
        if (position < other) {
          other = position;
          better = true;
        }
    return better;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const Dependence &flag : result.flags) {
      if (flag.block != dependence.block)
        continue;
      // From one use of a slot to the next of the same one says nothing of other iterations; and
      // what is counted in uses of a slot is not to be had from numbers of iterations but of the
      // next one.
      if (!flag.isExact && flag.isBack() && !flag.hasKeysOf(dependence))
        continue;
      if (!dependence.isExact && flag.isExact && flag.distance > 1)
        continue;
      const int64_t raised = at(flag.producer), waited = at(flag.consumer);
      for (int64_t iteration = 0; iteration <= goal; iteration += next) {
        const int64_t raisedAt = raised + iteration, waitedAt = waited + iteration + later(flag);
        if (waitedAt > goal)
          break;
        bool usable = (flag.from == dependence.from && raisedAt >= start) ||
                      raisedAt >= after[static_cast<size_t>(flag.from)];
        if (usable)
          changed |= reach(flag.to, waitedAt);
      }
    }
  }
  return after[static_cast<size_t>(dependence.to)] <= goal;
}

bool Finder::accept(Dependence dependence) {
  if (follows(dependence))
    return false;
  result.flags.push_back(std::move(dependence));
  return true;
}

void Finder::closeProtocol() {
  // Grows while it runs.
  for (size_t i = 0; i < result.flags.size(); ++i) {
    const Dependence &flag = result.flags[i];
    if (!isInLoop(flag.block))
      continue;
    // The pipe that waits has waited before the other one raises the flag again.
    Dependence reverse = flag;
    std::swap(reverse.producer, reverse.consumer);
    std::swap(reverse.from, reverse.to);
    std::swap(reverse.key, reverse.consumerKey);
    reverse.distance = flag.depth - flag.distance;
    accept(std::move(reverse));
  }
}

void Finder::placeBarriers() {
  // Positions before which a pipe has a barrier.
  DenseMap<std::pair<Block *, int>, SmallVector<int64_t>> barriers;
  std::stable_sort(samePipe.begin(), samePipe.end(), [&](const Dependence &a, const Dependence &b) {
    return at(a.consumer) < at(b.consumer);
  });
  for (const Dependence &dependence : samePipe) {
    int64_t from = at(dependence.producer), to = at(dependence.consumer);
    SmallVector<int64_t> &placed = barriers[{dependence.block, static_cast<int>(dependence.from)}];
    bool covered = llvm::any_of(placed, [&](int64_t position) {
      if (dependence.isBack() && from < to)
        return true; // of a later iteration: any barrier of the loop stands between
      return dependence.isBack() ? position > from || position <= to
                                 : from < position && position <= to;
    });
    if (covered || follows(dependence))
      continue;
    // mmads into one accumulator follow each other by themselves, unless they are small.
    if (auto mmad = dyn_cast<MmadOp>(dependence.consumer);
        mmad && isa<MmadOp>(dependence.producer)) {
      result.fences[mmad].accumulates = true;
      continue;
    }
    placed.push_back(to);
    result.fences[dependence.consumer].barriersBefore.push_back(dependence.from);
  }
}

} // namespace

Dependences findDependences(func::FuncOp function) { return Finder(function).run(); }

} // namespace pyasc::npu
