// Conversions between 16-bit floats and float32 or float64, bit-exact: to nearest even, with
// subnormals, infinities and NaN (quiet, sign and leading payload bits kept).
#ifndef PYASC_PROFILER_SIM_HALF_H
#define PYASC_PROFILER_SIM_HALF_H

#include <bit>
#include <cstdint>

namespace pyasc::sim {

constexpr float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) // infinity or NaN
    return std::bit_cast<float>(sign | 0x7f800000 | ((magnitude & 0x3ff) << 13) |
                                (magnitude > 0x7c00 ? 0x400000 : 0));
  // Scaling by 2^112 moves the exponent's bias; it is exact, for subnormals too.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

constexpr float Bfloat16ToFloat(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

namespace internal {

// Rounds a finite double to a format of `mantissa` explicit bits and least exponent
// `min_exponent`; overflow gives infinity. The result's bits are those of the narrow format.
constexpr uint16_t RoundDouble(double value, int mantissa, int exponent_bits) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 63 << 15);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 0x7ff) {
    if (fraction == 0)
      return sign | infinity;
    const auto payload = static_cast<uint16_t>(fraction >> (52 - mantissa));
    return sign | infinity | payload | static_cast<uint16_t>(1 << (mantissa - 1));
  }
  if (exponent == 0) // zero, or a double so small that it rounds to zero
    return sign;
  fraction |= uint64_t{1} << 52;
  int biased = exponent - 1023 + bias;
  int shift = 52 - mantissa;
  if (biased < 1) { // subnormal in the narrow format
    shift += 1 - biased;
    biased = 0;
    if (shift > 54)
      return sign;
  }
  uint64_t kept = fraction >> shift;
  const uint64_t rest = fraction & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (kept & 1)))
    ++kept;
  // The hidden bit adds one to the exponent of normal numbers; a carry adds another.
  uint64_t result = biased == 0 ? kept : (static_cast<uint64_t>(biased - 1) << mantissa) + kept;
  if (result >= infinity)
    return sign | infinity;
  return sign | static_cast<uint16_t>(result);
}

} // namespace internal

constexpr uint16_t DoubleToHalf(double value) { return internal::RoundDouble(value, 10, 5); }
constexpr uint16_t DoubleToBfloat16(double value) { return internal::RoundDouble(value, 7, 8); }

constexpr uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x38800000 && magnitude < 0x47800000) { // normal in both formats
    const uint32_t rounded = magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1);
    return sign | static_cast<uint16_t>(rounded >> 13);
  }
  return internal::RoundDouble(value, 10, 5);
}

constexpr uint16_t FloatToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_HALF_H
