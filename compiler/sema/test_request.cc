#include "compiler/sema/test_request.h"

#include <map>
#include <sstream>

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

namespace pyasc::sema {

namespace {

v1::DType ParseDType(const std::string &name) {
  static const std::map<std::string, v1::DType> kNames = {
      {"bool", v1::DTYPE_BOOL},   {"i8", v1::DTYPE_INT8},       {"i16", v1::DTYPE_INT16},
      {"i32", v1::DTYPE_INT32},   {"i64", v1::DTYPE_INT64},     {"u8", v1::DTYPE_UINT8},
      {"u16", v1::DTYPE_UINT16},  {"u32", v1::DTYPE_UINT32},    {"u64", v1::DTYPE_UINT64},
      {"f16", v1::DTYPE_FLOAT16}, {"bf16", v1::DTYPE_BFLOAT16}, {"f32", v1::DTYPE_FLOAT32},
      {"f64", v1::DTYPE_FLOAT64}};
  auto it = kNames.find(name);
  return it == kNames.end() ? v1::DTYPE_UNSPECIFIED : it->second;
}

} // namespace

void AddArgument(const std::string &text, v1::CompileRequest &request) {
  size_t equals = text.find('=');
  v1::Argument *a = request.add_arguments();
  a->set_name(text.substr(0, equals));
  std::string spec = text.substr(equals + 1);
  if (spec[0] == '=') {
    std::string value = spec.substr(1);
    if (value == "True" || value == "False")
      a->mutable_constexpr_value()->set_bool_value(value == "True");
    else if (value.find_first_of(".e") != std::string::npos)
      a->mutable_constexpr_value()->set_float_value(std::stod(value));
    else
      a->mutable_constexpr_value()->set_int_value(std::stoll(value));
    return;
  }
  size_t bracket = spec.find('[');
  v1::DType t = ParseDType(spec.substr(0, bracket));
  if (bracket == std::string::npos) {
    a->set_scalar(t);
    return;
  }
  a->mutable_tensor()->set_dtype(t);
  std::stringstream dims(spec.substr(bracket + 1, spec.size() - bracket - 2));
  for (std::string d; std::getline(dims, d, ',');)
    a->mutable_tensor()->add_shape(std::stoll(d));
}

Built Build(std::string_view source, const std::vector<std::string> &arguments) {
  v1::CompileRequest request;
  request.add_files()->set_content(std::string(source));
  request.set_target(v1::TARGET_HOST);
  for (const std::string &a : arguments)
    AddArgument(a, request);
  return Build(std::move(request));
}

Built Build(v1::CompileRequest request) {
  mlir::MLIRContext context;
  diag::DiagnosticList diags;
  Built built;
  auto kernel = BuildKernel(context, request, diags);
  for (const v1::Diagnostic &d : diags.Take()) {
    const v1::SourceRange &r = d.range();
    built.diagnostics += std::to_string(r.line()) + ":" + std::to_string(r.column()) + "-" +
                         std::to_string(r.end_line()) + ":" + std::to_string(r.end_column()) + " " +
                         d.code() + " " + d.message() + "\n";
  }
  if (!kernel)
    return built;
  llvm::raw_string_ostream out(built.ir);
  kernel->module->print(out);
  built.key = kernel->semantic_key_text;
  return built;
}

} // namespace pyasc::sema
