// Distributes the statements of a nest over structured operations and loops that stay
// (Allen and Kennedy): strongly connected components in dependence order; what is acyclic is
// raised, what is cyclic keeps its outermost loop and is tried again inside it.
#ifndef PYASC_COMPILER_TRANSFORM_DISTRIBUTE_H
#define PYASC_COMPILER_TRANSFORM_DISTRIBUTE_H

#include "compiler/transform/dependence.h"
#include "compiler/transform/raise_plan.h"

namespace pyasc {

struct PlanNode {
  enum class Kind { Raised, Kept, Scalar } kind;
  unsigned depth;                         // loops around the node
  llvm::SmallVector<unsigned> statements; // of Scalar, or below Kept
  std::optional<RaisePlan> raised;        // of Raised
  unsigned loop = 0;                      // of Kept
  std::vector<PlanNode> children;         // of Kept
  std::string reason;                     // why it is not Raised

  bool containsRaised() const;
};

// The nodes run one after the other in place of the nest.
std::vector<PlanNode> distribute(const Nest &nest, llvm::ArrayRef<Dependence> dependences,
                                 llvm::ArrayRef<std::optional<Update>> updates, ProofCache &cache);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_DISTRIBUTE_H
