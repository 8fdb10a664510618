#include "profiler/sim/engine.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "profiler/sim/fault.h"
#include "profiler/sim/text.h"
#include "profiler/sim/units.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;

// Flags take no room in a queue, and a program may set one again and again: after so many the
// scalar unit lets the pipes go on.
constexpr size_t kFlagsAtOnce = 1024;

// Flags take no room in a queue.
bool IsFlag(PipeOp op) {
  return op == PipeOp::kSetFlag || op == PipeOp::kWaitFlag || op == PipeOp::kCrossSet ||
         op == PipeOp::kCrossWait;
}

constexpr std::string_view kSpaceNames[] = {"GM", "UB", "L1", "L0A", "L0B", "L0C"};

} // namespace

Engine::Engine(const machine::Soc &soc) : soc_(soc), costs_(soc), memory_system_(soc) {}
Engine::~Engine() = default;

absl::StatusOr<std::vector<PhaseResult>> Engine::Run(const PhaseRequest &request,
                                                     GlobalMemory &gm) {
  request_ = request;
  gm_ = &gm;
  codes_.clear();
  for (const PhasePart &part : request.parts)
    codes_.push_back(std::make_unique<ScalarCode>(*part.function, soc_, request.timing));
  threads_.reset();
  if (request.data && request.threads > 1)
    threads_ = std::make_unique<DataThreads>(request.threads, gm);
  events_.Clear();
  active_.clear();
  cross_.clear();
  age_ = 0;
  next_block_.assign(request.parts.size(), 0);
  finished_blocks_ = 0;
  status_ = absl::OkStatus();
  traffic_.assign(request.parts.size(), {});
  lines_.assign(request.parts.size(), {});
  if (request.profile)
    for (size_t n = 0; n < codes_.size(); ++n)
      lines_[n].resize(codes_[n]->lines.size());
  instructions_left_ =
      request.max_instructions ? request.max_instructions : std::numeric_limits<int64_t>::max();
  instructions_left_ -= std::min(instructions_left_, request.instructions_before);
  if (request.trace) {
    double head = 0;
    for (const PhasePart &part : request.parts)
      head = std::max(head, HeadCycles(part));
    request.trace->BeginPhase(head);
  }
  const bool cross_flags = UsesCrossFlags();
  if (request.sanitizer)
    for (const PhasePart &part : request.parts)
      request.sanitizer->BeginPhase(*part.function, cross_flags);
  for (size_t n = 0; n < request.parts.size(); ++n)
    StartPart(static_cast<int>(n), cross_flags);
  while (!events_.empty() && status_.ok()) {
    const Event event = events_.Take();
    Core &core = *active_[event.core()];
    switch (event.kind()) {
    case EventKind::kComplete:
      Complete(core, event.pipe(), event.time);
      break;
    case EventKind::kTransfer:
      ContinueTransfer(core, event.pipe());
      break;
    case EventKind::kTry:
      core.pipes[event.pipe()].try_pending = false;
      TryPipe(core, event.pipe(), event.time);
      break;
    case EventKind::kScalar:
      RunScalar(core);
      break;
    }
    if (status_.ok())
      ResumeIfDrained(core);
    if (status_.ok())
      FinishBlockIfDone(core);
  }
  int64_t blocks = 0;
  for (const PhasePart &part : request.parts)
    blocks += part.blocks;
  if (status_.ok() && finished_blocks_ < blocks)
    Deadlock();
  // What came after its core had ended.
  for (Core *core : active_)
    if (status_.ok())
      CheckCross(*core);
  memory_system_.EndPhase(traffic_.back());
  threads_.reset();
  if (!status_.ok()) {
    // Nothing of a failed phase may leak into the next.
    cube_cores_.clear();
    vector_cores_.clear();
    return status_;
  }
  std::vector<PhaseResult> results;
  for (size_t n = 0; n < request.parts.size(); ++n)
    results.push_back(Collect(static_cast<int>(n)));
  if (request.trace) {
    double cycles = 0;
    for (const PhaseResult &result : results)
      cycles = std::max(cycles, result.cycles);
    request.trace->EndPhase(cycles);
  }
  return results;
}

void Engine::StartPart(int number, bool cross_flags) {
  const PhasePart &part = request_.parts[number];
  const Function &f = *part.function;
  auto &pool = f.cube ? cube_cores_ : vector_cores_;
  const int64_t all_cores = f.cube ? soc_.cube_cores : soc_.vector_cores;
  const int64_t cores = std::min(part.blocks, all_cores);
  if (cross_flags && part.blocks > all_cores) {
    status_ = FaultAt(f.line,
                      Cat("'", f.name, "' sets or waits for flags between cores: its ", part.blocks,
                          " blocks have to run at the same time, on ", all_cores, " cores"));
    return;
  }
  const double stagger =
      (f.cube ? soc_.launch.cube_stagger_us : soc_.launch.vector_stagger_us) * soc_.clock_ghz * 1e3;
  const size_t first = active_.size();
  for (int64_t n = 0; n < cores; ++n) {
    if (static_cast<int64_t>(pool.size()) == n)
      pool.push_back(std::make_unique<Core>(soc_, f.cube, static_cast<int>(n)));
    active_.push_back(pool[n].get());
    Core &core = *active_.back();
    core.slot = static_cast<int>(first + n);
    core.part = number;
    core.active = core.end = core.scalar_active = core.scalar_wait = 0;
    core.scalar.instructions = core.scalar.cache_misses = 0;
    core.cache.written_back = 0;
    core.scalar.counts.clear();
    core.scalar.miss_time.clear();
    for (PipeState &pipe : core.pipes)
      pipe = {};
    core.cross.fill({});
    core.first_start = -1;
    StartBlock(core, request_.timing
                         ? stagger * static_cast<double>(n) / static_cast<double>(all_cores)
                         : 0);
  }
}

void Engine::Push(double time, EventKind kind, Core &core, int pipe) {
  events_.Push({time,
                static_cast<uint32_t>(kind) << 24 | static_cast<uint32_t>(core.slot) << 8 |
                    static_cast<uint32_t>(pipe),
                age_++});
}

// ------------------------------------------------------------------------------------- blocks

void Engine::StartBlock(Core &core, double time) {
  const PhasePart &part = request_.parts[core.part];
  core.block = next_block_[core.part]++;
  core.block_start = time;
  if (core.first_start < 0)
    core.first_start = time;
  core.unit_flag = {};
  if (request_.timing)
    time += StartCycles(core);
  if (request_.trace) {
    core.scalar_traced = core.block_start;
    TraceScalar(core, "start of a block", time);
  }
  if (threads_)
    threads_->Wait(core.slot);
  core.memory.Reset();
  core.cache.Reset();
  if (sanitizing())
    core.flags.fill({});
  core.checker.Begin(request_.sanitizer, part.function, core.part, core.block);
  for (PipeState &pipe : core.pipes)
    pipe.free_at = pipe.last_done = time;
  std::vector<uint64_t> arguments = part.arguments;
  for (size_t n = 0; n < part.argument_strides.size(); ++n)
    arguments[n] += part.argument_strides[n] * static_cast<uint64_t>(core.block);
  ScalarPorts ports{.gm = gm_,
                    .cache = &core.cache,
                    .ub = &core.memory[Space::kUb],
                    .checker = request_.sanitizer ? &core.checker : nullptr,
                    .data = request_.data,
                    .miss_cycles = request_.timing ? soc_.gm.scalar_latency_cycles : 0,
                    .on_flush = request_.on_flush ? &request_.on_flush : nullptr,
                    .first_block = part.first_block};
  core.scalar.Start(*codes_[core.part], ports, arguments, core.block, part.blocks);
  core.scalar.time = time;
  core.state = Core::State::kRunning;
  Push(time, EventKind::kScalar, core, kScalarPipe);
}

double Engine::StartCycles(const Core &core) const {
  const double all = core.cube ? soc_.cube_cores : soc_.vector_cores;
  const double share =
      std::min(1.0, static_cast<double>(request_.parts[core.part].blocks - 1) / (all - 1));
  return (soc_.launch.start_us + (soc_.launch.full_start_us - soc_.launch.start_us) * share) *
         soc_.clock_ghz * 1e3;
}

void Engine::FinishBlockIfDone(Core &core) {
  if (core.state != Core::State::kHalted)
    return;
  for (const PipeState &pipe : core.pipes)
    if (!pipe.empty())
      return;
  EndBlock(core);
}

void Engine::EndBlock(Core &core) {
  core.state = Core::State::kIdle;
  double end = core.scalar.time;
  for (const PipeState &pipe : core.pipes)
    end = std::max(end, pipe.last_done);
  for (int from = 0; from < kNumPipes; ++from)
    for (int to = 0; to < kNumPipes; ++to)
      for (int id = 0; id < kMaxEventIds; ++id)
        if (FlagState &flag = core.flag(from, to, id); !flag.raised.empty()) {
          Fault(core, flag.raised.front().line, FaultKind::kNotWaited,
                Cat("flag ", PipeName(static_cast<Pipe>(from)), "->",
                    PipeName(static_cast<Pipe>(to)), " id ", id,
                    " is still raised at the end: nothing waits for it"),
                nullptr,
                {.from = PipeName(static_cast<Pipe>(from)),
                 .to = PipeName(static_cast<Pipe>(to)),
                 .id = id});
          flag = {};
        }
  if (const DataCache::Line *line = core.cache.FindDirty())
    Fault(core, line->writer, FaultKind::kUnflushed,
          "the phase ends while the scalar unit's data cache holds what was written to GM "
          "here: a cache flush is missing");
  if (!status_.ok())
    return;
  if (request_.trace)
    TraceScalar(core, "scalar code", core.scalar.time);
  core.active += end - core.block_start;
  core.scalar_active += core.scalar.time - core.block_start;
  core.end = end;
  ++finished_blocks_;
  if (next_block_[core.part] < request_.parts[core.part].blocks)
    StartBlock(core, end);
}

// ------------------------------------------------------------------------------- scalar unit

void Engine::RunScalar(Core &core) {
  core.state = Core::State::kRunning;
  // The scalar unit sees what the pipes have done so far.
  if (threads_ && codes_[core.part]->touches_memory)
    threads_->WaitAll();
  Operation operation;
  for (;;) {
    const int64_t before = core.scalar.instructions;
    core.scalar.limit = static_cast<int64_t>(instructions_left_);
    const ScalarUnit::Stop stop =
        request_.profile ? core.scalar.Run<true>() : core.scalar.Run<false>();
    const auto executed = static_cast<uint64_t>(core.scalar.instructions - before);
    if (stop == ScalarUnit::Stop::kLimit || executed > instructions_left_)
      return FatalFault(
          core, core.scalar.line, FaultKind::kLimit,
          Cat("the program has not ended after ", request_.max_instructions, " instructions"));
    instructions_left_ -= executed;
    if (core.scalar.time > kMostCycles)
      return FatalFault(core, core.scalar.line, FaultKind::kLimit,
                        Cat("the program takes more than ", kMostCycles, " cycles"));
    if (request_.sanitizer) {
      HeedFindings();
      if (!status_.ok())
        return;
    }
    if (stop == ScalarUnit::Stop::kFault)
      return FatalFault(core, core.scalar.line, core.scalar.fault_kind, core.scalar.fault);
    if (stop == ScalarUnit::Stop::kHalt) {
      core.state = Core::State::kHalted;
      return;
    }
    operation.descriptor = &request_.parts[core.part].function->descriptors[core.scalar.issued];
    operation.line = core.scalar.line;
    operation.line_slot = codes_[core.part]->instructions[core.scalar.last_pc()].line_slot;
    for (size_t n = 0; n < operation.descriptor->fields.size(); ++n) {
      const Field &field = operation.descriptor->fields[n];
      operation.v[n] = field.value;
      int64_t scaled = 0;
      if (field.reg != kNoRegister &&
          (__builtin_mul_overflow(core.scalar.reg(field.reg), int64_t{field.scale}, &scaled) ||
           __builtin_add_overflow(field.value, scaled, &operation.v[n])))
        return FatalFault(
            core, operation.line, FaultKind::kOutOfBounds,
            Cat(PipeOpName(operation.descriptor->op), ": an address or a size is beyond 64 bits"),
            &operation);
    }
    if (!Issue(core, operation) || !status_.ok())
      return;
  }
}

bool Engine::Issue(Core &core, const Operation &operation) {
  const Descriptor &d = *operation.descriptor;
  if (IsFlag(d.op))
    if (operation.v[0] < 0 ||
        operation.v[0] >= (d.op == PipeOp::kSetFlag || d.op == PipeOp::kWaitFlag
                               ? kMaxEventIds
                               : kMaxCrossFlags)) {
      Fault(core, operation.line, FaultKind::kOperand, Cat("there is no event id ", operation.v[0]),
            &operation);
      return status_.ok();
    }
  if (d.pipe == Pipe::kS || d.pipe == Pipe::kAll)
    return IssueOnScalar(core, operation);
  PipeState &pipe = core.pipes[static_cast<int>(d.pipe)];
  if (!IsFlag(d.op) && pipe.queued_instructions >= soc_.scalar.queue_depth) {
    core.state = Core::State::kQueueFull;
    core.pending = operation;
    core.stalled_since = core.scalar.time;
    return false;
  }
  Enqueue(core, operation);
  if (pipe.queue.size() % kFlagsAtOnce != 0)
    return true;
  if (pipe.queue.size() >= kMostFlags) {
    FatalFault(core, operation.line, FaultKind::kLimit,
               Cat(pipe.queue.size(), " flags wait in the queue of pipe ", PipeName(d.pipe),
                   ", which takes none of them"),
               &operation);
    return false;
  }
  Push(core.scalar.time, EventKind::kScalar, core, kScalarPipe);
  return false;
}

bool Engine::IssueOnScalar(Core &core, const Operation &operation) {
  switch (operation.descriptor->op) {
  case PipeOp::kSetFlag:
    Raise(core, operation, core.scalar.time, core.checker.Release(Pipe::kS));
    return true;
  case PipeOp::kWaitFlag: {
    FlagState &flag =
        core.flag(operation.descriptor->sub, operation.descriptor->aux, operation.v[0]);
    if (flag.raised.empty()) {
      core.state = Core::State::kWaitFlag;
      core.pending = operation;
      core.stalled_since = core.scalar.time;
      return false;
    }
    const double raised = flag.raised.front().time;
    if (raised > core.scalar.time) {
      core.scalar_wait += raised - core.scalar.time;
      if (request_.trace)
        TraceScalarWait(core, operation, core.scalar.time, raised);
      core.scalar.time = raised;
    }
    double later = 0;
    Lower(core, operation, core.scalar.time, later);
    core.checker.Waited(static_cast<Pipe>(operation.descriptor->sub), Pipe::kS,
                        core.checker.NextIssue());
    return true;
  }
  case PipeOp::kCrossSet:
    SetCross(core, operation, core.scalar.time, core.checker.Export(Pipe::kS));
    return true;
  case PipeOp::kCrossWait: {
    FlagState &flag = core.cross[operation.v[0]];
    if (flag.raised.empty()) {
      core.state = Core::State::kWaitCross;
      core.pending = operation;
      core.stalled_since = core.scalar.time;
      return false;
    }
    if (const double raised = flag.raised.front().time; raised > core.scalar.time) {
      core.scalar_wait += raised - core.scalar.time;
      if (request_.trace)
        TraceScalarWait(core, operation, core.scalar.time, raised);
      core.scalar.time = raised;
    }
    double later = 0;
    LowerCross(core, operation, Pipe::kS, core.scalar.time, later);
    return true;
  }
  default: // a barrier
    if (operation.descriptor->pipe == Pipe::kS)
      return true;
    core.state = Core::State::kDrainAll;
    core.pending = operation;
    core.stalled_since = core.scalar.time;
    return false; // ResumeIfDrained, after this event or a later one, lets it go on
  }
}

void Engine::Enqueue(Core &core, const Operation &operation) {
  const int p = static_cast<int>(operation.descriptor->pipe);
  PipeState &pipe = core.pipes[p];
  const PipeOp op = operation.descriptor->op;
  if (!IsFlag(op))
    ++pipe.queued_instructions;
  Queued &queued = pipe.queue.push();
  queued.operation = operation;
  queued.ready = core.scalar.time;
  queued.issue = core.checker.NextIssue();
  if (core.checker.on())
    queued.issued = core.checker.Issue();
  else
    queued.issued.reset();
  if (pipe.queue.size() == 1 && pipe.blocked == PipeState::Blocked::kNo)
    ScheduleTry(core, p, core.scalar.time);
}

// The scalar unit goes on at `time` on its own clock, with what it stalled on.
void Engine::Resume(Core &core, double time) {
  if (time > core.scalar.time)
    core.scalar.time = time;
  core.scalar_wait += core.scalar.time - core.stalled_since;
  if (request_.trace)
    TraceScalarWait(core, core.pending, core.stalled_since, core.scalar.time);
  if (core.state == Core::State::kQueueFull)
    Enqueue(core, core.pending);
  core.state = Core::State::kRunning;
  Push(core.scalar.time, EventKind::kScalar, core, kScalarPipe);
}

// -------------------------------------------------------------------------------------- pipes

void Engine::ScheduleTry(Core &core, int p, double time) {
  PipeState &pipe = core.pipes[p];
  if (pipe.try_pending)
    return;
  pipe.try_pending = true;
  Push(time, EventKind::kTry, core, p);
}

void Engine::TryPipe(Core &core, int p, double now) {
  PipeState &pipe = core.pipes[p];
  const auto id = static_cast<Pipe>(p);
  auto pop = [&] {
    const PipeOp op = pipe.queue.front().operation.descriptor->op;
    pipe.queue.pop_front();
    if (IsFlag(op))
      return;
    --pipe.queued_instructions;
    if (core.state == Core::State::kQueueFull &&
        static_cast<int>(core.pending.descriptor->pipe) == p)
      Resume(core, now);
  };
  auto unblock = [&] {
    if (pipe.blocked != PipeState::Blocked::kNo) {
      if (request_.trace)
        TraceWait(core, p, now);
      pipe.blocked = PipeState::Blocked::kNo;
      pipe.wait += std::max(0.0, now - pipe.blocked_since);
    }
  };
  auto block = [&](PipeState::Blocked why) {
    if (pipe.blocked == PipeState::Blocked::kNo)
      pipe.blocked_since = std::max(now, pipe.last_done);
    pipe.blocked = why;
  };
  // When a flag of either kind may be raised now: the time it is raised at. Otherwise it waits in
  // line behind the data that is under way.
  auto afterWhatIsUnderWay = [&](const auto &operation, const View &view) -> std::optional<double> {
    if (!request_.data) // nothing happens at the end of what is under way but the flag
      return std::max(now, pipe.last_done);
    if (pipe.in_flight.empty())
      return now;
    const double done = pipe.in_flight.back().done;
    InFlight &item = pipe.in_flight.push();
    item.operation = operation;
    item.done = done;
    item.view = view;
    Push(done, EventKind::kComplete, core, p);
    return std::nullopt;
  };
  while (!pipe.queue.empty() && !pipe.transfer && status_.ok()) {
    const Queued &head = pipe.queue.front();
    if (head.ready > now)
      return ScheduleTry(core, p, head.ready);
    core.checker.Enter(id, head.issued);
    switch (head.operation.descriptor->op) {
    case PipeOp::kSetFlag: {
      const View &view = core.checker.Release(id);
      if (const std::optional<double> at = afterWhatIsUnderWay(head.operation, view))
        Raise(core, head.operation, *at, view);
      pop();
      break;
    }
    case PipeOp::kWaitFlag: {
      double later = 0;
      if (!Lower(core, head.operation, now, later)) {
        block(PipeState::Blocked::kFlag);
        if (later > now)
          ScheduleTry(core, p, later);
        return;
      }
      core.checker.Waited(static_cast<Pipe>(head.operation.descriptor->sub), id, head.issue);
      unblock();
      pop();
      break;
    }
    case PipeOp::kCrossSet: {
      const View view = core.checker.Export(id);
      if (const std::optional<double> at = afterWhatIsUnderWay(head.operation, view))
        SetCross(core, head.operation, *at, view);
      pop();
      break;
    }
    case PipeOp::kCrossWait: {
      double later = 0;
      if (!LowerCross(core, head.operation, id, now, later)) {
        block(PipeState::Blocked::kCross);
        if (later > now)
          ScheduleTry(core, p, later);
        return;
      }
      unblock();
      pop();
      break;
    }
    case PipeOp::kBarrier:
      if (!pipe.in_flight.empty())
        return block(PipeState::Blocked::kDrain);
      if (!request_.data && pipe.last_done > now) {
        block(PipeState::Blocked::kDrain);
        return ScheduleTry(core, p, pipe.last_done + soc_.scalar.barrier_cycles);
      }
      unblock();
      core.checker.Barrier(id);
      pop();
      break;
    default:
      if (pipe.free_at > now)
        return ScheduleTry(core, p, pipe.free_at);
      if (double later = 0; !UnitFlagAllows(core, head.operation, now, later)) {
        block(PipeState::Blocked::kUnitFlag);
        if (later > now)
          ScheduleTry(core, p, later);
        return;
      }
      unblock();
      const Operation operation = head.operation;
      const uint32_t issue = head.issue;
      pop();
      if (!StartInstruction(core, p, operation, issue, now))
        return;
    }
  }
}

bool Engine::StartInstruction(Core &core, int p, const Operation &operation, uint32_t issue,
                              double now) {
  PipeState &pipe = core.pipes[p];
  const Violation wrong = AccessesOf(operation, accesses_);
  if (!wrong.empty()) {
    Fault(core, operation.line, wrong.kind,
          Cat(PipeOpName(operation.descriptor->op), ": ", wrong.what), &operation);
    return status_.ok(); // left out
  }
  const GlobalMemory::Allocation *allocation = nullptr;
  for (const Access &access : accesses_) {
    const int64_t bytes = access.end() - access.start;
    if (access.space == Space::kGm) {
      allocation = gm_->Find(static_cast<uint64_t>(access.start), bytes);
      if (allocation)
        continue;
    } else {
      LocalMemory &memory = core.memory[access.space];
      if (access.start >= 0 && bytes <= memory.size() && access.start <= memory.size() - bytes) {
        if (access.write)
          memory.Touch(access.start + bytes);
        continue;
      }
    }
    std::string where = Cat(" bytes ", access.start, "..", access.end());
    if (access.space == Space::kGm) { // relative to the buffer it starts in, where there is one
      const auto *near = gm_->Find(static_cast<uint64_t>(access.start), 0);
      where = near ? Cat(" bytes ", access.start - static_cast<int64_t>(near->address), "..",
                         access.end() - static_cast<int64_t>(near->address), " of a buffer of ",
                         near->size)
                   : std::string(" at an address that belongs to no buffer");
    }
    Fault(core, operation.line, FaultKind::kOutOfBounds,
          Cat(PipeOpName(operation.descriptor->op), access.write ? " writes " : " reads ",
              kSpaceNames[static_cast<int>(access.space)], " out of bounds:", where),
          &operation);
    return status_.ok(); // left out
  }
  if (core.checker.on()) {
    if (operation.descriptor->op == PipeOp::kFixpipe && (operation.descriptor->aux & 2))
      core.checker.Acquire(Pipe::kFix, core.unit_flag.closed_view);
    if (operation.descriptor->op == PipeOp::kMmad && operation.v[7] != 0 && operation.v[6] != 0)
      core.checker.Acquire(Pipe::kM, core.unit_flag.taken_view);
    core.checker.Run(operation, static_cast<Pipe>(p), issue, accesses_);
    HeedFindings();
    if (!status_.ok())
      return false;
  }
  PassUnitFlag(core, operation);
  if (request_.timing && ReachesGm(operation.descriptor->op) && allocation) {
    const Access &gm = accesses_[accesses_[0].space == Space::kGm ? 0 : 1];
    ActiveTransfer &active = pipe.transfer.emplace();
    active.operation = operation;
    active.start = now;
    StartTransfer(operation, gm, *allocation, costs_, core.slot, now, traffic_[core.part],
                  active.transfer);
    // Data comes in the order in which it was asked for.
    active.transfer.arrival = std::max(now, pipe.last_done);
    ContinueTransfer(core, p);
    return true;
  }
  Cost cost;
  if (request_.timing)
    cost = CostOf(operation, accesses_, costs_,
                  core.pipes[static_cast<int>(Pipe::kM)].free_at > now, traffic_[core.part]);
  pipe.free_at = now + cost.occupancy;
  Finish(core, p, operation, now, pipe.free_at + cost.latency);
  return true;
}

void Engine::ContinueTransfer(Core &core, int p) {
  PipeState &pipe = core.pipes[p];
  Transfer &transfer = pipe.transfer->transfer;
  if (!memory_system_.Advance(transfer, traffic_[core.part])) {
    Push(transfer.issue, EventKind::kTransfer, core, p);
    return;
  }
  const ActiveTransfer &ended = *pipe.transfer;
  pipe.free_at = std::max(
      transfer.issue, ended.start + costs_.path(*ended.operation.descriptor).instruction_cycles);
  Finish(core, p, ended.operation, ended.start, std::max(transfer.arrival, pipe.free_at));
  if (!pipe.queue.empty())
    ScheduleTry(core, p, std::max(pipe.queue.front().ready, transfer.issue));
  pipe.transfer.reset();
}

void Engine::Finish(Core &core, int p, const Operation &operation, double start, double done) {
  PipeState &pipe = core.pipes[p];
  done = std::max(pipe.last_done, done);
  const double busy = done - std::max(start, pipe.last_done);
  pipe.busy += busy;
  if (request_.trace)
    TraceInstruction(core, p, operation, done - busy, done);
  pipe.last_done = done;
  ++pipe.instructions;
  if (request_.profile)
    AddLineTime(core.part, operation.line_slot, p, busy);
  // The other side of the unit flag may have waited for this.
  UnitFlagState &unit = core.unit_flag;
  if (operation.descriptor->op == PipeOp::kMmad &&
      operation.v[7] == static_cast<int64_t>(UnitFlag::kSet)) {
    unit.whole_at = done;
    if (core.pipes[static_cast<int>(Pipe::kFix)].blocked == PipeState::Blocked::kUnitFlag)
      ScheduleTry(core, static_cast<int>(Pipe::kFix), done);
  }
  if (operation.descriptor->op == PipeOp::kFixpipe && (operation.descriptor->aux & 2)) {
    unit.free_at = pipe.free_at;
    if (core.pipes[static_cast<int>(Pipe::kM)].blocked == PipeState::Blocked::kUnitFlag)
      ScheduleTry(core, static_cast<int>(Pipe::kM), pipe.free_at);
  }
  if (!request_.data)
    return;
  InFlight &item = pipe.in_flight.push();
  item.operation = operation;
  item.done = done;
  Push(done, EventKind::kComplete, core, p);
}

bool Engine::UnitFlagAllows(Core &core, const Operation &o, double now, double &later) {
  const UnitFlagState &unit = core.unit_flag;
  if (o.descriptor->op == PipeOp::kFixpipe && (o.descriptor->aux & 2)) {
    if (unit.closed == unit.taken)
      return false;
    later = unit.whole_at;
    return later <= now;
  }
  if (o.descriptor->op == PipeOp::kMmad && o.v[7] != 0 && o.v[6] != 0) {
    // In the middle of its transfer, FIX says when it will have left L0C.
    if (unit.closed != unit.taken || core.pipes[static_cast<int>(Pipe::kFix)].transfer)
      return false;
    later = unit.free_at;
    return later <= now;
  }
  return true;
}

void Engine::PassUnitFlag(Core &core, const Operation &o) {
  UnitFlagState &unit = core.unit_flag;
  if (o.descriptor->op == PipeOp::kFixpipe && (o.descriptor->aux & 2)) {
    ++unit.taken;
    unit.taken_view = core.checker.Release(Pipe::kFix);
  } else if (o.descriptor->op == PipeOp::kMmad && o.v[7] == static_cast<int64_t>(UnitFlag::kSet)) {
    ++unit.closed;
    unit.whole_at = std::numeric_limits<double>::infinity(); // until Finish knows
    unit.closed_view = core.checker.Release(Pipe::kM);
  }
}

void Engine::Complete(Core &core, int p, double now) {
  PipeState &pipe = core.pipes[p];
  const InFlight item = std::move(pipe.in_flight.front());
  pipe.in_flight.pop_front();
  if (item.operation.descriptor->op == PipeOp::kSetFlag)
    Raise(core, item.operation, now, item.view);
  else if (item.operation.descriptor->op == PipeOp::kCrossSet)
    SetCross(core, item.operation, now, item.view);
  else if (request_.data)
    Effect(core, item.operation);
  if (pipe.in_flight.empty() && pipe.blocked == PipeState::Blocked::kDrain)
    ScheduleTry(core, p, now + (request_.timing ? soc_.scalar.barrier_cycles : 0));
}

void Engine::Effect(Core &core, const Operation &operation) {
  if (!threads_)
    return Execute(operation, core.memory, *gm_);
  // Sums of several cores' floats have one order only: that of time.
  const bool atomic = (operation.descriptor->op == PipeOp::kStore ||
                       operation.descriptor->op == PipeOp::kFixpipe) &&
                      operation.descriptor->sub != static_cast<uint8_t>(Atomic::kNone);
  if (!atomic)
    return threads_->Post(core.slot, core.memory, operation);
  threads_->WaitAll();
  Execute(operation, core.memory, *gm_);
}

void Engine::ResumeIfDrained(Core &core) {
  if (core.state != Core::State::kDrainAll)
    return;
  double drained = core.scalar.time;
  for (const PipeState &pipe : core.pipes) {
    if (!pipe.empty())
      return;
    drained = std::max(drained, pipe.last_done);
  }
  core.checker.BarrierAll();
  Resume(core, drained + (request_.timing ? soc_.scalar.barrier_cycles : 0));
}

} // namespace pyasc::sim
