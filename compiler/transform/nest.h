// A loop nest as statements over integer domains: the model that dependences, distribution and
// raising reason about. It points into the IR and holds no copy of it.
//
// A statement is one op with an effect (a store, or anything opaque) with the pure ops that feed
// it. Loads belong to every statement that uses them.
#ifndef PYASC_COMPILER_TRANSFORM_NEST_H
#define PYASC_COMPILER_TRANSFORM_NEST_H

#include <string>

#include "compiler/transform/polyhedron.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace pyasc {

struct NestLoop {
  mlir::affine::AffineForOp op;
  // Counts iterations from 0 when the step is not 1, else it is the induction variable itself.
  unsigned variable;
  LinearForm induction; // the induction variable, in terms of variables
  llvm::SmallVector<Constraint, 2> bounds;
};

// A variable that stands for floor(numerator / divisor).
struct Division {
  unsigned variable;
  LinearForm numerator;
  int64_t divisor;
};

struct Access {
  mlir::Operation *op;
  mlir::Value memref; // perhaps a view made outside of the nest
  bool isWrite;
  bool isExact = false;               // false: may touch any element
  llvm::SmallVector<LinearForm> rows; // one a dimension, when exact
  llvm::SmallVector<unsigned> loops;  // of the op itself, outermost first
  llvm::SmallVector<Constraint> guards;
  unsigned position; // textual order
};

struct Statement {
  mlir::Operation *op;
  llvm::SmallVector<unsigned> loops;
  llvm::SmallVector<Constraint> guards;
  unsigned position;
  llvm::SetVector<mlir::Operation *> slice; // pure ops and loads inside the nest that feed op
  std::vector<Access> accesses;             // the write first, when op is an affine.store
  // Some load of the slice stands outside of the statement's innermost loops, and what it reads is
  // overwritten inside them: the statement may only run in loops cloned from this depth inwards.
  std::optional<unsigned> pinnedDepth;
  // Why this can never be one structured operation; empty when it may.
  std::string obstacle;
};

class Nest {
public:
  // `root` is an affine.for. Fails, with the reason, on a nest that cannot be modelled at all.
  static std::optional<Nest> analyse(mlir::affine::AffineForOp root, std::string &reason);

  mlir::affine::AffineForOp root;
  std::vector<NestLoop> loops;
  std::vector<Statement> statements;
  std::vector<Division> divisions;
  llvm::SmallVector<mlir::Value> values; // by variable: the SSA value of a symbol or of a loop

  unsigned getNumVariables() const { return values.size(); }
  // True when `variable` takes several values inside the loops `inner` (itself or by division).
  bool varies(unsigned variable, llvm::ArrayRef<unsigned> inner) const;
  // Adds the bounds of `ofLoops`, the guards, and what defines the divisions they mention.
  void addDomain(System &system, llvm::ArrayRef<unsigned> ofLoops,
                 llvm::ArrayRef<Constraint> guards) const;
  // Adds what defines the divisions that `system` mentions, directly or through one another,
  // or that `extra` mentions.
  void addDivisions(System &system, llvm::ArrayRef<LinearForm> extra = {}) const;
  // The linear form of an index value, or nothing.
  std::optional<LinearForm> evaluate(mlir::Value value);
  std::optional<LinearForm> evaluate(mlir::AffineExpr expr, mlir::ValueRange operands,
                                     unsigned numDims);
  // The form of an index value that a statement computes with, or null.
  const LinearForm *formOf(mlir::Value value) const;
  std::optional<unsigned> loopOf(mlir::Operation *forOp) const;
  // Puts the outermost `count` loops, which all statements share, inside of the loops that
  // `isOuter` accepts. False when those run differently in their iterations. The caller has shown
  // that nothing depends on what another iteration of the outermost loops does.
  bool sink(unsigned count, llvm::function_ref<bool(mlir::affine::AffineForOp)> isOuter);

private:
  unsigned newVariable(mlir::Value value);
  bool addLoop(mlir::affine::AffineForOp loop, std::string &reason);
  bool visit(mlir::Block &block, llvm::SmallVectorImpl<unsigned> &enclosing,
             llvm::SmallVectorImpl<Constraint> &guards, std::string &reason);
  bool addGuards(mlir::affine::AffineIfOp branch, llvm::SmallVectorImpl<Constraint> &guards);
  void addStatement(mlir::Operation *op, llvm::ArrayRef<unsigned> enclosing,
                    llvm::ArrayRef<Constraint> guards);
  void addOpaqueAccesses(mlir::Operation *op, Statement &statement);
  Access makeAccess(mlir::Operation *op, bool isWrite);

  llvm::DenseMap<mlir::Value, std::optional<LinearForm>> forms;
  struct Place {
    llvm::SmallVector<unsigned> loops;
    llvm::SmallVector<Constraint> guards;
    unsigned position;
  };
  llvm::DenseMap<mlir::Operation *, Place> places;
  llvm::DenseMap<mlir::Value, unsigned> symbols;
  unsigned nextPosition = 0;
};

// The buffer that `memref` is a view of, through subviews, casts and reshapes.
mlir::Value rootBuffer(mlir::Value memref);
// True when two buffers, or the buffers that they are views of, are known not to share bytes.
bool areDistinctBuffers(mlir::Value a, mlir::Value b);
// How a message calls a buffer: 'A', or "a local variable".
std::string describeBuffer(mlir::Value memref);
// The source line of `op`, or 0.
unsigned lineOf(mlir::Operation *op);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_NEST_H
