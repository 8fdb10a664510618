// The Ascend lowering: structured form -> npu planned -> placed -> synced (docs/architecture.md).
//
// Every pass works on a builtin.module and keeps no state between modules. What cannot be lowered
// is an error with the location of the source line; a module is never lowered to something else.
#ifndef PYASC_COMPILER_TARGET_ASCEND_PASSES_H
#define PYASC_COMPILER_TARGET_ASCEND_PASSES_H

#include <memory>
#include <string>

#include "compiler/machine/machine.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace pyasc::npu {

struct PlanOptions {
  // The SoC that the module is for; REQUIRES: not null, lives as long as the pass.
  const machine::Soc *soc = machine::FindSoc(machine::kDefaultSoc);
  // Plan no step for the unit: for tests, tuning and comparisons.
  bool use_cube = true;
  bool use_vector = true;
};

// What npu-verify-stage says of buffers.
inline constexpr llvm::StringLiteral kBeyondMemory = "ends beyond its memory";
inline constexpr llvm::StringLiteral kSharesBytes = "shares bytes with a buffer that is live";

// Structured form -> planned. REQUIRES: the module holds one asc.kernel function. It is replaced by
// one function a phase; the module gets npu.soc, npu.stage, npu.workspaces and npu.lowered.
std::unique_ptr<mlir::Pass> createPlanPass(const PlanOptions &options = {});
// planned -> placed: buffers get addresses. An error when they do not fit.
std::unique_ptr<mlir::Pass> createPlacePass();
// placed -> synced: flags and barriers.
std::unique_ptr<mlir::Pass> createSyncPass();
// Checks what the module's npu.stage promises.
std::unique_ptr<mlir::Pass> createVerifyStagePass();

// Plan, place and sync, with canonicalisation between and the stage checked after each.
void buildAscendPipeline(mlir::OpPassManager &manager, const PlanOptions &options);

// Makes the passes (npu-plan, npu-place, npu-sync, npu-verify-stage) and the pipeline (`ascend`)
// known to pyasc-opt. Call once a process, before command lines are parsed.
void registerAscendPasses();

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_PASSES_H
