// The memories of the simulated device: global memory, shared by all cores, and the memories of
// one core.
#ifndef PYASC_PROFILER_SIM_MEMORY_H
#define PYASC_PROFILER_SIM_MEMORY_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/machine/machine.h"
#include "compiler/machine/sim_isa.h"

namespace pyasc::sim {

// What memory holds before anything was written: NaN in every float type, an odd number in the
// others.
inline constexpr uint16_t kPoison = 0x7fc3;
void Poison(std::byte *at, int64_t bytes);

// Global memory: allocations at device addresses, with unmapped space between them, so that an
// access past an end never reaches a neighbour.
class GlobalMemory {
public:
  struct Allocation {
    uint64_t address = 0;
    int64_t size = 0;
    // Poisoned by the first who asks: a run without data touches no page of it.
    std::byte *data() { return touched_ ? bytes_.get() : Poisoned(); }
    // Number of its first line in the L2 model; set for each launch, so that the model does not
    // depend on what was allocated before.
    uint64_t l2_line = 0;

  private:
    friend class GlobalMemory;
    std::byte *Poisoned();
    std::unique_ptr<std::byte[]> bytes_;
    bool touched_ = false;
  };

  explicit GlobalMemory(int64_t capacity) : capacity_(capacity) {}

  // RESOURCE_EXHAUSTED when the device or the host has no memory left.
  absl::StatusOr<uint64_t> Allocate(int64_t bytes);
  void Free(uint64_t address);
  int64_t used() const { return used_; }
  // Makes every allocation's data() safe for several threads.
  void Materialize();

  // The allocation that holds all of [address, address + bytes), or nullptr. An empty range is
  // held by the allocation whose begin, inside or end it is.
  Allocation *Find(uint64_t address, int64_t bytes);

private:
  int64_t capacity_;
  int64_t used_ = 0;
  std::map<uint64_t, Allocation> allocations_;
  // Found last; several threads may look.
  std::atomic<Allocation *> last_ = nullptr;
};

// One on-chip memory.
class LocalMemory {
public:
  // At least `bytes` usable ones.
  void Resize(int64_t bytes);
  int64_t size() const { return size_; }
  std::byte *data() { return data_.data(); }
  // Tells that [begin, end) was written, which is what Reset has to poison again.
  void Touch(int64_t end) {
    if (end > touched_)
      touched_ = end;
  }
  void Reset();

private:
  int64_t size_ = 0;
  int64_t touched_ = 0;
  std::vector<std::byte> data_;
};

// The memories of one core, by sim_isa::Space; GM's entry stays empty.
struct CoreMemory {
  CoreMemory(const machine::Soc &soc, bool cube);
  void Reset();
  LocalMemory &operator[](sim_isa::Space space) { return spaces[static_cast<int>(space)]; }
  std::array<LocalMemory, sim_isa::kNumSpaces> spaces;
};

// The scalar unit's data cache: it keeps lines of its own, which neither other cores nor the DMA
// pipes see before they are written back, whole.
class DataCache {
public:
  struct Line {
    uint64_t tag = 0;
    // Bytes from the line's start that belong to the allocation; 0: the line is empty.
    int32_t limit = 0;
    bool dirty = false;
    uint32_t last_use = 0;
    // Source line of the last store.
    uint32_t writer = 0;
    // The sanitizer's tick when it was read from global memory.
    uint64_t filled = 0;
    std::byte data[64];
  };

  explicit DataCache(int64_t bytes);
  DataCache(const DataCache &) = delete;
  DataCache &operator=(const DataCache &) = delete;

  // The line that holds `address`, or nullptr on a miss.
  Line *Lookup(uint64_t address) {
    const uint64_t tag = address / kLineBytes;
    if (latest_->tag == tag && latest_->limit != 0) {
      latest_->last_use = ++clock_;
      return latest_;
    }
    Line *set = &lines_[tag % num_sets_ * kWays];
    for (int way = 0; way < kWays; ++way)
      if (set[way].tag == tag && set[way].limit != 0) {
        set[way].last_use = ++clock_;
        return latest_ = &set[way];
      }
    return nullptr;
  }
  // Makes room and reads the line from global memory, unless `data` is false; nullptr when the
  // address is unmapped.
  Line *Fill(GlobalMemory &gm, uint64_t address, bool data);
  // Writes dirty lines back and forgets all.
  void Flush(GlobalMemory &gm);
  // A dirty line, or nullptr: what a program forgot to flush.
  const Line *FindDirty() const;
  void Reset();

  static constexpr int64_t kLineBytes = 64;
  // Lines that were written back; the user sets it to zero.
  int64_t written_back = 0;

private:
  static constexpr int kWays = 4;
  void WriteBack(GlobalMemory &gm, Line &line);

  uint64_t num_sets_;
  uint32_t clock_ = 0;
  std::vector<Line> lines_;
  // Used last: the next use is often of the same.
  Line *latest_;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_MEMORY_H
