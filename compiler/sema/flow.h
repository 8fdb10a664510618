// Which variables of a function must survive which statement: liveness over the syntax tree.
//
// A variable that a loop or a branch assigns needs a memory cell only if its value is read after
// the statement or in the next iteration; all others stay SSA values.
#ifndef PYASC_COMPILER_SEMA_FLOW_H
#define PYASC_COMPILER_SEMA_FLOW_H

#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "compiler/syntax/ast.h"

namespace pyasc::sema {

using Names = std::set<std::string_view>;

// Of an If, For or While.
struct StatementFlow {
  Names assigned; // anywhere inside, targets of the loop included
  Names live_out; // read later, before being assigned
  Names carried;  // loops: assigned inside and read by a later iteration (or the condition)
  // Jumps that leave the statement itself; `breaks` and `continues` of inner loops do not.
  bool has_break = false, has_continue = false, has_return = false;
  // Loops: jumps in the `else`, which leave the loop around this one.
  bool else_break = false, else_continue = false;
};

struct FunctionFlow {
  Names locals; // parameters and everything that is assigned
  std::map<const syntax::Stmt *, StatementFlow> statements;
  bool returns_only_at_end = true; // no `return`, or just one, as the last statement
};

FunctionFlow AnalyzeFlow(const syntax::FunctionDef &function);

// Whether control never reaches the end of the block: it ends in return, break or continue on
// every path.
bool AlwaysJumps(syntax::Stmts body);
bool AlwaysReturns(syntax::Stmts body);

// The names that assigning to `target` binds.
void CollectTargets(const syntax::Expr *target, Names &out);
// The names that evaluating `expr` may read.
void CollectReads(const syntax::Expr *expr, Names &out);

// The names that `test` has surely bound, by :=, when its truth turned out to be `outcome`.
Names BoundWhen(const syntax::Expr *test, bool outcome);

// Calls `visit` for every statement below, outer first.
template <class F> void ForEachStatement(syntax::Stmts stmts, const F &visit) {
  for (const syntax::Stmt *s : stmts) {
    visit(s);
    if (auto *i = llvm::dyn_cast<syntax::If>(s)) {
      ForEachStatement(i->body, visit);
      ForEachStatement(i->orelse, visit);
    } else if (auto *f = llvm::dyn_cast<syntax::ForLike>(s)) {
      ForEachStatement(f->body, visit);
      ForEachStatement(f->orelse, visit);
    } else if (auto *w = llvm::dyn_cast<syntax::While>(s)) {
      ForEachStatement(w->body, visit);
      ForEachStatement(w->orelse, visit);
    } else if (auto *with = llvm::dyn_cast<syntax::WithLike>(s)) {
      ForEachStatement(with->body, visit);
    }
  }
}

// Calls `visit` for every expression below `expr`, outer first; false: not for those inside it.
using ExprVisitor = std::function<bool(const syntax::Expr *)>;
void ForEachExpr(const syntax::Expr *expr, const ExprVisitor &visit);
// ... and for every expression of the statement itself, not of statements inside it.
void ForEachExprOf(const syntax::Stmt *stmt, const ExprVisitor &visit);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_FLOW_H
