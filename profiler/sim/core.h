// One simulated core: its scalar unit, its pipes with their queues, its flags and memories.
#ifndef PYASC_PROFILER_SIM_CORE_H
#define PYASC_PROFILER_SIM_CORE_H

#include <array>
#include <memory>
#include <optional>

#include "profiler/sim/ring.h"
#include "profiler/sim/sanitizer.h"
#include "profiler/sim/scalar_unit.h"
#include "profiler/sim/timing.h"

namespace pyasc::sim {

// An instruction in a pipe's queue, since the scalar unit's time `ready`.
struct Queued {
  double ready = 0;
  // What the scalar unit had waited for by then; for the sanitizer.
  std::shared_ptr<const View> issued = {};
  uint32_t issue = 0;
  Operation operation;
};

// What is under way in a pipe: an instruction whose effect comes at `done`, or a flag that is
// raised then.
struct InFlight {
  double done = 0;
  Operation operation;
  // Of the pipe when a flag was set; for the sanitizer.
  View view = {};
};

// A transfer with global memory that is still issuing requests.
struct ActiveTransfer {
  Operation operation;
  Transfer transfer;
  double start = 0;
};

struct PipeState {
  Ring<Queued> queue;
  // Entries of the queue that count against its depth: flags do not.
  int queued_instructions = 0;
  Ring<InFlight> in_flight;
  std::optional<ActiveTransfer> transfer;
  // When the next instruction may start.
  double free_at = 0;
  // End of the last effect.
  double last_done = 0;
  // An event that will look at the queue is under way.
  bool try_pending = false;
  // Waits for a flag, for in_flight to become empty, or for the other side of the unit flag.
  enum class Blocked { kNo, kFlag, kDrain, kUnitFlag, kCross } blocked = Blocked::kNo;
  double blocked_since = 0;
  // Statistics.
  double busy = 0;
  double wait = 0;
  int64_t instructions = 0;

  bool empty() const { return queue.empty() && in_flight.empty() && !transfer; }
};

// What the unit flag keeps apart: results of the cube that M closes and FIX takes, in turn.
struct UnitFlagState {
  int64_t closed = 0;
  int64_t taken = 0;
  // When the last closed result is whole, and the last taken one has left L0C.
  double whole_at = 0;
  double free_at = 0;
  View closed_view = {};
  View taken_view = {};
};

// Times at which a flag was raised and not yet lowered; correct programs have one at most.
struct FlagState {
  struct Raise {
    double time = 0;
    uint32_t line = 0;
    // For the sanitizer.
    View view = {};
  };
  Ring<Raise> raised;
  // The last wait for it, which the next set has to know of; its line.
  Tick waited = 0;
  uint32_t waited_line = 0;
};

// Sets of a flag between cores that wait for the others of their group: each member's, in turn.
struct CrossGroup {
  std::vector<Ring<FlagState::Raise>> members;
};

struct Core {
  Core(const machine::Soc &soc, bool cube, int index)
      : index(index), cube(cube), memory(soc, cube),
        cache(cube ? soc.scalar.dcache_cube_bytes : soc.scalar.dcache_vector_bytes),
        checker(memory) {}

  FlagState &flag(int from, int to, int64_t id) {
    return flags[(from * sim_isa::kNumPipes + to) * sim_isa::kMaxEventIds + id];
  }

  // Among the cores of its kind, and among all of the phase.
  int index;
  int slot = 0;
  // Whose code it runs.
  int part = 0;
  bool cube = false;
  CoreMemory memory;
  DataCache cache;
  CoreChecker checker;
  ScalarUnit scalar;
  std::array<PipeState, sim_isa::kNumPipes> pipes;
  UnitFlagState unit_flag;
  std::array<FlagState, sim_isa::kNumPipes * sim_isa::kNumPipes * sim_isa::kMaxEventIds> flags;
  // From other cores.
  std::array<FlagState, sim_isa::kMaxCrossFlags> cross;

  // What the scalar unit does. kQueueFull: `pending` waits for room in its pipe's queue.
  enum class State { kIdle, kRunning, kQueueFull, kWaitFlag, kWaitCross, kDrainAll, kHalted };
  State state = State::kIdle;
  Operation pending;
  double stalled_since = 0;
  double scalar_wait = 0;

  int64_t block = -1;
  double block_start = 0;
  double first_start = 0;
  // Sum over the blocks that this core ran, and the end of the last.
  double active = 0;
  double end = 0;
  // For the trace: the end of the scalar unit's last slice.
  double scalar_traced = 0;
  // Until the scalar unit halted, summed over the blocks.
  double scalar_active = 0;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_CORE_H
