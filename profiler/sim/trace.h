// Writes what the pipes of a launch do as a trace in Chrome's trace-event format, which Perfetto
// and chrome://tracing show: a process for each core, a track for each pipe. Text leaves in pieces
// as it comes; what is kept does not grow with it.
#ifndef PYASC_PROFILER_SIM_TRACE_H
#define PYASC_PROFILER_SIM_TRACE_H

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/machine/machine.h"
#include "compiler/machine/sim_isa.h"
#include "pyasc/v1/execution.pb.h"

namespace pyasc::sim {

class TraceWriter {
public:
  using Sink = std::function<void(const v1::TraceChunk &)>;

  // One stretch of a pipe's time, cycles since the phase's start.
  struct Slice {
    std::string_view name;
    // "instruction", "wait" or "scalar".
    std::string_view category;
    bool cube = false;
    int core = 0; // among those of its kind
    int64_t block = 0;
    sim_isa::Pipe pipe = sim_isa::Pipe::kS;
    double start = 0;
    double end = 0;
    // 0: none.
    uint32_t line = 0;
    int64_t read_bytes = 0;
    int64_t written_bytes = 0;
  };

  // At most `limit` slices are written, those that end first; the others are counted.
  TraceWriter(const machine::Soc &soc, uint64_t limit, Sink sink);
  // Ends the file.
  ~TraceWriter();
  TraceWriter(const TraceWriter &) = delete;
  TraceWriter &operator=(const TraceWriter &) = delete;

  // The next phase, whose first block starts `head` cycles after the one before has ended.
  void BeginPhase(double head) { origin_ += head; }
  void EndPhase(double cycles) { origin_ += cycles; }
  // REQUIRES: on one pipe of one core, slices come in order and do not overlap.
  void Add(const Slice &slice);

private:
  // An event of metadata: {"name": what, ..., "args": {key: value}}.
  void Describe(std::string_view what, int process, int thread, std::string_view key,
                std::string_view value);
  void Number(int64_t value);
  // Microseconds with six decimals, from picoseconds.
  void Time(int64_t picoseconds);
  int64_t Picoseconds(double cycles) const;
  void NextEvent();
  void Send(bool last);

  const machine::Soc &soc_;
  const uint64_t limit_;
  const Sink sink_;
  double origin_ = 0;
  uint64_t written_ = 0;
  uint64_t left_out_ = 0;
  bool first_ = true;
  // Processes and tracks that have been named.
  std::set<std::pair<int, int>> named_;
  std::string text_;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_TRACE_H
