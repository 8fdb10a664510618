// Linear forms of a nest written as affine expressions over SSA values.
#ifndef PYASC_COMPILER_TRANSFORM_INDEX_EXPR_H
#define PYASC_COMPILER_TRANSFORM_INDEX_EXPR_H

#include <functional>

#include "compiler/transform/nest.h"

namespace pyasc {

// Collects the values that the expressions use; expression dimension i is operands[i], and stays so
// while more expressions are made.
class IndexExpressions {
public:
  // `materialize` gives the value to use for one of the nest's.
  IndexExpressions(const Nest &nest, mlir::MLIRContext *context,
                   std::function<mlir::Value(mlir::Value)> materialize)
      : nest(nest), context(context), materialize(std::move(materialize)) {}

  mlir::AffineExpr of(const LinearForm &form);

  llvm::SmallVector<mlir::OpFoldResult> operands;

private:
  mlir::AffineExpr ofVariable(unsigned variable);

  const Nest &nest;
  mlir::MLIRContext *context;
  std::function<mlir::Value(mlir::Value)> materialize;
};

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_INDEX_EXPR_H
