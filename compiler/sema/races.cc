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

// Whether an integer point is found where all conditions hold. They are searched in groups that
// share no dims, each of them small.
bool HasPoint(std::vector<AffineCondition> left, size_t dims) {
  while (!left.empty()) {
    if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(left.back().expr)) {
      if (constant.getValue() < 0 || (left.back().is_equality && constant.getValue() != 0))
        return false;
      left.pop_back();
      continue;
    }
    std::vector<AffineCondition> group = RelevantConditions(left, left.back().expr, dims);
    auto set = ToConstraints(group, dims);
    if (!set || set->getNumDimVars() > kMaxSampleDims || set->getNumVars() > kMaxSampleVariables ||
        mlir::presburger::Simplex(*set).isEmpty() || !set->findIntegerSample())
      return false;
    std::erase_if(left, [&](const AffineCondition &c) {
      return llvm::any_of(group, [&](const AffineCondition &taken) {
        return taken.expr == c.expr && taken.is_equality == c.is_equality;
      });
    });
  }
  return true;
}

// How a statement combines a variable with new values, as a class whose members may be reordered
// with each other; "" when it is no reduction.
// `own_reads` gets the reads of it that are part of that.
std::string ReductionClass(const Stmt *s, std::string_view name,
                           std::set<const Expr *> &own_reads) {
  auto is_name = [&](const Expr *e) {
    auto *n = llvm::dyn_cast<syntax::Name>(e);
    return n && n->id == name;
  };
  if (auto *a = llvm::dyn_cast<AugAssign>(s))
    return std::string(ReductionKind(a->op));
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
    return std::string(ReductionKind(b->op));
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

std::string_view ReductionKind(Operator op) {
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
    return {};
  }
}

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

Emitter::Access Emitter::AccessOf(const SourceRange &range, const Value &view) const {
  Access access;
  access.root = view.tensor.root;
  access.range = range;
  access.loops = loop_dims_;
  access.dims = dims_.size();
  access.conditions = domain_;
  access.certain = uncertain_ == 0;
  auto type = mlir::cast<mlir::MemRefType>(view.tensor.root.getType());
  mlir::MLIRContext *context = view.tensor.root.getContext();
  access.at.assign(static_cast<size_t>(type.getRank()), mlir::getAffineConstantExpr(0, context));
  for (const auto &[axis, index] : view.tensor.fixed)
    access.at[static_cast<size_t>(axis)] = index.expr;
  // An axis that is accessed whole: some element of it.
  for (const TensorDim &d : view.tensor.dims) {
    if (d.root < 0)
      continue;
    AffineExpr &at = access.at[static_cast<size_t>(d.root)];
    if (!d.offset.expr || d.size == 0) {
      at = nullptr;
      continue;
    }
    AffineExpr element = mlir::getAffineDimExpr(static_cast<unsigned>(access.dims++), context);
    access.conditions.push_back({element, false});
    access.conditions.push_back({d.size - 1 - element, false});
    at = d.offset.expr + element * d.step;
  }
  return access;
}

// Memory that each iteration has for itself.
bool Emitter::IsPrivate(const Value &view, const LoopDim &loop) const {
  mlir::Operation *owner = view.tensor.storage.getDefiningOp();
  return owner && loop.body->getParentOp()->isAncestor(owner);
}

bool Emitter::Meet(const Access &x, const Access &y, size_t k) {
  // The loops outside are in one iteration for both, this one and those inside are not. The
  // variable of a strided loop is start + step * q, so that q differs by at least one.
  const LoopDim &loop = loop_dims_[k];
  size_t total = loop.dim;
  AffineExpr one_of, other_of;
  auto renamed = [&](const Access &access, AffineExpr &own) {
    llvm::SmallVector<AffineExpr> map;
    for (unsigned i = 0; i < access.dims; ++i) {
      if (i < loop.dim) {
        map.push_back(mlir::getAffineDimExpr(i, &context_));
        continue;
      }
      AffineExpr e = mlir::getAffineDimExpr(static_cast<unsigned>(total++), &context_);
      if (i == loop.dim)
        own = e;
      for (const LoopDim &l : access.loops)
        if (l.dim == i && l.step > 1 && l.start)
          e = l.start + e * l.step;
      map.push_back(e);
    }
    return map;
  };
  auto first = renamed(x, one_of);
  auto second = renamed(y, other_of);
  std::vector<AffineCondition> conditions;
  auto add = [&](const std::vector<AffineCondition> &all, const auto &map) {
    for (const AffineCondition &c : all) {
      AffineExpr e = mlir::simplifyAffineExpr(c.expr.replaceDims(map), total, 0);
      if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(e);
          constant && (constant.getValue() == 0 || (!c.is_equality && constant.getValue() > 0)))
        continue;
      conditions.push_back({e, c.is_equality});
    }
  };
  add(x.conditions, first);
  add(y.conditions, second);
  for (size_t axis = 0; axis < x.at.size(); ++axis)
    if (x.at[axis] && y.at[axis])
      conditions.push_back(
          {mlir::simplifyAffineExpr(x.at[axis].replaceDims(first) - y.at[axis].replaceDims(second),
                                    total, 0),
           true});
  for (const AffineCondition &c : conditions)
    if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(c.expr))
      if (constant.getValue() < 0 || (c.is_equality && constant.getValue() != 0))
        return false;
  // Either iteration may be the one with the lower number.
  for (AffineExpr differs : {other_of - one_of - 1, one_of - other_of - 1}) {
    if (&x == &y && differs == one_of - other_of - 1)
      break; // the same again
    std::vector<AffineCondition> all = conditions;
    all.push_back({differs, false});
    auto everything = ToConstraints(all, total);
    if (!everything || mlir::presburger::Simplex(*everything).isEmpty())
      continue;
    if (HasPoint(std::move(all), total))
      return true;
  }
  return false;
}

void Emitter::CheckAgainstOthers(const Access &access, const Value &view) {
  for (const Access &other : accesses_) {
    if (other.root != access.root)
      continue;
    bool reads = !access.writes || !other.writes;
    const Access &reduced = access.writes && !access.reduction.empty() ? access : other;
    if (!reads && (access.reduction.empty() || other.reduction.empty() ||
                   access.reduction == other.reduction))
      continue; // plain writes are checked by themselves
    if (reads && access.writes == other.writes)
      continue;
    // Conditions on data do not make the order of a reduction's steps any surer.
    if (reduced.reduction.empty() && !(access.certain && other.certain))
      continue;
    // A single element that is read beside plain writes is warned of later, from the whole loop.
    if (reads && reduced.reduction.empty() && !access.shared && !other.shared)
      continue;
    // A place that is known at run time only may be another in each iteration, unless the kernel
    // says that they share it.
    auto unknown = [](const Access &x) { return llvm::is_contained(x.at, AffineExpr()); };
    if ((unknown(access) || unknown(other)) &&
        !(!reads && access.shared && other.shared && unknown(access) && unknown(other)))
      continue;
    for (size_t k = 0; k < loop_dims_.size() && k < other.loops.size(); ++k) {
      const LoopDim &loop = loop_dims_[k];
      if (other.loops[k].body != loop.body)
        break;
      if (!loop.parallel || IsPrivate(view, loop) || !Meet(other, access, k))
        continue;
      if (!reads)
        ErrorWithNote("parallel-race", access.range,
                      "iterations of a parallel loop combine one element in two ways, here and "
                      "there, and run in any order; combine it in one way, use two tensors, or "
                      "use range",
                      other.range, "it is combined differently here");
      else if (!reduced.reduction.empty())
        ErrorWithNote("parallel-race", access.writes ? other.range : access.range,
                      "an element that iterations of a parallel loop combine is also read in them "
                      "here, where its value depends on their order; read it after the loop",
                      access.writes ? access.range : other.range, "it is combined here");
      else
        ErrorWithNote("parallel-race", access.writes ? other.range : access.range,
                      "an iteration of a parallel loop reads elements here that another iteration "
                      "writes, and they run in any order; use range, or read from a copy that is "
                      "made before the loop",
                      access.writes ? access.range : other.range, "they are written here");
      return;
    }
  }
}

void Emitter::RecordRead(const SourceRange &range, const Value &view) {
  constexpr size_t kMaxAccesses = 256;
  if (parallel_bodies_.empty() || !view.IsTensor() || accesses_.size() > kMaxAccesses ||
      llvm::is_contained(own_reads_, range))
    return;
  Access access = AccessOf(range, view);
  access.shared = !view.tensor.dims.empty(); // each iteration reads all of them
  CheckAgainstOthers(access, view);
  accesses_.push_back(std::move(access));
}

void Emitter::RecordWrite(const SourceRange &range, const Value &view, std::string_view reduction,
                          bool shared) {
  constexpr size_t kMaxAccesses = 256;
  if (parallel_bodies_.empty())
    return;
  Access access = AccessOf(range, view);
  access.writes = true;
  access.reduction = reduction;
  access.shared = shared;
  if (accesses_.size() <= kMaxAccesses) {
    CheckAgainstOthers(access, view);
    accesses_.push_back(access);
  }
  if (!reduction.empty() || !access.certain || llvm::is_contained(access.at, AffineExpr()))
    return;
  for (size_t k = 0; k < loop_dims_.size(); ++k) {
    const LoopDim &loop = loop_dims_[k];
    if (!loop.parallel || IsPrivate(view, loop) || !Meet(access, access, k))
      continue;
    ErrorWithNote("parallel-race", range,
                  "iterations of a parallel loop write the same element here, and run in any "
                  "order; index by the loop variable, combine by += or max(), or use range",
                  loop.range, "the parallel loop is here");
    return;
  }
}

} // namespace pyasc::sema
