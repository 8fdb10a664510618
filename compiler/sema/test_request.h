// Builds kernels from text in tests.
#ifndef PYASC_COMPILER_SEMA_TEST_REQUEST_H
#define PYASC_COMPILER_SEMA_TEST_REQUEST_H

#include <string>
#include <string_view>
#include <vector>

#include "compiler/sema/build_kernel.h"

namespace pyasc::sema {

struct Built {
  std::string ir;          // "" after errors
  std::string diagnostics; // one a line: "3:5-3:9 out-of-bounds index 8 is ..."
  std::string key;
};

// `arguments`: "A=f32[4,8]" (array), "n=i64" (scalar), "c==3" (compile-time value).
Built Build(std::string_view source, const std::vector<std::string> &arguments);
Built Build(v1::CompileRequest request);
void AddArgument(const std::string &text, v1::CompileRequest &request);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_TEST_REQUEST_H
