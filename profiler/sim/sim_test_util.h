// Runs a program on a fresh simulated device, for tests.
#ifndef PYASC_PROFILER_SIM_SIM_TEST_UTIL_H
#define PYASC_PROFILER_SIM_SIM_TEST_UTIL_H

#include <cstring>
#include <vector>

#include "profiler/sim/assembler.h"
#include "profiler/sim/sim_driver.h"

namespace pyasc::sim {

template <typename T> std::vector<std::byte> Bytes(const std::vector<T> &values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T> std::vector<T> Values(const std::vector<std::byte> &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Launches with buffers of the given contents and writes back what they hold afterwards.
inline absl::StatusOr<device::LaunchOutcome>
RunProgram(const v1::Artifact &artifact, std::vector<std::vector<std::byte>> &buffers,
           const device::LaunchOptions &options = {}, const SimOptions &sim = {}) {
  auto driver = MakeSimDriver(sim);
  auto device = driver->Open(0);
  if (!device.ok())
    return device.status();
  auto executable = (*device)->Load(artifact);
  if (!executable.ok())
    return executable.status();
  std::vector<std::unique_ptr<device::Buffer>> owned;
  std::vector<device::LaunchArgument> arguments;
  for (auto &contents : buffers) {
    auto buffer = (*device)->Allocate(static_cast<int64_t>(contents.size()));
    if (!buffer.ok())
      return buffer.status();
    if (absl::Status s = (*device)->CopyIn(**buffer, 0, contents); !s.ok())
      return s;
    arguments.push_back({.buffer = buffer->get()});
    owned.push_back(*std::move(buffer));
  }
  auto outcome = (*device)->Launch(**executable, arguments, {}, options);
  for (size_t i = 0; i < buffers.size(); ++i)
    if (absl::Status s = (*device)->CopyOut(*owned[i], 0, buffers[i]); !s.ok())
      return s;
  return outcome;
}

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_SIM_TEST_UTIL_H
