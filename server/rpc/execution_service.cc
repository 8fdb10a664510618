#include "server/rpc/execution_service.h"

#include "server/core/service_error.h"
#include "server/rpc/check_request.h"
#include "server/rpc/run_call.h"
#include "server/rpc/run_flow.h"
#include "server/rpc/watch_call.h"

namespace pyasc::server {
namespace {

constexpr uint32_t kDefaultSamples = 20;
constexpr uint32_t kDefaultSeconds = 5;
constexpr uint32_t kMaxSamples = 10'000;
constexpr uint32_t kMaxSeconds = 600;

} // namespace

grpc::ServerBidiReactor<v1::RunRequest, v1::RunEvent> *
ExecutionServiceImpl::Run(grpc::CallbackServerContext *context) {
  auto *call = new RunCall(service_, context);
  call->Begin();
  return call;
}

grpc::ServerUnaryReactor *ExecutionServiceImpl::Profile(grpc::CallbackServerContext *context,
                                                        const v1::ProfileRequest *request,
                                                        google::longrunning::Operation *reply) {
  CallScope scope(service_, "Profile");
  absl::Status status = scope.Enter(*context);
  if (status.ok())
    status = StartProfile(*request, *context, scope.tenant(), reply);
  grpc::Status ends = ToGrpcStatus(status);
  scope.Ends(ends);
  grpc::ServerUnaryReactor *reactor = context->DefaultReactor();
  reactor->Finish(ends);
  return reactor;
}

absl::Status ExecutionServiceImpl::StartProfile(const v1::ProfileRequest &request,
                                                const grpc::CallbackServerContext &context,
                                                const TenantPtr &tenant,
                                                google::longrunning::Operation *reply) {
  if (absl::Status s = CheckKnownFields(request, context, service_.backend); !s.ok())
    return s;
  v1::RunStart start = request.run();
  NameRequest(start.mutable_compile(), context);
  if (absl::Status s = CheckRunStart(start, /*chunks_allowed=*/false); !s.ok())
    return s;
  // The reply has no place for tensors.
  if (!start.options().outputs().empty())
    return ServiceError(absl::StatusCode::kInvalidArgument,
                        "Profile sends no outputs back; use Run for them",
                        {.reason = "INVALID_REQUEST"});
  auto inputs = std::make_shared<RunInputs>(service_, tenant);
  if (absl::Status s = inputs->Accept(start); !s.ok())
    return s;
  if (absl::Status s = inputs->Seal(); !s.ok())
    return s;

  auto operation = operations_.Create(tenant->name(), "profile", RouteOf(context));
  if (!operation.ok())
    return operation.status();
  const std::string name = operation->name();
  MeasureOptions measure;
  measure.max_samples =
      std::min(request.max_samples() ? request.max_samples() : kDefaultSamples, kMaxSamples);
  measure.max_seconds =
      std::min(request.max_seconds() ? request.max_seconds() : kDefaultSeconds, kMaxSeconds);
  measure.hot = request.hot();
  RunFlow::Events events;
  OperationStore *store = &operations_;
  events.on_progress = [store, name](const v1::Progress &progress) {
    store->SetProgress(name, progress);
  };
  events.on_print = [store, name](const v1::PrintLine &line) { store->AddPrint(name, line); };
  events.on_done = [store, name](FlowResult result) {
    if (!result.status.ok())
      return store->Fail(name, result.status);
    v1::ProfileReply reply;
    *reply.mutable_result() = std::move(result.done);
    store->Finish(name, reply);
  };
  auto flow = std::make_shared<RunFlow>(service_, tenant, std::move(start), std::move(inputs),
                                        measure, std::move(events));
  // The flow keeps itself alive while it works; the operation only knows how to stop it.
  operations_.SetCancel(name, [weak = std::weak_ptr<RunFlow>(flow)] {
    if (auto flow = weak.lock())
      flow->Cancel();
  });
  flow->Start();
  auto now = operations_.Get(tenant->name(), name);
  *reply = now.ok() ? *std::move(now) : *std::move(operation);
  return absl::OkStatus();
}

grpc::ServerWriteReactor<v1::OperationEvent> *
ExecutionServiceImpl::WatchOperation(grpc::CallbackServerContext *context,
                                     const v1::WatchOperationRequest *request) {
  auto *call = new WatchCall(service_, operations_, *request);
  call->Begin(*context);
  return call;
}

grpc::ServerUnaryReactor *ExecutionServiceImpl::Tune(grpc::CallbackServerContext *context,
                                                     const v1::TuneRequest *,
                                                     google::longrunning::Operation *) {
  grpc::ServerUnaryReactor *reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(
      ServiceError(absl::StatusCode::kUnimplemented,
                   "this build of the service does not tune kernels; profile variants instead",
                   {.reason = "NO_TUNE"})));
  return reactor;
}

} // namespace pyasc::server
