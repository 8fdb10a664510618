// The device side of a run: loads artifacts, moves tensors, launches, measures.
#ifndef PYASC_SERVER_WORKER_RUN_JOB_H
#define PYASC_SERVER_WORKER_RUN_JOB_H

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "profiler/device/device.h"
#include "pyasc/worker/v1/worker.pb.h"
#include "server/process/tensor_memory.h"

namespace pyasc::server {

namespace wire = pyasc::worker::v1;

// May be empty. Called on any thread, one call at a time for each.
struct RunEvents {
  std::function<void(const v1::Progress &)> on_progress;
  std::function<void(const v1::PrintLine &)> on_print;
  std::function<void(const v1::TraceChunk &)> on_trace;
  // Asked before each use of the device: false once it is another worker's.
  std::function<bool()> holds_device = {};
};

// Owns one device. Used by one thread at a time.
class DeviceRunner {
public:
  // NOT_FOUND: no such ordinal.
  static absl::StatusOr<std::unique_ptr<DeviceRunner>> Open(std::unique_ptr<device::Driver> driver,
                                                            uint32_t ordinal);

  v1::DeviceInfo info() const { return device_->info(); }
  // Never fails as a call: see RunResult.error. `memory` by memory_index; tensors are read from and
  // outputs written to it.
  wire::RunResult Run(const wire::RunJob &job, std::vector<TensorMemory> &memory,
                      const RunEvents &events);

private:
  struct Loaded {
    std::string key;
    v1::Artifact artifact;
    std::unique_ptr<device::Executable> executable;
  };
  struct Launch;
  DeviceRunner() = default;
  // nullptr: not loaded, and the job does not bring it.
  absl::StatusOr<Loaded *> Load(const wire::RunJob &job);
  absl::Status RunOnce(Launch &launch);
  absl::Status Measure(Launch &launch);

  // In order of destruction: executables before the device, it before its driver.
  std::unique_ptr<device::Driver> driver_;
  std::unique_ptr<device::Device> device_;
  std::list<Loaded> loaded_; // most recently used first
  std::unordered_map<std::string, std::list<Loaded>::iterator> index_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_WORKER_RUN_JOB_H
