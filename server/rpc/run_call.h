// One Run call: takes the start and the chunks, runs the flow, sends events and outputs.
#ifndef PYASC_SERVER_RPC_RUN_CALL_H
#define PYASC_SERVER_RPC_RUN_CALL_H

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "pyasc/v1/execution.grpc.pb.h"
#include "server/rpc/run_flow.h"
#include "server/rpc/service_context.h"

namespace pyasc::server {

// Deletes itself. One write is under way at a time and outputs are read from shared memory only
// when the write before has ended: a slow reader costs its outputs' memory and one chunk.
class RunCall final : public grpc::ServerBidiReactor<v1::RunRequest, v1::RunEvent> {
public:
  RunCall(ServiceContext &service, grpc::CallbackServerContext *context);
  void Begin();
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

private:
  // What is to be asked of gRPC once the mutex is free again: the thread that hears of the end of a
  // write would wait for the one that began it. Until it is done the call is alive.
  struct Step {
    enum class Kind { kNone, kWrite, kWriteLast, kFinish } kind = Kind::kNone;
    grpc::Status status = {}; // of kFinish
  };
  void Do(const Step &step);

  // What outlives the call: the flow's callbacks look here whether the call is still there.
  struct Link {
    std::mutex mutex;
    RunCall *call = nullptr;
    // The queue has become shorter, or the call is gone.
    std::condition_variable room;

    // Tells the call, if it is still there, and does what it says.
    template <typename Event> void Tell(Event event) {
      RunCall *told = nullptr;
      Step step;
      {
        std::lock_guard lock(mutex);
        if (!call)
          return;
        told = call;
        step = event(*told);
      }
      if (step.kind != Step::Kind::kNone) // else it may be gone by now
        told->Do(step);
    }
  };

  // All below: with the link's mutex held.
  absl::Status TakeRequest();
  absl::Status TakeStart();
  void StartFlow();
  [[nodiscard]] Step OnFlowDone(FlowResult result);
  [[nodiscard]] Step Enqueue(v1::RunEvent event);
  // The next write, or the end of the call after the last.
  [[nodiscard]] Step Continue();
  // False: there is no output left.
  bool NextOutput(v1::RunEvent *event);
  void TakeWaiting();
  [[nodiscard]] Step End(const grpc::Status &status);
  // Nothing that comes later is for this call.
  void Leave(const grpc::Status &status);

  ServiceContext &service_;
  grpc::CallbackServerContext *context_;
  CallScope scope_;
  std::shared_ptr<Link> link_;
  v1::RunRequest request_;
  v1::RunStart start_;
  bool started_ = false;
  std::shared_ptr<RunInputs> inputs_;
  std::shared_ptr<RunFlow> flow_;

  std::deque<v1::RunEvent> queue_;
  v1::RunEvent writing_event_;
  bool writing_ = false;
  bool flow_done_ = false;
  FlowResult result_;
  size_t output_ = 0;         // next output
  int64_t output_offset_ = 0; // sent of it
  bool output_announced_ = false;
  size_t dropped_prints_ = 0;
  bool ended_ = false;
  std::optional<grpc::Status> end_after_write_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_RUN_CALL_H
