// What the RPC services stand on: something that compiles, and launches on devices.
//
// pyascd's backend has a cache, single flight and pools of worker processes; the one of
// `pyasc-worker --role=local` does all in its own process. No call blocks. Callbacks come exactly
// once, on any thread, perhaps before the call returns.
#ifndef PYASC_SERVER_CORE_BACKEND_H
#define PYASC_SERVER_CORE_BACKEND_H

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pyasc/v1/compile.pb.h"
#include "pyasc/v1/service.pb.h"
#include "pyasc/worker/v1/worker.pb.h"
#include "server/core/compiled.h"
#include "server/core/fair_queue.h"
#include "server/process/tensor_memory.h"

namespace pyasc::server {

namespace wire = pyasc::worker::v1;

// Whose work it is.
struct Caller {
  // Part of every stored key: artifacts are seen within their namespace only.
  std::string name_space;
  Share share;
};

// Work that can be given up. Destroying it does not cancel.
class Pending {
public:
  virtual ~Pending() = default;
  // The caller does not want the answer any more: the callback may still come, or never.
  virtual void Cancel() = 0;
};
using PendingPtr = std::shared_ptr<Pending>;

struct CompileAnswer {
  // An error is the service's own.
  absl::StatusOr<CompiledPtr> compiled = absl::UnknownError("no answer");
  v1::CacheResult cache = v1::CACHE_RESULT_UNSPECIFIED;
  std::string request_key;
  int64_t queue_ns = 0;
};

// One launch, or one series of measured launches, of a compiled kernel.
struct LaunchWork {
  v1::Target target = v1::TARGET_UNSPECIFIED;
  std::optional<uint32_t> ordinal; // any that is free
  Share share;
  CompiledPtr compiled;
  // artifact_key, artifact and memory are the backend's to fill.
  wire::RunJob job;
  // By memory_index; alive until the answer has come.
  std::vector<TensorMemory> memory;
  // Once it has its device; 0: the server's limit.
  std::chrono::milliseconds time_limit{0};
  // Also told, before Launch returns, when it has to wait for its device.
  std::function<void(const v1::Progress &)> on_progress;
  std::function<void(const v1::PrintLine &)> on_print;
  // May block, so that a slow reader holds the run up instead of filling memory.
  std::function<void(const v1::TraceChunk &)> on_trace;
};

struct LaunchAnswer {
  // The service's own: no such device, queue full, cancelled.
  absl::Status status;
  // What the device worker did instead of answering: "crashed (signal 11)".
  std::string failure;
  // With `failure`: it died of the run, rather than being ended for its time.
  bool died = false;
  wire::RunResult result;
  // How long it held a device.
  std::chrono::nanoseconds lease{};
};

class Backend {
public:
  virtual ~Backend() = default;
  // `on_wait`, unless empty: called before the call returns, and before `done`, when the answer is
  // not at hand.
  virtual PendingPtr Compile(v1::CompileRequest request, const Caller &caller,
                             std::function<void(const CompileAnswer &)> done,
                             const std::function<void()> &on_wait) = 0;
  // What is at hand for a request key that Compile() gave before; nullptr: ask Compile().
  virtual CompiledPtr FindCached(const std::string &, const Caller &) { return nullptr; }
  // Errors are the service's own.
  virtual PendingPtr Check(v1::CheckRequest request, const Caller &caller,
                           std::function<void(absl::StatusOr<v1::CheckReply>)> done) = 0;
  virtual PendingPtr Launch(std::shared_ptr<LaunchWork> work,
                            std::function<void(LaunchAnswer)> done) = 0;
  virtual std::vector<v1::DeviceInfo> Devices() = 0;
  virtual const v1::GetCapabilitiesReply &capabilities() const = 0;
  // A serialised ArtifactRecord. NOT_FOUND; UNIMPLEMENTED without a cache. May block: not for
  // handlers.
  virtual absl::StatusOr<std::string> ArtifactRecord(const std::string &key,
                                                     const Caller &caller) = 0;
  // A run of what `request` compiles to has killed its worker. May write to the disk.
  virtual void KeepCrash(const std::string & /*how*/, const v1::CompileRequest & /*request*/) {}
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CORE_BACKEND_H
