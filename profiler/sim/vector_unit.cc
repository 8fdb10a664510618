// The vector unit. Elements of 2 bytes are computed in float32 and rounded once.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "profiler/sim/cast.h"
#include "profiler/sim/half.h"
#include "profiler/sim/half_arrays.h"
#include "profiler/sim/units.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;

// Elements that are worked on at a time in counted mode; a repeat never has more.
constexpr int64_t kPiece = 512;

// One operand: where it starts and how its blocks and repeats lie.
struct Operand {
  std::byte *base;
  int64_t size;
  int64_t block;
  int64_t repeat;
};

// A piece of an operand as contiguous elements: in place where it is, else gathered into `room`.
class Piece {
public:
  Piece(const Operand &operand, int64_t repeat, int64_t first, int64_t count, bool gather)
      : operand_(operand), count_(count),
        at_(operand.base + repeat * operand.repeat * 32 + first * operand.size) {
    if (operand.block != 1 && gather)
      Copy(/*out=*/false);
  }
  std::byte *data() { return operand_.block == 1 ? at_ : room_; }
  // Puts a written piece where it belongs.
  void Scatter() {
    if (operand_.block != 1)
      Copy(/*out=*/true);
  }

private:
  void Copy(bool out) {
    const int64_t bytes = count_ * operand_.size;
    for (int64_t done = 0, block = 0; done < bytes; done += 32, ++block) {
      std::byte *there = at_ + block * operand_.block * 32;
      const int64_t length = std::min<int64_t>(32, bytes - done);
      out ? std::memcpy(there, room_ + done, length) : std::memcpy(room_ + done, there, length);
    }
  }

  const Operand &operand_;
  int64_t count_;
  std::byte *at_;
  alignas(32) std::byte room_[256];
};

// Calls f(repeat, first element, elements) for each piece.
template <typename F> void ForPieces(int64_t count, int64_t repeats, F f) {
  if (repeats == 0) {
    for (int64_t first = 0; first < count; first += kPiece)
      f(int64_t{0}, first, std::min(kPiece, count - first));
    return;
  }
  for (int64_t r = 0; r < repeats; ++r)
    f(r, int64_t{0}, count);
}

template <typename T> T Max(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a != a ? a : b != b ? b : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
  else
    return a > b ? a : b;
}
template <typename T> T Min(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a != a ? a : b != b ? b : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
  else
    return a < b ? a : b;
}
// Integers wrap.
template <typename T>
using Wrap = typename std::conditional_t<std::is_floating_point_v<T>, std::type_identity<T>,
                                         std::type_identity<uint32_t>>::type;
template <typename T> T Add(T a, T b) { return static_cast<T>(Wrap<T>(a) + Wrap<T>(b)); }
template <typename T> T Sub(T a, T b) { return static_cast<T>(Wrap<T>(a) - Wrap<T>(b)); }
template <typename T> T Mul(T a, T b) { return static_cast<T>(Wrap<T>(a) * Wrap<T>(b)); }

template <typename T, typename F> void Map2(T *dst, const T *a, const T *b, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i)
    dst[i] = f(a[i], b[i]);
}

template <typename T> void Binary2(Binary op, T *dst, const T *a, const T *b, int64_t n) {
  switch (op) {
  case Binary::kAdd:
    return Map2(dst, a, b, n, [](T x, T y) { return Add(x, y); });
  case Binary::kSub:
    return Map2(dst, a, b, n, [](T x, T y) { return Sub(x, y); });
  case Binary::kMul:
    return Map2(dst, a, b, n, [](T x, T y) { return Mul(x, y); });
  case Binary::kMax:
    return Map2(dst, a, b, n, [](T x, T y) { return Max(x, y); });
  case Binary::kMin:
    return Map2(dst, a, b, n, [](T x, T y) { return Min(x, y); });
  default:
    break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (op == Binary::kDiv)
      Map2(dst, a, b, n, [](T x, T y) { return x / y; });
  } else if (op == Binary::kAnd) {
    Map2(dst, a, b, n, [](T x, T y) { return static_cast<T>(x & y); });
  } else if (op == Binary::kOr) {
    Map2(dst, a, b, n, [](T x, T y) { return static_cast<T>(x | y); });
  }
}

void BinaryPiece(Type type, Binary op, std::byte *dst, const std::byte *a, const std::byte *b,
                 int64_t n) {
  auto as = [&]<typename T>(T) {
    Binary2(op, reinterpret_cast<T *>(dst), reinterpret_cast<const T *>(a),
            reinterpret_cast<const T *>(b), n);
  };
  switch (type) {
  case Type::kF16: {
    float x[kPiece], y[kPiece];
    WidenHalves(a, x, n);
    WidenHalves(b, y, n);
    Binary2(op, x, x, y, n);
    return NarrowToHalves(x, dst, n);
  }
  case Type::kF32:
    return as(float{});
  case Type::kI8:
  case Type::kU8:
    return as(int8_t{});
  case Type::kI16:
  case Type::kU16:
    return as(int16_t{});
  default:
    return as(int32_t{});
  }
}

// Each loop has one operation, so that compilers can make vectors of it.
void UnaryFloats(Unary op, float *to, const float *from, int64_t n) {
  auto each = [&](auto f) {
    for (int64_t i = 0; i < n; ++i)
      to[i] = f(from[i]);
  };
  switch (op) {
  case Unary::kExp:
    return each([](float x) { return std::exp(x); });
  case Unary::kLn:
    return each([](float x) { return std::log(x); });
  case Unary::kAbs:
    return each([](float x) { return std::fabs(x); });
  case Unary::kSqrt:
    return each([](float x) { return std::sqrt(x); });
  case Unary::kRsqrt:
    return each(
        [](float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); });
  case Unary::kReciprocal:
    return each([](float x) { return 1.0f / x; });
  case Unary::kRelu:
    return each([](float x) { return x != x ? x : x > 0 ? x : 0.0f; });
  case Unary::kNeg:
    return each([](float x) { return -x; });
  case Unary::kNot:
  case Unary::kCopy:
    return each([](float x) { return x; });
  }
}

template <typename T> void UnaryInt(Unary op, T *dst, const T *a, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    dst[i] = op == Unary::kNot   ? static_cast<T>(~a[i])
             : op == Unary::kNeg ? Sub<T>(0, a[i])
                                 : std::max<T>(a[i], 0);
}

void UnaryPiece(Type type, Unary op, std::byte *dst, const std::byte *a, int64_t n) {
  auto as = [&]<typename T>(T) {
    UnaryInt(op, reinterpret_cast<T *>(dst), reinterpret_cast<const T *>(a), n);
  };
  if (op == Unary::kCopy) {
    std::memmove(dst, a, n * TypeBytes(type));
    return;
  }
  switch (type) {
  case Type::kF16: {
    float x[kPiece];
    WidenHalves(a, x, n);
    UnaryFloats(op, x, x, n);
    return NarrowToHalves(x, dst, n);
  }
  case Type::kF32:
    return UnaryFloats(op, reinterpret_cast<float *>(dst), reinterpret_cast<const float *>(a), n);
  case Type::kI8:
  case Type::kU8:
    return as(int8_t{});
  case Type::kI16:
  case Type::kU16:
    return as(int16_t{});
  default:
    return as(int32_t{});
  }
}

// Fills `to` with n copies of the scalar whose bits are given.
void Fill(std::byte *to, int64_t size, uint64_t bits, int64_t n) {
  if (size == 2)
    std::fill_n(reinterpret_cast<uint16_t *>(to), n, static_cast<uint16_t>(bits));
  else
    std::fill_n(reinterpret_cast<uint32_t *>(to), n, static_cast<uint32_t>(bits));
}

// Eight results a byte; the elements of b are b[0] alone, or as many as those of a.
template <typename T>
void ComparePiece(Compare op, unsigned char *mask, const T *a, const T *b, bool with_scalar,
                  int64_t n) {
  auto each = [&](auto holds) {
    for (int64_t i = 0; i < n; i += 8) {
      unsigned char byte = 0;
      for (int bit = 0; bit < 8; ++bit)
        byte |= static_cast<unsigned char>(holds(a[i + bit], b[with_scalar ? 0 : i + bit]) << bit);
      mask[i / 8] = byte;
    }
  };
  switch (op) {
  case Compare::kLt:
    return each([](T x, T y) { return x < y; });
  case Compare::kLe:
    return each([](T x, T y) { return x <= y; });
  case Compare::kGt:
    return each([](T x, T y) { return x > y; });
  case Compare::kGe:
    return each([](T x, T y) { return x >= y; });
  case Compare::kEq:
    return each([](T x, T y) { return x == y; });
  case Compare::kNe:
    return each([](T x, T y) { return x != y; });
  }
}

void CompareAll(const Operation &o, std::byte *ub) {
  const Descriptor &d = *o.descriptor;
  const auto op = static_cast<Compare>(d.sub);
  const int64_t size = TypeBytes(d.type);
  alignas(8) std::byte scalar[8];
  std::memcpy(scalar, &o.v[2], 8);
  const bool with_scalar = d.op == PipeOp::kVCompareS;
  const std::byte *a = ub + o.v[1], *b = with_scalar ? scalar : ub + o.v[2];
  auto *mask = reinterpret_cast<unsigned char *>(ub + o.v[0]);
  for (int64_t first = 0; first < o.v[3]; first += kPiece) {
    const int64_t n = std::min(kPiece, o.v[3] - first);
    const std::byte *x = a + first * size, *y = with_scalar ? b : b + first * size;
    auto as = [&]<typename T>(T) {
      ComparePiece(op, mask + first / 8, reinterpret_cast<const T *>(x),
                   reinterpret_cast<const T *>(y), with_scalar, n);
    };
    switch (d.type) {
    case Type::kF16: {
      float left[kPiece], right[kPiece];
      WidenHalves(x, left, n);
      WidenHalves(y, right, with_scalar ? 1 : n);
      ComparePiece(op, mask + first / 8, left, right, with_scalar, n);
      break;
    }
    case Type::kF32:
      as(float{});
      break;
    case Type::kI16:
      as(int16_t{});
      break;
    default:
      as(int32_t{});
    }
  }
}

template <typename T> void SelectAll(const Operation &o, std::byte *ub) {
  const auto *mask = reinterpret_cast<const unsigned char *>(ub + o.v[1]);
  const T *a = reinterpret_cast<const T *>(ub + o.v[2]);
  const T *b = reinterpret_cast<const T *>(ub + o.v[3]);
  T *dst = reinterpret_cast<T *>(ub + o.v[0]);
  for (int64_t i = 0; i < o.v[4]; ++i)
    dst[i] = mask[i / 8] >> (i % 8) & 1 ? a[i] : b[i];
}

// Neighbours first, then pairs of pairs. REQUIRES: n > 0.
float Tree(Reduce op, float *x, int64_t n) {
  auto tree = [&](auto combine) {
    for (; n > 1; n = (n + 1) / 2) {
      for (int64_t i = 0; i < n / 2; ++i)
        x[i] = combine(x[2 * i], x[2 * i + 1]);
      if (n % 2 != 0)
        x[n / 2] = x[n - 1];
    }
    return x[0];
  };
  switch (op) {
  case Reduce::kSum:
    return tree([](float a, float b) { return a + b; });
  case Reduce::kMax:
    return tree([](float a, float b) { return Max(a, b); });
  default:
    return tree([](float a, float b) { return Min(a, b); });
  }
}

// `n` elements of at most a repeat into one, rounded to the element type.
void ReducePiece(Type type, Reduce op, std::byte *dst, const std::byte *a, int64_t n) {
  float x[128];
  if (type == Type::kF16) {
    WidenHalves(a, x, n);
    x[0] = Tree(op, x, n);
    return NarrowToHalves(x, dst, 1);
  }
  std::memcpy(x, a, n * sizeof(float));
  x[0] = Tree(op, x, n);
  std::memcpy(dst, x, sizeof(float));
}

void ReduceAll(const Operation &o, CoreMemory &core) {
  const Descriptor &d = *o.descriptor;
  std::byte *ub = core[Space::kUb].data();
  const int64_t size = TypeBytes(d.type), lanes = 256 / size;
  std::vector<std::byte> from(ub + o.v[1], ub + o.v[1] + o.v[3] * size), to;
  int64_t n = o.v[3];
  do {
    const int64_t results = CeilDiv(n, lanes);
    to.resize(results * size);
    for (int64_t r = 0; r < results; ++r)
      ReducePiece(d.type, static_cast<Reduce>(d.sub), to.data() + r * size,
                  from.data() + r * lanes * size, std::min(lanes, n - r * lanes));
    from.swap(to);
    n = results;
  } while (n > 1);
  Poison(ub + o.v[2], std::max<int64_t>(32, CeilDiv(o.v[3] * size, 256) * 32));
  Poison(ub + o.v[0], 32);
  std::memcpy(ub + o.v[0], from.data(), size);
}

} // namespace

void ExecuteVector(const Operation &o, CoreMemory &core) {
  const Descriptor &d = *o.descriptor;
  const int64_t *v = o.v;
  std::byte *ub = core[Space::kUb].data();
  const int64_t size = TypeBytes(d.type), src_size = TypeBytes(d.src_type);
  switch (d.op) {
  case PipeOp::kVBinary: {
    const bool counted = v[4] == 0;
    const Operand dst{ub + v[0], size, counted ? 1 : v[5], v[6]};
    const Operand a{ub + v[1], size, counted ? 1 : v[7], v[8]};
    const Operand b{ub + v[2], size, counted ? 1 : v[9], v[10]};
    return ForPieces(v[3], v[4], [&](int64_t r, int64_t first, int64_t n) {
      Piece x(a, r, first, n, true), y(b, r, first, n, true), z(dst, r, first, n, false);
      BinaryPiece(d.type, static_cast<Binary>(d.sub), z.data(), x.data(), y.data(), n);
      z.Scatter();
    });
  }
  case PipeOp::kVUnary: {
    const bool counted = v[3] == 0;
    const Operand dst{ub + v[0], size, counted ? 1 : v[4], v[5]};
    const Operand a{ub + v[1], size, counted ? 1 : v[6], v[7]};
    return ForPieces(v[2], v[3], [&](int64_t r, int64_t first, int64_t n) {
      Piece x(a, r, first, n, true), z(dst, r, first, n, false);
      UnaryPiece(d.type, static_cast<Unary>(d.sub), z.data(), x.data(), n);
      z.Scatter();
    });
  }
  case PipeOp::kVScalar: {
    constexpr Binary kAs[] = {Binary::kAdd, Binary::kMul, Binary::kMax, Binary::kMin};
    const bool counted = v[4] == 0;
    const Operand dst{ub + v[0], size, counted ? 1 : v[5], v[6]};
    const Operand a{ub + v[1], size, counted ? 1 : v[7], v[8]};
    alignas(32) std::byte scalar[kPiece * 4];
    Fill(scalar, size, static_cast<uint64_t>(v[2]), std::min(kPiece, v[3]));
    return ForPieces(v[3], v[4], [&](int64_t r, int64_t first, int64_t n) {
      Piece x(a, r, first, n, true), z(dst, r, first, n, false);
      BinaryPiece(d.type, kAs[d.sub], z.data(), x.data(), scalar, n);
      z.Scatter();
    });
  }
  case PipeOp::kVDup: {
    const Operand dst{ub + v[0], size, v[3] == 0 ? 1 : v[4], v[5]};
    return ForPieces(v[2], v[3], [&](int64_t r, int64_t first, int64_t n) {
      Piece z(dst, r, first, n, false);
      Fill(z.data(), size, static_cast<uint64_t>(v[1]), n);
      z.Scatter();
    });
  }
  case PipeOp::kVCast: {
    const bool counted = v[3] == 0;
    const Operand dst{ub + v[0], size, counted ? 1 : v[4], v[5]};
    const Operand a{ub + v[1], src_size, counted ? 1 : v[6], v[7]};
    return ForPieces(v[2], v[3], [&](int64_t r, int64_t first, int64_t n) {
      Piece x(a, r, first, n, true), z(dst, r, first, n, false);
      // In place and widening, the first results would overwrite later sources.
      alignas(32) std::byte copy[kPiece * 8];
      std::memcpy(copy, x.data(), n * src_size);
      CastElements(d.src_type, d.type, static_cast<Rounding>(d.sub), copy, z.data(), n);
      z.Scatter();
    });
  }
  case PipeOp::kVCompare:
  case PipeOp::kVCompareS:
    return CompareAll(o, ub);
  case PipeOp::kVSelect:
    return size == 2 ? SelectAll<uint16_t>(o, ub) : SelectAll<uint32_t>(o, ub);
  case PipeOp::kVReduce:
    return ReduceAll(o, core);
  case PipeOp::kVReduceRepeat: {
    const Operand a{ub + v[1], size, v[5], v[6]};
    return ForPieces(v[2], v[3], [&](int64_t r, int64_t first, int64_t n) {
      Piece x(a, r, first, n, true);
      ReducePiece(d.type, static_cast<Reduce>(d.sub), ub + v[0] + r * v[4], x.data(), n);
    });
  }
  case PipeOp::kVBroadcast: {
    // Sources may lie in the destination's way: take them first.
    std::vector<std::byte> from(ub + v[1], ub + v[1] + v[2] * 8 * size);
    for (int64_t i = 0; i < v[2] * 8; ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, from.data() + i * size, size);
      Fill(ub + v[0] + i * 32, size, bits, 32 / size);
    }
    return;
  }
  case PipeOp::kVReduceBlock:
    for (int64_t i = 0; i < v[2] * 8; ++i)
      ReducePiece(d.type, static_cast<Reduce>(d.sub), ub + v[0] + i * size, ub + v[1] + i * 32, 8);
    return;
  case PipeOp::kVDeinterleave:
    for (int64_t i = 0; i * v[3] < v[2]; ++i)
      std::memcpy(ub + v[0] + i * size, ub + v[1] + i * v[3] * size, size);
    return;
  case PipeOp::kVTranspose: {
    const int64_t columns = v[2] * (32 / size);
    for (int64_t i = 0; i < 16; ++i) {
      const std::byte *from = ub + v[1] + i * v[4];
      std::byte *to = ub + v[0] + i * size;
      if (size == 2)
        for (int64_t j = 0; j < columns; ++j)
          std::memcpy(to + j * v[3], from + j * 2, 2);
      else
        for (int64_t j = 0; j < columns; ++j)
          std::memcpy(to + j * v[3], from + j * 4, 4);
    }
    return;
  }
  default:
    return;
  }
}

} // namespace pyasc::sim
