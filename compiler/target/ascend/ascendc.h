// One of the two exits of the Ascend lowering: a synced npu module as Ascend C text.
//
// The text uses static tensors, raw flags and barriers and the basic API alone: no TPipe, TQue or
// Matmul object. It is the plan; nothing else decides. Each phase is one kernel function; how they
// are launched (order, blocks, arguments) is the launch contract's matter and stands in a comment.
// The two phases of a group are one kernel for cube and vector cores: it has the first phase's
// name, the arguments of the first phase and then those that only the second has, and the cube's
// blocks.
#ifndef PYASC_COMPILER_TARGET_ASCEND_ASCENDC_H
#define PYASC_COMPILER_TARGET_ASCEND_ASCENDC_H

#include <string>

#include "compiler/diag/diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include "pyasc/v1/artifact.pb.h"

namespace pyasc::npu {

// Prints `module` to `text`. `contract` names the arguments. False, with a diagnostic
// "no-ascendc-form" at the source line, when an op has no form in the basic API: a text is whole or
// there is none.
bool PrintAscendC(mlir::ModuleOp module, const v1::LaunchContract &contract,
                  const std::string &kernel, diag::DiagnosticList &diagnostics, std::string *text);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_ASCENDC_H
