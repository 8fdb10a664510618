#include "compiler/transform/affine_pieces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/Matchers.h"

namespace pyasc {

using namespace mlir;

namespace {

using Piece = AffinePieces::Piece;
using Pieces = std::vector<Piece>;

constexpr size_t kMaxPieces = 6;

std::optional<Pieces> both(const Pieces &a, const Pieces &b) {
  Pieces result;
  for (const Piece &left : a)
    for (const Piece &right : b) {
      result.push_back(left);
      llvm::append_range(result.back(), right);
    }
  if (result.size() > kMaxPieces)
    return std::nullopt;
  return result;
}

// `a`, or else `b`.
std::optional<Pieces> either(const Pieces &a, const Pieces &not_a, const Pieces &b) {
  std::optional<Pieces> rest = both(not_a, b);
  if (!rest || a.size() + rest->size() > kMaxPieces)
    return std::nullopt;
  Pieces result = a;
  llvm::append_range(result, *rest);
  return result;
}

} // namespace

std::optional<AffineExpr> AffinePieces::exprOf(Value value, int depth) {
  MLIRContext *context = value.getContext();
  APInt known;
  if (matchPattern(value, m_ConstantInt(&known)))
    return getAffineConstantExpr(known.getSExtValue(), context);
  Operation *op = value.getDefiningOp();
  if (auto cast = dyn_cast_or_null<arith::IndexCastOp>(op);
      cast && cast.getIn().getType().isIndex() && value.getType().isInteger(64))
    return exprOf(cast.getIn(), depth + 1);
  if (!value.getType().isIndex() && !value.getType().isInteger(64))
    return std::nullopt;
  if (op && depth < 8) {
    if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
      auto left = exprOf(op->getOperand(0), depth + 1),
           right = exprOf(op->getOperand(1), depth + 1);
      if (!left || !right)
        return std::nullopt;
      if (isa<arith::AddIOp>(op))
        return *left + *right;
      if (isa<arith::SubIOp>(op))
        return *left - *right;
      if (isa<AffineConstantExpr>(*left) || isa<AffineConstantExpr>(*right))
        return *left * *right;
      return std::nullopt;
    }
    if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
      AffineMap map = apply.getAffineMap();
      SmallVector<AffineExpr> dims, symbols;
      for (auto [i, operand] : llvm::enumerate(apply.getMapOperands())) {
        auto expr = exprOf(operand, depth + 1);
        if (!expr)
          return std::nullopt;
        (i < map.getNumDims() ? dims : symbols).push_back(*expr);
      }
      AffineExpr result = map.getResult(0).replaceDimsAndSymbols(dims, symbols);
      // What was divided by a symbol may now be divided by a dim, which is not affine.
      if (!result.isPureAffine())
        return std::nullopt;
      return result;
    }
  }
  if (!value.getType().isIndex() || !affine::isValidDim(value))
    return std::nullopt;
  auto place = llvm::find(operands, value);
  if (place == operands.end()) {
    operands.push_back(value);
    place = std::prev(operands.end());
  }
  return getAffineDimExpr(place - operands.begin(), context);
}

std::optional<Pieces> AffinePieces::of(Value condition, bool negated) {
  APInt known;
  if (matchPattern(condition, m_ConstantInt(&known)))
    return (known != 0) != negated ? Pieces{{}} : Pieces{};
  Operation *op = condition.getDefiningOp();
  if (auto flip = dyn_cast_or_null<arith::XOrIOp>(op)) {
    if (matchPattern(flip.getRhs(), m_ConstantInt(&known)) && known == 1)
      return of(flip.getLhs(), !negated);
    return std::nullopt;
  }
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op)) {
    Value left = op->getOperand(0), right = op->getOperand(1);
    auto a = of(left, negated), not_a = of(left, !negated), b = of(right, negated);
    if (!a || !not_a || !b)
      return std::nullopt;
    return isa<arith::AndIOp>(op) != negated ? both(*a, *b) : either(*a, *not_a, *b);
  }
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  if (!compare)
    return std::nullopt;
  auto left = exprOf(compare.getLhs()), right = exprOf(compare.getRhs());
  if (!left || !right)
    return std::nullopt;
  using Predicate = arith::CmpIPredicate;
  Predicate predicate =
      negated ? arith::invertPredicate(compare.getPredicate()) : compare.getPredicate();
  AffineExpr more = *left - *right, less = *right - *left;
  switch (predicate) {
  case Predicate::eq:
    return Pieces{{{more, true}}};
  case Predicate::ne:
    return Pieces{{{more - 1, false}}, {{less - 1, false}}};
  case Predicate::sgt:
    return Pieces{{{more - 1, false}}};
  case Predicate::sge:
    return Pieces{{{more, false}}};
  case Predicate::slt:
    return Pieces{{{less - 1, false}}};
  case Predicate::sle:
    return Pieces{{{less, false}}};
  default:
    return std::nullopt;
  }
}

affine::AffineIfOp AffinePieces::guard(OpBuilder &builder, Location loc, const Piece &piece) {
  SmallVector<AffineExpr> exprs;
  SmallVector<bool> equalities;
  for (const Row &row : piece) {
    exprs.push_back(row.expr);
    equalities.push_back(row.isEquality);
  }
  if (exprs.empty()) { // always
    exprs.push_back(builder.getAffineConstantExpr(0));
    equalities.push_back(true);
  }
  return builder.create<affine::AffineIfOp>(
      loc, IntegerSet::get(operands.size(), 0, exprs, equalities), operands,
      /*withElseRegion=*/false);
}

} // namespace pyasc
