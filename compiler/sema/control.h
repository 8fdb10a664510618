// What happens to variables around a loop or a branch. Private to the emitter's files.
#ifndef PYASC_COMPILER_SEMA_CONTROL_H
#define PYASC_COMPILER_SEMA_CONTROL_H

#include "compiler/sema/emitter.h"

namespace pyasc::sema {

// Opened before a statement with regions. Gives a cell to every name in `homes`, and when closed
// forgets what the regions left behind that is not in a cell.
class ControlScope {
public:
  // `assigned`: all that the regions assign. `sums`: names that a loop adds into.
  ControlScope(Emitter &emitter, const SourceRange &range, Names assigned, const Names &homes,
               const Names &sums = {});

  // For loops, once the body is about to begin: values that a former iteration may have changed
  // are read from their cells.
  void EnterIteration();
  // One region after another: each starts from the state before the statement.
  void SaveState();    // before the first region
  void RestoreState(); // before each further region; keeps what the last one bound
  // Notes which names are bound at the end of a region from which control falls out.
  void EndRegion();
  // `may_skip`: control may get past the statement without any region that was noted.
  void Close(bool may_skip);

private:
  Emitter &e_;
  Names assigned_;
  Names created_;
  Names bound_before_;
  Environment before_;
  std::optional<Names> bound_; // in every region that ended
};

// Names that statements assign, those inside included.
Names AssignedIn(const StmtList &stmts);
// Names that are assigned by `+=` or `-=` (or `x = x + ...`) inside.
Names SummedIn(syntax::Stmts stmts);
// Names that some statement inside binds anew, other than by an augmented assignment.
Names ReboundIn(syntax::Stmts stmts);
Names ReboundIn(const StmtList &stmts);
// Takes from `assigned` the tensors that are only updated in place, as by `x += 1`: their names
// stay bound to what they are. `rebound`: what the regions bind anew.
void KeepUpdatedTensors(const Environment &env, const Names &rebound, Names &assigned);
// Whether two expressions are the same text in effect.
bool SameExpr(const syntax::Expr *a, const syntax::Expr *b);
// `x = x + e` as the operation that updates x: its BinOp, else null.
const syntax::BinOp *AsUpdate(const syntax::Assign *s);

// The updates by operators whose order does not matter among each other have one kind; empty: the
// order of updates by it matters.
std::string_view ReductionKind(syntax::Operator op);
// Whether a `continue` needs a flag: it hides in a branch whose other paths go on.
bool NeedsSkipFlag(syntax::Stmts body);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_CONTROL_H
