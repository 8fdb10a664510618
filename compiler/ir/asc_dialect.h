// The `asc` dialect: asc.check, asc.print and the names of the `asc.*` attributes.
#ifndef PYASC_COMPILER_IR_ASC_DIALECT_H
#define PYASC_COMPILER_IR_ASC_DIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/ir/asc_dialect.h.inc"
#define GET_OP_CLASSES
#include "compiler/ir/asc_ops.h.inc"

namespace pyasc::ir {

// Loads the dialects that kernel form uses into `context`: asc, func, affine, scf, memref, linalg,
// arith, math.
void LoadKernelDialects(mlir::MLIRContext &context);

} // namespace pyasc::ir

#endif // PYASC_COMPILER_IR_ASC_DIALECT_H
