// What all cores share: the L2 cache and HBM behind it.
//
// A transfer between a core and global memory is a series of requests, one for each line of L2
// that a burst touches. The core issues them one after the other, piece by piece, so that the
// transfers of many cores mix as they do on the chip: L2 serves what hits, at one rate for all;
// what misses queues at the HBM channel that its line belongs to.
#ifndef PYASC_PROFILER_SIM_MEMORY_SYSTEM_H
#define PYASC_PROFILER_SIM_MEMORY_SYSTEM_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/machine/machine.h"
#include "profiler/sim/access.h"
#include "profiler/sim/memory.h"

namespace pyasc::sim {

// Routes whose bytes are counted; the names are those of report.proto's PathTraffic.
enum class Path {
  kGmToUb,
  kUbToGm,
  kGmToL1,
  kL1ToL0A,
  kL1ToL0B,
  kL0CToGm,
  kL2Read,
  kL2Write,
  kHbmRead,
  kHbmWrite,
  // Lines of the scalar unit's data cache.
  kGmToScalar,
  kScalarToGm
};
inline constexpr int kNumPaths = 12;
std::string_view PathName(Path path);
// GB/s of one path over `cores` cores; 0: not known.
double PathPeak(Path path, const machine::Soc &soc, int64_t cores);

struct Traffic {
  std::array<int64_t, kNumPaths> bytes = {};
  int64_t l2_hits = 0;
  int64_t l2_misses = 0;
};

// What requests of one size cost a transfer, cycles.
struct RequestCost {
  int64_t bytes = -1;
  // Of the core's port: writes, reads that hit a line of its own or of another core, misses.
  double write = 0, hit = 0, shared_hit = 0, miss = 0;
  // Of L2, and what a miss brings from HBM.
  double l2 = 0;
  double from_hbm = 0;
  // The same in time of a channel.
  double channel = 0;
};

// A transfer under way. Times are cycles.
struct Transfer {
  Access access;
  // Of the access's first byte among the bytes of the L2 model.
  uint64_t start = 0;
  int core = 0;
  // Reads that miss leave L2 as it is.
  bool bypass = false;
  // The path's rate, and the least that a request takes.
  double bytes_per_cycle = 0;
  double request_cycles = 0;
  // What the core takes from HBM at most.
  double hbm_bytes_per_cycle = 0;
  // Bursts of a line at most: HBM opens a row for each.
  bool scattered = false;
  // Next byte to ask for: run and offset in it.
  int64_t run = 0, offset = 0;
  // When the next request can be issued, and the last byte so far is there.
  double issue = 0, arrival = 0;
  // Filled in by the memory system: of the last request's size.
  RequestCost cost = {};
};

// Lines of L2, least recently used replaced first. Lines are numbered from 0 without large gaps.
class L2Cache {
public:
  explicit L2Cache(int64_t lines) : capacity_(lines) {}
  void Clear();

  struct Found {
    bool hit = false;
    // Another core has used it last.
    bool shared = false;
    // What had to go was dirty: its line; otherwise -1.
    int64_t written_back = -1;
  };
  // Tells that the line will be used soon.
  void Expect(uint64_t line) const {
    if (line < states_.size())
      __builtin_prefetch(&states_[line], 1);
  }
  // Uses a line for `core`, bringing it in unless `allocate` is false.
  Found Touch(uint64_t line, bool write, bool allocate, int core) {
    if (line >= states_.size() || states_[line] == 0) [[unlikely]]
      return Miss(line, write, allocate, core);
    const auto owner = static_cast<uint8_t>(core);
    const State state = states_[line];
    states_[line] = ++uses_ << kUseShift | State{owner} << kDirtyBits | (state & 1) | State{write};
    return {.hit = true, .shared = static_cast<uint8_t>(state >> kDirtyBits) != owner};
  }

  // Uses up to `count` lines that are `step` bytes apart, from that of byte `at` on, until one is
  // not there; `use` is told of each whether another core has used it last. Returns how many.
  template <typename Use>
  int64_t TouchSeries(uint64_t at, int64_t step, int line_shift, int64_t count, bool write,
                      int core, Use use) {
    const auto owner = static_cast<uint8_t>(core);
    State *const states = states_.data();
    const uint64_t size = states_.size(), mark = State{owner} << kDirtyBits | State{write};
    uint64_t uses = uses_;
    int64_t n = 0;
    for (; n < count; ++n, at += static_cast<uint64_t>(step)) {
      const uint64_t line = at >> line_shift;
      if (line >= size || states[line] == 0)
        break;
      const State state = states[line];
      states[line] = ++uses << kUseShift | mark | (state & 1);
      use(static_cast<uint8_t>(state >> kDirtyBits) != owner);
    }
    uses_ = uses;
    return n;
  }

private:
  Found Miss(uint64_t line, bool write, bool allocate, int core);
  // A line's state: when it was used last, counted in uses; by whom; whether it is dirty. 0: it is
  // not there.
  using State = uint64_t;
  static constexpr int kDirtyBits = 1, kOwnerBits = 8, kUseShift = kDirtyBits + kOwnerBits;
  // Lines lie in bags of so many uses by the last use that the bag knows of: what is oldest is in
  // the first. A use costs nothing there: a line is put where it belongs when its bag is opened.
  static constexpr int kBagShift = 16;
  using Bag = std::vector<uint32_t>;
  uint64_t LastUse(uint64_t line) const { return states_[line] >> kUseShift; }
  void PutNewestInBag(uint64_t line) {
    const uint64_t number = uses_ >> kBagShift;
    if (!newest_ || newest_number_ != number) [[unlikely]]
      return PutInNewBag(line, number);
    newest_->push_back(static_cast<uint32_t>(line));
  }
  void PutInNewBag(uint64_t line, uint64_t number);
  void PutInBag(uint64_t line);
  // REQUIRES: later than the open one.
  Bag &BagOf(uint64_t number);
  void OpenNextBag();
  uint64_t TakeOldest();

  int64_t capacity_;
  int64_t used_ = 0;
  uint64_t uses_ = 0;
  std::vector<State> states_; // by line
  // Bags after the open one, whose lines are in order, from `next_` on.
  std::deque<Bag> bags_;
  // Memory of those that have been opened, for new ones.
  std::vector<Bag> spare_;
  // Where the last new line was put: most go where the one before went.
  Bag *newest_ = nullptr;
  uint64_t newest_number_ = 0;
  uint64_t open_number_ = 0;
  struct Aged {
    uint64_t last_use;
    uint64_t line;
  };
  std::vector<Aged> open_;
  size_t next_ = 0;
};

// HBM, as channels that serve one request after the other. Reads go first; lines that go back wait
// in a queue for a moment without reads, as long as that has room. Turning a channel from reading
// to writing takes time, which lines that go back one after the other share.
class Hbm {
public:
  explicit Hbm(const machine::Soc &soc);
  void Clear();
  // Time begins anew at what was `time`: what is under way then still is.
  void Restart(double time);
  // When the data of a read that reaches the channel at `time` and takes `service` cycles of it is
  // out of it. `core`: who reads past L2, else -1.
  double Read(uint64_t line, double service, double time, int core);
  // A line that goes back. It keeps its place in L2 until then: returns when what is written in its
  // stead finds room, `time` unless lines come faster than HBM takes them.
  double Write(uint64_t line, double time);
  // Lines that have gone back since the last call.
  int64_t TakeWritten() { return std::exchange(written_, 0); }
  double ServiceCycles(double bytes) const { return bytes / bytes_per_cycle_; }

private:
  struct Channel {
    double free = 0;
    // Lines that wait to go back.
    int64_t waiting = 0;
    // The last that it served was one of those.
    bool writes = false;
    // When those that came so far would have gone back if nobody read.
    double written = 0;
  };
  struct LastRead {
    double time = 0;
    int core = -1;
  };
  Channel &ChannelOf(uint64_t line);
  // What the channel has done by `time`.
  void Settle(Channel &channel, double time) {
    if (time > channel.free) {
      if (channel.waiting > 0)
        WriteWaiting(channel, time);
      channel.free = std::max(time, channel.free);
    }
    if (channel.waiting > most_waiting_) // no longer has room in the queue: at once
      WriteBack(channel, channel.waiting - most_waiting_);
  }
  void WriteWaiting(Channel &channel, double time);
  void WriteBack(Channel &channel, int64_t lines);

  const machine::GlobalMemoryCost &cost_;
  double bytes_per_cycle_; // of one channel
  double write_cycles_;    // of one line
  double turn_cycles_;     // before the first
  int64_t most_waiting_;
  double most_behind_;
  double same_line_window_;
  // By line, of reads past L2.
  std::vector<LastRead> last_reads_;
  std::vector<Channel> channels_;
  // Of a power of two of channels; otherwise 0.
  uint64_t channel_mask_ = 0;
  int64_t written_ = 0;
};

class MemorySystem {
public:
  explicit MemorySystem(const machine::Soc &soc);

  // Empties L2: every line misses. Dirty lines are forgotten.
  void MakeCold();
  // Ends a phase, after its last transfer: time begins at zero again. What goes back to HBM until
  // then is counted as `traffic`; what still waits is the next phase's.
  void EndPhase(Traffic &traffic);

  // Issues the transfer's next requests, at `transfer.issue`. True: those were the last.
  bool Advance(Transfer &transfer, Traffic &traffic);

private:
  void Expect(const Transfer &transfer) const;
  RequestCost CostOf(const Transfer &transfer, int64_t bytes) const;

  const machine::Soc &soc_;
  L2Cache l2_;
  Hbm hbm_;
  double l2_bytes_per_cycle_;
  double l2_free_ = 0;
  // When the last transfer of the phase ended.
  double last_arrival_ = 0;
  double l2_latency_;
  // Requests may be under way for so long before the core waits for the first one.
  double window_;
  double hbm_latency_;
  int line_shift_;
  double write_latency_;
  // How much farther away HBM is than from a core in the middle, by core.
  std::array<double, 16> away_ = {};
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_MEMORY_SYSTEM_H
