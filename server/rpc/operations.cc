#include "server/rpc/operations.h"

#include <algorithm>
#include <random>

#include "absl/strings/ascii.h"
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
// Of all results together that wait to be fetched.
constexpr size_t kMaxResultBytes = 256 << 20;
// Of one page of a list: clients take 4 MiB without being told otherwise.
constexpr size_t kMaxPageBytes = 2 << 20;
// Metadata by which balancers lead calls about one piece of work to one daemon.
constexpr char kRouteHeader[] = "x-pyasc-route";
constexpr size_t kMaxRoute = 64;

absl::Status NoSuchOperation(const std::string &name) {
  return ServiceError(absl::StatusCode::kNotFound,
                      absl::StrCat("there is no operation '", name, "'"),
                      {.reason = "NO_SUCH_OPERATION"});
}

std::string NewName(const std::string &route) {
  static std::mutex mutex;
  static std::mt19937_64 random{std::random_device{}()};
  std::lock_guard lock(mutex);
  return absl::StrFormat("operations/%s%s%016x%016x", route, route.empty() ? "" : ".", random(),
                         random());
}

} // namespace

std::string RouteOf(const grpc::CallbackServerContext &call) {
  auto given = call.client_metadata().find(kRouteHeader);
  if (given == call.client_metadata().end())
    return "";
  std::string route(given->second.data(), given->second.length());
  const bool plain = std::all_of(route.begin(), route.end(),
                                 [](unsigned char c) { return absl::ascii_isalnum(c); });
  return plain && route.size() <= kMaxRoute ? route : "";
}

absl::Status OperationStore::Interrupted() {
  return ServiceError(absl::StatusCode::kAborted,
                      "the service stopped while the operation ran: begin the operation anew",
                      {.reason = "SERVICE_RESTARTED"});
}

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
    entry.bytes = one.operation.ByteSizeLong();
    result_bytes_ += entry.bytes;
    entry.ended = std::chrono::steady_clock::now();
  }
  (*journal)->Rewrite(stored);
  journal_ = *std::move(journal);
  return absl::OkStatus();
}

void OperationStore::Drop(Entries::iterator entry) {
  result_bytes_ -= entry->second.bytes;
  if (journal_)
    journal_->Delete(entry->first);
  entries_.erase(entry);
}

OperationStore::Entries::const_iterator OperationStore::Find(const std::string &owner,
                                                             const std::string &name) const {
  auto found = entries_.find(name);
  const bool seen =
      found != entries_.end() && found->second.owner == owner && !found->second.deleted;
  return seen ? found : entries_.end();
}

OperationStore::Entries::iterator OperationStore::Find(const std::string &owner,
                                                       const std::string &name) {
  return std::as_const(*this).Find(owner, name) == entries_.end() ? entries_.end()
                                                                  : entries_.find(name);
}

OperationStore::Entries::iterator OperationStore::Oldest() {
  std::map<std::string, size_t> results;
  for (const auto &[name, entry] : entries_)
    results[entry.owner] += entry.operation.done() ? std::max<size_t>(entry.bytes, 1) : 0;
  auto oldest = entries_.end();
  auto rank = [&](const Entry &entry) {
    return std::pair(results[entry.owner], -entry.ended.time_since_epoch().count());
  };
  for (auto it = entries_.begin(); it != entries_.end(); ++it)
    if (it->second.operation.done() &&
        (oldest == entries_.end() || rank(it->second) > rank(oldest->second)))
      oldest = it;
  return oldest;
}

absl::StatusOr<Operation> OperationStore::Create(const std::string &owner, const std::string &kind,
                                                 const std::string &route) {
  std::lock_guard lock(mutex_);
  if (entries_.size() >= max_operations_) {
    auto oldest = Oldest();
    if (oldest == entries_.end())
      return ServiceError(
          absl::StatusCode::kResourceExhausted,
          "too many operations are under way; try again later",
          {.reason = "TOO_MANY_OPERATIONS", .retry_after = std::chrono::milliseconds(1000)});
    Drop(oldest);
  }
  Operation operation;
  operation.set_name(NewName(route));
  v1::RunMetadata metadata;
  metadata.set_kind(kind);
  operation.mutable_metadata()->PackFrom(metadata);
  if (journal_)
    journal_->Put(owner, operation);
  Entry &entry = entries_[operation.name()];
  entry.owner = owner;
  entry.operation = operation;
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
    found->second.operation.metadata().UnpackTo(&metadata);
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
  auto found = Find(owner, name);
  if (found == entries_.end())
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
    if (found != entries_.end() && !found->second.operation.done() && !found->second.deleted &&
        found->second.last <= after) {
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
  std::function<void()> cancel; // destroyed without the lock
  std::map<uint64_t, std::function<void()>> waiters, watchers;
  {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(name);
    if (found == entries_.end() || found->second.operation.done())
      return;
    Entry &entry = found->second;
    waiters.swap(entry.waiters);
    watchers.swap(entry.watchers);
    cancel = std::exchange(entry.cancel, nullptr);
    if (entry.deleted) {
      entries_.erase(found);
    } else {
      fill(entry.operation);
      entry.operation.set_done(true);
      entry.ended = std::chrono::steady_clock::now();
      entry.bytes = entry.operation.ByteSizeLong();
      result_bytes_ += entry.bytes;
      if (journal_)
        journal_->Put(entry.owner, entry.operation);
      // What is new stays, however much it is.
      for (auto oldest = Oldest(); result_bytes_ > kMaxResultBytes && oldest->first != name;
           oldest = Oldest())
        Drop(oldest);
    }
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
  auto found = Find(owner, name);
  if (found == entries_.end())
    return NoSuchOperation(name);
  return found->second.operation;
}

std::vector<Operation> OperationStore::List(const std::string &owner, const std::string &after,
                                            size_t limit, bool *more) const {
  std::lock_guard lock(mutex_);
  std::vector<Operation> list;
  size_t bytes = 0;
  *more = false;
  for (auto it = entries_.upper_bound(after); it != entries_.end(); ++it) {
    if (it->second.owner != owner || it->second.deleted)
      continue;
    *more = !list.empty() && (list.size() == limit || bytes + it->second.bytes > kMaxPageBytes);
    if (*more)
      break;
    bytes += it->second.bytes;
    list.push_back(it->second.operation);
  }
  return list;
}

absl::Status OperationStore::Cancel(const std::string &owner, const std::string &name) {
  std::function<void()> cancel;
  {
    std::lock_guard lock(mutex_);
    auto found = Find(owner, name);
    if (found == entries_.end())
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
  std::map<uint64_t, std::function<void()>> waiters, watchers; // called without the lock
  {
    std::lock_guard lock(mutex_);
    auto found = Find(owner, name);
    if (found == entries_.end())
      return NoSuchOperation(name);
    waiters.swap(found->second.waiters);
    watchers.swap(found->second.watchers);
    if (found->second.operation.done()) {
      Drop(found);
    } else {
      found->second.deleted = true;
      if (journal_)
        journal_->Delete(name);
    }
  }
  for (auto &[id, waiter] : waiters)
    waiter();
  for (auto &[id, wake] : watchers)
    wake();
  return absl::OkStatus();
}

void OperationStore::Stop() {
  std::vector<std::pair<std::string, std::function<void()>>> running;
  {
    std::lock_guard lock(mutex_);
    for (auto &[name, entry] : entries_)
      if (!entry.operation.done()) {
        entry.cancelled = true;
        running.emplace_back(name, std::exchange(entry.cancel, nullptr));
      }
  }
  for (auto &[name, cancel] : running) {
    if (cancel)
      cancel();
    Fail(name, Interrupted());
  }
}

uint64_t OperationStore::Wait(const std::string &name, std::function<void()> done) {
  {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(name);
    if (found != entries_.end() && !found->second.operation.done() && !found->second.deleted) {
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
  for (auto it = entries_.begin(); it != entries_.end();) {
    auto entry = it++;
    if (entry->second.operation.done() && entry->second.ended < limit) {
      result_bytes_ -= entry->second.bytes;
      entries_.erase(entry);
    }
  }
  if (!journal_ || (entries_.size() == before && journal_->grown() < kMaxJournalGrowth))
    return;
  std::vector<OperationJournal::Stored> all;
  for (const auto &[name, entry] : entries_)
    if (!entry.deleted)
      all.push_back({entry.owner, entry.operation});
  journal_->Rewrite(all);
}

} // namespace pyasc::server
