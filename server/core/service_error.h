// The service's own errors: a status code with a google.rpc.ErrorInfo and, where trying again makes
// sense, a google.rpc.RetryInfo. A wrong kernel is never one of these.
#ifndef PYASC_SERVER_CORE_SERVICE_ERROR_H
#define PYASC_SERVER_CORE_SERVICE_ERROR_H

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace pyasc::server {

struct ErrorDetails {
  // UPPER_SNAKE_CASE: "QUEUE_FULL".
  std::string reason = {};
  std::map<std::string, std::string> metadata = {};
  std::optional<std::chrono::milliseconds> retry_after = std::nullopt;
};

// The details travel as payloads of the status, under their type URLs.
absl::Status ServiceError(absl::StatusCode code, std::string message, const ErrorDetails &details);

// The hint of a status that says when to try again.
std::optional<std::chrono::milliseconds> RetryAfter(const absl::Status &status);

// The same as a google.rpc.Status, with whatever details `status` carries.
google::rpc::Status ToRpcStatus(const absl::Status &status);

} // namespace pyasc::server

#endif // PYASC_SERVER_CORE_SERVICE_ERROR_H
