#include "compiler/sema/build_kernel.h"

#include <map>
#include <string_view>
#include <vector>

#include "compiler/ir/asc_dialect.h"
#include "compiler/sema/emitter.h"
#include "compiler/sema/module_scope.h"
#include "compiler/sema/signature.h"
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

// The decorator of a function that is no kernel and was meant as one: a misspelt @asc.kernel, or
// what another language calls it; null when there is none.
const syntax::Expr *MissedDecorator(const syntax::FunctionDef &function) {
  for (const syntax::Expr *d : function.decorator_list) {
    auto *call = llvm::dyn_cast<syntax::Call>(d);
    const syntax::Expr *named = call ? call->func : d;
    std::string_view name = LastName(named);
    auto *attribute = llvm::dyn_cast<syntax::Attribute>(named);
    std::string_view module = attribute ? LastName(attribute->value) : "";
    if (!ClosestName(name, {"kernel"}).empty() || name == "jit" || name == "njit" ||
        name == "prim_func" || ((module == "asc" || module == "pyasc") && attribute))
      return named;
  }
  return nullptr;
}

void SayNotAKernel(const syntax::FunctionDef &function, const syntax::Expr &decorator,
                   v1::Severity severity, diag::DiagnosticList &diags) {
  diags
      .Report(severity, severity == v1::SEVERITY_ERROR ? "no-kernel" : "unknown-decorator",
              decorator.range,
              "this decorator makes no kernel of '" + std::string(function.name) +
                  "'; a kernel is a function with @asc.kernel")
      .FixIt(decorator.range, "asc.kernel");
}

void SayNoKernel(const FileScope &file, diag::DiagnosticList &diags) {
  const syntax::FunctionDef *first = nullptr;
  bool said = false;
  ForEachStatement(file.parse.module->body, [&](const syntax::Stmt *s) {
    auto *f = llvm::dyn_cast<syntax::FunctionDef>(s);
    if (!f)
      return;
    first = first ? first : f;
    if (const syntax::Expr *decorator = MissedDecorator(*f)) {
      SayNotAKernel(*f, *decorator, v1::SEVERITY_ERROR, diags);
      said = true;
    }
  });
  if (said)
    return;
  diags.Error("no-kernel", first ? first->name_range : file.parse.module->range,
              first ? "the file has no kernel; decorate a function, such as '" +
                          std::string(first->name) + "', with @asc.kernel"
                    : "the file has no kernel: it defines no function; a kernel is a function with "
                      "@asc.kernel");
}

std::string KeyText(const v1::CompileRequest &request, mlir::ModuleOp module) {
  std::string text = "pyasc kernel 1\ntarget " + std::to_string(request.target()) + "\nsoc " +
                     (request.soc().empty() ? "ascend910b3" : request.soc()) + "\nprecision " +
                     request.options().precision() + "\ndebug " +
                     std::to_string(request.options().debug()) + "\n";
  llvm::raw_string_ostream out(text);
  mlir::OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(-1);
  // An artifact carries the lines of its text into errors and profiles.
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  module.print(out, flags);
  return text;
}

} // namespace

const syntax::FunctionDef *FindKernel(const v1::CompileRequest &request, const ModuleScope &scope,
                                      diag::DiagnosticList &diags) {
  if (scope.files.empty()) {
    diags.Error("no-kernel", {}, "the request has no source file");
    return nullptr;
  }
  const FileScope &file = scope.files[0];
  if (file.kernels.empty()) {
    SayNoKernel(file, diags);
    return nullptr;
  }
  // As in Python, the last definition of a name counts.
  std::map<std::string_view, const syntax::FunctionDef *> by_name;
  std::string names;
  for (const syntax::FunctionDef *k : file.kernels) {
    auto [it, fresh] = by_name.try_emplace(k->name, k);
    if (fresh)
      names += (names.empty() ? "" : ", ") + std::string(k->name);
    else
      it->second = k;
  }
  const std::string &name = request.kernel();
  if (name.empty() && by_name.size() > 1) {
    diags.Error("ambiguous-kernel", file.kernels[1]->name_range,
                "the file has several kernels (" + names + "); name one");
    return nullptr;
  }
  auto found = name.empty() ? by_name.begin() : by_name.find(name);
  if (found != by_name.end()) {
    for (const syntax::FunctionDef *k : file.kernels)
      if (k != found->second && k->name == found->first)
        diags
            .Warning("duplicate-kernel", k->name_range,
                     "this kernel '" + std::string(k->name) +
                         "' is never used: a later one has its name; rename one of them")
            .Note(found->second->name_range, "the later definition, which counts");
    return found->second;
  }
  if (const ModuleName *other = scope.Find(0, name);
      other && other->value.kind == Value::Kind::Function) {
    diags.Error("unknown-kernel", other->range,
                "'" + name + "' is no kernel: decorate it with @asc.kernel");
    return nullptr;
  }
  std::vector<std::string_view> candidates;
  for (const auto &[other, kernel] : by_name)
    candidates.push_back(other);
  std::string close = ClosestName(name, candidates).name;
  diags.Error("unknown-kernel", {},
              "there is no kernel '" + name + "'" +
                  (close.empty() ? "" : "; did you mean '" + close + "'?") +
                  (close.empty() ? "; the file has " + names : ""));
  return nullptr;
}

void WarnOfMissedKernels(const ModuleScope &scope, diag::DiagnosticList &diags) {
  for (const FileScope &file : scope.files)
    ForEachStatement(file.parse.module->body, [&](const syntax::Stmt *s) {
      auto *f = llvm::dyn_cast<syntax::FunctionDef>(s);
      if (f && !IsKernel(*f))
        if (const syntax::Expr *decorator = MissedDecorator(*f))
          SayNotAKernel(*f, *decorator, v1::SEVERITY_WARNING, diags);
    });
}

bool LoadModules(mlir::MLIRContext &context, const v1::CompileRequest &request,
                 diag::DiagnosticList &diags, ModuleScope &scope) {
  ir::LoadKernelDialects(context);
  if (!ParseFiles(request, diags, scope))
    return false;
  // What does not fold is no fault until a kernel uses it.
  diag::DiagnosticList ignored;
  TypeMemory memory;
  Budget budget;
  Emitter folder(context, request, scope, ignored, memory, budget);
  BindModuleNames(
      request, [&](uint32_t file, const syntax::Expr *e) { return folder.FoldModuleExpr(file, e); },
      scope);
  return true;
}

std::optional<KernelModule> BuildKernel(mlir::MLIRContext &context,
                                        const v1::CompileRequest &request,
                                        diag::DiagnosticList &diags) {
  ModuleScope scope;
  if (!LoadModules(context, request, diags, scope))
    return std::nullopt;
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
  Budget budget;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    memory.changed = false;
    budget.BeginRound();
    diag::DiagnosticList reported;
    for (int i = 0; i < request.files_size(); ++i)
      reported.AddSource(static_cast<uint32_t>(i), request.files(i).content(),
                         request.files(i).first_line());
    Emitter emitter(context, request, scope, reported, memory, budget);
    mlir::OwningOpRef<mlir::ModuleOp> module = emitter.EmitKernel(*kernel);
    // An analysis that was given up is no kernel, whatever came out of it.
    if (budget.exhausted())
      budget.Report(reported, kernel->name_range);
    else if (memory.changed)
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
  budget.Report(diags, kernel->name_range);
  return std::nullopt;
}

} // namespace pyasc::sema
