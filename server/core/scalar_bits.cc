#include "server/core/scalar_bits.h"

#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "proto/contract/tensor_type.h"

namespace pyasc::server {
namespace {

uint16_t BFloat16Bits(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40); // keep it a NaN when cut
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

bool IsUnsigned(v1::DType dtype) {
  return dtype == v1::DTYPE_UINT8 || dtype == v1::DTYPE_UINT16 || dtype == v1::DTYPE_UINT32 ||
         dtype == v1::DTYPE_UINT64;
}

} // namespace

uint64_t FloatBits(double value, v1::DType dtype) {
  switch (dtype) {
  case v1::DTYPE_FLOAT16:
    return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
  case v1::DTYPE_BFLOAT16:
    return BFloat16Bits(static_cast<float>(value));
  case v1::DTYPE_FLOAT32:
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  default:
    return std::bit_cast<uint64_t>(value);
  }
}

absl::StatusOr<uint64_t> ScalarBits(const v1::ScalarValue &value, v1::DType dtype) {
  if (value.value_case() == v1::ScalarValue::VALUE_NOT_SET)
    return absl::InvalidArgumentError("has no value");
  if (contract::IsFloat(dtype))
    return FloatBits(value.has_float_value() ? value.float_value()
                     : value.has_int_value() ? static_cast<double>(value.int_value())
                                             : static_cast<double>(value.bool_value()),
                     dtype);
  if (value.has_float_value())
    return absl::InvalidArgumentError(absl::StrCat("is a float (", value.float_value(),
                                                   "), expected ", contract::LongName(dtype)));
  const int64_t number = value.has_int_value() ? value.int_value() : value.bool_value();
  if (dtype == v1::DTYPE_BOOL) {
    if (number != 0 && number != 1)
      return absl::InvalidArgumentError(absl::StrCat("is ", number, ", expected bool"));
    return static_cast<uint64_t>(number);
  }
  const int bits = static_cast<int>(contract::ElementBytes(dtype)) * 8;
  if (!contract::IsInteger(dtype))
    return absl::InvalidArgumentError("has no known dtype");
  bool fits;
  if (IsUnsigned(dtype))
    fits = number >= 0 && (bits >= 64 || number < (int64_t{1} << bits));
  else
    fits = bits == 64 ||
           (number >= -(int64_t{1} << (bits - 1)) && number < (int64_t{1} << (bits - 1)));
  if (!fits)
    return absl::InvalidArgumentError(
        absl::StrCat("is ", number, ", which does not fit ", contract::LongName(dtype)));
  const uint64_t raw = static_cast<uint64_t>(number);
  return bits == 64 ? raw : raw & ((uint64_t{1} << bits) - 1);
}

} // namespace pyasc::server
