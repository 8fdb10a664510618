// The front end's entry: Python text to kernel form.
#ifndef PYASC_COMPILER_SEMA_BUILD_KERNEL_H
#define PYASC_COMPILER_SEMA_BUILD_KERNEL_H

#include <optional>
#include <string>

#include "compiler/diag/diagnostic.h"
#include "compiler/syntax/ast.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "pyasc/v1/compile.pb.h"

namespace pyasc::sema {

struct ModuleScope;

struct KernelModule {
  // Kernel form, as docs/architecture.md defines it; verified.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string kernel_name;
  // Equal for requests that mean the same and say so at the same places: what the kernel computes
  // with its constants folded, the lines and columns of its statements, its signature, target and
  // options; without comments, other functions or names that the caller cannot see. The places
  // count since run-time errors and profiles name them.
  std::string semantic_key_text;
};

// Parses the request's files, finds the kernel, binds its arguments, folds constants, checks types
// and emits MLIR. nullopt after errors, all of which are in `diags`; warnings may be there too.
// Loads the dialects that it needs into `context`. `request` must outlive `diags`.
std::optional<KernelModule> BuildKernel(mlir::MLIRContext &context,
                                        const v1::CompileRequest &request,
                                        diag::DiagnosticList &diags);

// Parses the files of a request and binds the names of their modules into `scope`. False when a
// file has syntax errors.
bool LoadModules(mlir::MLIRContext &context, const v1::CompileRequest &request,
                 diag::DiagnosticList &diags, ModuleScope &scope);

// The kernel of files[0] that the request means; null, and reported, when there is none.
const syntax::FunctionDef *FindKernel(const v1::CompileRequest &request, const ModuleScope &scope,
                                      diag::DiagnosticList &diags);

// Warns of functions that were meant as kernels, by their decorators, and are none.
void WarnOfMissedKernels(const ModuleScope &scope, diag::DiagnosticList &diags);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_BUILD_KERNEL_H
