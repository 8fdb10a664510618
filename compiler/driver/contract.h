// The launch contract, from what the front end and the targets say of a kernel.
#ifndef PYASC_COMPILER_DRIVER_CONTRACT_H
#define PYASC_COMPILER_DRIVER_CONTRACT_H

#include <string>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pyasc/v1/artifact.pb.h"

namespace pyasc::compiler {

// Parameters, results, alias rules and error table of a function in kernel form.
// REQUIRES: the function's argument attributes are as docs/architecture.md says.
v1::LaunchContract DescribeKernel(mlir::func::FuncOp kernel);

// Adds one phase on the CPU that runs the whole kernel at `entry`.
// The entry's arguments are the function's, in order.
void AddHostPhase(mlir::func::FuncOp kernel, const std::string &entry,
                  v1::LaunchContract *contract);

// Adds the phases and workspaces of a synced npu module.
void AddNpuPhases(mlir::ModuleOp module, v1::LaunchContract *contract);

// Bytes of all tensors of a contract that the kernel reads, plus those that it writes.
double CompulsoryBytes(const v1::LaunchContract &contract);

} // namespace pyasc::compiler

#endif // PYASC_COMPILER_DRIVER_CONTRACT_H
