// Sizes and names of tensor types.
#ifndef PYASC_SERVER_LAUNCH_TENSOR_TYPE_H
#define PYASC_SERVER_LAUNCH_TENSOR_TYPE_H

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "pyasc/v1/tensor.pb.h"

namespace pyasc::server {

// Bytes of one element; 0: no such dtype.
int64_t ElementBytes(v1::DType dtype);
// "float32".
std::string DTypeName(v1::DType dtype);
// "float32[2,3]".
std::string TypeName(const v1::TensorType &type);
// INVALID_ARGUMENT: unknown dtype, a negative extent, or more than 2^62 bytes.
absl::StatusOr<int64_t> TensorBytes(const v1::TensorType &type);
bool IsInteger(v1::DType dtype); // bool is none
bool IsFloat(v1::DType dtype);
bool SameType(const v1::TensorType &a, const v1::TensorType &b);

} // namespace pyasc::server

#endif // PYASC_SERVER_LAUNCH_TENSOR_TYPE_H
