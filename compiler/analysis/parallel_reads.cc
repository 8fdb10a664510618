// Finds iterations of a parallel loop that read what others write.
//
// Two iterations that write one element are an error of the front end; here it is one that reads
// an element and another that writes it, as in y[i] = y[i - 1] + x[i]. Only what an integer point
// proves is reported: accesses with affine indices, under affine loops and conditions alone.

#include "compiler/analysis/analyze.h"
#include "mlir/Dialect/Affine/Analysis/AffineAnalysis.h"
#include "mlir/Dialect/Affine/Analysis/AffineStructures.h"
#include "mlir/Dialect/Affine/Analysis/Utils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace pyasc::compiler::analysis {
namespace {

// Larger kernels and systems are left to the sanitizer.
constexpr size_t kMaxAccesses = 64;
constexpr unsigned kMaxVariables = 12;

diag::SourceRange rangeOf(Operation *op) {
  diag::SourceRange range;
  if (auto position = op->getLoc()->findInstanceOf<FileLineColLoc>()) {
    position.getFilename().getValue().getAsInteger(10, range.file);
    range.line = range.end_line = position.getLine();
    range.column = position.getColumn();
    range.end_column = range.column + 1;
  }
  return range;
}

bool isCertain(Operation *op) {
  for (Operation *parent = op->getParentOp(); !isa<func::FuncOp>(parent);
       parent = parent->getParentOp())
    if (!isa<affine::AffineForOp, affine::AffineIfOp>(parent))
      return false;
  return true;
}

Value memrefOf(Operation *op) {
  if (auto load = dyn_cast<affine::AffineLoadOp>(op))
    return load.getMemRef();
  if (auto store = dyn_cast<affine::AffineStoreOp>(op))
    return store.getMemRef();
  return {};
}

// Whether another of these is the other half of an update: y[i] += x reads and writes one element
// at one place of the text. The front end sees to it that the updates of an element are of one
// kind.
bool isUpdate(Operation *op, ArrayRef<Operation *> ops) {
  return llvm::any_of(ops, [&](Operation *other) {
    return other->getName() != op->getName() && other->getLoc() == op->getLoc() &&
           affine::MemRefAccess(other) == affine::MemRefAccess(op);
  });
}

// Whether the loop at `depth`, counted from one, surely carries a dependence from one to the other.
bool carries(Operation *from, Operation *to, unsigned depth) {
  affine::FlatAffineValueConstraints constraints;
  affine::DependenceResult result = affine::checkMemrefAccessDependence(
      affine::MemRefAccess(from), affine::MemRefAccess(to), depth, &constraints);
  return affine::hasDependence(result) && constraints.getNumVars() <= kMaxVariables &&
         constraints.findIntegerSample().has_value();
}

} // namespace

void WarnOfParallelReads(func::FuncOp kernel, diag::DiagnosticList &diagnostics) {
  llvm::DenseSet<std::pair<unsigned, unsigned>> reported;
  kernel.walk<WalkOrder::PreOrder>([&](affine::AffineForOp loop) {
    if (!loop->hasAttr("asc.parallel"))
      return;
    llvm::MapVector<Value, SmallVector<Operation *>> accesses;
    loop.walk([&](Operation *op) {
      Value memref = memrefOf(op);
      // What is allocated in an iteration is its own, and variables are checked as such.
      if (!memref || memref.getDefiningOp<memref::AllocaOp>() ||
          loop->isAncestor(memref.getParentBlock()->getParentOp()) || !isCertain(op))
        return;
      accesses[memref].push_back(op);
    });
    unsigned depth = affine::getNestingDepth(loop) + 1;
    for (auto &[memref, ops] : accesses) {
      if (ops.size() > kMaxAccesses)
        continue;
      for (Operation *store : ops)
        for (Operation *load : ops) {
          // An update reads what it writes: a reduction.
          if (!isa<affine::AffineStoreOp>(store) || !isa<affine::AffineLoadOp>(load) ||
              affine::MemRefAccess(store) == affine::MemRefAccess(load) ||
              (isUpdate(store, ops) && isUpdate(load, ops)))
            continue;
          if (!carries(store, load, depth) && !carries(load, store, depth))
            continue;
          diag::SourceRange read = rangeOf(load), written = rangeOf(store);
          if (!reported.insert({read.line, written.line}).second)
            continue;
          diagnostics
              .Warning("parallel-race", read,
                       "an iteration of a parallel loop reads an element here that another "
                       "iteration writes, and they run in any order; use range where one needs "
                       "the other's result, or read from a copy")
              .Note(written, "it is written here");
        }
    }
  });
}

} // namespace pyasc::compiler::analysis
