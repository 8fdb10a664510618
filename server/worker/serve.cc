#include "server/worker/serve.h"

#include <cstdio>
#include <mutex>

#include "absl/strings/str_cat.h"

namespace pyasc::server {
namespace {

constexpr int kProtocolError = 70;

// Takes the descriptors that belong to the job's tensors, in order of fd_index.
absl::StatusOr<std::vector<SharedMemory>> TakeMemory(const wire::RunJob &job,
                                                     std::vector<UniqueFd> &fds) {
  std::vector<SharedMemory> memory(fds.size());
  auto take = [&](const wire::LaunchArgument &argument) -> absl::Status {
    if (argument.kind_case() != wire::LaunchArgument::kFdIndex)
      return absl::OkStatus();
    if (argument.fd_index() >= fds.size() || !fds[argument.fd_index()].valid())
      return absl::InvalidArgumentError(
          absl::StrCat("'", argument.name(), "' came without its descriptor"));
    absl::StatusOr<SharedMemory> adopted = SharedMemory::Adopt(
        std::move(fds[argument.fd_index()]), static_cast<int64_t>(argument.bytes()));
    if (!adopted.ok())
      return adopted.status();
    memory[argument.fd_index()] = *std::move(adopted);
    return absl::OkStatus();
  };
  for (const wire::LaunchArgument &argument : job.arguments())
    if (absl::Status s = take(argument); !s.ok())
      return s;
  for (const wire::LaunchArgument &output : job.outputs())
    if (absl::Status s = take(output); !s.ok())
      return s;
  return memory;
}

wire::RunResult Run(FrameChannel &channel, uint64_t id, const wire::RunJob &job,
                    std::vector<UniqueFd> &fds, DeviceRunner *runner) {
  wire::RunResult result;
  if (!runner) {
    result.set_error("this worker has no device");
    return result;
  }
  absl::StatusOr<std::vector<SharedMemory>> memory = TakeMemory(job, fds);
  if (!memory.ok()) {
    result.set_error(std::string(memory.status().message()));
    return result;
  }
  // Prints may come from another thread than progress.
  std::mutex sending;
  auto send = [&](wire::WorkerReply event) {
    event.set_id(id);
    std::lock_guard lock(sending);
    // Should the daemon be gone, the final reply finds out.
    (void)channel.Send(event, {}, std::nullopt);
  };
  RunEvents events;
  events.on_progress = [&](const v1::Progress &progress) {
    wire::WorkerReply event;
    *event.mutable_progress() = progress;
    send(std::move(event));
  };
  events.on_print = [&](const v1::PrintLine &line) {
    wire::WorkerReply event;
    *event.mutable_print() = line;
    send(std::move(event));
  };
  events.on_trace = [&](const v1::TraceChunk &chunk) {
    wire::WorkerReply event;
    *event.mutable_trace() = chunk;
    send(std::move(event));
  };
  return runner->Run(job, *memory, events);
}

} // namespace

int ServeWorker(FrameChannel channel, const Engine &engine, DeviceRunner *runner) {
  for (;;) {
    wire::WorkerRequest request;
    std::vector<UniqueFd> fds;
    if (absl::Status s = channel.Receive(request, &fds, std::nullopt); !s.ok()) {
      if (absl::IsUnavailable(s))
        return 0;
      std::fprintf(stderr, "pyasc-worker: %s\n", std::string(s.message()).c_str());
      return kProtocolError;
    }
    wire::WorkerReply reply;
    reply.set_id(request.id());
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
      *reply.mutable_run() = Run(channel, request.id(), request.run(), fds, runner);
      break;
    case wire::WorkerRequest::kDescribeDevices:
      reply.mutable_devices();
      if (runner)
        *reply.mutable_devices()->add_devices() = runner->info();
      break;
    default:
      reply.set_pong(true);
    }
    absl::Status sent = channel.Send(reply, {}, std::nullopt);
    if (!sent.ok())
      return absl::IsUnavailable(sent) ? 0 : kProtocolError;
  }
}

} // namespace pyasc::server
