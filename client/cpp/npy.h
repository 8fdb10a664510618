// NumPy's .npy files: reading format versions 1 to 3, C and Fortran order; writing version 1.
//
// bfloat16, which NumPy does not have: two-byte void elements ("<V2", "|V2"), which is what
// numpy.save makes of an ml_dtypes.bfloat16 array, are bfloat16, and bfloat16 is written so. An
// array of uint16 is an array of uint16, never bfloat16.
#ifndef PYASC_CLIENT_CPP_NPY_H
#define PYASC_CLIENT_CPP_NPY_H

#include "absl/strings/string_view.h"
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/tensor.h"

namespace pyasc::client {

// What the head of an .npy file says.
struct NpyHeader {
  v1::TensorType type;
  bool fortran_order = false;
  // Where the elements begin in the file.
  size_t data_offset = 0;
};

// `bytes` is the file, or at least its head. Errors: INVALID_ARGUMENT for what is no .npy file,
// for object, string, complex, structured and big-endian arrays, each saying what to do.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view bytes);

// The whole array in row-major order. Errors: NOT_FOUND and the like for the file, DATA_LOSS for
// a file that ends early, INVALID_ARGUMENT as ParseNpyHeader. Messages start with the path.
absl::StatusOr<Tensor> ReadNpy(const std::string &path);

// The type alone, without reading the elements.
absl::StatusOr<v1::TensorType> ReadNpyType(const std::string &path);

// Replaces the file as a whole: a reader never sees half an array. A path that is no regular
// file (/dev/stdout, a FIFO) is written straight.
absl::Status WriteNpy(const std::string &path, const Tensor &tensor);

// The head that WriteNpy writes.
std::string FormatNpyHeader(const v1::TensorType &type);

} // namespace pyasc::client

#endif // PYASC_CLIENT_CPP_NPY_H
