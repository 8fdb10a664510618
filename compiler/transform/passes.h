// The transform pipeline: kernel form -> structured form (docs/architecture.md defines both).
//
// Every pass keeps the meaning of the module; what it cannot prove it leaves as it is. Passes hold
// no state between modules.
#ifndef PYASC_COMPILER_TRANSFORM_PASSES_H
#define PYASC_COMPILER_TRANSFORM_PASSES_H

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace pyasc {

// Each pass is described at the head of its file.
std::unique_ptr<mlir::Pass> createForwardCopiesPass();     // forward_copies.cc
std::unique_ptr<mlir::Pass> createFuseElementwisePass();   // fuse_elementwise.cc
std::unique_ptr<mlir::Pass> createFuseInLoopsPass();       // fuse_elementwise.cc
std::unique_ptr<mlir::Pass> createRemoveDeadBuffersPass(); // remove_dead_buffers.cc
std::unique_ptr<mlir::Pass> createPromoteCellsPass();      // promote_cells.cc
std::unique_ptr<mlir::Pass> createRaiseLoopsPass();        // raise_loops.cc
std::unique_ptr<mlir::Pass> createRaiseRowCopiesPass();    // raise_row_copies.cc
std::unique_ptr<mlir::Pass> createUnrollLoopsPass();       // unroll_loops.cc
std::unique_ptr<mlir::Pass> createSplitPositionsPass();    // split_positions.cc
std::unique_ptr<mlir::Pass> createMarkParallelPass();      // mark_parallel.cc

// Appends the whole pipeline to `manager`, which must be anchored on builtin.module. After it the
// module has the attribute `asc.pass_counts = {name = n : i64, ...}`: what each pass did.
void buildStructurePipeline(mlir::OpPassManager &manager);

// Makes every pass, and the pipeline as `structure`, known by name to pyasc-opt's command line.
// Call once a process, before command lines are parsed.
void registerTransformPasses();

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_PASSES_H
