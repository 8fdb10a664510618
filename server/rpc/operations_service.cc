// The calls of google.longrunning.Operations; what they are about is in operations.cc.
#include <algorithm>
#include <optional>

#include "grpcpp/alarm.h"
#include "server/rpc/operations.h"

namespace pyasc::server {

using google::longrunning::Operation;

namespace {

// One call that looks at something, or changes it, at once.
grpc::ServerUnaryReactor *Small(ServiceContext &service, const char *method,
                                grpc::CallbackServerContext *context,
                                const std::function<absl::Status(const std::string &owner)> &work) {
  CallScope scope(service, method);
  absl::Status status = scope.Enter(*context, /*counted=*/false);
  if (status.ok())
    status = work(scope.tenant()->name());
  const grpc::Status ends = ToGrpcStatus(status);
  scope.Ends(ends);
  grpc::ServerUnaryReactor *reactor = context->DefaultReactor();
  reactor->Finish(ends);
  return reactor;
}

// One WaitOperation call. The operation's end, the timeout and the caller's leaving race.
class WaitCall final : public grpc::ServerUnaryReactor {
public:
  WaitCall(OperationStore &store, std::string owner, std::string name, Operation *reply)
      : store_(store), owner_(std::move(owner)), name_(std::move(name)), reply_(reply) {}

  void Begin(std::optional<std::chrono::nanoseconds> timeout) {
    if (timeout) {
      // The alarm's callback is one more thing that must come before the object may go.
      ++holds_;
      alarm_.Set(std::chrono::system_clock::now() +
                     std::chrono::duration_cast<std::chrono::system_clock::duration>(*timeout),
                 [this](bool) {
                   TryEnd(false);
                   Release();
                 });
    }
    ++holds_;
    uint64_t id = store_.Wait(name_, [this] {
      TryEnd(false);
      Release();
    });
    std::unique_lock lock(mutex_);
    waiter_ = id;
    if (ended_)
      StopWaiting(lock);
  }
  void OnCancel() override { TryEnd(true); }
  void OnDone() override { Release(); }

private:
  void TryEnd(bool cancelled) {
    std::unique_lock lock(mutex_);
    if (ended_)
      return;
    ended_ = true;
    absl::StatusOr<Operation> operation = store_.Get(owner_, name_);
    if (operation.ok())
      *reply_ = *operation;
    ++holds_; // over Finish, after which OnDone may come at any time
    StopWaiting(lock);
    if (lock.owns_lock())
      lock.unlock();
    alarm_.Cancel();
    Finish(cancelled ? grpc::Status::CANCELLED : ToGrpcStatus(operation.status()));
    Release();
  }
  void StopWaiting(std::unique_lock<std::mutex> &lock) {
    uint64_t id = std::exchange(waiter_, 0);
    lock.unlock();
    if (id && store_.StopWaiting(name_, id))
      Release();
  }
  void Release() {
    if (--holds_ == 0)
      delete this;
  }

  OperationStore &store_;
  const std::string owner_, name_;
  Operation *reply_;
  grpc::Alarm alarm_;
  std::mutex mutex_;
  bool ended_ = false;
  uint64_t waiter_ = 0;
  std::atomic<int> holds_{1}; // OnDone
};

} // namespace

grpc::ServerUnaryReactor *
OperationsService::ListOperations(grpc::CallbackServerContext *context,
                                  const google::longrunning::ListOperationsRequest *request,
                                  google::longrunning::ListOperationsResponse *reply) {
  return Small(service_, "ListOperations", context, [&](const std::string &owner) {
    const size_t limit = request->page_size() > 0 ? std::min(request->page_size(), 1000) : 100;
    // The token is the last name of the page before.
    bool more;
    for (Operation &operation : store_.List(owner, request->page_token(), limit, &more))
      *reply->add_operations() = std::move(operation);
    if (more)
      reply->set_next_page_token(reply->operations().rbegin()->name());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor *
OperationsService::GetOperation(grpc::CallbackServerContext *context,
                                const google::longrunning::GetOperationRequest *request,
                                Operation *reply) {
  return Small(service_, "GetOperation", context, [&](const std::string &owner) {
    absl::StatusOr<Operation> operation = store_.Get(owner, request->name());
    if (operation.ok())
      *reply = *std::move(operation);
    return operation.status();
  });
}

grpc::ServerUnaryReactor *
OperationsService::DeleteOperation(grpc::CallbackServerContext *context,
                                   const google::longrunning::DeleteOperationRequest *request,
                                   google::protobuf::Empty *) {
  return Small(service_, "DeleteOperation", context,
               [&](const std::string &owner) { return store_.Delete(owner, request->name()); });
}

grpc::ServerUnaryReactor *
OperationsService::CancelOperation(grpc::CallbackServerContext *context,
                                   const google::longrunning::CancelOperationRequest *request,
                                   google::protobuf::Empty *) {
  return Small(service_, "CancelOperation", context,
               [&](const std::string &owner) { return store_.Cancel(owner, request->name()); });
}

grpc::ServerUnaryReactor *
OperationsService::WaitOperation(grpc::CallbackServerContext *context,
                                 const google::longrunning::WaitOperationRequest *request,
                                 Operation *reply) {
  std::string owner;
  {
    CallScope scope(service_, "WaitOperation");
    absl::Status status = scope.Enter(*context, /*counted=*/false);
    if (status.ok())
      status = store_.Get(scope.tenant()->name(), request->name()).status();
    const grpc::Status ends = ToGrpcStatus(status);
    scope.Ends(ends);
    if (!status.ok()) {
      grpc::ServerUnaryReactor *reactor = context->DefaultReactor();
      reactor->Finish(ends);
      return reactor;
    }
    owner = scope.tenant()->name();
  }
  auto *call = new WaitCall(store_, std::move(owner), request->name(), reply);
  std::optional<std::chrono::nanoseconds> timeout;
  if (request->has_timeout()) // without one, the call's own deadline bounds it
    timeout = std::chrono::seconds(std::clamp<int64_t>(request->timeout().seconds(), 0, 86'400)) +
              std::chrono::nanoseconds(request->timeout().nanos());
  call->Begin(timeout);
  return call;
}

} // namespace pyasc::server
