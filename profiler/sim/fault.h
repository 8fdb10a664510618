// How the simulator reports that a program did something illegal.
#ifndef PYASC_PROFILER_SIM_FAULT_H
#define PYASC_PROFILER_SIM_FAULT_H

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "compiler/machine/sim_isa.h"
#include "profiler/sim/text.h"

namespace pyasc::sim {

// INTERNAL: "line 12: <what>"; a file other than the first is named by its index.
inline absl::Status FaultAt(uint32_t packed_line, std::string_view what) {
  const uint32_t file = sim_isa::FileOf(packed_line), line = sim_isa::LineOf(packed_line);
  if (line == 0)
    return absl::InternalError(std::string(what));
  return absl::InternalError(file == 0 ? Cat("line ", line, ": ", what)
                                       : Cat("file ", file, " line ", line, ": ", what));
}

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_FAULT_H
