// Runs the compiler's stages: keeps their times, their IR where it was asked for, and turns MLIR's
// diagnostics into ours.
#ifndef PYASC_COMPILER_DRIVER_STAGES_H
#define PYASC_COMPILER_DRIVER_STAGES_H

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "compiler/diag/diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "pyasc/v1/artifact.pb.h"
#include "pyasc/v1/report.pb.h"

namespace pyasc::compiler {

class Stages {
public:
  // None of the pointers is owned; all outlive the object. `dump`: keep the IR after every pass.
  Stages(diag::DiagnosticList *diagnostics, v1::CompileReport *report, v1::Artifact *artifact,
         bool dump)
      : diagnostics_(diagnostics), report_(report), artifact_(artifact), dump_(dump) {}

  // Times `work` as one stage.
  void Time(const std::string &name, const std::function<void()> &work);

  // Runs a pipeline over `module` as one stage. A pass refuses a kernel with an error that begins
  // with ir::kRefusal: it becomes a diagnostic with the code "cannot-lower" at the source line that
  // the op came from. Any other error, a verifier's above all, is a fault of ours: the code
  // "internal-error", what to send us, and no IR. True: it succeeded.
  bool Run(const std::string &name, mlir::ModuleOp module,
           const std::function<void(mlir::OpPassManager &)> &build);

  // From here on no IR is kept: what follows was seen before.
  void StopDumping() { dump_ = false; }

  // Keeps the module's text as "stages/NN-name.mlir" when dumping.
  void Dump(const std::string &name, mlir::ModuleOp module);

  // Reports a fault of the compiler itself; only the first is.
  void ReportFault(const std::string &stage, diag::SourceRange where, const std::string &detail);

private:
  void Report(const std::string &stage, mlir::Diagnostic &diagnostic);

  diag::DiagnosticList *diagnostics_;
  v1::CompileReport *report_;
  v1::Artifact *artifact_;
  bool dump_;
  bool faulty_ = false;
  int dumped_ = 0;
  std::string last_;
};

// The place in the source that an op came from.
diag::SourceRange RangeOf(mlir::Location loc);

// The text of a module, without locations.
std::string TextOf(mlir::ModuleOp module);

} // namespace pyasc::compiler

#endif // PYASC_COMPILER_DRIVER_STAGES_H
