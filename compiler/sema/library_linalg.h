// Products of matrices, for the operations that are made of them.
#ifndef PYASC_COMPILER_SEMA_LIBRARY_LINALG_H
#define PYASC_COMPILER_SEMA_LIBRARY_LINALG_H

#include "compiler/sema/emitter.h"

namespace pyasc::sema {

// sum[..., m, n] += x[..., m, k] @ y[..., k, n], in the type of `sum`; batch axes of x and y that
// are absent or 1 are stretched to those of `sum`.
void AddProduct(Emitter &e, const SourceRange &range, const Value &x, const Value &y,
                const Value &sum);

// The type that a product of x and y has. With precision='mixed' an operand may be rounded for it.
// Reports when there is none, or when it is bool.
std::optional<DType> ProductType(Emitter &e, const SourceRange &range, Value &x, Value &y);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_LIBRARY_LINALG_H
