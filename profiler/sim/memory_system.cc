#include "profiler/sim/memory_system.h"

#include <algorithm>
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
  std::fill(where_.begin(), where_.end(), 0);
  used_ = 0;
  front_ = back_ = 0;
}

void L2Cache::MoveToFront(uint32_t at) {
  if (at == front_)
    return;
  Node &node = nodes_[at];
  nodes_[node.before].after = node.after;
  if (at == back_)
    back_ = node.before;
  else
    nodes_[node.after].before = node.before;
  node.after = front_;
  nodes_[front_].before = at;
  front_ = at;
}

L2Cache::Found L2Cache::Touch(uint64_t line, bool write, bool allocate, int core) {
  if (line >= where_.size())
    where_.resize(std::max<uint64_t>(line + 1, where_.size() * 2), 0);
  Found found;
  uint32_t at = where_[line];
  if (at != 0) {
    --at;
    Node &node = nodes_[at];
    found.hit = true;
    found.shared = node.owner != core;
    node.owner = static_cast<uint8_t>(core);
    node.dirty |= write;
    MoveToFront(at);
    return found;
  }
  if (!allocate)
    return found;
  if (used_ < nodes_.size()) {
    at = used_++;
    nodes_[at].after = front_;
    if (at != 0)
      nodes_[front_].before = at;
    else
      back_ = at;
    front_ = at;
  } else {
    at = back_;
    Node &victim = nodes_[at];
    where_[victim.line] = 0;
    if (victim.dirty)
      found.written_back = victim.line;
    MoveToFront(at);
  }
  Node &node = nodes_[at];
  node.line = static_cast<uint32_t>(line);
  node.owner = static_cast<uint8_t>(core);
  node.dirty = write;
  where_[line] = at + 1;
  return found;
}

// ---------------------------------------------------------------------------------------- HBM

Hbm::Hbm(const machine::Soc &soc) : cost_(soc.gm), channels_(soc.gm.hbm_channels) {
  bytes_per_cycle_ = cost_.hbm_read_gb_per_s / soc.clock_ghz / cost_.hbm_channels;
  write_cycles_ = ServiceCycles(static_cast<double>(cost_.l2_line_bytes)) * cost_.write_back_factor;
  same_line_window_ = soc.ns_to_cycles(cost_.same_line_window_ns);
  most_owed_ = static_cast<double>(cost_.write_queue_bytes) / cost_.hbm_channels / bytes_per_cycle_;
}

void Hbm::Restart() {
  std::fill(channels_.begin(), channels_.end(), Channel());
  last_reads_.clear();
}

Hbm::Channel &Hbm::ChannelOf(uint64_t line) {
  // Neighbouring lines lie on different channels; where a run of them begins is as good as random,
  // so that no pitch or distance between tensors meets one channel again and again.
  const uint64_t run = (line / 64 + 1) * 0x9e3779b97f4a7c15;
  return channels_[(line + (run >> 40)) % channels_.size()];
}

// Waiting writes use the time in which nobody reads, and one that has begun is finished; what no
// longer has room in the queue is done at once.
void Hbm::Settle(Channel &channel, double time) {
  if (time > channel.free) {
    const double begun =
        std::min(channel.owed, std::ceil((time - channel.free) / write_cycles_) * write_cycles_);
    channel.owed -= begun;
    channel.free = std::max(time, channel.free + begun);
  }
  if (channel.owed > most_owed_) {
    channel.free += channel.owed - most_owed_;
    channel.owed = most_owed_;
  }
}

double Hbm::Read(uint64_t line, double bytes, double time, int core) {
  Channel &channel = ChannelOf(line);
  Settle(channel, time);
  double service = ServiceCycles(bytes);
  if (core >= 0) {
    if (line >= last_reads_.size())
      last_reads_.resize(line + line / 2 + 1024);
    LastRead &last = last_reads_[line];
    if (last.core >= 0 && last.core != core && time - last.time < same_line_window_)
      service *= cost_.same_line_factor;
    last = {time, core};
  }
  channel.free += service;
  return channel.free;
}

void Hbm::Write(uint64_t line, double time) {
  Channel &channel = ChannelOf(line);
  Settle(channel, time);
  channel.owed += write_cycles_;
  Settle(channel, channel.free);
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
      spread_(soc.ns_to_cycles(soc.gm.latency_spread_ns)),
      write_latency_(soc.ns_to_cycles(soc.gm.write_latency_ns)) {}

void MemorySystem::Restart() {
  hbm_.Restart();
  l2_free_ = 0;
}

void MemorySystem::Request(Transfer &t, uint64_t line, int64_t count, Traffic &traffic) {
  const auto line_bytes = static_cast<double>(soc_.gm.l2_line_bytes);
  const auto bytes = static_cast<double>(count);
  const bool write = t.access.write;
  const L2Cache::Found found = l2_.Touch(line, write, !t.bypass, t.core);
  ++(found.hit ? traffic.l2_hits : traffic.l2_misses);
  const double away = spread_ * (static_cast<double>((t.core * 7 + 3) % 16) / 15 - 0.5);
  // What the core's port takes for it, and when the data can be there.
  double own = std::max(bytes / t.bytes_per_cycle, t.request_cycles);
  double ready;
  if (write) {
    // A line that is written needs nothing of what it was.
    own = std::max(own, bytes / soc_.gm.l2_write_bytes_per_cycle);
    l2_free_ = std::max(l2_free_, t.issue) + bytes / l2_bytes_per_cycle_;
    ready = l2_free_ + write_latency_;
  } else if (found.hit) {
    own = std::max(own, bytes / (found.shared ? soc_.gm.l2_shared_read_bytes_per_cycle
                                              : soc_.gm.l2_read_bytes_per_cycle));
    l2_free_ = std::max(l2_free_, t.issue) + bytes / l2_bytes_per_cycle_;
    ready = l2_free_ + l2_latency_;
  } else {
    const double moved =
        t.bypass ? std::max(bytes, static_cast<double>(soc_.gm.hbm_request_bytes)) : line_bytes;
    own = std::max(own, std::min(moved, line_bytes) / t.hbm_bytes_per_cycle);
    ready = hbm_.Read(line, t.scattered ? moved * soc_.gm.scattered_factor : moved, t.issue,
                      t.bypass ? t.core : -1) +
            hbm_latency_ + away;
    traffic.bytes[static_cast<int>(Path::kHbmRead)] += static_cast<int64_t>(moved);
  }
  if (found.written_back >= 0) {
    hbm_.Write(static_cast<uint64_t>(found.written_back), t.issue);
    traffic.bytes[static_cast<int>(Path::kHbmWrite)] += soc_.gm.l2_line_bytes;
  }
  t.issue += std::min(own, soc_.gm.issue_cycles);
  t.arrival = std::max(t.arrival, ready) + own;
}

bool MemorySystem::Advance(Transfer &t, Traffic &traffic) {
  const auto line_bytes = static_cast<uint64_t>(soc_.gm.l2_line_bytes);
  for (int requests = 0; requests < kRequestsAtOnce; ++requests) {
    const uint64_t at = t.start + static_cast<uint64_t>(t.run * t.access.stride + t.offset);
    const uint64_t line = at / line_bytes;
    const int64_t bytes =
        std::min(t.access.length - t.offset, static_cast<int64_t>((line + 1) * line_bytes - at));
    Request(t, line, bytes, traffic);
    t.offset += bytes;
    if (t.offset < t.access.length)
      continue;
    t.offset = 0;
    if (++t.run == t.access.count)
      break;
  }
  // The core has buffers for what is under way during one latency, no more.
  t.issue = std::max(t.issue, t.arrival - (t.access.write ? write_latency_ : window_));
  return t.run == t.access.count;
}

} // namespace pyasc::sim
