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
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "profiler/sim/core.h"
#include "profiler/sim/data_threads.h"
#include "profiler/sim/event_queue.h"
#include "profiler/sim/trace.h"

namespace pyasc::sim {

// One function and its blocks.
struct PhasePart {
  const Function *function = nullptr;
  int64_t blocks = 0;
  // Registers 0, 1, ...: addresses and scalars.
  std::vector<uint64_t> arguments;
  // Arguments that differ by block: block i gets the value plus i times this.
  std::vector<uint64_t> argument_strides;
  // Of block 0 among all of the phase, for prints.
  int64_t first_block = 0;
};

struct PhaseRequest {
  // One, or two that run at the same time: one for cube cores and one for vector cores.
  std::vector<PhasePart> parts;
  bool data = true;
  bool timing = true;
  bool profile = false;
  // nullptr: only what cannot go on is reported.
  Sanitizer *sanitizer = nullptr;
  // Scalar instructions of all cores together; 0: no limit.
  uint64_t max_instructions = 0;
  // Of them, those that earlier rounds of the same loop of phases took.
  uint64_t instructions_before = 0;
  // nullptr: none. Needs timing.
  TraceWriter *trace = nullptr;
  // Host threads; more than one compute data beside the one that keeps the time.
  int threads = 1;
  // After a block has written its data cache back; its number among all of the phase. May be empty.
  std::function<void(int64_t block)> on_flush = {};
};

inline constexpr int kScalarPipe = static_cast<int>(sim_isa::Pipe::kS);
// A program may set a flag again and again: so many that nothing takes are a fault.
inline constexpr size_t kMostFlags = 65536;

// Beyond this the clock would lose single cycles: about a week on the chip.
inline constexpr double kMostCycles = 1e15;

// "MTE2->V id 0", of a set_flag or wait_flag.
std::string FlagName(const Operation &o);

// Busy time on a source line, by pipe, cycles over all cores.
using LineTimes = std::map<uint32_t, std::array<double, sim_isa::kNumPipes>>;

// One core's part; sums over its blocks, but for the times of the first start and the last end.
struct CoreResult {
  double start = 0;
  double end = 0;
  std::array<double, sim_isa::kNumPipes> busy = {};
  std::array<double, sim_isa::kNumPipes> wait = {};
  std::array<int64_t, sim_isa::kNumPipes> instructions = {};
};

// Of one part.
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
  std::vector<CoreResult> core_results;
  Traffic traffic;
  LineTimes lines;

  // Adds a later launch of the same function on as many blocks.
  void Accumulate(const PhaseResult &later);
};

class Engine {
public:
  explicit Engine(const machine::Soc &soc);
  ~Engine();

  // `gm` holds what the arguments point to. INTERNAL: the program did something illegal; the
  // message names the line. Contents of memory are then undefined. With a sanitizer at level kAll
  // the run goes on as far as it can, with findings; ABORTED: no further.
  // REQUIRES of a phase whose code has flags between cores: no part has more blocks than cores.
  absl::StatusOr<std::vector<PhaseResult>> Run(const PhaseRequest &request, GlobalMemory &gm);

  MemorySystem &memory_system() { return memory_system_; }

private:
  void Push(double time, EventKind kind, Core &core, int pipe);
  void StartPart(int part, bool cross_flags);
  void StartBlock(Core &core, double time);
  void FinishBlockIfDone(Core &core);
  void EndBlock(Core &core);

  // The scalar unit.
  void RunScalar(Core &core);
  // False: the scalar unit has to stop here.
  bool Issue(Core &core, const Operation &operation);
  bool IssueOnScalar(Core &core, const Operation &operation);
  void Enqueue(Core &core, const Operation &operation);
  void Resume(Core &core, double time);
  // Ends a barrier over all pipes once they are empty.
  void ResumeIfDrained(Core &core);

  // The pipes.
  void TryPipe(Core &core, int pipe, double now);
  void ScheduleTry(Core &core, int pipe, double time);
  bool StartInstruction(Core &core, int pipe, const Operation &operation, uint32_t issue,
                        double now);
  // Issues the next requests of the pipe's transfer.
  void ContinueTransfer(Core &core, int pipe);
  void Finish(Core &core, int pipe, const Operation &operation, double start, double done);
  void Complete(Core &core, int pipe, double now);
  // Does what the instruction does to data, here or on a thread.
  void Effect(Core &core, const Operation &operation);
  // Whether the unit flag lets the instruction start at `now`; `later`: when it will, if that is
  // known.
  bool UnitFlagAllows(Core &core, const Operation &operation, double now, double &later);
  void PassUnitFlag(Core &core, const Operation &operation);
  // From a core's start to its first instruction.
  double StartCycles(const Core &core) const;
  void Raise(Core &core, const Operation &set, double time, const View &view);
  // What a wait that was served means for the order; `view` is the raised flag's.
  void PassFlag(Core &core, const Operation &wait, const View &view);
  // Lowers the flag if it is raised by `now` and returns true; `later`: when it will be.
  bool Lower(Core &core, const Operation &wait, double now, double &later);
  // Flags between cores. Set: `core` has, at `time`; gives it to whom it is meant for once all
  // have.
  void SetCross(Core &core, const Operation &set, double time, const View &view);
  void GiveCross(Core &to, int64_t id, double time, const View &view, uint32_t line);
  void CheckCross(Core &core);
  bool LowerCross(Core &core, const Operation &wait, sim_isa::Pipe pipe, double now, double &later);
  Core *CoreOf(bool cube, int64_t block) const;
  bool UsesCrossFlags() const;
  void AddLineTime(int part, uint32_t slot, int pipe, double cycles) {
    LineSum &sum = lines_[part][slot];
    sum.used = true;
    sum.cycles[pipe] += cycles;
  }

  bool sanitizing() const { return request_.sanitizer && request_.sanitizer->all(); }
  // What the program did wrong: the end of the run, or a finding.
  void Fault(const Core &core, uint32_t line, FaultKind kind, std::string_view what,
             const Operation *operation = nullptr, const Sanitizer::Cause &cause = {});
  // The same where nothing can go on.
  void FatalFault(const Core &core, uint32_t line, FaultKind kind, std::string_view what,
                  const Operation *operation = nullptr);
  // After the sanitizer looked: ends the run where its first finding does.
  void HeedFindings();
  void Deadlock();
  bool BlameFlags(Core &core);
  bool IsSetSomewhere(const Operation &wait) const;
  PhaseResult Collect(int part);
  // Before the first block starts, cycles.
  double HeadCycles(const PhasePart &part) const;
  // REQUIRES, of all Trace functions: there is a trace.
  TraceWriter::Slice SliceOf(const Core &core, int pipe, double start, double end) const;
  void TraceInstruction(const Core &core, int pipe, const Operation &operation, double start,
                        double end);
  // What the pipe has waited for at the head of its queue, until `now`.
  void TraceWait(const Core &core, int pipe, double now);
  // The scalar unit waited for `operation` from `start` to `end`, and worked before.
  void TraceScalarWait(Core &core, const Operation &operation, double start, double end);
  // The scalar unit's work up to `end`.
  void TraceScalar(Core &core, std::string_view name, double end);
  std::string NameOf(const Core &core) const;

  const machine::Soc &soc_;
  const CostTable costs_;
  MemorySystem memory_system_;
  std::vector<std::unique_ptr<Core>> cube_cores_;
  std::vector<std::unique_ptr<Core>> vector_cores_;

  // Of the phase under way.
  PhaseRequest request_;
  GlobalMemory *gm_ = nullptr;
  std::vector<std::unique_ptr<ScalarCode>> codes_; // one a part
  std::unique_ptr<DataThreads> threads_;
  std::vector<Core *> active_;
  EventQueue events_;
  std::vector<Access> accesses_;
  uint32_t age_ = 0;
  uint64_t instructions_left_ = 0;
  std::vector<int64_t> next_block_; // one a part
  int64_t finished_blocks_ = 0;
  // Sets of a flag that wait for others of their group: by mode, group and id.
  std::map<std::array<int64_t, 3>, CrossGroup> cross_;
  absl::Status status_;
  std::vector<Traffic> traffic_; // one a part
  struct LineSum {
    bool used = false;
    std::array<double, sim_isa::kNumPipes> cycles = {};
  };
  std::vector<std::vector<LineSum>> lines_; // one a part, in the order of its code's lines
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_ENGINE_H
