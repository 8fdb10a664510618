// Arithmetic of the scalar unit's instructions; the meaning is that of compiler/machine/sim_isa.h.
#ifndef PYASC_PROFILER_SIM_SCALAR_MATH_H
#define PYASC_PROFILER_SIM_SCALAR_MATH_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "compiler/machine/sim_isa.h"

namespace pyasc::sim {

// Registers hold integers sign-extended.
template <typename T> uint64_t Extend(T value) {
  return static_cast<uint64_t>(static_cast<int64_t>(static_cast<std::make_signed_t<T>>(value)));
}
template <typename T> T As(uint64_t reg) { return static_cast<T>(reg); }

template <typename T> uint64_t DivS(uint64_t a, uint64_t b) {
  const T x = As<T>(a), y = As<T>(b);
  if (y == 0)
    return 0;
  if (y == -1)
    return Extend<T>(static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x)));
  return Extend<T>(static_cast<T>(x / y));
}
template <typename T> uint64_t RemS(uint64_t a, uint64_t b) {
  const T x = As<T>(a), y = As<T>(b);
  return y == 0 ? a : y == -1 ? 0 : Extend<T>(static_cast<T>(x % y));
}
template <typename T> uint64_t DivU(uint64_t a, uint64_t b) {
  using U = std::make_unsigned_t<T>;
  return As<U>(b) == 0 ? 0 : Extend<T>(static_cast<T>(As<U>(a) / As<U>(b)));
}
template <typename T> uint64_t RemU(uint64_t a, uint64_t b) {
  using U = std::make_unsigned_t<T>;
  return As<U>(b) == 0 ? a : Extend<T>(static_cast<T>(As<U>(a) % As<U>(b)));
}
template <typename T> uint64_t FloorDivS(uint64_t a, uint64_t b) {
  const T x = As<T>(a), y = As<T>(b);
  if (y == 0 || y == -1)
    return DivS<T>(a, b);
  const T q = static_cast<T>(x / y);
  return Extend<T>(static_cast<T>(x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q));
}
template <typename T> uint64_t CeilDivS(uint64_t a, uint64_t b) {
  const T x = As<T>(a), y = As<T>(b);
  if (y == 0 || y == -1)
    return DivS<T>(a, b);
  const T q = static_cast<T>(x / y);
  return Extend<T>(static_cast<T>(x % y != 0 && (x < 0) == (y < 0) ? q + 1 : q));
}
template <typename T> uint64_t CeilDivU(uint64_t a, uint64_t b) {
  using U = std::make_unsigned_t<T>;
  const U x = As<U>(a), y = As<U>(b);
  return y == 0 ? 0 : Extend<T>(static_cast<T>(x / y + (x % y != 0)));
}

template <typename T> uint64_t Shl(uint64_t a, uint64_t b) {
  using U = std::make_unsigned_t<T>;
  return As<U>(b) >= 8 * sizeof(T) ? 0 : Extend<T>(static_cast<T>(a << As<U>(b)));
}
template <typename T> uint64_t ShrS(uint64_t a, uint64_t b) {
  using U = std::make_unsigned_t<T>;
  const int by = As<U>(b) >= 8 * sizeof(T) ? 63 : static_cast<int>(As<U>(b));
  return static_cast<uint64_t>(static_cast<int64_t>(As<T>(a)) >> by);
}
template <typename T> uint64_t ShrU(uint64_t a, uint64_t b) {
  using U = std::make_unsigned_t<T>;
  return As<U>(b) >= 8 * sizeof(T) ? 0 : Extend<T>(static_cast<T>(As<U>(a) >> As<U>(b)));
}
template <typename T> uint64_t MulHiS(uint64_t a, uint64_t b) {
  const auto wide = static_cast<__int128>(As<T>(a)) * As<T>(b);
  return Extend<T>(static_cast<T>(wide >> (8 * sizeof(T))));
}
template <typename T> uint64_t MulHiU(uint64_t a, uint64_t b) {
  using U = std::make_unsigned_t<T>;
  const auto wide = static_cast<unsigned __int128>(As<U>(a)) * As<U>(b);
  return Extend<T>(static_cast<T>(wide >> (8 * sizeof(T))));
}

inline float F32(uint64_t reg) { return std::bit_cast<float>(static_cast<uint32_t>(reg)); }
inline double F64(uint64_t reg) { return std::bit_cast<double>(reg); }
inline uint64_t Bits(float value) { return std::bit_cast<uint32_t>(value); }
inline uint64_t Bits(double value) { return std::bit_cast<uint64_t>(value); }

template <typename F> F Minimum(F a, F b) {
  if (a != a || b != b)
    return a != a ? a : b;
  return a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
}
template <typename F> F Maximum(F a, F b) {
  if (a != a || b != b)
    return a != a ? a : b;
  return a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
}
template <typename F> F MinNum(F a, F b) { return a != a ? b : b != b ? a : Minimum(a, b); }
template <typename F> F MaxNum(F a, F b) { return a != a ? b : b != b ? a : Maximum(a, b); }

// Towards zero, to the nearest value of T, NaN to 0.
template <typename T> uint64_t ToInt(double x) {
  if (x != x)
    return 0;
  if (x <= static_cast<double>(std::numeric_limits<T>::min()))
    return Extend<T>(std::numeric_limits<T>::min());
  if (x >= std::ldexp(1.0, std::numeric_limits<T>::digits))
    return Extend<T>(std::numeric_limits<T>::max());
  return Extend<T>(static_cast<T>(x));
}

// Elementary functions in double; float results are rounded once more.
double UnaryFunction(sim_isa::Function function, double x);
double BinaryFunction(sim_isa::Function function, double x, double y);
double PowI(double x, int64_t n);
bool Compare(sim_isa::Predicate predicate, double a, double b);

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_SCALAR_MATH_H
