// Makes branches of a loop nest into what raising understands: selections and guards.
#ifndef PYASC_COMPILER_TRANSFORM_CONVERT_BRANCHES_H
#define PYASC_COMPILER_TRANSFORM_CONVERT_BRANCHES_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace pyasc {

// Why an scf.if of the nest stays a branch: a string attribute on it, a clause without a full stop.
inline constexpr llvm::StringLiteral kBranchReason = "asc.branch_reason";

// Rewrites the body of `loop` in place, without changing what it computes:
//  - an `if` whose sides only assign, one element of a buffer each, becomes arith.select and plain
//    stores, when everything that it would have skipped may be evaluated: no effect, no access that
//    might lie outside of its buffer;
//  - another `if` on loop variables becomes affine.if ops without else, whose conditions exclude
//    one another;
//  - what is indexed by an affine.min or affine.max of two terms becomes two such affine.ifs.
// An integer `if x > m: m = x` becomes a maximum. One on floats does not: it ignores a NaN in x,
// keeps one in m, and keeps m's sign of zero, which no maximum does.
void convertBranches(mlir::affine::AffineForOp loop);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_CONVERT_BRANCHES_H
