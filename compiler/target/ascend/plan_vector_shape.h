// The shape of a generic as the vector unit sees it: an iteration space, and for each operand how
// far one step along each dimension moves in memory. From it the planner chooses which dimension
// lies along the vector, which one makes rows of a tile, and which are loops.
#ifndef PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_SHAPE_H
#define PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_SHAPE_H

#include <string>

#include "compiler/target/ascend/plan.h"

namespace pyasc::npu {

struct VectorOperand {
  mlir::Value memref; // what `view` locates
  MemRefView view;
  mlir::Type element;
  int64_t offset = 0;                 // elements, from constants of the indexing map
  llvm::SmallVector<int64_t> strides; // elements, one a dimension
  bool used = true;                   // whether the body reads it
  bool isOutput = false;
  bool streamed = false; // see Planner::streams
};

struct VectorNest {
  mutable mlir::linalg::GenericOp op;
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<bool> reduction;
  llvm::SmallVector<VectorOperand, 0> operands; // as the generic's: inputs, then outputs
  bool empty = false;                           // an extent is 0
  // A reduction starts from the neutral element or from a value, not from what the result holds.
  bool fromNeutral = false;
  mlir::Value fill;
  // A reduction in parts: dimension `divided` is the elements of part at[`part`], of which all but
  // the last have extents[divided]; -1: there are no parts.
  int64_t part = -1, divided = -1;
  int64_t dividedExtent = 0; // of all parts together

  int64_t rank() const { return extents.size(); }
  int64_t inputs() const;
  int64_t points() const;
};

// Failure with a reason: strides that are not constant, an input that overlaps the output, ...
// `merge`: simplified; else with the generic's own dimensions.
mlir::FailureOr<VectorNest> analyseNest(Planner &planner, mlir::linalg::GenericOp op,
                                        std::string &reason, bool merge = true);
// Drops dimensions of extent 1 and merges neighbours that all operands walk as one.
void simplifyNest(VectorNest &nest);

// How a generic's body adds an element to its result: result = op(result, element).
struct Combiner {
  mlir::Operation *op = nullptr;
  mlir::Value element;
  mlir::TypedAttr neutral;
  // Set when rows can be reduced by an instruction.
  std::optional<Reduce> reduce;
  Binary binary = Binary::add;
};
std::optional<Combiner> findCombiner(mlir::linalg::GenericOp op);

enum class VectorForm {
  elementwise, // no reductions
  accumulate,  // columns are parallel; reductions are loops around an accumulator tile
  rowReduce,   // columns are a reduction: each row becomes one element
  lineReduce,  // rows are a reduction: each column becomes one element
};

// How the dimensions of a nest are used; -1: none.
struct VectorLoops {
  VectorForm form = VectorForm::elementwise;
  int64_t column = -1; // along the vector
  int64_t row = -1;    // rows of a tile; of a lineReduce only, a reduction
  // An accumulator a value of this dimension: operands that do not depend on it are loaded once.
  int64_t block = -1;
  llvm::SmallVector<int64_t> outer; // parallel dimensions left over
  llvm::SmallVector<int64_t> steps; // reduction dimensions left over
};

// How an operand varies over a tile.
enum class TileKind { uniform, row, column, full };
// row: one element a column (it lies along a row); column: one element a row.
TileKind kindOf(const VectorOperand &operand, const VectorLoops &loops);

// Every how many-th element of what lies along the vector the operand is: 2 or 4, which are loaded
// (stored, as they were) with what is between them; else 1.
int64_t stepOf(const VectorOperand &operand, const VectorLoops &loops);
// Whether the operand lies across the tile: its contiguous dimension is the tile's rows, so what is
// loaded along it has to be transposed.
bool isTransposed(const VectorOperand &operand, const VectorLoops &loops);

mlir::FailureOr<VectorLoops> chooseLoops(const VectorNest &nest, std::string &reason);
// The same choice for a nest whose first dimensions are the same: its other ones become loops.
// Nothing when an operand does not allow it.
std::optional<VectorLoops> adoptLoops(const VectorNest &nest, const VectorLoops &loops);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_SHAPE_H
