#include "client/cpp/tensor.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace pyasc::client {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors travel little-endian");

template <typename T> T Load(const Tensor &tensor, int64_t index) {
  T value;
  std::memcpy(&value, tensor.data.data() + index * sizeof(T), sizeof(T));
  return value;
}

float HalfToFloat(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = (h >> 10) & 0x1f, mantissa = h & 0x3ff;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent == 0) {
    float magnitude = std::ldexp(float(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

float BFloat16ToFloat(uint16_t b) { return std::bit_cast<float>(uint32_t(b) << 16); }

uint16_t FloatToBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return uint16_t((bits >> 16) | 0x40);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Rounding float64 to float32 first would round twice; round-to-odd in between keeps the sticky
// information, so that the second rounding is right.
float RoundToOdd(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || double(nearest) == value)
    return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (bits & 1)
    return nearest;
  // The neighbour towards `value` is odd.
  bool away = std::fabs(double(nearest)) < std::fabs(value);
  return std::bit_cast<float>(away ? bits + 1 : bits - 1);
}

template <typename T> std::string FormatFloat(T value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

} // namespace

absl::StatusOr<int64_t> NumElements(const v1::TensorType &type) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : type.shape()) {
    if (extent < 0)
      return absl::InvalidArgumentError(
          absl::StrCat("the extents of a shape are not negative, but met ", extent));
    if (extent == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, extent, &count))
      return absl::InvalidArgumentError(
          absl::StrCat("the tensor ", FormatType(type), " is too large to be addressed"));
  }
  return empty ? 0 : count;
}

absl::StatusOr<int64_t> ByteSize(const v1::TensorType &type) {
  int64_t size = contract::ElementBytes(type.dtype());
  if (size == 0)
    return absl::InvalidArgumentError(
        absl::StrCat("element type number ", int(type.dtype()), " is unknown to this build"));
  absl::StatusOr<int64_t> count = NumElements(type);
  if (!count.ok())
    return count;
  int64_t bytes;
  if (__builtin_mul_overflow(*count, size, &bytes))
    return absl::InvalidArgumentError(
        absl::StrCat("the tensor ", FormatType(type), " is too large to be addressed"));
  return bytes;
}

std::string FormatType(const v1::TensorType &type) {
  return absl::StrCat(ShortName(type.dtype()), "[", absl::StrJoin(type.shape(), ","), "]");
}

absl::StatusOr<v1::TensorType> ParseType(absl::string_view text) {
  size_t open = text.find('[');
  if (open == absl::string_view::npos || text.back() != ']')
    return absl::InvalidArgumentError(
        absl::StrCat("expected a type like f32[1024,1024], met '", text, "'"));
  absl::string_view name = absl::StripAsciiWhitespace(text.substr(0, open));
  std::optional<v1::DType> dtype = ParseDType(name);
  if (!dtype)
    return absl::InvalidArgumentError(
        absl::StrCat("unknown element type '", name,
                     "'; known are bool, i8..i64, u8..u64, f16, bf16, f32, f64"));
  v1::TensorType type;
  type.set_dtype(*dtype);
  absl::string_view inside =
      absl::StripAsciiWhitespace(text.substr(open + 1, text.size() - open - 2));
  if (!inside.empty()) {
    for (absl::string_view part : absl::StrSplit(inside, ',')) {
      int64_t extent;
      if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(part), &extent) || extent < 0)
        return absl::InvalidArgumentError(
            absl::StrCat("expected whole numbers in the shape of '", text, "', met '", part, "'"));
      type.add_shape(extent);
    }
  }
  absl::StatusOr<int64_t> bytes = ByteSize(type);
  if (!bytes.ok())
    return bytes.status();
  return type;
}

std::string FormatElement(const Tensor &tensor, int64_t index) {
  switch (tensor.type.dtype()) {
  case v1::DTYPE_BOOL:
    return Load<uint8_t>(tensor, index) ? "True" : "False";
  case v1::DTYPE_INT8:
    return absl::StrCat(int(Load<int8_t>(tensor, index)));
  case v1::DTYPE_INT16:
    return absl::StrCat(Load<int16_t>(tensor, index));
  case v1::DTYPE_INT32:
    return absl::StrCat(Load<int32_t>(tensor, index));
  case v1::DTYPE_INT64:
    return absl::StrCat(Load<int64_t>(tensor, index));
  case v1::DTYPE_UINT8:
    return absl::StrCat(int(Load<uint8_t>(tensor, index)));
  case v1::DTYPE_UINT16:
    return absl::StrCat(Load<uint16_t>(tensor, index));
  case v1::DTYPE_UINT32:
    return absl::StrCat(Load<uint32_t>(tensor, index));
  case v1::DTYPE_UINT64:
    return absl::StrCat(Load<uint64_t>(tensor, index));
  case v1::DTYPE_FLOAT16:
    return FormatFloat(HalfToFloat(Load<uint16_t>(tensor, index)));
  case v1::DTYPE_BFLOAT16:
    return FormatFloat(BFloat16ToFloat(Load<uint16_t>(tensor, index)));
  case v1::DTYPE_FLOAT32:
    return FormatFloat(Load<float>(tensor, index));
  case v1::DTYPE_FLOAT64:
    return FormatFloat(Load<double>(tensor, index));
  default:
    return "?";
  }
}

absl::StatusOr<Tensor> ToBFloat16(const Tensor &tensor) {
  v1::DType from = tensor.type.dtype();
  if (from == v1::DTYPE_BFLOAT16)
    return tensor;
  if (from != v1::DTYPE_FLOAT32 && from != v1::DTYPE_FLOAT64)
    return absl::InvalidArgumentError(absl::StrCat(
        "bfloat16 is made from float32 or float64 elements, not from ", LongName(from)));
  Tensor result;
  result.type = tensor.type;
  result.type.set_dtype(v1::DTYPE_BFLOAT16);
  int64_t count = tensor.data.size() / contract::ElementBytes(from);
  result.data.resize(count * 2);
  for (int64_t i = 0; i < count; ++i) {
    float value =
        from == v1::DTYPE_FLOAT32 ? Load<float>(tensor, i) : RoundToOdd(Load<double>(tensor, i));
    uint16_t bits = FloatToBFloat16(value);
    std::memcpy(result.data.data() + i * 2, &bits, 2);
  }
  return result;
}

absl::StatusOr<Tensor> ToFloat32(const Tensor &tensor) {
  v1::DType from = tensor.type.dtype();
  if (from == v1::DTYPE_FLOAT32)
    return tensor;
  if (from != v1::DTYPE_FLOAT16 && from != v1::DTYPE_BFLOAT16)
    return absl::InvalidArgumentError(
        absl::StrCat("only float16 and bfloat16 widen exactly to float32, not ", LongName(from)));
  Tensor result;
  result.type = tensor.type;
  result.type.set_dtype(v1::DTYPE_FLOAT32);
  int64_t count = tensor.data.size() / 2;
  result.data.resize(count * 4);
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits = Load<uint16_t>(tensor, i);
    float value = from == v1::DTYPE_FLOAT16 ? HalfToFloat(bits) : BFloat16ToFloat(bits);
    std::memcpy(result.data.data() + i * 4, &value, 4);
  }
  return result;
}

} // namespace pyasc::client
