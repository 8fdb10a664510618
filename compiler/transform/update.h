// Recognises updates: statements of the form M[f] = M[f] op e, the bodies of reductions.
#ifndef PYASC_COMPILER_TRANSFORM_UPDATE_H
#define PYASC_COMPILER_TRANSFORM_UPDATE_H

#include "compiler/transform/nest.h"

namespace pyasc {

enum class Combine { Add, Mul, MaximumF, MinimumF, MaxNumF, MinNumF, MaxS, MinS, MaxU, MinU };

struct UpdateTerm {
  mlir::Value value;
  bool isNegated; // M -= e
};

// The statement computes `old op term op term ...` in `type` and stores it; `old` is what `load`
// reads from the place that is written.
struct Update {
  Combine combine;
  mlir::Operation *load;
  llvm::SmallVector<UpdateTerm, 2> terms;
  mlir::Type type; // f32 for a 16-bit destination that is widened, combined and rounded
};

// Nothing when `statement` is no update, or when another write to its destination stands between
// its load and its store.
std::optional<Update> matchUpdate(const Nest &nest, const Statement &statement);

// The combination of two scalars.
mlir::Value buildCombine(mlir::OpBuilder &builder, mlir::Location loc, Combine combine,
                         mlir::Value lhs, mlir::Value rhs);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_UPDATE_H
