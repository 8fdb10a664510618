// The canonicalizer of every pipeline here, without the one of MLIR's patterns that is wrong.
#ifndef PYASC_COMPILER_IR_CANONICALIZE_H
#define PYASC_COMPILER_IR_CANONICALIZE_H

#include <memory>

#include "mlir/Pass/Pass.h"

namespace pyasc {

// As mlir::createCanonicalizerPass(), but leaves alone a linalg.generic whose input and output are
// one buffer and whose body has become a constant (x[:] = x - x): MLIR 19 takes it for a copy of
// the buffer to itself and erases it, since it does not look at what is yielded.
std::unique_ptr<mlir::Pass> createSafeCanonicalizerPass();

} // namespace pyasc

#endif // PYASC_COMPILER_IR_CANONICALIZE_H
