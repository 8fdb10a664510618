// What the parameters of a kernel say of themselves, before any argument is known.
#ifndef PYASC_COMPILER_SEMA_SIGNATURE_H
#define PYASC_COMPILER_SEMA_SIGNATURE_H

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/sema/dtype.h"
#include "compiler/syntax/ast.h"

namespace pyasc::sema {

struct Annotation {
  std::string_view type_name; // "float32" of asc.float32[N]; "" without an annotation
  bool has_dims = false;      // [...] follows
  bool any_rank = false;      // [...] holds just an ellipsis
  std::vector<const syntax::Expr *> dims;
  bool is_constexpr = false;
  bool any_tensor = false;    // asc.tensor
  bool python_scalar = false; // int, float, bool
  std::optional<DType> dtype;
};

// "asc.float32" and "float32" alike: the last name of an annotation; "" when it has none.
std::string_view LastName(const syntax::Expr *e);

// `annotation` may be null.
Annotation ReadAnnotation(const syntax::Expr *annotation);

// Parameters in order, with their defaults (null: none). Without * and **.
std::vector<std::pair<const syntax::Arg *, const syntax::Expr *>>
ParametersOf(const syntax::Arguments &arguments);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_SIGNATURE_H
