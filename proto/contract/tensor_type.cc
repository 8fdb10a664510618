#include "proto/contract/tensor_type.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace pyasc::contract {
namespace {

enum class Kind { kNone, kBool, kInteger, kFloat };
struct DTypeEntry {
  v1::DType dtype;
  absl::string_view short_name;
  absl::string_view long_name;
  int64_t bytes;
  Kind kind;
};

constexpr DTypeEntry kUnknown{v1::DTYPE_UNSPECIFIED, "?", "?", 0, Kind::kNone};
constexpr DTypeEntry kDTypes[] = {
    {v1::DTYPE_BOOL, "bool", "bool", 1, Kind::kBool},
    {v1::DTYPE_INT8, "i8", "int8", 1, Kind::kInteger},
    {v1::DTYPE_INT16, "i16", "int16", 2, Kind::kInteger},
    {v1::DTYPE_INT32, "i32", "int32", 4, Kind::kInteger},
    {v1::DTYPE_INT64, "i64", "int64", 8, Kind::kInteger},
    {v1::DTYPE_UINT8, "u8", "uint8", 1, Kind::kInteger},
    {v1::DTYPE_UINT16, "u16", "uint16", 2, Kind::kInteger},
    {v1::DTYPE_UINT32, "u32", "uint32", 4, Kind::kInteger},
    {v1::DTYPE_UINT64, "u64", "uint64", 8, Kind::kInteger},
    {v1::DTYPE_FLOAT16, "f16", "float16", 2, Kind::kFloat},
    {v1::DTYPE_BFLOAT16, "bf16", "bfloat16", 2, Kind::kFloat},
    {v1::DTYPE_FLOAT32, "f32", "float32", 4, Kind::kFloat},
    {v1::DTYPE_FLOAT64, "f64", "float64", 8, Kind::kFloat},
};

const DTypeEntry &Find(v1::DType dtype) {
  for (const DTypeEntry &entry : kDTypes)
    if (entry.dtype == dtype)
      return entry;
  return kUnknown;
}

} // namespace

int64_t ElementBytes(v1::DType dtype) { return Find(dtype).bytes; }
absl::string_view ShortName(v1::DType dtype) { return Find(dtype).short_name; }
absl::string_view LongName(v1::DType dtype) { return Find(dtype).long_name; }
bool IsInteger(v1::DType dtype) { return Find(dtype).kind == Kind::kInteger; }
bool IsFloat(v1::DType dtype) { return Find(dtype).kind == Kind::kFloat; }

std::optional<v1::DType> ParseDType(absl::string_view name) {
  for (const DTypeEntry &entry : kDTypes)
    if (name == entry.short_name || name == entry.long_name)
      return entry.dtype;
  return std::nullopt;
}

std::string TypeName(const v1::TensorType &type) {
  return absl::StrCat(LongName(type.dtype()), "[", absl::StrJoin(type.shape(), ","), "]");
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

} // namespace pyasc::contract
