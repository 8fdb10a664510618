// How often something inside nested loops runs.
//
// Exact, not estimated: the integer points of the loops around are counted, bounds that depend on
// loops further out (tails of blocks, triangles) and conditions on loop variables included. What is
// known at run time only, or would take too long to count, is said to be not known.
#ifndef PYASC_COMPILER_ANALYSIS_ITERATIONS_H
#define PYASC_COMPILER_ANALYSIS_ITERATIONS_H

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Value.h"

namespace pyasc::compiler::analysis {

// The loops and conditions around a point of the program, outermost first. They are entered and
// left like a stack. Loops that do not depend on one another multiply; those that do are walked,
// all but the innermost, up to a bound of work for the whole object.
class IterationSpace {
public:
  // Enter the loop, or the first side of the branch. False: not entered, for its bounds or its
  // condition are not integer arithmetic on the loops around.
  bool Enter(mlir::affine::AffineForOp loop);
  bool Enter(mlir::scf::ForOp loop);
  bool EnterIf(mlir::affine::AffineIfOp branch);
  bool EnterIf(mlir::scf::IfOp branch);
  // From the branch entered last to its other side. REQUIRES: nothing was entered since.
  void Negate();
  // `extent` times, a value of type index or a constant.
  bool EnterExtent(mlir::OpFoldResult extent);
  // REQUIRES: something was entered.
  void Leave();

  // Points of all that is entered: 1 for nothing. nullopt: more work than the bound allows.
  std::optional<double> Count();
  // The same from a few evenly spread iterations of each loop, when Count() gives nothing.
  double Sample() const;

private:
  using Expr = int; // index into nodes_

  enum class Kind { kConstant, kLoop, kAdd, kMul, kFloorDiv, kCeilDiv, kMod, kMin, kMax, kTest };
  enum class Test { kEq, kNe, kLt, kLe }; // signed
  struct Node {
    Kind kind;
    Test test = Test::kEq;
    // The value of a constant, the number of a loop.
    int64_t value = 0;
    Expr left = -1, right = -1;
    // Bits of the loops that it depends on.
    uint64_t loops = 0;
  };
  // for iv in range(low, high, step). A condition is a loop of one or no iteration.
  struct Loop {
    mlir::Value iv;
    Expr low = -1, high = -1;
    int64_t step = 1;
    uint64_t needs = 0;
    // Never given twice.
    unsigned id = 0;
  };

  std::optional<Expr> Make(Kind kind, Expr left, Expr right, Test test = Test::kEq);
  Expr Constant(int64_t value);
  std::optional<Expr> Compile(mlir::Value value, int depth = 0);
  std::optional<Expr> Compile(mlir::AffineExpr expr, unsigned dims, mlir::ValueRange operands,
                              int depth);
  // The results of the map joined by `kind`.
  std::optional<Expr> Compile(mlir::AffineMap map, mlir::ValueRange operands, Kind kind, int depth);
  bool Push(mlir::Value iv, std::optional<Expr> low, std::optional<Expr> high, int64_t step);
  bool PushCondition(std::optional<Expr> holds);

  // nullopt: overflow, or a division by zero.
  std::optional<int64_t> Evaluate(Expr expr, const int64_t *point) const;
  std::vector<std::vector<unsigned>> Components() const;
  std::optional<int64_t> Trips(const Loop &loop, const int64_t *point, int64_t *low) const;
  std::optional<double> Walk(const std::vector<unsigned> &component, size_t at, int64_t *point);
  double Spread(const std::vector<unsigned> &component, size_t at, int64_t *point) const;

  std::vector<Node> nodes_;
  std::vector<Loop> loops_;
  unsigned next_id_ = 0;
  // Of components, by the ids of their loops.
  std::map<std::vector<unsigned>, std::optional<double>> known_;
  int64_t work_left_ = int64_t{1} << 20;
};

} // namespace pyasc::compiler::analysis

#endif // PYASC_COMPILER_ANALYSIS_ITERATIONS_H
