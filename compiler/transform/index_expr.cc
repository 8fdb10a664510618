#include "compiler/transform/index_expr.h"

namespace pyasc {

using namespace mlir;

AffineExpr IndexExpressions::of(const LinearForm &form) {
  AffineExpr expr = getAffineConstantExpr(form.constant, context);
  for (unsigned v = 0; v < form.coefficients.size(); ++v)
    if (form.mentions(v))
      expr = expr + ofVariable(v) * form[v];
  return expr;
}

AffineExpr IndexExpressions::ofVariable(unsigned variable) {
  for (const Division &division : nest.divisions)
    if (division.variable == variable)
      return of(division.numerator).floorDiv(division.divisor);
  OpFoldResult value = materialize(nest.values[variable]);
  unsigned position = llvm::find(operands, value) - operands.begin();
  if (position == operands.size())
    operands.push_back(value);
  AffineExpr expr = getAffineDimExpr(position, context);
  for (const NestLoop &loop : nest.loops) {
    // Strided loops are modelled by their iteration count, the IR has the induction variable.
    int64_t step = loop.induction[variable];
    if (loop.variable != variable || step == 1)
      continue;
    LinearForm start = loop.induction;
    start.set(variable, 0);
    return (expr - of(start)).floorDiv(step);
  }
  return expr;
}

} // namespace pyasc
