// What limits a kernel.
#ifndef PYASC_PROFILER_REPORT_VERDICT_H
#define PYASC_PROFILER_REPORT_VERDICT_H

#include "pyasc/v1/report.pb.h"

namespace pyasc::report {

// Judges a report whose times, phases, rooflines and compile report are filled in. The first rule
// that holds names the bound; docs/reports.md explains them:
//  1. the kernel reaches 80 % of its roof: "memory" or "compute", whichever roof is the lower
//  2. launching takes half of the kernel's time: "launch"
//  3. a pipe is busy 60 % of the phases' time: "scalar", "vector", "cube", or "transfer" for mte1,
//     mte2, mte3 and fixpipe
//  4. pipes were measured: "latency"
//  5. nothing but the time is known: no bound
v1::Verdict Judge(const v1::ProfileReport &report);

} // namespace pyasc::report

#endif // PYASC_PROFILER_REPORT_VERDICT_H
