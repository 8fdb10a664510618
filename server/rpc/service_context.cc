#include "server/rpc/service_context.h"

#include <algorithm>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/core/service_error.h"

namespace pyasc::server {
namespace {

constexpr size_t kMaxSourceBytes = 1 << 20; // SourceFile.content

int64_t NowNs() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// Path of the first thing in `message` that this build does not know.
std::optional<std::string> FindUnknown(const google::protobuf::Message &message) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection *reflection = message.GetReflection();
  const auto &unknown = reflection->GetUnknownFields(message);
  if (!unknown.empty())
    return absl::StrCat("field number ", unknown.field(0).number(), " of ",
                        message.GetDescriptor()->full_name());
  std::vector<const FieldDescriptor *> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor *field : fields) {
    const int size = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      for (int i = 0; i < size; ++i) {
        const auto &child = field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                                 : reflection->GetMessage(message, field);
        if (auto found = FindUnknown(child))
          return found;
      }
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      for (int i = 0; i < size; ++i) {
        const int value = field->is_repeated() ? reflection->GetRepeatedEnumValue(message, field, i)
                                               : reflection->GetEnumValue(message, field);
        if (!field->enum_type()->FindValueByNumber(value))
          return absl::StrCat("value ", value, " of ", field->enum_type()->full_name());
      }
    }
  }
  return std::nullopt;
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

absl::Status Invalid(std::string message) {
  return ServiceError(absl::StatusCode::kInvalidArgument, std::move(message),
                      {.reason = "INVALID_REQUEST"});
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

absl::Status CheckKnownFields(const google::protobuf::Message &request,
                              const grpc::CallbackServerContext &context, const Backend &backend) {
  std::optional<std::string> unknown = FindUnknown(request);
  if (!unknown)
    return absl::OkStatus();
  std::string client = "unknown";
  const auto &metadata = context.client_metadata();
  if (auto found = metadata.find(kClientBuildHeader); found != metadata.end())
    client = std::string(found->second.data(), std::min<size_t>(found->second.size(), 128));
  const std::string &server = backend.capabilities().build_id();
  return ServiceError(
      absl::StatusCode::kFailedPrecondition,
      absl::StrCat("the request has ", *unknown,
                   ", which this service does not know; client build ", client, ", service build ",
                   server, ": use a client and a service of one version"),
      {.reason = "UNKNOWN_FIELD",
       .metadata = {{"what", *unknown}, {"client_build", client}, {"service_build", server}}});
}

absl::Status CheckCompileRequest(const v1::CompileRequest &request) {
  if (request.files().empty())
    return Invalid("the request has no source file");
  size_t bytes = 0;
  for (const v1::SourceFile &file : request.files())
    bytes += file.content().size();
  if (bytes > kMaxSourceBytes)
    return Invalid(absl::StrCat("the sources have ", bytes, " bytes; at most ", kMaxSourceBytes,
                                " are taken"));
  if (request.target() == v1::TARGET_UNSPECIFIED)
    return Invalid("the request names no target");
  for (const v1::CapturedConstant &constant : request.constants())
    if (constant.file() >= static_cast<uint32_t>(request.files_size()))
      return Invalid(absl::StrCat("the constant '", constant.name(), "' is of file ",
                                  constant.file(), ", and there are ", request.files_size()));
  return absl::OkStatus();
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
  return absl::OkStatus();
}

CallScope::~CallScope() {
  if (entered_) {
    tenant_->Leave();
    service_.admission.Leave();
  }
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
