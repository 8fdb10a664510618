// Compile, then launch: what Run and Profile have in common, apart from how events reach a client.
#ifndef PYASC_SERVER_RPC_RUN_FLOW_H
#define PYASC_SERVER_RPC_RUN_FLOW_H

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "proto/contract/launch_expr.h"
#include "pyasc/v1/execution.pb.h"
#include "server/rpc/run_inputs.h"
#include "server/rpc/service_context.h"

namespace pyasc::server {

struct OutputTensor {
  std::string name;
  v1::TensorType type;
  bool is_scalar = false;
  uint32_t memory_index = 0;
  std::shared_ptr<BufferStore::Use> buffer = nullptr; // that gets it
  bool sent = true;                                   // to the caller
};

struct FlowResult {
  // The service's own; the rest is valid when OK.
  absl::Status status;
  v1::RunDone done;
  // Filled when done.outcome is OK and no run-time error stopped the kernel.
  std::vector<OutputTensor> outputs;
  std::shared_ptr<LaunchWork> work;  // holds the outputs' memory
  std::shared_ptr<RunInputs> inputs; // holds the bytes' lease
};

// 0 samples: run once, nothing measured.
struct MeasureOptions {
  uint32_t max_samples = 0;
  uint32_t max_seconds = 0;
  bool hot = false;
};

class RunFlow : public std::enable_shared_from_this<RunFlow> {
public:
  // Called on any thread; `on_done` once, unless the flow is cancelled.
  struct Events {
    std::function<void(const v1::Progress &)> on_progress;
    std::function<void(const v1::PrintLine &)> on_print;
    // May block.
    std::function<void(const v1::TraceChunk &)> on_trace = {};
    std::function<void(FlowResult)> on_done;
  };

  RunFlow(ServiceContext &service, TenantPtr tenant, v1::RunStart start,
          std::shared_ptr<RunInputs> inputs, MeasureOptions measure, Events events);
  // REQUIRES: the inputs are sealed. Called once.
  void Start();
  // No more events; a launch under way is ended.
  void Cancel();

private:
  void OnCompiled(const CompileAnswer &answer);
  absl::Status Prepare(const CompiledPtr &compiled);
  absl::Status AddArgument(const v1::Parameter &parameter,
                           std::vector<contract::LaunchValue> &values);
  // Counts the memory that the kernel itself takes while it runs.
  absl::Status TakeTemporaries(std::span<const contract::LaunchValue> values);
  absl::Status AddOutput(const std::string &name, std::span<const contract::LaunchValue> values);
  // What the kernel writes and returns that was not asked for by name.
  absl::Status AddOtherOutputs(std::span<const contract::LaunchValue> values);
  // What the kernel writes to leased buffers.
  absl::Status AddBuffers(std::span<const contract::LaunchValue> values);
  absl::Status FillBuffers();
  void OnLaunched(LaunchAnswer answer);
  void End(FlowResult result);
  // `step`: 1 compile, 2 launch. A later step's handle is not replaced by an earlier one's.
  void SetPending(int step, PendingPtr pending);

  ServiceContext &service_;
  const TenantPtr tenant_;
  v1::RunStart start_;
  std::shared_ptr<RunInputs> inputs_;
  const MeasureOptions measure_;
  Events events_;
  std::chrono::steady_clock::time_point begin_;
  double compile_us_ = 0;
  v1::CacheResult cache_ = v1::CACHE_RESULT_UNSPECIFIED;
  std::string request_key_;
  std::shared_ptr<const v1::Artifact> artifact_; // without its code
  std::shared_ptr<LaunchWork> work_;
  std::vector<OutputTensor> outputs_;
  std::optional<v1::Diagnostic> refusal_; // of an argument that the kernel cannot take

  std::mutex mutex_;
  PendingPtr pending_;
  int step_ = 0;
  bool cancelled_ = false;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_RUN_FLOW_H
