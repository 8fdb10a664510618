// A glance at a kernel file: which kernels it has, and which of their parameters want their value
// at compile time. The compiler alone knows the language; this only decides how a client words
// its request.
#ifndef PYASC_CLIENT_CLI_KERNEL_SCAN_H
#define PYASC_CLIENT_CLI_KERNEL_SCAN_H

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace pyasc::cli {

struct ScannedKernel {
  std::string name;
  std::vector<std::string> constexpr_parameters;
};

// The functions decorated with `@asc.kernel`, `@kernel` or `@asc.kernel(...)`, in order.
std::vector<ScannedKernel> ScanKernels(absl::string_view source);

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_KERNEL_SCAN_H
