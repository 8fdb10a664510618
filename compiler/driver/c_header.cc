#include "compiler/driver/c_header.h"

#include <iterator>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace pyasc::compiler {
namespace {

// 16-bit floats have no portable C type: their bits travel as uint16_t.
const char *CType(v1::DType dtype) {
  switch (dtype) {
  case v1::DTYPE_BOOL:
  case v1::DTYPE_UINT8:
    return "uint8_t";
  case v1::DTYPE_INT8:
    return "int8_t";
  case v1::DTYPE_INT16:
    return "int16_t";
  case v1::DTYPE_INT32:
    return "int32_t";
  case v1::DTYPE_INT64:
    return "int64_t";
  case v1::DTYPE_UINT16:
  case v1::DTYPE_FLOAT16:
  case v1::DTYPE_BFLOAT16:
    return "uint16_t";
  case v1::DTYPE_UINT32:
    return "uint32_t";
  case v1::DTYPE_UINT64:
    return "uint64_t";
  case v1::DTYPE_FLOAT64:
    return "double";
  default:
    return "float";
  }
}

// Keywords of C and C++ that are names in Python.
const char *const kKeywords[] = {"alignas",       "alignof",
                                 "asm",           "auto",
                                 "bool",          "case",
                                 "catch",         "char",
                                 "const",         "constexpr",
                                 "decltype",      "default",
                                 "delete",        "do",
                                 "double",        "enum",
                                 "explicit",      "export",
                                 "extern",        "false",
                                 "float",         "friend",
                                 "goto",          "inline",
                                 "int",           "long",
                                 "mutable",       "namespace",
                                 "new",           "noexcept",
                                 "nullptr",       "operator",
                                 "private",       "protected",
                                 "public",        "register",
                                 "restrict",      "short",
                                 "signed",        "sizeof",
                                 "static",        "struct",
                                 "switch",        "template",
                                 "this",          "throw",
                                 "true",          "typedef",
                                 "typeid",        "typename",
                                 "typeof",        "union",
                                 "unsigned",      "using",
                                 "virtual",       "void",
                                 "volatile",      "wchar_t",
                                 "static_assert", "thread_local",
                                 "concept",       "requires",
                                 "char8_t",       "char16_t",
                                 "char32_t",      "consteval",
                                 "constinit",     "co_await",
                                 "co_return",     "co_yield",
                                 "dynamic_cast",  "static_cast",
                                 "const_cast",    "reinterpret_cast",
                                 "and_eq",        "bitand",
                                 "bitor",         "compl",
                                 "not_eq",        "or_eq",
                                 "xor",           "xor_eq"};

// Names of one C scope: a kernel's own where C allows it, else with underscores behind it.
class Names {
public:
  Names() : taken_(std::begin(kKeywords), std::end(kKeywords)) {}
  std::string Take(std::string name) {
    while (!taken_.insert(name).second)
      name += '_';
    return name;
  }

private:
  std::set<std::string> taken_;
};

bool IsWritten(const v1::Parameter &parameter) {
  return parameter.access() == v1::ACCESS_WRITE || parameter.access() == v1::ACCESS_READ_WRITE;
}

} // namespace

std::string CHeader(const v1::Artifact &artifact) {
  const v1::LaunchContract &launch = artifact.launch();
  Names names;
  const std::string entry = names.Take("pyasc_" + artifact.kernel());
  const std::string function = names.Take(artifact.kernel());
  // In the order of their claim: a parameter keeps its name before ours do.
  std::vector<std::string> parameter_names;
  for (const v1::Parameter &parameter : launch.parameters())
    parameter_names.push_back(names.Take(parameter.name()));
  std::vector<std::string> formals;
  std::vector<std::string> actuals;
  std::vector<std::string> notes;
  for (int i = 0; i < launch.parameters_size(); ++i) {
    const v1::Parameter &parameter = launch.parameters(i);
    const std::string &name = parameter_names[static_cast<size_t>(i)];
    if (parameter.has_tensor()) {
      std::string type = CType(parameter.tensor().dtype());
      formals.push_back(absl::StrCat(IsWritten(parameter) ? "" : "const ", type, " *", name));
      actuals.push_back(absl::StrCat("(void *)", name));
      notes.push_back(absl::StrCat("//   ", name, ": [",
                                   absl::StrJoin(parameter.tensor().shape(), ","), "], row-major"));
    } else {
      formals.push_back(absl::StrCat(CType(parameter.scalar()), " ", name));
      actuals.push_back(absl::StrCat("&", name));
    }
  }
  for (const v1::Result &result : launch.results()) {
    std::string name =
        names.Take(absl::StrReplaceAll(result.name(), {{"return", "result"}, {".", "_"}}));
    std::vector<int64_t> shape;
    for (const v1::LaunchExpr &extent : result.shape())
      shape.push_back(extent.steps(0).value());
    formals.push_back(absl::StrCat(CType(result.dtype()), " *", name));
    actuals.push_back(absl::StrCat("(void *)", name));
    notes.push_back(
        absl::StrCat("//   ", name, ": [", absl::StrJoin(shape, ","), "], row-major, written"));
  }
  if (launch.print_log_words() > 0) {
    std::string name = names.Take("prints");
    formals.push_back("int64_t *" + name);
    actuals.push_back(name);
    notes.push_back(
        absl::StrCat("//   ", name, ": the print log, ", launch.print_log_words(),
                     " int64, zero before the call; its layout stands in the artifact"));
  }
  bool errors = launch.error_table_size() > 0;
  if (errors) {
    std::string name = names.Take("errors");
    formals.push_back("int64_t *" + name);
    actuals.push_back(name);
    notes.push_back(absl::StrCat("//   ", name,
                                 ": four int64, zero before the call; after it {code, value, "
                                 "bound, 0} of the first error, code 0 for none"));
  }
  const std::string array = names.Take("args");
  std::string guard = absl::StrCat("PYASC_KERNEL_", artifact.kernel(), "_H");
  std::string out = absl::StrCat(
      "// Generated by pyasc: kernel ", artifact.kernel(),
      ", native code for this machine's CPU.\n",
      "// Tensors are contiguous and do not overlap where one of them is written.\n",
      absl::StrJoin(notes, "\n"), notes.empty() ? "" : "\n", "#ifndef ", guard, "\n#define ", guard,
      "\n#include <stdint.h>\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", "void ", entry,
      "(void **args, int64_t block, int64_t num_blocks);\n\n", "#ifdef __cplusplus\n}\n#endif\n\n",
      "static inline void ", function, "(", formals.empty() ? "void" : absl::StrJoin(formals, ", "),
      ") {\n");
  if (actuals.empty())
    absl::StrAppend(&out, "  void **", array, " = 0;\n");
  else
    absl::StrAppend(&out, "  void *", array, "[] = {", absl::StrJoin(actuals, ", "), "};\n");
  absl::StrAppend(&out, "  ", entry, "(", array, ", 0, 1);\n}\n\n#endif\n");
  return out;
}

} // namespace pyasc::compiler
