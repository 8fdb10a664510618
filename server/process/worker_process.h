// One live worker process and the conversation with it.
#ifndef PYASC_SERVER_PROCESS_WORKER_PROCESS_H
#define PYASC_SERVER_PROCESS_WORKER_PROCESS_H

#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pyasc/worker/v1/worker.pb.h"
#include "server/process/frame.h"
#include "server/process/spawner.h"

namespace pyasc::server {

namespace wire = pyasc::worker::v1;

struct WorkerCommand {
  // What is run; "": argv[0].
  std::string program;
  std::vector<std::string> argv;
  ProcessLimits limits;
  // From exec to the first pong.
  std::chrono::milliseconds start_timeout{30'000};
};

// Of one call.
struct CallLimits {
  std::chrono::milliseconds time;
  // The longest that the worker may say nothing; 0: as long as `time`.
  std::chrono::milliseconds silence{0};
  // CPU time of all its threads; 0: no limit but that of its life.
  std::chrono::seconds cpu{0};
};

// An error of WorkerProcess::Call that is the job's doing: a crash, a broken protocol, too much
// memory. Not a time limit, which a busy machine may miss, nor a kill from outside.
bool DiedOfItsJob(const absl::Status &status);

// Used by one thread, save Kill().
class WorkerProcess {
public:
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(Spawner &spawner,
                                                              const WorkerCommand &command);
  // Kills the process when it still runs.
  ~WorkerProcess();

  // Sends one request and returns its final reply; what comes before goes to `on_event`.
  // On an error the process is dead or about to be: the object is of no further use.
  //   ABORTED             it crashed or ended: "crashed (signal 11)"
  //   INTERNAL            somebody else killed it: the machine ran out of memory, or a person
  //   RESOURCE_EXHAUSTED  it ran into its limit of memory or of CPU time
  //   DEADLINE_EXCEEDED   it exceeded `time_limit` and was killed
  //   DATA_LOSS           it sent something else than the protocol has
  //   FAILED_PRECONDITION it was silent for too long; it is alive, and Outlive() may follow
  absl::StatusOr<wire::WorkerReply>
  Call(wire::WorkerRequest request, std::span<const int> fds, CallLimits limits,
       const std::function<void(const wire::WorkerReply &)> &on_event);

  // For a worker that was silent too long and has lost what it worked on: lets it find out, drops
  // what it says, and ends it after `grace`.
  enum class LateEnd {
    kAnswered, // it sent its result after all
    kLeft,     // it saw that it had lost its lease and ended by itself
    kEnded,    // it died, or had to be killed
  };
  LateEnd Outlive(std::chrono::milliseconds grace);

  // False when the process has closed its socket while nobody asked it anything.
  bool Alive() const;
  // From any thread.
  void Kill() { spawner_.Kill(pid_); }
  pid_t pid() const { return pid_; }
  // Jobs that it has done, this one included.
  uint64_t CountJob() { return ++jobs_; }
  // 0 when it cannot be told.
  uint64_t RssBytes() const;
  // So much of its life's CPU time is left that a job may take `seconds` of it.
  bool HasCpuFor(std::chrono::seconds seconds) const;

private:
  WorkerProcess(Spawner &spawner, const ProcessLimits &limits, pid_t pid, UniqueFd socket)
      : spawner_(spawner), limits_(limits), pid_(pid), channel_(std::move(socket)) {
    if (::clock_getcpuclockid(pid, &cpu_clock_) != 0)
      cpu_clock_ = CLOCK_PROCESS_CPUTIME_ID; // it has ended already
  }
  // From now on it may take so much CPU time and no more.
  void AllowCpu(std::chrono::seconds seconds);
  std::chrono::seconds CpuUsed() const;
  // Waits for the end of a process that has closed its socket, and says how it ended.
  absl::Status DescribeEnd();

  Spawner &spawner_;
  ProcessLimits limits_;
  pid_t pid_;
  FrameChannel channel_;
  uint64_t next_id_ = 1;
  uint64_t jobs_ = 0;
  std::chrono::seconds cpu_limit_{0}; // of the job that it does
  clockid_t cpu_clock_;
  bool ended_ = false;
};

// "4 GiB", "30 s", "1.5 s".
std::string FormatBytes(uint64_t bytes);
std::string FormatDuration(std::chrono::milliseconds duration);

} // namespace pyasc::server

#endif // PYASC_SERVER_PROCESS_WORKER_PROCESS_H
