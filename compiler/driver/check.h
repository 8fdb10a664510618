// What is wrong with the kernels of a file, without anyone's arguments: `pyasc check`.
//
// Each kernel goes through semantic analysis with several sample signatures (compiler/sema/
// samples.h), and with the general one to the end of the target's lowering. What is wrong with the
// general sample is an error, for nothing in the text excludes it; what is wrong with special sizes
// only (ones, odd ones) is a warning that says for which.
#ifndef PYASC_COMPILER_DRIVER_CHECK_H
#define PYASC_COMPILER_DRIVER_CHECK_H

#include "pyasc/v1/compile.pb.h"

namespace pyasc::compiler {

// Never fails as a call. As thread-safe as Compile().
v1::CheckReply Check(const v1::CheckRequest &request);

} // namespace pyasc::compiler

#endif // PYASC_COMPILER_DRIVER_CHECK_H
