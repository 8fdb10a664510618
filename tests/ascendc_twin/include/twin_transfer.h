// Transfers between GM, UB and L1.
#ifndef PYASC_TESTS_ASCENDC_TWIN_TWIN_TRANSFER_H
#define PYASC_TESTS_ASCENDC_TWIN_TWIN_TRANSFER_H

#include "kernel_operator.h"

namespace AscendC {

// Gaps in bytes in GM, in blocks of 32 bytes in UB.
struct DataCopyExtParams {
  uint16_t blockCount = 0;
  uint32_t blockLen = 0;
  uint32_t srcStride = 0;
  uint32_t dstStride = 0;
  uint32_t rsv = 0;
};
template <typename T> struct DataCopyPadExtParams {
  bool isPad = false;
  uint8_t leftPadding = 0;
  uint8_t rightPadding = 0;
  T paddingValue{};
};
struct Nd2NzParams {
  uint16_t ndNum = 0;
  uint16_t nValue = 0;
  uint16_t dValue = 0;
  uint16_t srcNdMatrixStride = 0;
  uint16_t srcDValue = 0;
  uint16_t dstNzC0Stride = 0;
  uint16_t dstNzNStride = 0;
  uint16_t dstNzMatrixStride = 0;
};

namespace twin {
inline void checkBursts(const DataCopyExtParams &p) {
  TWIN_CHECK(p.blockCount >= 1 && p.blockCount <= 4095, "%u bursts", p.blockCount);
  TWIN_CHECK(p.blockLen >= 1 && p.blockLen <= 2097151, "a burst of %u bytes", p.blockLen);
}
} // namespace twin

template <typename T>
void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src,
                 const DataCopyExtParams &params, const DataCopyPadExtParams<T> &pad) {
  twin::checkBursts(params);
  TWIN_CHECK(!pad.isPad, "padding is not part of the twin");
  dst.aligned();
  int64_t blocks = (static_cast<int64_t>(params.blockLen) + 31) / 32;
  LocalTensor<uint8_t> to = dst.template ReinterpretCast<uint8_t>();
  const uint8_t *from = reinterpret_cast<const uint8_t *>(src.GetPhyAddr());
  for (int64_t i = 0; i < params.blockCount; ++i) {
    uint8_t *row = to.bytes(i * (blocks + params.dstStride) * 32, blocks * 32);
    // What fills up the last block is undefined: make it visible.
    std::memset(row, 0xab, static_cast<size_t>(blocks) * 32);
    std::memcpy(row, from + i * (static_cast<int64_t>(params.blockLen) + params.srcStride),
                params.blockLen);
  }
}

template <typename T>
void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src,
                 const DataCopyExtParams &params) {
  twin::checkBursts(params);
  src.aligned();
  int64_t elements = params.blockLen / sizeof(T);
  int64_t blocks = (static_cast<int64_t>(params.blockLen) + 31) / 32;
  for (int64_t i = 0; i < params.blockCount; ++i) {
    T *to = reinterpret_cast<T *>(reinterpret_cast<uint8_t *>(dst.GetPhyAddr()) +
                                  i * (static_cast<int64_t>(params.blockLen) + params.dstStride));
    int64_t from = i * (blocks + params.srcStride) * 32 / static_cast<int64_t>(sizeof(T));
    for (int64_t e = 0; e < elements; ++e)
      to[e] = twin::combine(to[e], src.get(from + e));
  }
}

template <typename T>
void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const Nd2NzParams &params) {
  TWIN_CHECK(params.ndNum == 1, "one matrix");
  TWIN_CHECK(params.dstNzNStride >= 1 && params.dstNzNStride <= 16384, "rows %u apart",
             params.dstNzNStride);
  TWIN_CHECK(params.nValue <= 16384 && params.nValue >= 1, "%u rows", params.nValue);
  constexpr int64_t c0 = 32 / sizeof(T);
  int64_t columns = (params.dValue + c0 - 1) / c0 * c0;
  for (int64_t row = 0; row < params.nValue; ++row)
    for (int64_t col = 0; col < columns; ++col) {
      T value{};
      if (col < params.dValue)
        value = src.GetValue(static_cast<uint64_t>(row * params.srcDValue + col));
      dst.set((col / c0 * params.dstNzC0Stride + row * params.dstNzNStride) * c0 + col % c0, value);
    }
}

// UB to UB: whole blocks.
template <typename T>
void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint32_t count) {
  int64_t whole = static_cast<int64_t>(count * sizeof(T) / 32 * 32 / sizeof(T));
  dst.aligned();
  src.aligned();
  for (int64_t i = 0; i < whole; ++i)
    dst.set(i, src.get(i));
}

} // namespace AscendC

#endif // PYASC_TESTS_ASCENDC_TWIN_TWIN_TRANSFER_H
