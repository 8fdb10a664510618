#include "proto/contract/phase_groups.h"

#include <algorithm>

namespace pyasc::contract {

std::vector<PhaseGroup> GroupPhases(const v1::ProfileReport &report) {
  std::vector<PhaseGroup> groups;
  uint32_t group = 0;
  for (const v1::PhaseProfile &phase : report.phases()) {
    if (groups.empty() || phase.group() == 0 || phase.group() != group)
      groups.emplace_back();
    group = phase.group();
    groups.back().phases.push_back(&phase);
    groups.back().us = std::max(groups.back().us, phase.time_us());
  }
  return groups;
}

} // namespace pyasc::contract
