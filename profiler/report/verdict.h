// What limits a kernel, and what its author should change.
#ifndef PYASC_PROFILER_REPORT_VERDICT_H
#define PYASC_PROFILER_REPORT_VERDICT_H

#include "pyasc/v1/report.pb.h"

namespace pyasc::report {

// Judges a report whose phases, rooflines and compile report are filled in. A kernel over 80 % of
// its roof is bound by memory or compute; below that, by latency, and the summary names the pipe
// that was busiest. At most three pieces of advice, those with the largest estimated gain first.
v1::Verdict Judge(const v1::ProfileReport &report);

} // namespace pyasc::report

#endif // PYASC_PROFILER_REPORT_VERDICT_H
