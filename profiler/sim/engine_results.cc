// What a phase adds up to.
#include <algorithm>

#include "profiler/sim/engine.h"

namespace pyasc::sim {

using namespace sim_isa;

double Engine::HeadCycles(const PhasePart &part) const {
  if (!request_.timing)
    return 0;
  const double all = part.function->cube ? soc_.cube_cores : soc_.vector_cores;
  return (soc_.launch.head_us + (soc_.launch.full_head_us - soc_.launch.head_us) *
                                    std::min(1.0, static_cast<double>(part.blocks) / all)) *
         soc_.clock_ghz * 1e3;
}

void PhaseResult::Accumulate(const PhaseResult &later) {
  for (size_t n = 0; n < core_results.size() && n < later.core_results.size(); ++n) {
    CoreResult &own = core_results[n];
    const CoreResult &more = later.core_results[n];
    own.end = std::max(own.end, cycles + more.end); // later rounds begin where the time is now
    for (int p = 0; p < kNumPipes; ++p) {
      own.busy[p] += more.busy[p];
      own.wait[p] += more.wait[p];
      own.instructions[p] += more.instructions[p];
    }
  }
  cycles += later.cycles;
  head_cycles += later.head_cycles;
  for (int p = 0; p < kNumPipes; ++p) {
    busy[p] += later.busy[p];
    wait[p] += later.wait[p];
    instructions[p] += later.instructions[p];
  }
  for (size_t n = 0; n < core_cycles.size() && n < later.core_cycles.size(); ++n)
    core_cycles[n] += later.core_cycles[n];
  for (size_t n = 0; n < traffic.bytes.size(); ++n)
    traffic.bytes[n] += later.traffic.bytes[n];
  traffic.l2_hits += later.traffic.l2_hits;
  traffic.l2_misses += later.traffic.l2_misses;
  for (const auto &[line, pipes] : later.lines)
    for (int p = 0; p < kNumPipes; ++p)
      lines[line][p] += pipes[p];
}

PhaseResult Engine::Collect(int number) {
  const PhasePart &part = request_.parts[number];
  PhaseResult result;
  result.blocks = part.blocks;
  result.head_cycles = HeadCycles(part);
  Traffic &traffic = traffic_[number];
  for (Core *core : active_) {
    if (core->part != number)
      continue;
    ++result.cores;
    result.cycles = std::max(result.cycles, core->end);
    result.core_cycles.push_back(core->active);
    CoreResult &own = result.core_results.emplace_back();
    own.start = core->first_start;
    own.end = core->end;
    for (int p = 1; p < kNumPipes; ++p) {
      result.busy[p] += core->pipes[p].busy;
      result.wait[p] += core->pipes[p].wait;
      result.instructions[p] += core->pipes[p].instructions;
    }
    for (int p = 1; p < kNumPipes; ++p) {
      own.busy[p] = core->pipes[p].busy;
      own.wait[p] = core->pipes[p].wait;
      own.instructions[p] = core->pipes[p].instructions;
    }
    own.busy[0] = core->scalar_active - core->scalar_wait;
    own.wait[0] = core->scalar_wait;
    own.instructions[0] = core->scalar.instructions;
    result.busy[0] += core->scalar_active - core->scalar_wait;
    result.wait[0] += core->scalar_wait;
    result.instructions[0] += core->scalar.instructions;
    traffic.bytes[static_cast<int>(Path::kGmToScalar)] +=
        core->scalar.cache_misses * DataCache::kLineBytes;
    traffic.bytes[static_cast<int>(Path::kScalarToGm)] +=
        core->cache.written_back * DataCache::kLineBytes;
    if (request_.profile)
      for (size_t n = 0; n < codes_[number]->instructions.size(); ++n)
        if (core->scalar.counts[n] != 0)
          AddLineTime(number, codes_[number]->instructions[n].line_slot, kScalarPipe,
                      static_cast<double>(core->scalar.counts[n]) *
                              codes_[number]->instructions[n].cycles +
                          core->scalar.miss_time[n]);
  }
  result.traffic = traffic;
  for (size_t n = 0; n < lines_[number].size(); ++n)
    if (lines_[number][n].used)
      result.lines[codes_[number]->lines[n]] = lines_[number][n].cycles;
  return result;
}

} // namespace pyasc::sim
