// Exact integer reasoning about loop nests, on top of MLIR's Presburger library.
//
// Everything is phrased as the emptiness of conjunctions of affine constraints. Answers are
// one-sided: `true` is a proof, `false` means "not proven" (which includes: too large, overflow).
#ifndef PYASC_COMPILER_TRANSFORM_POLYHEDRON_H
#define PYASC_COMPILER_TRANSFORM_POLYHEDRON_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace pyasc {

// sum of coefficients[v] * v, plus constant. Variables are numbered by their owner (see Nest).
struct LinearForm {
  llvm::SmallVector<int64_t, 8> coefficients; // missing ones at the end are zero
  int64_t constant = 0;

  static LinearForm ofVariable(unsigned variable);
  static LinearForm ofConstant(int64_t value);

  int64_t operator[](unsigned variable) const {
    return variable < coefficients.size() ? coefficients[variable] : 0;
  }
  void set(unsigned variable, int64_t coefficient);
  bool isConstant() const;
  bool mentions(unsigned variable) const { return (*this)[variable] != 0; }
  // this + scale * other; nothing on overflow.
  std::optional<LinearForm> plus(const LinearForm &other, int64_t scale = 1) const;
  std::optional<LinearForm> times(int64_t factor) const;
  // The same form without its constant and without the variables that `keep` rejects.
  template <typename Predicate> LinearForm restrictedTo(Predicate keep) const {
    LinearForm result;
    for (unsigned v = 0; v < coefficients.size(); ++v)
      if (coefficients[v] != 0 && keep(v))
        result.set(v, coefficients[v]);
    return result;
  }
  bool operator==(const LinearForm &other) const;
};

// form >= 0, or form == 0.
struct Constraint {
  LinearForm form;
  bool isEquality = false;
};

// Remembers proofs (the same small system comes up for many pairs of accesses) and bounds the work
// of one nest: past `limit` solver calls nothing is proven any more.
struct ProofCache {
  llvm::StringMap<bool> known;
  unsigned solverCalls = 0;
  unsigned limit = 4000;
};

// A conjunction of constraints over integer variables.
class System {
public:
  explicit System(unsigned numVariables) : numVariables(numVariables) {}

  unsigned addVariable() { return numVariables++; }
  unsigned getNumVariables() const { return numVariables; }
  void add(const Constraint &constraint) { constraints.push_back(constraint); }
  void addNonNegative(const LinearForm &form) { constraints.push_back({form, false}); }
  void addZero(const LinearForm &form) { constraints.push_back({form, true}); }
  // Marks the system as unusable for proofs: a form that belongs to it overflowed.
  void poison() { poisoned = true; }
  llvm::ArrayRef<Constraint> getConstraints() const { return constraints; }

  // True only if no integer point satisfies all constraints.
  bool isProvablyEmpty(ProofCache &cache) const;
  // True only if `form` >= 0 at every integer point.
  bool implies(const LinearForm &form, ProofCache &cache) const;

private:
  unsigned numVariables;
  std::vector<Constraint> constraints;
  bool poisoned = false;
};

// The constraints on `target` alone, and on variables that `isParameter` accepts, that follow from
// `constraints` when every other variable is projected out. An over-approximation: every point of
// the system satisfies them. Nothing when the projection grows too large.
std::optional<std::vector<Constraint>> projectOnto(llvm::ArrayRef<Constraint> constraints,
                                                   unsigned numVariables, unsigned target,
                                                   const llvm::SmallVectorImpl<bool> &isParameter);

// True only if every integer point of `box` (over any variables but the existential ones) extends
// to a point of `constraints` by some choice of the `existential` variables.
bool isCovered(llvm::ArrayRef<Constraint> box, llvm::ArrayRef<Constraint> constraints,
               unsigned numVariables, llvm::ArrayRef<unsigned> existential, ProofCache &cache);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_POLYHEDRON_H
