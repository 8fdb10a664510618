// A condition on loop variables as conjunctions of affine constraints of which at most one holds.
#ifndef PYASC_COMPILER_TRANSFORM_AFFINE_PIECES_H
#define PYASC_COMPILER_TRANSFORM_AFFINE_PIECES_H

#include <optional>
#include <vector>

#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace pyasc {

class AffinePieces {
public:
  struct Row {
    mlir::AffineExpr expr; // over dims, which stand for operands
    bool isEquality;       // expr == 0, else expr >= 0
  };
  using Piece = std::vector<Row>; // a conjunction; without rows it always holds

  // The i1 value, or its negation, as pieces that exclude one another and together cover it.
  // Nothing when something in it is not affine, or the pieces would be too many.
  std::optional<std::vector<Piece>> of(mlir::Value condition, bool negated);
  // An affine.if without else whose condition is `piece`, at the builder's place.
  mlir::affine::AffineIfOp guard(mlir::OpBuilder &builder, mlir::Location loc, const Piece &piece);

private:
  std::optional<mlir::AffineExpr> exprOf(mlir::Value value, int depth = 0);

  llvm::SmallVector<mlir::Value> operands;
};

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_AFFINE_PIECES_H
