#include "client/cpp/retry.h"

#include <random>
#include <string>

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
  if (status.ok())
    return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  std::string message = status.error_message();
  if (message.empty() && status.error_code() == grpc::StatusCode::UNIMPLEMENTED)
    message = "the service does not offer this call";
  else if (message.empty())
    message = "the service answered " + absl::StatusCodeToString(code) + " and did not say why";
  absl::Status out(code, message);
  if (RetryDelay(status))
    out.SetPayload(kRetryPayload, absl::Cord());
  return out;
}

absl::Status CallWithRetry(absl::Time deadline, const std::function<void(absl::Duration)> &on_wait,
                           const std::function<grpc::Status()> &attempt) {
  thread_local std::minstd_rand random(std::random_device{}());
  // What is left at the end is too short for any call: then it is still the service that was full.
  constexpr absl::Duration kTooShort = absl::Milliseconds(100);
  grpc::Status refusal;
  for (;;) {
    const bool too_short = !refusal.ok() && deadline - absl::Now() < kTooShort;
    grpc::Status status = attempt();
    if (too_short && status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
      return ToAbsl(refusal);
    if (status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED)
      return ToAbsl(status);
    std::optional<absl::Duration> delay = RetryDelay(status);
    if (!delay)
      return ToAbsl(status);
    refusal = status;
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
