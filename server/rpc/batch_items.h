// The items of one batch of compiles, however their answers travel: what is refused of a batch,
// how many of it are under way, and how they share with others.
#ifndef PYASC_SERVER_RPC_BATCH_ITEMS_H
#define PYASC_SERVER_RPC_BATCH_ITEMS_H

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "pyasc/v1/compile.pb.h"
#include "server/rpc/service_context.h"

namespace pyasc::server {

// Items of one batch that are under way at a time: a batch alone must not fill the queue.
inline constexpr int kBatchWindow = 32;

// The fields of a reply that differ from call to call.
v1::CompileReply CallFields(const CompileAnswer &answer, int64_t service_ns);

// Why the service failed for an item. REQUIRES: not OK.
v1::ItemError ToItemError(const absl::Status &status);

// Thread-safe. Held by a shared_ptr alone.
class BatchItems : public std::enable_shared_from_this<BatchItems> {
public:
  // FAILED_PRECONDITION, INVALID_ARGUMENT: the batch as a whole is refused.
  static absl::StatusOr<std::shared_ptr<BatchItems>> Accept(ServiceContext &service,
                                                            const v1::CompileBatchRequest &request,
                                                            const grpc::CallbackServerContext &call,
                                                            const Tenant &tenant);

  int size() const { return request_.requests_size(); }
  const v1::CompileRequest &item(int index) const { return request_.requests(index); }
  // Compiles an item. `done` is called once, perhaps before this returns; never after Cancel()
  // where the answer had not come before. `took_ns`: since this call.
  void Start(int index, std::function<void(const CompileAnswer &, int64_t took_ns)> done);
  // Nobody wants what has not come yet.
  void Cancel();

private:
  BatchItems(ServiceContext &service, const v1::CompileBatchRequest &request, Caller caller)
      : service_(service), request_(request), caller_(std::move(caller)) {}

  ServiceContext &service_;
  v1::CompileBatchRequest request_;
  const Caller caller_;
  std::mutex mutex_;
  bool cancelled_ = false;
  uint64_t next_ = 1;
  std::map<uint64_t, PendingPtr> pending_; // what is under way; null until it is known
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_BATCH_ITEMS_H
