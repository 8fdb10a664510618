// Following a long-running operation to its end, over connections that may break.
#ifndef PYASC_CLIENT_CPP_FOLLOW_H
#define PYASC_CLIENT_CPP_FOLLOW_H

#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/client.h"
#include "google/longrunning/operations.pb.h"

namespace pyasc::client {

// How long a service that cannot be reached any more is tried.
inline constexpr absl::Duration kFollowPatience = absl::Seconds(10);

// By which balancers lead all calls about one piece of work to the daemon that has it.
inline constexpr char kRouteHeader[] = "x-pyasc-route";

// Returns `operation` when it is done; events go to the callbacks of `options`, each once and in
// order. When the connection breaks, it is made anew and the events go on after the last one that
// came; UNAVAILABLE when that does not work for kFollowPatience. DEADLINE_EXCEEDED at `deadline`:
// the operation still runs. A service that is too old to stream events is asked now and then.
absl::StatusOr<google::longrunning::Operation>
FollowOperation(const std::shared_ptr<grpc::Channel> &channel,
                google::longrunning::Operation operation, const std::string &route,
                absl::Time deadline, const CallOptions &options);

} // namespace pyasc::client

#endif // PYASC_CLIENT_CPP_FOLLOW_H
