// What the plans of the vector unit share: a trial that learns which buffers a phase needs, and
// the phase itself.
#ifndef PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_PHASE_H
#define PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_PHASE_H

#include <functional>
#include <optional>

#include "compiler/target/ascend/plan.h"
#include "compiler/target/ascend/plan_vector_emit.h"

namespace pyasc::npu {

// Emits a phase's code; on failure the string says why.
using EmitPhase = std::function<mlir::LogicalResult(PhaseEmitter &, TileBuffers &, const Tiling &,
                                                    std::string &reason)>;

// Bytes of UB that vector phases may use.
int64_t vectorBudget(const Planner &planner);

// Emits into a function that is thrown away. The result gives the bytes that the phase's buffers
// need for a tile size.
mlir::FailureOr<std::function<int64_t(TileSize)>>
tryPhase(mlir::Location loc, const Tiling &trial, const EmitPhase &emit, std::string &reason);

mlir::LogicalResult planPhase(Planner &planner, mlir::Location loc, const Tiling &tiling,
                              const EmitPhase &emit, std::string &reason);

// Plans that take several steps at once. Each returns the number of steps taken; 0 when the first
// steps are no such group (nothing has begun then), or failure when the phase begun is not whole.

// Row-wise operations and reductions that follow each other, on tiles of whole rows that stay in
// UB: softmax, normalisations.
mlir::FailureOr<size_t> planRows(Planner &planner, llvm::ArrayRef<mlir::Operation *> steps);
// A fill, accumulations into the same result, and an operation on it: the taps of a convolution.
mlir::FailureOr<size_t> planAccumulations(Planner &planner,
                                          llvm::ArrayRef<mlir::Operation *> steps);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_PHASE_H
