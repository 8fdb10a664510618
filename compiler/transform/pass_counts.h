// What each pass did to a module, for the compile report: the module attribute
// `asc.pass_counts = {name = n : i64, ...}`.
#ifndef PYASC_COMPILER_TRANSFORM_PASS_COUNTS_H
#define PYASC_COMPILER_TRANSFORM_PASS_COUNTS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringRef.h"

namespace pyasc {

// Adds `n` to the counter `name` of the module around `op`; creates it, also for n = 0.
void addPassCount(mlir::Operation *op, llvm::StringRef name, int64_t n);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_PASS_COUNTS_H
