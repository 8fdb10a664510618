#include "server/process/worker_process.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace pyasc::server {

using std::chrono::milliseconds;

namespace {

// What a worker that nobody asks anything may take: a thread that a kernel has left behind does not
// go on for ever.
constexpr std::chrono::seconds kIdleCpu{3};

} // namespace

bool DiedOfItsJob(const absl::Status &status) {
  return absl::IsAborted(status) || absl::IsResourceExhausted(status) || absl::IsDataLoss(status);
}

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(Spawner &spawner,
                                                                    const WorkerCommand &command) {
  absl::StatusOr<SocketPair> pair = MakeSocketPair();
  if (!pair.ok())
    return pair.status();
  absl::StatusOr<pid_t> pid =
      spawner.Spawn(command.program.empty() ? command.argv[0] : command.program, command.argv,
                    command.limits, std::move(pair->theirs));
  if (!pid.ok())
    return pid.status();
  std::unique_ptr<WorkerProcess> worker(
      new WorkerProcess(spawner, command.limits, *pid, std::move(pair->ours)));
  wire::WorkerRequest ping;
  ping.set_ping(true);
  absl::StatusOr<wire::WorkerReply> pong =
      worker->Call(std::move(ping), {}, {command.start_timeout}, nullptr);
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
WorkerProcess::Call(wire::WorkerRequest request, std::span<const int> fds, CallLimits limits,
                    const std::function<void(const wire::WorkerReply &)> &on_event) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + limits.time;
  auto next_deadline = [&] {
    return limits.silence.count() ? std::min(end, Clock::now() + limits.silence) : end;
  };
  Clock::time_point deadline = next_deadline();
  const uint64_t id = next_id_++;
  request.set_id(id);
  cpu_limit_ = limits.cpu;
  if (limits.cpu.count())
    AllowCpu(limits.cpu);
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
        reply.result_case() == wire::WorkerReply::kTrace ||
        reply.result_case() == wire::WorkerReply::kAlive) {
      if (on_event)
        on_event(reply);
      deadline = next_deadline();
      continue;
    }
    if (limits.cpu.count())
      AllowCpu(kIdleCpu);
    return reply;
  }
  if (absl::IsDeadlineExceeded(status) && deadline < end)
    return absl::FailedPreconditionError(
        absl::StrCat("gave no sign of life for ", FormatDuration(limits.silence)));
  if (absl::IsDeadlineExceeded(status)) {
    Kill();
    return absl::DeadlineExceededError(
        absl::StrCat("exceeded its time limit of ", FormatDuration(limits.time)));
  }
  if (absl::IsUnavailable(status) || absl::IsDataLoss(status)) {
    absl::Status end = DescribeEnd();
    if (ended_)
      return end;
  }
  Kill();
  return absl::DataLossError(absl::StrCat("broke the worker protocol: ", status.message()));
}

WorkerProcess::LateEnd WorkerProcess::Outlive(milliseconds grace) {
  const auto deadline = std::chrono::steady_clock::now() + grace;
  for (;;) {
    wire::WorkerReply reply;
    absl::Status status = channel_.Receive(reply, nullptr, deadline);
    if (status.ok() && reply.result_case() == wire::WorkerReply::kRun)
      return LateEnd::kAnswered;
    if (status.ok())
      continue; // what it was about to say when it fell silent
    if (!absl::IsUnavailable(status))
      return LateEnd::kEnded;
    std::optional<ExitStatus> exit = spawner_.WaitExit(pid_, milliseconds(2000));
    ended_ = exit.has_value();
    return exit && !exit->signaled && exit->code == kExitLeaseLost ? LateEnd::kLeft
                                                                   : LateEnd::kEnded;
  }
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

std::chrono::seconds WorkerProcess::CpuUsed() const {
  timespec used{};
  ::clock_gettime(cpu_clock_, &used);
  return std::chrono::seconds(used.tv_sec);
}

void WorkerProcess::AllowCpu(std::chrono::seconds seconds) {
  // What it has used of the second that has begun is a present.
  const uint64_t until = static_cast<uint64_t>((CpuUsed() + seconds).count()) + 1;
  const rlim_t life = limits_.cpu_seconds ? limits_.cpu_seconds : RLIM_INFINITY;
  // The hard limit stays: to raise it takes privileges.
  const rlimit limit{std::min<rlim_t>(until, life), life};
  ::prlimit(pid_, RLIMIT_CPU, &limit, nullptr);
}

bool WorkerProcess::HasCpuFor(std::chrono::seconds seconds) const {
  return limits_.cpu_seconds == 0 ||
         static_cast<uint64_t>((CpuUsed() + seconds).count()) + 1 < limits_.cpu_seconds;
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
  if (exit->code == SIGXCPU)
    return absl::ResourceExhaustedError(
        absl::StrCat("exceeded its limit of ", cpu_limit_.count(), " s of CPU time"));
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
