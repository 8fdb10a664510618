// Reductions that other operations are built from.
#ifndef PYASC_COMPILER_SEMA_LIBRARY_REDUCTIONS_H
#define PYASC_COMPILER_SEMA_LIBRARY_REDUCTIONS_H

#include "compiler/sema/emitter.h"

namespace pyasc::sema {

// A new tensor without the reduced axes: `combine` of `body(operands)` over them, begun at `init`
// and computed in type `wide`, then rounded to `t`. The first operand has all axes; further ones
// may have size 1 in some.
Value Reduce(Emitter &e, const SourceRange &range, const std::vector<Value> &operands,
             const std::vector<bool> &reduced, DType wide, DType t, const Constant &init,
             BinaryOp combine, const Emitter::Body &body);

// The result as NumPy shapes it: ones in place of the reduced axes when `keepdims`, a scalar when
// no axis is left.
Value Finish(Emitter &e, const SourceRange &range, const Value &x, const std::vector<bool> &reduced,
             bool keepdims);

// The type of a sum of elements of type `t`.
DType SumType(DType t);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_LIBRARY_REDUCTIONS_H
