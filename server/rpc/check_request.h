// What is refused of a request before anything is done for it. Every way in - compile, batch,
// check, run, profile - asks here, so that one request is not taken on one way and refused on
// another.
#ifndef PYASC_SERVER_RPC_CHECK_REQUEST_H
#define PYASC_SERVER_RPC_CHECK_REQUEST_H

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/grpcpp.h"
#include "pyasc/v1/compile.pb.h"
#include "pyasc/v1/execution.pb.h"
#include "server/core/backend.h"

namespace pyasc::server {

// FAILED_PRECONDITION when `request` has, at any depth, a field or an enum value that this build
// does not know: the answer would be one to another question.
absl::Status CheckKnownFields(const google::protobuf::Message &request,
                              const grpc::CallbackServerContext &context, const Backend &backend);

// What can be said of a compile request without looking at the kernel: INVALID_ARGUMENT.
absl::Status CheckCompileRequest(const v1::CompileRequest &request);

// The same of a run: its compile request, and its arguments with their sizes. INVALID_ARGUMENT.
// `chunks_allowed`: data may follow in chunks.
absl::Status CheckRunStart(const v1::RunStart &start, bool chunks_allowed);

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_CHECK_REQUEST_H
