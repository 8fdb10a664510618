#include "server/rpc/run_call.h"

#include "absl/strings/str_cat.h"
#include "server/core/service_error.h"
#include "server/rpc/check_request.h"

namespace pyasc::server {
namespace {

constexpr int64_t kMaxInlineBytes = 64 << 10;
constexpr int64_t kChunkBytes = 1 << 20;
// Lines that wait for a slow reader at most: a kernel that prints must not fill the daemon's
// memory.
constexpr size_t kMaxWaiting = 100'000;
// Of lines in one message, with what a line has beside its text.
constexpr size_t kMaxPrintBytes = 64 << 10;
constexpr size_t kLineOverhead = 32;
// Events that may wait before a piece of a trace waits with its run, and how long that may take.
constexpr size_t kMaxBeforeTrace = 16;
constexpr auto kTracePatience = std::chrono::seconds(30);

} // namespace

RunCall::RunCall(ServiceContext &service, grpc::CallbackServerContext *context)
    : service_(service), context_(context), scope_(service, "Run"), link_(std::make_shared<Link>()),
      inputs_(nullptr) {
  link_->call = this;
}

void RunCall::Begin() {
  std::lock_guard lock(link_->mutex);
  if (absl::Status s = scope_.Enter(*context_); !s.ok())
    return End(ToGrpcStatus(s));
  inputs_ = std::make_shared<RunInputs>(service_, scope_.tenant());
  StartRead(&request_);
}

void RunCall::OnReadDone(bool ok) {
  std::shared_ptr<RunFlow> flow;
  {
    std::lock_guard lock(link_->mutex);
    if (ended_)
      return;
    if (ok) {
      if (absl::Status s = TakeRequest(); !s.ok())
        return End(ToGrpcStatus(s));
      return StartRead(&request_);
    }
    if (context_->IsCancelled())
      return; // OnCancel follows
    absl::Status status =
        started_ ? inputs_->Seal() : absl::InvalidArgumentError("the stream has no `start`");
    if (!status.ok())
      return End(ToGrpcStatus(status));
    StartFlow();
    flow = flow_;
  }
  // Its first events come before Start returns.
  flow->Start();
}

absl::Status RunCall::TakeRequest() {
  if (absl::Status s = CheckKnownFields(request_, *context_, service_.backend); !s.ok())
    return s;
  if (request_.has_start() == started_)
    return absl::InvalidArgumentError(started_ ? "a second `start`"
                                               : "the first message must be `start`");
  return request_.has_start() ? TakeStart() : inputs_->Append(request_.chunk());
}

absl::Status RunCall::TakeStart() {
  started_ = true;
  start_ = std::move(*request_.mutable_start());
  NameRequest(start_.mutable_compile(), *context_);
  scope_.About(start_.compile().request_id(), start_.compile().kernel());
  if (absl::Status s = CheckRunStart(start_, /*chunks_allowed=*/true); !s.ok())
    return s;
  return inputs_->Accept(start_);
}

void RunCall::StartFlow() {
  std::shared_ptr<Link> link = link_;
  RunFlow::Events events;
  events.on_progress = [link](const v1::Progress &progress) {
    v1::RunEvent event;
    *event.mutable_progress() = progress;
    std::lock_guard lock(link->mutex);
    if (!link->call)
      return;
    // Newer progress takes the place of what a slow reader has not been told.
    std::deque<v1::RunEvent> &queue = link->call->queue_;
    if (!queue.empty() && queue.back().has_progress())
      queue.back() = std::move(event);
    else
      link->call->Enqueue(std::move(event));
  };
  events.on_print = [link](const v1::PrintLine &line) {
    v1::RunEvent event;
    *event.mutable_print() = line;
    std::lock_guard lock(link->mutex);
    if (!link->call)
      return;
    if (link->call->queue_.size() < kMaxWaiting)
      link->call->Enqueue(std::move(event));
    else
      ++link->call->dropped_prints_;
  };
  events.on_trace = [link](const v1::TraceChunk &chunk) {
    v1::RunEvent event;
    *event.mutable_trace() = chunk;
    std::unique_lock lock(link->mutex);
    const bool taken = link->room.wait_for(lock, kTracePatience, [&] {
      return !link->call || link->call->queue_.size() < kMaxBeforeTrace;
    });
    if (!link->call)
      return;
    if (taken)
      link->call->Enqueue(std::move(event));
    else
      link->call->End(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED,
                                   "the client does not take the trace that it asked for"));
  };
  events.on_done = [link](FlowResult result) {
    std::lock_guard lock(link->mutex);
    if (link->call)
      link->call->OnFlowDone(std::move(result));
  };
  flow_ = std::make_shared<RunFlow>(service_, scope_.tenant(), std::move(start_),
                                    std::move(inputs_), MeasureOptions{}, std::move(events));
}

void RunCall::OnFlowDone(FlowResult result) {
  if (!result.status.ok())
    return End(ToGrpcStatus(result.status));
  if (dropped_prints_ > 0) {
    v1::RunEvent event;
    event.mutable_print()->set_text(absl::StrCat(
        "(", dropped_prints_, " lines dropped: the client read slower than the kernel printed)"));
    Enqueue(std::move(event));
  }
  result_ = std::move(result);
  flow_done_ = true;
  Continue();
}

void RunCall::Enqueue(v1::RunEvent event) {
  if (ended_)
    return;
  queue_.push_back(std::move(event));
  Continue();
}

bool RunCall::NextOutput(v1::RunEvent *event) {
  while (output_ < result_.outputs.size()) {
    const OutputTensor &output = result_.outputs[output_];
    const SharedMemory &memory = result_.work->memory[output.memory_index];
    const int64_t size = memory.size_bytes();
    if (!output_announced_) {
      output_announced_ = true;
      v1::RunOutput &announced = *event->mutable_output();
      announced.set_name(output.name);
      announced.set_is_scalar(output.is_scalar);
      *announced.mutable_tensor()->mutable_type() = output.type;
      if (size <= kMaxInlineBytes) {
        std::string &data = *announced.mutable_tensor()->mutable_inline_data();
        data.resize(size);
        (void)memory.Read(0, data);
        output_offset_ = size;
      } else {
        announced.mutable_tensor()->set_chunked(true);
      }
      return true;
    }
    if (output_offset_ < size) {
      v1::TensorChunk &chunk = *event->mutable_chunk();
      chunk.set_name(output.name);
      chunk.mutable_data()->resize(std::min(kChunkBytes, size - output_offset_));
      (void)memory.Read(output_offset_, *chunk.mutable_data());
      output_offset_ += static_cast<int64_t>(chunk.data().size());
      return true;
    }
    ++output_;
    output_offset_ = 0;
    output_announced_ = false;
  }
  return false;
}

// The event that waits longest; lines that wait with it go along, since a message costs more than a
// line.
void RunCall::TakeWaiting() {
  writing_event_ = std::move(queue_.front());
  queue_.pop_front();
  if (!writing_event_.has_print() || queue_.empty() || !queue_.front().has_print())
    return;
  v1::RunEvent first = std::move(writing_event_);
  writing_event_.Clear();
  v1::PrintLines &lines = *writing_event_.mutable_prints();
  *lines.add_lines() = std::move(*first.mutable_print());
  size_t bytes = lines.lines(0).text().size();
  while (!queue_.empty() && queue_.front().has_print() && bytes < kMaxPrintBytes) {
    bytes += queue_.front().print().text().size() + kLineOverhead;
    *lines.add_lines() = std::move(*queue_.front().mutable_print());
    queue_.pop_front();
  }
}

void RunCall::Continue() {
  if (writing_ || ended_)
    return;
  writing_event_.Clear();
  if (!queue_.empty()) {
    TakeWaiting();
    link_->room.notify_all();
  } else if (!flow_done_) {
    return;
  } else if (!NextOutput(&writing_event_)) {
    *writing_event_.mutable_done() = std::move(result_.done);
    Leave(grpc::Status::OK);
    return StartWriteAndFinish(&writing_event_, {}, grpc::Status::OK);
  }
  writing_ = true;
  StartWrite(&writing_event_);
}

void RunCall::OnWriteDone(bool ok) {
  std::lock_guard lock(link_->mutex);
  writing_ = false;
  if (end_after_write_)
    return Finish(*end_after_write_);
  if (ok)
    Continue(); // else OnCancel follows
}

void RunCall::OnCancel() {
  std::shared_ptr<RunFlow> flow;
  {
    std::lock_guard lock(link_->mutex);
    flow = flow_;
    End(grpc::Status::CANCELLED);
  }
  if (flow)
    flow->Cancel();
}

void RunCall::Leave(const grpc::Status &status) {
  ended_ = true;
  scope_.Ends(status);
  link_->call = nullptr;
  link_->room.notify_all();
}

void RunCall::End(const grpc::Status &status) {
  if (ended_)
    return;
  Leave(status);
  if (writing_)
    end_after_write_ = status;
  else
    Finish(status);
}

void RunCall::OnDone() {
  std::shared_ptr<Link> link = link_;
  {
    // A callback that has just let go of the call may still be inside the lock.
    std::lock_guard lock(link->mutex);
  }
  delete this;
}

} // namespace pyasc::server
