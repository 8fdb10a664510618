// The device interface: what a driver must offer. Every driver passes tests/conformance.
//
// Ownership: a Driver outlives its Devices, a Device outlives its Buffers and Executables.
// Threads: a Device is used by one thread at a time.
#ifndef PYASC_PROFILER_DEVICE_DEVICE_H
#define PYASC_PROFILER_DEVICE_DEVICE_H

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pyasc/v1/artifact.pb.h"
#include "pyasc/v1/execution.pb.h"
#include "pyasc/v1/report.pb.h"
#include "pyasc/v1/service.pb.h"

namespace pyasc::device {

// Memory of a device. Freed by its destructor.
class Buffer {
public:
  virtual ~Buffer() = default;
  virtual int64_t size_bytes() const = 0;
};

// Code loaded on a device, ready to launch. Unloaded by its destructor.
class Executable {
public:
  virtual ~Executable() = default;
  virtual const v1::LaunchContract &contract() const = 0;
};

// One argument of a launch, in the order of the contract's parameters.
struct LaunchArgument {
  // Set for tensors. Not owned; alive until Launch returns.
  Buffer *buffer = nullptr;
  // The scalar's bits in the parameter's own width, little-endian, zero-extended.
  uint64_t scalar_bits = 0;
};

struct LaunchOptions {
  // Fill PhaseProfile.pipes, paths and the line times; may slow the launch down.
  bool profile = false;
  // Sim only: skip timing (functional) or data (timing only).
  enum class Mode { kFull, kFunctional, kTimingOnly } mode = Mode::kFull;
  // Sim only. Instructions of all cores after which the launch fails; 0: no limit.
  uint64_t max_instructions = 0;
  // Sim only. Host threads; results do not depend on it. 0: one.
  uint32_t threads = 0;
  // Caches as a run before has left them, instead of cold.
  bool hot = false;
  // Sim only, and with data: report what the program does wrong as LaunchOutcome.findings, and go
  // on where that is possible.
  bool sanitize = false;
  // Called with each line that the kernel prints, in order for each core, while it runs or after;
  // on any one thread at a time, never after Launch has returned. May be empty.
  std::function<void(const v1::PrintLine &)> on_print = {};
  // Sim only: a trace of what the pipes do, handed over piece by piece while it runs; at most so
  // many events. Empty: none.
  std::function<void(const v1::TraceChunk &)> on_trace = {};
  uint64_t trace_events = 0;
};

struct LaunchOutcome {
  // One a phase, in order.
  std::vector<v1::PhaseProfile> phases;
  std::vector<v1::LineTime> lines;
  // Launch to end of the last phase on the device's own clock, microseconds.
  double kernel_us = 0;
  double launch_us = 0;
  // First run-time error that the kernel reported (LaunchContract.error_table); code 0: none.
  int64_t error_code = 0;
  int64_t error_value = 0;
  int64_t error_bound = 0;
  // The message of that error where it was made at run time; "": the table's.
  std::string error_message;
  // With LaunchOptions.sanitize.
  std::vector<v1::Finding> findings;
};

class Device {
public:
  virtual ~Device() = default;
  virtual v1::DeviceInfo info() const = 0;
  // INVALID_ARGUMENT: not an artifact of this driver, wrong version, or damaged.
  virtual absl::StatusOr<std::unique_ptr<Executable>> Load(const v1::Artifact &artifact) = 0;
  // Contents are undefined. RESOURCE_EXHAUSTED when the device's memory is full.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t bytes) = 0;
  // Whole or part, synchronous. OUT_OF_RANGE past the buffer's end.
  virtual absl::Status CopyIn(Buffer &to, int64_t offset, std::span<const std::byte> from) = 0;
  virtual absl::Status CopyOut(const Buffer &from, int64_t offset, std::span<std::byte> to) = 0;
  // Runs every phase, in order, and waits for the end. `arguments` as contract().parameters,
  // `results` as contract().results. Workspaces and the error buffer are the device's own matter.
  // INVALID_ARGUMENT: wrong number or sizes. INTERNAL: the program did something illegal.
  virtual absl::StatusOr<LaunchOutcome> Launch(const Executable &executable,
                                               std::span<const LaunchArgument> arguments,
                                               std::span<Buffer *const> results,
                                               const LaunchOptions &options) = 0;
};

class Driver {
public:
  virtual ~Driver() = default;
  // "sim", "host", "ascend".
  virtual std::string name() const = 0;
  virtual std::vector<v1::DeviceInfo> Enumerate() = 0;
  // NOT_FOUND: no such ordinal.
  virtual absl::StatusOr<std::unique_ptr<Device>> Open(uint32_t ordinal) = 0;
};

} // namespace pyasc::device

#endif // PYASC_PROFILER_DEVICE_DEVICE_H
