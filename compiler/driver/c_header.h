// The C header that goes with kernel.o.
#ifndef PYASC_COMPILER_DRIVER_C_HEADER_H
#define PYASC_COMPILER_DRIVER_C_HEADER_H

#include <string>

#include "pyasc/v1/artifact.pb.h"

namespace pyasc::compiler {

// Text of a header that declares the raw entry `pyasc_<kernel>` and defines a typed inline
// function of the kernel's name around it. Works for C99 and C++.
std::string CHeader(const v1::Artifact &artifact);

} // namespace pyasc::compiler

#endif // PYASC_COMPILER_DRIVER_C_HEADER_H
