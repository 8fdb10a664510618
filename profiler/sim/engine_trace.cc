// What the engine tells a trace.
#include "profiler/sim/engine.h"
#include "profiler/sim/text.h"

namespace pyasc::sim {

using namespace sim_isa;

namespace {

// Why a pipe, or the scalar unit, waits before the operation.
std::string WaitName(const Operation &o) {
  switch (o.descriptor->op) {
  case PipeOp::kWaitFlag:
    return Cat("wait ", FlagName(o));
  case PipeOp::kCrossWait:
    return Cat("wait for other cores, id ", o.v[0]);
  case PipeOp::kBarrier:
    return "barrier";
  default:
    return Cat("wait before ", PipeOpName(o.descriptor->op));
  }
}

} // namespace

TraceWriter::Slice Engine::SliceOf(const Core &core, int pipe, double start, double end) const {
  TraceWriter::Slice slice;
  slice.cube = core.cube;
  slice.core = core.index;
  slice.block = core.block;
  slice.pipe = static_cast<Pipe>(pipe);
  slice.start = start;
  slice.end = end;
  return slice;
}

void Engine::TraceInstruction(const Core &core, int pipe, const Operation &operation, double start,
                              double end) {
  TraceWriter::Slice slice = SliceOf(core, pipe, start, end);
  slice.name = PipeOpName(operation.descriptor->op);
  slice.category = "instruction";
  slice.line = operation.line;
  // A transfer ends long after it started: its accesses are not at hand any more.
  std::vector<Access> accesses;
  (void)AccessesOf(operation, accesses);
  for (const Access &access : accesses)
    (access.write ? slice.written_bytes : slice.read_bytes) += access.bytes();
  request_.trace->Add(slice);
}

void Engine::TraceWait(const Core &core, int pipe, double now) {
  const PipeState &state = core.pipes[pipe];
  if (now <= state.blocked_since)
    return;
  const Operation &head = state.queue.front().operation;
  const std::string name =
      state.blocked == PipeState::Blocked::kUnitFlag ? "wait for the unit flag" : WaitName(head);
  TraceWriter::Slice slice = SliceOf(core, pipe, state.blocked_since, now);
  slice.name = name;
  slice.category = "wait";
  slice.line = head.line;
  request_.trace->Add(slice);
}

void Engine::TraceScalarWait(Core &core, const Operation &operation, double start, double end) {
  if (end <= start)
    return;
  TraceScalar(core, "scalar code", start);
  const std::string name = core.state == Core::State::kQueueFull
                               ? Cat("wait for room in ", PipeName(operation.descriptor->pipe))
                               : WaitName(operation);
  TraceWriter::Slice slice = SliceOf(core, static_cast<int>(Pipe::kS), start, end);
  slice.name = name;
  slice.category = "wait";
  slice.line = operation.line;
  request_.trace->Add(slice);
  core.scalar_traced = end;
}

void Engine::TraceScalar(Core &core, std::string_view name, double end) {
  if (end <= core.scalar_traced)
    return;
  TraceWriter::Slice slice = SliceOf(core, static_cast<int>(Pipe::kS), core.scalar_traced, end);
  slice.name = name;
  slice.category = "scalar";
  request_.trace->Add(slice);
  core.scalar_traced = end;
}

} // namespace pyasc::sim
