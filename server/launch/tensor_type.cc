#include "server/launch/tensor_type.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace pyasc::server {
namespace {

enum class Kind { kNone, kBool, kInteger, kFloat };
struct DTypeInfo {
  const char *name;
  int bytes;
  Kind kind;
};

DTypeInfo Info(v1::DType dtype) {
  switch (dtype) {
  case v1::DTYPE_BOOL:
    return {"bool", 1, Kind::kBool};
  case v1::DTYPE_INT8:
    return {"int8", 1, Kind::kInteger};
  case v1::DTYPE_INT16:
    return {"int16", 2, Kind::kInteger};
  case v1::DTYPE_INT32:
    return {"int32", 4, Kind::kInteger};
  case v1::DTYPE_INT64:
    return {"int64", 8, Kind::kInteger};
  case v1::DTYPE_UINT8:
    return {"uint8", 1, Kind::kInteger};
  case v1::DTYPE_UINT16:
    return {"uint16", 2, Kind::kInteger};
  case v1::DTYPE_UINT32:
    return {"uint32", 4, Kind::kInteger};
  case v1::DTYPE_UINT64:
    return {"uint64", 8, Kind::kInteger};
  case v1::DTYPE_FLOAT16:
    return {"float16", 2, Kind::kFloat};
  case v1::DTYPE_BFLOAT16:
    return {"bfloat16", 2, Kind::kFloat};
  case v1::DTYPE_FLOAT32:
    return {"float32", 4, Kind::kFloat};
  case v1::DTYPE_FLOAT64:
    return {"float64", 8, Kind::kFloat};
  default:
    return {"unknown", 0, Kind::kNone};
  }
}

} // namespace

int64_t ElementBytes(v1::DType dtype) { return Info(dtype).bytes; }
std::string DTypeName(v1::DType dtype) { return Info(dtype).name; }
bool IsInteger(v1::DType dtype) { return Info(dtype).kind == Kind::kInteger; }
bool IsFloat(v1::DType dtype) { return Info(dtype).kind == Kind::kFloat; }

std::string TypeName(const v1::TensorType &type) {
  return absl::StrCat(DTypeName(type.dtype()), "[", absl::StrJoin(type.shape(), ","), "]");
}

absl::StatusOr<int64_t> TensorBytes(const v1::TensorType &type) {
  int64_t bytes = ElementBytes(type.dtype());
  if (bytes == 0)
    return absl::InvalidArgumentError("a tensor has no known dtype");
  bool empty = false;
  for (int64_t extent : type.shape()) {
    if (extent < 0)
      return absl::InvalidArgumentError(
          absl::StrCat("the shape of ", TypeName(type), " has a negative extent"));
    if (extent == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > (int64_t{1} << 62))
      return absl::InvalidArgumentError(absl::StrCat(TypeName(type), " is too large"));
  }
  return empty ? 0 : bytes;
}

bool SameType(const v1::TensorType &a, const v1::TensorType &b) {
  return a.dtype() == b.dtype() &&
         std::equal(a.shape().begin(), a.shape().end(), b.shape().begin(), b.shape().end());
}

} // namespace pyasc::server
