// Names that kernel authors bring from other kernel languages and array libraries (Triton, CANN,
// CUDA, PyTorch), and how this language says what they mean. A name that merely looks like one of
// ours is no help to somebody who means another thing.
#ifndef PYASC_COMPILER_SEMA_FOREIGN_NAMES_H
#define PYASC_COMPILER_SEMA_FOREIGN_NAMES_H

#include <string_view>

namespace pyasc::sema {

// What to write for a function called `name`; a clause that follows a semicolon. "" when the name
// is known nowhere else. None of the names is in the library's table.
std::string_view ForeignFunction(std::string_view name);
// The same for an attribute or method of a tensor.
std::string_view ForeignAttribute(std::string_view name);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_FOREIGN_NAMES_H
