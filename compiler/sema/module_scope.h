// The files of a request as names: functions, kernels, folded module constants, imports.
//
// Host code at module level is not executed. Assignments are folded in program order, as Python
// would leave them when the kernel is called; what does not fold is known as host data, so that a
// kernel that uses it gets a clear refusal.
#ifndef PYASC_COMPILER_SEMA_MODULE_SCOPE_H
#define PYASC_COMPILER_SEMA_MODULE_SCOPE_H

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/sema/value.h"
#include "compiler/syntax/parse.h"
#include "pyasc/v1/compile.pb.h"

namespace pyasc::sema {

struct ModuleName {
  // Dim: a symbolic size that `asc.dims` declares; value holds its name as a string.
  enum class Kind : uint8_t { Value, HostData, Dim };
  Kind kind = Kind::HostData;
  Value value;
  diag::SourceRange range; // where it was bound last
};

struct FileScope {
  syntax::ParseResult parse;
  std::map<std::string, ModuleName, std::less<>> names;
  std::vector<const syntax::FunctionDef *> kernels;
  // What default values are where their functions are defined; those that do not fold are missing.
  std::map<const syntax::Expr *, Value> defaults;
};

struct ModuleScope {
  std::vector<FileScope> files;

  // The binding of `name` in `file`; null when there is none.
  const ModuleName *Find(uint32_t file, std::string_view name) const;
  // The same, looking into the other files too: for names imported from them.
  const ModuleName *FindElsewhere(uint32_t file, std::string_view name) const;
};

// Folds an expression of the module level; an invalid value when it does not fold.
using ConstantFolder = std::function<Value(uint32_t file, const syntax::Expr *)>;

// Parses every file. False when one has syntax errors.
bool ParseFiles(const v1::CompileRequest &request, diag::DiagnosticList &diags, ModuleScope &scope);
// Binds the names of every file, then lets the captured constants override.
void BindModuleNames(const v1::CompileRequest &request, const ConstantFolder &fold,
                     ModuleScope &scope);

// Whether `decorator` is `asc.kernel` or a call of it.
bool IsKernelDecorator(const syntax::Expr *decorator);
bool IsKernel(const syntax::FunctionDef &function);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_MODULE_SCOPE_H
