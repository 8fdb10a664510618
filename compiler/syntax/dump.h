// A tree as text, for tests: one line a node, children indented below the name of their field.
//
//   Module
//     body: Assign @1:1-1:6
//       targets: Name @1:1-1:2 id="x" ctx=Store
//       value: Constant @1:5-1:6 int=1
//
// Fields that are absent or empty are left out. tests/conformance/syntax_test.py prints CPython's
// trees in the same form.
#ifndef PYASC_COMPILER_SYNTAX_DUMP_H
#define PYASC_COMPILER_SYNTAX_DUMP_H

#include <string>

#include "compiler/syntax/ast.h"

namespace pyasc::syntax {

struct DumpOptions {
  bool positions = true;
  // CPython before 3.12 gives wrong positions inside f-strings.
  bool positions_in_fstrings = true;
};

std::string Dump(const Node *node, const DumpOptions &options = {});

} // namespace pyasc::syntax

#endif // PYASC_COMPILER_SYNTAX_DUMP_H
