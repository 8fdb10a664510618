#include "profiler/sim/memory_system.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace pyasc::sim {
namespace {

// Requests that are issued at one go: few enough that transfers of different cores mix.
constexpr int kRequestsAtOnce = 32;

} // namespace

std::string_view PathName(Path path) {
  constexpr std::string_view kNames[kNumPaths] = {
      "gm_to_ub", "ub_to_gm", "gm_to_l1", "l1_to_l0a", "l1_to_l0b",    "l0c_to_gm",
      "l2_read",  "l2_write", "hbm_read", "hbm_write", "gm_to_scalar", "scalar_to_gm"};
  return kNames[static_cast<int>(path)];
}

double PathPeak(Path path, const machine::Soc &soc, int64_t cores) {
  switch (path) {
  case Path::kL2Read:
  case Path::kL2Write:
    return soc.gm.l2_gb_per_s;
  case Path::kHbmRead:
    return soc.gm.hbm_read_gb_per_s;
  case Path::kHbmWrite:
    return soc.gm.hbm_write_gb_per_s;
  case Path::kGmToScalar:
  case Path::kScalarToGm:
    return 0;
  default:
    return soc.path(PathName(path)).bytes_per_cycle * soc.clock_ghz * static_cast<double>(cores);
  }
}

// ----------------------------------------------------------------------------------------- L2

void L2Cache::Clear() {
  std::fill(states_.begin(), states_.end(), 0);
  used_ = 0;
  uses_ = 0;
  bags_.clear();
  open_number_ = 0;
  open_.clear();
  next_ = 0;
}

L2Cache::Found L2Cache::Miss(uint64_t line, bool write, bool allocate, int core) {
  if (line >= states_.size())
    states_.resize(std::max<uint64_t>(line + 1, states_.size() * 2), 0);
  Found found;
  if (!allocate)
    return found;
  if (used_ < capacity_) {
    ++used_;
  } else {
    const uint64_t victim = TakeOldest();
    if (states_[victim] & 1)
      found.written_back = static_cast<int64_t>(victim);
    states_[victim] = 0;
  }
  states_[line] =
      ++uses_ << kUseShift | State{static_cast<uint8_t>(core)} << kDirtyBits | State{write};
  PutInBag(line);
  return found;
}

void L2Cache::PutInBag(uint64_t line) {
  const Aged aged = {LastUse(line), line};
  const uint64_t number = aged.last_use >> kBagShift;
  if (number == open_number_) {
    open_.insert(
        std::upper_bound(open_.begin() + static_cast<int64_t>(next_), open_.end(), aged,
                         [](const Aged &a, const Aged &b) { return a.last_use < b.last_use; }),
        aged);
    return;
  }
  if (bags_.size() < number - open_number_)
    bags_.resize(number - open_number_);
  bags_[number - open_number_ - 1].push_back(static_cast<uint32_t>(line));
}

uint64_t L2Cache::TakeOldest() {
  for (;;) {
    while (next_ < open_.size()) {
      const Aged oldest = open_[next_++];
      if (LastUse(oldest.line) == oldest.last_use)
        return oldest.line;
      PutInBag(oldest.line);
    }
    // All that is left is younger: open the next bag.
    open_.clear();
    next_ = 0;
    ++open_number_;
    const Bag bag = std::move(bags_.front());
    bags_.pop_front();
    for (uint32_t line : bag)
      if (LastUse(line) >> kBagShift == open_number_)
        open_.push_back({LastUse(line), line});
      else
        PutInBag(line);
    auto younger = [](const Aged &a, const Aged &b) { return a.last_use < b.last_use; };
    if (!std::is_sorted(open_.begin(), open_.end(), younger)) // of a stream it is
      std::sort(open_.begin(), open_.end(), younger);
  }
}

// ---------------------------------------------------------------------------------------- HBM

Hbm::Hbm(const machine::Soc &soc) : cost_(soc.gm), channels_(soc.gm.hbm_channels) {
  bytes_per_cycle_ = cost_.hbm_read_gb_per_s / soc.clock_ghz / cost_.hbm_channels;
  const auto line_bytes = static_cast<double>(cost_.l2_line_bytes);
  write_cycles_ = line_bytes / (cost_.hbm_write_gb_per_s / soc.clock_ghz / cost_.hbm_channels);
  turn_cycles_ = soc.ns_to_cycles(cost_.turnaround_ns);
  most_waiting_ = cost_.write_queue_bytes / cost_.hbm_channels / cost_.l2_line_bytes;
  most_behind_ = ServiceCycles(static_cast<double>(cost_.write_queue_bytes) / cost_.hbm_channels);
  same_line_window_ = soc.ns_to_cycles(cost_.same_line_window_ns);
}

void Hbm::Clear() {
  std::fill(channels_.begin(), channels_.end(), Channel());
  last_reads_.clear();
  written_ = 0;
}

void Hbm::Restart(double time) {
  for (Channel &channel : channels_) {
    Settle(channel, time);
    channel.free -= time;
    channel.written -= time;
  }
  last_reads_.clear();
}

Hbm::Channel &Hbm::ChannelOf(uint64_t line) {
  // Neighbouring lines lie on different channels; where a run of them begins is as good as random,
  // so that no pitch or distance between tensors meets one channel again and again.
  const uint64_t run = (line / 64 + 1) * 0x9e3779b97f4a7c15, at = line + (run >> 40);
  const uint64_t count = channels_.size();
  return channels_[std::has_single_bit(count) ? at & (count - 1) : at % count];
}

void Hbm::WriteBack(Channel &channel, int64_t lines) {
  channel.free += static_cast<double>(lines) * write_cycles_ + (channel.writes ? 0 : turn_cycles_);
  channel.waiting -= lines;
  channel.writes = true;
  written_ += lines;
}

// Waiting lines use the time in which nobody reads, and one that has begun is finished; what no
// longer has room in the queue goes back at once.
void Hbm::Settle(Channel &channel, double time) {
  if (time > channel.free) {
    if (channel.waiting > 0) {
      const double idle = time - channel.free - (channel.writes ? 0 : turn_cycles_);
      const auto begun = static_cast<int64_t>(std::ceil(idle / write_cycles_));
      WriteBack(channel, std::clamp<int64_t>(begun, 1, channel.waiting));
    }
    channel.free = std::max(time, channel.free);
  }
  if (channel.waiting > most_waiting_)
    WriteBack(channel, channel.waiting - most_waiting_);
}

double Hbm::Read(uint64_t line, double service, double time, int core) {
  Channel &channel = ChannelOf(line);
  Settle(channel, time);
  if (core >= 0) {
    if (line >= last_reads_.size())
      last_reads_.resize(line + line / 2 + 1024);
    LastRead &last = last_reads_[line];
    if (last.core >= 0 && last.core != core && time - last.time < same_line_window_)
      service *= cost_.same_line_factor;
    last = {time, core};
  }
  channel.free += service;
  channel.writes = false;
  return channel.free;
}

double Hbm::Write(uint64_t line, double time) {
  Channel &channel = ChannelOf(line);
  Settle(channel, time);
  ++channel.waiting;
  Settle(channel, channel.free);
  channel.written = std::max(channel.written, time) + write_cycles_;
  return std::max(time, channel.written - most_behind_);
}

// ----------------------------------------------------------------------------- memory system

MemorySystem::MemorySystem(const machine::Soc &soc)
    : soc_(soc), l2_(std::max<int64_t>(soc.l2_bytes / soc.gm.l2_line_bytes, 1)), hbm_(soc),
      l2_bytes_per_cycle_(soc.gm.l2_gb_per_s / soc.clock_ghz),
      l2_latency_(soc.ns_to_cycles(soc.gm.l2_latency_ns)),
      window_(soc.ns_to_cycles(soc.gm.window_ns)),
      // A line's own time on its channel is part of the latency.
      hbm_latency_(soc.ns_to_cycles(soc.gm.hbm_latency_ns) -
                   hbm_.ServiceCycles(static_cast<double>(soc.gm.l2_line_bytes))),
      line_shift_(std::countr_zero(static_cast<uint64_t>(soc.gm.l2_line_bytes))),
      spread_(soc.ns_to_cycles(soc.gm.latency_spread_ns)),
      write_latency_(soc.ns_to_cycles(soc.gm.write_latency_ns)) {}

void MemorySystem::MakeCold() {
  l2_.Clear();
  hbm_.Clear();
  last_arrival_ = 0;
}

void MemorySystem::EndPhase(Traffic &traffic) {
  hbm_.Restart(last_arrival_);
  traffic.bytes[static_cast<int>(Path::kHbmWrite)] += hbm_.TakeWritten() * soc_.gm.l2_line_bytes;
  l2_free_ = last_arrival_ = 0;
}

RequestCost MemorySystem::CostOf(const Transfer &t, int64_t count) const {
  const auto line_bytes = static_cast<double>(soc_.gm.l2_line_bytes);
  const auto bytes = static_cast<double>(count);
  const double own = std::max(bytes / t.bytes_per_cycle, t.request_cycles);
  RequestCost cost;
  cost.bytes = count;
  cost.write = std::max(own, bytes / soc_.gm.l2_write_bytes_per_cycle);
  cost.hit = std::max(own, bytes / soc_.gm.l2_read_bytes_per_cycle);
  cost.shared_hit = std::max(own, bytes / soc_.gm.l2_shared_read_bytes_per_cycle);
  cost.l2 = bytes / l2_bytes_per_cycle_;
  cost.from_hbm =
      t.bypass ? std::max(bytes, static_cast<double>(soc_.gm.hbm_request_bytes)) : line_bytes;
  cost.miss = std::max(own, std::min(cost.from_hbm, line_bytes) / t.hbm_bytes_per_cycle);
  cost.channel =
      hbm_.ServiceCycles(t.scattered ? cost.from_hbm * soc_.gm.scattered_factor : cost.from_hbm);
  return cost;
}

void MemorySystem::Expect(const Transfer &t) const {
  if (t.access.length > soc_.gm.l2_line_bytes)
    return; // its lines are neighbours
  const int64_t last = std::min(t.access.count, t.run + kRequestsAtOnce);
  uint64_t at = t.start + static_cast<uint64_t>(t.run * t.access.stride);
  for (int64_t run = t.run; run < last; ++run, at += static_cast<uint64_t>(t.access.stride))
    l2_.Expect(at >> line_shift_);
}

bool MemorySystem::Advance(Transfer &t, Traffic &traffic) {
  const auto line_bytes = static_cast<int64_t>(soc_.gm.l2_line_bytes);
  const double away = spread_ * (static_cast<double>((t.core * 7 + 3) % 16) / 15 - 0.5);
  const double least_issue = soc_.gm.issue_cycles;
  const bool write = t.access.write;
  Expect(t);
  // On the way in registers.
  const Access access = t.access;
  const bool allocate = !t.bypass;
  const int core = t.core, line_shift = line_shift_;
  const uint64_t in_line = static_cast<uint64_t>(line_bytes - 1);
  int64_t run = t.run, offset = t.offset;
  uint64_t at = t.start + static_cast<uint64_t>(run * access.stride + offset);
  double issue = t.issue, arrival = t.arrival, l2_free = l2_free_;
  int64_t hits = 0, misses = 0;
  for (int requests = 0; requests < kRequestsAtOnce; ++requests) {
    const uint64_t line = at >> line_shift;
    const int64_t bytes =
        std::min(access.length - offset, line_bytes - static_cast<int64_t>(at & in_line));
    if (t.cost.bytes != bytes) [[unlikely]] // most are of one size
      t.cost = CostOf(t, bytes);
    const L2Cache::Found found = l2_.Touch(line, write, allocate, core);
    // What the core's port takes for it, and when the data can be there.
    double own, ready;
    if (write || found.hit) {
      // A line that is written needs nothing of what it was.
      own = write ? t.cost.write : found.shared ? t.cost.shared_hit : t.cost.hit;
      l2_free = std::max(l2_free, issue) + t.cost.l2;
      ready = l2_free + (write ? write_latency_ : l2_latency_);
    } else {
      own = t.cost.miss;
      ready = hbm_.Read(line, t.cost.channel, issue, allocate ? -1 : core) + hbm_latency_ + away;
      traffic.bytes[static_cast<int>(Path::kHbmRead)] += static_cast<int64_t>(t.cost.from_hbm);
    }
    ++(found.hit ? hits : misses);
    if (found.written_back >= 0) [[unlikely]] {
      const double room = hbm_.Write(static_cast<uint64_t>(found.written_back), issue);
      if (write)
        ready = std::max(ready, room + write_latency_);
    }
    issue += std::min(own, least_issue);
    arrival = std::max(arrival, ready) + own;
    offset += bytes;
    at += static_cast<uint64_t>(bytes);
    if (offset < access.length)
      continue;
    at += static_cast<uint64_t>(access.stride - access.length);
    offset = 0;
    if (++run == access.count)
      break;
  }
  t.run = run;
  t.offset = offset;
  traffic.bytes[static_cast<int>(Path::kHbmWrite)] += hbm_.TakeWritten() * line_bytes;
  traffic.l2_hits += hits;
  traffic.l2_misses += misses;
  l2_free_ = l2_free;
  t.arrival = arrival;
  last_arrival_ = std::max(last_arrival_, arrival);
  // The core has buffers for what is under way during one latency, no more.
  t.issue = std::max(issue, arrival - (write ? write_latency_ : window_));
  return run == access.count;
}

} // namespace pyasc::sim
