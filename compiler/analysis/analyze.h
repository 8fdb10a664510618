// The compile-time report: what a kernel will need, estimated from its structured form and plan.
//
// The estimate is a roofline, no simulation: each step takes the longer of its arithmetic at its
// unit's peak and its operands, each moved once, at the memory's rate.
#ifndef PYASC_COMPILER_ANALYSIS_ANALYZE_H
#define PYASC_COMPILER_ANALYSIS_ANALYZE_H

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/machine/machine.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pyasc/v1/report.pb.h"

namespace pyasc::compiler::analysis {

// One op at the kernel's top level that computes something.
struct Step {
  uint32_t file = 0;
  uint32_t line = 0; // 0: unknown
  // "contraction 4x5x6 f32", "elementwise 100 f32", "reduction ...", "loop".
  std::string what;
  // Why it stayed a loop (asc.scalar_reason); "" otherwise.
  std::string reason;
  bool contraction = false;
  // Widest operand of a contraction's product in bits.
  int contraction_bits = 0;
  double flops = 0;
  // Scalar operations of any kind, for what runs on the scalar unit.
  double operations = 0;
  double read_bytes = 0;
  double write_bytes = 0;
  int64_t parallel_iterations = 1;
  // False: a trip count or a branch is known at run time only.
  bool exact = true;
};

// REQUIRES: `kernel` in structured (or kernel) form.
std::vector<Step> FindSteps(mlir::func::FuncOp kernel);

// Fills flops, bytes, parallelism, statements, estimates and bottlenecks. `plan` is the planned (or
// later) npu module, null for the host; `soc` null for the host, whose rates are not known: its
// estimates stay unset. compulsory_bytes is the caller's to fill in before.
void FillEstimates(const std::vector<Step> &steps, mlir::ModuleOp plan, const machine::Soc *soc,
                   v1::CompileReport *report);

} // namespace pyasc::compiler::analysis

#endif // PYASC_COMPILER_ANALYSIS_ANALYZE_H
