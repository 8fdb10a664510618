#include "profiler/sim/half_arrays.h"

#include <cstring>

#include "profiler/sim/half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pyasc::sim {
namespace {

template <typename F> void WidenEach(const std::byte *from, float *to, int64_t n, F widen) {
  for (int64_t i = 0; i < n; ++i) {
    uint16_t bits;
    std::memcpy(&bits, from + 2 * i, 2);
    to[i] = widen(bits);
  }
}

template <typename F> void NarrowEach(const float *from, std::byte *to, int64_t n, F narrow) {
  for (int64_t i = 0; i < n; ++i) {
    const uint16_t bits = narrow(from[i]);
    std::memcpy(to + 2 * i, &bits, 2);
  }
}

#if defined(__x86_64__)
bool HasF16c() {
  static const bool has = __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx");
  return has;
}

__attribute__((target("avx,f16c"))) int64_t WidenF16c(const std::byte *from, float *to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(
        to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from + 2 * i))));
  return i;
}

__attribute__((target("avx,f16c"))) int64_t NarrowF16c(const float *from, std::byte *to,
                                                       int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to + 2 * i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
#else
bool HasF16c() { return false; }
int64_t WidenF16c(const std::byte *, float *, int64_t) { return 0; }
int64_t NarrowF16c(const float *, std::byte *, int64_t) { return 0; }
#endif

} // namespace

void WidenHalves(const std::byte *from, float *to, int64_t n) {
  const int64_t done = HasF16c() ? WidenF16c(from, to, n) : 0;
  WidenEach(from + 2 * done, to + done, n - done, HalfToFloat);
}

void NarrowToHalves(const float *from, std::byte *to, int64_t n) {
  const int64_t done = HasF16c() ? NarrowF16c(from, to, n) : 0;
  NarrowEach(from + done, to + 2 * done, n - done, FloatToHalf);
}

// Integer arithmetic that compilers turn into vectors by themselves.
void WidenBfloats(const std::byte *from, float *to, int64_t n) {
  WidenEach(from, to, n, [](uint16_t bits) { return Bfloat16ToFloat(bits); });
}

void NarrowToBfloats(const float *from, std::byte *to, int64_t n) {
  NarrowEach(from, to, n, [](float x) { return FloatToBfloat16(x); });
}

} // namespace pyasc::sim
