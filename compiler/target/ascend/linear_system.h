// Conjunctions of linear constraints over integers, and whether they have a solution.
//
// The systems of conflicts.h are small and most are decided by elimination and bounds; what these
// leave open goes to MLIR's Presburger library, which is exact and a hundred times slower.
#ifndef PYASC_COMPILER_TARGET_ASCEND_LINEAR_SYSTEM_H
#define PYASC_COMPILER_TARGET_ASCEND_LINEAR_SYSTEM_H

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "llvm/ADT/SmallVector.h"

namespace pyasc::npu {

// constant + sum of coefficient * variable.
struct Linear {
  // Sorted by variable; no coefficient is 0.
  llvm::SmallVector<std::pair<unsigned, int64_t>, 4> terms;
  int64_t constant = 0;

  bool isConstant() const { return terms.empty(); }
  Linear &add(const Linear &other, int64_t factor = 1);
};

class LinearSystem {
public:
  using Row = llvm::SmallVector<int64_t, 16>; // coefficients, then the constant

  Linear variable() { return {{{count++, 1}}, 0}; }
  void zero(Linear expression) { equalities.push_back(std::move(expression)); }
  // expression >= 0
  void positive(Linear expression) { inequalities.push_back(std::move(expression)); }

  // Whether no integers fulfil the constraints. Of systems of too many variables it is not known,
  // and the answer is no.
  bool isEmpty() const;

  // The same constraints in a form that can be compared: equal keys, equal answers.
  std::vector<int64_t> key() const;

  // The two ways to the answer, for tests: without a search of more than a few hundred steps
  // (nullopt: not found out), and by integer programming.
  std::optional<bool> isEmptyByBounds() const;
  bool isEmptyByProgramming() const;

private:
  Row rowOf(const Linear &expression) const;

  unsigned count = 0;
  llvm::SmallVector<Linear> equalities, inequalities;
};

// Remembers answers: the accesses of one function ask the same again and again.
class LinearSystemMemo {
public:
  bool isEmpty(const LinearSystem &system);

private:
  std::map<std::vector<int64_t>, bool> known;
};

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_LINEAR_SYSTEM_H
