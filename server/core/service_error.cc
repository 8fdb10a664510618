#include "server/core/service_error.h"

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"

namespace pyasc::server {
namespace {

constexpr char kDomain[] = "pyasc";
constexpr char kUrlPrefix[] = "type.googleapis.com/";

void Attach(absl::Status &status, const google::protobuf::Message &detail) {
  // Through a string_view: Debian's library lacks clang's form of the constructor from a string.
  const std::string bytes = detail.SerializeAsString();
  status.SetPayload(kUrlPrefix + detail.GetDescriptor()->full_name(),
                    absl::Cord(absl::string_view(bytes)));
}

} // namespace

absl::Status ServiceError(absl::StatusCode code, std::string message, const ErrorDetails &details) {
  absl::Status status(code, message);
  google::rpc::ErrorInfo info;
  info.set_reason(details.reason);
  info.set_domain(kDomain);
  for (const auto &[key, value] : details.metadata)
    (*info.mutable_metadata())[key] = value;
  Attach(status, info);
  if (details.retry_after) {
    google::rpc::RetryInfo retry;
    auto ms = details.retry_after->count();
    retry.mutable_retry_delay()->set_seconds(ms / 1000);
    retry.mutable_retry_delay()->set_nanos(static_cast<int>(ms % 1000) * 1'000'000);
    Attach(status, retry);
  }
  return status;
}

std::optional<std::chrono::milliseconds> RetryAfter(const absl::Status &status) {
  absl::optional<absl::Cord> payload = status.GetPayload(
      absl::StrCat(kUrlPrefix, google::rpc::RetryInfo::descriptor()->full_name()));
  google::rpc::RetryInfo retry;
  if (!payload || !retry.ParseFromString(std::string(*payload)))
    return std::nullopt;
  return std::chrono::milliseconds(retry.retry_delay().seconds() * 1000 +
                                   retry.retry_delay().nanos() / 1'000'000);
}

google::rpc::Status ToRpcStatus(const absl::Status &status) {
  google::rpc::Status rpc;
  rpc.set_code(static_cast<int>(status.code()));
  rpc.set_message(std::string(status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord &payload) {
    google::protobuf::Any *any = rpc.add_details();
    any->set_type_url(std::string(url));
    any->set_value(std::string(payload));
  });
  return rpc;
}

} // namespace pyasc::server
