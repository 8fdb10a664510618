// The conformance suite's kernels as the host driver takes them: entries of HostCode, one element a
// block, so that no size stands in the code. Compiled to one relocatable object that the test
// loads.
#include <cstdint>

namespace {

template <typename T> T *Data(void **args, int index) { return static_cast<T *>(args[index]); }

} // namespace

extern "C" {

void conformance_add(void **args, int64_t block, int64_t /*num_blocks*/) {
  Data<float>(args, 2)[block] = Data<float>(args, 0)[block] + Data<float>(args, 1)[block];
}

void conformance_scale(void **args, int64_t block, int64_t /*num_blocks*/) {
  Data<float>(args, 0)[block] *= *Data<float>(args, 1);
}

void conformance_double(void **args, int64_t block, int64_t /*num_blocks*/) {
  Data<float>(args, 1)[block] = 2 * Data<float>(args, 0)[block];
}

// Arguments: error buffer of {code, value, bound}, x.
void conformance_check(void **args, int64_t block, int64_t /*num_blocks*/) {
  auto *error = Data<int64_t>(args, 0);
  const int32_t value = Data<int32_t>(args, 1)[block];
  if (value >= 0 || error[0] != 0)
    return;
  error[0] = 1;
  error[1] = value;
  error[2] = block;
}
}
