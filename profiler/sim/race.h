// Finds missing synchronisation on a core's own memories.
//
// Two pipe instructions that touch the same bytes, one of them writing, must be ordered: by a
// flag, a barrier, or by standing in one pipe. The checker keeps a vector clock a pipe and, for
// each 32 bytes of on-chip memory, who wrote and read it last; timing plays no part, so a missing
// flag is found even where it happens to do no harm.
//
// Within a pipe only these need a barrier: on V reading what an earlier instruction wrote, on
// MTE2 writing what an earlier one wrote.
#ifndef PYASC_PROFILER_SIM_RACE_H
#define PYASC_PROFILER_SIM_RACE_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/machine/sim_isa.h"
#include "profiler/sim/access.h"
#include "profiler/sim/memory.h"

namespace pyasc::sim {

class RaceChecker {
public:
  using Clock = std::array<uint32_t, sim_isa::kNumPipes>;

  explicit RaceChecker(CoreMemory &memory);
  // Forgets everything: a new block starts.
  void Reset();

  // Starts an instruction on a pipe; Touch then belongs to it.
  void Begin(sim_isa::Pipe pipe, uint32_t line);
  // "" or a description of the conflict. GM accesses are not looked at.
  std::string Touch(const Access &access);
  // For the scalar unit, which touches few bytes often.
  std::string TouchScalar(int64_t address, int64_t bytes, bool write, uint32_t line);

  // What a flag carries: everything that happened before it was set.
  Clock Release(sim_isa::Pipe pipe) const;
  void Acquire(sim_isa::Pipe pipe, const Clock &clock);
  // The pipe is drained.
  void Barrier(sim_isa::Pipe pipe);
  // All pipes are drained and wait for each other.
  void BarrierAll();

private:
  static constexpr int64_t kGranule = 32;
  // Pipes that touch a memory, mapped to a cell's slots.
  static constexpr int kReaders = 3;
  struct Cell {
    uint32_t written = 0; // clock of the writer
    uint32_t written_line = 0;
    uint32_t read[kReaders] = {};
    uint32_t read_line = 0;
    uint8_t writer = 0;
  };

  std::string Conflict(const Access &access, int64_t at, const Cell &cell, bool with_write,
                       int reader) const;

  std::array<std::vector<Cell>, sim_isa::kNumSpaces> cells_;
  // clocks_[p][q]: up to which instruction of q pipe p has waited for; clocks_[p][p]: its own.
  std::array<Clock, sim_isa::kNumPipes> clocks_;
  // Instructions of a pipe that its last barrier has drained.
  Clock drained_;
  sim_isa::Pipe pipe_ = sim_isa::Pipe::kS;
  uint32_t line_ = 0;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_RACE_H
