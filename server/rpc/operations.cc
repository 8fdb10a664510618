#include "server/rpc/operations.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

std::string NewName() {
  static std::mutex mutex;
  static std::mt19937_64 random{std::random_device{}()};
  std::lock_guard lock(mutex);
  return absl::StrFormat("operations/%016x%016x", random(), random());
}

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

} // namespace pyasc::server
