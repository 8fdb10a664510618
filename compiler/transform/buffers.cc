#include "compiler/transform/buffers.h"

#include "compiler/transform/nest.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace pyasc {

using namespace mlir;

namespace {

// How `op` itself treats its memref operand `value`.
std::pair<bool, bool> accessOf(Operation *op, Value value) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    bool reads = llvm::is_contained(generic.getDpsInputs(), value), writes = false;
    for (OpOperand &out : generic.getDpsInitsMutable())
      if (out.get() == value) {
        writes = true;
        reads |= generic.payloadUsesValueFromOperand(&out) || !overwritesOutput(generic);
      }
    return {reads, writes};
  }
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects || op->getNumRegions() != 0)
    return {true, true};
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffectsOnValue(value, instances);
  bool reads = false, writes = false;
  for (const MemoryEffects::EffectInstance &instance : instances) {
    reads |= isa<MemoryEffects::Read>(instance.getEffect());
    writes |= !isa<MemoryEffects::Read>(instance.getEffect());
  }
  return {reads, writes};
}

bool touches(Operation *op, Value root, bool onlyWrites) {
  WalkResult result = op->walk([&](Operation *inner) {
    if (isa<ViewLikeOpInterface>(inner))
      return WalkResult::advance();
    for (Value operand : inner->getOperands()) {
      if (!isa<BaseMemRefType>(operand.getType()) || areDistinctBuffers(rootBuffer(operand), root))
        continue;
      auto [reads, writes] = accessOf(inner, operand);
      if (writes || (reads && !onlyWrites))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

} // namespace

SmallVector<BufferUse> usesOfBuffer(Value root) {
  SmallVector<BufferUse> uses;
  SmallVector<Value> worklist{root};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    llvm::SmallPtrSet<Operation *, 8> seen;
    for (Operation *user : value.getUsers()) {
      if (!seen.insert(user).second)
        continue;
      if (auto view = dyn_cast<ViewLikeOpInterface>(user);
          view && view.getViewSource() == value && user->getNumResults() == 1) {
        worklist.push_back(user->getResult(0));
        continue;
      }
      auto [reads, writes] = accessOf(user, value);
      uses.push_back({user, value, reads, writes});
    }
  }
  return uses;
}

bool mayWrite(Operation *op, Value root) { return touches(op, root, /*onlyWrites=*/true); }
bool mayTouch(Operation *op, Value root) { return touches(op, root, /*onlyWrites=*/false); }

bool overwritesOutput(linalg::GenericOp generic) {
  if (generic.getNumDpsInits() != 1 || generic.getNumReductionLoops() != 0)
    return false;
  OpOperand &out = *generic.getDpsInitOperand(0);
  // An input may be the output: memory that is read before anything wrote it.
  return generic.getMatchingIndexingMap(&out).isPermutation() &&
         !generic.payloadUsesValueFromOperand(&out) &&
         llvm::none_of(generic.getDpsInputs(),
                       [&](Value input) { return rootBuffer(input) == rootBuffer(out.get()); });
}

bool isPlainCopy(linalg::GenericOp generic) {
  if (!overwritesOutput(generic) || generic.getNumDpsInputs() != 1)
    return false;
  auto maps = generic.getIndexingMapsArray();
  auto yield = cast<linalg::YieldOp>(generic.getBody()->getTerminator());
  return maps[0] == maps[1] && yield.getOperand(0) == generic.getBody()->getArgument(0);
}

} // namespace pyasc
