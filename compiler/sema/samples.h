// Signatures to try a kernel with when nobody gave its arguments: what `pyasc check` stands on.
//
// Symbolic sizes get several values each, since a kernel may be right for some only: general ones
// (different from each other, multiples of 128), ones, odd ones, equal ones. Where neither
// annotation nor argument says a parameter's type, likely ones are offered, to be tried in turn.
#ifndef PYASC_COMPILER_SEMA_SAMPLES_H
#define PYASC_COMPILER_SEMA_SAMPLES_H

#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "mlir/IR/MLIRContext.h"
#include "pyasc/v1/compile.pb.h"

namespace pyasc::sema {

struct Sample {
  std::vector<v1::Argument> arguments;
  // "N = 256, C = 384", "q = float16[64, 64]"; "" when nothing was open.
  std::string text;
};

struct KernelSamples {
  std::string name;
  diag::SourceRange name_range;
  // Without guesses: the general one first; each has to be right on its own. With guesses: the
  // kernel is right when one of them is.
  std::vector<Sample> samples;
  std::vector<std::string> guessed; // parameters
};

// The kernels of files[0] (or just request.kernel), with the request's arguments where a kernel has
// such a parameter. Empty after a syntax error, and when there is no such kernel; both are
// reported.
std::vector<KernelSamples> SampleSignatures(mlir::MLIRContext &context,
                                            const v1::CompileRequest &request,
                                            diag::DiagnosticList &diags);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_SAMPLES_H
