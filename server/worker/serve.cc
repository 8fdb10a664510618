#include "server/worker/serve.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/process/lease_page.h"
#include "server/process/spawner.h"

namespace pyasc::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kProtocolError = 70;
constexpr std::chrono::milliseconds kProgressDelay{10};
constexpr std::chrono::milliseconds kIdle{200};

// The job's tensors; takes the descriptors that belong to them.
absl::StatusOr<std::vector<TensorMemory>> TakeMemory(wire::RunJob &job,
                                                     std::vector<UniqueFd> &fds) {
  std::vector<TensorMemory> memory;
  for (wire::TensorMemory &sent : *job.mutable_memory()) {
    const auto bytes = static_cast<int64_t>(sent.bytes());
    if (!sent.has_fd_index()) {
      if (bytes < 0 || bytes > TensorMemory::kInFrameBytes)
        return absl::InvalidArgumentError("a tensor in the frame that is none");
      memory.push_back(TensorMemory::FromFrame(std::move(*sent.mutable_data()), bytes));
      continue;
    }
    if (sent.fd_index() >= fds.size() || !fds[sent.fd_index()].valid())
      return absl::InvalidArgumentError("a tensor came without its descriptor");
    absl::StatusOr<SharedMemory> adopted =
        SharedMemory::Adopt(std::move(fds[sent.fd_index()]), bytes);
    if (!adopted.ok())
      return adopted.status();
    memory.push_back(TensorMemory::FromShared(*std::move(adopted)));
  }
  return memory;
}

// The worker's end of the conversation. Progress, prints and signs of life come from several
// threads; the final reply is the last word about its request.
class Speaker {
public:
  explicit Speaker(FrameChannel &channel) : channel_(channel) {}
  ~Speaker() {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    if (pulse_.joinable())
      pulse_.join();
  }

  // From now on there is a sign of life so often while a request is worked on.
  void StartPulse(std::chrono::milliseconds interval) {
    if (!pulse_.joinable())
      pulse_ = std::thread([this, interval] { Pulse(interval); });
  }
  void Begin(uint64_t id) {
    std::lock_guard lock(mutex_);
    id_ = id;
    progress_.reset();
    if (parked_)
      wake_.notify_all();
  }
  void Tell(wire::WorkerReply event) {
    std::lock_guard lock(mutex_);
    SendProgress();
    event.set_id(id_);
    // Should the daemon be gone, the final reply finds out.
    (void)channel_.Send(event, {}, std::nullopt);
  }
  // Told once it has stood for a moment: a job that is over by then needs none.
  void TellProgress(const v1::Progress &progress) {
    std::lock_guard lock(mutex_);
    if (!progress_)
      progress_since_ = Clock::now();
    progress_ = progress;
    if (!pulse_.joinable())
      SendProgress();
  }
  absl::Status End(wire::WorkerReply reply) {
    std::lock_guard lock(mutex_);
    progress_.reset();
    reply.set_id(id_);
    id_ = 0;
    return channel_.Send(reply, {}, std::nullopt);
  }

private:
  void Pulse(std::chrono::milliseconds interval) {
    wire::WorkerReply alive;
    alive.set_alive(true);
    std::unique_lock lock(mutex_);
    Clock::time_point next, active;
    while (!ending_) {
      // Short jobs one after another wake nobody; an idle worker costs nothing.
      const Clock::time_point now = Clock::now();
      if (id_ != 0) {
        active = now;
      } else if (now - active > kIdle) {
        parked_ = true;
        wake_.wait(lock, [this] { return ending_ || id_ != 0; });
        parked_ = false;
        next = Clock::now() + interval;
      }
      if (wake_.wait_for(lock, std::min(interval, kProgressDelay), [this] { return ending_; }))
        return;
      if (id_ == 0)
        continue;
      if (progress_ && Clock::now() - progress_since_ >= kProgressDelay)
        SendProgress();
      if (Clock::now() < next)
        continue;
      alive.set_id(id_);
      (void)channel_.Send(alive, {}, std::nullopt);
      next = Clock::now() + interval;
    }
  }
  // With the mutex held.
  void SendProgress() {
    if (!progress_)
      return;
    wire::WorkerReply event;
    *event.mutable_progress() = *std::move(progress_);
    progress_.reset();
    event.set_id(id_);
    (void)channel_.Send(event, {}, std::nullopt);
  }

  FrameChannel &channel_;
  std::mutex mutex_;
  std::condition_variable wake_;
  uint64_t id_ = 0; // 0: nothing is worked on
  bool ending_ = false, parked_ = false;
  std::optional<v1::Progress> progress_; // not told yet
  Clock::time_point progress_since_;
  std::thread pulse_;
};

wire::RunResult Run(Speaker &speaker, const LeasePage *page, wire::RunJob &job,
                    std::vector<UniqueFd> &fds, DeviceRunner *runner) {
  wire::RunResult result;
  if (!runner) {
    result.set_error("this worker has no device");
    return result;
  }
  absl::StatusOr<std::vector<TensorMemory>> memory = TakeMemory(job, fds);
  if (!memory.ok()) {
    result.set_error(std::string(memory.status().message()));
    return result;
  }
  RunEvents events;
  events.holds_device = [page] { return !page || !page->revoked(); };
  events.on_progress = [&](const v1::Progress &progress) { speaker.TellProgress(progress); };
  events.on_print = [&](const v1::PrintLine &line) {
    wire::WorkerReply event;
    *event.mutable_print() = line;
    speaker.Tell(std::move(event));
  };
  events.on_trace = [&](const v1::TraceChunk &chunk) {
    wire::WorkerReply event;
    *event.mutable_trace() = chunk;
    speaker.Tell(std::move(event));
  };
  result = runner->Run(job, *memory, events);
  for (const wire::LaunchArgument &output : job.outputs())
    if (output.memory_index() < memory->size() && (*memory)[output.memory_index()].in_frame())
      result.add_outputs(std::string((*memory)[output.memory_index()].data()));
  return result;
}

} // namespace

int ServeWorker(FrameChannel channel, const Engine &engine, DeviceRunner *runner) {
  std::optional<LeasePage> page;
  Speaker speaker(channel);
  for (;;) {
    wire::WorkerRequest request;
    std::vector<UniqueFd> fds;
    if (absl::Status s = channel.Receive(request, &fds, std::nullopt); !s.ok()) {
      if (absl::IsUnavailable(s))
        return 0;
      std::fprintf(stderr, "pyasc-worker: %s\n", std::string(s.message()).c_str());
      return kProtocolError;
    }
    speaker.Begin(request.id());
    wire::WorkerReply reply;
    switch (request.job_case()) {
    case wire::WorkerRequest::kCompile:
      *reply.mutable_compile() = engine.compile(request.compile().request());
      break;
    case wire::WorkerRequest::kKey:
      reply.set_semantic_key(engine.semantic_key(request.key().request()));
      break;
    case wire::WorkerRequest::kCheck:
      *reply.mutable_check() = engine.check(request.check());
      break;
    case wire::WorkerRequest::kRun:
      *reply.mutable_run() =
          Run(speaker, page ? &*page : nullptr, *request.mutable_run(), fds, runner);
      reply.mutable_run()->set_lease_token(request.run().lease_token());
      // Whatever it made is nobody's any more.
      if (page && page->revoked())
        return kExitLeaseLost;
      break;
    case wire::WorkerRequest::kLease: {
      absl::StatusOr<LeasePage> adopted =
          fds.empty() ? absl::InvalidArgumentError("a lease without its page")
                      : LeasePage::Adopt(std::move(fds[0]));
      if (!adopted.ok())
        return kProtocolError;
      page = *std::move(adopted);
      speaker.StartPulse(std::chrono::milliseconds(std::max(1u, request.lease().renew_ms())));
      reply.set_pong(true);
      break;
    }
    case wire::WorkerRequest::kDescribeDevices:
      reply.mutable_devices();
      if (runner)
        *reply.mutable_devices()->add_devices() = runner->info();
      break;
    default:
      reply.set_pong(true);
    }
    absl::Status sent = speaker.End(std::move(reply));
    if (!sent.ok())
      return absl::IsUnavailable(sent) ? 0 : kProtocolError;
  }
}

} // namespace pyasc::server
