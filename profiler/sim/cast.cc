#include "profiler/sim/cast.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "profiler/sim/half.h"
#include "profiler/sim/half_arrays.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;

// Element types, each with how it is read and written.
template <typename T> struct Plain {
  using Value = T;
  static T Read(const std::byte *at, int64_t i) {
    T value;
    std::memcpy(&value, at + i * sizeof(T), sizeof(T));
    return value;
  }
};
struct Half {
  using Value = float;
  static float Read(const std::byte *at, int64_t i) {
    return HalfToFloat(Plain<uint16_t>::Read(at, i));
  }
};
struct Bfloat {
  using Value = float;
  static float Read(const std::byte *at, int64_t i) {
    return Bfloat16ToFloat(Plain<uint16_t>::Read(at, i));
  }
};

template <typename T> void Write(std::byte *at, int64_t i, T value) {
  std::memcpy(at + i * sizeof(T), &value, sizeof(T));
}

template <typename T> T RoundInteger(T x, Rounding rounding) {
  switch (rounding) {
  case Rounding::kFloor:
    return std::floor(x);
  case Rounding::kCeil:
    return std::ceil(x);
  case Rounding::kTrunc:
    return std::trunc(x);
  case Rounding::kRound:
    return std::round(x);
  default:
    return std::nearbyint(x);
  }
}

template <typename Int> Int Saturate(double x) {
  if (std::isnan(x))
    return 0;
  if (x <= static_cast<double>(std::numeric_limits<Int>::min()))
    return std::numeric_limits<Int>::min();
  // 2^(digits) is exact in double and one more than the greatest value.
  if (x >= std::ldexp(1.0, std::numeric_limits<Int>::digits))
    return std::numeric_limits<Int>::max();
  return static_cast<Int>(x);
}

// Rounds to a 16-bit float by a mode. Neighbours of a finite value differ by one in their bits.
uint16_t Narrow(double x, Rounding rounding, bool half) {
  auto widen = [&](uint16_t bits) -> double {
    return half ? HalfToFloat(bits) : Bfloat16ToFloat(bits);
  };
  uint16_t bits = half ? DoubleToHalf(x) : DoubleToBfloat16(x);
  if (rounding == Rounding::kNone || rounding == Rounding::kRint || std::isnan(x) ||
      std::isinf(x) || widen(bits) == x)
    return bits;
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double magnitude = std::fabs(x);
  // The greatest magnitude that is not above x's.
  uint16_t below = bits & 0x7fff;
  if (widen(below) > magnitude)
    --below;
  bool up = false; // away from zero
  switch (rounding) {
  case Rounding::kFloor:
    up = sign != 0;
    break;
  case Rounding::kCeil:
    up = sign == 0;
    break;
  case Rounding::kRound: {
    const double above = widen(below + 1);
    up = std::isinf(above) ? std::isinf(widen(bits & 0x7fff))
                           : magnitude - widen(below) >= above - magnitude;
    break;
  }
  default:
    break;
  }
  return sign | static_cast<uint16_t>(below + up);
}

template <typename From>
void CastFrom(Type to_type, Rounding rounding, const std::byte *from, std::byte *to, int64_t n) {
  using Value = typename From::Value;
  auto each = [&](auto convert) {
    for (int64_t i = 0; i < n; ++i)
      Write(to, i, convert(From::Read(from, i)));
  };
  auto to_int = [&]<typename Int>(Int) {
    if constexpr (std::is_floating_point_v<Value>)
      each([&](Value x) { return Saturate<Int>(RoundInteger(static_cast<double>(x), rounding)); });
    else
      each([](Value x) { return static_cast<Int>(x); });
  };
  switch (to_type) {
  case Type::kF32:
    return each([](Value x) { return static_cast<float>(x); });
  case Type::kF64:
    return each([](Value x) { return static_cast<double>(x); });
  case Type::kF16:
    return each([&](Value x) { return Narrow(static_cast<double>(x), rounding, true); });
  case Type::kBF16:
    return each([&](Value x) { return Narrow(static_cast<double>(x), rounding, false); });
  case Type::kI8:
    return to_int(int8_t{});
  case Type::kU8:
    return to_int(uint8_t{});
  case Type::kI16:
    return to_int(int16_t{});
  case Type::kU16:
    return to_int(uint16_t{});
  case Type::kI32:
    return to_int(int32_t{});
  case Type::kU32:
    return to_int(uint32_t{});
  case Type::kI64:
    return to_int(int64_t{});
  case Type::kU64:
    return to_int(uint64_t{});
  }
}

} // namespace

void CastElements(Type from_type, Type to_type, Rounding rounding, const std::byte *from,
                  std::byte *to, int64_t n) {
  if (from_type == Type::kF16 && to_type == Type::kF32)
    return WidenHalves(from, reinterpret_cast<float *>(to), n);
  if (from_type == Type::kBF16 && to_type == Type::kF32)
    return WidenBfloats(from, reinterpret_cast<float *>(to), n);
  const bool to_nearest = rounding == Rounding::kNone || rounding == Rounding::kRint;
  if (from_type == Type::kF32 && to_type == Type::kF16 && to_nearest)
    return NarrowToHalves(reinterpret_cast<const float *>(from), to, n);
  if (from_type == Type::kF32 && to_type == Type::kBF16 && to_nearest)
    return NarrowToBfloats(reinterpret_cast<const float *>(from), to, n);
  switch (from_type) {
  case Type::kF32:
    if (to_type == Type::kF32 && rounding != Rounding::kNone) {
      for (int64_t i = 0; i < n; ++i)
        Write(to, i, RoundInteger(Plain<float>::Read(from, i), rounding));
      return;
    }
    return CastFrom<Plain<float>>(to_type, rounding, from, to, n);
  case Type::kF64:
    return CastFrom<Plain<double>>(to_type, rounding, from, to, n);
  case Type::kF16:
    return CastFrom<Half>(to_type, rounding, from, to, n);
  case Type::kBF16:
    return CastFrom<Bfloat>(to_type, rounding, from, to, n);
  case Type::kI8:
    return CastFrom<Plain<int8_t>>(to_type, rounding, from, to, n);
  case Type::kU8:
    return CastFrom<Plain<uint8_t>>(to_type, rounding, from, to, n);
  case Type::kI16:
    return CastFrom<Plain<int16_t>>(to_type, rounding, from, to, n);
  case Type::kU16:
    return CastFrom<Plain<uint16_t>>(to_type, rounding, from, to, n);
  case Type::kI32:
    return CastFrom<Plain<int32_t>>(to_type, rounding, from, to, n);
  case Type::kU32:
    return CastFrom<Plain<uint32_t>>(to_type, rounding, from, to, n);
  case Type::kI64:
    return CastFrom<Plain<int64_t>>(to_type, rounding, from, to, n);
  case Type::kU64:
    return CastFrom<Plain<uint64_t>>(to_type, rounding, from, to, n);
  }
}

} // namespace pyasc::sim
