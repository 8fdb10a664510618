#include "profiler/sim/memory.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "profiler/sim/text.h"

namespace pyasc::sim {
namespace {

// Addresses start away from zero, so that a null pointer is never mapped.
constexpr uint64_t kFirstAddress = uint64_t{1} << 32;
constexpr uint64_t kGuardBytes = uint64_t{1} << 20;
constexpr uint64_t kAlignment = 512;

} // namespace

void Poison(std::byte *at, int64_t bytes) {
  const unsigned char pattern[2] = {kPoison & 0xff, kPoison >> 8};
  int64_t i = 0;
  for (; i + 2 <= bytes; i += 2)
    std::memcpy(at + i, pattern, 2);
  if (i < bytes)
    at[i] = static_cast<std::byte>(pattern[0]);
}

absl::StatusOr<uint64_t> GlobalMemory::Allocate(int64_t bytes) {
  if (bytes < 0)
    return absl::InvalidArgumentError(Cat("cannot allocate ", bytes, " bytes"));
  if (bytes > capacity_ - used_)
    return absl::ResourceExhaustedError(Cat("cannot allocate ", bytes, " bytes on the device: ",
                                            used_, " of ", capacity_, " are in use"));
  std::unique_ptr<std::byte[]> data(new (std::nothrow) std::byte[std::max<int64_t>(bytes, 1)]);
  if (!data)
    return absl::ResourceExhaustedError(
        Cat("the host has no ", bytes, " bytes for the simulated device"));
  // The lowest gap that is wide enough.
  uint64_t address = kFirstAddress;
  for (const auto &[start, allocation] : allocations_) {
    if (start >= address + static_cast<uint64_t>(bytes) + kGuardBytes)
      break;
    address = start + static_cast<uint64_t>(allocation.size) + kGuardBytes;
    address = (address + kAlignment - 1) / kAlignment * kAlignment;
  }
  Allocation &allocation = allocations_[address];
  allocation.address = address;
  allocation.size = bytes;
  allocation.bytes_ = std::move(data);
  used_ += bytes;
  return address;
}

std::byte *GlobalMemory::Allocation::Poisoned() {
  touched_ = true;
  Poison(bytes_.get(), size);
  return bytes_.get();
}

void GlobalMemory::Materialize() {
  for (auto &[address, allocation] : allocations_)
    allocation.data();
}

void GlobalMemory::Free(uint64_t address) {
  auto it = allocations_.find(address);
  if (it == allocations_.end())
    return;
  used_ -= it->second.size;
  allocations_.erase(it);
  last_ = nullptr;
}

GlobalMemory::Allocation *GlobalMemory::Find(uint64_t address, int64_t bytes) {
  auto holds = [&](const Allocation &a) {
    return address >= a.address && bytes >= 0 &&
           address - a.address <= static_cast<uint64_t>(a.size) &&
           bytes <= a.size - static_cast<int64_t>(address - a.address);
  };
  Allocation *last = last_.load(std::memory_order_relaxed);
  if (last && holds(*last))
    return last;
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin())
    return nullptr;
  Allocation &found = std::prev(it)->second;
  if (!holds(found))
    return nullptr;
  last_.store(&found, std::memory_order_relaxed);
  return &found;
}

void LocalMemory::Resize(int64_t bytes) {
  size_ = bytes;
  data_.resize(bytes);
  touched_ = bytes;
  Reset();
}

void LocalMemory::Reset() {
  Poison(data_.data(), std::min(touched_, size_));
  touched_ = 0;
}

CoreMemory::CoreMemory(const machine::Soc &soc, bool cube) {
  if (cube) {
    (*this)[sim_isa::Space::kL1].Resize(soc.l1_physical_bytes);
    (*this)[sim_isa::Space::kL0A].Resize(soc.l0a_bytes);
    (*this)[sim_isa::Space::kL0B].Resize(soc.l0b_bytes);
    (*this)[sim_isa::Space::kL0C].Resize(soc.l0c_bytes);
  } else {
    (*this)[sim_isa::Space::kUb].Resize(soc.ub_physical_bytes);
  }
}

void CoreMemory::Reset() {
  for (LocalMemory &memory : spaces)
    memory.Reset();
}

DataCache::DataCache(int64_t bytes)
    : num_sets_(std::max<int64_t>(1, bytes / kLineBytes / kWays)), lines_(num_sets_ * kWays),
      latest_(lines_.data()) {}

DataCache::Line *DataCache::Fill(GlobalMemory &gm, uint64_t address, bool data) {
  const uint64_t tag = address / kLineBytes, begin = tag * kLineBytes;
  GlobalMemory::Allocation *allocation = gm.Find(address, 1);
  if (!allocation)
    return nullptr;
  Line *set = &lines_[tag % num_sets_ * kWays];
  Line *victim = set;
  for (int way = 1; way < kWays; ++way)
    if (set[way].limit == 0 || (victim->limit != 0 && set[way].last_use < victim->last_use))
      victim = &set[way];
  WriteBack(gm, *victim);
  const auto offset = static_cast<int64_t>(begin - allocation->address);
  victim->tag = tag;
  victim->limit = static_cast<int32_t>(std::min(kLineBytes, allocation->size - offset));
  victim->dirty = false;
  victim->last_use = ++clock_;
  victim->writer = 0;
  if (data)
    std::memcpy(victim->data, allocation->data() + offset, victim->limit);
  return victim;
}

void DataCache::WriteBack(GlobalMemory &gm, Line &line) {
  if (line.limit == 0 || !line.dirty)
    return;
  ++written_back;
  if (GlobalMemory::Allocation *to = gm.Find(line.tag * kLineBytes, line.limit))
    std::memcpy(to->data() + (line.tag * kLineBytes - to->address), line.data, line.limit);
  line.dirty = false;
}

void DataCache::Flush(GlobalMemory &gm) {
  for (Line &line : lines_) {
    WriteBack(gm, line);
    line.limit = 0;
  }
}

const DataCache::Line *DataCache::FindDirty() const {
  for (const Line &line : lines_)
    if (line.limit != 0 && line.dirty)
      return &line;
  return nullptr;
}

void DataCache::Reset() {
  for (Line &line : lines_) {
    line.limit = 0;
    line.dirty = false;
  }
  clock_ = 0;
}

} // namespace pyasc::sim
