// The vector unit.
#ifndef PYASC_TESTS_ASCENDC_TWIN_TWIN_VECTOR_H
#define PYASC_TESTS_ASCENDC_TWIN_TWIN_VECTOR_H

#include "kernel_operator.h"

namespace AscendC {

struct BinaryRepeatParams {
  uint8_t dstBlkStride = 1;
  uint8_t src0BlkStride = 1;
  uint8_t src1BlkStride = 1;
  uint8_t dstRepStride = 8;
  uint8_t src0RepStride = 8;
  uint8_t src1RepStride = 8;
};
struct BrcbRepeatParams {
  uint16_t dstBlkStride = 1;
  uint16_t dstRepStride = 8;
};

namespace twin {

// Reads every source before it writes, as one repeat after the other does on operands that are
// the same or do not overlap.
template <typename T, typename F>
void map2(const LocalTensor<T> &dst, const LocalTensor<T> &a, const LocalTensor<T> &b,
          int64_t count, F f) {
  dst.aligned();
  a.aligned();
  b.aligned();
  for (int64_t i = 0; i < count; ++i)
    dst.set(i, f(a.get(i), b.get(i)));
}
template <typename T, typename F>
void map1(const LocalTensor<T> &dst, const LocalTensor<T> &a, int64_t count, F f) {
  dst.aligned();
  a.aligned();
  for (int64_t i = 0; i < count; ++i)
    dst.set(i, f(a.get(i)));
}
template <typename T, typename F>
void repeat2(const LocalTensor<T> &dst, const LocalTensor<T> &a, const LocalTensor<T> &b,
             uint64_t mask, uint8_t repeats, const BinaryRepeatParams &p, F f) {
  constexpr int64_t block = 32 / sizeof(T);
  TWIN_CHECK(mask >= 1 && mask <= 256 / sizeof(T), "mask %llu",
             static_cast<unsigned long long>(mask));
  dst.aligned();
  a.aligned();
  b.aligned();
  for (int64_t r = 0; r < repeats; ++r)
    for (int64_t e = 0; e < static_cast<int64_t>(mask); ++e) {
      auto at = [&](int64_t rep, int64_t blk) {
        return (r * rep + e / block * blk) * block + e % block;
      };
      dst.set(at(p.dstRepStride, p.dstBlkStride), f(a.get(at(p.src0RepStride, p.src0BlkStride)),
                                                    b.get(at(p.src1RepStride, p.src1BlkStride))));
    }
}

// NaN wins, as numpy.maximum has it.
template <typename T> T maximum(T a, T b) {
  if (a != a)
    return a;
  if (b != b)
    return b;
  return a > b ? a : b;
}
template <typename T> T minimum(T a, T b) {
  if (a != a)
    return a;
  if (b != b)
    return b;
  return a < b ? a : b;
}
// Integers wrap.
template <typename T, typename F> T wrap(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(
        f(static_cast<uint64_t>(static_cast<U>(a)), static_cast<uint64_t>(static_cast<U>(b))));
  } else {
    return static_cast<T>(f(a, b));
  }
}

struct Add {
  template <typename T> static T of(T a, T b) {
    return wrap(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Sub {
  template <typename T> static T of(T a, T b) {
    return wrap(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Mul {
  template <typename T> static T of(T a, T b) {
    return wrap(a, b, [](auto x, auto y) { return x * y; });
  }
};
struct Div {
  template <typename T> static T of(T a, T b) { return static_cast<T>(a / b); }
};
struct Max {
  template <typename T> static T of(T a, T b) { return maximum(a, b); }
};
struct Min {
  template <typename T> static T of(T a, T b) { return minimum(a, b); }
};
struct And {
  template <typename T> static T of(T a, T b) { return static_cast<T>(a & b); }
};
struct Or {
  template <typename T> static T of(T a, T b) { return static_cast<T>(a | b); }
};

template <typename T> bool compare(T a, T b, CMPMODE mode) {
  switch (mode) {
  case CMPMODE::LT:
    return a < b;
  case CMPMODE::GT:
    return a > b;
  case CMPMODE::EQ:
    return a == b;
  case CMPMODE::LE:
    return a <= b;
  case CMPMODE::GE:
    return a >= b;
  case CMPMODE::NE:
    return a != b;
  }
  return false;
}

template <typename T> double toDouble(T value) {
  if constexpr (std::is_same_v<T, bfloat16_t>)
    return static_cast<float>(value);
  else
    return static_cast<double>(value);
}

inline double rounded(double value, RoundMode mode) {
  switch (mode) {
  case RoundMode::CAST_RINT:
    return std::nearbyint(value);
  case RoundMode::CAST_FLOOR:
    return std::floor(value);
  case RoundMode::CAST_CEIL:
    return std::ceil(value);
  case RoundMode::CAST_ROUND:
    return std::round(value);
  case RoundMode::CAST_TRUNC:
    return std::trunc(value);
  default:
    return value;
  }
}

// Float to float rounds to nearest even; float to integer by the mode, with saturation; NaN gives
// 0.
template <typename To, typename From> To convert(From value, RoundMode mode) {
  if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    double number = rounded(toDouble(value), mode);
    if (number != number)
      return 0;
    double low = static_cast<double>(std::numeric_limits<To>::min());
    double high = static_cast<double>(std::numeric_limits<To>::max());
    if (number <= low)
      return std::numeric_limits<To>::min();
    if (number >= high)
      return std::numeric_limits<To>::max();
    return static_cast<To>(number);
  } else if constexpr (std::is_integral_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_same_v<To, float>) {
    return static_cast<float>(toDouble(value));
  } else if constexpr (std::is_integral_v<From>) {
    // From integers directly, so that one rounding happens.
    return static_cast<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(static_cast<float>(toDouble(value)));
  }
}

} // namespace twin

#define TWIN_BINARY(NAME)                                                                          \
  template <typename T>                                                                            \
  void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &a, const LocalTensor<T> &b,           \
            const int32_t &count) {                                                                \
    twin::map2(dst, a, b, count, [](T x, T y) { return twin::NAME::of(x, y); });                   \
  }                                                                                                \
  template <typename T>                                                                            \
  void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &a, const LocalTensor<T> &b,           \
            uint64_t mask, const uint8_t repeats, const BinaryRepeatParams &params) {              \
    twin::repeat2(dst, a, b, mask, repeats, params,                                                \
                  [](T x, T y) { return twin::NAME::of(x, y); });                                  \
  }
TWIN_BINARY(Add)
TWIN_BINARY(Sub)
TWIN_BINARY(Mul)
TWIN_BINARY(Div)
TWIN_BINARY(Max)
TWIN_BINARY(Min)
#undef TWIN_BINARY

#define TWIN_BITWISE(NAME)                                                                         \
  template <typename T>                                                                            \
  void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &a, const LocalTensor<T> &b,           \
            const int32_t &count) {                                                                \
    static_assert(sizeof(T) == 2, "16-bit elements only");                                         \
    twin::map2(dst, a, b, count, [](T x, T y) { return twin::NAME::of(x, y); });                   \
  }
TWIN_BITWISE(And)
TWIN_BITWISE(Or)
#undef TWIN_BITWISE

#define TWIN_UNARY(NAME, EXPRESSION)                                                               \
  template <typename T>                                                                            \
  void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &a, const int32_t &count) {            \
    twin::map1(dst, a, count, [](T value) {                                                        \
      double x = static_cast<double>(value);                                                       \
      return static_cast<T>(EXPRESSION);                                                           \
    });                                                                                            \
  }
TWIN_UNARY(Exp, std::exp(x))
TWIN_UNARY(Ln, std::log(x))
TWIN_UNARY(Abs, std::fabs(x))
TWIN_UNARY(Sqrt, std::sqrt(x))
TWIN_UNARY(Rsqrt, 1.0 / std::sqrt(x))
TWIN_UNARY(Reciprocal, 1.0 / x)
TWIN_UNARY(Relu, x > 0 ? x : 0.0)
#undef TWIN_UNARY
template <typename T>
void Not(const LocalTensor<T> &dst, const LocalTensor<T> &a, const int32_t &count) {
  static_assert(sizeof(T) == 2, "16-bit elements only");
  twin::map1(dst, a, count, [](T value) { return static_cast<T>(~value); });
}

#define TWIN_SCALAR(NAME, BASE)                                                                    \
  template <typename T>                                                                            \
  void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &a,                                    \
            const std::type_identity_t<T> &scalar, const int32_t &count) {                         \
    twin::map1(dst, a, count, [&](T value) { return twin::BASE::of(value, scalar); });             \
  }
TWIN_SCALAR(Adds, Add)
TWIN_SCALAR(Muls, Mul)
TWIN_SCALAR(Maxs, Max)
TWIN_SCALAR(Mins, Min)
#undef TWIN_SCALAR

template <typename T>
void Duplicate(const LocalTensor<T> &dst, const std::type_identity_t<T> &scalar,
               const int32_t &count) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4);
  dst.aligned();
  for (int64_t i = 0; i < count; ++i)
    dst.set(i, scalar);
}

template <typename T, typename U>
void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src, const RoundMode &mode,
          const uint32_t count) {
  static_assert(!(sizeof(T) == 1 && std::is_same_v<U, float>), "through half only");
  dst.aligned();
  src.aligned();
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i)
    dst.set(i, twin::convert<T, U>(src.get(i), mode));
}

namespace twin {
template <typename T, typename F>
void compareMask(const LocalTensor<uint8_t> &dst, int64_t count, F bit) {
  TWIN_CHECK(count * static_cast<int64_t>(sizeof(T)) % 256 == 0, "%lld elements are compared",
             static_cast<long long>(count));
  for (int64_t i = 0; i < count; i += 8) {
    uint8_t byte = 0;
    for (int64_t j = 0; j < 8; ++j)
      byte = static_cast<uint8_t>(byte | (bit(i + j) ? 1 << j : 0));
    dst.set(i / 8, byte);
  }
}
} // namespace twin

template <typename T>
void Compare(const LocalTensor<uint8_t> &dst, const LocalTensor<T> &a, const LocalTensor<T> &b,
             CMPMODE mode, uint32_t count) {
  twin::compareMask<T>(dst, count,
                       [&](int64_t i) { return twin::compare(a.get(i), b.get(i), mode); });
}
template <typename T>
void Compares(const LocalTensor<uint8_t> &dst, const LocalTensor<T> &a,
              const std::type_identity_t<T> &scalar, CMPMODE mode, uint32_t count) {
  twin::compareMask<T>(dst, count,
                       [&](int64_t i) { return twin::compare(a.get(i), scalar, mode); });
}
template <typename T>
void Select(const LocalTensor<T> &dst, const LocalTensor<uint8_t> &mask, const LocalTensor<T> &a,
            const LocalTensor<T> &b, SELMODE mode, uint32_t count) {
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, float>);
  TWIN_CHECK(mode == SELMODE::VSEL_TENSOR_TENSOR_MODE, "only two tensors are part");
  // Bit by bit: a NaN's payload stays.
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) {
    const LocalTensor<T> &from = mask.get(i / 8) >> (i % 8) & 1 ? a : b;
    std::memmove(dst.bytes(i, 1), from.bytes(i, 1), sizeof(T));
  }
}

// ------------------------------------------------------------------------------------ reductions

namespace twin {
// Pairs of neighbours, then pairs of the results: the tree of one repeat.
template <typename T, typename F> T tree(std::vector<T> values, F f) {
  while (values.size() > 1) {
    std::vector<T> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(f(values[i], values[i + 1]));
    if (values.size() % 2)
      next.push_back(values.back());
    values = std::move(next);
  }
  return values.front();
}
template <typename T, typename F>
void reduce(const LocalTensor<T> &dst, const LocalTensor<T> &src, int64_t count, F f) {
  constexpr int64_t repeat = 256 / sizeof(T);
  TWIN_CHECK(count >= 1, "nothing to reduce");
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(src.get(i));
  while (values.size() > 1) {
    std::vector<T> next;
    for (size_t i = 0; i < values.size(); i += repeat)
      next.push_back(tree(std::vector<T>(values.begin() + static_cast<int64_t>(i),
                                         values.begin() + static_cast<int64_t>(
                                                              std::min(i + repeat, values.size()))),
                          f));
    values = std::move(next);
  }
  dst.set(0, values.front());
}
template <typename T, typename F>
void wholeReduce(const LocalTensor<T> &dst, const LocalTensor<T> &src, int32_t mask,
                 int32_t repeats, int32_t dstRep, int32_t srcBlk, int32_t srcRep, F f) {
  constexpr int64_t block = 32 / sizeof(T);
  TWIN_CHECK(mask >= 1 && mask <= static_cast<int32_t>(256 / sizeof(T)), "mask %d", mask);
  TWIN_CHECK(repeats >= 0 && repeats <= 255, "%d repeats", repeats);
  src.aligned();
  for (int64_t r = 0; r < repeats; ++r) {
    std::vector<T> values;
    for (int64_t e = 0; e < mask; ++e)
      values.push_back(src.get((r * srcRep + e / block * srcBlk) * block + e % block));
    dst.set(r * dstRep, tree(values, f));
  }
}
} // namespace twin

template <typename T>
void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &,
               const int32_t count) {
  twin::reduce(dst, src, count, [](T a, T b) { return twin::Add::of(a, b); });
}
template <typename T>
void ReduceMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &,
               const int32_t count, bool index = false) {
  TWIN_CHECK(!index, "indices are not part");
  twin::reduce(dst, src, count, [](T a, T b) { return twin::maximum(a, b); });
}
template <typename T>
void ReduceMin(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &,
               const int32_t count, bool index = false) {
  TWIN_CHECK(!index, "indices are not part");
  twin::reduce(dst, src, count, [](T a, T b) { return twin::minimum(a, b); });
}
template <typename T>
void WholeReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t mask,
                    const int32_t repeats, const int32_t dstRep, const int32_t srcBlk,
                    const int32_t srcRep) {
  twin::wholeReduce(dst, src, mask, repeats, dstRep, srcBlk, srcRep,
                    [](T a, T b) { return twin::Add::of(a, b); });
}
template <typename T>
void WholeReduceMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t mask,
                    const int32_t repeats, const int32_t dstRep, const int32_t srcBlk,
                    const int32_t srcRep, ReduceOrder order) {
  TWIN_CHECK(order == ReduceOrder::ORDER_ONLY_VALUE, "values only");
  twin::wholeReduce(dst, src, mask, repeats, dstRep, srcBlk, srcRep,
                    [](T a, T b) { return twin::maximum(a, b); });
}
template <typename T>
void WholeReduceMin(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t mask,
                    const int32_t repeats, const int32_t dstRep, const int32_t srcBlk,
                    const int32_t srcRep, ReduceOrder order) {
  TWIN_CHECK(order == ReduceOrder::ORDER_ONLY_VALUE, "values only");
  twin::wholeReduce(dst, src, mask, repeats, dstRep, srcBlk, srcRep,
                    [](T a, T b) { return twin::minimum(a, b); });
}

namespace twin {
// Each block of 32 bytes of a repeat becomes one element: pairs of neighbours, then pairs of these.
template <typename T, typename F>
void blockReduce(const LocalTensor<T> &dst, const LocalTensor<T> &src, int32_t repeats,
                 int32_t mask, int32_t dstRep, int32_t srcBlk, int32_t srcRep, F f) {
  constexpr int block = 32 / sizeof(T);
  TWIN_CHECK(mask == 256 / static_cast<int32_t>(sizeof(T)), "mask %d", mask);
  TWIN_CHECK(repeats >= 1 && repeats <= 255, "%d repeats", repeats);
  src.aligned();
  dst.aligned();
  for (int64_t r = 0; r < repeats; ++r)
    for (int64_t b = 0; b < 8; ++b) {
      T x[block];
      for (int e = 0; e < block; ++e)
        x[e] = src.get((r * srcRep + b * srcBlk) * block + e);
      for (int n = block; n > 1; n /= 2)
        for (int e = 0; e < n / 2; ++e)
          x[e] = f(x[2 * e], x[2 * e + 1]);
      dst.set(r * dstRep * 8 + b, x[0]);
    }
}
} // namespace twin

template <typename T>
void BlockReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeats,
                    const int32_t mask, const int32_t dstRep, const int32_t srcBlk,
                    const int32_t srcRep) {
  twin::blockReduce(dst, src, repeats, mask, dstRep, srcBlk, srcRep,
                    [](T a, T b) { return twin::Add::of(a, b); });
}
template <typename T>
void BlockReduceMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeats,
                    const int32_t mask, const int32_t dstRep, const int32_t srcBlk,
                    const int32_t srcRep) {
  twin::blockReduce(dst, src, repeats, mask, dstRep, srcBlk, srcRep,
                    [](T a, T b) { return twin::maximum(a, b); });
}
template <typename T>
void BlockReduceMin(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeats,
                    const int32_t mask, const int32_t dstRep, const int32_t srcBlk,
                    const int32_t srcRep) {
  twin::blockReduce(dst, src, repeats, mask, dstRep, srcBlk, srcRep,
                    [](T a, T b) { return twin::minimum(a, b); });
}

// Eight elements of src become eight blocks of dst, each full of one of them.
template <typename T>
void Brcb(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint8_t repeats,
          const BrcbRepeatParams &params) {
  constexpr int64_t block = 32 / sizeof(T);
  src.aligned();
  for (int64_t r = 0; r < repeats; ++r)
    for (int64_t i = 0; i < 8; ++i) {
      T value = src.get(r * 8 + i);
      for (int64_t e = 0; e < block; ++e)
        dst.set((r * params.dstRepStride + i * params.dstBlkStride) * block + e, value);
    }
}

struct GatherMaskParams {
  uint8_t src0BlockStride = 1;
  uint16_t repeatTimes = 1;
  uint16_t src0RepeatStride = 0;
  uint8_t src1RepeatStride = 0;
};
// The elements that a built-in pattern of bits picks, packed; `mask` of them in counting mode.
template <typename T>
void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint8_t pattern,
                const bool counts, const uint32_t mask, const GatherMaskParams &params,
                uint64_t &taken) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "elements of 2 or 4 bytes");
  TWIN_CHECK(pattern >= 1 && pattern <= 7, "pattern %d", pattern);
  TWIN_CHECK(counts && params.repeatTimes == 1 && params.src0BlockStride == 1, "another mode of %u",
             mask);
  dst.aligned();
  src.aligned();
  const uint8_t bits[] = {0, 0x55, 0xaa, 0x11, 0x22, 0x44, 0x88, 0xff};
  taken = 0;
  for (uint32_t i = 0; i < mask; ++i)
    if (bits[pattern] >> (i % 8) & 1)
      dst.set(static_cast<int64_t>(taken++), src.get(i));
}

struct TransDataTo5HDParams {
  bool dstHighHalf = false;
  bool srcHighHalf = false;
  uint8_t repeatTimes = 1;
  uint16_t dstRepStride = 0;
  uint16_t srcRepStride = 0;
};
// Element i of the 16 source blocks, one after the other, fills the next 32 or 64 bytes of the list
// of destination blocks.
template <typename T>
void TransDataTo5HD(const LocalTensor<T> (&dst)[16], const LocalTensor<T> (&src)[16],
                    const TransDataTo5HDParams &params) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "elements of one byte go by halves of blocks");
  constexpr int64_t block = 32 / sizeof(T);
  TWIN_CHECK(params.repeatTimes >= 1, "%d repeats", params.repeatTimes);
  TWIN_CHECK(params.repeatTimes > 1 || (params.dstRepStride == 0 && params.srcRepStride == 0),
             "one repeat has no stride, given %d", params.dstRepStride);
  for (int i = 0; i < 16; ++i) {
    dst[i].aligned();
    src[i].aligned();
  }
  for (int64_t r = 0; r < params.repeatTimes; ++r) {
    T piece[16][block];
    for (int i = 0; i < 16; ++i)
      for (int64_t e = 0; e < block; ++e)
        piece[i][e] = src[i].get(r * params.srcRepStride * block + e);
    int64_t written = 0;
    for (int64_t e = 0; e < block; ++e)
      for (int i = 0; i < 16; ++i, ++written)
        dst[written / block].set(r * params.dstRepStride * block + written % block, piece[i][e]);
  }
}

} // namespace AscendC

#endif // PYASC_TESTS_ASCENDC_TWIN_TWIN_VECTOR_H
