// Parallel loops: iterations must not write one element twice, nor hand values to each other other
// than by a reduction.
#include "compiler/sema/constraints.h"
#include "compiler/sema/control.h"
#include "compiler/sema/emitter.h"

#include <set>

#include "mlir/Analysis/Presburger/Simplex.h"

namespace pyasc::sema {

using namespace syntax;
using mlir::AffineExpr;

namespace {

// Larger systems are left to the sanitizer.
constexpr unsigned kMaxSampleDims = 8;

// How a statement combines a variable with new values, as a class whose members may be reordered
// with each other; "" when it is no reduction.
// `own_reads` gets the reads of it that are part of that.
std::string ReductionClass(const Stmt *s, std::string_view name,
                           std::set<const Expr *> &own_reads) {
  auto is_name = [&](const Expr *e) {
    auto *n = llvm::dyn_cast<syntax::Name>(e);
    return n && n->id == name;
  };
  auto operator_class = [](Operator op) -> std::string {
    switch (op) {
    case Operator::Add:
    case Operator::Sub:
      return "+";
    case Operator::Mult:
      return "*";
    case Operator::BitAnd:
      return "&";
    case Operator::BitOr:
      return "|";
    case Operator::BitXor:
      return "^";
    default:
      return "";
    }
  };
  if (auto *a = llvm::dyn_cast<AugAssign>(s))
    return operator_class(a->op);
  auto *a = llvm::dyn_cast<Assign>(s);
  if (!a || a->targets.size() != 1 || !is_name(a->targets[0]))
    return "";
  if (auto *b = llvm::dyn_cast<BinOp>(a->value)) {
    const Expr *own = is_name(b->left)                              ? b->left
                      : is_name(b->right) && b->op != Operator::Sub ? b->right
                                                                    : nullptr;
    if (!own)
      return "";
    own_reads.insert(own);
    return operator_class(b->op);
  }
  if (auto *call = llvm::dyn_cast<Call>(a->value)) {
    std::string_view f;
    if (auto *n = llvm::dyn_cast<syntax::Name>(call->func))
      f = n->id;
    if (auto *attribute = llvm::dyn_cast<syntax::Attribute>(call->func))
      f = attribute->attr;
    bool max = f == "max" || f == "maximum", min = f == "min" || f == "minimum";
    if (!max && !min)
      return "";
    size_t before = own_reads.size();
    for (const Expr *x : call->args)
      if (is_name(x))
        own_reads.insert(x);
    return own_reads.size() == before ? "" : max ? "max" : "min";
  }
  return "";
}

// `if e > m: m = e`: a maximum. The read in the test and its class.
std::string ConditionalExtremum(const If *s, std::string_view name,
                                std::set<const Expr *> &own_reads) {
  if (!s->orelse.empty() || s->body.size() != 1)
    return "";
  auto *c = llvm::dyn_cast<Compare>(s->test);
  auto *a = llvm::dyn_cast<Assign>(s->body[0]);
  if (!c || !a || c->ops.size() != 1 || a->targets.size() != 1)
    return "";
  auto is_name = [&](const Expr *e) {
    auto *n = llvm::dyn_cast<syntax::Name>(e);
    return n && n->id == name;
  };
  if (!is_name(a->targets[0]))
    return "";
  bool greater = c->ops[0] == CmpOperator::Gt || c->ops[0] == CmpOperator::GtE;
  bool less = c->ops[0] == CmpOperator::Lt || c->ops[0] == CmpOperator::LtE;
  if (!greater && !less)
    return "";
  if (is_name(c->comparators[0]) && SameExpr(c->left, a->value)) {
    own_reads.insert(c->comparators[0]);
    return greater ? "max" : "min";
  }
  if (is_name(c->left) && SameExpr(c->comparators[0], a->value)) {
    own_reads.insert(c->left);
    return greater ? "min" : "max";
  }
  return "";
}

// The first place in the text that reads `name`, but for those that are known.
const Expr *FirstRead(Stmts stmts, std::string_view name, const std::set<const Expr *> &known) {
  const Expr *found = nullptr;
  ForEachStatement(stmts, [&](const Stmt *s) {
    ForEachExprOf(s, [&](const Expr *e) {
      auto *n = llvm::dyn_cast<syntax::Name>(e);
      if (n && n->ctx == ExprContext::Load && n->id == name && !known.count(n) &&
          (!found || std::pair(n->range.line, n->range.column) <
                         std::pair(found->range.line, found->range.column)))
        found = n;
      return true;
    });
  });
  return found;
}

} // namespace

void Emitter::CheckParallelVariables(const For *s, const StatementFlow &flow) {
  Names shared = flow.live_out;
  shared.insert(flow.carried.begin(), flow.carried.end());
  Names targets;
  CollectTargets(s->target, targets);
  for (std::string_view name : shared) {
    auto it = frame().env.find(name);
    if (it != frame().env.end() && it->second.value && it->second.value->IsTensor() &&
        !ReboundIn(s->body).count(name))
      continue; // its elements are checked where they are written
    if (targets.count(name)) {
      Error("parallel-variable", s->target->range,
            "'" + std::string(name) +
                "' is read after a parallel loop, whose iterations have no last one; use range");
      continue;
    }
    std::string kind;
    bool reduction = true;
    std::set<const Expr *> own_reads;
    SourceRange first;
    ForEachStatement(s->body, [&](const Stmt *x) {
      if (auto *i = llvm::dyn_cast<If>(x)) {
        if (std::string k = ConditionalExtremum(i, name, own_reads); !k.empty()) {
          reduction &= kind.empty() || kind == k;
          kind = k;
        }
        return;
      }
      Names assigned;
      ForEachExprOf(x, [&](const Expr *e) {
        CollectTargets(e, assigned);
        return false;
      });
      if (!assigned.count(name))
        return;
      if (!first.IsKnown())
        first = x->range;
      std::string k = ReductionClass(x, name, own_reads);
      if (k.empty() && (kind == "max" || kind == "min") && llvm::isa<Assign>(x))
        return; // the body of the conditional form
      reduction &= !k.empty() && (kind.empty() || kind == k);
      kind = k;
    });
    if (!reduction)
      Error("parallel-variable", first,
            "the iterations of a parallel loop run in any order and share '" + std::string(name) +
                "': it can be summed (+=) or combined by min or max, not assigned; use range, or "
                "write to a tensor");
    else if (const Expr *read = FirstRead(s->body, name, own_reads))
      ErrorWithNote("parallel-variable", read->range,
                    "'" + std::string(name) +
                        "' is reduced by the iterations of a parallel loop and also read in them "
                        "here, where its value depends on their order; read it after the loop",
                    first, "reduced here");
  }
}

void Emitter::RecordWrite(const SourceRange &range, const Value &view, bool reduction) {
  if (reduction || uncertain_ > 0)
    return;
  std::vector<AffineExpr> written;
  size_t next_dim = dims_.size();
  std::vector<AffineCondition> extent_conditions;
  auto type = mlir::cast<mlir::MemRefType>(view.tensor.root.getType());
  std::vector<AffineExpr> at(static_cast<size_t>(type.getRank()), ConstantExpr(0));
  for (const auto &[axis, index] : view.tensor.fixed) {
    if (!index.expr)
      return;
    at[static_cast<size_t>(axis)] = index.expr;
  }
  // An axis that is written whole: some element of it.
  for (const TensorDim &d : view.tensor.dims) {
    if (d.root < 0)
      continue;
    if (!d.offset.expr || d.size == 0)
      return;
    AffineExpr element = mlir::getAffineDimExpr(next_dim++, &context_);
    extent_conditions.push_back({element, false});
    extent_conditions.push_back({d.size - 1 - element, false});
    at[static_cast<size_t>(d.root)] = d.offset.expr + element * d.step;
  }
  for (size_t k = 0; k < loop_dims_.size(); ++k) {
    const LoopDim &loop = loop_dims_[k];
    if (!loop.parallel)
      continue;
    // Memory that each iteration has for itself.
    mlir::Operation *owner = view.tensor.storage.getDefiningOp();
    if (owner && loop.body->getParentOp()->isAncestor(owner))
      continue;
    // Two runs of the statement: the loops outside alike, this one and those inside not. The
    // variable of a strided loop is start + step * q, so that q differs by at least one.
    size_t total = next_dim;
    llvm::SmallVector<AffineExpr> first, second;
    for (size_t i = 0; i < next_dim; ++i) {
      AffineExpr same = mlir::getAffineDimExpr(i, &context_);
      first.push_back(same);
      second.push_back(same);
    }
    std::vector<AffineCondition> conditions;
    AffineExpr differs;
    for (size_t i = loop.dim; i < next_dim; ++i) {
      AffineExpr one = mlir::getAffineDimExpr(i, &context_);
      AffineExpr two = mlir::getAffineDimExpr(total++, &context_);
      for (const LoopDim &l : loop_dims_)
        if (l.dim == i && l.step > 1 && l.start) {
          one = l.start + one * l.step;
          two = l.start + two * l.step;
        }
      first[i] = one;
      second[i] = two;
      if (i == loop.dim)
        differs =
            mlir::getAffineDimExpr(total - 1, &context_) - mlir::getAffineDimExpr(i, &context_) - 1;
    }
    std::vector<AffineCondition> all = domain_;
    all.insert(all.end(), extent_conditions.begin(), extent_conditions.end());
    for (const AffineCondition &c : all)
      for (const auto *map : {&first, &second}) {
        // Twice, since the start of an inner loop may name an outer one.
        AffineExpr e = c.expr.replaceDims(*map);
        e = mlir::simplifyAffineExpr(e, total, 0);
        if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(e);
            constant && (constant.getValue() == 0 || (!c.is_equality && constant.getValue() > 0)))
          continue;
        conditions.push_back({e, c.is_equality});
      }
    for (AffineExpr e : at) {
      AffineExpr difference =
          mlir::simplifyAffineExpr(e.replaceDims(first) - e.replaceDims(second), total, 0);
      conditions.push_back({difference, true});
    }
    conditions.push_back({differs, false});
    std::vector<AffineCondition> relevant = RelevantConditions(conditions, differs, total);
    // Constant conditions are not reached through dims: 1 == 0 for B[0] against B[1].
    for (const AffineCondition &c : conditions)
      if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(c.expr))
        if (constant.getValue() < 0 || (c.is_equality && constant.getValue() != 0))
          return;
    auto set = ToConstraints(relevant, total);
    if (!set || set->getNumDimVars() > kMaxSampleDims || set->getNumVars() > kMaxSampleVariables)
      continue;
    if (mlir::presburger::Simplex(*set).isEmpty())
      continue;
    auto everything = ToConstraints(conditions, total);
    if (!everything || mlir::presburger::Simplex(*everything).isEmpty())
      continue;
    if (!set->findIntegerSample())
      continue;
    ErrorWithNote("parallel-race", range,
                  "iterations of a parallel loop write the same element here, and run in any "
                  "order; index by the loop variable, combine by += or max(), or use range",
                  loop.range, "the parallel loop is here");
    return;
  }
}

} // namespace pyasc::sema
