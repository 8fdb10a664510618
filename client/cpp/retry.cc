#include "client/cpp/retry.h"

#include <random>

#include "absl/time/clock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace pyasc::client {

std::optional<absl::Duration> RetryDelay(const grpc::Status &status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details()))
    return std::nullopt;
  for (const google::protobuf::Any &any : details.details()) {
    google::rpc::RetryInfo info;
    if (any.UnpackTo(&info))
      return absl::Seconds(info.retry_delay().seconds()) +
             absl::Nanoseconds(info.retry_delay().nanos());
  }
  return std::nullopt;
}

absl::Status ToAbsl(const grpc::Status &status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

absl::Status CallWithRetry(absl::Time deadline, const std::function<void(absl::Duration)> &on_wait,
                           const std::function<grpc::Status()> &attempt) {
  thread_local std::minstd_rand random(std::random_device{}());
  for (;;) {
    grpc::Status status = attempt();
    if (status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED)
      return ToAbsl(status);
    std::optional<absl::Duration> delay = RetryDelay(status);
    if (!delay)
      return ToAbsl(status);
    // A hint of zero must not become a busy loop.
    *delay = std::max(*delay, absl::Milliseconds(10));
    *delay *= std::uniform_real_distribution<>(1.0, 1.25)(random);
    if (absl::Now() + *delay >= deadline)
      return ToAbsl(status);
    if (on_wait)
      on_wait(*delay);
    absl::SleepFor(*delay);
  }
}

} // namespace pyasc::client
