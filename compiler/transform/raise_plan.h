// Decides whether one statement is one structured operation, and how its iteration space looks.
#ifndef PYASC_COMPILER_TRANSFORM_RAISE_PLAN_H
#define PYASC_COMPILER_TRANSFORM_RAISE_PLAN_H

#include "compiler/transform/update.h"

namespace pyasc {

// One dimension of the structured operation: a primitive linear form over the loops, and the
// interval it runs through (constraints on the variable firstDimension + its index, and on
// variables that are fixed where the operation will stand).
struct RaisedDimension {
  LinearForm form;
  std::vector<Constraint> interval;
  bool isReduction = true;
  bool mayBeEmpty = false; // for some values of the fixed variables
};

struct RaisePlan {
  unsigned statement;
  unsigned depth; // loops of the statement that stay around the operation
  unsigned firstDimension;
  std::vector<RaisedDimension> dimensions; // those of the destination first
  std::vector<Constraint> guards;          // on fixed variables: when the operation runs at all
  std::optional<Update> update;            // present when some dimension is a reduction

  bool hasReduction() const;
};

// A row or value as multiple of one dimension plus what is fixed; or, in a window, as the sum of
// multiples of several.
struct DimensionUse {
  std::optional<unsigned> dimension;
  int64_t stride = 0;
  llvm::SmallVector<std::pair<unsigned, int64_t>> window;
  LinearForm offset;
};

// Plans the statement as one operation inside its first `depth` loops. The caller has shown that it
// has no dependence on itself there, apart from those that computeDependences leaves out.
// Nothing, and why in `reason`, when the iteration space is no box of dimensions that the operands
// are indexed by.
std::optional<RaisePlan> planRaise(const Nest &nest, unsigned statement, unsigned depth,
                                   const std::optional<Update> &update, ProofCache &cache,
                                   std::string &reason);

DimensionUse useOf(const Nest &nest, const RaisePlan &plan, const LinearForm &row);

// Integer coefficients of `form`'s varying part over the dimensions, when there are such.
std::optional<llvm::SmallVector<int64_t>> coefficientsOver(const Nest &nest, const RaisePlan &plan,
                                                           const LinearForm &form);

// The loops of the plan's statement that are folded into the operation.
llvm::ArrayRef<unsigned> innerLoops(const Nest &nest, const RaisePlan &plan);

// The values that the operation's body computes from: what is stored, or an update's terms.
llvm::SmallVector<mlir::Value> bodyRoots(const Statement &statement,
                                         const std::optional<Update> &update);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_RAISE_PLAN_H
