// Turns what the engine has counted into the messages of report.proto.
#ifndef PYASC_PROFILER_SIM_PROFILE_H
#define PYASC_PROFILER_SIM_PROFILE_H

#include <span>
#include <vector>

#include "profiler/device/device.h"
#include "profiler/sim/engine.h"

namespace pyasc::sim {

class ProfileBuilder {
public:
  // Without timing, phases have neither times nor cycles.
  ProfileBuilder(const machine::Soc &soc, bool timing, bool profile)
      : soc_(soc), timing_(timing), profile_(profile) {}
  // Adds the time of a launch: of phases that ran at the same time, the longest.
  void AddTime(const std::vector<PhaseResult> &results, device::LaunchOutcome &outcome) const;
  // Appends phases that ran at the same time, `launches` times, to `outcome`.
  void Add(std::span<const v1::Phase *const> phases, const std::vector<PhaseResult> &results,
           int64_t launches, device::LaunchOutcome &outcome);
  // Writes the line times, greatest first.
  void Finish(device::LaunchOutcome &outcome) const;

private:
  void AddPipes(const PhaseResult &result, v1::PhaseProfile &to) const;
  void AddCores(const PhaseResult &result, v1::PhaseProfile &to) const;
  void AddPaths(const PhaseResult &result, v1::PhaseProfile &to) const;

  const machine::Soc &soc_;
  bool timing_;
  bool profile_;
  // Mean over the cores of a phase, microseconds, summed over the phases.
  LineTimes lines_;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_PROFILE_H
