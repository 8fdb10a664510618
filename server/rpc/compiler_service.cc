#include "server/rpc/compiler_service.h"

#include <deque>

#include "grpcpp/support/proto_buffer_reader.h"
#include "server/core/service_error.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {
namespace {

// Items of one batch that are under way at a time: a batch alone must not fill the queue.
constexpr size_t kBatchWindow = 32;
constexpr int kMaxBatch = 10'000;
// Within a tenant, batches give way to calls that somebody waits for.
constexpr int kBatchPriority = -1;

// The fields of a reply that differ from call to call.
v1::CompileReply CallFields(const CompileAnswer &answer, int64_t service_ns) {
  v1::CompileReply fields;
  fields.set_cache(answer.cache);
  fields.set_request_key(answer.request_key);
  fields.set_queue_ns(answer.queue_ns);
  fields.set_service_ns(service_ns);
  return fields;
}

grpc::ByteBuffer MakeReply(const CompileAnswer &answer, int64_t service_ns) {
  auto *held = new CompiledPtr(*answer.compiled);
  std::string_view shared = (*held)->reply();
  grpc::Slice slices[2] = {grpc::Slice(
                               const_cast<char *>(shared.data()), shared.size(),
                               [](void *p) { delete static_cast<CompiledPtr *>(p); }, held),
                           grpc::Slice(CallFields(answer, service_ns).SerializeAsString())};
  return grpc::ByteBuffer(slices, 2);
}

// One Compile call. Answer and cancellation race for it: the first one finishes it.
class CompileCall final : public grpc::ServerUnaryReactor {
public:
  CompileCall(ServiceContext &service, grpc::ByteBuffer *reply)
      : scope_(service, "Compile"), reply_(reply), state_(std::make_shared<State>()) {
    state_->call = this;
  }

  void Start(ServiceContext &service, grpc::CallbackServerContext *context,
             const grpc::ByteBuffer *bytes) {
    v1::CompileRequest request;
    absl::Status status = scope_.Enter(*context);
    if (status.ok()) {
      grpc::ByteBuffer copy(*bytes);
      if (!grpc::SerializationTraits<v1::CompileRequest>::Deserialize(&copy, &request).ok())
        status = absl::InvalidArgumentError("the request is no CompileRequest");
    }
    if (status.ok())
      status = CheckKnownFields(request, *context, service.backend);
    if (status.ok())
      status = CheckCompileRequest(request);
    if (!status.ok())
      return state_->FinishOnce([&](CompileCall &call) { call.End(ToGrpcStatus(status)); });
    NameRequest(&request, *context);
    scope_.About(request.request_id(), request.kernel());
    const Caller caller = scope_.caller();
    // After this line the call may be over and this object gone: only `state` may be touched.
    std::shared_ptr<State> state = state_;
    PendingPtr pending =
        service.backend.Compile(std::move(request), caller, [state](const CompileAnswer &answer) {
          state->FinishOnce([&](CompileCall &call) { call.Deliver(answer); });
        });
    state->SetPending(std::move(pending));
  }

  void OnCancel() override {
    std::shared_ptr<State> state = state_;
    state->FinishOnce([](CompileCall &call) { call.End(grpc::Status::CANCELLED); });
    state->CancelPending();
  }
  void OnDone() override { delete this; }

private:
  struct State {
    void FinishOnce(const std::function<void(CompileCall &)> &finish) {
      if (!finished.exchange(true))
        finish(*call);
    }
    void SetPending(PendingPtr p) {
      std::lock_guard lock(mutex);
      pending = std::move(p);
      if (cancelled && pending)
        pending->Cancel();
    }
    void CancelPending() {
      std::lock_guard lock(mutex);
      cancelled = true;
      if (pending)
        pending->Cancel();
    }
    CompileCall *call = nullptr; // alive as long as `finished` is false
    std::atomic<bool> finished{false};
    std::mutex mutex;
    PendingPtr pending;
    bool cancelled = false;
  };

  void Deliver(const CompileAnswer &answer) {
    if (answer.compiled.ok())
      *reply_ = MakeReply(answer, scope_.elapsed_ns());
    End(ToGrpcStatus(answer.compiled.status()));
  }
  void End(const grpc::Status &status) {
    scope_.Ends(status);
    Finish(status);
  }

  CallScope scope_;
  grpc::ByteBuffer *reply_;
  std::shared_ptr<State> state_;
};

// One Check call. Answer and cancellation race for it, as in a CompileCall.
class CheckCall final : public grpc::ServerUnaryReactor {
public:
  CheckCall(ServiceContext &service, v1::CheckReply *reply)
      : scope_(service, "Check"), reply_(reply), state_(std::make_shared<State>()) {
    state_->call = this;
  }

  void Start(ServiceContext &service, const grpc::CallbackServerContext &context,
             v1::CheckRequest request) {
    absl::Status status = scope_.Enter(context);
    if (status.ok())
      status = CheckKnownFields(request, context, service.backend);
    if (status.ok())
      status = CheckCompileRequest(AsCompile(request));
    std::shared_ptr<State> state = state_;
    if (!status.ok())
      return state->FinishOnce([&](CheckCall &call) { call.End(ToGrpcStatus(status)); });
    if (request.request_id().empty())
      request.set_request_id(NewRequestId());
    PendingPtr pending = service.backend.Check(std::move(request), scope_.caller(),
                                               [state](absl::StatusOr<v1::CheckReply> answer) {
                                                 state->FinishOnce([&](CheckCall &call) {
                                                   if (answer.ok())
                                                     *call.reply_ = *std::move(answer);
                                                   call.End(ToGrpcStatus(answer.status()));
                                                 });
                                               });
    std::lock_guard lock(state->mutex);
    state->pending = std::move(pending);
    if (state->cancelled && state->pending)
      state->pending->Cancel();
  }

  void OnCancel() override {
    std::shared_ptr<State> state = state_;
    state->FinishOnce([](CheckCall &call) { call.End(grpc::Status::CANCELLED); });
    std::lock_guard lock(state->mutex);
    state->cancelled = true;
    if (state->pending)
      state->pending->Cancel();
  }
  void OnDone() override { delete this; }

private:
  struct State {
    void FinishOnce(const std::function<void(CheckCall &)> &finish) {
      if (!finished.exchange(true))
        finish(*call);
    }
    CheckCall *call = nullptr; // alive as long as `finished` is false
    std::atomic<bool> finished{false};
    std::mutex mutex;
    PendingPtr pending;
    bool cancelled = false;
  };

  static v1::CompileRequest AsCompile(const v1::CheckRequest &request) {
    v1::CompileRequest compile;
    *compile.mutable_files() = request.files();
    *compile.mutable_constants() = request.constants();
    compile.set_target(request.target());
    return compile;
  }
  void End(const grpc::Status &status) {
    scope_.Ends(status);
    Finish(status);
  }

  CallScope scope_;
  v1::CheckReply *reply_;
  std::shared_ptr<State> state_;
};

// One CompileBatch call: at most kBatchWindow items under way, one write at a time. Items that end
// after the call has still hold `state`, never the call.
class BatchCall final : public grpc::ServerWriteReactor<v1::CompileBatchReply> {
public:
  BatchCall(ServiceContext &service, const grpc::CallbackServerContext &context,
            const v1::CompileBatchRequest *request)
      : service_(service), context_(context), scope_(service, "CompileBatch"), request_(*request),
        state_(std::make_shared<State>()) {
    state_->call = this;
  }

  void Begin() {
    absl::Status status = scope_.Enter(context_);
    if (status.ok())
      status = CheckKnownFields(request_, context_, service_.backend);
    if (status.ok() && request_.requests_size() > kMaxBatch)
      status = absl::InvalidArgumentError("the batch has too many items");
    if (!status.ok() || request_.requests().empty()) {
      state_->call = nullptr;
      return End(ToGrpcStatus(status));
    }
    for (size_t i = 0; i < kBatchWindow; ++i)
      StartNext();
  }

  void OnWriteDone(bool ok) override {
    std::unique_lock lock(state_->mutex);
    state_->ready.pop_front();
    state_->writing = false;
    if (!state_->call) { // cancelled while it wrote
      lock.unlock();
      return End(grpc::Status::CANCELLED);
    }
    if (!ok)
      return; // OnCancel follows
    ++written_;
    WriteNext();
    const bool last = written_ == request_.requests_size();
    if (last)
      state_->call = nullptr;
    lock.unlock();
    if (last)
      End(grpc::Status::OK);
    else
      StartNext();
  }
  void OnCancel() override {
    std::vector<PendingPtr> pending;
    bool writing;
    {
      std::lock_guard lock(state_->mutex);
      if (!state_->call)
        return;
      state_->call = nullptr;
      writing = state_->writing;
      pending.swap(state_->pending);
    }
    for (const PendingPtr &p : pending)
      p->Cancel();
    if (!writing) // else OnWriteDone ends the call
      End(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

private:
  struct State {
    std::mutex mutex;
    BatchCall *call = nullptr; // null once the call is over
    std::deque<v1::CompileBatchReply> ready;
    std::vector<PendingPtr> pending;
    bool writing = false;
  };

  void StartNext() {
    int index;
    {
      std::lock_guard lock(state_->mutex);
      if (!state_->call || next_ == request_.requests_size())
        return;
      index = next_++;
    }
    v1::CompileRequest item = request_.requests(index);
    NameRequest(&item, context_);
    std::shared_ptr<State> state = state_;
    auto begin = std::chrono::steady_clock::now();
    auto deliver = [state, index, begin](const CompileAnswer &answer) {
      v1::CompileBatchReply reply;
      reply.set_index(index);
      if (answer.compiled.ok()) {
        int64_t ns = (std::chrono::steady_clock::now() - begin) / std::chrono::nanoseconds(1);
        std::string bytes((*answer.compiled)->reply());
        bytes += CallFields(answer, ns).SerializeAsString();
        reply.mutable_reply()->ParseFromString(bytes);
      } else {
        reply.mutable_error()->set_code(answer.compiled.status().raw_code());
        reply.mutable_error()->set_message(std::string(answer.compiled.status().message()));
        if (auto wait = RetryAfter(answer.compiled.status()))
          reply.mutable_error()->set_retry_after_ms(static_cast<uint64_t>(wait->count()));
      }
      std::lock_guard lock(state->mutex);
      if (!state->call)
        return;
      state->ready.push_back(std::move(reply));
      state->call->WriteNext();
    };
    if (absl::Status s = CheckCompileRequest(item); !s.ok())
      return deliver({s, v1::CACHE_RESULT_UNSPECIFIED, "", 0});
    PendingPtr pending =
        service_.backend.Compile(std::move(item), scope_.caller(kBatchPriority), deliver);
    std::lock_guard lock(state->mutex);
    if (pending && state->call)
      state->pending.push_back(std::move(pending));
  }

  // With the state's mutex held.
  void WriteNext() {
    if (state_->writing || state_->ready.empty() || !state_->call)
      return;
    state_->writing = true;
    StartWrite(&state_->ready.front());
  }
  void End(const grpc::Status &status) {
    scope_.Ends(status);
    Finish(status);
  }

  ServiceContext &service_;
  const grpc::CallbackServerContext &context_; // alive until OnDone
  CallScope scope_;
  const v1::CompileBatchRequest request_;
  std::shared_ptr<State> state_;
  int next_ = 0;    // under the state's mutex
  int written_ = 0; // likewise
};

} // namespace

grpc::ServerUnaryReactor *CompilerServiceImpl::Compile(grpc::CallbackServerContext *context,
                                                       const grpc::ByteBuffer *request,
                                                       grpc::ByteBuffer *reply) {
  auto *call = new CompileCall(service_, reply);
  call->Start(service_, context, request);
  return call;
}

grpc::ServerWriteReactor<v1::CompileBatchReply> *
CompilerServiceImpl::CompileBatch(grpc::CallbackServerContext *context,
                                  const v1::CompileBatchRequest *request) {
  auto *call = new BatchCall(service_, *context, request);
  call->Begin();
  return call;
}

grpc::ServerUnaryReactor *CompilerServiceImpl::Check(grpc::CallbackServerContext *context,
                                                     const v1::CheckRequest *request,
                                                     v1::CheckReply *reply) {
  auto *call = new CheckCall(service_, reply);
  call->Start(service_, *context, *request);
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
