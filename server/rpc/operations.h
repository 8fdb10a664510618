// google.longrunning.Operations. With a journal they outlive the process: what is done stays, and
// what ran when the process ended is ABORTED.
#ifndef PYASC_SERVER_RPC_OPERATIONS_H
#define PYASC_SERVER_RPC_OPERATIONS_H

#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "google/longrunning/operations.grpc.pb.h"
#include "pyasc/v1/execution.pb.h"
#include "server/rpc/operation_journal.h"
#include "server/rpc/service_context.h"

namespace pyasc::server {

// Thread-safe.
class OperationStore {
public:
  explicit OperationStore(size_t max_operations) : max_operations_(max_operations) {}

  // Takes over what a process before this one left at `path`, and keeps it there from now on.
  // REQUIRES: there is no operation yet.
  absl::Status KeepAt(const std::string &path);

  // A new operation that runs. `kind`: RunMetadata.kind. `route`: of the call that begins it, see
  // RouteOf; its name begins with it, so that those who know the name alone find the same daemon
  // behind a balancer. RESOURCE_EXHAUSTED when there are too many that still run.
  absl::StatusOr<google::longrunning::Operation>
  Create(const std::string &owner, const std::string &kind, const std::string &route);
  // `cancel` is called once, if the operation is cancelled or the service stops; perhaps at once.
  void SetCancel(const std::string &name, std::function<void()> cancel);
  void SetProgress(const std::string &name, const v1::Progress &progress);
  void AddPrint(const std::string &name, const v1::PrintLine &line);
  void Finish(const std::string &name, const google::protobuf::Message &response);
  void Fail(const std::string &name, const absl::Status &status);

  // What follows knows the operations of `owner` alone; others are NOT_FOUND.
  absl::StatusOr<google::longrunning::Operation> Get(const std::string &owner,
                                                     const std::string &name) const;
  // Those after `after` by name: `limit` at most, and fewer where they would be large. `more`:
  // there are others. REQUIRES: limit > 0.
  std::vector<google::longrunning::Operation>
  List(const std::string &owner, const std::string &after, size_t limit, bool *more) const;
  absl::Status Cancel(const std::string &owner, const std::string &name);
  absl::Status Delete(const std::string &owner, const std::string &name);
  // Calls `done` once: when the operation is done, or at once when it is or is unknown; returns
  // an id for StopWaiting, 0 when `done` was called.
  uint64_t Wait(const std::string &name, std::function<void()> done);
  // False: `done` has been or is being called.
  bool StopWaiting(const std::string &name, uint64_t id);
  // The first event after number `after`; false: there is none yet. NOT_FOUND.
  absl::StatusOr<bool> NextEvent(const std::string &owner, const std::string &name, uint64_t after,
                                 v1::OperationEvent *event) const;
  // Calls `wake` once, when there is an event after `after`; returns an id for StopWatching. 0:
  // there is one already, or the operation is gone, and `wake` will not be called.
  uint64_t Watch(const std::string &name, uint64_t after, std::function<void()> wake);
  // False: `wake` has been or is being called.
  bool StopWatching(const std::string &name, uint64_t id);
  // Ends what still runs: the service stops.
  void Stop();
  // ABORTED: what an operation ends with whose service stops.
  static absl::Status Interrupted();
  // Operations that still run.
  size_t running() const;
  // Forgets results that nobody has deleted for an hour.
  void Sweep();

private:
  struct Entry {
    std::string owner;
    google::longrunning::Operation operation;
    std::function<void()> cancel;
    bool cancelled = false;
    // Its owner has forgotten it while it runs: nobody sees it.
    bool deleted = false;
    size_t bytes = 0; // of the operation, once it is done
    std::chrono::steady_clock::time_point ended;
    std::map<uint64_t, std::function<void()>> waiters;
    std::map<uint64_t, std::function<void()>> watchers;
    // Events that were, the newest last: those after number `cut` up to `last`.
    std::deque<v1::OperationEvent> log;
    size_t log_bytes = 0;
    uint64_t cut = 0, last = 0;
  };
  using Entries = std::map<std::string, Entry>;
  // These with the mutex held. The second: end() where there is none, or not for `owner`.
  void Drop(Entries::iterator entry);
  Entries::const_iterator Find(const std::string &owner, const std::string &name) const;
  Entries::iterator Find(const std::string &owner, const std::string &name);
  // The result that makes room for others: the oldest of the owner who has most.
  Entries::iterator Oldest();
  // Appends to the log; returns those who wait for it.
  static std::map<uint64_t, std::function<void()>> Log(Entry &entry, v1::OperationEvent event);
  void End(const std::string &name, const std::function<void(google::longrunning::Operation &)> &);

  const size_t max_operations_;
  mutable std::mutex mutex_;
  uint64_t next_waiter_ = 1;
  Entries entries_;
  size_t result_bytes_ = 0;
  std::unique_ptr<OperationJournal> journal_; // may be null
};

// The route that a caller's balancer knows (`x-pyasc-route`); "" without one, or where it does not
// look like one.
std::string RouteOf(const grpc::CallbackServerContext &call);

class OperationsService final : public google::longrunning::Operations::CallbackService {
public:
  OperationsService(ServiceContext &service, OperationStore &store)
      : service_(service), store_(store) {}

  grpc::ServerUnaryReactor *
  ListOperations(grpc::CallbackServerContext *context,
                 const google::longrunning::ListOperationsRequest *request,
                 google::longrunning::ListOperationsResponse *reply) override;
  grpc::ServerUnaryReactor *GetOperation(grpc::CallbackServerContext *context,
                                         const google::longrunning::GetOperationRequest *request,
                                         google::longrunning::Operation *reply) override;
  grpc::ServerUnaryReactor *
  DeleteOperation(grpc::CallbackServerContext *context,
                  const google::longrunning::DeleteOperationRequest *request,
                  google::protobuf::Empty *reply) override;
  grpc::ServerUnaryReactor *
  CancelOperation(grpc::CallbackServerContext *context,
                  const google::longrunning::CancelOperationRequest *request,
                  google::protobuf::Empty *reply) override;
  grpc::ServerUnaryReactor *WaitOperation(grpc::CallbackServerContext *context,
                                          const google::longrunning::WaitOperationRequest *request,
                                          google::longrunning::Operation *reply) override;

private:
  ServiceContext &service_;
  OperationStore &store_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_OPERATIONS_H
