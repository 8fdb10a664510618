#include "server/rpc/small_services.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/core/service_error.h"
#include "server/process/tensor_memory.h"
#include "server/rpc/check_request.h"
#include "server/rpc/run_inputs.h"

namespace pyasc::server {
namespace {

constexpr size_t kMaxChunkBytes = 1 << 20; // WriteBufferRequest.data

grpc::ServerUnaryReactor *Answer(grpc::CallbackServerContext *context, const absl::Status &status) {
  grpc::ServerUnaryReactor *reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

absl::Status Invalid(std::string message) {
  return ServiceError(absl::StatusCode::kInvalidArgument, std::move(message),
                      {.reason = "INVALID_REQUEST"});
}

// One WriteBuffer call: gathers the bytes, and puts them into the buffer when all are there.
class BufferUpload final : public grpc::ServerReadReactor<v1::WriteBufferRequest> {
public:
  BufferUpload(ServiceContext &service, grpc::CallbackServerContext *context)
      : service_(service), context_(context), scope_(service, "WriteBuffer") {
    if (absl::Status s = scope_.Enter(*context); !s.ok()) {
      End(s);
      return;
    }
    bytes_ = std::make_unique<ByteLease>(service, scope_.tenant());
    StartRead(&request_);
  }
  void OnReadDone(bool ok) override {
    absl::Status status = ok ? Take() : Put();
    if (!ok || !status.ok())
      return End(status);
    StartRead(&request_);
  }
  void OnCancel() override {} // the read under way fails
  void OnDone() override { delete this; }

private:
  absl::Status Take() {
    if (absl::Status s = CheckKnownFields(request_, *context_, service_.backend); !s.ok())
      return s;
    if (!use_) {
      auto use = service_.buffers.Begin(scope_.tenant(), request_.buffer_handle(),
                                        std::chrono::steady_clock::now());
      if (!use.ok())
        return use.status();
      const int64_t size = (*use)->contents()->size_bytes();
      if (absl::Status s = bytes_->Take(size, "a buffer's new contents"); !s.ok())
        return s;
      absl::StatusOr<TensorMemory> memory = TensorMemory::Create(size);
      if (!memory.ok())
        return memory.status();
      memory_ = *std::move(memory);
      use_ = *std::move(use);
    } else if (!request_.buffer_handle().empty()) {
      return Invalid("only the first message names the buffer");
    }
    if (request_.data().size() > kMaxChunkBytes)
      return Invalid(absl::StrCat("a message of ", request_.data().size(), " bytes; at most ",
                                  kMaxChunkBytes, " are taken"));
    if (absl::Status s = memory_.Write(filled_, request_.data()); !s.ok())
      return absl::IsOutOfRange(s) ? Invalid(absl::StrCat("more than the ", memory_.size_bytes(),
                                                          " bytes that the buffer has"))
                                   : s;
    filled_ += static_cast<int64_t>(request_.data().size());
    return absl::OkStatus();
  }
  absl::Status Put() {
    if (context_->IsCancelled())
      return absl::CancelledError("the caller has left");
    if (!use_)
      return Invalid("the stream names no buffer");
    if (filled_ != memory_.size_bytes())
      return Invalid(absl::StrCat(filled_, " bytes came; the buffer has ", memory_.size_bytes()));
    return use_->Replace(std::move(memory_));
  }
  void End(const absl::Status &status) {
    const grpc::Status ends = ToGrpcStatus(status);
    scope_.Ends(ends);
    Finish(ends);
  }

  ServiceContext &service_;
  grpc::CallbackServerContext *context_;
  CallScope scope_;
  v1::WriteBufferRequest request_;
  std::unique_ptr<ByteLease> bytes_;
  std::shared_ptr<BufferStore::Use> use_;
  TensorMemory memory_;
  int64_t filled_ = 0;
};

absl::Status CheckAdmin(const grpc::CallbackServerContext &context, CallScope &scope) {
  if (absl::Status s = scope.Enter(context, /*counted=*/false); !s.ok())
    return s;
  scope.Ends(grpc::Status::OK);
  const bool local = context.peer().rfind("unix:", 0) == 0;
  if (local && !IsSocketGuest(context))
    return absl::OkStatus();
  scope.Ends(grpc::Status(grpc::StatusCode::PERMISSION_DENIED, ""));
  if (local)
    return ServiceError(absl::StatusCode::kPermissionDenied,
                        "administration is the daemon's own user's", {.reason = "ADMIN_NOT_OWNER"});
  return ServiceError(absl::StatusCode::kPermissionDenied,
                      "administration is served on the Unix socket only",
                      {.reason = "ADMIN_NOT_LOCAL"});
}

bool IsKey(const std::string &key) {
  return key.size() == 64 && std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

} // namespace

grpc::ServerUnaryReactor *ArtifactServiceImpl::GetArtifact(grpc::CallbackServerContext *context,
                                                           const v1::GetArtifactRequest *request,
                                                           v1::GetArtifactReply *reply) {
  auto scope = std::make_shared<CallScope>(service_, "GetArtifact");
  absl::Status status = scope->Enter(*context);
  if (status.ok())
    status = CheckKnownFields(*request, *context, service_.backend);
  if (status.ok() && !IsKey(request->key()))
    status =
        ServiceError(absl::StatusCode::kInvalidArgument,
                     "a key has 64 lower-case hexadecimal digits", {.reason = "INVALID_REQUEST"});
  if (!status.ok()) {
    scope->Ends(ToGrpcStatus(status));
    return Answer(context, status);
  }
  // The default reactor stays until Finish; a cancelled call is finished like any other.
  grpc::ServerUnaryReactor *reactor = context->DefaultReactor();
  executor_.Post([this, scope, reactor, reply, key = request->key()] {
    absl::StatusOr<std::string> record = service_.backend.ArtifactRecord(key, scope->caller());
    if (record.ok())
      reply->set_record(*std::move(record));
    grpc::Status ends = ToGrpcStatus(record.status());
    scope->Ends(ends);
    reactor->Finish(ends);
  });
  return reactor;
}

grpc::ServerUnaryReactor *DeviceServiceImpl::ListDevices(grpc::CallbackServerContext *context,
                                                         const v1::ListDevicesRequest *request,
                                                         v1::ListDevicesReply *reply) {
  CallScope scope(service_, "ListDevices");
  absl::Status status = scope.Enter(*context, /*counted=*/false);
  if (status.ok())
    status = CheckKnownFields(*request, *context, service_.backend);
  scope.Ends(ToGrpcStatus(status));
  if (status.ok())
    for (v1::DeviceInfo &device : service_.backend.Devices())
      *reply->add_devices() = std::move(device);
  return Answer(context, status);
}

grpc::ServerUnaryReactor *DeviceServiceImpl::CreateBuffer(grpc::CallbackServerContext *context,
                                                          const v1::CreateBufferRequest *request,
                                                          v1::CreateBufferReply *reply) {
  CallScope scope(service_, "CreateBuffer");
  absl::Status status = scope.Enter(*context);
  if (status.ok())
    status = CheckKnownFields(*request, *context, service_.backend);
  if (status.ok()) {
    auto created =
        service_.buffers.Create(scope.tenant(), *request, std::chrono::steady_clock::now());
    status = created.status();
    if (created.ok())
      *reply = *std::move(created);
  }
  scope.Ends(ToGrpcStatus(status));
  return Answer(context, status);
}

grpc::ServerReadReactor<v1::WriteBufferRequest> *
DeviceServiceImpl::WriteBuffer(grpc::CallbackServerContext *context, v1::WriteBufferReply *) {
  return new BufferUpload(service_, context);
}

grpc::ServerUnaryReactor *DeviceServiceImpl::ReleaseBuffer(grpc::CallbackServerContext *context,
                                                           const v1::ReleaseBufferRequest *request,
                                                           v1::ReleaseBufferReply *) {
  CallScope scope(service_, "ReleaseBuffer");
  absl::Status status = scope.Enter(*context, /*counted=*/false);
  if (status.ok())
    status = CheckKnownFields(*request, *context, service_.backend);
  if (status.ok())
    status = service_.buffers.Release(scope.tenant(), request->buffer_handle(),
                                      std::chrono::steady_clock::now());
  scope.Ends(ToGrpcStatus(status));
  return Answer(context, status);
}

grpc::ServerUnaryReactor *AdminServiceImpl::GetStats(grpc::CallbackServerContext *context,
                                                     const v1::GetStatsRequest *,
                                                     v1::GetStatsReply *reply) {
  CallScope scope(service_, "GetStats");
  absl::Status status = CheckAdmin(*context, scope);
  if (status.ok())
    *reply = hooks_.stats();
  return Answer(context, status);
}

grpc::ServerUnaryReactor *AdminServiceImpl::ManageCache(grpc::CallbackServerContext *context,
                                                        const v1::ManageCacheRequest *request,
                                                        v1::ManageCacheReply *reply) {
  CallScope scope(service_, "ManageCache");
  absl::Status status = CheckAdmin(*context, scope);
  if (status.ok() && (request->action() == v1::ManageCacheRequest::ACTION_UNSPECIFIED ||
                      !v1::ManageCacheRequest::Action_IsValid(request->action())))
    status = ServiceError(absl::StatusCode::kInvalidArgument,
                          "the request names no action that this service knows",
                          {.reason = "INVALID_REQUEST"});
  if (!status.ok())
    return Answer(context, status);
  grpc::ServerUnaryReactor *reactor = context->DefaultReactor();
  executor_.Post([this, reactor, reply, request = *request] {
    absl::StatusOr<v1::ManageCacheReply> done = hooks_.manage_cache(request);
    if (done.ok())
      *reply = *std::move(done);
    reactor->Finish(ToGrpcStatus(done.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor *AdminServiceImpl::Shutdown(grpc::CallbackServerContext *context,
                                                     const v1::ShutdownRequest *request,
                                                     v1::ShutdownReply *) {
  CallScope scope(service_, "Shutdown");
  absl::Status status = CheckAdmin(*context, scope);
  if (status.ok())
    hooks_.shutdown(request->grace_seconds());
  return Answer(context, status);
}

} // namespace pyasc::server
