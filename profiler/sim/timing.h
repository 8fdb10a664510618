// The timing model of one core: how long an instruction occupies its pipe. Times are cycles of the
// core clock, as doubles. What cores share is in memory_system.h.
#ifndef PYASC_PROFILER_SIM_TIMING_H
#define PYASC_PROFILER_SIM_TIMING_H

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

// Of an instruction that does not reach global memory. `accesses` are the operation's; `cube_busy`:
// M is at work.
Cost CostOf(const Operation &operation, const std::vector<Access> &accesses,
            const machine::Soc &soc, bool cube_busy, Traffic &traffic);

// Of a vector instruction (vector_timing.cc): repeats, bank conflicts, fixed costs.
Cost VectorCost(const Operation &operation, const machine::Soc &soc);

// Whether the instruction moves data between the core and global memory.
bool ReachesGm(sim_isa::PipeOp op);

// The transfer that such an instruction starts at `now`. `gm` is its access of global memory, which
// lies in `allocation`.
Transfer StartTransfer(const Operation &operation, const Access &gm,
                       const GlobalMemory::Allocation &allocation, const machine::Soc &soc,
                       int core, double now, Traffic &traffic);
// The path's cost of the instruction.
const machine::PathCost &PathOf(const Operation &operation, const machine::Soc &soc);

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_TIMING_H
