// The functions that Ascend C text begins with: expansions of composite instructions into the basic
// API, as npu_ops.td describes them. A text has those that it uses.

#include "compiler/target/ascend/ascendc_printer.h"

namespace pyasc::npu {
namespace {

struct PieceText {
  Piece piece;
  // Pieces that must stand before it.
  std::initializer_list<Piece> needs;
  const char *text;
};

// In an order that compiles.
const PieceText kPieces[] = {
    {Piece::kBits, {}, R"(
__aicore__ inline float FloatFromBits(uint32_t bits) {
  union {
    uint32_t bits;
    float value;
  } convert;
  convert.bits = bits;
  return convert.value;
}
)"},
    {Piece::kBitCast, {}, R"(
template <typename To, typename From> __aicore__ inline To BitCast(From value) {
  union {
    From from;
    To to;
  } both;
  both.from = value;
  return both.to;
}
)"},
    {Piece::kMinMax, {}, R"(
// Maximum and minimum that are NaN when an operand is.
__aicore__ inline float Maximum(float a, float b) { return a != a ? a : (b != b ? b : (a > b ? a : b)); }
__aicore__ inline float Minimum(float a, float b) { return a != a ? a : (b != b ? b : (a < b ? a : b)); }
// The same, but the other operand when one is NaN.
__aicore__ inline float MaximumNumber(float a, float b) {
  return a != a ? b : (b != b ? a : (a > b ? a : b));
}
__aicore__ inline float MinimumNumber(float a, float b) {
  return a != a ? b : (b != b ? a : (a < b ? a : b));
}
__aicore__ inline float ScalarAbs(float a) { return a < 0.0f ? -a : a + 0.0f; }
)"},
    {Piece::kFloorDiv, {}, R"(
template <typename T> __aicore__ inline T FloorDiv(T a, T b) {
  T quotient = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? quotient - 1 : quotient;
}
template <typename T> __aicore__ inline T CeilDiv(T a, T b) {
  T quotient = a / b;
  return (a % b != 0 && ((a < 0) == (b < 0))) ? quotient + 1 : quotient;
}
)"},
    {Piece::kToInteger, {}, R"(
// The whole part of a float; the ends of [least, most] outside of it (`end` is most + 1), 0 for NaN.
template <typename T> __aicore__ inline T ToInteger(float a, T least, T most, float end) {
  if (a >= end) {
    return most;
  }
  if (a < static_cast<float>(least)) {
    return least;
  }
  return a == a ? static_cast<T>(a) : static_cast<T>(0);
}
)"},
    {Piece::kScalarMath, {}, R"(
// Functions that the scalar unit lacks, by the vector unit on 32 bytes of UB at `address`.
#define PYASC_SCALAR_FUNCTION(NAME, OPERATION)                                                     \
  __aicore__ inline float NAME(float value, uint32_t address) {                                    \
    LocalTensor<float> cell(TPosition::VECCALC, address, 8);                                       \
    PipeBarrier<PIPE_ALL>();                                                                       \
    cell.SetValue(0, value);                                                                       \
    PipeBarrier<PIPE_ALL>();                                                                       \
    OPERATION(cell, cell, 1);                                                                      \
    PipeBarrier<PIPE_ALL>();                                                                       \
    return cell.GetValue(0);                                                                       \
  }
PYASC_SCALAR_FUNCTION(ScalarExp, Exp)
PYASC_SCALAR_FUNCTION(ScalarLn, Ln)
PYASC_SCALAR_FUNCTION(ScalarSqrt, Sqrt)
PYASC_SCALAR_FUNCTION(ScalarRsqrt, Rsqrt)
)"},
    {Piece::kCopyIn, {}, R"(
// `count` bursts of `len` elements; strides from start to start, in elements.
template <typename T>
__aicore__ inline void CopyIn(const LocalTensor<T> &dst, const GlobalTensor<T> &src, int64_t count,
                              int64_t len, int64_t srcStride, int64_t dstStride) {
  if (count <= 0 || len <= 0) {
    return;
  }
  const int64_t bytes = len * sizeof(T);
  const int64_t blocks = (bytes + 31) / 32;
  DataCopyExtParams params;
  params.blockCount = static_cast<uint16_t>(count);
  params.blockLen = static_cast<uint32_t>(bytes);
  params.srcStride = count > 1 ? static_cast<uint32_t>((srcStride - len) * sizeof(T)) : 0;
  params.dstStride = count > 1 ? static_cast<uint32_t>(dstStride * sizeof(T) / 32 - blocks) : 0;
  params.rsv = 0;
  DataCopyPadExtParams<T> pad;
  pad.isPad = false;
  pad.leftPadding = 0;
  pad.rightPadding = 0;
  pad.paddingValue = static_cast<T>(0);
  DataCopyPad(dst, src, params, pad);
}
)"},
    {Piece::kCopyOut, {}, R"(
template <typename T>
__aicore__ inline void CopyOut(const GlobalTensor<T> &dst, const LocalTensor<T> &src, int64_t count,
                               int64_t len, int64_t dstStride, int64_t srcStride) {
  if (count <= 0 || len <= 0) {
    return;
  }
  const int64_t bytes = len * sizeof(T);
  const int64_t blocks = (bytes + 31) / 32;
  DataCopyExtParams params;
  params.blockCount = static_cast<uint16_t>(count);
  params.blockLen = static_cast<uint32_t>(bytes);
  params.srcStride = count > 1 ? static_cast<uint32_t>(srcStride * sizeof(T) / 32 - blocks) : 0;
  params.dstStride = count > 1 ? static_cast<uint32_t>((dstStride - len) * sizeof(T)) : 0;
  params.rsv = 0;
  DataCopyPad(dst, src, params);
}
)"},
    {Piece::kNd2Nz, {}, R"(
// A row-major matrix of GM as column blocks of 32 bytes in L1, each `dstRows` rows high, of which
// every `rowStep`-th is written.
template <typename T>
__aicore__ inline void CopyNd2Nz(const LocalTensor<T> &dst, const GlobalTensor<T> &src,
                                 int64_t rows, int64_t cols, int64_t srcStride, int64_t dstRows,
                                 int64_t rowStep) {
  if (rows <= 0 || cols <= 0) {
    return;
  }
  Nd2NzParams params;
  params.ndNum = 1;
  params.nValue = static_cast<uint16_t>(rows);
  params.dValue = static_cast<uint16_t>(cols);
  params.srcNdMatrixStride = 0;
  params.srcDValue = static_cast<uint16_t>(rows > 1 ? srcStride : cols);
  params.dstNzC0Stride = static_cast<uint16_t>(dstRows);
  params.dstNzNStride = static_cast<uint16_t>(rowStep);
  params.dstNzMatrixStride = 0;
  DataCopy(dst, src, params);
}
)"},
    {Piece::kLoadL0, {}, R"(
template <typename T>
__aicore__ inline void LoadFractals(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                    int64_t start, int64_t count, int64_t stride, bool transpose) {
  LoadData2DParams params;
  params.startIndex = static_cast<uint16_t>(start);
  params.repeatTimes = static_cast<uint8_t>(count);
  params.srcStride = static_cast<uint16_t>(stride);
  params.sid = 0;
  params.dstGap = 0;
  params.ifTranspose = transpose;
  params.addrMode = 0;
  LoadData(dst, src, params);
}
// Fractals of 512 bytes from L1, column-block major, to L0A (row blocks) and L0B (k blocks).
template <typename T>
__aicore__ inline void LoadL0A(const LocalTensor<T> &dst, const LocalTensor<T> &src, int64_t extent,
                               int64_t k, int64_t srcRows) {
  constexpr int64_t c0 = 32 / sizeof(T);
  const int64_t blocks = (extent + 15) / 16;
  const int64_t steps = (k + c0 - 1) / c0;
  for (int64_t i = 0; i < blocks; ++i) {
    LoadFractals(dst[i * steps * 16 * c0], src, i, steps, srcRows / 16, false);
  }
}
template <typename T>
__aicore__ inline void LoadL0B(const LocalTensor<T> &dst, const LocalTensor<T> &src, int64_t extent,
                               int64_t k, int64_t srcRows) {
  constexpr int64_t c0 = 32 / sizeof(T);
  const int64_t blocks = (extent + 15) / 16;
  const int64_t steps = (k + c0 - 1) / c0;
  for (int64_t j = 0; j < steps; ++j) {
    LoadFractals(dst[j * blocks * 16 * c0], src, j * (srcRows / 16), blocks, 1, false);
  }
}
)"},
    {Piece::kLoadL0Transposed16, {Piece::kLoadL0}, R"(
// The same from a matrix whose rows run along k, 2-byte elements.
template <typename T>
__aicore__ inline void LoadL0ATransposed16(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                           int64_t extent, int64_t k, int64_t srcRows) {
  const int64_t blocks = (extent + 15) / 16;
  const int64_t steps = (k + 15) / 16;
  for (int64_t i = 0; i < blocks; ++i) {
    LoadFractals(dst[i * steps * 256], src, i * (srcRows / 16), steps, 1, true);
  }
}
template <typename T>
__aicore__ inline void LoadL0BTransposed16(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                           int64_t extent, int64_t k, int64_t srcRows) {
  const int64_t blocks = (extent + 15) / 16;
  const int64_t steps = (k + 15) / 16;
  for (int64_t j = 0; j < steps; ++j) {
    LoadFractals(dst[j * blocks * 256], src, j, blocks, srcRows / 16, true);
  }
}
)"},
    {Piece::kLoadL0Transposed32, {}, R"(
// The same for 4-byte elements: image to column of a 1 x 1 filter, transposed.
template <typename T>
__aicore__ inline void LoadTransposed32(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                        int64_t extent, int64_t k, int64_t srcRows) {
  LoadData3DParamsV2<T> params;
  params.padList[0] = 0;
  params.padList[1] = 0;
  params.padList[2] = 0;
  params.padList[3] = 0;
  params.l1H = 1;
  params.l1W = static_cast<uint16_t>(srcRows);
  params.channelSize = static_cast<uint16_t>((extent + 15) / 16 * 16);
  params.kExtension = static_cast<uint16_t>((extent + 15) / 16 * 16);
  params.mExtension = static_cast<uint16_t>((k + 15) / 16 * 16);
  params.kStartPt = 0;
  params.mStartPt = 0;
  params.strideW = 1;
  params.strideH = 1;
  params.filterW = 1;
  params.filterH = 1;
  params.dilationFilterW = 1;
  params.dilationFilterH = 1;
  params.enTranspose = true;
  params.enSmallK = false;
  params.padValue = static_cast<T>(0);
  LoadData(dst, src, params);
}
template <typename T>
__aicore__ inline void LoadL0ATransposed32(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                           int64_t extent, int64_t k, int64_t srcRows) {
  LoadTransposed32(dst, src, extent, k, srcRows);
}
template <typename T>
__aicore__ inline void LoadL0BTransposed32(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                           int64_t extent, int64_t k, int64_t srcRows) {
  LoadTransposed32(dst, src, extent, k, srcRows);
}
)"},
    {Piece::kMmad, {}, R"(
// c = a x b, plus c unless `init`.
template <typename C, typename A, typename B>
__aicore__ inline void Multiply(const LocalTensor<C> &c, const LocalTensor<A> &a,
                                const LocalTensor<B> &b, int64_t m, int64_t n, int64_t k, bool init,
                                bool aligned) {
  MmadParams params;
  // m = 1 would mean a vector in another layout; the rows that pad it reach no result.
  params.m = static_cast<uint16_t>(m == 1 ? 16 : m);
  params.n = static_cast<uint16_t>(n);
  params.k = static_cast<uint16_t>(k);
  params.unitFlag = 0;
  params.cmatrixSource = false;
  params.cmatrixInitVal = init;
  params.kDirectionAlign = aligned;
  Mmad(c, a, b, params);
  // Short multiplications that add to one another overlap unless the pipe is drained.
  if ((m + 15) / 16 * ((n + 15) / 16) < 10) {
    PipeBarrier<PIPE_M>();
  }
}
)"},
    {Piece::kFixpipe, {}, R"(
__aicore__ inline constexpr QuantMode_t QuantOf(const GlobalTensor<float> &) { return QuantMode_t::NoQuant; }
__aicore__ inline constexpr QuantMode_t QuantOf(const GlobalTensor<half> &) { return QuantMode_t::F322F16; }
__aicore__ inline constexpr QuantMode_t QuantOf(const GlobalTensor<bfloat16_t> &) { return QuantMode_t::F322BF16; }
__aicore__ inline constexpr QuantMode_t QuantOf(const GlobalTensor<int32_t> &) { return QuantMode_t::NoQuant; }
// m x n results from L0C to a row-major matrix of GM.
template <typename T, typename C>
__aicore__ inline void CopyL0COut(const GlobalTensor<T> &dst, const LocalTensor<C> &src, int64_t m,
                                  int64_t n, int64_t dstStride, int64_t srcRows, bool relu) {
  FixpipeParamsV220 params;
  params.nSize = static_cast<uint16_t>(n);
  params.mSize = static_cast<uint16_t>(m);
  params.srcStride = static_cast<uint16_t>(srcRows);
  params.dstStride = static_cast<uint32_t>(dstStride);
  params.reluEn = relu;
  params.quantPre = QuantOf(dst);
  params.ndNum = 1;
  params.srcNdStride = 0;
  params.dstNdStride = 0;
  params.unitFlag = 0;
  Fixpipe<T, C, CFG_ROW_MAJOR>(dst, src, params);
}
)"},
    {Piece::kRowRepeat, {}, R"(
#define PYASC_BINARY(NAME)                                                                         \
  struct Op##NAME {                                                                                \
    template <typename T>                                                                          \
    static __aicore__ inline void Run(const LocalTensor<T> &dst, const LocalTensor<T> &a,          \
                                      const LocalTensor<T> &b, int64_t mask, int64_t repeats,      \
                                      const BinaryRepeatParams &params) {                          \
      NAME(dst, a, b, static_cast<uint64_t>(mask), static_cast<uint8_t>(repeats), params);         \
    }                                                                                              \
  }
PYASC_BINARY(Add);
PYASC_BINARY(Sub);
PYASC_BINARY(Mul);
PYASC_BINARY(Div);
PYASC_BINARY(Max);
PYASC_BINARY(Min);
// One repeat a row over at most 256 bytes of columns. Strides of rows in elements; a stride that
// a repeat cannot make takes one instruction a row.
template <typename Op, typename T>
__aicore__ inline void RowRepeat(const LocalTensor<T> &dst, const LocalTensor<T> &a,
                                 const LocalTensor<T> &b, int64_t rows, int64_t cols,
                                 int64_t dstStride, int64_t aStride, int64_t bStride,
                                 int64_t aBlock, int64_t bBlock) {
  constexpr int64_t block = 32 / sizeof(T);
  const bool strided =
      dstStride / block > 255 || aStride / block > 255 || bStride / block > 255;
  const int64_t most = strided ? 1 : 255;
  for (int64_t row = 0; row < rows; row += most) {
    const int64_t repeats = rows - row < most ? rows - row : most;
    BinaryRepeatParams params;
    params.dstBlkStride = 1;
    params.src0BlkStride = static_cast<uint8_t>(aBlock);
    params.src1BlkStride = static_cast<uint8_t>(bBlock);
    params.dstRepStride = static_cast<uint8_t>(strided ? 0 : dstStride / block);
    params.src0RepStride = static_cast<uint8_t>(strided ? 0 : aStride / block);
    params.src1RepStride = static_cast<uint8_t>(strided ? 0 : bStride / block);
    Op::Run(dst[row * dstStride], a[row * aStride], b[row * bStride], cols, repeats, params);
  }
}
)"},
    {Piece::kRowReduce, {Piece::kRowRepeat}, R"(
// dst[r] = the combination of row r. Rows wider than 256 bytes are first combined column chunk by
// column chunk into tmp.
#define PYASC_ROW_REDUCE(NAME, COMBINE, WHOLE, ORDER)                                              \
  template <typename T>                                                                            \
  __aicore__ inline void NAME##Whole(const LocalTensor<T> &dst, const LocalTensor<T> &a,           \
                                     int64_t rows, int64_t cols, int64_t stride) {                 \
    constexpr int64_t block = 32 / sizeof(T);                                                      \
    const int64_t most = stride / block > 255 ? 1 : 255;                                           \
    for (int64_t row = 0; row < rows; row += most) {                                               \
      const int64_t repeats = rows - row < most ? rows - row : most;                               \
      WHOLE(dst[row], a[row * stride], static_cast<int32_t>(cols), static_cast<int32_t>(repeats),  \
            1, 1, static_cast<int32_t>(most == 1 ? 0 : stride / block) ORDER);                     \
    }                                                                                              \
  }                                                                                                \
  template <typename T>                                                                            \
  __aicore__ inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &a,                  \
                              const LocalTensor<T> &tmp, int64_t rows, int64_t cols,               \
                              int64_t stride) {                                                    \
    constexpr int64_t chunk = 256 / sizeof(T);                                                     \
    constexpr int64_t block = 32 / sizeof(T);                                                      \
    if (cols <= chunk) {                                                                           \
      NAME##Whole(dst, a, rows, cols, stride);                                                     \
      return;                                                                                      \
    }                                                                                              \
    int64_t done = 2 * chunk;                                                                      \
    if (cols >= 2 * chunk) {                                                                       \
      RowRepeat<COMBINE>(tmp, a, a[chunk], rows, chunk, chunk, stride, stride, 1, 1);              \
    } else {                                                                                       \
      for (int64_t row = 0; row < rows; ++row) {                                                   \
        DataCopy(tmp[row * chunk], a[row * stride], static_cast<uint32_t>(chunk));                 \
      }                                                                                            \
      done = chunk;                                                                                \
    }                                                                                              \
    for (; done < cols; done += chunk) {                                                           \
      const int64_t width = cols - done < chunk ? cols - done : chunk;                             \
      PipeBarrier<PIPE_V>();                                                                       \
      RowRepeat<COMBINE>(tmp, tmp, a[done], rows, width, chunk, chunk, stride, 1, 1);              \
    }                                                                                              \
    PipeBarrier<PIPE_V>();                                                                         \
    NAME##Whole(dst, tmp, rows, chunk, chunk);                                                     \
  }
#define PYASC_NOTHING
#define PYASC_VALUE_ONLY , ReduceOrder::ORDER_ONLY_VALUE
PYASC_ROW_REDUCE(RowReduceSum, OpAdd, WholeReduceSum, PYASC_NOTHING)
PYASC_ROW_REDUCE(RowReduceMax, OpMax, WholeReduceMax, PYASC_VALUE_ONLY)
PYASC_ROW_REDUCE(RowReduceMin, OpMin, WholeReduceMin, PYASC_VALUE_ONLY)
)"},
    {Piece::kRowBinary, {Piece::kRowRepeat}, R"(
// dst[r, c] = a[r, c] op b[r], or the other way round: b is spread over one block a row first.
template <typename Op, typename T, bool reverse>
__aicore__ inline void RowBinary(const LocalTensor<T> &dst, const LocalTensor<T> &a,
                                 const LocalTensor<T> &b, const LocalTensor<T> &tmp, int64_t rows,
                                 int64_t cols, int64_t stride) {
  constexpr int64_t chunk = 256 / sizeof(T);
  constexpr int64_t block = 32 / sizeof(T);
  for (int64_t row = 0; row < rows; row += 255 * 8) {
    const int64_t left = rows - row < 255 * 8 ? rows - row : 255 * 8;
    BrcbRepeatParams spread;
    spread.dstBlkStride = 1;
    spread.dstRepStride = 8;
    Brcb(tmp[row * block], b[row], static_cast<uint8_t>((left + 7) / 8), spread);
  }
  PipeBarrier<PIPE_V>();
  for (int64_t col = 0; col < cols; col += chunk) {
    const int64_t width = cols - col < chunk ? cols - col : chunk;
    if (reverse) {
      RowRepeat<Op>(dst[col], tmp, a[col], rows, width, stride, block, stride, 0, 1);
    } else {
      RowRepeat<Op>(dst[col], a[col], tmp, rows, width, stride, stride, block, 1, 0);
    }
  }
}
)"},
    {Piece::kColBinary, {Piece::kRowRepeat}, R"(
// dst[r, c] = a[r, c] op b[c], or the other way round.
template <typename Op, typename T, bool reverse>
__aicore__ inline void ColBinary(const LocalTensor<T> &dst, const LocalTensor<T> &a,
                                 const LocalTensor<T> &b, int64_t rows, int64_t cols,
                                 int64_t stride) {
  constexpr int64_t chunk = 256 / sizeof(T);
  for (int64_t col = 0; col < cols; col += chunk) {
    const int64_t width = cols - col < chunk ? cols - col : chunk;
    if (reverse) {
      RowRepeat<Op>(dst[col], b[col], a[col], rows, width, stride, 0, stride, 1, 1);
    } else {
      RowRepeat<Op>(dst[col], a[col], b[col], rows, width, stride, stride, 0, 1, 1);
    }
  }
}
)"},
    {Piece::kDeinterleave, {}, R"(
// Every second (pattern 1) or fourth (pattern 3) of `count` elements, packed.
template <typename T>
__aicore__ inline void Deinterleave(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                    int32_t count, uint8_t pattern) {
  if (count <= 0) {
    return;
  }
  GatherMaskParams params;
  params.src0BlockStride = 1;
  params.repeatTimes = 1;
  params.src0RepeatStride = 0;
  params.src1RepeatStride = 0;
  uint64_t taken = 0;
  GatherMask(dst, src, pattern, true, static_cast<uint32_t>(count), params, taken);
}
)"},
    {Piece::kBlockReduce, {}, R"(
// dst[i] = the combination of the i-th 8 elements; count is a multiple of 64.
#define PYASC_BLOCK_REDUCE(NAME, REDUCE)                                                           \
  __aicore__ inline void NAME(const LocalTensor<float> &dst, const LocalTensor<float> &a,          \
                              int64_t count) {                                                     \
    for (int64_t done = 0; done < count; done += 255 * 64) {                                       \
      const int64_t left = count - done < 255 * 64 ? count - done : 255 * 64;                      \
      REDUCE(dst[done / 8], a[done], static_cast<int32_t>(left / 64), 64, 1, 1, 8);                \
    }                                                                                              \
  }
PYASC_BLOCK_REDUCE(BlockReduceSumOf, BlockReduceSum)
PYASC_BLOCK_REDUCE(BlockReduceMaxOf, BlockReduceMax)
PYASC_BLOCK_REDUCE(BlockReduceMinOf, BlockReduceMin)
)"},
    {Piece::kTranspose, {}, R"(
// dst[c * dstStride + r] = a[r * aStride + c], in pieces of 16 rows and 32 bytes of columns.
template <typename T>
__aicore__ inline void TransposeTile(const LocalTensor<T> &dst, const LocalTensor<T> &a,
                                     int64_t rows, int64_t cols, int64_t aStride,
                                     int64_t dstStride) {
  constexpr int64_t block = 32 / sizeof(T);
  // Of 4-byte elements two blocks make one row of 16.
  constexpr int64_t parts = 16 / block;
  for (int64_t row = 0; row < rows; row += 16) {
    for (int64_t col = 0; col < cols; col += 255 * block) {
      const int64_t left = cols - col < 255 * block ? cols - col : 255 * block;
      const int64_t repeats = (left + block - 1) / block;
      LocalTensor<T> from[16];
      LocalTensor<T> to[16];
      for (int64_t i = 0; i < 16; ++i) {
        from[i] = a[(row + i) * aStride + col];
        to[i] = dst[(col + i / parts) * dstStride + row + i % parts * block];
      }
      TransDataTo5HDParams params;
      params.repeatTimes = static_cast<uint8_t>(repeats);
      params.srcRepStride = static_cast<uint16_t>(repeats > 1 ? 1 : 0);
      params.dstRepStride = static_cast<uint16_t>(repeats > 1 ? dstStride : 0);
      TransDataTo5HD<T>(to, from, params);
    }
  }
}
)"},
};

} // namespace

std::string preludeText(const std::set<Piece> &pieces) {
  std::set<Piece> wanted = pieces;
  for (const PieceText &piece : kPieces)
    if (wanted.count(piece.piece))
      wanted.insert(piece.needs.begin(), piece.needs.end());
  std::string text;
  for (const PieceText &piece : kPieces)
    if (wanted.count(piece.piece))
      text += piece.text;
  return text;
}

} // namespace pyasc::npu
