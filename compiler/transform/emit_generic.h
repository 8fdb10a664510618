// Emits one raised statement as linalg.generic on memrefs.
#ifndef PYASC_COMPILER_TRANSFORM_EMIT_GENERIC_H
#define PYASC_COMPILER_TRANSFORM_EMIT_GENERIC_H

#include <functional>

#include "compiler/transform/raise_plan.h"
#include "mlir/IR/Builders.h"

namespace pyasc {

// What an emission may ask of the code around it.
struct EmitContext {
  // The value, in the new code, of a value of the nest that does not vary in the operation.
  std::function<mlir::Value(mlir::Value)> materialize;
  // At whose top temporaries are allocated: outside of every loop of the nest.
  mlir::Block *allocationBlock;
};

// Inserts the operation(s) of `plan` at the builder's point: the guards as an affine.if, one
// subview an operand, the generic; for a 16-bit reduction a float32 temporary around it.
void emitRaised(mlir::OpBuilder &builder, const Nest &nest, const RaisePlan &plan,
                const EmitContext &context);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_EMIT_GENERIC_H
