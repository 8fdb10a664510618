// The compile-time report: what a kernel will need, estimated from its structured form and plan.
//
// The estimate is no simulation. On the cube and vector units a step takes the longer of its
// arithmetic at the unit's peak and its operands, each moved once, at the memory's rate. On the
// scalar unit it takes what its instructions cost one after the other, and the cache lines that
// they miss. Each phase's launch is added; pipes that wait for one another are not thought of.
#ifndef PYASC_COMPILER_ANALYSIS_ANALYZE_H
#define PYASC_COMPILER_ANALYSIS_ANALYZE_H

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/machine/machine.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pyasc/v1/report.pb.h"

namespace pyasc::compiler::analysis {

// Counts of what the scalar unit of one core does.
struct ScalarWork {
  double integer_ops = 0; // loop control and addresses too
  double float_ops = 0;
  double divisions = 0; // and whatever takes as long
  double accesses = 0;  // of global memory through the data cache
  double misses = 0;    // lines that it fetches

  double Cycles(const machine::Soc &soc) const;
};

// On each step's op: its number.
inline constexpr llvm::StringLiteral kStepAttribute = "asc.step";

// One op at the kernel's top level that computes something.
struct Step {
  uint32_t file = 0;
  uint32_t line = 0; // 0: unknown
  uint32_t end_line = 0;
  // "contraction 4x5x6 f32", "elementwise 100 f32", "reduction ...", "loop".
  std::string what;
  // Why it stayed a loop (asc.scalar_reason); "" otherwise.
  std::string reason;
  bool contraction = false;
  // Widest operand of a contraction's product in bits.
  int contraction_bits = 0;
  // At least: where a trip count or a branch is known at run time only, and `exact` is false, what
  // hangs on it is not counted. Bytes alike.
  double flops = 0;
  // Of these, those on 16-bit lanes.
  double narrow_flops = 0;
  // Operations of any kind, for what runs on the vector unit, and those on 16-bit lanes. Like the
  // scalar unit's work a guess where not exact: a loop of unknown length runs once, a branch takes
  // each side half of the time.
  double operations = 0;
  double narrow_operations = 0;
  // What one core's scalar unit would do for all of it.
  ScalarWork scalar;
  double read_bytes = 0;
  double write_bytes = 0;
  int64_t parallel_iterations = 1;
  // False: a trip count or a branch is known at run time only, or too long to count.
  bool exact = true;
};

// Leaves each step's number on its op, for the plan to name. REQUIRES: `kernel` in structured (or
// kernel) form.
std::vector<Step> FindSteps(mlir::func::FuncOp kernel);

// Warns where an iteration of a parallel loop provably reads an element that another iteration
// writes. REQUIRES: `kernel` in kernel form.
void WarnOfParallelReads(mlir::func::FuncOp kernel, diag::DiagnosticList &diagnostics);

// Fills flops, bytes, parallelism, statements, estimates and bottlenecks. `plan` is the planned (or
// later) npu module, null for the host; `soc` null for the host, whose rates are not known: its
// estimates stay unset. compulsory_bytes is the caller's to fill in before.
void FillEstimates(const std::vector<Step> &steps, mlir::ModuleOp plan, const machine::Soc *soc,
                   v1::CompileReport *report);

} // namespace pyasc::compiler::analysis

#endif // PYASC_COMPILER_ANALYSIS_ANALYZE_H
