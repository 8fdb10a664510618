// Which phases of a measured launch ran at the same time.
#ifndef PYASC_PROTO_CONTRACT_PHASE_GROUPS_H
#define PYASC_PROTO_CONTRACT_PHASE_GROUPS_H

#include <vector>

#include "pyasc/v1/report.pb.h"

namespace pyasc::contract {

// Phases that ran at the same time; never none. They belong to the report.
struct PhaseGroup {
  std::vector<const v1::PhaseProfile *> phases;
  // The longest one's time, which is what they take together.
  double us = 0;
};

// The report's phases in order: those that follow each other in one group other than 0 ran at the
// same time, any other one alone.
std::vector<PhaseGroup> GroupPhases(const v1::ProfileReport &report);

} // namespace pyasc::contract

#endif // PYASC_PROTO_CONTRACT_PHASE_GROUPS_H
