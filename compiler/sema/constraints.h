// Systems of affine conditions as MLIR's Presburger library takes them.
#ifndef PYASC_COMPILER_SEMA_CONSTRAINTS_H
#define PYASC_COMPILER_SEMA_CONSTRAINTS_H

#include <optional>
#include <vector>

#include "compiler/sema/value.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"

namespace pyasc::sema {

// Larger systems are not searched for an integer point, which takes exponential time: what cannot
// be proved of them is checked when the kernel runs.
inline constexpr unsigned kMaxSampleVariables = 20;

// The conditions of `all` that bear on the dims of `goal`, directly or through one another.
// `dims`: one more than the highest number of a dim.
std::vector<AffineCondition> RelevantConditions(const std::vector<AffineCondition> &all,
                                                mlir::AffineExpr goal, size_t dims);

// The integer points where all conditions hold; dims that do not occur are left out, the others
// keep their order. nullopt when one is not affine. REQUIRES: at least one condition.
std::optional<mlir::FlatLinearValueConstraints>
ToConstraints(const std::vector<AffineCondition> &conditions, size_t dims);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_CONSTRAINTS_H
