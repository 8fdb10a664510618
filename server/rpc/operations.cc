#include "server/rpc/operations.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "grpcpp/alarm.h"
#include "server/core/service_error.h"

namespace pyasc::server {

using google::longrunning::Operation;

namespace {

constexpr uint64_t kMaxJournalGrowth = 64 << 20;
// Of an operation's events that are kept for those who watch it.
constexpr size_t kMaxEvents = 4096;
constexpr size_t kMaxEventBytes = 1 << 20;

absl::Status NoSuchOperation(const std::string &name) {
  return ServiceError(absl::StatusCode::kNotFound,
                      absl::StrCat("there is no operation '", name, "'"),
                      {.reason = "NO_SUCH_OPERATION"});
}

// One call that looks at something, or changes it, at once.
grpc::ServerUnaryReactor *Small(ServiceContext &service, const char *method,
                                grpc::CallbackServerContext *context,
                                const std::function<absl::Status(const std::string &owner)> &work) {
  CallScope scope(service, method);
  absl::Status status = scope.Enter(*context, /*counted=*/false);
  if (status.ok())
    status = work(scope.tenant()->name());
  const grpc::Status ends = ToGrpcStatus(status);
  scope.Ends(ends);
  grpc::ServerUnaryReactor *reactor = context->DefaultReactor();
  reactor->Finish(ends);
  return reactor;
}

std::string NewName() {
  static std::mutex mutex;
  static std::mt19937_64 random{std::random_device{}()};
  std::lock_guard lock(mutex);
  return absl::StrFormat("operations/%016x%016x", random(), random());
}

// One WaitOperation call. The operation's end, the timeout and the caller's leaving race.
class WaitCall final : public grpc::ServerUnaryReactor {
public:
  WaitCall(OperationStore &store, std::string owner, std::string name, Operation *reply)
      : store_(store), owner_(std::move(owner)), name_(std::move(name)), reply_(reply) {}

  void Begin(std::optional<std::chrono::nanoseconds> timeout) {
    if (timeout) {
      // The alarm's callback is one more thing that must come before the object may go.
      ++holds_;
      alarm_.Set(std::chrono::system_clock::now() +
                     std::chrono::duration_cast<std::chrono::system_clock::duration>(*timeout),
                 [this](bool) {
                   TryEnd(false);
                   Release();
                 });
    }
    ++holds_;
    uint64_t id = store_.Wait(name_, [this] {
      TryEnd(false);
      Release();
    });
    std::unique_lock lock(mutex_);
    waiter_ = id;
    if (ended_)
      StopWaiting(lock);
  }
  void OnCancel() override { TryEnd(true); }
  void OnDone() override { Release(); }

private:
  void TryEnd(bool cancelled) {
    std::unique_lock lock(mutex_);
    if (ended_)
      return;
    ended_ = true;
    absl::StatusOr<Operation> operation = store_.Get(owner_, name_);
    if (operation.ok())
      *reply_ = *operation;
    ++holds_; // over Finish, after which OnDone may come at any time
    StopWaiting(lock);
    if (lock.owns_lock())
      lock.unlock();
    alarm_.Cancel();
    Finish(cancelled ? grpc::Status::CANCELLED : ToGrpcStatus(operation.status()));
    Release();
  }
  void StopWaiting(std::unique_lock<std::mutex> &lock) {
    uint64_t id = std::exchange(waiter_, 0);
    lock.unlock();
    if (id && store_.StopWaiting(name_, id))
      Release();
  }
  void Release() {
    if (--holds_ == 0)
      delete this;
  }

  OperationStore &store_;
  const std::string owner_, name_;
  Operation *reply_;
  grpc::Alarm alarm_;
  std::mutex mutex_;
  bool ended_ = false;
  uint64_t waiter_ = 0;
  std::atomic<int> holds_{1}; // OnDone
};

} // namespace

absl::Status OperationStore::KeepAt(const std::string &path) {
  std::vector<OperationJournal::Stored> stored;
  auto journal = OperationJournal::Open(path, &stored);
  if (!journal.ok())
    return journal.status();
  std::lock_guard lock(mutex_);
  for (OperationJournal::Stored &one : stored) {
    if (!one.operation.done()) {
      *one.operation.mutable_error() = ToRpcStatus(ServiceError(
          absl::StatusCode::kAborted,
          "the service ended while the operation ran, and has been started again: begin "
          "the operation anew",
          {.reason = "SERVICE_RESTARTED"}));
      one.operation.set_done(true);
    }
    Entry &entry = entries_[one.operation.name()];
    entry.owner = one.owner;
    entry.operation = one.operation;
    entry.ended = std::chrono::steady_clock::now();
  }
  (*journal)->Rewrite(stored);
  journal_ = *std::move(journal);
  return absl::OkStatus();
}

absl::StatusOr<Operation> OperationStore::Create(const std::string &owner,
                                                 std::function<void()> cancel) {
  std::lock_guard lock(mutex_);
  if (entries_.size() >= max_operations_) {
    // Results that wait to be fetched make room, the oldest first.
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->second.operation.done() &&
          (oldest == entries_.end() || it->second.ended < oldest->second.ended))
        oldest = it;
    if (oldest == entries_.end())
      return ServiceError(
          absl::StatusCode::kResourceExhausted,
          "too many operations are under way; try again later",
          {.reason = "TOO_MANY_OPERATIONS", .retry_after = std::chrono::milliseconds(1000)});
    if (journal_)
      journal_->Delete(oldest->first);
    entries_.erase(oldest);
  }
  Operation operation;
  operation.set_name(NewName());
  if (journal_)
    journal_->Put(owner, operation);
  Entry &entry = entries_[operation.name()];
  entry.owner = owner;
  entry.operation = operation;
  entry.cancel = std::move(cancel);
  return operation;
}

void OperationStore::SetCancel(const std::string &name, std::function<void()> cancel) {
  {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(name);
    if (found == entries_.end() || found->second.operation.done())
      return;
    if (!found->second.cancelled) {
      found->second.cancel = std::move(cancel);
      return;
    }
  }
  cancel();
}

std::map<uint64_t, std::function<void()>> OperationStore::Log(Entry &entry,
                                                              v1::OperationEvent event) {
  // Newer progress of the same stage takes the place of the older.
  if (!entry.log.empty() && event.has_progress() && entry.log.back().has_progress() &&
      entry.log.back().progress().stage() == event.progress().stage()) {
    entry.log_bytes -= entry.log.back().ByteSizeLong();
    entry.log.pop_back();
  }
  event.set_sequence(++entry.last);
  entry.log_bytes += event.ByteSizeLong();
  entry.log.push_back(std::move(event));
  while (entry.log.size() > kMaxEvents ||
         (entry.log_bytes > kMaxEventBytes && entry.log.size() > 1)) {
    entry.log_bytes -= entry.log.front().ByteSizeLong();
    entry.cut = entry.log.front().sequence();
    entry.log.pop_front();
  }
  return std::exchange(entry.watchers, {});
}

void OperationStore::SetProgress(const std::string &name, const v1::Progress &progress) {
  std::map<uint64_t, std::function<void()>> watchers;
  {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(name);
    if (found == entries_.end() || found->second.operation.done())
      return;
    v1::RunMetadata metadata;
    *metadata.mutable_progress() = progress;
    found->second.operation.mutable_metadata()->PackFrom(metadata);
    v1::OperationEvent event;
    *event.mutable_progress() = progress;
    watchers = Log(found->second, std::move(event));
  }
  for (auto &[id, wake] : watchers)
    wake();
}

void OperationStore::AddPrint(const std::string &name, const v1::PrintLine &line) {
  std::map<uint64_t, std::function<void()>> watchers;
  {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(name);
    if (found == entries_.end() || found->second.operation.done())
      return;
    v1::OperationEvent event;
    *event.mutable_print() = line;
    watchers = Log(found->second, std::move(event));
  }
  for (auto &[id, wake] : watchers)
    wake();
}

absl::StatusOr<bool> OperationStore::NextEvent(const std::string &owner, const std::string &name,
                                               uint64_t after, v1::OperationEvent *event) const {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(name);
  if (found == entries_.end() || found->second.owner != owner)
    return NoSuchOperation(name);
  const Entry &entry = found->second;
  if (after < entry.cut) {
    event->set_missed(entry.cut - after);
    event->set_sequence(entry.cut);
    return true;
  }
  auto next = std::partition_point(
      entry.log.begin(), entry.log.end(),
      [&](const v1::OperationEvent &known) { return known.sequence() <= after; });
  if (next != entry.log.end()) {
    *event = *next;
    return true;
  }
  if (!entry.operation.done())
    return false;
  *event->mutable_done() = entry.operation;
  event->set_sequence(std::max(entry.last, after) + 1);
  return true;
}

uint64_t OperationStore::Watch(const std::string &name, uint64_t after,
                               std::function<void()> wake) {
  {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(name);
    if (found != entries_.end() && !found->second.operation.done() && found->second.last <= after) {
      uint64_t id = next_waiter_++;
      found->second.watchers[id] = std::move(wake);
      return id;
    }
  }
  return 0;
}

bool OperationStore::StopWatching(const std::string &name, uint64_t id) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(name);
  return found != entries_.end() && found->second.watchers.erase(id) > 0;
}

void OperationStore::End(const std::string &name, const std::function<void(Operation &)> &fill) {
  std::map<uint64_t, std::function<void()>> waiters, watchers;
  {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(name);
    if (found == entries_.end() || found->second.operation.done())
      return;
    Entry &entry = found->second;
    fill(entry.operation);
    entry.operation.set_done(true);
    if (journal_)
      journal_->Put(entry.owner, entry.operation);
    entry.ended = std::chrono::steady_clock::now();
    entry.cancel = nullptr;
    waiters.swap(entry.waiters);
    watchers.swap(entry.watchers);
  }
  for (auto &[id, waiter] : waiters)
    waiter();
  for (auto &[id, wake] : watchers)
    wake();
}

void OperationStore::Finish(const std::string &name, const google::protobuf::Message &response) {
  End(name, [&](Operation &operation) { operation.mutable_response()->PackFrom(response); });
}

void OperationStore::Fail(const std::string &name, const absl::Status &status) {
  End(name, [&](Operation &operation) { *operation.mutable_error() = ToRpcStatus(status); });
}

absl::StatusOr<Operation> OperationStore::Get(const std::string &owner,
                                              const std::string &name) const {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(name);
  if (found == entries_.end() || found->second.owner != owner)
    return NoSuchOperation(name);
  return found->second.operation;
}

std::vector<Operation> OperationStore::List(const std::string &owner, const std::string &after,
                                            size_t limit) const {
  std::lock_guard lock(mutex_);
  std::vector<Operation> list;
  for (auto it = entries_.upper_bound(after); it != entries_.end() && list.size() < limit; ++it)
    if (it->second.owner == owner)
      list.push_back(it->second.operation);
  return list;
}

absl::Status OperationStore::Cancel(const std::string &owner, const std::string &name) {
  std::function<void()> cancel;
  {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(name);
    if (found == entries_.end() || found->second.owner != owner)
      return NoSuchOperation(name);
    if (found->second.operation.done())
      return absl::OkStatus();
    found->second.cancelled = true;
    cancel = std::exchange(found->second.cancel, nullptr);
  }
  if (cancel)
    cancel();
  Fail(name, absl::CancelledError("the operation was cancelled"));
  return absl::OkStatus();
}

absl::Status OperationStore::Delete(const std::string &owner, const std::string &name) {
  Entry gone; // waiters are called without the lock
  {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(name);
    if (found == entries_.end() || found->second.owner != owner)
      return NoSuchOperation(name);
    gone = std::move(found->second);
    entries_.erase(found);
    if (journal_)
      journal_->Delete(name);
  }
  for (auto &[id, waiter] : gone.waiters)
    waiter();
  for (auto &[id, wake] : gone.watchers)
    wake();
  return absl::OkStatus();
}

uint64_t OperationStore::Wait(const std::string &name, std::function<void()> done) {
  {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(name);
    if (found != entries_.end() && !found->second.operation.done()) {
      uint64_t id = next_waiter_++;
      found->second.waiters[id] = std::move(done);
      return id;
    }
  }
  done();
  return 0;
}

bool OperationStore::StopWaiting(const std::string &name, uint64_t id) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(name);
  return found != entries_.end() && found->second.waiters.erase(id) > 0;
}

size_t OperationStore::running() const {
  std::lock_guard lock(mutex_);
  return std::count_if(entries_.begin(), entries_.end(),
                       [](const auto &e) { return !e.second.operation.done(); });
}

void OperationStore::Sweep() {
  const auto limit = std::chrono::steady_clock::now() - std::chrono::hours(1);
  std::lock_guard lock(mutex_);
  const size_t before = entries_.size();
  std::erase_if(entries_,
                [&](const auto &e) { return e.second.operation.done() && e.second.ended < limit; });
  if (!journal_ || (entries_.size() == before && journal_->grown() < kMaxJournalGrowth))
    return;
  std::vector<OperationJournal::Stored> all;
  for (const auto &[name, entry] : entries_)
    all.push_back({entry.owner, entry.operation});
  journal_->Rewrite(all);
}

grpc::ServerUnaryReactor *
OperationsService::ListOperations(grpc::CallbackServerContext *context,
                                  const google::longrunning::ListOperationsRequest *request,
                                  google::longrunning::ListOperationsResponse *reply) {
  return Small(service_, "ListOperations", context, [&](const std::string &owner) {
    const size_t limit = request->page_size() > 0 ? std::min(request->page_size(), 1000) : 100;
    // The token is the last name of the page before.
    std::vector<Operation> page = store_.List(owner, request->page_token(), limit + 1);
    if (page.size() > limit) {
      page.resize(limit);
      reply->set_next_page_token(page.back().name());
    }
    for (Operation &operation : page)
      *reply->add_operations() = std::move(operation);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor *
OperationsService::GetOperation(grpc::CallbackServerContext *context,
                                const google::longrunning::GetOperationRequest *request,
                                Operation *reply) {
  return Small(service_, "GetOperation", context, [&](const std::string &owner) {
    absl::StatusOr<Operation> operation = store_.Get(owner, request->name());
    if (operation.ok())
      *reply = *std::move(operation);
    return operation.status();
  });
}

grpc::ServerUnaryReactor *
OperationsService::DeleteOperation(grpc::CallbackServerContext *context,
                                   const google::longrunning::DeleteOperationRequest *request,
                                   google::protobuf::Empty *) {
  return Small(service_, "DeleteOperation", context,
               [&](const std::string &owner) { return store_.Delete(owner, request->name()); });
}

grpc::ServerUnaryReactor *
OperationsService::CancelOperation(grpc::CallbackServerContext *context,
                                   const google::longrunning::CancelOperationRequest *request,
                                   google::protobuf::Empty *) {
  return Small(service_, "CancelOperation", context,
               [&](const std::string &owner) { return store_.Cancel(owner, request->name()); });
}

grpc::ServerUnaryReactor *
OperationsService::WaitOperation(grpc::CallbackServerContext *context,
                                 const google::longrunning::WaitOperationRequest *request,
                                 Operation *reply) {
  std::string owner;
  {
    CallScope scope(service_, "WaitOperation");
    absl::Status status = scope.Enter(*context, /*counted=*/false);
    if (status.ok())
      status = store_.Get(scope.tenant()->name(), request->name()).status();
    const grpc::Status ends = ToGrpcStatus(status);
    scope.Ends(ends);
    if (!status.ok()) {
      grpc::ServerUnaryReactor *reactor = context->DefaultReactor();
      reactor->Finish(ends);
      return reactor;
    }
    owner = scope.tenant()->name();
  }
  auto *call = new WaitCall(store_, std::move(owner), request->name(), reply);
  std::optional<std::chrono::nanoseconds> timeout;
  if (request->has_timeout()) // without one, the call's own deadline bounds it
    timeout = std::chrono::seconds(std::clamp<int64_t>(request->timeout().seconds(), 0, 86'400)) +
              std::chrono::nanoseconds(request->timeout().nanos());
  call->Begin(timeout);
  return call;
}

} // namespace pyasc::server
