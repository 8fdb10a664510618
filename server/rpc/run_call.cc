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
  Step refusal;
  {
    std::lock_guard lock(link_->mutex);
    if (absl::Status s = scope_.Enter(*context_); !s.ok())
      refusal = End(ToGrpcStatus(s));
    else
      inputs_ = std::make_shared<RunInputs>(service_, scope_.tenant());
  }
  if (refusal.kind != Step::Kind::kNone)
    return Do(refusal);
  StartRead(&request_);
}

void RunCall::OnReadDone(bool ok) {
  std::shared_ptr<RunFlow> flow;
  Step refusal;
  {
    std::lock_guard lock(link_->mutex);
    if (ended_)
      return;
    if (!ok && context_->IsCancelled())
      return; // OnCancel follows
    absl::Status status = ok         ? TakeRequest()
                          : started_ ? inputs_->Seal()
                                     : absl::InvalidArgumentError("the stream has no `start`");
    if (!status.ok()) {
      refusal = End(ToGrpcStatus(status));
    } else if (!ok) {
      StartFlow();
      flow = flow_;
    }
  }
  if (refusal.kind != Step::Kind::kNone)
    return Do(refusal);
  if (ok)
    return StartRead(&request_);
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
    // Newer progress takes the place of what a slow reader has not been told.
    link->Tell([&](RunCall &call) {
      if (call.queue_.empty() || !call.queue_.back().has_progress())
        return call.Enqueue(std::move(event));
      call.queue_.back() = std::move(event);
      return Step{};
    });
  };
  events.on_print = [link](const v1::PrintLine &line) {
    v1::RunEvent event;
    *event.mutable_print() = line;
    link->Tell([&](RunCall &call) {
      if (call.queue_.size() < kMaxWaiting)
        return call.Enqueue(std::move(event));
      ++call.dropped_prints_;
      return Step{};
    });
  };
  events.on_trace = [link](const v1::TraceChunk &chunk) {
    v1::RunEvent event;
    *event.mutable_trace() = chunk;
    bool taken;
    {
      std::unique_lock lock(link->mutex);
      taken = link->room.wait_for(lock, kTracePatience, [&] {
        return !link->call || link->call->queue_.size() < kMaxBeforeTrace;
      });
    }
    link->Tell([&](RunCall &call) {
      if (taken)
        return call.Enqueue(std::move(event));
      return call.End(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED,
                                   "the client does not take the trace that it asked for"));
    });
  };
  events.on_done = [link](FlowResult result) {
    link->Tell([&](RunCall &call) { return call.OnFlowDone(std::move(result)); });
  };
  flow_ = std::make_shared<RunFlow>(service_, scope_.tenant(), std::move(start_),
                                    std::move(inputs_), MeasureOptions{}, std::move(events));
}

RunCall::Step RunCall::OnFlowDone(FlowResult result) {
  if (!result.status.ok())
    return End(ToGrpcStatus(result.status));
  if (dropped_prints_ > 0) {
    v1::RunEvent event;
    event.mutable_print()->set_text(absl::StrCat(
        "(", dropped_prints_, " lines dropped: the client read slower than the kernel printed)"));
    queue_.push_back(std::move(event));
  }
  result_ = std::move(result);
  flow_done_ = true;
  return Continue();
}

RunCall::Step RunCall::Enqueue(v1::RunEvent event) {
  if (ended_)
    return {};
  queue_.push_back(std::move(event));
  return Continue();
}

bool RunCall::NextOutput(v1::RunEvent *event) {
  while (output_ < result_.outputs.size()) {
    const OutputTensor &output = result_.outputs[output_];
    const TensorMemory &memory = result_.work->memory[output.memory_index];
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

RunCall::Step RunCall::Continue() {
  if (writing_ || ended_)
    return {};
  writing_event_.Clear();
  if (!queue_.empty()) {
    TakeWaiting();
    link_->room.notify_all();
    writing_ = true;
    return {Step::Kind::kWrite};
  }
  if (!flow_done_)
    return {};
  if (NextOutput(&writing_event_)) {
    writing_ = true;
    return {Step::Kind::kWrite};
  }
  *writing_event_.mutable_done() = std::move(result_.done);
  Leave(grpc::Status::OK);
  return {Step::Kind::kWriteLast};
}

void RunCall::Do(const Step &step) {
  switch (step.kind) {
  case Step::Kind::kNone:
    return;
  case Step::Kind::kWrite:
    return StartWrite(&writing_event_);
  case Step::Kind::kWriteLast:
    return StartWriteAndFinish(&writing_event_, {}, grpc::Status::OK);
  case Step::Kind::kFinish:
    return Finish(step.status);
  }
}

void RunCall::OnWriteDone(bool ok) {
  Step step;
  {
    std::lock_guard lock(link_->mutex);
    writing_ = false;
    if (end_after_write_)
      step = {Step::Kind::kFinish, *end_after_write_};
    else if (ok)
      step = Continue(); // else OnCancel follows
  }
  Do(step);
}

void RunCall::OnCancel() {
  std::shared_ptr<RunFlow> flow;
  Step step;
  {
    std::lock_guard lock(link_->mutex);
    flow = flow_;
    step = End(grpc::Status::CANCELLED);
  }
  Do(step);
  if (flow)
    flow->Cancel();
}

void RunCall::Leave(const grpc::Status &status) {
  ended_ = true;
  scope_.Ends(status);
  link_->call = nullptr;
  link_->room.notify_all();
}

RunCall::Step RunCall::End(const grpc::Status &status) {
  if (ended_)
    return {};
  Leave(status);
  if (!writing_)
    return {Step::Kind::kFinish, status};
  end_after_write_ = status;
  return {};
}

void RunCall::OnDone() { delete this; }

} // namespace pyasc::server
