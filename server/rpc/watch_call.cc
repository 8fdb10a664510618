#include "server/rpc/watch_call.h"

#include "server/rpc/check_request.h"

namespace pyasc::server {

void WatchCall::Begin(const grpc::CallbackServerContext &context) {
  std::lock_guard lock(link_->mutex);
  absl::Status status = scope_.Enter(context);
  if (status.ok())
    status = CheckKnownFields(request_, context, service_.backend);
  if (!status.ok())
    return End(ToGrpcStatus(status));
  owner_ = scope_.tenant()->name();
  StartSendInitialMetadata(); // the caller knows that it is connected, though nothing happens yet
  Continue();
}

void WatchCall::Continue() {
  while (!writing_ && !ended_) {
    event_.Clear();
    absl::StatusOr<bool> there = store_.NextEvent(owner_, request_.name(), seen_, &event_);
    if (!there.ok())
      return End(ToGrpcStatus(there.status()));
    if (*there) {
      seen_ = event_.sequence();
      writing_ = true;
      return StartWrite(&event_);
    }
    watch_ = store_.Watch(request_.name(), seen_, [link = link_] {
      std::lock_guard lock(link->mutex);
      if (!link->call)
        return;
      link->call->watch_ = 0;
      link->call->Continue();
    });
    if (watch_)
      return;
  }
}

void WatchCall::OnWriteDone(bool ok) {
  std::lock_guard lock(link_->mutex);
  writing_ = false;
  if (end_after_write_)
    return Finish(*end_after_write_);
  if (!ok)
    return; // OnCancel follows
  if (event_.has_done())
    return End(grpc::Status::OK);
  Continue();
}

void WatchCall::OnCancel() {
  std::lock_guard lock(link_->mutex);
  End(grpc::Status::CANCELLED);
}

void WatchCall::End(const grpc::Status &status) {
  if (ended_)
    return;
  ended_ = true;
  scope_.Ends(status);
  link_->call = nullptr;
  if (watch_)
    store_.StopWatching(request_.name(), watch_);
  if (writing_)
    end_after_write_ = status;
  else
    Finish(status);
}

void WatchCall::OnDone() {
  std::shared_ptr<Link> link = link_;
  {
    // A callback that has just let go of the call may still be inside the lock.
    std::lock_guard lock(link->mutex);
  }
  delete this;
}

} // namespace pyasc::server
