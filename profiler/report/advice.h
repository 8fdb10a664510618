// What the author of a kernel should change.
#ifndef PYASC_PROFILER_REPORT_ADVICE_H
#define PYASC_PROFILER_REPORT_ADVICE_H

#include <vector>

#include "pyasc/v1/report.pb.h"

namespace pyasc::report {

// At most three pieces of advice, the most rewarding first, none said twice. Gains are shares of
// kernel_us, each of what the advice before it leaves.
std::vector<v1::Advice> Advise(const v1::ProfileReport &report);

} // namespace pyasc::report

#endif // PYASC_PROFILER_REPORT_ADVICE_H
