// Runs npu modules, given as MLIR text, on the simulator.
#ifndef PYASC_TESTS_SIM_SIM_HARNESS_H
#define PYASC_TESTS_SIM_SIM_HARNESS_H

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "profiler/sim/sim_test_util.h"

namespace pyasc::tests {

// Exports the module's one function. INVALID_ARGUMENT: the text does not parse or has no form in
// the simulator; the message holds all diagnostics.
absl::StatusOr<v1::SimFunction> ExportText(const std::string &module);

// Exports, launches with `buffers` as the arguments, and writes back what they hold.
absl::StatusOr<device::LaunchOutcome> RunText(const std::string &module,
                                              std::vector<std::vector<std::byte>> &buffers,
                                              int64_t blocks = 1);

} // namespace pyasc::tests

#endif // PYASC_TESTS_SIM_SIM_HARNESS_H
