// Slices that start where only a running kernel knows, with a length that is known all the same:
// x[i:i + 8], x[b * B:(b + 1) * B].
#include "compiler/sema/emitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace pyasc::sema {

namespace affine = mlir::affine;
namespace arith = mlir::arith;
namespace memref = mlir::memref;

namespace {

// Whether an op between two reads may change what the second one sees.
bool MayWrite(mlir::Operation &op) {
  if (mlir::isMemoryEffectFree(&op))
    return false;
  auto effects = mlir::dyn_cast<mlir::MemoryEffectOpInterface>(op);
  return !effects || op.getNumRegions() > 0 || !effects.onlyHasEffect<mlir::MemoryEffects::Read>();
}

bool NothingWrittenBetween(mlir::Operation *a, mlir::Operation *b) {
  if (a->getBlock() != b->getBlock())
    return false;
  if (b->isBeforeInBlock(a))
    std::swap(a, b);
  for (mlir::Operation *op = a->getNextNode(); op != b; op = op->getNextNode())
    if (MayWrite(*op))
      return false;
  return true;
}

// Whether two values are surely the same number: what is written twice is evaluated twice.
bool Same(mlir::Value a, mlir::Value b, int depth = 0) {
  if (a == b)
    return true;
  mlir::Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x || !y || depth > 16 || x->getName() != y->getName() || x->getNumRegions() > 0 ||
      x->getNumResults() != 1 || x->getAttrDictionary() != y->getAttrDictionary() ||
      x->getNumOperands() != y->getNumOperands() || a.getType() != b.getType())
    return false;
  for (auto [p, q] : llvm::zip(x->getOperands(), y->getOperands()))
    if (!Same(p, q, depth + 1))
      return false;
  if (mlir::isPure(x))
    return true;
  return mlir::isa<affine::AffineLoadOp, memref::LoadOp>(x) && NothingWrittenBetween(x, y);
}

// constant + sum of coefficient * value, in 64 bits.
struct Linear {
  std::vector<std::pair<mlir::Value, int64_t>> terms;
  int64_t constant = 0;

  void Add(mlir::Value v, int64_t factor, int depth = 0) {
    llvm::APInt known;
    if (mlir::matchPattern(v, mlir::m_ConstantInt(&known))) {
      constant += factor * known.getSExtValue();
      return;
    }
    bool wide = v.getType().isIndex() || v.getType().isInteger(64);
    mlir::Operation *op = v.getDefiningOp();
    if (op && wide && depth < 16) {
      if (mlir::isa<arith::AddIOp, arith::SubIOp>(op)) {
        Add(op->getOperand(0), factor, depth + 1);
        return Add(op->getOperand(1), mlir::isa<arith::SubIOp>(op) ? -factor : factor, depth + 1);
      }
      if (mlir::isa<arith::MulIOp>(op))
        for (unsigned i = 0; i < 2; ++i)
          if (mlir::matchPattern(op->getOperand(i), mlir::m_ConstantInt(&known)))
            return Add(op->getOperand(1 - i), factor * known.getSExtValue(), depth + 1);
      // A narrower number ends the sum: its own arithmetic wraps.
      if (mlir::isa<arith::IndexCastOp, arith::ExtSIOp>(op))
        return Add(op->getOperand(0), factor, depth + 1);
    }
    for (auto &[term, coefficient] : terms)
      if (Same(term, v)) {
        coefficient += factor;
        return;
      }
    terms.emplace_back(v, factor);
  }
};

} // namespace

std::optional<int64_t> Emitter::StaticLength(const Value &start, const Value &stop) {
  mlir::AffineExpr low = AffineOf(start), high = AffineOf(stop);
  if (low && high) {
    mlir::AffineExpr length = mlir::simplifyAffineExpr(high - low, dims_.size(), 0);
    auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(length);
    return constant ? std::optional(constant.getValue()) : std::nullopt;
  }
  Linear difference;
  difference.Add(Ssa(stop), 1);
  difference.Add(Ssa(start), -1);
  for (const auto &[value, coefficient] : difference.terms)
    if (coefficient != 0)
      return std::nullopt;
  return difference.constant;
}

std::optional<Index> Emitter::RunTimeStart(const SourceRange &range, const Value &start,
                                           int64_t length, int axis, int64_t size) {
  int64_t last = size - length;
  if (last < 0) {
    Error("out-of-bounds", range,
          "a slice of " + std::to_string(length) + " elements does not fit into axis " +
              std::to_string(axis) + ", which has size " + std::to_string(size));
    return std::nullopt;
  }
  Index index = ToIndex(start);
  if (index.range.low && *index.range.low >= 0 && index.range.high && *index.range.high <= last)
    return index;
  mlir::Location loc = Loc(range);
  auto constant = [&](int64_t v) -> mlir::Value {
    return b_.create<arith::ConstantIndexOp>(loc, v);
  };
  // Counted from the end when both bounds are; between them Python's slice would be shorter.
  mlir::Value i = IndexSsa(index, loc);
  mlir::Value negative =
      b_.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, i, constant(-length));
  mlir::Value from_end = b_.create<arith::AddIOp>(loc, i, constant(size));
  mlir::Value first = b_.create<arith::SelectOp>(loc, negative, from_end, i);
  if (checks_) {
    mlir::Value ok =
        b_.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, first, constant(last));
    Check("out-of-bounds", range, ok, i, constant(size),
          "the slice of " + std::to_string(length) + " elements from {value} leaves axis " +
              std::to_string(axis) + " with size {bound}, where Python would give fewer");
    first = b_.create<arith::SelectOp>(loc, ok, first, constant(0));
  }
  Index out;
  out.value = first;
  out.range = {0, last};
  return out;
}

} // namespace pyasc::sema
