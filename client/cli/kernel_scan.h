// A glance at a kernel file: which kernels it has, and what their parameters are annotated as. The
// compiler alone knows the language; this only decides how a client words its request.
#ifndef PYASC_CLIENT_CLI_KERNEL_SCAN_H
#define PYASC_CLIENT_CLI_KERNEL_SCAN_H

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "pyasc/v1/compile.pb.h"

namespace pyasc::cli {

struct ScannedParameter {
  std::string name;
  // As written, without comments; "" for none.
  std::string annotation;
  bool has_default = false;
  // asc.constexpr or asc.constexpr[...].
  bool is_constexpr = false;
};

struct ScannedKernel {
  std::string name;
  std::vector<ScannedParameter> parameters;
};

// The functions decorated with `@asc.kernel`, `@kernel` or `@asc.kernel(...)`, in order.
std::vector<ScannedKernel> ScanKernels(absl::string_view source);

// The argument that an annotation of a type with all extents in numbers asks for by itself:
// "asc.float32[1024, 1024]", "asc.int32", "float". nullopt when it leaves something open.
std::optional<v1::Argument> ArgumentFromAnnotation(const ScannedParameter &parameter);

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_KERNEL_SCAN_H
