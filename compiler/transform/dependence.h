// Which statement instances must stay in order. What is not proven independent is dependent.
#ifndef PYASC_COMPILER_TRANSFORM_DEPENDENCE_H
#define PYASC_COMPILER_TRANSFORM_DEPENDENCE_H

#include "compiler/transform/update.h"

namespace pyasc {

struct Dependence {
  unsigned from, to; // statements
  // Carried by the loop at this depth (all loops around it at equal iterations), or, when
  // isIndependent, within one iteration of all common loops.
  unsigned depth;
  bool isIndependent;
  mlir::Value buffer;
};

// All dependences between the statements of `nest`, a statement with itself included, except:
// between the accesses by which two updates (one and the same, or of one kind) read and write
// their destination, since updates commute; and between a statement's write and itself.
// `updates` holds what matchUpdate says of each statement.
std::vector<Dependence> computeDependences(const Nest &nest,
                                           llvm::ArrayRef<std::optional<Update>> updates,
                                           ProofCache &cache);

// Whether the iterations of the nest's outermost loop may run in any order, or at once: its
// statements are stores, and no element is touched in two iterations and written in one of them.
// Unlike above, what updates and a statement's writes have among themselves counts. `isPrivate`: a
// buffer of which each iteration may have one of its own.
bool isOutermostParallel(const Nest &nest, llvm::function_ref<bool(mlir::Value)> isPrivate,
                         ProofCache &cache);

// Sets Statement::pinnedDepth.
void computePins(Nest &nest, ProofCache &cache);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_DEPENDENCE_H
