#include "compiler/sema/flow.h"

#include <algorithm>
#include <optional>

namespace pyasc::sema {

using namespace syntax;

void ForEachExpr(const Expr *e, const ExprVisitor &visit) {
  if (!e || !visit(e))
    return;
  auto all = [&](Exprs list) {
    for (const Expr *x : list)
      ForEachExpr(x, visit);
  };
  auto comprehension = [&](const Expr *elt, NodeList<Comprehension> generators) {
    ForEachExpr(elt, visit);
    for (const Comprehension *g : generators) {
      ForEachExpr(g->target, visit);
      ForEachExpr(g->iter, visit);
      all(g->ifs);
    }
  };
  switch (e->kind) {
  case NodeKind::BoolOp:
    all(llvm::cast<BoolOp>(e)->values);
    break;
  case NodeKind::NamedExpr:
    ForEachExpr(llvm::cast<NamedExpr>(e)->target, visit);
    ForEachExpr(llvm::cast<NamedExpr>(e)->value, visit);
    break;
  case NodeKind::BinOp:
    ForEachExpr(llvm::cast<BinOp>(e)->left, visit);
    ForEachExpr(llvm::cast<BinOp>(e)->right, visit);
    break;
  case NodeKind::UnaryOp:
    ForEachExpr(llvm::cast<UnaryOp>(e)->operand, visit);
    break;
  case NodeKind::IfExp:
    ForEachExpr(llvm::cast<IfExp>(e)->test, visit);
    ForEachExpr(llvm::cast<IfExp>(e)->body, visit);
    ForEachExpr(llvm::cast<IfExp>(e)->orelse, visit);
    break;
  case NodeKind::ListComp:
    comprehension(llvm::cast<ListComp>(e)->elt, llvm::cast<ListComp>(e)->generators);
    break;
  case NodeKind::GeneratorExp:
    comprehension(llvm::cast<GeneratorExp>(e)->elt, llvm::cast<GeneratorExp>(e)->generators);
    break;
  case NodeKind::Compare:
    ForEachExpr(llvm::cast<Compare>(e)->left, visit);
    all(llvm::cast<Compare>(e)->comparators);
    break;
  case NodeKind::Call:
    ForEachExpr(llvm::cast<Call>(e)->func, visit);
    all(llvm::cast<Call>(e)->args);
    for (const Keyword *k : llvm::cast<Call>(e)->keywords)
      ForEachExpr(k->value, visit);
    break;
  case NodeKind::FormattedValue:
    ForEachExpr(llvm::cast<FormattedValue>(e)->value, visit);
    ForEachExpr(llvm::cast<FormattedValue>(e)->format_spec, visit);
    break;
  case NodeKind::JoinedStr:
    all(llvm::cast<JoinedStr>(e)->values);
    break;
  case NodeKind::Attribute:
    ForEachExpr(llvm::cast<Attribute>(e)->value, visit);
    break;
  case NodeKind::Subscript:
    ForEachExpr(llvm::cast<Subscript>(e)->value, visit);
    ForEachExpr(llvm::cast<Subscript>(e)->slice, visit);
    break;
  case NodeKind::Starred:
    ForEachExpr(llvm::cast<Starred>(e)->value, visit);
    break;
  case NodeKind::List:
    all(llvm::cast<List>(e)->elts);
    break;
  case NodeKind::Tuple:
    all(llvm::cast<Tuple>(e)->elts);
    break;
  case NodeKind::Slice:
    ForEachExpr(llvm::cast<Slice>(e)->lower, visit);
    ForEachExpr(llvm::cast<Slice>(e)->upper, visit);
    ForEachExpr(llvm::cast<Slice>(e)->step, visit);
    break;
  default:
    break; // names, constants, and what the emitter refuses
  }
}

void ForEachExprOf(const Stmt *s, const ExprVisitor &visit) {
  switch (s->kind) {
  case NodeKind::Return:
    return ForEachExpr(llvm::cast<Return>(s)->value, visit);
  case NodeKind::Assign:
    ForEachExpr(llvm::cast<Assign>(s)->value, visit);
    for (const Expr *t : llvm::cast<Assign>(s)->targets)
      ForEachExpr(t, visit);
    return;
  case NodeKind::AugAssign:
    ForEachExpr(llvm::cast<AugAssign>(s)->value, visit);
    return ForEachExpr(llvm::cast<AugAssign>(s)->target, visit);
  case NodeKind::AnnAssign:
    ForEachExpr(llvm::cast<AnnAssign>(s)->value, visit);
    return ForEachExpr(llvm::cast<AnnAssign>(s)->target, visit);
  case NodeKind::For:
    ForEachExpr(llvm::cast<For>(s)->iter, visit);
    return ForEachExpr(llvm::cast<For>(s)->target, visit);
  case NodeKind::While:
    return ForEachExpr(llvm::cast<While>(s)->test, visit);
  case NodeKind::If:
    return ForEachExpr(llvm::cast<If>(s)->test, visit);
  case NodeKind::Assert:
    ForEachExpr(llvm::cast<Assert>(s)->test, visit);
    return ForEachExpr(llvm::cast<Assert>(s)->msg, visit);
  case NodeKind::ExprStmt:
    return ForEachExpr(llvm::cast<ExprStmt>(s)->value, visit);
  default:
    return;
  }
}

namespace {

// Splits the names of one expression into those read and those bound. The variables of a
// comprehension are its own: they are neither.
bool Collect(const Expr *e, Names *reads, Names *targets) {
  if (auto *n = llvm::dyn_cast<Name>(e)) {
    Names *set = n->ctx == ExprContext::Store ? targets : reads;
    if (set)
      set->insert(n->id);
    return true;
  }
  const Expr *elt = nullptr;
  NodeList<Comprehension> generators;
  if (auto *c = llvm::dyn_cast<ListComp>(e)) {
    elt = c->elt;
    generators = c->generators;
  } else if (auto *c = llvm::dyn_cast<GeneratorExp>(e)) {
    elt = c->elt;
    generators = c->generators;
  } else {
    return true;
  }
  Names own, inner;
  auto collect_inner = [&](const Expr *x) { return Collect(x, &inner, nullptr); };
  bool first = true;
  for (const Comprehension *g : generators) {
    // Only the first iterable is evaluated outside the comprehension's scope.
    ForEachExpr(g->iter, [&](const Expr *x) {
      return Collect(x, first ? reads : &inner, first ? targets : nullptr);
    });
    first = false;
    ForEachExpr(g->target, [&](const Expr *x) { return Collect(x, nullptr, &own); });
    for (const Expr *condition : g->ifs)
      ForEachExpr(condition, collect_inner);
  }
  ForEachExpr(elt, collect_inner);
  for (std::string_view n : inner)
    if (reads && !own.count(n))
      reads->insert(n);
  return false;
}

} // namespace

void CollectTargets(const Expr *target, Names &out) {
  ForEachExpr(target, [&](const Expr *e) { return Collect(e, nullptr, &out); });
}

void CollectReads(const Expr *expr, Names &out) {
  ForEachExpr(expr, [&](const Expr *e) { return Collect(e, &out, nullptr); });
}

namespace {

Names Union(Names a, const Names &b) {
  a.insert(b.begin(), b.end());
  return a;
}

Names Minus(Names a, const Names &b) {
  for (std::string_view n : b)
    a.erase(n);
  return a;
}

bool Contains(const Names &all, const Names &some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

Names Intersect(const Names &a, const Names &b) {
  Names out;
  for (std::string_view n : a)
    if (b.count(n))
      out.insert(n);
  return out;
}

// What a test binds by := on every way to each truth. Both at once, so that each part is visited
// once, however deep it stands.
struct BoundBy {
  Names truth[2];
  Names Always() const { return Intersect(truth[0], truth[1]); }
};

BoundBy BoundIn(const Expr *test) {
  BoundBy bound;
  auto add = [&](const Names &names) {
    for (Names &mine : bound.truth)
      mine.insert(names.begin(), names.end());
  };
  if (auto *n = llvm::dyn_cast<UnaryOp>(test); n && n->op == UnaryOperator::Not) {
    bound = BoundIn(n->operand);
    std::swap(bound.truth[0], bound.truth[1]);
  } else if (auto *b = llvm::dyn_cast<BoolOp>(test)) {
    // One operand decides; until then each one before had the other truth.
    const bool goes_on = b->op == BoolOperator::And;
    Names before;
    std::optional<Names> decided;
    for (const Expr *value : b->values) {
      BoundBy part = BoundIn(value);
      Names here = Union(before, part.truth[!goes_on]);
      decided = decided ? Intersect(*decided, here) : here;
      before = Union(before, part.truth[goes_on]);
    }
    bound.truth[goes_on] = before;
    bound.truth[!goes_on] = *decided;
  } else if (auto *i = llvm::dyn_cast<IfExp>(test)) {
    BoundBy condition = BoundIn(i->test), body = BoundIn(i->body), orelse = BoundIn(i->orelse);
    for (bool outcome : {false, true})
      bound.truth[outcome] = Intersect(Union(condition.truth[true], body.truth[outcome]),
                                       Union(condition.truth[false], orelse.truth[outcome]));
  } else if (auto *c = llvm::dyn_cast<Compare>(test)) {
    // What follows the second operand is looked at only while the comparisons hold.
    add(BoundIn(c->left).Always());
    for (size_t k = 0; k < c->comparators.size(); ++k) {
      Names operand = BoundIn(c->comparators[k]).Always();
      bound.truth[true].insert(operand.begin(), operand.end());
      if (k == 0)
        bound.truth[false].insert(operand.begin(), operand.end());
    }
  } else if (auto *n = llvm::dyn_cast<NamedExpr>(test)) {
    bound = BoundIn(n->value);
    for (Names &names : bound.truth)
      CollectTargets(n->target, names);
  } else if (auto *call = llvm::dyn_cast<Call>(test)) {
    for (const Expr *argument : call->args)
      add(BoundIn(argument).Always());
  } else if (auto *binary = llvm::dyn_cast<BinOp>(test)) {
    add(BoundIn(binary->left).Always());
    add(BoundIn(binary->right).Always());
  } else if (auto *subscript = llvm::dyn_cast<Subscript>(test)) {
    add(BoundIn(subscript->value).Always());
    add(BoundIn(subscript->slice).Always());
  } else if (auto *unary = llvm::dyn_cast<UnaryOp>(test)) {
    add(BoundIn(unary->operand).Always());
  }
  return bound;
}

} // namespace

Names BoundWhen(const Expr *test, bool outcome) { return BoundIn(test).truth[outcome]; }

bool AlwaysJumps(Stmts body) {
  if (body.empty())
    return false;
  for (const Stmt *s : body) {
    if (llvm::isa<Return, Break, Continue>(s))
      return true;
    if (auto *i = llvm::dyn_cast<If>(s); i && AlwaysJumps(i->body) && AlwaysJumps(i->orelse))
      return true;
  }
  return false;
}

bool AlwaysReturns(Stmts body) {
  for (const Stmt *s : body) {
    if (llvm::isa<Return>(s))
      return true;
    if (auto *i = llvm::dyn_cast<If>(s); i && AlwaysReturns(i->body) && AlwaysReturns(i->orelse))
      return true;
    // `while True` without break ends only by returning.
    if (auto *w = llvm::dyn_cast<While>(s)) {
      auto *c = llvm::dyn_cast<syntax::Constant>(w->test);
      bool forever = c && ((c->constant_kind == ConstantKind::Bool && c->bool_value) ||
                           (c->IsInt() && c->int_value != 0));
      bool breaks = false;
      ForEachStatement(w->body, [&](const Stmt *inner) { breaks |= llvm::isa<Break>(inner); });
      if (forever && !breaks)
        return true;
    }
  }
  return false;
}

namespace {

class Liveness {
public:
  explicit Liveness(FunctionFlow &flow) : flow_(flow) {}

  struct Jumps {
    Names on_break, on_continue;
  };

  // What is live before `stmts` when `out` is live after them.
  Names Before(Stmts stmts, Names out, const Jumps &jumps) {
    for (size_t i = stmts.size(); i-- > 0;)
      out = Before(stmts[i], std::move(out), jumps);
    return out;
  }

private:
  Names Before(const Stmt *s, Names out, const Jumps &jumps) {
    auto reads = [](const Expr *e) {
      Names n;
      CollectReads(e, n);
      return n;
    };
    switch (s->kind) {
    case NodeKind::Return:
      return reads(llvm::cast<Return>(s)->value);
    case NodeKind::Break:
      return jumps.on_break;
    case NodeKind::Continue:
      return jumps.on_continue;
    case NodeKind::If: {
      auto *i = llvm::cast<If>(s);
      Record(s, out, {});
      Names in = Union(Before(i->body, out, jumps), Before(i->orelse, out, jumps));
      return Union(std::move(in), reads(i->test));
    }
    case NodeKind::For: {
      auto *f = llvm::cast<For>(s);
      Names targets;
      CollectTargets(f->target, targets);
      Names after = Before(f->orelse, out, jumps);
      // What the target itself reads (`for A[i] in ...`) is refused elsewhere.
      Names header = Union(after, headers_[s]), carried;
      while (true) {
        Jumps inner{.on_break = out, .on_continue = header};
        carried = Minus(Before(f->body, header, inner), targets);
        if (Contains(header, carried))
          break;
        header = Union(header, carried);
      }
      headers_[s] = header;
      Record(s, Union(out, after), carried);
      return Union(header, reads(f->iter));
    }
    case NodeKind::While: {
      auto *w = llvm::cast<While>(s);
      Names after = Before(w->orelse, out, jumps);
      Names header = Union(Union(after, reads(w->test)), headers_[s]), carried;
      while (true) {
        Jumps inner{.on_break = out, .on_continue = header};
        carried = Union(Before(w->body, header, inner), reads(w->test));
        if (Contains(header, carried))
          break;
        header = Union(header, carried);
      }
      headers_[s] = header;
      Record(s, Union(out, after), carried);
      return header;
    }
    default: {
      Names targets, used;
      ForEachExprOf(s, [&](const Expr *e) { return Collect(e, &used, &targets); });
      if (auto *a = llvm::dyn_cast<AugAssign>(s))
        if (auto *n = llvm::dyn_cast<Name>(a->target))
          used.insert(n->id);
      return Union(Minus(std::move(out), targets), used);
    }
    }
  }

  void Record(const Stmt *s, const Names &out, const Names &carried) {
    StatementFlow &f = flow_.statements[s];
    f.live_out = Union(f.live_out, Intersect(out, f.assigned));
    f.carried = Union(f.carried, Intersect(carried, f.assigned));
  }

  FunctionFlow &flow_;
  // What was found live at the head of a loop. The sets only grow as the loops around it go through
  // their rounds, so that each time starts where the last one ended: without that, every level of
  // nesting would double the work.
  std::map<const Stmt *, Names> headers_;
};

// Fills `assigned` and the jumps of every statement; returns the names assigned in `stmts`.
Names CollectAssigned(Stmts stmts, FunctionFlow &flow, StatementFlow &parent) {
  Names all;
  for (const Stmt *s : stmts) {
    Names here;
    ForEachExprOf(s, [&](const Expr *e) { return Collect(e, nullptr, &here); });
    parent.has_break |= llvm::isa<Break>(s);
    parent.has_continue |= llvm::isa<Continue>(s);
    parent.has_return |= llvm::isa<Return>(s);
    StatementFlow own;
    bool compound = true, loop = false;
    if (auto *i = llvm::dyn_cast<If>(s)) {
      here.merge(CollectAssigned(i->body, flow, own));
      here.merge(CollectAssigned(i->orelse, flow, own));
    } else if (auto *f = llvm::dyn_cast<For>(s)) {
      here.merge(CollectAssigned(f->body, flow, own));
      StatementFlow orelse;
      here.merge(CollectAssigned(f->orelse, flow, orelse));
      own.has_return |= orelse.has_return;
      own.else_break = orelse.has_break;
      own.else_continue = orelse.has_continue;
      parent.has_break |= orelse.has_break;
      parent.has_continue |= orelse.has_continue;
      loop = true;
    } else if (auto *w = llvm::dyn_cast<While>(s)) {
      here.merge(CollectAssigned(w->body, flow, own));
      StatementFlow orelse;
      here.merge(CollectAssigned(w->orelse, flow, orelse));
      own.has_return |= orelse.has_return;
      own.else_break = orelse.has_break;
      own.else_continue = orelse.has_continue;
      parent.has_break |= orelse.has_break;
      parent.has_continue |= orelse.has_continue;
      loop = true;
    } else {
      compound = false;
    }
    if (compound) {
      own.assigned = here;
      if (!loop) {
        parent.has_break |= own.has_break;
        parent.has_continue |= own.has_continue;
      }
      parent.has_return |= own.has_return;
      flow.statements[s] = own;
    }
    all.merge(Names(here));
  }
  return all;
}

} // namespace

FunctionFlow AnalyzeFlow(const FunctionDef &function) {
  FunctionFlow flow;
  StatementFlow top;
  flow.locals = CollectAssigned(function.body, flow, top);
  const Arguments &args = *function.args;
  for (auto list : {args.posonlyargs, args.args, args.kwonlyargs})
    for (const Arg *a : list)
      flow.locals.insert(a->arg);
  Liveness(flow).Before(function.body, {}, {});
  int returns = 0;
  ForEachStatement(function.body, [&](const Stmt *s) { returns += llvm::isa<Return>(s); });
  flow.returns_only_at_end =
      returns == 0 || (returns == 1 && llvm::isa<Return>(function.body.back()));
  return flow;
}

} // namespace pyasc::sema
