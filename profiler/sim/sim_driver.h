// The sim driver: simulated Ascend devices, deterministic, needing nothing but this process.
#ifndef PYASC_PROFILER_SIM_SIM_DRIVER_H
#define PYASC_PROFILER_SIM_SIM_DRIVER_H

#include <cstdint>
#include <memory>
#include <string>

#include "profiler/device/device.h"

namespace pyasc::sim {

struct SimOptions {
  uint32_t num_devices = 1;
  // What the devices present themselves as; "" is machine::kDefaultSoc. An artifact runs on the
  // SoC that it was compiled for all the same.
  std::string soc;
  // Device memory; 0: as the SoC has, but at most half of the host's, which is what a buffer
  // really takes.
  int64_t memory_bytes = 0;
  // Report missing flags and barriers, whatever the timing.
  bool check_races = true;
};

// Launch errors. INTERNAL: the program did something illegal (out of bounds, missing or unpaired
// flags, deadlock); the message names pipes and line. FAILED_PRECONDITION: timing only was asked
// for a program whose control flow or addresses depend on its data.
// nullptr when options.soc is no SoC.
std::unique_ptr<device::Driver> MakeSimDriver(const SimOptions &options = {});

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_SIM_DRIVER_H
