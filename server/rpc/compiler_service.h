// CompilerService on a Backend.
#ifndef PYASC_SERVER_RPC_COMPILER_SERVICE_H
#define PYASC_SERVER_RPC_COMPILER_SERVICE_H

#include "pyasc/v1/compile.grpc.pb.h"
#include "server/rpc/operations.h"
#include "server/rpc/request_memo.h"
#include "server/rpc/service_context.h"

namespace pyasc::server {

// Compile is served raw: the reply of a cached kernel is two slices, of which the large one is
// shared by all callers and never copied or serialised again.
using CompilerServiceBase = v1::CompilerService::WithRawCallbackMethod_Compile<
    v1::CompilerService::WithCallbackMethod_CompileBatch<
        v1::CompilerService::WithCallbackMethod_StartBatch<
            v1::CompilerService::WithCallbackMethod_Check<
                v1::CompilerService::WithCallbackMethod_GetCapabilities<
                    v1::CompilerService::Service>>>>>;

class CompilerServiceImpl final : public CompilerServiceBase {
public:
  CompilerServiceImpl(ServiceContext &service, OperationStore &operations)
      : service_(service), operations_(operations) {}

  grpc::ServerUnaryReactor *Compile(grpc::CallbackServerContext *context,
                                    const grpc::ByteBuffer *request,
                                    grpc::ByteBuffer *reply) override;
  grpc::ServerWriteReactor<v1::CompileBatchReply> *
  CompileBatch(grpc::CallbackServerContext *context,
               const v1::CompileBatchRequest *request) override;
  grpc::ServerUnaryReactor *StartBatch(grpc::CallbackServerContext *context,
                                       const v1::CompileBatchRequest *request,
                                       google::longrunning::Operation *reply) override;
  grpc::ServerUnaryReactor *Check(grpc::CallbackServerContext *context,
                                  const v1::CheckRequest *request, v1::CheckReply *reply) override;
  grpc::ServerUnaryReactor *GetCapabilities(grpc::CallbackServerContext *context,
                                            const v1::GetCapabilitiesRequest *request,
                                            v1::GetCapabilitiesReply *reply) override;

private:
  ServiceContext &service_;
  OperationStore &operations_;
  const std::shared_ptr<RequestMemo> memo_ = std::make_shared<RequestMemo>();
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_COMPILER_SERVICE_H
