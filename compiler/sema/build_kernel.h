// The front end's entry: Python text to kernel form.
#ifndef PYASC_COMPILER_SEMA_BUILD_KERNEL_H
#define PYASC_COMPILER_SEMA_BUILD_KERNEL_H

#include <optional>
#include <string>

#include "compiler/diag/diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "pyasc/v1/compile.pb.h"

namespace pyasc::sema {

struct KernelModule {
  // Kernel form, as docs/architecture.md defines it; verified.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string kernel_name;
  // Equal for requests that mean the same: what the kernel computes with its constants folded, its
  // signature, target and options; without positions, comments or names that the caller cannot see.
  std::string semantic_key_text;
};

// Parses the request's files, finds the kernel, binds its arguments, folds constants, checks types
// and emits MLIR. nullopt after errors, all of which are in `diags`; warnings may be there too.
// Loads the dialects that it needs into `context`. `request` must outlive `diags`.
std::optional<KernelModule> BuildKernel(mlir::MLIRContext &context,
                                        const v1::CompileRequest &request,
                                        diag::DiagnosticList &diags);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_BUILD_KERNEL_H
