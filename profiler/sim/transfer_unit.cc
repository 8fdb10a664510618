// The pipes that reach global memory: MTE2 (load, load_nd2nz), MTE3 (store) and FIX (fixpipe).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "profiler/sim/half.h"
#include "profiler/sim/half_arrays.h"
#include "profiler/sim/units.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;

std::byte *GmAt(GlobalMemory &gm, int64_t address) {
  GlobalMemory::Allocation *a = gm.Find(static_cast<uint64_t>(address), 0);
  return a->data() + (static_cast<uint64_t>(address) - a->address);
}

template <typename T> void CombineInts(Atomic atomic, std::byte *to, const std::byte *from) {
  T a, b;
  std::memcpy(&a, to, sizeof(T));
  std::memcpy(&b, from, sizeof(T));
  a = atomic == Atomic::kAdd   ? static_cast<T>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b))
      : atomic == Atomic::kMax ? std::max(a, b)
                               : std::min(a, b);
  std::memcpy(to, &a, sizeof(T));
}

float CombineFloats(Atomic atomic, float a, float b) {
  if (atomic == Atomic::kAdd)
    return a + b;
  if (a != a || b != b)
    return a != a ? a : b;
  if (a == b)
    return std::signbit(a) == (atomic == Atomic::kMax) ? b : a;
  return (a > b) == (atomic == Atomic::kMax) ? a : b;
}

void AtomicElement(Type type, Atomic atomic, std::byte *to, const std::byte *from) {
  auto half = [&](auto widen, auto narrow) {
    uint16_t a, b;
    std::memcpy(&a, to, 2);
    std::memcpy(&b, from, 2);
    a = narrow(CombineFloats(atomic, widen(a), widen(b)));
    std::memcpy(to, &a, 2);
  };
  switch (type) {
  case Type::kF32: {
    float a, b;
    std::memcpy(&a, to, 4);
    std::memcpy(&b, from, 4);
    a = CombineFloats(atomic, a, b);
    std::memcpy(to, &a, 4);
    return;
  }
  case Type::kF16:
    return half(HalfToFloat, FloatToHalf);
  case Type::kBF16:
    return half(Bfloat16ToFloat, FloatToBfloat16);
  case Type::kI8:
    return CombineInts<int8_t>(atomic, to, from);
  case Type::kU8:
    return CombineInts<uint8_t>(atomic, to, from);
  case Type::kI16:
    return CombineInts<int16_t>(atomic, to, from);
  default:
    return CombineInts<int32_t>(atomic, to, from);
  }
}

// `bytes` of elements from the chip into GM.
void WriteGm(Type type, Atomic atomic, std::byte *to, const std::byte *from, int64_t bytes) {
  if (atomic == Atomic::kNone) {
    std::memcpy(to, from, bytes);
    return;
  }
  const int64_t size = TypeBytes(type);
  if (type == Type::kF32 && atomic == Atomic::kAdd) { // most are
    for (int64_t at = 0; at < bytes; at += size) {
      float a, b;
      std::memcpy(&a, to + at, 4);
      std::memcpy(&b, from + at, 4);
      a += b;
      std::memcpy(to + at, &a, 4);
    }
    return;
  }
  for (int64_t at = 0; at < bytes; at += size)
    AtomicElement(type, atomic, to + at, from + at);
}

void Load(const Operation &o, CoreMemory &core, GlobalMemory &gm) {
  const int64_t count = o.v[2], length = o.v[3];
  if (count == 0 || length == 0)
    return;
  std::byte *dst = core[o.descriptor->space].data() + o.v[0];
  const std::byte *src = GmAt(gm, o.v[1]);
  for (int64_t i = 0; i < count; ++i) {
    std::byte *burst = dst + (count > 1 ? i * o.v[5] : 0);
    std::memcpy(burst, src + (count > 1 ? i * o.v[4] : 0), length);
    Poison(burst + length, RoundUp(length, 32) - length);
  }
}

void LoadNd2Nz(const Operation &o, CoreMemory &core, GlobalMemory &gm) {
  const int64_t rows = o.v[2], cols = o.v[3], dst_rows = o.v[5], step = o.v[6];
  if (rows == 0 || cols == 0)
    return;
  const int64_t row_bytes = cols * TypeBytes(o.descriptor->type);
  std::byte *dst = core[Space::kL1].data() + o.v[0];
  const std::byte *src = GmAt(gm, o.v[1]);
  for (int64_t r = 0; r < rows; ++r) {
    const std::byte *row = src + (rows > 1 ? r * o.v[4] : 0);
    for (int64_t at = 0, block = 0; at < row_bytes; at += 32, ++block) {
      std::byte *to = dst + (block * dst_rows + r * step) * 32;
      const int64_t n = std::min<int64_t>(32, row_bytes - at);
      std::memcpy(to, row + at, n);
      std::memset(to + n, 0, 32 - n);
    }
  }
}

void Store(const Operation &o, CoreMemory &core, GlobalMemory &gm) {
  const int64_t count = o.v[2], length = o.v[3];
  if (count == 0 || length == 0)
    return;
  std::byte *dst = GmAt(gm, o.v[0]);
  const std::byte *src = core[Space::kUb].data() + o.v[1];
  for (int64_t i = 0; i < count; ++i)
    WriteGm(o.descriptor->type, static_cast<Atomic>(o.descriptor->sub),
            dst + (count > 1 ? i * o.v[4] : 0), src + (count > 1 ? i * o.v[5] : 0), length);
}

void Fixpipe(const Operation &o, CoreMemory &core, GlobalMemory &gm) {
  const int64_t m = o.v[2], n = o.v[3], src_rows = o.v[5];
  if (m == 0 || n == 0)
    return;
  const Descriptor &d = *o.descriptor;
  const int64_t size = TypeBytes(d.type);
  const bool ints = d.src_type == Type::kI32, relu = (d.aux & 1) != 0;
  std::byte *dst = GmAt(gm, o.v[0]);
  const std::byte *src = core[Space::kL0C].data() + o.v[1];
  for (int64_t r = 0; r < m; ++r)
    for (int64_t first = 0; first < n; first += 16) {
      const int64_t width = std::min<int64_t>(16, n - first);
      const std::byte *from = src + (first / 16 * src_rows + r) * 64;
      alignas(32) uint32_t bits[16] = {};
      alignas(32) std::byte narrow[64];
      std::memcpy(bits, from, width * 4);
      // Relu keeps NaN.
      if (relu)
        for (uint32_t &b : bits)
          if (ints ? static_cast<int32_t>(b) < 0 : std::bit_cast<float>(b) <= 0)
            b = 0;
      const std::byte *row = reinterpret_cast<const std::byte *>(bits);
      if (size == 2) {
        float values[16];
        std::memcpy(values, bits, sizeof(values));
        (d.type == Type::kF16 ? NarrowToHalves : NarrowToBfloats)(values, narrow, width);
        row = narrow;
      }
      WriteGm(d.type, static_cast<Atomic>(d.sub), dst + (m > 1 ? r * o.v[4] : 0) + first * size,
              row, width * size);
    }
}

} // namespace

void ExecuteTransfer(const Operation &o, CoreMemory &core, GlobalMemory &gm) {
  switch (o.descriptor->op) {
  case PipeOp::kLoad:
    return Load(o, core, gm);
  case PipeOp::kLoadNd2Nz:
    return LoadNd2Nz(o, core, gm);
  case PipeOp::kStore:
    return Store(o, core, gm);
  case PipeOp::kFixpipe:
    return Fixpipe(o, core, gm);
  default:
    return;
  }
}

void Execute(const Operation &o, CoreMemory &core, GlobalMemory &gm) {
  switch (o.descriptor->op) {
  case PipeOp::kSetFlag:
  case PipeOp::kWaitFlag:
  case PipeOp::kBarrier:
    return;
  case PipeOp::kLoad:
  case PipeOp::kLoadNd2Nz:
  case PipeOp::kStore:
  case PipeOp::kFixpipe:
    return ExecuteTransfer(o, core, gm);
  case PipeOp::kMmad:
  case PipeOp::kLoadL0:
    return ExecuteCube(o, core);
  default:
    return ExecuteVector(o, core);
  }
}

} // namespace pyasc::sim
