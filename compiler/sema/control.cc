#include "compiler/sema/control.h"

namespace pyasc::sema {

using namespace syntax;

ControlScope::ControlScope(Emitter &emitter, const SourceRange &range, Names assigned,
                           const Names &homes, const Names &sums)
    : e_(emitter), assigned_(std::move(assigned)), bound_before_(emitter.BoundNames()) {
  Environment &env = e_.frame().env;
  for (std::string_view name : homes) {
    if (!assigned_.count(name))
      continue;
    Binding &b = env[name];
    if (b.home && b.required)
      continue;
    bool was_bound = bound_before_.count(name);
    std::optional<Value> initial;
    if (was_bound)
      initial = e_.ReadName(name, range);
    b = Binding();
    b.home = e_.NewCell(e_.Key(range, name), sums.count(name));
    b.required = true;
    b.maybe_unbound = !was_bound;
    created_.insert(name);
    if (initial) {
      bool copied = false;
      if (initial->IsTensor()) {
        // The variable is about to be bound to other tensors, so it starts as a copy. That differs
        // from Python only if something is written through it that another name would see.
        mlir::Value storage = initial->tensor.storage;
        copied = mlir::isa<mlir::BlockArgument>(storage);
        for (const auto &[other, binding] : env)
          copied |= other != name && binding.value && binding.value->IsTensor() &&
                    binding.value->tensor.storage == storage;
        *initial = e_.Materialize(range, *initial);
      }
      Value held = e_.StoreCell(*b.home, *initial, range, name, nullptr);
      if (copied)
        e_.copied_cells_.insert(b.home->memref.getAsOpaquePointer());
      if (b.home->kind == Cell::Kind::Scalar && !b.home->wide)
        b.value = held;
    }
  }
  // Regions may read cells: the stores before them are needed.
  for (auto &[name, binding] : env)
    binding.last_stores.clear();
}

void ControlScope::EnterIteration() {
  Environment &env = e_.frame().env;
  for (std::string_view name : assigned_) {
    auto it = env.find(name);
    if (it == env.end())
      continue;
    if (it->second.home && it->second.required)
      it->second.value.reset();
    else
      env.erase(it);
  }
}

void ControlScope::SaveState() { before_ = e_.frame().env; }

void ControlScope::RestoreState() { e_.frame().env = before_; }

void ControlScope::EndRegion() {
  Names now = e_.BoundNames();
  if (!bound_) {
    bound_ = now;
    return;
  }
  Names both;
  for (std::string_view n : *bound_)
    if (now.count(n))
      both.insert(n);
  bound_ = both;
}

void ControlScope::Close(bool may_skip) {
  Environment &env = e_.frame().env;
  for (std::string_view name : assigned_) {
    auto it = env.find(name);
    if (it == env.end())
      continue;
    Binding &b = it->second;
    if (!b.home || !b.required) {
      env.erase(it);
      continue;
    }
    b.value.reset();
    b.last_stores.clear();
    // When no region falls out, what follows is never reached.
    bool in_regions = !bound_ || bound_->count(name);
    b.maybe_unbound = !bound_before_.count(name) && (may_skip || !in_regions);
    if (created_.count(name))
      b.required = false;
  }
  for (auto &[name, binding] : env)
    binding.last_stores.clear();
}

static Stmts AsStmts(const StmtList &list) {
  return {const_cast<Stmt *const *>(reinterpret_cast<const Stmt *const *>(list.data())),
          list.size()};
}

Names AssignedIn(const StmtList &stmts) {
  Names names;
  ForEachStatement(AsStmts(stmts), [&](const Stmt *s) {
    ForEachExprOf(s, [&](const Expr *e) {
      CollectTargets(e, names);
      return false;
    });
  });
  return names;
}

Names SummedIn(Stmts stmts) {
  Names names;
  ForEachStatement(stmts, [&](const Stmt *s) {
    if (auto *a = llvm::dyn_cast<AugAssign>(s)) {
      if (auto *n = llvm::dyn_cast<syntax::Name>(a->target);
          n && (a->op == Operator::Add || a->op == Operator::Sub))
        names.insert(n->id);
    } else if (auto *a = llvm::dyn_cast<Assign>(s)) {
      if (AsUpdate(a))
        CollectTargets(a->targets[0], names);
    }
  });
  return names;
}

Names ReboundIn(Stmts stmts) {
  Names names;
  ForEachStatement(stmts, [&](const Stmt *s) {
    if (!llvm::isa<AugAssign>(s))
      ForEachExprOf(s, [&](const Expr *e) {
        CollectTargets(e, names);
        return false;
      });
  });
  return names;
}

Names ReboundIn(const StmtList &stmts) { return ReboundIn(AsStmts(stmts)); }

void KeepUpdatedTensors(const Environment &env, const Names &rebound, Names &assigned) {
  for (const auto &[name, binding] : env)
    if (binding.value && binding.value->IsTensor() && !rebound.count(name))
      assigned.erase(name);
}

bool SameExpr(const Expr *a, const Expr *b) {
  if (!a || !b)
    return a == b;
  if (a->kind != b->kind)
    return false;
  switch (a->kind) {
  case NodeKind::Name:
    return llvm::cast<syntax::Name>(a)->id == llvm::cast<syntax::Name>(b)->id;
  case NodeKind::Constant: {
    auto *x = llvm::cast<syntax::Constant>(a), *y = llvm::cast<syntax::Constant>(b);
    return x->constant_kind == y->constant_kind && x->bool_value == y->bool_value &&
           x->int_hex == y->int_hex && x->float_value == y->float_value &&
           x->str_value == y->str_value;
  }
  case NodeKind::BinOp: {
    auto *x = llvm::cast<BinOp>(a), *y = llvm::cast<BinOp>(b);
    return x->op == y->op && SameExpr(x->left, y->left) && SameExpr(x->right, y->right);
  }
  case NodeKind::UnaryOp: {
    auto *x = llvm::cast<UnaryOp>(a), *y = llvm::cast<UnaryOp>(b);
    return x->op == y->op && SameExpr(x->operand, y->operand);
  }
  case NodeKind::Subscript: {
    auto *x = llvm::cast<Subscript>(a), *y = llvm::cast<Subscript>(b);
    return SameExpr(x->value, y->value) && SameExpr(x->slice, y->slice);
  }
  case NodeKind::Attribute: {
    auto *x = llvm::cast<Attribute>(a), *y = llvm::cast<Attribute>(b);
    return x->attr == y->attr && SameExpr(x->value, y->value);
  }
  case NodeKind::Slice: {
    auto *x = llvm::cast<Slice>(a), *y = llvm::cast<Slice>(b);
    return SameExpr(x->lower, y->lower) && SameExpr(x->upper, y->upper) &&
           SameExpr(x->step, y->step);
  }
  case NodeKind::Tuple: {
    auto x = llvm::cast<Tuple>(a)->elts, y = llvm::cast<Tuple>(b)->elts;
    if (x.size() != y.size())
      return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!SameExpr(x[i], y[i]))
        return false;
    return true;
  }
  default:
    return false;
  }
}

const BinOp *AsUpdate(const Assign *s) {
  if (s->targets.size() != 1)
    return nullptr;
  auto *op = llvm::dyn_cast<BinOp>(s->value);
  if (!op || (op->op != Operator::Add && op->op != Operator::Sub) ||
      !SameExpr(s->targets[0], op->left))
    return nullptr;
  return op;
}

bool NeedsSkipFlag(Stmts body) {
  // The else of a loop inside belongs to the loop around that.
  auto else_of = [](const Stmt *s) -> Stmts {
    if (auto *f = llvm::dyn_cast<For>(s))
      return f->orelse;
    if (auto *w = llvm::dyn_cast<While>(s))
      return w->orelse;
    return {};
  };
  auto has_continue = [&](Stmts stmts, const auto &self) -> bool {
    for (const Stmt *s : stmts) {
      if (llvm::isa<Continue>(s) || self(else_of(s), self))
        return true;
      if (auto *i = llvm::dyn_cast<If>(s))
        if (self(i->body, self) || self(i->orelse, self))
          return true;
    }
    return false;
  };
  for (const Stmt *s : body) {
    if (has_continue(else_of(s), has_continue))
      return true;
    auto *i = llvm::dyn_cast<If>(s);
    if (!i)
      continue;
    if (NeedsSkipFlag(i->body) || NeedsSkipFlag(i->orelse))
      return true;
    if ((has_continue(i->body, has_continue) || has_continue(i->orelse, has_continue)) &&
        !AlwaysJumps(i->body) && !AlwaysJumps(i->orelse))
      return true;
  }
  return false;
}

} // namespace pyasc::sema
