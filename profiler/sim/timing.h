// The timing model: how long an instruction occupies its pipe, and the memory system that all
// cores share. Times are cycles of the core clock, as doubles.
#ifndef PYASC_PROFILER_SIM_TIMING_H
#define PYASC_PROFILER_SIM_TIMING_H

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
  kHbmWrite
};
inline constexpr int kNumPaths = 10;
std::string_view PathName(Path path);
// GB/s of one path over `cores` cores; 0: not known.
double PathPeak(Path path, const machine::Soc &soc, int64_t cores);

struct Traffic {
  std::array<int64_t, kNumPaths> bytes = {};
  int64_t l2_hits = 0;
  int64_t l2_misses = 0;
};

// L2, in lines with least-recently-used replacement within a set, and HBM behind it. Both serve
// requests in the order in which they come, each at its own rate.
class MemorySystem {
public:
  explicit MemorySystem(const machine::Soc &soc);

  // Empties L2: every line misses. Dirty lines are forgotten.
  void MakeCold() { ++generation_; }
  // Starts a phase: time begins at zero again.
  void Restart();

  // Moves the bytes of an access of GM, which lies in `allocation`, between a core and memory over
  // a path of `bytes_per_cycle`. Returns when the last byte has passed. A core's transfers in one
  // direction follow each other.
  double Transfer(double now, const Access &access, const GlobalMemory::Allocation &allocation,
                  double bytes_per_cycle, int core, bool cube, Traffic &traffic);

private:
  struct Lines {
    int64_t hit = 0, shared_hit = 0, miss = 0, written_back = 0;
  };
  void Touch(uint64_t line, bool write, int core, Lines &lines);

  const machine::Soc &soc_;
  double hbm_bytes_per_cycle_;
  double l2_bytes_per_cycle_;
  double hbm_free_ = 0;
  double l2_free_ = 0;
  // Until when each core's path in (0) and out (1) is taken.
  std::vector<std::array<double, 2>> path_free_;

  static constexpr int kWays = 16;
  struct Entry {
    uint64_t tag = 0; // generation and line; 0: never used
    uint32_t last_use = 0;
    uint8_t owner = 0;
    bool dirty = false;
  };
  uint64_t num_sets_;
  uint64_t generation_ = 1;
  uint32_t clock_ = 0;
  std::vector<Entry> entries_;
};

// What an instruction takes: the pipe is free for the next one after `occupancy`, the effect is
// there `latency` later.
struct Cost {
  double occupancy = 0;
  double latency = 0;
};

// `accesses` are the operation's; `allocation` is that of its GM access, if it has one.
Cost CostOf(const Operation &operation, const std::vector<Access> &accesses,
            const GlobalMemory::Allocation *allocation, const machine::Soc &soc, int core,
            double now, MemorySystem &memory, Traffic &traffic);

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_TIMING_H
