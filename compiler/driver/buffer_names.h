// Names for the on-chip buffers of a compiled kernel, for what the sanitizer says.
#ifndef PYASC_COMPILER_DRIVER_BUFFER_NAMES_H
#define PYASC_COMPILER_DRIVER_BUFFER_NAMES_H

#include "mlir/IR/BuiltinOps.h"

#include "pyasc/v1/artifact.pb.h"

namespace pyasc::compiler {

// Calls each npu.buffer of a synced module that has no name yet by its role: "tile of x" where it
// is loaded from or stored to a tensor of the contract, else "temporary of line 12".
void NameBuffers(mlir::ModuleOp module, const v1::LaunchContract &contract);

} // namespace pyasc::compiler

#endif // PYASC_COMPILER_DRIVER_BUFFER_NAMES_H
