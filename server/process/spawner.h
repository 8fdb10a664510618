// Starts and ends worker processes through a small helper process.
//
// The helper is forked before the daemon has threads, gRPC or open files, so a worker inherits
// nothing but standard error and its own socket (descriptor 3). It is also the workers' parent: it
// reaps them, so a process id stays valid until the daemon has been told of the exit, and it ends
// them all when the daemon goes away, however that happens.
//
// Thread-safe after Start().
#ifndef PYASC_SERVER_PROCESS_SPAWNER_H
#define PYASC_SERVER_PROCESS_SPAWNER_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/process/fd.h"

namespace pyasc::server {

struct ProcessLimits {
  // Address space, bytes; 0: none.
  uint64_t memory_bytes = 0;
  // CPU time of all its jobs together, seconds; 0: none. A job's own limit: CallLimits.
  uint64_t cpu_seconds = 0;
  int nice = 0;
};

// How a worker ended: as waitpid tells it.
struct ExitStatus {
  bool signaled = false;
  int code = 0; // exit code, or the signal
};

// Exit code by which a worker says that it ran into its memory limit.
inline constexpr int kExitOutOfMemory = 77;
// And that it has lost the lease on its device.
inline constexpr int kExitLeaseLost = 75;
// The worker's end of its socket.
inline constexpr int kWorkerSocket = 3;

class Spawner {
public:
  // Forks the helper. REQUIRES: the process has one thread.
  static absl::StatusOr<std::unique_ptr<Spawner>> Start();
  ~Spawner();

  // `program` is a path. The new process has `socket` as its descriptor kWorkerSocket.
  absl::StatusOr<pid_t> Spawn(const std::string &program, const std::vector<std::string> &argv,
                              const ProcessLimits &limits, UniqueFd socket);
  // SIGKILL. No effect when the process has ended.
  void Kill(pid_t pid);
  // Waits until `pid`, which came from Spawn, has ended and forgets it.
  std::optional<ExitStatus> WaitExit(pid_t pid, std::chrono::milliseconds timeout);

private:
  Spawner(UniqueFd control, pid_t helper) : control_(std::move(control)), helper_(helper) {}
  void ReadReplies();

  UniqueFd control_;
  pid_t helper_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread reader_;
  uint64_t next_token_ = 1;
  bool helper_gone_ = false;
  std::map<uint64_t, std::pair<pid_t, int>> started_; // token -> pid, errno
  std::map<pid_t, ExitStatus> ended_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_PROCESS_SPAWNER_H
