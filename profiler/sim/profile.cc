#include "profiler/sim/profile.h"

#include <algorithm>

namespace pyasc::sim {
namespace {

constexpr std::string_view kPipeNames[sim_isa::kNumPipes] = {"scalar", "vector", "cube",   "mte1",
                                                             "mte2",   "mte3",   "fixpipe"};

} // namespace

void ProfileBuilder::AddTime(const std::vector<PhaseResult> &results,
                             device::LaunchOutcome &outcome) const {
  double launch = 0, time = 0;
  for (const PhaseResult &result : results) {
    launch = std::max(launch, soc_.cycles_to_us(result.head_cycles));
    time = std::max(time, soc_.cycles_to_us(result.cycles));
  }
  if (!timing_)
    return;
  outcome.launch_us += launch;
  outcome.kernel_us += launch + time;
}

void ProfileBuilder::Add(std::span<const v1::Phase *const> phases,
                         const std::vector<PhaseResult> &results, int64_t launches,
                         device::LaunchOutcome &outcome) {
  for (size_t n = 0; n < phases.size(); ++n) {
    const PhaseResult &result = results[n];
    v1::PhaseProfile &to = outcome.phases.emplace_back();
    to.set_entry(phases[n]->entry());
    to.set_core(phases[n]->core() == v1::CORE_KIND_AIC ? "aic" : "aiv");
    to.set_blocks(result.blocks);
    to.set_group(phases[n]->group());
    if (launches != 1)
      to.set_launches(launches);
    if (!timing_)
      continue;
    to.set_time_us(soc_.cycles_to_us(result.cycles));
    to.set_launch_us(soc_.cycles_to_us(result.head_cycles));
    to.set_cycles(static_cast<int64_t>(result.cycles + 0.5));
    if (!profile_)
      continue;
    for (double cycles : result.core_cycles)
      to.add_core_time_us(soc_.cycles_to_us(cycles));
    AddPipes(result, to);
    AddPaths(result, to);
    AddCores(result, to);
    const double cores = std::max(result.cores, 1);
    for (const auto &[line, pipes] : result.lines)
      for (int p = 0; p < sim_isa::kNumPipes; ++p)
        lines_[line][p] += soc_.cycles_to_us(pipes[p] / cores);
  }
}

void ProfileBuilder::AddPipes(const PhaseResult &result, v1::PhaseProfile &to) const {
  const double cores = std::max(result.cores, 1);
  for (int p = 0; p < sim_isa::kNumPipes; ++p) {
    if (result.instructions[p] == 0)
      continue;
    v1::PipeTime &pipe = *to.add_pipes();
    pipe.set_pipe(std::string(kPipeNames[p]));
    pipe.set_busy_us(soc_.cycles_to_us(result.busy[p] / cores));
    pipe.set_wait_us(soc_.cycles_to_us(result.wait[p] / cores));
    pipe.set_utilization(to.time_us() > 0 ? pipe.busy_us() / to.time_us() : 0);
    pipe.set_instructions(result.instructions[p]);
  }
}

void ProfileBuilder::AddCores(const PhaseResult &result, v1::PhaseProfile &to) const {
  for (size_t n = 0; n < result.core_results.size(); ++n) {
    const CoreResult &core = result.core_results[n];
    v1::CoreProfile &c = *to.add_cores();
    c.set_core(static_cast<uint32_t>(n));
    c.set_start_us(soc_.cycles_to_us(core.start));
    c.set_end_us(soc_.cycles_to_us(core.end));
    for (int p = 0; p < sim_isa::kNumPipes; ++p) {
      if (core.instructions[p] == 0)
        continue;
      v1::PipeTime &pipe = *c.add_pipes();
      pipe.set_pipe(std::string(kPipeNames[p]));
      pipe.set_busy_us(soc_.cycles_to_us(core.busy[p]));
      pipe.set_wait_us(soc_.cycles_to_us(core.wait[p]));
      pipe.set_utilization(core.end > core.start ? core.busy[p] / (core.end - core.start) : 0);
      pipe.set_instructions(core.instructions[p]);
    }
  }
}

void ProfileBuilder::AddPaths(const PhaseResult &result, v1::PhaseProfile &to) const {
  const Traffic &traffic = result.traffic;
  for (int n = 0; n < kNumPaths; ++n) {
    if (traffic.bytes[n] == 0)
      continue;
    const auto path = static_cast<Path>(n);
    v1::PathTraffic &p = *to.add_paths();
    p.set_path(std::string(PathName(path)));
    p.set_bytes(traffic.bytes[n]);
    if (to.time_us() > 0)
      p.set_gb_per_s(static_cast<double>(traffic.bytes[n]) / (to.time_us() * 1e3));
    if (const double peak = PathPeak(path, soc_, result.cores); peak > 0)
      p.set_peak_fraction(p.gb_per_s() / peak);
  }
  if (traffic.l2_hits + traffic.l2_misses == 0)
    return;
  to.set_l2_hits(traffic.l2_hits);
  to.set_l2_misses(traffic.l2_misses);
  to.set_l2_hit_ratio(static_cast<double>(traffic.l2_hits) /
                      static_cast<double>(traffic.l2_hits + traffic.l2_misses));
}

void ProfileBuilder::Finish(device::LaunchOutcome &outcome) const {
  for (const auto &[line, pipes] : lines_) {
    if (sim_isa::LineOf(line) == 0)
      continue;
    v1::LineTime &to = outcome.lines.emplace_back();
    to.mutable_range()->set_file(sim_isa::FileOf(line));
    to.mutable_range()->set_line(sim_isa::LineOf(line));
    to.mutable_range()->set_end_line(sim_isa::LineOf(line));
    double sum = 0;
    for (double us : pipes)
      sum += us;
    to.set_busy_us(sum);
    to.set_pipe(
        std::string(kPipeNames[std::max_element(pipes.begin(), pipes.end()) - pipes.begin()]));
  }
  std::stable_sort(outcome.lines.begin(), outcome.lines.end(),
                   [](const auto &a, const auto &b) { return a.busy_us() > b.busy_us(); });
}

} // namespace pyasc::sim
