#include "compiler/driver/stages.h"

#include <utility>

#include "compiler/ir/refusal.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace pyasc::compiler {
namespace {

class DumpAfterPass : public mlir::PassInstrumentation {
public:
  explicit DumpAfterPass(std::function<void(llvm::StringRef, mlir::Operation *)> dump)
      : dump_(std::move(dump)) {}
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    dump_(pass->getArgument().empty() ? pass->getName() : pass->getArgument(), op);
  }

private:
  std::function<void(llvm::StringRef, mlir::Operation *)> dump_;
};

} // namespace

diag::SourceRange RangeOf(mlir::Location loc) {
  diag::SourceRange range;
  if (auto position = loc->findInstanceOf<mlir::FileLineColLoc>()) {
    position.getFilename().getValue().getAsInteger(10, range.file);
    range.line = range.end_line = position.getLine();
    range.column = position.getColumn();
    range.end_column = range.column + 1;
  }
  return range;
}

std::string TextOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << "\n";
  return text;
}

void Stages::Time(const std::string &name, const std::function<void()> &work) {
  auto start = std::chrono::steady_clock::now();
  work();
  v1::CompileStage *stage = report_->add_stages();
  stage->set_name(name);
  stage->set_time_ns(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start)
          .count());
}

void Stages::Dump(const std::string &name, mlir::ModuleOp module) {
  if (!dump_)
    return;
  std::string text = TextOf(module);
  if (text == last_)
    return;
  last_ = text;
  std::string key = llvm::formatv("stages/{0,0+2}-{1}.mlir", dumped_++, name).str();
  (*artifact_->mutable_texts())[key] = std::move(text);
}

bool Stages::Run(const std::string &name, mlir::ModuleOp module,
                 const std::function<void(mlir::OpPassManager &)> &build) {
  bool succeeded = false;
  Time(name, [&] {
    // Notes hold no IR: it means nothing to who wrote the kernel.
    module.getContext()->printOpOnDiagnostic(false);
    mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
        Report(name, diagnostic);
      return mlir::success();
    });
    mlir::PassManager passes(module.getContext(), mlir::ModuleOp::getOperationName());
    build(passes);
    if (dump_)
      passes.addInstrumentation(
          std::make_unique<DumpAfterPass>([&](llvm::StringRef pass, mlir::Operation *op) {
            while (op && !mlir::isa<mlir::ModuleOp>(op))
              op = op->getParentOp();
            if (op)
              Dump(name + "-" + pass.str(), mlir::cast<mlir::ModuleOp>(op));
          }));
    succeeded = mlir::succeeded(passes.run(module));
  });
  if (!succeeded && !diagnostics_->HasErrors())
    ReportFault(name, {}, "a pass failed without a word");
  return succeeded;
}

void Stages::Report(const std::string &stage, mlir::Diagnostic &diagnostic) {
  diag::SourceRange where = RangeOf(diagnostic.getLocation());
  std::string message = diagnostic.str();
  if (!llvm::StringRef(message).starts_with(ir::kRefusal))
    return ReportFault(stage, where, message);
  diag::DiagnosticBuilder built = diagnostics_->Error("cannot-lower", where, message);
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    built.Note(RangeOf(note.getLocation()), note.str());
}

void Stages::ReportFault(const std::string &stage, diag::SourceRange where,
                         const std::string &detail) {
  // One fault makes many complaints; the first is the one to look into.
  if (std::exchange(faulty_, true))
    return;
  diagnostics_
      ->Error("internal-error", where,
              "internal error of the compiler in the stage '" + stage +
                  "', met while lowering this statement: the fault is pyasc's, not the kernel's")
      .Note("please report it with the kernel's file, the command with its arguments and target, "
            "and the output of `pyasc --version`")
      .Note("detail for that report: " + detail.substr(0, detail.find('\n')));
}

} // namespace pyasc::compiler
