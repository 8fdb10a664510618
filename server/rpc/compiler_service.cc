#include "server/rpc/compiler_service.h"

#include <deque>

#include "grpcpp/support/proto_buffer_reader.h"
#include "server/core/service_error.h"
#include "server/rpc/check_request.h"
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
        service_.backend.Compile(std::move(item), scope_.caller(kBatchPriority), deliver, nullptr);
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
  auto *call = new BatchCall(service_, *context, request);
  call->Begin();
  return call;
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
