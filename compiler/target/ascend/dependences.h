// What has to wait for what in a placed function, and which of it has to be said.
//
// An instruction that conflicts with a later one on another pipe needs a flag between the pipes, on
// the same pipe a barrier. Dependences are lifted to the innermost block that holds both ends, so
// that raising and waiting for a flag always happen equally often; loops carry them back with a
// flag that is raised once before the loop. What follows from other dependences is left out.
#ifndef PYASC_COMPILER_TARGET_ASCEND_DEPENDENCES_H
#define PYASC_COMPILER_TARGET_ASCEND_DEPENDENCES_H

#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include "compiler/target/ascend/conflicts.h"

namespace pyasc::npu {

// `consumer` starts after `producer`, ops of one block, as far as their parts on the pipes `to` and
// `from` are concerned.
struct Dependence {
  mlir::Block *block = nullptr;
  mlir::Operation *producer = nullptr;
  mlir::Operation *consumer = nullptr;
  Pipe from = Pipe::S, to = Pipe::S;
  // The consumer is of the iteration so many later; 0: of the same one.
  int64_t distance = 0;
  // Not null: one flag for each of `depth` slots, which these values pick for the producer and for
  // the consumer; see Conflict. Without them distance and depth are at most 1.
  mlir::Value key, consumerKey;
  int64_t depth = 1;
  // The keys count the iterations of the loop around, so that `distance` is a number of these; else
  // the consumer is the one that picks the same slot next.
  bool isExact = true;

  bool isBack() const { return distance > 0; }
  bool hasKeysOf(const Dependence &other) const {
    return key == other.key && consumerKey == other.consumerKey;
  }
  void dropKeys() {
    key = consumerKey = mlir::Value();
    depth = 1;
    distance = isBack() ? 1 : 0;
    isExact = true;
  }

  // Filled by the allocation of event ids (sync.cc).
  llvm::SmallVector<int64_t> ids;
  // No ids were left: a barrier on all pipes before the consumer.
  bool barrier = false;
};

// Barriers and cache flushes at one op, for what flags do not cover.
struct Fence {
  llvm::SmallVector<Pipe> barriersBefore;
  // The op is an mmad that accumulates right after another: small ones need a barrier on M.
  bool accumulates = false;
  bool barrierAllBefore = false;
  bool flushBefore = false;
  bool flushAfter = false;
};

struct Dependences {
  std::vector<Dependence> flags;
  llvm::DenseMap<mlir::Operation *, Fence> fences;
};

// REQUIRES: buffers have addresses.
Dependences findDependences(mlir::func::FuncOp function);

// Whether an op is inside a loop of its function.
bool isInLoop(mlir::Block *block);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_DEPENDENCES_H
