#include "server/worker/generate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "proto/contract/tensor_type.h"
#include "server/core/scalar_bits.h"

namespace pyasc::server {
namespace {

// A bijection of 64-bit numbers in which every input bit reaches every output bit.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Numbers {
public:
  explicit Numbers(uint64_t seed) : key_(Mix(seed + 0x9e3779b97f4a7c15)) {}
  uint64_t Bits(uint64_t i) const { return Mix(key_ + (i + 1) * 0x9e3779b97f4a7c15); }
  // In [0, 1), a multiple of 2^-digits: exact in a dtype with so many significant digits, so that
  // rounding never gives 1.
  double Uniform(uint64_t i, int digits) const {
    return std::ldexp(static_cast<double>(Bits(i) >> (64 - digits)), -digits);
  }
  double Normal(uint64_t i) const {
    // Box and Muller: two uniform numbers an element; 1 - u lies in (0, 1].
    const double radius = std::sqrt(-2 * std::log(1 - Uniform(2 * i, 53)));
    return radius * std::cos(2 * std::numbers::pi * Uniform(2 * i + 1, 53));
  }

private:
  uint64_t key_;
};

int SignificantDigits(v1::DType dtype) {
  switch (dtype) {
  case v1::DTYPE_FLOAT16:
    return 11;
  case v1::DTYPE_BFLOAT16:
    return 8;
  case v1::DTYPE_FLOAT32:
    return 24;
  default:
    return 53;
  }
}

} // namespace

absl::Status Generate(const v1::GeneratedTensor &tensor, uint64_t first, std::span<std::byte> to) {
  const v1::DType dtype = tensor.type().dtype();
  const size_t width = contract::ElementBytes(dtype);
  if (tensor.kind() == v1::GeneratedTensor::KIND_ZEROS) {
    std::fill(to.begin(), to.end(), std::byte{0});
    return absl::OkStatus();
  }
  const bool random = tensor.kind() == v1::GeneratedTensor::KIND_UNIFORM ||
                      tensor.kind() == v1::GeneratedTensor::KIND_NORMAL;
  if (!random && tensor.kind() != v1::GeneratedTensor::KIND_ONES)
    return absl::InvalidArgumentError("a tensor is generated from an unknown kind");
  if (random && !contract::IsFloat(dtype))
    return absl::InvalidArgumentError(
        absl::StrCat("random numbers are made for floating-point tensors only, not ",
                     contract::LongName(dtype), "; use zeros, ones or an array"));
  const Numbers numbers(tensor.seed());
  const int digits = SignificantDigits(dtype);
  const uint64_t one = contract::IsFloat(dtype) ? FloatBits(1, dtype) : 1;
  for (size_t i = 0; i * width < to.size(); ++i) {
    uint64_t bits = one;
    if (tensor.kind() == v1::GeneratedTensor::KIND_UNIFORM)
      bits = FloatBits(numbers.Uniform(first + i, digits), dtype);
    else if (random)
      bits = FloatBits(numbers.Normal(first + i), dtype);
    std::memcpy(to.data() + i * width, &bits, width); // little-endian
  }
  return absl::OkStatus();
}

} // namespace pyasc::server
