// How a pass says that it refuses a kernel.
#ifndef PYASC_COMPILER_IR_REFUSAL_H
#define PYASC_COMPILER_IR_REFUSAL_H

#include "llvm/ADT/StringRef.h"

namespace pyasc::ir {

// The error of a pass that refuses a kernel for what it is begins so. Any other error of a pass is
// a fault of the compiler.
inline constexpr llvm::StringLiteral kRefusal = "cannot be lowered";

} // namespace pyasc::ir

#endif // PYASC_COMPILER_IR_REFUSAL_H
