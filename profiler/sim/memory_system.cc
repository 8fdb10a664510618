#include "profiler/sim/memory_system.h"

#include <algorithm>
#include <bit>

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
  newest_ = nullptr;
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
  PutNewestInBag(line);
  return found;
}

void L2Cache::PutInNewBag(uint64_t line, uint64_t number) {
  if (number == open_number_) {
    open_.push_back({uses_, line});
    return;
  }
  newest_ = &BagOf(number); // stays where it is until it is opened
  newest_number_ = number;
  newest_->push_back(static_cast<uint32_t>(line));
}

L2Cache::Bag &L2Cache::BagOf(uint64_t number) {
  const uint64_t at = number - open_number_ - 1;
  if (at >= bags_.size())
    bags_.resize(at + 1);
  Bag &bag = bags_[at];
  if (bag.capacity() == 0 && !spare_.empty()) {
    bag = std::move(spare_.back());
    spare_.pop_back();
  }
  return bag;
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
  BagOf(number).push_back(static_cast<uint32_t>(line));
}

uint64_t L2Cache::TakeOldest() {
  for (;;) {
    while (next_ < open_.size()) {
      const Aged oldest = open_[next_++];
      if (LastUse(oldest.line) == oldest.last_use)
        return oldest.line;
      PutInBag(oldest.line);
    }
    OpenNextBag(); // all that is left is younger
  }
}

void L2Cache::OpenNextBag() {
  open_.clear();
  next_ = 0;
  ++open_number_;
  Bag bag = std::move(bags_.front());
  bags_.pop_front();
  if (newest_number_ == open_number_)
    newest_ = nullptr;
  bool sorted = true; // of a stream it is
  uint64_t before = 0;
  for (uint32_t line : bag) {
    const uint64_t last_use = LastUse(line);
    if (last_use >> kBagShift != open_number_) {
      PutInBag(line);
      continue;
    }
    sorted &= last_use >= before;
    before = last_use;
    open_.push_back({last_use, line});
  }
  if (!sorted)
    std::sort(open_.begin(), open_.end(),
              [](const Aged &a, const Aged &b) { return a.last_use < b.last_use; });
  bag.clear();
  spare_.push_back(std::move(bag));
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
  if (std::has_single_bit(channels_.size()))
    channel_mask_ = channels_.size() - 1;
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
  return channels_[channel_mask_ ? at & channel_mask_ : at % channels_.size()];
}

void Hbm::WriteBack(Channel &channel, int64_t lines) {
  channel.free += static_cast<double>(lines) * write_cycles_ + (channel.writes ? 0 : turn_cycles_);
  channel.waiting -= lines;
  channel.writes = true;
  written_ += lines;
}

// Waiting lines use the time in which nobody reads, and one that has begun is finished.
void Hbm::WriteWaiting(Channel &channel, double time) {
  const double idle = time - channel.free - (channel.writes ? 0 : turn_cycles_);
  const double whole = idle / write_cycles_;
  int64_t begun = channel.waiting;
  if (whole < static_cast<double>(begun)) {
    begun = static_cast<int64_t>(whole);
    begun = std::max<int64_t>(begun + (static_cast<double>(begun) < whole), 1);
  }
  WriteBack(channel, begun);
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
      write_latency_(soc.ns_to_cycles(soc.gm.write_latency_ns)) {
  const double spread = soc.ns_to_cycles(soc.gm.latency_spread_ns);
  for (size_t core = 0; core < away_.size(); ++core)
    away_[core] = spread * (static_cast<double>((core * 7 + 3) % 16) / 15 - 0.5);
}

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
  const double least_issue = soc_.gm.issue_cycles;
  const bool write = t.access.write;
  const double latency = write ? write_latency_ : l2_latency_;
  if (t.run == 0 && t.offset == 0)
    Expect(t);
  // On the way in registers.
  const Access access = t.access;
  const bool allocate = !t.bypass;
  const int core = t.core, line_shift = line_shift_;
  const uint64_t in_line = static_cast<uint64_t>(line_bytes - 1);
  int64_t run = t.run, offset = t.offset;
  uint64_t at = t.start + static_cast<uint64_t>(run * access.stride + offset);
  double issue = t.issue, arrival = t.arrival, l2_free = l2_free_;
  int64_t hits = 0, misses = 0, from_hbm = 0;
  // After `requests` ones of `bytes` each, all of a run if there are several of one.
  auto passed = [&](int64_t bytes, int64_t requests) {
    offset += bytes * requests;
    at += static_cast<uint64_t>(bytes * requests);
    if (offset < access.length)
      return;
    at += static_cast<uint64_t>(access.stride - access.length);
    offset = 0;
    ++run;
  };
  bool hit_before = true;
  for (int64_t left = kRequestsAtOnce; left > 0 && run < access.count;) {
    const int64_t rest = access.length - offset,
                  room = line_bytes - static_cast<int64_t>(at & in_line),
                  bytes = std::min(rest, room);
    if (t.cost.bytes != bytes) [[unlikely]] // most are of one size
      t.cost = CostOf(t, bytes);
    if (hit_before) {
      // Those of one size that L2 holds: lines of this run, or runs that begin alike in theirs.
      const bool lines = rest >= 2 * line_bytes && room == line_bytes;
      const bool runs = offset == 0 && rest <= room && (access.stride & in_line) == 0;
      const int64_t count = std::min(left, lines  ? rest / line_bytes
                                           : runs ? access.count - run
                                                  : 1);
      const double l2 = t.cost.l2, hit = write ? t.cost.write : t.cost.hit,
                   shared_hit = write ? t.cost.write : t.cost.shared_hit,
                   issue_hit = std::min(hit, least_issue),
                   issue_shared = std::min(shared_hit, least_issue);
      const int64_t step = lines ? line_bytes : access.stride;
      const int64_t found =
          l2_.TouchSeries(at, step, line_shift, count, write, core, [&](bool shared) {
            l2_free = std::max(l2_free, issue) + l2;
            issue += shared ? issue_shared : issue_hit;
            arrival = std::max(arrival, l2_free + latency) + (shared ? shared_hit : hit);
          });
      hits += found;
      left -= found;
      if (runs) {
        run += found;
        at += static_cast<uint64_t>(found * access.stride);
      } else if (found > 0) {
        passed(bytes, found);
      }
      if (found == count)
        continue;
      if (found > 0) { // the next may be of another size
        hit_before = false;
        continue;
      }
    }
    --left;
    const uint64_t line = at >> line_shift;
    const L2Cache::Found found = l2_.Touch(line, write, allocate, core);
    hit_before = found.hit;
    // What the core's port takes for it, and when the data can be there.
    double own, ready;
    if (write || found.hit) {
      // A line that is written needs nothing of what it was.
      own = write ? t.cost.write : found.shared ? t.cost.shared_hit : t.cost.hit;
      l2_free = std::max(l2_free, issue) + t.cost.l2;
      ready = l2_free + latency;
    } else {
      own = t.cost.miss;
      ready = hbm_.Read(line, t.cost.channel, issue, allocate ? -1 : core) + hbm_latency_ +
              away_[static_cast<size_t>(core) % away_.size()];
      from_hbm += static_cast<int64_t>(t.cost.from_hbm);
    }
    ++(found.hit ? hits : misses);
    if (found.written_back >= 0) [[unlikely]] {
      const double room_at = hbm_.Write(static_cast<uint64_t>(found.written_back), issue);
      if (write)
        ready = std::max(ready, room_at + write_latency_);
    }
    issue += std::min(own, least_issue);
    arrival = std::max(arrival, ready) + own;
    passed(bytes, 1);
  }
  t.run = run;
  t.offset = offset;
  traffic.bytes[static_cast<int>(Path::kHbmRead)] += from_hbm;
  traffic.bytes[static_cast<int>(Path::kHbmWrite)] += hbm_.TakeWritten() * line_bytes;
  traffic.l2_hits += hits;
  traffic.l2_misses += misses;
  l2_free_ = l2_free;
  t.arrival = arrival;
  last_arrival_ = std::max(last_arrival_, arrival);
  // The core has buffers for what is under way during one latency, no more.
  t.issue = std::max(issue, arrival - (write ? write_latency_ : window_));
  if (run == access.count)
    return true;
  Expect(t); // meanwhile others have their turn
  return false;
}

} // namespace pyasc::sim
