// Element types and tensor types, for everybody: names, sizes, kinds. The one table of dtypes.
#ifndef PYASC_PROTO_CONTRACT_TENSOR_TYPE_H
#define PYASC_PROTO_CONTRACT_TENSOR_TYPE_H

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pyasc/v1/tensor.pb.h"

namespace pyasc::contract {

// Bytes of one element; 0 for DTYPE_UNSPECIFIED and values that this build does not know.
int64_t ElementBytes(v1::DType dtype);
// "f32" and "float32"; "?" as above.
absl::string_view ShortName(v1::DType dtype);
absl::string_view LongName(v1::DType dtype);
// Accepts both names; nullopt for any other.
std::optional<v1::DType> ParseDType(absl::string_view name);
bool IsInteger(v1::DType dtype); // bool is none
bool IsFloat(v1::DType dtype);

// "float32[2,3]".
std::string TypeName(const v1::TensorType &type);
// INVALID_ARGUMENT: unknown dtype, a negative extent, or more than 2^62 bytes.
absl::StatusOr<int64_t> TensorBytes(const v1::TensorType &type);
bool SameType(const v1::TensorType &a, const v1::TensorType &b);

} // namespace pyasc::contract

#endif // PYASC_PROTO_CONTRACT_TENSOR_TYPE_H
