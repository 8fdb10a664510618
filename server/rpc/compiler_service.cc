#include "server/rpc/compiler_service.h"

#include "grpcpp/support/proto_buffer_reader.h"
#include "server/rpc/batch_call.h"
#include "server/rpc/batch_operation.h"
#include "server/rpc/check_request.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {
namespace {

grpc::ByteBuffer MakeReply(const CompileAnswer &answer, int64_t service_ns) {
  auto *held = new CompiledPtr(*answer.compiled);
  std::string_view shared = (*held)->reply();
  grpc::Slice slices[2] = {grpc::Slice(
                               const_cast<char *>(shared.data()), shared.size(),
                               [](void *p) { delete static_cast<CompiledPtr *>(p); }, held),
                           grpc::Slice(CallFields(answer, service_ns).SerializeAsString())};
  return grpc::ByteBuffer(slices, 2);
}

// A unary call whose answer comes later, from another thread. Answer and cancellation race for it:
// the first one finishes it.
template <typename Answer> class AnsweredCall final : public grpc::ServerUnaryReactor {
public:
  // Fills the reply from the answer; `service_ns`: the time of the call so far.
  using Deliver = std::function<absl::Status(Answer, int64_t service_ns)>;

  AnsweredCall(ServiceContext &service, const char *method, Deliver deliver)
      : scope_(service, method), deliver_(std::move(deliver)), state_(std::make_shared<State>()) {
    state_->call = this;
  }

  CallScope &scope() { return scope_; }
  // REQUIRES: exactly one of Refuse and Start is called, once.
  void Refuse(const absl::Status &status) {
    state_->FinishOnce([&](AnsweredCall &call) { call.End(ToGrpcStatus(status)); });
  }
  // `submit` is given what takes the answer, and returns the work that is under way.
  template <typename Submit> void Start(Submit submit) {
    // Once it is submitted the call may be over and this object gone: only `state` may be touched.
    std::shared_ptr<State> state = state_;
    PendingPtr pending = submit([state](Answer answer) {
      state->FinishOnce([&](AnsweredCall &call) {
        call.End(ToGrpcStatus(call.deliver_(std::move(answer), call.scope_.elapsed_ns())));
      });
    });
    std::lock_guard lock(state->mutex);
    state->pending = std::move(pending);
    if (state->cancelled && state->pending)
      state->pending->Cancel();
  }

  void OnCancel() override {
    std::shared_ptr<State> state = state_;
    state->FinishOnce([](AnsweredCall &call) { call.End(grpc::Status::CANCELLED); });
    std::lock_guard lock(state->mutex);
    state->cancelled = true;
    if (state->pending)
      state->pending->Cancel();
  }
  void OnDone() override { delete this; }

private:
  struct State {
    template <typename Finish> void FinishOnce(Finish finish) {
      if (!finished.exchange(true))
        finish(*call);
    }
    AnsweredCall *call = nullptr; // alive as long as `finished` is false
    std::atomic<bool> finished{false};
    std::mutex mutex;
    PendingPtr pending;
    bool cancelled = false;
  };

  void End(const grpc::Status &status) {
    scope_.Ends(status);
    Finish(status);
  }

  CallScope scope_;
  Deliver deliver_;
  std::shared_ptr<State> state_;
};

// What a check has in common with a compile: the same is asked of it.
v1::CompileRequest AsCompile(const v1::CheckRequest &request) {
  v1::CompileRequest compile;
  *compile.mutable_files() = request.files();
  *compile.mutable_constants() = request.constants();
  *compile.mutable_arguments() = request.arguments();
  compile.set_target(request.target());
  *compile.mutable_options() = request.options();
  return compile;
}

} // namespace

grpc::ServerUnaryReactor *CompilerServiceImpl::Compile(grpc::CallbackServerContext *context,
                                                       const grpc::ByteBuffer *bytes,
                                                       grpc::ByteBuffer *reply) {
  auto *call = new AnsweredCall<CompileAnswer>(
      service_, "Compile", [reply](const CompileAnswer &answer, int64_t service_ns) {
        if (answer.compiled.ok())
          *reply = MakeReply(answer, service_ns);
        return answer.compiled.status();
      });
  absl::Status status = call->scope().Enter(*context);
  // A request that came before, byte for byte, and whose artifact is at hand, is not parsed.
  RequestGlance glance;
  grpc::Slice slice; // holds what the glance looks at
  if (status.ok() && bytes->TrySingleSlice(&slice).ok()) {
    glance = GlanceAt({reinterpret_cast<const char *>(slice.begin()), slice.size()});
    if (std::optional<std::string> key = memo_->Find(glance.digest)) {
      if (CompiledPtr hit = service_.backend.FindCached(*key, call->scope().caller())) {
        call->scope().About(std::string(glance.request_id), std::string(glance.kernel));
        call->Start([&](auto answer) -> PendingPtr {
          answer({std::move(hit), v1::CACHE_RESULT_HIT, *std::move(key), 0});
          return nullptr;
        });
        return call;
      }
    }
  }
  v1::CompileRequest request;
  grpc::ByteBuffer copy(*bytes);
  if (status.ok() &&
      !grpc::SerializationTraits<v1::CompileRequest>::Deserialize(&copy, &request).ok())
    status = absl::InvalidArgumentError("the request is no CompileRequest");
  if (status.ok())
    status = CheckKnownFields(request, *context, service_.backend);
  if (status.ok())
    status = CheckCompileRequest(request);
  if (!status.ok()) {
    call->Refuse(status);
    return call;
  }
  NameRequest(&request, *context);
  call->scope().About(request.request_id(), request.kernel());
  const Caller caller = call->scope().caller();
  call->Start([&](auto answer) {
    return service_.backend.Compile(
        std::move(request), caller,
        [memo = memo_, digest = std::move(glance.digest), answer](CompileAnswer compiled) {
          if (compiled.compiled.ok())
            memo->Remember(digest, compiled.request_key);
          answer(std::move(compiled));
        },
        nullptr);
  });
  return call;
}

grpc::ServerWriteReactor<v1::CompileBatchReply> *
CompilerServiceImpl::CompileBatch(grpc::CallbackServerContext *context,
                                  const v1::CompileBatchRequest *request) {
  return StartBatchCall(service_, *context, *request);
}

grpc::ServerUnaryReactor *CompilerServiceImpl::StartBatch(grpc::CallbackServerContext *context,
                                                          const v1::CompileBatchRequest *request,
                                                          google::longrunning::Operation *reply) {
  CallScope scope(service_, "StartBatch");
  absl::Status status = scope.Enter(*context);
  if (status.ok()) {
    auto operation =
        BatchOperation::Start(service_, operations_, *request, *context, scope.tenant());
    status = operation.status();
    if (operation.ok())
      *reply = *std::move(operation);
  }
  const grpc::Status ends = ToGrpcStatus(status);
  scope.Ends(ends);
  grpc::ServerUnaryReactor *reactor = context->DefaultReactor();
  reactor->Finish(ends);
  return reactor;
}

grpc::ServerUnaryReactor *CompilerServiceImpl::Check(grpc::CallbackServerContext *context,
                                                     const v1::CheckRequest *given,
                                                     v1::CheckReply *reply) {
  using Answer = absl::StatusOr<v1::CheckReply>;
  auto *call = new AnsweredCall<Answer>(service_, "Check", [reply](Answer answer, int64_t) {
    if (answer.ok())
      *reply = *std::move(answer);
    return answer.status();
  });
  v1::CheckRequest request = *given;
  absl::Status status = call->scope().Enter(*context);
  if (status.ok())
    status = CheckKnownFields(request, *context, service_.backend);
  if (status.ok())
    status = CheckCompileRequest(AsCompile(request));
  if (!status.ok()) {
    call->Refuse(status);
    return call;
  }
  if (request.request_id().empty())
    request.set_request_id(NewRequestId());
  const Caller caller = call->scope().caller();
  call->Start([&](auto answer) {
    return service_.backend.Check(std::move(request), caller, std::move(answer));
  });
  return call;
}

grpc::ServerUnaryReactor *
CompilerServiceImpl::GetCapabilities(grpc::CallbackServerContext *context,
                                     const v1::GetCapabilitiesRequest *request,
                                     v1::GetCapabilitiesReply *reply) {
  CallScope scope(service_, "GetCapabilities");
  absl::Status status = scope.Enter(*context, /*counted=*/false);
  if (status.ok())
    status = CheckKnownFields(*request, *context, service_.backend);
  if (status.ok())
    *reply = service_.backend.capabilities();
  const grpc::Status ends = ToGrpcStatus(status);
  scope.Ends(ends);
  grpc::ServerUnaryReactor *reactor = context->DefaultReactor();
  reactor->Finish(ends);
  return reactor;
}

} // namespace pyasc::server
