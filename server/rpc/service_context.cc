#include "server/rpc/service_context.h"

#include <algorithm>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/core/service_error.h"

namespace pyasc::server {
namespace {

int64_t NowNs() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// "00-<32 hex>-<16 hex>-<2 hex>", as W3C Trace Context has it.
bool IsTraceparent(std::string_view text) {
  if (text.size() != 55 || text[2] != '-' || text[35] != '-' || text[52] != '-')
    return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (i != 2 && i != 35 && i != 52 && !absl::ascii_isxdigit(text[i]))
      return false;
  return true;
}

} // namespace

Admission::Admission(uint64_t max_calls, Metrics &metrics)
    : max_calls_(max_calls), last_ns_(NowNs()), in_flight_(metrics.rpc_in_flight.Add({})),
      too_many_(metrics.admission_rejected_total.Add({{"reason", "too_many_calls"}})) {}

absl::Status Admission::Enter() {
  if (draining_)
    return ServiceError(absl::StatusCode::kUnavailable, "the service is stopping",
                        {.reason = "STOPPING", .retry_after = std::chrono::milliseconds(1000)});
  if (active_.fetch_add(1) >= max_calls_) {
    active_.fetch_sub(1);
    too_many_.Increment();
    return ServiceError(
        absl::StatusCode::kResourceExhausted,
        "the service has too many calls at a time; try again later",
        {.reason = "TOO_MANY_CALLS", .retry_after = std::chrono::milliseconds(200)});
  }
  in_flight_.Increment();
  return absl::OkStatus();
}

void Admission::Leave() {
  last_ns_ = NowNs();
  in_flight_.Decrement();
  active_.fetch_sub(1);
  if (draining_) {
    std::lock_guard lock(mutex_);
    left_.notify_all();
  }
}

void Admission::WaitForCalls(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  left_.wait_until(lock, deadline, [&] { return active_ == 0; });
}

std::chrono::nanoseconds Admission::IdleTime() const {
  return std::chrono::nanoseconds(active_ ? 0 : NowNs() - last_ns_);
}

bool Admission::TakeBytes(uint64_t bytes, uint64_t limit) {
  uint64_t held = bytes_.load();
  do {
    if (bytes > limit || held > limit - bytes)
      return false;
  } while (!bytes_.compare_exchange_weak(held, held + bytes));
  return true;
}

grpc::Status ToGrpcStatus(const absl::Status &status) {
  if (status.ok())
    return grpc::Status::OK;
  google::rpc::Status rpc = ToRpcStatus(status);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), rpc.message(),
                      rpc.details().empty() ? "" : rpc.SerializeAsString());
}

std::string NewRequestId() {
  static const uint32_t process = std::random_device{}();
  static std::atomic<uint64_t> next{1};
  return absl::StrFormat("%08x-%d", process, next.fetch_add(1));
}

void NameRequest(v1::CompileRequest *request, const grpc::CallbackServerContext &context) {
  const std::string &id = request->request_id();
  const bool printable =
      std::all_of(id.begin(), id.end(), [](char c) { return c > 32 && c < 127; });
  if (id.empty() || id.size() > 128 || !printable)
    request->set_request_id(NewRequestId());
  if (request->traceparent().empty()) {
    const auto &metadata = context.client_metadata();
    if (auto found = metadata.find("traceparent"); found != metadata.end())
      request->set_traceparent(std::string(found->second.data(), found->second.size()));
  }
  if (!IsTraceparent(request->traceparent()))
    request->clear_traceparent();
}

absl::Status CallScope::Enter(const grpc::CallbackServerContext &context, bool counted) {
  if (service_.audit)
    peer_ = context.peer();
  absl::StatusOr<TenantPtr> tenant = service_.tenants.Authenticate(context);
  if (!tenant.ok())
    return tenant.status();
  tenant_ = *std::move(tenant);
  if (!counted)
    return absl::OkStatus();
  if (absl::Status s = service_.admission.Enter(); !s.ok())
    return s;
  if (absl::Status s = tenant_->Enter(); !s.ok()) {
    service_.admission.Leave();
    return s;
  }
  entered_ = true;
  holds_place_ = true;
  return absl::OkStatus();
}

CallScope::~CallScope() {
  LeaveTenant();
  if (entered_)
    service_.admission.Leave();
  static constexpr const char *kCodes[] = {"OK",
                                           "CANCELLED",
                                           "UNKNOWN",
                                           "INVALID_ARGUMENT",
                                           "DEADLINE_EXCEEDED",
                                           "NOT_FOUND",
                                           "ALREADY_EXISTS",
                                           "PERMISSION_DENIED",
                                           "RESOURCE_EXHAUSTED",
                                           "FAILED_PRECONDITION",
                                           "ABORTED",
                                           "OUT_OF_RANGE",
                                           "UNIMPLEMENTED",
                                           "INTERNAL",
                                           "UNAVAILABLE",
                                           "DATA_LOSS",
                                           "UNAUTHENTICATED"};
  int code = code_;
  const char *name = code >= 0 && code < 17 ? kCodes[code] : "UNKNOWN";
  service_.metrics.ObserveRpc(method_, name, static_cast<double>(elapsed_ns()) * 1e-9);
  if (service_.audit)
    service_.audit->Write({.tenant = tenant_ ? tenant_->name() : "",
                           .peer = peer_,
                           .method = method_,
                           .code = name,
                           .request_id = request_id_,
                           .kernel = kernel_,
                           .milliseconds = static_cast<double>(elapsed_ns()) * 1e-6});
}

} // namespace pyasc::server
