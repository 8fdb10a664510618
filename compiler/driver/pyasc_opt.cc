// pyasc-opt: runs passes over a textual module, for FileCheck tests and for looking at one pass.
//
//   pyasc-opt FILE [--split-input-file] [--allow-unregistered] [--PASS ...] [--pass-pipeline=...]
//
// The module goes to stdout; exit code 1 and diagnostics on stderr when parsing, a pass or the
// verifier fails.
#include "compiler/ir/asc_dialect.h"
#include "compiler/target/ascend/npu.h"
#include "compiler/target/ascend/passes.h"
#include "compiler/transform/passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/ToolUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

namespace cl = llvm::cl;

namespace {

cl::opt<std::string> inputFile(cl::Positional, cl::desc("FILE"), cl::init("-"));
cl::opt<bool> splitInput("split-input-file", cl::desc("Treat the parts between // ----- alone"));
cl::opt<bool> allowUnregistered("allow-unregistered",
                                cl::desc("Accept ops of dialects that are not loaded"));
cl::opt<bool> withLocations("locations", cl::desc("Print locations"));
cl::opt<bool> timing("timing", cl::desc("Print the time of each pass to stderr"));

mlir::LogicalResult process(std::unique_ptr<llvm::MemoryBuffer> buffer,
                            const mlir::PassPipelineCLParser &passes, llvm::raw_ostream &out) {
  mlir::DialectRegistry registry;
  registry.insert<pyasc::ir::AscDialect, mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                  mlir::func::FuncDialect, mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::scf::SCFDialect, pyasc::ir::AscDialect,
                  pyasc::npu::NpuDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects(allowUnregistered);

  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler diagnostics(sources, &context);
  mlir::OwningOpRef<mlir::Operation *> module =
      mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return mlir::failure();

  mlir::PassManager manager(&context, mlir::ModuleOp::getOperationName());
  if (timing)
    manager.enableTiming();
  auto onError = [&](const llvm::Twine &message) {
    mlir::emitError(mlir::UnknownLoc::get(&context)) << message;
    return mlir::failure();
  };
  if (failed(passes.addToPipeline(manager, onError)) || failed(manager.run(*module)))
    return mlir::failure();
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(withLocations);
  module->print(out, flags);
  out << "\n";
  return mlir::success();
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  pyasc::registerTransformPasses();
  pyasc::npu::registerAscendPasses();
  mlir::PassPipelineCLParser passes("", "Passes to run");
  cl::ParseCommandLineOptions(argc, argv, "pyasc's pass driver\n");

  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> input = mlir::openInputFile(inputFile, &error);
  if (!input) {
    llvm::errs() << "pyasc-opt: " << error << "\n";
    return 1;
  }
  auto processPart = [&](std::unique_ptr<llvm::MemoryBuffer> part, llvm::raw_ostream &out) {
    return process(std::move(part), passes, out);
  };
  llvm::StringRef marker = splitInput ? mlir::kDefaultSplitMarker : "";
  return failed(
      mlir::splitAndProcessBuffer(std::move(input), processPart, llvm::outs(), marker, marker));
}
