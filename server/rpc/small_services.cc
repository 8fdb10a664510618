#include "server/rpc/small_services.h"

#include <algorithm>

#include "server/core/service_error.h"
#include "server/rpc/check_request.h"

namespace pyasc::server {
namespace {

grpc::ServerUnaryReactor *Answer(grpc::CallbackServerContext *context, const absl::Status &status) {
  grpc::ServerUnaryReactor *reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

absl::Status NoBuffers() {
  return ServiceError(absl::StatusCode::kUnimplemented,
                      "this build of the service leases no device buffers: send tensors with Run",
                      {.reason = "NO_BUFFER_HANDLES"});
}

absl::Status CheckAdmin(const grpc::CallbackServerContext &context, CallScope &scope) {
  if (absl::Status s = scope.Enter(context, /*counted=*/false); !s.ok())
    return s;
  scope.Ends(grpc::Status::OK);
  if (context.peer().rfind("unix:", 0) == 0)
    return absl::OkStatus();
  scope.Ends(grpc::Status(grpc::StatusCode::PERMISSION_DENIED, ""));
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
                                                          const v1::CreateBufferRequest *,
                                                          v1::CreateBufferReply *) {
  return Answer(context, NoBuffers());
}

grpc::ServerUnaryReactor *DeviceServiceImpl::ReleaseBuffer(grpc::CallbackServerContext *context,
                                                           const v1::ReleaseBufferRequest *,
                                                           v1::ReleaseBufferReply *) {
  return Answer(context, NoBuffers());
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
