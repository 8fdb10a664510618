// Integer expressions that are affine in loop variables, and what can be proved about them.
#include "compiler/sema/constraints.h"
#include "compiler/sema/emitter.h"

#include "mlir/Analysis/Presburger/Simplex.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace pyasc::sema {

namespace affine = mlir::affine;
namespace arith = mlir::arith;
using mlir::AffineExpr;
using mlir::AffineExprKind;

AffineExpr Emitter::NewDim(mlir::Value v, Interval range) {
  bool symbol = affine::isValidSymbol(v);
  dims_.push_back({v, range, symbol});
  return mlir::getAffineDimExpr(dims_.size() - 1, &context_);
}

AffineExpr Emitter::ConstantExpr(Int i) {
  return mlir::getAffineConstantExpr(static_cast<int64_t>(i), &context_);
}

AffineExpr Emitter::AffineOf(const Value &v) {
  if (!v.IsIntegral())
    return {};
  if (v.constant) {
    if (v.constant->i > MaxInt(DType::Int64) || v.constant->i < MinInt(DType::Int64))
      return {};
    return ConstantExpr(v.constant->i);
  }
  if (v.affine.size() == 1)
    return v.affine[0];
  return {};
}

Value Emitter::FromAffine(AffineExpr e) {
  e = mlir::simplifyAffineExpr(e, dims_.size(), 0);
  if (auto c = mlir::dyn_cast<mlir::AffineConstantExpr>(e))
    return Value::IntConstant(c.getValue(), DType::Int64, false);
  Value v = Value::OfKind(Value::Kind::Scalar);
  v.dtype = DType::Int64;
  v.affine = {e};
  v.range = RangeOf(e);
  return v;
}

Value Emitter::FromAffineList(std::vector<AffineExpr> exprs, ListKind kind) {
  std::vector<AffineExpr> kept;
  for (AffineExpr e : exprs) {
    e = mlir::simplifyAffineExpr(e, dims_.size(), 0);
    // Drop what another entry makes redundant.
    bool redundant = false;
    for (AffineExpr &k : kept) {
      if (kind == ListKind::Min ? Prove(e - k) : Prove(k - e)) {
        redundant = true;
        break;
      }
      if (kind == ListKind::Min ? Prove(k - e) : Prove(e - k)) {
        k = e;
        redundant = true;
        break;
      }
    }
    if (!redundant)
      kept.push_back(e);
  }
  if (kept.size() == 1)
    return FromAffine(kept[0]);
  Value v = Value::OfKind(Value::Kind::Scalar);
  v.dtype = DType::Int64;
  v.affine = kept;
  v.list = kind;
  v.range = RangeOf(kept[0]);
  auto pick = [&](std::optional<Int> a, std::optional<Int> b, bool lower) -> std::optional<Int> {
    if (kind == ListKind::Min) {
      // The minimum is at most any bound, at least the least.
      if (lower)
        return a && b ? std::optional<Int>(std::min(*a, *b)) : std::nullopt;
      return a && b ? std::min(*a, *b) : a ? a : b;
    }
    if (!lower)
      return a && b ? std::optional<Int>(std::max(*a, *b)) : std::nullopt;
    return a && b ? std::max(*a, *b) : a ? a : b;
  };
  for (size_t i = 1; i < kept.size(); ++i) {
    Interval r = RangeOf(kept[i]);
    v.range = {pick(v.range.low, r.low, true), pick(v.range.high, r.high, false)};
  }
  return v;
}

Interval Emitter::RangeOf(AffineExpr e) {
  if (auto c = mlir::dyn_cast<mlir::AffineConstantExpr>(e))
    return {c.getValue(), c.getValue()};
  if (auto d = mlir::dyn_cast<mlir::AffineDimExpr>(e))
    return dims_[d.getPosition()].range;
  auto binary = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(e);
  if (!binary)
    return {};
  Interval x = RangeOf(binary.getLHS()), y = RangeOf(binary.getRHS());
  switch (e.getKind()) {
  case AffineExprKind::Add:
    return BinaryRange(BinaryOp::Add, x, y, DType::Int64);
  case AffineExprKind::Mul:
    return BinaryRange(BinaryOp::Mul, x, y, DType::Int64);
  case AffineExprKind::FloorDiv:
    return BinaryRange(BinaryOp::FloorDiv, x, y, DType::Int64);
  case AffineExprKind::Mod:
    return BinaryRange(BinaryOp::Mod, x, y, DType::Int64);
  case AffineExprKind::CeilDiv: {
    // ceil(x / c) == floor((x + c - 1) / c)
    if (!y.low || y.low != y.high)
      return {};
    Interval c{*y.low - 1, *y.low - 1};
    return BinaryRange(BinaryOp::FloorDiv, BinaryRange(BinaryOp::Add, x, c, DType::Int64), y,
                       DType::Int64);
  }
  default:
    return {};
  }
}

bool Emitter::HasMisjudgedMod(AffineExpr e) {
  auto binary = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(e);
  if (!binary)
    return false;
  auto c = mlir::dyn_cast<mlir::AffineConstantExpr>(binary.getRHS());
  if (e.getKind() == AffineExprKind::Mod && c) {
    Interval x = RangeOf(binary.getLHS());
    auto interval = [&](Int v) { return v >= 0 ? v / c.getValue() : -1 - (-1 - v) / c.getValue(); };
    bool starts = x.low && *x.low % c.getValue() == 0;
    if (x.low && !starts && !(x.high && interval(*x.low) == interval(*x.high)))
      return true;
  }
  return HasMisjudgedMod(binary.getLHS()) || HasMisjudgedMod(binary.getRHS());
}

Interval Emitter::BinaryRange(BinaryOp op, const Interval &x, const Interval &y, DType t) {
  Interval r;
  auto floor_div = [](Int a, Int b) {
    Int q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
  };
  switch (op) {
  case BinaryOp::Add:
    if (x.low && y.low)
      r.low = *x.low + *y.low;
    if (x.high && y.high)
      r.high = *x.high + *y.high;
    break;
  case BinaryOp::Sub:
    if (x.low && y.high)
      r.low = *x.low - *y.high;
    if (x.high && y.low)
      r.high = *x.high - *y.low;
    break;
  case BinaryOp::Mul: {
    const Interval *c = y.low && y.low == y.high ? &y : &x, *v = c == &y ? &x : &y;
    if (c->low && c->low == c->high) {
      Int k = *c->low;
      auto times = [&](std::optional<Int> a) { return a ? std::optional<Int>(*a * k) : a; };
      r = k >= 0 ? Interval{times(v->low), times(v->high)}
                 : Interval{times(v->high), times(v->low)};
      if (k == 0)
        r = {0, 0};
    } else if (x.low && x.high && y.low && y.high) {
      Int p[] = {*x.low * *y.low, *x.low * *y.high, *x.high * *y.low, *x.high * *y.high};
      r = {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
    }
    break;
  }
  case BinaryOp::FloorDiv:
    if (y.low && y.low == y.high && *y.low > 0) {
      if (x.low)
        r.low = floor_div(*x.low, *y.low);
      if (x.high)
        r.high = floor_div(*x.high, *y.low);
    }
    break;
  case BinaryOp::Mod:
    if (y.low && y.low == y.high && *y.low > 0) {
      r = {0, *y.low - 1};
      if (x.low && x.high && *x.low >= 0 && *x.high < *y.low)
        r = x;
    }
    break;
  case BinaryOp::Min:
    if (x.low && y.low)
      r.low = std::min(*x.low, *y.low);
    r.high = x.high && y.high ? std::min(*x.high, *y.high) : x.high ? x.high : y.high;
    break;
  case BinaryOp::Max:
    r.low = x.low && y.low ? std::max(*x.low, *y.low) : x.low ? x.low : y.low;
    if (x.high && y.high)
      r.high = std::max(*x.high, *y.high);
    break;
  case BinaryOp::And:
    if (x.low && *x.low >= 0)
      r = {0, x.high};
    if (y.low && *y.low >= 0)
      r = {0, r.high && y.high ? std::min(*r.high, *y.high) : r.high ? r.high : y.high};
    break;
  default:
    break;
  }
  // A result that may wrap can be anything.
  if ((r.low && *r.low < MinInt(t)) || (r.high && *r.high > MaxInt(t)))
    return {};
  return r;
}

Emitter::Packed Emitter::Pack(llvm::ArrayRef<AffineExpr> exprs) {
  llvm::SmallVector<AffineExpr> replacement(dims_.size());
  std::vector<bool> used(dims_.size());
  for (AffineExpr e : exprs)
    e.walk([&](AffineExpr x) {
      if (auto d = mlir::dyn_cast<mlir::AffineDimExpr>(x))
        used[d.getPosition()] = true;
    });
  Packed packed;
  llvm::SmallVector<mlir::Value> symbols;
  for (size_t i = 0; i < dims_.size(); ++i) {
    replacement[i] = mlir::getAffineConstantExpr(0, &context_);
    if (!used[i])
      continue;
    if (dims_[i].is_symbol) {
      replacement[i] = mlir::getAffineSymbolExpr(symbols.size(), &context_);
      symbols.push_back(dims_[i].value);
    } else {
      replacement[i] = mlir::getAffineDimExpr(packed.operands.size(), &context_);
      packed.operands.push_back(dims_[i].value);
    }
  }
  unsigned dim_count = packed.operands.size();
  packed.operands.append(symbols);
  llvm::SmallVector<AffineExpr> results;
  for (AffineExpr e : exprs)
    results.push_back(
        mlir::simplifyAffineExpr(e.replaceDims(replacement), dim_count, symbols.size()));
  packed.map = mlir::AffineMap::get(dim_count, symbols.size(), results, &context_);
  return packed;
}

mlir::Value Emitter::IndexSsa(const Index &index, mlir::Location loc) {
  if (!index.expr)
    return index.value;
  if (auto c = mlir::dyn_cast<mlir::AffineConstantExpr>(index.expr))
    return b_.create<arith::ConstantIndexOp>(loc, c.getValue());
  if (auto d = mlir::dyn_cast<mlir::AffineDimExpr>(index.expr))
    return dims_[d.getPosition()].value;
  Packed p = Pack(index.expr);
  return b_.create<affine::AffineApplyOp>(loc, p.map, p.operands);
}

mlir::Value Emitter::IndexSsa(const Value &v, mlir::Location loc) {
  return IndexSsa(ToIndex(v), loc);
}

Index Emitter::ToIndex(const Value &v) {
  Index index;
  index.range = v.range;
  index.expr = AffineOf(v);
  if (index.expr) {
    index.range = RangeOf(index.expr);
    return index;
  }
  mlir::Location loc = Here();
  if (!v.affine.empty()) {
    Packed p = Pack(v.affine);
    index.value = v.list == ListKind::Min
                      ? b_.create<affine::AffineMinOp>(loc, p.map, p.operands).getResult()
                      : b_.create<affine::AffineMaxOp>(loc, p.map, p.operands).getResult();
    return index;
  }
  if (v.ssa && v.ssa.getType().isIndex()) {
    index.value = v.ssa;
    return index;
  }
  mlir::Value i64 = SsaAs(v, DType::Int64);
  // What only an unsigned type holds is beyond every axis, not counted from its end.
  if (v.dtype == DType::UInt64)
    i64 = b_.create<arith::MinUIOp>(loc, i64,
                                    Ops(SourceRange{}).Int(DType::Int64, MaxInt(DType::Int64)));
  index.value = b_.create<arith::IndexCastOp>(loc, b_.getIndexType(), i64);
  return index;
}

Value Emitter::FromIndex(const Index &index) {
  if (index.expr)
    return FromAffine(index.expr);
  Value v = Value::Scalar(DType::Int64, index.value);
  v.range = index.range;
  return v;
}

Index Emitter::AddIndex(const Index &a, const Index &b) {
  if (a.expr && b.expr && IsSmallAffine(a.expr, b.expr))
    return ToIndex(FromAffine(a.expr + b.expr));
  mlir::Location loc = Here();
  Index r;
  r.range = BinaryRange(BinaryOp::Add, a.range, b.range, DType::Int64);
  r.value = b_.create<arith::AddIOp>(loc, IndexSsa(a, loc), IndexSsa(b, loc));
  return r;
}

Index Emitter::ScaleIndex(const Index &a, int64_t factor) {
  if (factor == 1)
    return a;
  if (a.expr)
    return ToIndex(FromAffine(a.expr * factor));
  mlir::Location loc = Here();
  Index r;
  r.range = BinaryRange(BinaryOp::Mul, a.range, {factor, factor}, DType::Int64);
  r.value = b_.create<arith::MulIOp>(loc, a.value, b_.create<arith::ConstantIndexOp>(loc, factor));
  return r;
}

// ---- Proofs ----

bool Emitter::Prove(AffineExpr nonnegative) {
  AffineExpr e = mlir::simplifyAffineExpr(nonnegative, dims_.size(), 0);
  Interval r = RangeOf(e);
  if (r.low && *r.low >= 0)
    return true;
  if (mlir::isa<mlir::AffineConstantExpr>(e) || domain_.empty())
    return false;
  std::vector<AffineCondition> conditions = RelevantConditions(domain_, e, dims_.size());
  conditions.push_back({-e - 1, false});
  auto set = ToConstraints(conditions, dims_.size());
  if (!set)
    return false;
  if (!budget_.SpendProof())
    return false;
  // Empty over the rationals is empty over the integers.
  return mlir::presburger::Simplex(*set).isEmpty();
}

std::optional<int64_t> Emitter::Reaches(AffineExpr expr, AffineExpr shown) {
  if (uncertain_ > 0)
    return std::nullopt;
  AffineExpr e = mlir::simplifyAffineExpr(expr, dims_.size(), 0);
  // Scalars that only the launch knows make nothing sure.
  for (const Dim &d : dims_)
    if (d.is_symbol)
      return std::nullopt;
  std::vector<AffineCondition> conditions = domain_;
  conditions.push_back({e, false});
  // The value to show is a dim of its own: shown - v == 0.
  AffineExpr v = mlir::getAffineDimExpr(dims_.size(), &context_);
  conditions.insert(conditions.begin(), {shown - v, true});
  auto set = ToConstraints(conditions, dims_.size() + 1);
  if (!set || set->getNumVars() > kMaxSampleVariables || !budget_.SpendProof())
    return std::nullopt;
  if (mlir::presburger::Simplex(*set).isEmpty())
    return std::nullopt;
  auto sample = set->findIntegerSample();
  if (!sample)
    return std::nullopt;
  // `v` has the highest number of all dims that occur, and locals come after it.
  unsigned position = set->getNumDimVars() - 1;
  return static_cast<int64_t>(llvm::int64fromDynamicAPInt((*sample)[position]));
}

mlir::Value Emitter::MaterializeConditions(const std::vector<AffineCondition> &conditions,
                                           mlir::Location loc) {
  mlir::Value all;
  mlir::Value zero = b_.create<arith::ConstantIndexOp>(loc, 0);
  for (const AffineCondition &c : conditions) {
    mlir::Value v = IndexSsa(Index{c.expr, {}, {}}, loc);
    mlir::Value ok = b_.create<arith::CmpIOp>(
        loc, c.is_equality ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge, v, zero);
    all = all ? b_.create<arith::AndIOp>(loc, all, ok).getResult() : ok;
  }
  return all;
}

} // namespace pyasc::sema
