// Requests for fast memory (asc.shared_memory) against what the chip has.
#ifndef PYASC_COMPILER_DRIVER_FAST_MEMORY_H
#define PYASC_COMPILER_DRIVER_FAST_MEMORY_H

#include "compiler/diag/diagnostic.h"
#include "compiler/machine/machine.h"
#include "mlir/IR/BuiltinOps.h"

namespace pyasc::compiler {

// Warns of each request in a kernel (in kernel form) that does not fit into a core's unified buffer
// beside those before it in its scope: it goes to global memory. With strict=True that is an error,
// and the result is false.
bool CheckFastMemory(mlir::ModuleOp module, const machine::Soc &soc,
                     diag::DiagnosticList &diagnostics);

} // namespace pyasc::compiler

#endif // PYASC_COMPILER_DRIVER_FAST_MEMORY_H
