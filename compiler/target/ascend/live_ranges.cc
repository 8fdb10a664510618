#include "compiler/target/ascend/live_ranges.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

// The ops that use a buffer, directly or through slots, in program order.
SmallVector<Operation *> usersOf(BufferOp buffer, const DenseMap<Operation *, int64_t> &order) {
  SmallVector<Operation *> users;
  auto add = [&](Value memory) {
    for (Operation *user : memory.getUsers())
      if (!isa<SlotOp>(user))
        users.push_back(user);
  };
  add(buffer);
  for (Operation *user : buffer->getUsers())
    if (auto slot = dyn_cast<SlotOp>(user))
      add(slot);
  llvm::sort(users, [&](Operation *a, Operation *b) { return order.at(a) < order.at(b); });
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

bool belongsTo(Value memory, BufferOp buffer) {
  if (auto slot = memory.getDefiningOp<SlotOp>())
    memory = slot.getBuffer();
  return memory == buffer.getResult();
}

// Whether an op only writes the buffer, from its first element on. That it writes all that is read
// later cannot be seen here; a plan that relies on leftovers of an earlier iteration has to write
// them outside the loop, or at another offset.
bool writesAnew(Operation *op, BufferOp buffer) {
  auto instruction = dyn_cast<InstructionOpInterface>(op);
  if (!instruction)
    return false;
  for (const Access &access : instruction.getAccesses())
    if (belongsTo(access.memory(), buffer) && (!access.write || constantOf(access.offset) != 0))
      return false;
  return true;
}

bool isConditional(Operation *op, Operation *within) {
  for (Operation *parent = op->getParentOp(); parent != within; parent = parent->getParentOp())
    if (!isa<scf::ForOp>(parent))
      return true;
  return false;
}

} // namespace

SmallVector<LiveRange> liveRangesOf(func::FuncOp function) {
  DenseMap<Operation *, int64_t> order;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    int64_t number = order.size();
    order[op] = number;
  });
  auto lastOf = [&](Operation *op) {
    int64_t last = order[op];
    op->walk([&](Operation *inner) { last = std::max(last, order[inner]); });
    return last;
  };

  SmallVector<LiveRange> ranges;
  for (auto buffer : function.getBody().front().getOps<BufferOp>()) {
    LiveRange range{buffer};
    SmallVector<Operation *> users = usersOf(buffer, order);
    if (!users.empty()) {
      range.begin = order[users.front()];
      range.end = order[users.back()];
    }
    // Inner loops first: what they add may reach into outer ones.
    SmallVector<Operation *> loops;
    for (Operation *user : users)
      for (Operation *parent = user->getParentOp(); parent != function;
           parent = parent->getParentOp())
        if (isa<LoopLikeOpInterface>(parent) && !llvm::is_contained(loops, parent))
          loops.push_back(parent);
    for (Operation *loop : loops) {
      SmallVector<Operation *> inside;
      for (Operation *user : users)
        if (loop->isProperAncestor(user))
          inside.push_back(user);
      bool innermost = llvm::none_of(loops, [&](Operation *other) {
        return other != loop && loop->isProperAncestor(other) &&
               llvm::all_of(inside, [&](Operation *user) { return other->isProperAncestor(user); });
      });
      bool holdsSlots = buffer.getDepth() > 1 && innermost;
      if (!holdsSlots && inside.size() == users.size() && writesAnew(inside.front(), buffer) &&
          !isConditional(inside.front(), loop))
        continue;
      range.begin = std::min(range.begin, order[loop]);
      range.end = std::max(range.end, lastOf(loop));
    }
    range.wideBegin = range.begin;
    range.wideEnd = range.end;
    for (Operation *loop : loops) {
      if (loop->getParentOp() != function)
        continue;
      range.wideBegin = std::min(range.wideBegin, order[loop]);
      range.wideEnd = std::max(range.wideEnd, lastOf(loop));
    }
    ranges.push_back(range);
  }
  return ranges;
}

} // namespace pyasc::npu
