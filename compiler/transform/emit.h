// Writes a distribution plan back as IR.
#ifndef PYASC_COMPILER_TRANSFORM_EMIT_H
#define PYASC_COMPILER_TRANSFORM_EMIT_H

#include "compiler/transform/distribute.h"

namespace pyasc {

// Replaces nest.root by what `plan` says. The nest points to erased ops afterwards.
void emitPlan(const Nest &nest, llvm::ArrayRef<PlanNode> plan);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_EMIT_H
