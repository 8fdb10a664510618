// The call of CompileBatch: replies go out as they come, at the speed of their reader.
#ifndef PYASC_SERVER_RPC_BATCH_CALL_H
#define PYASC_SERVER_RPC_BATCH_CALL_H

#include "pyasc/v1/compile.grpc.pb.h"
#include "server/rpc/service_context.h"

namespace pyasc::server {

// Owns itself.
grpc::ServerWriteReactor<v1::CompileBatchReply> *
StartBatchCall(ServiceContext &service, const grpc::CallbackServerContext &context,
               const v1::CompileBatchRequest &request);

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_BATCH_CALL_H
