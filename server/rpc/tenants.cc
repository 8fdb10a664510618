#include "server/rpc/tenants.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/core/service_error.h"
#include "server/core/sha256.h"

namespace pyasc::server {
namespace {

constexpr char kLocal[] = "local";

absl::Status Unauthenticated(std::string message) {
  return ServiceError(absl::StatusCode::kUnauthenticated, std::move(message),
                      {.reason = "UNAUTHENTICATED"});
}

absl::Status OverQuota(const std::string &tenant, const char *quota,
                       std::chrono::milliseconds retry_after) {
  return ServiceError(absl::StatusCode::kResourceExhausted,
                      absl::StrCat("tenant '", tenant, "' has used up its quota of ", quota),
                      {.reason = "QUOTA",
                       .metadata = {{"tenant", tenant}, {"quota", quota}},
                       .retry_after = retry_after});
}

} // namespace

bool IsSocketGuest(const grpc::CallbackServerContext &context) {
  const auto identity = context.auth_context();
  if (!identity)
    return false;
  const auto kinds = identity->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  return std::find(kinds.begin(), kinds.end(), "local") != kinds.end();
}

Tenant::Tenant(TenantConfig config) : name_(config.name) {
  device_seconds_left_ = config.device_seconds_per_hour;
  Configure(config);
}

void Tenant::Configure(const TenantConfig &config) {
  max_calls_ = static_cast<uint64_t>(config.max_calls);
  max_bytes_ = static_cast<uint64_t>(config.max_bytes);
  max_buffer_bytes_ = static_cast<uint64_t>(config.max_buffer_bytes);
  std::lock_guard lock(mutex_);
  device_seconds_left_ =
      std::min(device_seconds_left_ +
                   std::max(0.0, config.device_seconds_per_hour - config_.device_seconds_per_hour),
               config.device_seconds_per_hour);
  config_ = config;
}

absl::Status Tenant::Enter() {
  const uint64_t limit = max_calls_.load(std::memory_order_relaxed);
  if (calls_.fetch_add(1, std::memory_order_relaxed) < limit || limit == 0)
    return absl::OkStatus();
  Leave();
  return OverQuota(name_, "calls at a time", std::chrono::milliseconds(200));
}

bool Tenant::TakeBytes(uint64_t bytes) {
  const uint64_t limit = max_bytes_;
  uint64_t held = bytes_.load();
  do {
    if (limit != 0 && (bytes > limit || held > limit - bytes))
      return false;
  } while (!bytes_.compare_exchange_weak(held, held + bytes));
  return true;
}

void Tenant::Refill(Clock::time_point now) {
  const double hours = std::chrono::duration<double, std::ratio<3600>>(now - filled_).count();
  device_seconds_left_ = std::min(device_seconds_left_ + hours * config_.device_seconds_per_hour,
                                  config_.device_seconds_per_hour);
  filled_ = now;
}

absl::Status Tenant::CheckDeviceTime() {
  std::lock_guard lock(mutex_);
  if (config_.device_seconds_per_hour <= 0)
    return absl::OkStatus();
  Refill(Clock::now());
  if (device_seconds_left_ > 0)
    return absl::OkStatus();
  const double wait = (0.001 - device_seconds_left_) / config_.device_seconds_per_hour * 3600;
  return OverQuota(
      name_, "device time",
      std::chrono::milliseconds(static_cast<int64_t>(std::min(wait, 3600.0) * 1000) + 1));
}

void Tenant::ChargeDeviceTime(std::chrono::nanoseconds took) {
  std::lock_guard lock(mutex_);
  if (config_.device_seconds_per_hour <= 0)
    return;
  Refill(Clock::now());
  device_seconds_left_ -= std::chrono::duration<double>(took).count();
}

Caller Tenant::caller(int priority) const {
  std::lock_guard lock(mutex_);
  Caller caller;
  caller.name_space = config_.name_space;
  caller.share = {name_, config_.weight, priority, static_cast<size_t>(config_.max_queued)};
  return caller;
}

TenantTable::TenantTable(Metrics &metrics)
    : local_(std::make_shared<Tenant>(TenantConfig{.name = kLocal})),
      refused_(metrics.admission_rejected_total.Add({{"reason", "unauthenticated"}})),
      snapshot_(std::make_shared<Snapshot>()) {}

std::shared_ptr<const TenantTable::Snapshot> TenantTable::snapshot() const {
  std::lock_guard lock(mutex_);
  return snapshot_;
}

void TenantTable::Configure(const std::vector<TenantConfig> &tenants) {
  const std::shared_ptr<const Snapshot> before = snapshot();
  auto after = std::make_shared<Snapshot>();
  for (const TenantConfig &config : tenants) {
    auto known = before->by_name.find(config.name);
    TenantPtr tenant;
    if (known == before->by_name.end()) {
      tenant = std::make_shared<Tenant>(config);
    } else {
      tenant = known->second;
      tenant->Configure(config);
    }
    after->by_name[config.name] = tenant;
    for (const std::string &hash : config.token_sha256)
      after->by_token_hash[hash] = tenant;
    for (const std::string &name : config.certificates)
      after->by_certificate[name] = tenant;
  }
  std::lock_guard lock(mutex_);
  snapshot_ = std::move(after);
}

absl::StatusOr<TenantPtr>
TenantTable::Authenticate(const grpc::CallbackServerContext &context) const {
  const std::shared_ptr<const Snapshot> now = snapshot();
  const auto &metadata = context.client_metadata();
  if (auto found = metadata.find("authorization"); found != metadata.end()) {
    absl::string_view value(found->second.data(), found->second.size());
    if (absl::ConsumePrefix(&value, "Bearer ")) {
      // Looked up by its hash: how long that takes says nothing about the token.
      auto tenant = now->by_token_hash.find(Sha256::HexOf({value.data(), value.size()}));
      if (tenant != now->by_token_hash.end())
        return tenant->second;
    }
    refused_.Increment();
    return Unauthenticated("the service does not know this token");
  }
  const auto identity = context.auth_context();
  if (!now->by_certificate.empty() && identity)
    for (const char *property :
         {GRPC_X509_CN_PROPERTY_NAME, GRPC_X509_SAN_PROPERTY_NAME, GRPC_X509_SUBJECT_PROPERTY_NAME})
      for (const grpc::string_ref &name : identity->FindPropertyValues(property)) {
        auto tenant = now->by_certificate.find(std::string(name.data(), name.size()));
        if (tenant != now->by_certificate.end())
          return tenant->second;
      }
  if (now->by_name.empty() || context.peer().rfind("unix:", 0) == 0)
    return local_;
  refused_.Increment();
  return Unauthenticated(
      "the service wants to know who calls: send a token (`authorization: Bearer "
      "...`), or a certificate that it knows");
}

} // namespace pyasc::server
