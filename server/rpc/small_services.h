// ArtifactService, DeviceService and AdminService.
#ifndef PYASC_SERVER_RPC_SMALL_SERVICES_H
#define PYASC_SERVER_RPC_SMALL_SERVICES_H

#include <functional>

#include "pyasc/v1/service.grpc.pb.h"
#include "server/core/executor.h"
#include "server/rpc/service_context.h"

namespace pyasc::server {

class ArtifactServiceImpl final : public v1::ArtifactService::CallbackService {
public:
  // `executor` reads the disk for it.
  ArtifactServiceImpl(ServiceContext &service, Executor &executor)
      : service_(service), executor_(executor) {}
  grpc::ServerUnaryReactor *GetArtifact(grpc::CallbackServerContext *context,
                                        const v1::GetArtifactRequest *request,
                                        v1::GetArtifactReply *reply) override;

private:
  ServiceContext &service_;
  Executor &executor_;
};

class DeviceServiceImpl final : public v1::DeviceService::CallbackService {
public:
  explicit DeviceServiceImpl(ServiceContext &service) : service_(service) {}
  grpc::ServerUnaryReactor *ListDevices(grpc::CallbackServerContext *context,
                                        const v1::ListDevicesRequest *request,
                                        v1::ListDevicesReply *reply) override;
  grpc::ServerUnaryReactor *CreateBuffer(grpc::CallbackServerContext *context,
                                         const v1::CreateBufferRequest *request,
                                         v1::CreateBufferReply *reply) override;
  grpc::ServerReadReactor<v1::WriteBufferRequest> *
  WriteBuffer(grpc::CallbackServerContext *context, v1::WriteBufferReply *reply) override;
  grpc::ServerUnaryReactor *ReleaseBuffer(grpc::CallbackServerContext *context,
                                          const v1::ReleaseBufferRequest *request,
                                          v1::ReleaseBufferReply *reply) override;

private:
  ServiceContext &service_;
};

// Answers on the Unix socket only: PERMISSION_DENIED for callers from elsewhere.
class AdminServiceImpl final : public v1::AdminService::CallbackService {
public:
  struct Hooks {
    std::function<v1::GetStatsReply()> stats;
    std::function<void(uint32_t grace_seconds)> shutdown;
    // May block.
    std::function<absl::StatusOr<v1::ManageCacheReply>(const v1::ManageCacheRequest &)>
        manage_cache;
  };
  // `executor`: for what may block.
  AdminServiceImpl(ServiceContext &service, Hooks hooks, Executor &executor)
      : service_(service), hooks_(std::move(hooks)), executor_(executor) {}
  grpc::ServerUnaryReactor *GetStats(grpc::CallbackServerContext *context,
                                     const v1::GetStatsRequest *request,
                                     v1::GetStatsReply *reply) override;
  grpc::ServerUnaryReactor *ManageCache(grpc::CallbackServerContext *context,
                                        const v1::ManageCacheRequest *request,
                                        v1::ManageCacheReply *reply) override;
  grpc::ServerUnaryReactor *Shutdown(grpc::CallbackServerContext *context,
                                     const v1::ShutdownRequest *request,
                                     v1::ShutdownReply *reply) override;

private:
  ServiceContext &service_;
  Hooks hooks_;
  Executor &executor_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_SMALL_SERVICES_H
