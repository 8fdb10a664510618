// Trying again when the service is full and says when there may be room.
#ifndef PYASC_CLIENT_CPP_RETRY_H
#define PYASC_CLIENT_CPP_RETRY_H

#include <functional>
#include <optional>

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace pyasc::client {

// The google.rpc.RetryInfo of a status; nullopt when it has none.
std::optional<absl::Duration> RetryDelay(const grpc::Status &status);

// Never without a message: some of gRPC's own statuses have none. A RetryInfo is kept as
// kRetryPayload, so that callers can tell what may go better later from what never will.
absl::Status ToAbsl(const grpc::Status &status);
inline constexpr char kRetryPayload[] = "type.googleapis.com/google.rpc.RetryInfo";

// Makes attempts until one ends with anything but RESOURCE_EXHAUSTED with a RetryInfo, or until
// the next would begin after the deadline. Waits as long as the service says and up to a quarter
// longer, so that the refused do not come back all at once. `on_wait` may be empty.
absl::Status CallWithRetry(absl::Time deadline, const std::function<void(absl::Duration)> &on_wait,
                           const std::function<grpc::Status()> &attempt);

} // namespace pyasc::client

#endif // PYASC_CLIENT_CPP_RETRY_H
