// What the engine says of programs that do something illegal, and who waits for whom in a deadlock.
#include "profiler/sim/engine.h"
#include "profiler/sim/fault.h"
#include "profiler/sim/text.h"

namespace pyasc::sim {

using namespace sim_isa;

std::string FlagName(const Operation &o) {
  return Cat(PipeName(static_cast<Pipe>(o.descriptor->sub)), "->",
             PipeName(static_cast<Pipe>(o.descriptor->aux)), " id ", o.v[0]);
}

void Engine::Fault(const Core &core, uint32_t line, FaultKind kind, std::string_view what,
                   const Operation *operation, const Sanitizer::Cause &cause) {
  if (!sanitizing()) {
    if (status_.ok())
      status_ = FaultAt(line, Cat(what, " (block ", core.block, ")"));
    return;
  }
  v1::Finding finding;
  finding.set_kind(std::string(KindName(kind)));
  finding.set_message(std::string(what));
  finding.set_advice(std::string(AdviceOf(kind)));
  finding.mutable_range()->set_file(FileOf(line));
  finding.mutable_range()->set_line(LineOf(line));
  v1::MemoryAccess &access = *finding.mutable_access();
  access.set_core(static_cast<uint32_t>(core.block));
  *access.mutable_range() = finding.range();
  access.set_pipe(std::string(PipeName(operation ? operation->descriptor->pipe : Pipe::kS)));
  if (operation)
    access.set_instruction(std::string(PipeOpName(operation->descriptor->op)));
  request_.sanitizer->Add(std::move(finding), cause);
}

void Engine::FatalFault(const Core &core, uint32_t line, FaultKind kind, std::string_view what,
                        const Operation *operation) {
  Fault(core, line, kind, what, operation);
  if (status_.ok())
    status_ = absl::AbortedError("the sanitizer cannot go on");
}

void Engine::HeedFindings() {
  if (!request_.sanitizer || sanitizing() || request_.sanitizer->findings().empty() ||
      !status_.ok())
    return;
  const v1::Finding &finding = request_.sanitizer->findings().front();
  status_ = FaultAt(PackLine(finding.range().file(), finding.range().line()),
                    Cat(finding.message(), " (block ", finding.access().core(), ")"));
}

// Whether the code has a set_flag that the wait could be for.
bool Engine::IsSetSomewhere(const Operation &wait) const {
  const bool cross = wait.descriptor->op == PipeOp::kCrossWait;
  for (const PhasePart &part : request_.parts)
    for (const Descriptor &d : part.function->descriptors)
      if ((cross ? d.op == PipeOp::kCrossSet
                 : d.op == PipeOp::kSetFlag && d.sub == wait.descriptor->sub &&
                       d.aux == wait.descriptor->aux) &&
          (d.fields[0].reg != kNoRegister || d.fields[0].value == wait.v[0]))
        return true;
  return false;
}

namespace {

// Waits that a message lists.
constexpr int kMaxWaits = 8;

// What a pipe, or the scalar unit, of a core waits for.
struct Wait {
  const Operation *flag = nullptr;  // a wait_flag
  const Operation *cross = nullptr; // a cross_wait
  int next = -1;                    // the pipe that would have to go on; -1: none
  std::string text;
  uint32_t line = 0;
};

bool HasPendingSet(const PipeState &pipe, const Operation &wait) {
  for (size_t n = 0; n < pipe.queue.size(); ++n) {
    const Operation &o = pipe.queue[n].operation;
    if (o.descriptor->op == PipeOp::kSetFlag && o.descriptor->sub == wait.descriptor->sub &&
        o.descriptor->aux == wait.descriptor->aux && o.v[0] == wait.v[0])
      return true;
  }
  return false;
}

bool HasPendingWait(const PipeState &pipe, int from, int to, int64_t id) {
  for (size_t n = 0; n < pipe.queue.size(); ++n) {
    const Operation &o = pipe.queue[n].operation;
    if (o.descriptor->op == PipeOp::kWaitFlag && o.descriptor->sub == from &&
        o.descriptor->aux == to && o.v[0] == id)
      return true;
  }
  return false;
}

Wait WaitOf(const Core &core, int p) {
  Wait wait;
  const bool halted = core.state == Core::State::kHalted || core.state == Core::State::kIdle;
  auto at = [](uint32_t line) { return Cat(" (line ", LineOf(line), ")"); };
  auto for_flag = [&](std::string_view who, const Operation &flag) {
    wait.flag = &flag;
    wait.text = Cat("pipe ", who, " waits for flag ", FlagName(flag), at(flag.line));
    const int from = flag.descriptor->sub;
    if (from != static_cast<int>(Pipe::kS) && HasPendingSet(core.pipes[from], flag))
      wait.next = from;
    else if (!halted)
      wait.next = static_cast<int>(Pipe::kS); // it may still issue the set
  };
  auto for_cross = [&](std::string_view who, const Operation &flag) {
    wait.cross = &flag;
    wait.text =
        Cat("pipe ", who, " waits for flag ", flag.v[0], " from other cores", at(flag.line));
  };
  if (p == static_cast<int>(Pipe::kS)) {
    switch (core.state) {
    case Core::State::kWaitFlag:
      for_flag("S", core.pending);
      break;
    case Core::State::kWaitCross:
      for_cross("S", core.pending);
      break;
    case Core::State::kQueueFull:
      wait.next = static_cast<int>(core.pending.descriptor->pipe);
      wait.text = Cat("pipe S waits for room in the queue of pipe ",
                      PipeName(core.pending.descriptor->pipe), at(core.pending.line));
      break;
    case Core::State::kDrainAll:
      for (int q = 1; q < kNumPipes; ++q)
        if (!core.pipes[q].empty())
          wait.next = q;
      wait.text = Cat("pipe S waits in a barrier for all pipes", at(core.pending.line));
      break;
    default:
      break;
    }
    return wait;
  }
  const PipeState &pipe = core.pipes[p];
  if (pipe.queue.empty())
    return wait;
  const Operation &head = pipe.queue[0].operation;
  const auto name = PipeName(static_cast<Pipe>(p));
  if (pipe.blocked == PipeState::Blocked::kFlag) {
    for_flag(name, head);
  } else if (pipe.blocked == PipeState::Blocked::kCross) {
    for_cross(name, head);
  } else if (pipe.blocked == PipeState::Blocked::kUnitFlag) {
    const bool fix = p == static_cast<int>(Pipe::kFix);
    wait.next = static_cast<int>(fix ? Pipe::kM : Pipe::kFix);
    if (core.pipes[wait.next].queue.empty())
      wait.next = halted ? -1 : static_cast<int>(Pipe::kS);
    wait.line = head.line;
    wait.text = Cat("pipe ", name, " waits for the unit flag", at(head.line));
  }
  return wait;
}

bool IsWaitedFor(const Function &function, int from, int to) {
  for (const Descriptor &d : function.descriptors)
    if (d.op == PipeOp::kWaitFlag && d.sub == from && d.aux == to)
      return true;
  return false;
}

// The same of one event id; false where a wait's id is only known as it runs.
bool IsWaitedFor(const Function &function, int from, int to, int64_t id) {
  for (const Descriptor &d : function.descriptors)
    if (d.op == PipeOp::kWaitFlag && d.sub == from && d.aux == to &&
        d.fields[0].reg == kNoRegister && d.fields[0].value == id)
      return true;
  return false;
}

// A raised flag that differs from what is waited for in its id or in one of its pipes.
std::string CrossedWith(Core &core, const Function &function, const Operation &wait) {
  for (int from = 0; from < kNumPipes; ++from)
    for (int to = 0; to < kNumPipes; ++to)
      for (int id = 0; id < kMaxEventIds; ++id) {
        const FlagState &flag = core.flag(from, to, id);
        if (flag.raised.empty())
          continue;
        const bool same_pipes = from == wait.descriptor->sub && to == wait.descriptor->aux;
        const bool one_pipe = (from == wait.descriptor->sub) != (to == wait.descriptor->aux);
        // A flag that somebody else waits for is not meant here.
        if ((same_pipes && !IsWaitedFor(function, from, to, id) &&
             !HasPendingWait(core.pipes[to], from, to, id)) ||
            (one_pipe && id == wait.v[0] && !IsWaitedFor(function, from, to)))
          return Cat(PipeName(static_cast<Pipe>(from)), "->", PipeName(static_cast<Pipe>(to)),
                     " id ", id, " (line ", LineOf(flag.raised.front().line), ")");
      }
  return "";
}

} // namespace

void Engine::Deadlock() {
  // A wait between cores is the last thing to blame: what keeps the other core may be its own.
  for (Core *core : active_)
    if (core->state != Core::State::kIdle && BlameFlags(*core))
      return;
  std::string all;
  const Core *where = nullptr;
  const Operation *first = nullptr;
  int waits = 0;
  uint32_t line = 0;
  bool others = false;
  for (const Core *core : active_) {
    if (core->state == Core::State::kIdle)
      continue;
    for (int p = 0; p < kNumPipes; ++p) {
      const Wait wait = WaitOf(*core, p);
      if (wait.text.empty())
        continue;
      line = line == 0 ? wait.line : line;
      if (++waits <= kMaxWaits)
        all += Cat(all.empty() ? "" : ", ", NameOf(*core), ": ", wait.text);
      if (!wait.cross)
        continue;
      others |= where && where != core;
      if (!first || (!IsSetSomewhere(*wait.cross) && IsSetSomewhere(*first))) {
        first = wait.cross;
        where = core;
      }
    }
  }
  if (!first) {
    for (const Core *core : active_)
      if (core->state != Core::State::kIdle)
        return FatalFault(*core, line ? line : core->scalar.line, FaultKind::kDeadlock,
                          Cat("deadlock: ", all));
    return;
  }
  if (waits > kMaxWaits)
    all += Cat(" and ", waits - kMaxWaits, " more");
  const bool unset = !IsSetSomewhere(*first) || !others;
  FatalFault(*where, first->line, unset ? FaultKind::kNotSet : FaultKind::kDeadlock,
             Cat("deadlock: ", all,
                 unset ? Cat("; nobody is left to set flag ", first->v[0])
                       : std::string(": each waits for what another would set afterwards")),
             first);
}

// Where the core's own flags are the reason.
bool Engine::BlameFlags(Core &core) {
  // From each pipe that waits along what it waits for, to an end or around.
  std::string all;
  const Operation *first = nullptr;
  uint32_t line = 0;
  const Operation *unset = nullptr;
  std::string cycle;
  bool waits_for_others = false;
  for (int p = 0; p < kNumPipes; ++p) {
    const Wait wait = WaitOf(core, p);
    if (wait.text.empty())
      continue;
    waits_for_others |= wait.cross != nullptr;
    all += Cat(all.empty() ? "" : ", ", wait.text);
    if (wait.flag && !first)
      first = wait.flag;
    if (wait.flag && !unset && (wait.next < 0 || wait.next == p || !IsSetSomewhere(*wait.flag)))
      unset = wait.flag;
    // Around: a pipe that comes back to itself.
    std::array<bool, kNumPipes> seen = {};
    std::string text = wait.text;
    int at = wait.next;
    while (at >= 0 && at != p && !seen[at]) {
      seen[at] = true;
      const Wait further = WaitOf(core, at);
      if (further.text.empty())
        break;
      text += Cat(", ", further.text);
      at = further.next;
    }
    if (at == p && cycle.empty()) {
      cycle = text;
      line = wait.flag ? wait.flag->line : 0;
    }
  }
  if (unset && !waits_for_others) {
    const std::string crossed = CrossedWith(core, *request_.parts[core.part].function, *unset);
    FatalFault(core, unset->line, crossed.empty() ? FaultKind::kNotSet : FaultKind::kCrossed,
               Cat("deadlock: ", all, crossed.empty() ? "" : "; raised is ", crossed,
                   "; nothing sets flag ", FlagName(*unset)),
               unset);
    return true;
  }
  if (cycle.empty())
    return false;
  if (line == 0)
    line = first ? first->line : core.scalar.line;
  FatalFault(core, line, FaultKind::kDeadlock,
             Cat("deadlock: ", cycle, ": each waits for the next, the last for the first"), first);
  return true;
}

} // namespace pyasc::sim
