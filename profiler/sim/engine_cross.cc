// Flags between cores: who gets one when, and what its waiter then knows.
#include "profiler/sim/engine.h"
#include "profiler/sim/fault.h"
#include "profiler/sim/text.h"

namespace pyasc::sim {

using namespace sim_isa;

bool Engine::UsesCrossFlags() const {
  for (const PhasePart &part : request_.parts)
    for (const Descriptor &d : part.function->descriptors)
      if (d.op == PipeOp::kCrossSet || d.op == PipeOp::kCrossWait)
        return true;
  return false;
}

Core *Engine::CoreOf(bool cube, int64_t block) const {
  for (Core *core : active_)
    if (core->cube == cube && core->block == block)
      return core;
  return nullptr;
}

void Engine::SetCross(Core &core, const Operation &set, double time, const View &view) {
  const int64_t id = set.v[0];
  const auto mode = static_cast<CrossMode>(set.descriptor->sub);
  // Others will look at what this core has done to global memory.
  if (threads_)
    threads_->Wait(core.slot);
  if (request_.timing)
    time += soc_.scalar.cross_flag_cycles;
  // Whose sets make one flag, and who gets it.
  std::vector<Core *> setters, takers;
  int64_t group = 0;
  if (mode == CrossMode::kAll) {
    for (Core *other : active_)
      if (other->cube == core.cube)
        setters.push_back(other);
    takers = setters;
  } else {
    group = core.cube ? core.block : core.block / 2;
    Core *cube = CoreOf(true, group);
    Core *vectors[2] = {CoreOf(false, 2 * group), CoreOf(false, 2 * group + 1)};
    const bool whole = vectors[0] && vectors[1] && (mode == CrossMode::kPair || cube);
    if (!whole)
      return FatalFault(core, set.line, FaultKind::kNoPartner,
                        Cat("cross_set in mode ", set.descriptor->sub, ": ", NameOf(core),
                            mode == CrossMode::kPair
                                ? " has no second vector core in its group"
                                : " has no cube core with two vector cores as its group"),
                        &set);
    if (core.cube)
      setters = {cube};
    else
      setters = {vectors[0], vectors[1]};
    if (mode == CrossMode::kPair || core.cube)
      takers = {vectors[0], vectors[1]};
    else
      takers = {cube};
  }
  CrossGroup &sets = cross_[{set.descriptor->sub + (core.cube ? 3 : 0), group, id}];
  sets.members.resize(setters.size());
  for (size_t n = 0; n < setters.size(); ++n)
    if (setters[n] == &core) {
      sets.members[n].push_back({time, set.line, view});
      if (sets.members[n].size() > kMaxCrossCount)
        return FatalFault(core, set.line, FaultKind::kCrossCount,
                          Cat("flag ", id, " between cores is set more than ", kMaxCrossCount,
                              " times by ", NameOf(core), " before the others set it"),
                          &set);
    }
  FlagState::Raise all;
  for (const auto &member : sets.members) {
    if (member.empty())
      return;
    all.time = std::max(all.time, member.front().time);
    all.line = set.line;
    if (core.checker.on())
      all.view.JoinForeign(member.front().view.foreign);
  }
  for (auto &member : sets.members)
    member.pop_front();
  for (Core *taker : takers) {
    GiveCross(*taker, id, all.time, all.view, all.line);
    if (!status_.ok())
      return;
  }
}

void Engine::GiveCross(Core &to, int64_t id, double time, const View &view, uint32_t line) {
  FlagState &flag = to.cross[id];
  if (flag.raised.size() >= kMaxCrossCount)
    return FatalFault(to, line, FaultKind::kCrossCount,
                      Cat("flag ", id, " between cores is set ", kMaxCrossCount + 1,
                          " times before ", NameOf(to), " waits for it"));
  flag.raised.push_back({time, line, view});
  if (to.state == Core::State::kWaitCross && to.pending.v[0] == id) {
    to.checker.Import(Pipe::kS, view);
    flag.raised.pop_front();
    Resume(to, time);
    return;
  }
  for (int p = 1; p < kNumPipes; ++p)
    if (to.pipes[p].blocked == PipeState::Blocked::kCross)
      ScheduleTry(to, p, time);
}

bool Engine::LowerCross(Core &core, const Operation &wait, Pipe pipe, double now, double &later) {
  FlagState &flag = core.cross[wait.v[0]];
  if (flag.raised.empty())
    return false;
  if (flag.raised.front().time > now) {
    later = flag.raised.front().time;
    return false;
  }
  core.checker.Import(pipe, flag.raised.front().view);
  flag.raised.pop_front();
  return true;
}

// At the end: every flag has been waited for.
void Engine::CheckCross(Core &core) {
  for (int64_t id = 0; id < kMaxCrossFlags; ++id)
    if (const FlagState &flag = core.cross[id]; !flag.raised.empty())
      Fault(core, flag.raised.front().line, FaultKind::kNotWaited,
            Cat("flag ", id, " between cores is still set at the end of ", NameOf(core),
                ": nothing waits for it"),
            nullptr, {.id = id, .between_cores = true, .cube = core.cube});
}

std::string Engine::NameOf(const Core &core) const {
  return Cat(core.cube ? "cube" : "vector", " block ", core.block);
}

} // namespace pyasc::sim
