// Row-wise steps on tiles of whole rows, for whoever chooses the rows himself.
#ifndef PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_ROWS_H
#define PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_ROWS_H

#include <memory>

#include "compiler/target/ascend/plan_vector_phase.h"

namespace pyasc::npu {

// Rows that are worked on together.
struct RowTile {
  mlir::Value row, rows; // the first one, and how many
  mlir::Value iteration; // number of the tile on this core
  // Tensors whose rows lie elsewhere, at the same distance: the place of the tile's first row.
  struct Fed {
    mlir::Value root, memory, offset;
  };
  llvm::SmallVector<Fed, 2> fed;
};

class RowSteps {
public:
  // Null when the steps are no such group, all of them.
  static std::shared_ptr<RowSteps> find(Planner &planner, llvm::ArrayRef<mlir::Operation *> steps);

  int64_t rows() const;
  // How the steps touch a tensor: nothing, or all of its columns row by row from its start, or
  // otherwise. `stride`: elements from row to row.
  enum class Use { none, rows, other };
  Use readOf(mlir::Value root, int64_t stride) const;
  Use writeOf(mlir::Value root, int64_t stride) const;
  bool touches(mlir::Value root) const;

  // The tiling with the most rows up to `most` in a tile that fits into `budget`; failure: none.
  mlir::FailureOr<Tiling> chooseTiling(mlir::Location loc, int64_t most, int64_t budget,
                                       std::string &reason);

  using EmitTile = llvm::function_ref<mlir::LogicalResult(const RowTile &)>;
  // `loops` makes the loops around the tile and calls what it is given, once.
  mlir::LogicalResult emit(PhaseEmitter &emitter, TileBuffers &buffers, const Tiling &tiling,
                           llvm::function_ref<mlir::LogicalResult(EmitTile)> loops,
                           std::string &reason) const;

  ~RowSteps();

private:
  RowSteps();
  struct State;
  std::unique_ptr<State> state;
};

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_ROWS_H
