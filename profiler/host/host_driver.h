// The host driver: runs HostCode artifacts on this machine's CPU. One device, ordinal 0.
//
// It runs strangers' native code in the calling process: only a sandboxed worker may use it.
#ifndef PYASC_PROFILER_HOST_HOST_DRIVER_H
#define PYASC_PROFILER_HOST_HOST_DRIVER_H

#include <memory>

#include "profiler/device/device.h"

namespace pyasc::device {

std::unique_ptr<Driver> MakeHostDriver();

} // namespace pyasc::device

#endif // PYASC_PROFILER_HOST_HOST_DRIVER_H
