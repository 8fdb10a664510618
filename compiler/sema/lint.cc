#include "compiler/sema/lint.h"

#include "compiler/sema/flow.h"

namespace pyasc::sema {

using namespace syntax;

namespace {

// Functions whose call writes nothing: those of a module, but for the few that write.
bool WritesNothing(const Call *call) {
  auto *a = llvm::dyn_cast<Attribute>(call->func);
  if (!a || !llvm::isa<Name>(a->value))
    return false;
  return a->attr != "copy" && a->attr != "scatter" && !a->attr.starts_with("atomic_") &&
         a->attr != "print";
}

bool Reads(const Expr *expr, std::string_view name) {
  bool found = false;
  ForEachExpr(expr, [&](const Expr *e) {
    auto *n = llvm::dyn_cast<Name>(e);
    found |= n && n->ctx == ExprContext::Load && n->id == name;
    return true;
  });
  return found;
}

// Whether evaluating `value`, which is assigned to `name`, does something with it but read it.
bool Uses(const Expr *value, std::string_view name) {
  bool uses = false;
  ForEachExpr(value, [&](const Expr *e) {
    if (llvm::isa<NamedExpr>(e))
      uses = true;
    if (auto *call = llvm::dyn_cast<Call>(e); call && !WritesNothing(call) && Reads(call, name))
      uses = true;
    return true;
  });
  return uses;
}

} // namespace

LostAssignment FindLostAssignment(const FunctionDef &function, std::string_view parameter) {
  LostAssignment found;
  int bindings = 0;
  bool used = false;
  ForEachStatement(function.body, [&](const Stmt *s) {
    // Names of such statements are refused anyway.
    if (!llvm::isa<Return, Assign, AugAssign, AnnAssign, For, While, If, Assert, ExprStmt, Pass,
                   Break, Continue>(s))
      used = true;
    auto *a = llvm::dyn_cast<Assign>(s);
    auto *target = a && a->targets.size() == 1 ? llvm::dyn_cast<Name>(a->targets[0]) : nullptr;
    if (target && target->id == parameter) {
      used |= Uses(a->value, parameter);
      if (!found.target)
        found.target = target;
      ++bindings;
      return;
    }
    ForEachExprOf(s, [&](const Expr *e) {
      auto *n = llvm::dyn_cast<Name>(e);
      used |= n && n->id == parameter;
      return true;
    });
  });
  found.only = bindings == 1;
  return used ? LostAssignment{} : found;
}

bool TestNeverChanges(const While &loop) {
  Names read;
  bool reads_memory = false, known = true;
  ForEachExpr(loop.test, [&](const Expr *e) {
    switch (e->kind) {
    case NodeKind::Name:
      read.insert(llvm::cast<Name>(e)->id);
      break;
    case NodeKind::Subscript:
      reads_memory = true;
      break;
    case NodeKind::Constant:
    case NodeKind::BinOp:
    case NodeKind::UnaryOp:
    case NodeKind::BoolOp:
    case NodeKind::Compare:
    case NodeKind::Tuple:
      break;
    default: // a call may have another answer each time
      known = false;
    }
    return known;
  });
  if (!known)
    return false;
  bool may_change = false, leaves = false;
  ForEachStatement(loop.body, [&](const Stmt *s) {
    // The break of an inner loop counts too, though it leaves that one alone.
    leaves |= llvm::isa<Return, Break>(s);
    if (!llvm::isa<Assign, AugAssign, AnnAssign, For, While, If, Assert, ExprStmt, Pass, Continue,
                   Return, Break>(s))
      may_change = true;
    if (auto *update = llvm::dyn_cast<AugAssign>(s); update && reads_memory)
      may_change = true;
    ForEachExprOf(s, [&](const Expr *e) {
      if (auto *n = llvm::dyn_cast<Name>(e))
        may_change |= n->ctx != ExprContext::Load && read.count(n->id) != 0;
      if (auto *sub = llvm::dyn_cast<Subscript>(e))
        may_change |= reads_memory && sub->ctx != ExprContext::Load;
      if (auto *call = llvm::dyn_cast<Call>(e)) {
        // A helper, or a method, may write what the test reads.
        auto *callee = llvm::dyn_cast<Name>(call->func);
        may_change |= reads_memory && !WritesNothing(call) && !(callee && callee->id == "range");
      }
      return true;
    });
  });
  return !may_change && !leaves;
}

} // namespace pyasc::sema
