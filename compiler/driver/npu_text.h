// A hand-written module of the npu dialect, as text, to a simulator artifact.
#ifndef PYASC_COMPILER_DRIVER_NPU_TEXT_H
#define PYASC_COMPILER_DRIVER_NPU_TEXT_H

#include "compiler/diag/diagnostic.h"
#include "compiler/machine/machine.h"
#include "pyasc/v1/artifact.pb.h"
#include "pyasc/v1/compile.pb.h"

namespace pyasc::compiler {

// Parses and checks `request.files(0)` and fills launch contract and program of `artifact`. What
// the text may leave out is added: npu.stage (synced), npu.workspaces (none), npu.blocks (every
// core of the kind; a string names the index parameter that says it), and npu.binding and npu.name
// of a function's arguments (parameter N, "argN"). The SoC is the request's, else the module's
// npu.soc, else the default one. False after a diagnostic.
bool CompileNpuText(const v1::CompileRequest &request, diag::DiagnosticList &diagnostics,
                    v1::Artifact &artifact);

} // namespace pyasc::compiler

#endif // PYASC_COMPILER_DRIVER_NPU_TEXT_H
