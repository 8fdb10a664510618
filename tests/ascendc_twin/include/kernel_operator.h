// A twin of the used part of Ascend C for the CPU. See README.md.
#ifndef PYASC_TESTS_ASCENDC_TWIN_KERNEL_OPERATOR_H
#define PYASC_TESTS_ASCENDC_TWIN_KERNEL_OPERATOR_H

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <type_traits>
#include <vector>

#define __global__
#define __aicore__
#define __gm__
using GM_ADDR = uint8_t *;

#define TWIN_CHECK(condition, ...)                                                                 \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "ascendc twin: " __VA_ARGS__);                                          \
      std::fprintf(stderr, " (%s)\n", #condition);                                                 \
      std::abort();                                                                                \
    }                                                                                              \
  } while (0)

// ------------------------------------------------------------------------------- number types

using half = _Float16;

struct bfloat16_t {
  uint16_t bits = 0;
  bfloat16_t() = default;
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  explicit bfloat16_t(T value) {
    float f = static_cast<float>(value);
    uint32_t u;
    std::memcpy(&u, &f, 4);
    if (f != f)
      bits = static_cast<uint16_t>((u >> 16) | 0x40);
    else
      bits = static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  }
  explicit operator float() const {
    uint32_t u = static_cast<uint32_t>(bits) << 16;
    float f;
    std::memcpy(&f, &u, 4);
    return f;
  }
};

namespace AscendC {

// ---------------------------------------------------------------------------------- enumerations

enum class TPosition { GM, A1, A2, B1, B2, CO1, VECIN, VECOUT, VECCALC };
enum class RoundMode {
  CAST_NONE,
  CAST_RINT,
  CAST_FLOOR,
  CAST_CEIL,
  CAST_ROUND,
  CAST_TRUNC,
  CAST_ODD
};
enum class CMPMODE { LT, GT, EQ, LE, GE, NE };
enum class SELMODE { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class QuantMode_t { NoQuant, F322F16, F322BF16 };
enum class CacheLine { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX, PIPE_ALL };
enum class HardEvent {
  MTE2_MTE1,
  MTE1_MTE2,
  MTE1_M,
  M_MTE1,
  MTE2_V,
  V_MTE2,
  MTE3_V,
  V_MTE3,
  M_V,
  V_M,
  V_V,
  MTE3_MTE1,
  MTE1_MTE3,
  MTE1_V,
  MTE2_M,
  M_MTE2,
  V_MTE1,
  M_FIX,
  FIX_M,
  MTE3_MTE2,
  MTE2_MTE3,
  S_V,
  V_S,
  S_MTE2,
  MTE2_S,
  S_MTE3,
  MTE3_S,
  MTE2_FIX,
  FIX_MTE2,
  FIX_S,
  M_S,
  S_M,
  S_MTE1,
  MTE1_S,
  S_FIX,
  FIX_MTE3,
  MTE1_FIX,
  FIX_MTE1,
  FIX_FIX
};
struct FixpipeConfig {
  bool row_major;
};
inline constexpr FixpipeConfig CFG_ROW_MAJOR{true};
inline constexpr FixpipeConfig CFG_NZ{false};

#define KERNEL_TYPE_AIV_ONLY 0
#define KERNEL_TYPE_AIC_ONLY 1
#define KERNEL_TYPE_MIX_AIC_1_2 2
#define ASCEND_IS_AIC (AscendC::twin::core().cube)
#define ASCEND_IS_AIV (!AscendC::twin::core().cube)
#define KERNEL_TASK_TYPE_DEFAULT(kind) AscendC::twin::begin(kind)

// -------------------------------------------------------------------------------- the one core

namespace twin {

struct Core {
  int kind = 0;
  bool cube = false; // in a kernel for both kinds of cores
  int64_t block = 0;
  int64_t blocks = 1;
  // Filled with a pattern, so that reading what nobody wrote shows.
  std::vector<uint8_t> ub, l1, l0a, l0b, l0c;
  std::map<std::pair<int, int>, int> flags;
  enum Atomic { kNone, kAdd, kMax, kMin } atomic = kNone;

  void reset() {
    ub.assign(192 * 1024, 0xcd);
    l1.assign(512 * 1024, 0xcd);
    l0a.assign(64 * 1024, 0xcd);
    l0b.assign(64 * 1024, 0xcd);
    l0c.assign(128 * 1024, 0xcd);
    flags.clear();
    atomic = kNone;
  }
  std::vector<uint8_t> &arena(TPosition position) {
    switch (position) {
    case TPosition::A1:
    case TPosition::B1:
      return l1;
    case TPosition::A2:
      return l0a;
    case TPosition::B2:
      return l0b;
    case TPosition::CO1:
      return l0c;
    default:
      return ub;
    }
  }
};

// A thread is a core.
inline Core &core() {
  static thread_local Core one;
  return one;
}
inline void begin(int kind) { core().kind = kind; }

// At the end of a block every flag that was set has been waited for.
inline void end() {
  for (auto &[key, value] : core().flags)
    TWIN_CHECK(value == 0, "flag %d id %d is left set", key.first, key.second);
  TWIN_CHECK(core().atomic == Core::kNone, "atomic mode is left on");
}

// Flags between a cube core (member 0) and its two vector cores (1, 2), which run as threads:
// mode 2.
struct Group {
  static constexpr int kIds = 11, kMost = 15;
  std::mutex mutex;
  std::condition_variable changed;
  int sets[3][kIds] = {};  // by a vector core, that the other one has not set
  int flags[3][kIds] = {}; // for each member
};
inline Group &group() {
  static Group one;
  return one;
}
inline int member() { return core().cube ? 0 : 1 + static_cast<int>(core().block % 2); }

inline void cross_set(int mode, int id) {
  TWIN_CHECK(mode == 2, "mode %d is not part", mode);
  TWIN_CHECK(id >= 0 && id < Group::kIds, "flag %d", id);
  Group &all = group();
  const std::lock_guard lock(all.mutex);
  auto give = [&](int to) {
    TWIN_CHECK(++all.flags[to][id] <= Group::kMost, "flag %d is set too often", id);
  };
  if (core().cube) {
    give(1);
    give(2);
  } else {
    ++all.sets[member()][id];
    if (all.sets[1][id] > 0 && all.sets[2][id] > 0) {
      --all.sets[1][id];
      --all.sets[2][id];
      give(0);
    }
  }
  all.changed.notify_all();
}

inline void cross_wait(int mode, int id) {
  TWIN_CHECK(mode == 2, "mode %d is not part", mode);
  Group &all = group();
  std::unique_lock lock(all.mutex);
  int &flag = all.flags[member()][id];
  const bool came = all.changed.wait_for(lock, std::chrono::seconds(60), [&] { return flag > 0; });
  TWIN_CHECK(came, "flag %d never comes", id);
  --flag;
}

// Behind the last of a group's cores.
inline void end_group() {
  for (int m = 0; m < 3; ++m)
    for (int id = 0; id < Group::kIds; ++id)
      TWIN_CHECK(group().flags[m][id] == 0 && group().sets[m][id] == 0,
                 "flag %d between cores is left set", id);
}

template <typename T> T combine(T old, T value) {
  switch (core().atomic) {
  case Core::kAdd:
    if constexpr (std::is_same_v<T, bfloat16_t>)
      return T(static_cast<float>(old) + static_cast<float>(value));
    else
      return static_cast<T>(old + value);
  case Core::kMax:
  case Core::kMin:
    if constexpr (std::is_same_v<T, bfloat16_t>)
      std::abort();
    else
      return core().atomic == Core::kMax ? std::max(old, value) : std::min(old, value);
  default:
    return value;
  }
}

} // namespace twin

inline int64_t GetBlockIdx() { return twin::core().block; }
inline int64_t GetBlockNum() { return twin::core().blocks; }

// -------------------------------------------------------------------------------------- tensors

enum class CacheMode { CACHE_MODE_DISABLE, CACHE_MODE_NORMAL };

template <typename T> class GlobalTensor {
public:
  // Where data is kept does not change what it is.
  void SetL2CacheHint(CacheMode) {}
  void SetGlobalBuffer(T *buffer, uint64_t = 0) { data_ = buffer; }
  GlobalTensor operator[](uint64_t offset) const {
    GlobalTensor moved = *this;
    moved.data_ += offset;
    return moved;
  }
  T GetValue(uint64_t offset) const { return data_[offset]; }
  void SetValue(uint64_t offset, T value) { data_[offset] = value; }
  T *GetPhyAddr() const { return data_; }

private:
  T *data_ = nullptr;
};

template <typename T> class LocalTensor {
public:
  LocalTensor() = default;
  LocalTensor(TPosition position, uint32_t address, uint32_t length)
      : position_(position), offset_(address), end_(address + length * sizeof(T)) {
    uint32_t align = position == TPosition::A2 || position == TPosition::B2 ? 512
                     : position == TPosition::CO1                           ? 64
                                                                            : 32;
    TWIN_CHECK(address % align == 0, "address %u is not aligned to %u", address, align);
    TWIN_CHECK(end_ <= twin::core().arena(position).size(), "a tensor of %u bytes at %u", end_,
               address);
  }
  LocalTensor operator[](uint32_t offset) const {
    LocalTensor moved = *this;
    moved.offset_ += offset * sizeof(T);
    TWIN_CHECK(moved.offset_ <= end_, "offset %u past the tensor", offset);
    return moved;
  }
  template <typename U> LocalTensor<U> ReinterpretCast() const {
    LocalTensor<U> other;
    other.position_ = position_;
    other.offset_ = offset_;
    other.end_ = end_;
    return other;
  }
  T GetValue(uint32_t index) const {
    T value;
    std::memcpy(&value, bytes(index, 1), sizeof(T));
    return value;
  }
  void SetValue(uint32_t index, T value) const { std::memcpy(bytes(index, 1), &value, sizeof(T)); }

  // Twin only: element access with a range check.
  T get(int64_t index) const { return GetValue(static_cast<uint32_t>(index)); }
  void set(int64_t index, T value) const { SetValue(static_cast<uint32_t>(index), value); }
  uint8_t *bytes(int64_t index, int64_t count) const {
    int64_t at = static_cast<int64_t>(offset_) + index * static_cast<int64_t>(sizeof(T));
    TWIN_CHECK(at >= 0 && at + count * static_cast<int64_t>(sizeof(T)) <= end_,
               "element %lld past the tensor of %u bytes", static_cast<long long>(index), end_);
    return twin::core().arena(position_).data() + at;
  }
  void aligned() const { TWIN_CHECK(offset_ % 32 == 0, "operand at %u is not aligned", offset_); }
  TPosition position() const { return position_; }

private:
  template <typename U> friend class LocalTensor;
  TPosition position_ = TPosition::VECCALC;
  uint32_t offset_ = 0;
  uint32_t end_ = 0;
};

// ------------------------------------------------------------------------------ synchronisation

template <HardEvent event> void SetFlag(int32_t id) {
  TWIN_CHECK(id >= 0 && id <= 7, "event id %d", id);
  int &flag = twin::core().flags[{static_cast<int>(event), id}];
  TWIN_CHECK(flag == 0, "event %d id %d is set twice", static_cast<int>(event), id);
  flag = 1;
}
template <HardEvent event> void WaitFlag(int32_t id) {
  int &flag = twin::core().flags[{static_cast<int>(event), id}];
  TWIN_CHECK(flag == 1, "event %d id %d is waited for before it is set", static_cast<int>(event),
             id);
  flag = 0;
}
template <uint8_t mode, pipe_t pipe> void CrossCoreSetFlag(uint16_t id) {
  twin::cross_set(mode, id);
}
template <uint8_t mode, pipe_t pipe> void CrossCoreWaitFlag(uint16_t id) {
  twin::cross_wait(mode, id);
}
template <pipe_t pipe> void PipeBarrier() {}
template <typename T, CacheLine line, DcciDst dst>
void DataCacheCleanAndInvalid(const GlobalTensor<T> &) {}

template <typename T> void SetAtomicAdd() { twin::core().atomic = twin::Core::kAdd; }
template <typename T> void SetAtomicMax() { twin::core().atomic = twin::Core::kMax; }
template <typename T> void SetAtomicMin() { twin::core().atomic = twin::Core::kMin; }
inline void SetAtomicNone() { twin::core().atomic = twin::Core::kNone; }

} // namespace AscendC

#include "twin_cube.h"
#include "twin_transfer.h"
#include "twin_vector.h"

#endif // PYASC_TESTS_ASCENDC_TWIN_KERNEL_OPERATOR_H
