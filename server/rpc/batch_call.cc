#include "server/rpc/batch_call.h"

#include <deque>

#include "server/rpc/batch_items.h"

namespace pyasc::server {
namespace {

// At most kBatchWindow items under way, one write at a time. Items that end after the call has
// still hold `state`, never the call.
class BatchCall final : public grpc::ServerWriteReactor<v1::CompileBatchReply> {
public:
  BatchCall(ServiceContext &service, const grpc::CallbackServerContext &context)
      : service_(service), context_(context), scope_(service, "CompileBatch"),
        state_(std::make_shared<State>()) {
    state_->call = this;
  }

  void Begin(const v1::CompileBatchRequest &request) {
    absl::Status status = scope_.Enter(context_);
    if (status.ok()) {
      auto items = BatchItems::Accept(service_, request, context_, *scope_.tenant());
      status = items.status();
      if (items.ok())
        items_ = *std::move(items);
    }
    if (!status.ok() || items_->size() == 0) {
      state_->call = nullptr;
      return End(ToGrpcStatus(status));
    }
    // The call may be over, and gone, before the last of these has begun.
    std::shared_ptr<State> state = state_;
    for (int i = 0; i < kBatchWindow; ++i)
      StartNext(state);
  }

  void OnWriteDone(bool ok) override {
    std::unique_lock lock(state_->mutex);
    state_->ready.pop_front();
    state_->writing = false;
    if (!state_->call) { // cancelled while it wrote
      lock.unlock();
      return End(grpc::Status::CANCELLED);
    }
    if (!ok)
      return; // OnCancel follows
    ++written_;
    WriteNext();
    const bool last = written_ == items_->size();
    if (last)
      state_->call = nullptr;
    std::shared_ptr<State> state = state_;
    lock.unlock();
    if (last)
      End(grpc::Status::OK);
    else
      StartNext(state);
  }
  void OnCancel() override {
    bool writing;
    std::shared_ptr<BatchItems> items;
    {
      std::lock_guard lock(state_->mutex);
      if (!state_->call)
        return;
      state_->call = nullptr;
      writing = state_->writing;
      items = items_;
    }
    items->Cancel();
    if (!writing) // else OnWriteDone ends the call
      End(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

private:
  struct State {
    std::mutex mutex;
    BatchCall *call = nullptr; // null once the call is over
    std::deque<v1::CompileBatchReply> ready;
    bool writing = false;
  };

  static void StartNext(const std::shared_ptr<State> &state) {
    int index;
    std::shared_ptr<BatchItems> items;
    {
      std::lock_guard lock(state->mutex);
      if (!state->call || state->call->next_ == state->call->items_->size())
        return;
      index = state->call->next_++;
      items = state->call->items_;
    }
    items->Start(index, [state, index](const CompileAnswer &answer, int64_t took_ns) {
      v1::CompileBatchReply reply;
      reply.set_index(index);
      if (answer.compiled.ok()) {
        std::string bytes((*answer.compiled)->reply());
        bytes += CallFields(answer, took_ns).SerializeAsString();
        reply.mutable_reply()->ParseFromString(bytes);
      } else {
        *reply.mutable_error() = ToItemError(answer.compiled.status());
      }
      std::lock_guard lock(state->mutex);
      if (!state->call)
        return;
      state->ready.push_back(std::move(reply));
      state->call->WriteNext();
    });
  }

  // With the state's mutex held.
  void WriteNext() {
    if (state_->writing || state_->ready.empty() || !state_->call)
      return;
    state_->writing = true;
    StartWrite(&state_->ready.front());
  }
  void End(const grpc::Status &status) {
    scope_.Ends(status);
    Finish(status);
  }

  ServiceContext &service_;
  const grpc::CallbackServerContext &context_; // alive until OnDone
  CallScope scope_;
  std::shared_ptr<BatchItems> items_; // set before the first item starts
  std::shared_ptr<State> state_;
  int next_ = 0;    // under the state's mutex
  int written_ = 0; // likewise
};

} // namespace

grpc::ServerWriteReactor<v1::CompileBatchReply> *
StartBatchCall(ServiceContext &service, const grpc::CallbackServerContext &context,
               const v1::CompileBatchRequest &request) {
  auto *call = new BatchCall(service, context);
  call->Begin(request);
  return call;
}

} // namespace pyasc::server
