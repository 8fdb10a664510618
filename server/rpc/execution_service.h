// ExecutionService on a Backend.
#ifndef PYASC_SERVER_RPC_EXECUTION_SERVICE_H
#define PYASC_SERVER_RPC_EXECUTION_SERVICE_H

#include "pyasc/v1/execution.grpc.pb.h"
#include "server/rpc/operations.h"
#include "server/rpc/service_context.h"

namespace pyasc::server {

class ExecutionServiceImpl final : public v1::ExecutionService::CallbackService {
public:
  ExecutionServiceImpl(ServiceContext &service, OperationStore &operations)
      : service_(service), operations_(operations) {}

  grpc::ServerBidiReactor<v1::RunRequest, v1::RunEvent> *
  Run(grpc::CallbackServerContext *context) override;
  grpc::ServerUnaryReactor *Profile(grpc::CallbackServerContext *context,
                                    const v1::ProfileRequest *request,
                                    google::longrunning::Operation *reply) override;
  grpc::ServerWriteReactor<v1::OperationEvent> *
  WatchOperation(grpc::CallbackServerContext *context,
                 const v1::WatchOperationRequest *request) override;
  grpc::ServerUnaryReactor *Tune(grpc::CallbackServerContext *context,
                                 const v1::TuneRequest *request,
                                 google::longrunning::Operation *reply) override;

private:
  absl::Status StartProfile(const v1::ProfileRequest &request,
                            const grpc::CallbackServerContext &context, const TenantPtr &tenant,
                            google::longrunning::Operation *reply);

  ServiceContext &service_;
  OperationStore &operations_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_EXECUTION_SERVICE_H
