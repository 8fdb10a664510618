// Turns what a launch measured into a profile report: times, rooflines, verdict and advice.
#ifndef PYASC_PROFILER_REPORT_BUILD_REPORT_H
#define PYASC_PROFILER_REPORT_BUILD_REPORT_H

#include <vector>

#include "profiler/device/device.h"
#include "pyasc/v1/artifact.pb.h"
#include "pyasc/v1/report.pb.h"

namespace pyasc::report {

// Fills launch.kernel/driver/soc/arguments, trust, kernel and launch times, phases, lines,
// rooflines, verdict and the compile report. Leaves what the caller knows (copy times, cache,
// device name, samples) as it is. `report` is not owned.
void BuildReport(const v1::Artifact &artifact, const device::LaunchOutcome &outcome,
                 v1::ProfileReport *report);

// Order statistics of measured kernel times (microseconds, in order of measuring). Quartiles by
// linear interpolation between closest ranks. Empty input gives an empty message.
v1::Samples Summarize(const std::vector<double> &kernel_us);

} // namespace pyasc::report

#endif // PYASC_PROFILER_REPORT_BUILD_REPORT_H
