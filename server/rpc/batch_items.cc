#include "server/rpc/batch_items.h"

#include <utility>

#include "server/core/service_error.h"
#include "server/rpc/check_request.h"

namespace pyasc::server {
namespace {

constexpr int kMaxBatch = 10'000; // CompileBatchRequest
// Within a tenant, batches give way to calls that somebody waits for.
constexpr int kPriority = -1;

} // namespace

v1::CompileReply CallFields(const CompileAnswer &answer, int64_t service_ns) {
  v1::CompileReply fields;
  fields.set_cache(answer.cache);
  fields.set_request_key(answer.request_key);
  fields.set_queue_ns(answer.queue_ns);
  fields.set_service_ns(service_ns);
  return fields;
}

v1::ItemError ToItemError(const absl::Status &status) {
  v1::ItemError error;
  error.set_code(status.raw_code());
  error.set_message(std::string(status.message()));
  if (auto wait = RetryAfter(status))
    error.set_retry_after_ms(static_cast<uint64_t>(wait->count()));
  return error;
}

absl::StatusOr<std::shared_ptr<BatchItems>>
BatchItems::Accept(ServiceContext &service, const v1::CompileBatchRequest &request,
                   const grpc::CallbackServerContext &call, const Tenant &tenant) {
  if (absl::Status s = CheckKnownFields(request, call, service.backend); !s.ok())
    return s;
  if (request.requests_size() > kMaxBatch)
    return absl::InvalidArgumentError("the batch has too many items");
  std::shared_ptr<BatchItems> items(new BatchItems(service, request, tenant.caller(kPriority)));
  for (v1::CompileRequest &item : *items->request_.mutable_requests())
    NameRequest(&item, call);
  return items;
}

void BatchItems::Start(int index, std::function<void(const CompileAnswer &, int64_t)> done) {
  const auto begin = std::chrono::steady_clock::now();
  uint64_t id;
  {
    std::lock_guard lock(mutex_);
    if (cancelled_)
      return;
    id = next_++;
    pending_[id] = nullptr;
  }
  auto deliver = [self = shared_from_this(), id, begin,
                  done = std::move(done)](const CompileAnswer &answer) {
    {
      std::lock_guard lock(self->mutex_);
      if (self->pending_.erase(id) == 0)
        return; // cancelled
    }
    done(answer, (std::chrono::steady_clock::now() - begin) / std::chrono::nanoseconds(1));
  };
  const v1::CompileRequest &item = request_.requests(index);
  if (absl::Status s = CheckCompileRequest(item); !s.ok())
    return deliver({s, v1::CACHE_RESULT_UNSPECIFIED, "", 0});
  PendingPtr pending = service_.backend.Compile(item, caller_, std::move(deliver), nullptr);
  if (!pending)
    return;
  std::unique_lock lock(mutex_);
  if (auto found = pending_.find(id); found != pending_.end()) {
    found->second = std::move(pending);
  } else if (cancelled_) { // between the two
    lock.unlock();
    pending->Cancel();
  }
}

void BatchItems::Cancel() {
  std::map<uint64_t, PendingPtr> pending;
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    pending.swap(pending_);
  }
  for (auto &[id, one] : pending)
    if (one)
      one->Cancel();
}

} // namespace pyasc::server
