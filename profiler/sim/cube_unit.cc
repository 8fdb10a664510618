// The cube unit: mmad on L0A, L0B and L0C, and load_l0, which fills the first two.
//
// Products of floats are added to the accumulator with one rounding each (fused), in the order of
// k, on every host alike.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "profiler/sim/half_arrays.h"
#include "profiler/sim/units.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;

// L0C's fractals are 16 x 16.
constexpr int64_t kTile = 16;

// Unpacks an operand to [rows][k], row-major. Fractal (row block i, k-block j) lies at
// i * row_pitch + j * k_pitch fractals.
template <typename T>
void Unpack(Type type, const std::byte *from, int64_t rows, int64_t k, int64_t row_pitch,
            int64_t k_pitch, T *to) {
  const int64_t size = TypeBytes(type), c0 = 32 / size;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j * c0 < k; ++j) {
      const std::byte *row = from + (r / kTile * row_pitch + j * k_pitch) * 512 + r % kTile * 32;
      const int64_t n = std::min(c0, k - j * c0);
      T *out = to + r * k + j * c0;
      if constexpr (std::is_same_v<T, float>) {
        if (type == Type::kF32)
          std::memcpy(out, row, n * 4);
        else
          (type == Type::kF16 ? WidenHalves : WidenBfloats)(row, out, n);
      } else {
        for (int64_t e = 0; e < n; ++e)
          out[e] = static_cast<int8_t>(row[e]);
      }
    }
}

// c[r][0..15] += sum over k of a[r][k] * b[k][0..15], for `rows` rows of 16 accumulators.
using Kernel = void (*)(float *c, const float *a, const float *b, int64_t rows, int64_t k);

void KernelPortable(float *c, const float *a, const float *b, int64_t rows, int64_t k) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t kk = 0; kk < k; ++kk)
      for (int64_t j = 0; j < kTile; ++j)
        c[r * kTile + j] = std::fma(a[r * k + kk], b[kk * kTile + j], c[r * kTile + j]);
}

#if defined(__x86_64__)
typedef float Float8 __attribute__((vector_size(32), aligned(4)));

template <int R>
__attribute__((target("avx2,fma"), always_inline)) inline void Rows(float *c, const float *a,
                                                                    const float *b, int64_t k) {
  Float8 sum[R][2];
  for (int r = 0; r < R; ++r)
    for (int h = 0; h < 2; ++h)
      sum[r][h] = *reinterpret_cast<const Float8 *>(c + r * kTile + 8 * h);
  for (int64_t kk = 0; kk < k; ++kk) {
    const Float8 b0 = *reinterpret_cast<const Float8 *>(b + kk * kTile);
    const Float8 b1 = *reinterpret_cast<const Float8 *>(b + kk * kTile + 8);
    for (int r = 0; r < R; ++r) {
      const float x = a[r * k + kk];
      const Float8 xs = {x, x, x, x, x, x, x, x};
      sum[r][0] = __builtin_elementwise_fma(xs, b0, sum[r][0]);
      sum[r][1] = __builtin_elementwise_fma(xs, b1, sum[r][1]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int h = 0; h < 2; ++h)
      *reinterpret_cast<Float8 *>(c + r * kTile + 8 * h) = sum[r][h];
}

__attribute__((target("avx2,fma"))) void KernelAvx2(float *c, const float *a, const float *b,
                                                    int64_t rows, int64_t k) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4)
    Rows<4>(c + r * kTile, a + r * k, b, k);
  for (; r < rows; ++r)
    Rows<1>(c + r * kTile, a + r * k, b, k);
}
#endif

Kernel ChooseKernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return KernelAvx2;
#endif
  return KernelPortable;
}

void Mmad(const Operation &o, CoreMemory &core) {
  const Descriptor &d = *o.descriptor;
  const int64_t m = o.v[3], n = o.v[4], k = o.v[5];
  if (m == 0 || n == 0)
    return;
  const bool init = o.v[6] != 0;
  const int64_t c0 = 32 / TypeBytes(d.type), k_blocks = CeilDiv(k, c0);
  const int64_t a_pitch = d.aux ? RoundUp(k, 16) / c0 : k_blocks;
  const int64_t n_blocks = CeilDiv(n, kTile), m_padded = RoundUp(m, kTile);
  const std::byte *a = core[Space::kL0A].data() + o.v[1];
  const std::byte *b = core[Space::kL0B].data() + o.v[2];
  std::byte *c = core[Space::kL0C].data() + o.v[0];

  auto run = [&]<typename T, typename Sum>(T, Sum, auto multiply) {
    // b is taken column by column and turned, so that 16 columns lie side by side.
    std::vector<T> rows(m * k), column(n * k), panel(k * kTile);
    Unpack(d.type, a, m, k, a_pitch, 1, rows.data());
    Unpack(d.type, b, n, k, 1, n_blocks, column.data());
    for (int64_t j = 0; j < n_blocks; ++j) {
      const int64_t width = std::min(kTile, n - j * kTile);
      for (int64_t kk = 0; kk < k; ++kk)
        for (int64_t e = 0; e < kTile; ++e)
          panel[kk * kTile + e] = e < width ? column[(j * kTile + e) * k + kk] : T{};
      auto *tile = reinterpret_cast<Sum *>(c) + j * m_padded * kTile;
      if (init)
        std::fill_n(tile, m * kTile, Sum{});
      multiply(tile, rows.data(), panel.data());
      // What pads the result is no one's business: let nobody rely on it.
      for (int64_t r = 0; r < m && width < kTile; ++r)
        Poison(reinterpret_cast<std::byte *>(tile + r * kTile + width), (kTile - width) * 4);
    }
  };
  if (d.type == Type::kI8)
    return run(int8_t{}, int32_t{}, [&](int32_t *tile, const int8_t *rows, const int8_t *panel) {
      for (int64_t r = 0; r < m; ++r)
        for (int64_t kk = 0; kk < k; ++kk)
          for (int64_t e = 0; e < kTile; ++e)
            tile[r * kTile + e] = static_cast<int32_t>(
                static_cast<uint32_t>(tile[r * kTile + e]) +
                static_cast<uint32_t>(int32_t{rows[r * k + kk]} * panel[kk * kTile + e]));
    });
  static const Kernel kernel = ChooseKernel();
  run(float{}, float{},
      [&](float *tile, const float *rows, const float *panel) { kernel(tile, rows, panel, m, k); });
}

// A fractal of what lies turned in L1: its rows are columns from `column` on there.
template <int64_t kSize>
void TurnFractal(std::byte *fractal, const std::byte *src, int64_t column, int64_t row,
                 int64_t src_rows) {
  constexpr int64_t kC0 = 32 / kSize;
  for (int64_t r = 0; r < kTile; ++r, ++column) {
    const std::byte *from = src + (column / kC0 * src_rows + row) * 32 + column % kC0 * kSize;
    for (int64_t e = 0; e < kC0; ++e)
      std::memcpy(fractal + r * 32 + e * kSize, from + e * 32, kSize);
  }
}

void LoadL0(const Operation &o, CoreMemory &core) {
  const Descriptor &d = *o.descriptor;
  const int64_t extent = o.v[2], k = o.v[3], src_rows = o.v[4];
  if (extent == 0 || k == 0)
    return;
  const int64_t size = TypeBytes(d.type), c0 = 32 / size;
  const bool to_a = d.space == Space::kL0A, transpose = d.sub != 0;
  const std::byte *src = core[Space::kL1].data() + o.v[1];
  std::byte *dst = core[d.space].data() + o.v[0];
  const int64_t outer = CeilDiv(extent, kTile);
  const int64_t k_blocks = transpose ? RoundUp(k, 16) / c0 : CeilDiv(k, c0);
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < k_blocks; ++j) {
      std::byte *fractal = dst + (to_a ? i * k_blocks + j : j * outer + i) * 512;
      if (!transpose) {
        std::memcpy(fractal, src + (j * src_rows + i * kTile) * 32, 512);
        continue;
      }
      switch (size) {
      case 1:
        TurnFractal<1>(fractal, src, i * kTile, j * c0, src_rows);
        break;
      case 2:
        TurnFractal<2>(fractal, src, i * kTile, j * c0, src_rows);
        break;
      default:
        TurnFractal<4>(fractal, src, i * kTile, j * c0, src_rows);
      }
    }
}

} // namespace

void ExecuteCube(const Operation &o, CoreMemory &core) {
  o.descriptor->op == PipeOp::kMmad ? Mmad(o, core) : LoadL0(o, core);
}

} // namespace pyasc::sim
