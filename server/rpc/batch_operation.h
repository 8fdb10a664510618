// A batch of compiles as an operation: it goes on when its caller has gone.
//
// States: going; paused, after the queue was full for an item, until there may be room; over. In
// pauses the items that found no room come first when it goes on.
#ifndef PYASC_SERVER_RPC_BATCH_OPERATION_H
#define PYASC_SERVER_RPC_BATCH_OPERATION_H

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "google/longrunning/operations.pb.h"
#include "grpcpp/alarm.h"
#include "pyasc/v1/compile.pb.h"
#include "server/rpc/batch_items.h"
#include "server/rpc/operations.h"
#include "server/rpc/run_inputs.h"
#include "server/rpc/service_context.h"

namespace pyasc::server {

// Thread-safe. Keeps itself alive while it works.
class BatchOperation : public std::enable_shared_from_this<BatchOperation> {
public:
  // Errors: of BatchItems::Accept, of the store, and RESOURCE_EXHAUSTED where the tenant or the
  // service has no room for the batch's bytes.
  static absl::StatusOr<google::longrunning::Operation>
  Start(ServiceContext &service, OperationStore &store, const v1::CompileBatchRequest &request,
        const grpc::CallbackServerContext &call, const TenantPtr &tenant);

  // Once it returns, nothing of the service is touched any more.
  void Cancel();

private:
  BatchOperation(ServiceContext &service, OperationStore &store, TenantPtr tenant)
      : service_(service), store_(store),
        bytes_(std::make_unique<ByteLease>(service, std::move(tenant))) {}
  // False: it is over, and nothing of the service may be touched. Else Leave() must follow.
  bool Enter();
  void Leave();
  // Starts what may be under way now.
  void GoOn();
  void Answered(int index, const CompileAnswer &answer);
  // These with the mutex held.
  void Pause(std::chrono::milliseconds wait);
  void Record(int index, const CompileAnswer &answer);

  ServiceContext &service_;
  OperationStore &store_;
  std::string name_;
  std::shared_ptr<BatchItems> items_;
  std::mutex mutex_; // what follows
  std::condition_variable left_;
  int inside_ = 0; // threads that use the service
  bool over_ = false, starting_ = false;
  std::unique_ptr<grpc::Alarm> alarm_; // paused until it rings
  int next_ = 0, under_way_ = 0, done_ = 0;
  std::deque<int> refused_; // found no room
  size_t diagnostics_bytes_ = 0;
  v1::CompileBatchResult result_;
  std::unique_ptr<ByteLease> bytes_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_BATCH_OPERATION_H
