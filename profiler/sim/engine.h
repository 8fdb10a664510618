// The discrete-event engine: runs one phase of a program on the cores of a simulated SoC.
//
// Every pipe of a core takes its queue in order; effects on data happen at an instruction's end
// in simulated time. Events are ordered by time, then kind, core, pipe and age, so that a run is
// the same every time. The scalar unit runs ahead on a clock of its own, as far as queues and
// flags let it.
#ifndef PYASC_PROFILER_SIM_ENGINE_H
#define PYASC_PROFILER_SIM_ENGINE_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "profiler/sim/core.h"

namespace pyasc::sim {

struct PhaseRequest {
  const Function *function = nullptr;
  int64_t blocks = 0;
  // Registers 0, 1, ...: addresses and scalars.
  std::span<const uint64_t> arguments;
  // Arguments that differ by block: block i gets the value plus i times this.
  std::span<const uint64_t> argument_strides;
  bool data = true;
  bool timing = true;
  bool profile = false;
  bool check_races = true;
};

// Busy time on a source line, by pipe, cycles over all cores.
using LineTimes = std::map<uint32_t, std::array<double, sim_isa::kNumPipes>>;

struct PhaseResult {
  int64_t blocks = 0;
  int cores = 0;
  // From the first block's start to the end of the last, cycles; and before it.
  double cycles = 0;
  double head_cycles = 0;
  // Sums over the cores.
  std::array<double, sim_isa::kNumPipes> busy = {};
  std::array<double, sim_isa::kNumPipes> wait = {};
  std::array<int64_t, sim_isa::kNumPipes> instructions = {};
  std::vector<double> core_cycles;
  Traffic traffic;
  LineTimes lines;
};

class Engine {
public:
  explicit Engine(const machine::Soc &soc);
  ~Engine();

  // `gm` holds what the arguments point to. INTERNAL: the program did something illegal; the
  // message names the line. Contents of memory are then undefined.
  absl::StatusOr<PhaseResult> Run(const PhaseRequest &request, GlobalMemory &gm);

  MemorySystem &memory_system() { return memory_system_; }

private:
  enum class EventKind : uint8_t { kComplete, kTry, kScalar };
  struct Event {
    double time;
    EventKind kind;
    uint8_t pipe;
    uint16_t core;
    uint64_t age;
    bool operator>(const Event &other) const;
  };

  void Push(double time, EventKind kind, Core &core, int pipe);
  void StartBlock(Core &core, double time);
  void FinishBlockIfDone(Core &core);
  void EndBlock(Core &core);

  // The scalar unit.
  void RunScalar(Core &core);
  // False: the scalar unit has to stop here.
  bool Issue(Core &core, Operation operation);
  bool IssueOnScalar(Core &core, const Operation &operation);
  void Enqueue(Core &core, const Operation &operation);
  void Resume(Core &core, double time);
  // Ends a barrier over all pipes once they are empty.
  void ResumeIfDrained(Core &core);

  // The pipes.
  void TryPipe(Core &core, int pipe, double now);
  void ScheduleTry(Core &core, int pipe, double time);
  bool StartInstruction(Core &core, int pipe, const Queued &head, double now);
  void Complete(Core &core, int pipe, double now);
  void Raise(Core &core, const Operation &set, double time, const RaceChecker::Clock &clock);
  // Lowers the flag if it is raised by `now` and returns true; `later`: when it will be.
  bool Lower(Core &core, const Operation &wait, double now, double &later);
  void AddLineTime(uint32_t line, int pipe, double cycles);

  void Fail(const Core &core, uint32_t line, std::string_view what);
  absl::Status Deadlock() const;
  PhaseResult Collect();

  const machine::Soc &soc_;
  MemorySystem memory_system_;
  std::vector<std::unique_ptr<Core>> cube_cores_;
  std::vector<std::unique_ptr<Core>> vector_cores_;

  // Of the phase under way.
  PhaseRequest request_;
  GlobalMemory *gm_ = nullptr;
  std::unique_ptr<ScalarCode> code_;
  std::vector<Core *> active_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Access> accesses_;
  uint64_t age_ = 0;
  int64_t next_block_ = 0;
  int64_t finished_blocks_ = 0;
  absl::Status status_;
  Traffic traffic_;
  LineTimes lines_;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_ENGINE_H
