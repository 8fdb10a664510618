// One of the two exits of the Ascend lowering: a synced npu module as a simulator program.
//
// One function a phase, in the module's order, named as the func.func is; its formal arguments
// are the phase's. The encoding is that of compiler/machine/sim_isa.h.
#ifndef PYASC_COMPILER_TARGET_ASCEND_EXPORT_SIM_H
#define PYASC_COMPILER_TARGET_ASCEND_EXPORT_SIM_H

#include "compiler/diag/diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include "pyasc/v1/artifact.pb.h"

namespace pyasc::npu {

// Writes `program`. False, with a diagnostic "no-sim-form" at the source line, for a module that is
// not synced and for any op without a form in the simulator: a program is whole or there is none.
bool ExportSimProgram(mlir::ModuleOp module, diag::DiagnosticList &diagnostics,
                      v1::SimProgram *program);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_EXPORT_SIM_H
