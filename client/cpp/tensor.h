// Tensors of the client side: element types, their names, and arrays in host memory.
#ifndef PYASC_CLIENT_CPP_TENSOR_H
#define PYASC_CLIENT_CPP_TENSOR_H

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/contract/tensor_type.h"
#include "pyasc/v1/tensor.pb.h"

namespace pyasc::client {

// A dense, row-major, little-endian array. data.size() == ByteSize(type).
struct Tensor {
  v1::TensorType type;
  std::string data;
};

using contract::IsFloat;
using contract::LongName;
using contract::ParseDType;
using contract::ShortName;

// Elements and bytes of a type. Errors: INVALID_ARGUMENT for a negative extent, an unknown dtype
// or a size beyond 63 bits.
absl::StatusOr<int64_t> NumElements(const v1::TensorType &type);
absl::StatusOr<int64_t> ByteSize(const v1::TensorType &type);

// "f32[2,3]"; a rank-0 tensor is "f32[]".
std::string FormatType(const v1::TensorType &type);

// The reverse: "f32[2,3]", spaces allowed.
absl::StatusOr<v1::TensorType> ParseType(absl::string_view text);

// Element `index` (row-major) as text: "1.5", "-3", "True", "nan".
// REQUIRES: index < NumElements(tensor.type).
std::string FormatElement(const Tensor &tensor, int64_t index);

// Rounds float32 or float64 elements to bfloat16, to nearest even, NaN staying NaN.
absl::StatusOr<Tensor> ToBFloat16(const Tensor &tensor);
// Widens float16 or bfloat16 elements exactly to float32; float32 is returned as it is.
absl::StatusOr<Tensor> ToFloat32(const Tensor &tensor);

} // namespace pyasc::client

#endif // PYASC_CLIENT_CPP_TENSOR_H
