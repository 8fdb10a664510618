// The cube unit: fractals, multiplication, results.
#ifndef PYASC_TESTS_ASCENDC_TWIN_TWIN_CUBE_H
#define PYASC_TESTS_ASCENDC_TWIN_TWIN_CUBE_H

#include "kernel_operator.h"

namespace AscendC {

struct LoadData2DParams {
  uint16_t startIndex = 0;
  uint8_t repeatTimes = 0;
  uint16_t srcStride = 0;
  uint8_t sid = 0;
  uint16_t dstGap = 0;
  bool ifTranspose = false;
  uint8_t addrMode = 0;
};
template <typename T> struct LoadData3DParamsV2 {
  uint8_t padList[4] = {0, 0, 0, 0};
  uint16_t l1H = 0;
  uint16_t l1W = 0;
  uint16_t channelSize = 0;
  uint16_t kExtension = 0;
  uint16_t mExtension = 0;
  uint16_t kStartPt = 0;
  uint16_t mStartPt = 0;
  uint8_t strideW = 1;
  uint8_t strideH = 1;
  uint8_t filterW = 1;
  uint8_t filterH = 1;
  uint8_t dilationFilterW = 1;
  uint8_t dilationFilterH = 1;
  bool enTranspose = false;
  bool enSmallK = false;
  T padValue{};
  bool filterSizeW = false;
  bool filterSizeH = false;
  bool fMatrixCtrl = false;
};
struct MmadParams {
  uint16_t m = 0;
  uint16_t n = 0;
  uint16_t k = 0;
  uint8_t unitFlag = 0;
  bool kDirectionAlign = false;
  bool cmatrixSource = false;
  bool cmatrixInitVal = true;
};
struct FixpipeParamsV220 {
  uint16_t nSize = 0;
  uint16_t mSize = 0;
  uint16_t srcStride = 0;
  uint32_t dstStride = 0;
  bool reluEn = false;
  QuantMode_t quantPre = QuantMode_t::NoQuant;
  uint64_t deqScalar = 0;
  uint16_t ndNum = 1;
  uint16_t srcNdStride = 0;
  uint16_t dstNdStride = 0;
  uint8_t unitFlag = 0;
};

// Moves whole fractals of 512 bytes; with ifTranspose 2-byte fractals of 16 x 16 are transposed.
template <typename T>
void LoadData(const LocalTensor<T> &dst, const LocalTensor<T> &src,
              const LoadData2DParams &params) {
  constexpr int64_t fractal = 512 / sizeof(T);
  TWIN_CHECK(params.repeatTimes >= 1, "no repeat");
  TWIN_CHECK(!params.ifTranspose || sizeof(T) == 2, "a 2D load transposes 16-bit elements only");
  for (int64_t i = 0; i < params.repeatTimes; ++i) {
    int64_t from = (params.startIndex + i * params.srcStride) * fractal;
    int64_t to = i * (1 + params.dstGap) * fractal;
    for (int64_t e = 0; e < fractal; ++e)
      dst.set(to + e, src.get(from + (params.ifTranspose ? e % 16 * 16 + e / 16 : e)));
  }
}

// Image to column for a 1 x 1 filter: the image of l1H * l1W positions and channelSize channels, in
// column blocks of 32 bytes, is a matrix [positions, channels]. Transposed, the matrix that leaves
// is [channels, positions] in L0A and, since L0B holds its operand as k x n, positions are k there.
// 4-byte elements are handled in pairs of blocks: 16 x 16.
template <typename T>
void LoadData(const LocalTensor<T> &dst, const LocalTensor<T> &src,
              const LoadData3DParamsV2<T> &params) {
  TWIN_CHECK(params.enTranspose && sizeof(T) == 4, "only the transposed 4-byte form is part");
  TWIN_CHECK(params.filterW == 1 && params.filterH == 1 && params.strideW == 1 &&
                 params.strideH == 1,
             "only 1 x 1 filters are part");
  TWIN_CHECK(params.mExtension % 16 == 0 && params.kExtension % 16 == 0, "whole blocks of 16");
  TWIN_CHECK(params.kExtension <= params.channelSize, "channels past the image");
  constexpr int64_t c0 = 8;
  int64_t positions = static_cast<int64_t>(params.l1H) * params.l1W;
  TWIN_CHECK(params.mStartPt + params.mExtension <= positions, "positions past the image");
  // k runs along the positions, the outer extent (m or n) along the channels.
  int64_t k_blocks = params.mExtension / c0;
  int64_t outer_blocks = params.kExtension / 16;
  for (int64_t k = 0; k < params.mExtension; ++k)
    for (int64_t x = 0; x < params.kExtension; ++x) {
      int64_t position = params.mStartPt + k;
      int64_t channel = params.kStartPt + x;
      T value = src.get((channel / c0 * positions + position) * c0 + channel % c0);
      int64_t fractal = dst.position() == TPosition::A2 ? x / 16 * k_blocks + k / c0
                                                        : k / c0 * outer_blocks + x / 16;
      dst.set(fractal * 128 + x % 16 * c0 + k % c0, value);
    }
}

template <typename C, typename A, typename B>
void Mmad(const LocalTensor<C> &c, const LocalTensor<A> &a, const LocalTensor<B> &b,
          const MmadParams &params) {
  static_assert(std::is_same_v<A, B>);
  constexpr int64_t c0 = 32 / sizeof(A);
  int64_t m = params.m;
  int64_t n = params.n;
  int64_t k = params.k;
  TWIN_CHECK(m >= 1 && m <= 4095 && n >= 1 && n <= 4095 && k >= 1 && k <= 4095, "%lld %lld %lld",
             static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k));
  int64_t k_blocks = (k + c0 - 1) / c0;
  if (params.kDirectionAlign)
    k_blocks = (k_blocks + 1) / 2 * 2;
  int64_t m_blocks = (m + 15) / 16;
  int64_t n_blocks = (n + 15) / 16;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t col = 0; col < n; ++col) {
      int64_t at = (col / 16 * m_blocks * 16 + row) * 16 + col % 16;
      C sum = params.cmatrixInitVal ? C(0) : c.get(at);
      for (int64_t i = 0; i < k; ++i) {
        A left = a.get((row / 16 * k_blocks + i / c0) * 16 * c0 + row % 16 * c0 + i % c0);
        B right = b.get((i / c0 * n_blocks + col / 16) * 16 * c0 + col % 16 * c0 + i % c0);
        sum += static_cast<C>(left) * static_cast<C>(right);
      }
      c.set(at, sum);
    }
}

template <typename T, typename C, const FixpipeConfig &config>
void Fixpipe(const GlobalTensor<T> &dst, const LocalTensor<C> &src,
             const FixpipeParamsV220 &params) {
  TWIN_CHECK(config.row_major, "only row-major results are part");
  TWIN_CHECK(params.mSize >= 1 && params.mSize <= 8192 && params.nSize >= 1 && params.nSize <= 4095,
             "%u x %u", params.mSize, params.nSize);
  TWIN_CHECK(params.srcStride % 16 == 0, "source stride %u", params.srcStride);
  constexpr bool same = std::is_same_v<T, C>;
  TWIN_CHECK((params.quantPre == QuantMode_t::NoQuant) == same, "quantisation and types differ");
  T *to = dst.GetPhyAddr();
  for (int64_t row = 0; row < params.mSize; ++row)
    for (int64_t col = 0; col < params.nSize; ++col) {
      C value = src.get((col / 16 * params.srcStride + row) * 16 + col % 16);
      if (params.reluEn)
        value = std::max(value, C(0));
      T *at = to + row * static_cast<int64_t>(params.dstStride) + col;
      *at = twin::combine(*at, static_cast<T>(value));
    }
}

} // namespace AscendC

#endif // PYASC_TESTS_ASCENDC_TWIN_TWIN_CUBE_H
