// One WatchOperation call: sends an operation's events as they come, then the operation.
#ifndef PYASC_SERVER_RPC_WATCH_CALL_H
#define PYASC_SERVER_RPC_WATCH_CALL_H

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "pyasc/v1/execution.grpc.pb.h"
#include "server/rpc/operations.h"
#include "server/rpc/service_context.h"

namespace pyasc::server {

// Deletes itself. Events wait in the operation's log, which is bounded, not here: a slow reader
// costs one event, and is told of those that it missed.
class WatchCall final : public grpc::ServerWriteReactor<v1::OperationEvent> {
public:
  WatchCall(ServiceContext &service, OperationStore &store,
            const v1::WatchOperationRequest &request)
      : service_(service), store_(store), scope_(service, "WatchOperation"), request_(request),
        seen_(request.after()), link_(std::make_shared<Link>()) {
    link_->call = this;
  }
  void Begin(const grpc::CallbackServerContext &context);
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

private:
  // What outlives the call: the store looks here whether it is still there.
  struct Link {
    std::mutex mutex;
    WatchCall *call = nullptr;
  };

  // With the link's mutex held:
  void Continue();
  void End(const grpc::Status &status);

  ServiceContext &service_;
  OperationStore &store_;
  CallScope scope_;
  const v1::WatchOperationRequest request_;
  std::string owner_;
  uint64_t seen_;
  uint64_t watch_ = 0; // the store's id, while it is to wake us
  v1::OperationEvent event_;
  bool writing_ = false;
  bool ended_ = false;
  std::optional<grpc::Status> end_after_write_;
  const std::shared_ptr<Link> link_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_WATCH_CALL_H
