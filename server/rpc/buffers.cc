#include "server/rpc/buffers.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/contract/tensor_type.h"
#include "server/core/service_error.h"
#include "server/process/worker_process.h"
#include "server/rpc/service_context.h"

namespace pyasc::server {
namespace {

constexpr uint32_t kDefaultSeconds = 300;
constexpr uint32_t kMaxSeconds = 3600;
// Each costs a descriptor, whatever its size.
constexpr size_t kMaxBuffers = 256;
constexpr size_t kMaxExpired = 4096;

std::string NewHandle() {
  static std::mutex mutex;
  static std::random_device random;
  std::lock_guard lock(mutex);
  return absl::StrFormat("buffers/%08x%08x%08x%08x", random(), random(), random(), random());
}

} // namespace

BufferStore::~BufferStore() { budget_.GiveBytes(bytes_); }

absl::StatusOr<v1::CreateBufferReply> BufferStore::Create(const TenantPtr &tenant,
                                                          const v1::CreateBufferRequest &request,
                                                          Clock::time_point now) {
  absl::StatusOr<int64_t> size = contract::TensorBytes(request.type());
  if (!size.ok())
    return ServiceError(absl::StatusCode::kInvalidArgument,
                        absl::StrCat("the buffer: ", size.status().message()),
                        {.reason = "INVALID_REQUEST"});
  const auto bytes = static_cast<uint64_t>(*size);
  std::lock_guard lock(mutex_);
  SweepLocked(now);
  const uint64_t quota = tenant->max_buffer_bytes();
  const uint64_t held = bytes_of_.count(tenant.get()) ? bytes_of_[tenant.get()] : 0;
  if (quota && (bytes > quota || held > quota - bytes))
    return ServiceError(
        absl::StatusCode::kResourceExhausted,
        absl::StrCat("tenant '", tenant->name(), "' holds ", FormatBytes(held),
                     " of buffers and may hold ", FormatBytes(quota), ": ", FormatBytes(bytes),
                     " more do not fit; release buffers"),
        {.reason = "TENANT_BUFFER_BYTES", .metadata = {{"tenant", tenant->name()}}});
  const uint64_t limit = max_bytes_;
  if (bytes > limit)
    return ServiceError(absl::StatusCode::kResourceExhausted,
                        absl::StrCat("a buffer of ", FormatBytes(bytes), "; all together may have ",
                                     FormatBytes(limit), " (the service's --max-buffer-bytes)"),
                        {.reason = "BUFFER_TOO_LARGE"});
  const bool room = bytes_ <= limit - bytes && entries_.size() < kMaxBuffers;
  if (!room || !budget_.TakeBytes(bytes, budget_bytes_))
    return ServiceError(
        absl::StatusCode::kResourceExhausted,
        "the service has no room for another buffer until others are released",
        {.reason = "BUFFER_MEMORY_FULL", .retry_after = std::chrono::milliseconds(500)});
  absl::StatusOr<TensorMemory> memory = TensorMemory::Create(*size);
  absl::Status status = memory.ok() ? memory->SealContents() : memory.status();
  if (!status.ok()) {
    budget_.GiveBytes(bytes);
    return status;
  }
  v1::CreateBufferReply reply;
  reply.set_buffer_handle(NewHandle());
  reply.set_ttl_seconds(request.ttl_seconds() ? std::min(request.ttl_seconds(), kMaxSeconds)
                                              : kDefaultSeconds);
  const std::chrono::seconds ttl(reply.ttl_seconds());
  entries_[reply.buffer_handle()] = {tenant,
                                     request.type(),
                                     bytes,
                                     ttl,
                                     now + ttl,
                                     0,
                                     std::make_shared<TensorMemory>(*std::move(memory))};
  bytes_ += bytes;
  bytes_of_[tenant.get()] += bytes;
  return reply;
}

absl::StatusOr<BufferStore::Entries::iterator> BufferStore::Find(const TenantPtr &tenant,
                                                                 const std::string &handle) {
  auto found = entries_.find(handle);
  if (found != entries_.end() && found->second.tenant == tenant)
    return found;
  const bool expired = std::find(expired_.begin(), expired_.end(),
                                 std::pair(handle, (const Tenant *)tenant.get())) != expired_.end();
  if (expired)
    return ServiceError(absl::StatusCode::kNotFound,
                        absl::StrCat("the lease of the buffer '", handle,
                                     "' has ended, because it was not used for its time: lease "
                                     "another and fill it again"),
                        {.reason = "BUFFER_EXPIRED"});
  return ServiceError(absl::StatusCode::kNotFound,
                      absl::StrCat("there is no buffer '", handle,
                                   "': it was never leased, was released, or the service has been "
                                   "started again since"),
                      {.reason = "NO_SUCH_BUFFER"});
}

BufferStore::Entries::iterator BufferStore::Erase(Entries::iterator entry) {
  const Tenant *tenant = entry->second.tenant.get();
  bytes_ -= entry->second.bytes;
  budget_.GiveBytes(entry->second.bytes);
  uint64_t &held = bytes_of_[tenant];
  held -= entry->second.bytes;
  if (held == 0)
    bytes_of_.erase(tenant);
  return entries_.erase(entry);
}

absl::Status BufferStore::Release(const TenantPtr &tenant, const std::string &handle,
                                  Clock::time_point now) {
  std::lock_guard lock(mutex_);
  SweepLocked(now);
  auto found = Find(tenant, handle);
  if (!found.ok())
    return found.status();
  Erase(*found);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<BufferStore::Use>>
BufferStore::Begin(const TenantPtr &tenant, const std::string &handle, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  SweepLocked(now);
  auto found = Find(tenant, handle);
  if (!found.ok())
    return found.status();
  Entry &entry = (*found)->second;
  ++entry.uses;
  return std::shared_ptr<Use>(new Use(*this, handle, entry.type, entry.contents));
}

void BufferStore::EndUse(const std::string &handle) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(handle);
  if (found == entries_.end())
    return; // released while it was used
  --found->second.uses;
  found->second.ends = Clock::now() + found->second.ttl;
}

absl::Status BufferStore::Replace(const std::string &handle, TensorMemory memory) {
  if (absl::Status s = memory.SealContents(); !s.ok())
    return absl::FailedPreconditionError(
        absl::StrCat("a buffer's new contents can still be written to: ", s.message()));
  std::lock_guard lock(mutex_);
  auto found = entries_.find(handle);
  if (found != entries_.end())
    found->second.contents = std::make_shared<TensorMemory>(std::move(memory));
  return absl::OkStatus();
}

void BufferStore::SweepLocked(Clock::time_point now) {
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (it->second.uses > 0 || now < it->second.ends) {
      ++it;
      continue;
    }
    expired_.emplace_back(it->first, it->second.tenant.get());
    it = Erase(it);
  }
  while (expired_.size() > kMaxExpired)
    expired_.pop_front();
}

BufferStore::Clock::time_point BufferStore::Sweep(Clock::time_point now) {
  std::lock_guard lock(mutex_);
  SweepLocked(now);
  Clock::time_point next = Clock::time_point::max();
  for (const auto &[handle, entry] : entries_)
    next = std::min(next, entry.uses > 0 ? now + entry.ttl : entry.ends);
  return next;
}

uint64_t BufferStore::count() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

uint64_t BufferStore::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

} // namespace pyasc::server
