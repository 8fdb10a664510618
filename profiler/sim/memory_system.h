// What all cores share: the L2 cache and HBM behind it.
//
// A transfer between a core and global memory is a series of requests, one for each line of L2
// that a burst touches. The core issues them one after the other, piece by piece, so that the
// transfers of many cores mix as they do on the chip: L2 serves what hits, at one rate for all;
// what misses queues at the HBM channel that its line belongs to.
#ifndef PYASC_PROFILER_SIM_MEMORY_SYSTEM_H
#define PYASC_PROFILER_SIM_MEMORY_SYSTEM_H

#include <array>
#include <cstdint>
#include <string_view>
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
};

// Lines of L2, least recently used replaced first. Lines are numbered from 0 without large gaps.
class L2Cache {
public:
  explicit L2Cache(int64_t lines) : nodes_(lines) { Clear(); }
  void Clear();

  struct Found {
    bool hit = false;
    // Another core has used it last.
    bool shared = false;
    // What had to go was dirty: its line; otherwise -1.
    int64_t written_back = -1;
  };
  // Uses a line for `core`, bringing it in unless `allocate` is false.
  Found Touch(uint64_t line, bool write, bool allocate, int core);

private:
  struct Node {
    uint32_t before = 0, after = 0;
    uint32_t line = 0;
    uint8_t owner = 0;
    bool dirty = false;
  };
  void MoveToFront(uint32_t at);

  std::vector<Node> nodes_;
  // Node of a line plus one; 0: not there.
  std::vector<uint32_t> where_;
  uint32_t used_ = 0;
  uint32_t front_ = 0, back_ = 0;
};

// HBM, as channels that serve one request after the other. Reads go first; writes wait in a
// queue, as long as that has room.
class Hbm {
public:
  explicit Hbm(const machine::Soc &soc);
  void Restart();
  // When the data of a read that reaches the channel at `time` is out of it. `core`: who reads past
  // L2, else -1.
  double Read(uint64_t line, double bytes, double time, int core);
  // A line that goes back.
  void Write(uint64_t line, double time);
  double ServiceCycles(double bytes) const { return bytes / bytes_per_cycle_; }

private:
  struct Channel {
    double free = 0;
    // Time that waiting writes will take.
    double owed = 0;
  };
  struct LastRead {
    double time = 0;
    int core = -1;
  };
  Channel &ChannelOf(uint64_t line);
  void Settle(Channel &channel, double time);

  const machine::GlobalMemoryCost &cost_;
  double bytes_per_cycle_; // of one channel
  double write_cycles_;    // of one line
  double most_owed_;
  double same_line_window_;
  // By line, of reads past L2.
  std::vector<LastRead> last_reads_;
  std::vector<Channel> channels_;
};

class MemorySystem {
public:
  explicit MemorySystem(const machine::Soc &soc);

  // Empties L2: every line misses. Dirty lines are forgotten.
  void MakeCold() { l2_.Clear(); }
  // Starts a phase: time begins at zero again.
  void Restart();

  // Issues the transfer's next requests, at `transfer.issue`. True: those were the last.
  bool Advance(Transfer &transfer, Traffic &traffic);

private:
  void Request(Transfer &transfer, uint64_t line, int64_t bytes, Traffic &traffic);

  const machine::Soc &soc_;
  L2Cache l2_;
  Hbm hbm_;
  double l2_bytes_per_cycle_;
  double l2_free_ = 0;
  double l2_latency_;
  // Requests may be under way for so long before the core waits for the first one.
  double window_;
  double hbm_latency_, spread_, write_latency_;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_MEMORY_SYSTEM_H
