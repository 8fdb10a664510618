// The timing model of one core: how long an instruction occupies its pipe. Times are cycles of the
// core clock, as doubles. What cores share is in memory_system.h.
#ifndef PYASC_PROFILER_SIM_TIMING_H
#define PYASC_PROFILER_SIM_TIMING_H

#include <array>
#include <vector>

#include "compiler/machine/machine.h"
#include "profiler/sim/access.h"
#include "profiler/sim/memory_system.h"

namespace pyasc::sim {

// What an instruction takes: the pipe is free for the next one after `occupancy`, the effect is
// there `latency` later.
struct Cost {
  double occupancy = 0;
  double latency = 0;
};

// A SoC's costs, found without names.
class CostTable {
public:
  explicit CostTable(const machine::Soc &soc);

  const machine::Soc &soc;
  // REQUIRES: a path of one core's copies.
  const machine::PathCost &path(Path path) const { return *paths_[static_cast<int>(path)]; }
  // Of the instruction that transfers data between the core and global memory.
  const machine::PathCost &path(const sim_isa::Descriptor &d) const { return path(RouteOf(d)); }
  // REQUIRES: a vector instruction.
  const machine::VectorCost &vector(const sim_isa::Descriptor &d) const {
    return *vector_[static_cast<int>(d.op)][d.sub < kMaxSubs ? d.sub : 0];
  }
  static Path RouteOf(const sim_isa::Descriptor &d);

private:
  static constexpr int kMaxSubs = 10;
  void FillVector();

  std::array<const machine::PathCost *, kNumPaths> paths_ = {};
  std::array<std::array<const machine::VectorCost *, kMaxSubs>, sim_isa::kNumPipeOps> vector_ = {};
};

// Of an instruction that does not reach global memory. `accesses` are the operation's; `cube_busy`:
// M is at work.
Cost CostOf(const Operation &operation, const std::vector<Access> &accesses, const CostTable &costs,
            bool cube_busy, Traffic &traffic);

// Of a vector instruction (vector_timing.cc): repeats, bank conflicts, fixed costs.
Cost VectorCost(const Operation &operation, const CostTable &costs);

// Whether the instruction moves data between the core and global memory.
bool ReachesGm(sim_isa::PipeOp op);

// The transfer that such an instruction starts at `now`. `gm` is its access of global memory, which
// lies in `allocation`.
void StartTransfer(const Operation &operation, const Access &gm,
                   const GlobalMemory::Allocation &allocation, const CostTable &costs, int core,
                   double now, Traffic &traffic, Transfer &t);

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_TIMING_H
