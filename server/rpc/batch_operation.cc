#include "server/rpc/batch_operation.h"

#include <algorithm>
#include <utility>

#include "server/core/keys.h"
#include "server/core/service_error.h"

namespace pyasc::server {

using std::chrono::milliseconds;

namespace {

// Of what the compiler says of items that it did not compile: of one, and of all of a batch.
constexpr size_t kItemDiagnostics = 4 << 10;
constexpr size_t kBatchDiagnostics = 1 << 20;

} // namespace

absl::StatusOr<google::longrunning::Operation>
BatchOperation::Start(ServiceContext &service, OperationStore &store,
                      const v1::CompileBatchRequest &request,
                      const grpc::CallbackServerContext &call, const TenantPtr &tenant) {
  std::shared_ptr<BatchOperation> self(new BatchOperation(service, store, tenant));
  auto items = BatchItems::Accept(service, request, call, *tenant);
  if (!items.ok())
    return items.status();
  if (absl::Status s =
          self->bytes_->Take(static_cast<int64_t>(request.ByteSizeLong()), "the batch's kernels");
      !s.ok())
    return s;
  auto operation = store.Create(tenant->name(), "batch", RouteOf(call));
  if (!operation.ok())
    return operation.status();
  self->name_ = operation->name();
  self->items_ = *std::move(items);
  for (int i = 0; i < self->items_->size(); ++i)
    self->result_.add_items()->set_kernel(Printable(self->items_->item(i).kernel()));
  store.SetCancel(self->name_, [weak = self->weak_from_this()] {
    if (auto self = weak.lock())
      self->Cancel();
  });
  if (self->items_->size() == 0) {
    store.Finish(self->name_, self->result_);
  } else {
    std::lock_guard lock(self->mutex_);
    self->Pause(milliseconds(0)); // the work is not the handler's
  }
  return *std::move(operation);
}

bool BatchOperation::Enter() {
  std::lock_guard lock(mutex_);
  inside_ += over_ ? 0 : 1;
  return !over_;
}

void BatchOperation::Leave() {
  std::lock_guard lock(mutex_);
  --inside_;
  left_.notify_all();
}

void BatchOperation::Cancel() {
  std::unique_ptr<grpc::Alarm> alarm;
  {
    std::lock_guard lock(mutex_);
    over_ = true;
    alarm = std::move(alarm_);
  }
  items_->Cancel();
  alarm.reset();
  std::unique_lock lock(mutex_);
  left_.wait(lock, [&] { return inside_ == 0; });
  bytes_.reset();
}

void BatchOperation::Pause(milliseconds wait) {
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(std::chrono::system_clock::now() + wait, [self = shared_from_this()](bool) {
    std::unique_ptr<grpc::Alarm> rung;
    {
      std::lock_guard lock(self->mutex_);
      rung = std::move(self->alarm_);
    }
    self->GoOn();
  });
}

void BatchOperation::GoOn() {
  if (!Enter())
    return;
  int started = 0;
  for (bool mine = false;;) {
    int index;
    {
      std::lock_guard lock(mutex_);
      if (starting_ && !mine)
        break; // another thread sees what there is to start
      starting_ = mine = true;
      const bool left = !refused_.empty() || next_ < items_->size();
      if (over_ || alarm_ || !left || under_way_ == kBatchWindow) {
        starting_ = false;
        break;
      }
      // All may be at hand, and a thread is not one batch's for long.
      if (started == kBatchWindow) {
        Pause(milliseconds(0));
        starting_ = false;
        break;
      }
      if (refused_.empty()) {
        index = next_++;
      } else {
        index = refused_.front();
        refused_.pop_front();
      }
      ++under_way_;
    }
    ++started;
    items_->Start(index, [self = shared_from_this(), index](const CompileAnswer &answer, int64_t) {
      self->Answered(index, answer);
    });
  }
  Leave();
}

void BatchOperation::Answered(int index, const CompileAnswer &answer) {
  if (!Enter())
    return;
  const absl::Status &status = answer.compiled.status();
  v1::Progress progress;
  progress.set_stage("compiling");
  bool finished = false;
  const bool stops = !status.ok() && service_.admission.draining();
  {
    std::lock_guard lock(mutex_);
    --under_way_;
    const auto wait = RetryAfter(status);
    if (stops) {
      over_ = true;
    } else if (absl::IsResourceExhausted(status) && wait) {
      refused_.push_back(index);
      if (!alarm_ && !over_)
        Pause(*wait);
    } else {
      Record(index, answer);
      finished = ++done_ == items_->size();
      over_ |= finished;
    }
    progress.set_fraction(static_cast<double>(done_) / items_->size());
    if (over_)
      bytes_.reset();
  }
  if (finished)
    store_.Finish(name_, result_); // nobody changes it any more
  else if (stops)
    store_.Fail(name_, OperationStore::Interrupted());
  else
    store_.SetProgress(name_, progress);
  Leave();
  if (!finished && !stops)
    GoOn();
}

void BatchOperation::Record(int index, const CompileAnswer &answer) {
  v1::CompileBatchItem &item = *result_.mutable_items(index);
  item.set_request_key(answer.request_key);
  item.set_cache(answer.cache);
  if (!answer.compiled.ok()) {
    *item.mutable_error() = ToItemError(answer.compiled.status());
    return;
  }
  item.set_outcome((*answer.compiled)->outcome());
  if (item.outcome() == v1::OUTCOME_OK)
    return;
  v1::CompileReply reply;
  reply.ParseFromString(std::string((*answer.compiled)->reply()));
  std::stable_sort(
      reply.mutable_diagnostics()->begin(), reply.mutable_diagnostics()->end(),
      [](const v1::Diagnostic &a, const v1::Diagnostic &b) { return a.severity() < b.severity(); });
  size_t taken = 0;
  for (v1::Diagnostic &diagnostic : *reply.mutable_diagnostics()) {
    const size_t bytes = diagnostic.ByteSizeLong();
    if (taken + bytes > kItemDiagnostics || diagnostics_bytes_ + bytes > kBatchDiagnostics) {
      item.set_diagnostics_left_out(item.diagnostics_left_out() + 1);
      continue;
    }
    taken += bytes;
    diagnostics_bytes_ += bytes;
    *item.add_diagnostics() = std::move(diagnostic);
  }
}

} // namespace pyasc::server
