#include "server/process/worker_process.h"

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace pyasc::server {

using std::chrono::milliseconds;

bool DiedOfItsJob(const absl::Status &status) {
  return absl::IsAborted(status) || absl::IsResourceExhausted(status) || absl::IsDataLoss(status);
}

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(Spawner &spawner,
                                                                    const WorkerCommand &command) {
  absl::StatusOr<SocketPair> pair = MakeSocketPair();
  if (!pair.ok())
    return pair.status();
  absl::StatusOr<pid_t> pid = spawner.Spawn(command.argv, command.limits, std::move(pair->theirs));
  if (!pid.ok())
    return pid.status();
  std::unique_ptr<WorkerProcess> worker(
      new WorkerProcess(spawner, command.limits, *pid, std::move(pair->ours)));
  wire::WorkerRequest ping;
  ping.set_ping(true);
  absl::StatusOr<wire::WorkerReply> pong =
      worker->Call(std::move(ping), {}, command.start_timeout, nullptr);
  if (!pong.ok())
    return absl::Status(pong.status().code(),
                        absl::StrCat("the worker did not start: it ", pong.status().message()));
  return worker;
}

WorkerProcess::~WorkerProcess() {
  channel_.Close();
  if (ended_)
    return;
  spawner_.Kill(pid_);
  spawner_.WaitExit(pid_, milliseconds(5000));
}

absl::StatusOr<wire::WorkerReply>
WorkerProcess::Call(wire::WorkerRequest request, std::span<const int> fds, milliseconds time_limit,
                    const std::function<void(const wire::WorkerReply &)> &on_event) {
  const auto deadline = std::chrono::steady_clock::now() + time_limit;
  const uint64_t id = next_id_++;
  request.set_id(id);
  absl::Status status = channel_.Send(request, fds, deadline);
  while (status.ok()) {
    wire::WorkerReply reply;
    // A worker has no business sending descriptors: they are dropped.
    status = channel_.Receive(reply, nullptr, deadline);
    if (!status.ok())
      break;
    if (reply.id() != id) {
      status = absl::DataLossError("answered a request that it was not sent");
      break;
    }
    if (reply.result_case() == wire::WorkerReply::kProgress ||
        reply.result_case() == wire::WorkerReply::kPrint ||
        reply.result_case() == wire::WorkerReply::kTrace) {
      if (on_event)
        on_event(reply);
      continue;
    }
    return reply;
  }
  if (absl::IsDeadlineExceeded(status)) {
    Kill();
    return absl::DeadlineExceededError(
        absl::StrCat("exceeded its time limit of ", FormatDuration(time_limit)));
  }
  if (absl::IsUnavailable(status) || absl::IsDataLoss(status)) {
    absl::Status end = DescribeEnd();
    if (ended_)
      return end;
  }
  Kill();
  return absl::DataLossError(absl::StrCat("broke the worker protocol: ", status.message()));
}

bool WorkerProcess::Alive() const {
  pollfd entry{channel_.fd(), POLLIN, 0};
  // An idle worker sends nothing: whatever can be read is its end.
  return ::poll(&entry, 1, 0) == 0;
}

uint64_t WorkerProcess::RssBytes() const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/statm"));
  uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

absl::Status WorkerProcess::DescribeEnd() {
  // Closing the socket and dying are not the same moment.
  std::optional<ExitStatus> exit = spawner_.WaitExit(pid_, milliseconds(2000));
  if (!exit)
    return absl::AbortedError("closed its socket");
  ended_ = true;
  if (!exit->signaled && exit->code == kExitOutOfMemory)
    return absl::ResourceExhaustedError(
        absl::StrCat("exceeded its memory limit of ", FormatBytes(limits_.memory_bytes)));
  if (!exit->signaled)
    return absl::AbortedError(absl::StrCat("ended with exit code ", exit->code));
  if (exit->code == SIGKILL)
    return absl::InternalError(
        "was killed (signal 9), perhaps because the machine ran out of memory");
  if (exit->code == SIGSYS)
    return absl::AbortedError("did what its sandbox forbids (signal 31)");
  return absl::AbortedError(absl::StrCat("crashed (signal ", exit->code, ")"));
}

std::string FormatBytes(uint64_t bytes) {
  constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    value /= 1024;
  return absl::StrFormat("%.4g %s", value, kUnits[unit]);
}

std::string FormatDuration(milliseconds duration) {
  return absl::StrFormat("%.4g s", static_cast<double>(duration.count()) / 1000);
}

} // namespace pyasc::server
