// Flags between the pipes of a core: who gets one when, and what its waiter then knows.
#include "profiler/sim/engine.h"
#include "profiler/sim/fault.h"
#include "profiler/sim/text.h"

namespace pyasc::sim {

using namespace sim_isa;

void Engine::Raise(Core &core, const Operation &set, double time, const View &view) {
  const int from = set.descriptor->sub, to = set.descriptor->aux;
  FlagState &flag = core.flag(from, to, set.v[0]);
  if (request_.timing)
    time += soc_.scalar.flag_cycles;
  // Raised ahead of time, Lower looks at the times.
  if (!flag.raised.empty() && (from != kScalarPipe || sanitizing()) && request_.data)
    Fault(core, set.line, FaultKind::kDoubleSet,
          Cat("flag ", FlagName(set), " is raised again before anything waited for it"), &set,
          {.from = PipeName(static_cast<Pipe>(from)),
           .to = PipeName(static_cast<Pipe>(to)),
           .id = set.v[0]});
  else if (sanitizing() && flag.waited != 0 && to != from && view.own[to] < flag.waited)
    Fault(core, set.line, FaultKind::kDoubleSet,
          Cat("flag ", FlagName(set), " may be raised again before the wait in line ",
              LineOf(flag.waited_line), " has taken the last one: nothing orders the two"),
          &set);
  if (flag.raised.size() >= kMostFlags)
    FatalFault(core, set.line, FaultKind::kDoubleSet,
               Cat("flag ", FlagName(set), " is raised ", kMostFlags,
                   " times before anything waits for it"),
               &set);
  if (!status_.ok())
    return;
  FlagState::Raise &raise = flag.raised.push();
  raise.time = time;
  if (core.checker.on())
    raise.view = view;
  raise.line = set.line;
  if (to == kScalarPipe) {
    if (core.state == Core::State::kWaitFlag && core.pending.descriptor->sub == from &&
        core.pending.v[0] == set.v[0]) {
      PassFlag(core, core.pending, view);
      flag.raised.pop_front();
      Resume(core, time);
    }
    return;
  }
  PipeState &waiter = core.pipes[to];
  if (waiter.blocked == PipeState::Blocked::kFlag)
    ScheduleTry(core, to, time);
}

bool Engine::Lower(Core &core, const Operation &wait, double now, double &later) {
  FlagState &flag = core.flag(wait.descriptor->sub, wait.descriptor->aux, wait.v[0]);
  if (flag.raised.empty())
    return false;
  if (flag.raised.front().time > now) {
    later = flag.raised.front().time;
    return false;
  }
  PassFlag(core, wait, flag.raised.front().view);
  flag.raised.pop_front();
  // The scalar unit runs ahead, so its second raise may already be known: it counts from its time.
  if (!flag.raised.empty() && flag.raised.front().time < now && !sanitizing())
    Fault(core, flag.raised.front().line, FaultKind::kDoubleSet,
          Cat("flag ", FlagName(wait), " is raised again before anything waited for it"));
  return true;
}

void Engine::PassFlag(Core &core, const Operation &wait, const View &view) {
  const auto to = static_cast<Pipe>(wait.descriptor->aux);
  core.checker.Acquire(to, view);
  if (!sanitizing())
    return;
  FlagState &flag = core.flag(wait.descriptor->sub, wait.descriptor->aux, wait.v[0]);
  flag.waited = core.checker.Mark(to);
  flag.waited_line = wait.line;
}

} // namespace pyasc::sim
