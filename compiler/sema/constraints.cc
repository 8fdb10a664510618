#include "compiler/sema/constraints.h"

#include "mlir/IR/IntegerSet.h"

namespace pyasc::sema {

using mlir::AffineExpr;

std::vector<AffineCondition> RelevantConditions(const std::vector<AffineCondition> &all,
                                                AffineExpr goal, size_t dims) {
  std::vector<bool> wanted(dims);
  auto mark = [&](AffineExpr e) {
    bool changed = false;
    e.walk([&](AffineExpr x) {
      if (auto d = mlir::dyn_cast<mlir::AffineDimExpr>(x))
        if (!wanted[d.getPosition()]) {
          wanted[d.getPosition()] = true;
          changed = true;
        }
    });
    return changed;
  };
  auto touches = [&](AffineExpr e) {
    bool found = false;
    e.walk([&](AffineExpr x) {
      if (auto d = mlir::dyn_cast<mlir::AffineDimExpr>(x))
        found |= wanted[d.getPosition()];
    });
    return found;
  };
  mark(goal);
  std::vector<bool> taken(all.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < all.size(); ++i)
      if (!taken[i] && touches(all[i].expr)) {
        taken[i] = true;
        mark(all[i].expr);
        changed = true;
      }
  }
  std::vector<AffineCondition> out;
  for (size_t i = 0; i < all.size(); ++i)
    if (taken[i])
      out.push_back(all[i]);
  return out;
}

std::optional<mlir::FlatLinearValueConstraints>
ToConstraints(const std::vector<AffineCondition> &conditions, size_t dims) {
  llvm::SmallVector<AffineExpr> exprs;
  llvm::SmallVector<bool> equalities;
  // Number the dims that occur densely.
  std::vector<bool> used(dims);
  for (const AffineCondition &c : conditions)
    c.expr.walk([&](AffineExpr x) {
      if (auto d = mlir::dyn_cast<mlir::AffineDimExpr>(x))
        used[d.getPosition()] = true;
    });
  llvm::SmallVector<AffineExpr> replacement;
  unsigned count = 0;
  for (size_t i = 0; i < dims; ++i)
    replacement.push_back(
        mlir::getAffineDimExpr(used[i] ? count++ : 0, conditions[0].expr.getContext()));
  for (const AffineCondition &c : conditions) {
    if (!c.expr.isPureAffine())
      return std::nullopt;
    exprs.push_back(c.expr.replaceDims(replacement));
    equalities.push_back(c.is_equality);
  }
  return mlir::FlatLinearValueConstraints(mlir::IntegerSet::get(count, 0, exprs, equalities));
}

} // namespace pyasc::sema
