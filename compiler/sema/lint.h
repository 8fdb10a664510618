// What a text says that nobody can mean, found by looking at it alone: for warnings. Where in doubt
// nothing is found.
#ifndef PYASC_COMPILER_SEMA_LINT_H
#define PYASC_COMPILER_SEMA_LINT_H

#include <string_view>

#include "compiler/syntax/ast.h"

namespace pyasc::sema {

struct LostAssignment {
  const syntax::Name *target = nullptr; // null: there is none
  bool only = true;                     // no other assignment binds the name
};

// The first `parameter = value` of a function that does nothing else with the parameter: nobody
// reads it, and nothing is written through it. An author who knows other kernel languages, or C,
// means to write the caller's array.
LostAssignment FindLostAssignment(const syntax::FunctionDef &function, std::string_view parameter);

// Whether what `loop` tests stays what it is as long as the loop runs: it reads names that the body
// does not assign and elements that it does not write. A loop that may be left by break or return
// is not meant.
bool TestNeverChanges(const syntax::While &loop);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_LINT_H
