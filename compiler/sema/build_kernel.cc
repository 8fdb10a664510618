#include "compiler/sema/build_kernel.h"

#include "compiler/ir/asc_dialect.h"
#include "compiler/sema/emitter.h"
#include "compiler/sema/module_scope.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

namespace pyasc::sema {

namespace {

// Types of variables only widen, so attempts end long before this.
constexpr int kMaxAttempts = 100;

// Hands what an attempt reported to the caller's list.
void Forward(diag::DiagnosticList &from, diag::DiagnosticList &to) {
  for (const v1::Diagnostic &d : from.Take()) {
    auto added =
        to.Report(d.severity(), d.code(), diag::SourceRange::FromProto(d.range()), d.message());
    for (const v1::Diagnostic &note : d.notes())
      added.Note(diag::SourceRange::FromProto(note.range()), note.message());
    for (const v1::FixIt &fix : d.fixits())
      added.FixIt(diag::SourceRange::FromProto(fix.range()), fix.replacement());
  }
}

std::string KernelNames(const FileScope &file) {
  std::string names;
  for (const syntax::FunctionDef *k : file.kernels)
    names += (names.empty() ? "" : ", ") + std::string(k->name);
  return names;
}

const syntax::FunctionDef *FindKernel(const v1::CompileRequest &request, const ModuleScope &scope,
                                      diag::DiagnosticList &diags) {
  if (scope.files.empty()) {
    diags.Error("no-kernel", {}, "the request has no source file");
    return nullptr;
  }
  const FileScope &file = scope.files[0];
  const std::string &name = request.kernel();
  if (file.kernels.empty()) {
    diags.Error("no-kernel", file.parse.module->range,
                "the file has no kernel; decorate a function with @asc.kernel");
    return nullptr;
  }
  if (name.empty()) {
    if (file.kernels.size() == 1)
      return file.kernels[0];
    diags.Error("ambiguous-kernel", file.kernels[1]->name_range,
                "the file has several kernels (" + KernelNames(file) + "); name one");
    return nullptr;
  }
  // As in Python, the last definition of a name counts.
  const syntax::FunctionDef *found = nullptr;
  for (const syntax::FunctionDef *k : file.kernels)
    if (k->name == name)
      found = k;
  if (found)
    return found;
  std::string message = "there is no kernel '" + name + "'; the file has " + KernelNames(file);
  diag::SourceRange range;
  if (const ModuleName *other = scope.Find(0, name);
      other && other->value.kind == Value::Kind::Function) {
    message = "'" + name + "' is no kernel: decorate it with @asc.kernel";
    range = other->range;
  }
  diags.Error("unknown-kernel", range, message);
  return nullptr;
}

std::string KeyText(const v1::CompileRequest &request, mlir::ModuleOp module) {
  std::string text = "pyasc kernel 1\ntarget " + std::to_string(request.target()) + "\nsoc " +
                     (request.soc().empty() ? "ascend910b3" : request.soc()) + "\nprecision " +
                     request.options().precision() + "\ndebug " +
                     std::to_string(request.options().debug()) + "\n";
  llvm::raw_string_ostream out(text);
  mlir::OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(-1);
  module.print(out, flags);
  return text;
}

} // namespace

std::optional<KernelModule> BuildKernel(mlir::MLIRContext &context,
                                        const v1::CompileRequest &request,
                                        diag::DiagnosticList &diags) {
  ir::LoadKernelDialects(context);
  ModuleScope scope;
  if (!ParseFiles(request, diags, scope))
    return std::nullopt;
  {
    // What does not fold is no fault until a kernel uses it.
    diag::DiagnosticList ignored;
    TypeMemory memory;
    Emitter folder(context, request, scope, ignored, memory);
    BindModuleNames(
        request,
        [&](uint32_t file, const syntax::Expr *e) { return folder.FoldModuleExpr(file, e); },
        scope);
  }
  const syntax::FunctionDef *kernel = FindKernel(request, scope, diags);
  if (!kernel)
    return std::nullopt;

  // What MLIR reports is our own fault, and must not reach stderr.
  std::string internal;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    if (internal.empty())
      internal = d.str();
    return mlir::success();
  });
  TypeMemory memory;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    memory.changed = false;
    diag::DiagnosticList reported;
    Emitter emitter(context, request, scope, reported, memory);
    mlir::OwningOpRef<mlir::ModuleOp> module = emitter.EmitKernel(*kernel);
    if (memory.changed)
      continue;
    bool failed = reported.HasErrors();
    Forward(reported, diags);
    if (!module || failed)
      return std::nullopt;
    if (mlir::failed(mlir::verify(*module))) {
      diags.Error("internal-error", kernel->name_range,
                  "the compiler made invalid code for this kernel: " + internal);
      return std::nullopt;
    }
    KernelModule out;
    out.kernel_name = std::string(kernel->name);
    out.semantic_key_text = KeyText(request, *module);
    out.module = std::move(module);
    return out;
  }
  diags.Error("internal-error", kernel->name_range,
              "the types of this kernel's variables do not settle");
  return std::nullopt;
}

} // namespace pyasc::sema
