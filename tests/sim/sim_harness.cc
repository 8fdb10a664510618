#include "tests/sim/sim_harness.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "compiler/target/ascend/export_sim.h"
#include "compiler/target/ascend/npu.h"

namespace pyasc::tests {

absl::StatusOr<v1::SimFunction> ExportText(const std::string &text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context
      .loadDialect<npu::NpuDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                   mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    errors += d.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return absl::InvalidArgumentError(errors);
  diag::DiagnosticList diagnostics;
  v1::SimProgram program;
  if (!npu::ExportSimProgram(*module, diagnostics, &program)) {
    for (const v1::Diagnostic &d : diagnostics.Take())
      errors += "line " + std::to_string(d.range().line()) + ": " + d.message() + "\n";
    return absl::InvalidArgumentError(errors);
  }
  return program.functions(0);
}

absl::StatusOr<device::LaunchOutcome>
RunText(const std::string &module, std::vector<std::vector<std::byte>> &buffers, int64_t blocks) {
  absl::StatusOr<v1::SimFunction> function = ExportText(module);
  if (!function.ok())
    return function.status();
  std::vector<int64_t> sizes;
  for (const auto &buffer : buffers)
    sizes.push_back(static_cast<int64_t>(buffer.size()));
  return sim::RunProgram(sim::MakeArtifact(*function, sizes, blocks), buffers);
}

} // namespace pyasc::tests
