// Kernels in structured form, as text, for tests of the Ascend lowering.
#ifndef PYASC_COMPILER_TARGET_ASCEND_TESTING_KERNELS_H
#define PYASC_COMPILER_TARGET_ASCEND_TESTING_KERNELS_H

#include <cstdint>
#include <string>

namespace pyasc::npu::testing {

// C (m x n, f32) += A x B; A is k x m when transpose_a, B is n x k when transpose_b.
struct MatmulKernel {
  int64_t m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false;
  std::string element = "f32"; // "f16", "bf16"
  // A step before that sets C to zero; one after that rounds C to `element` into the result.
  bool zero_first = true;
  bool rounded = false;
  int64_t batch = 0; // > 0: a leading batch dimension of all three

  std::string text() const;
};

} // namespace pyasc::npu::testing

#endif // PYASC_COMPILER_TARGET_ASCEND_TESTING_KERNELS_H
