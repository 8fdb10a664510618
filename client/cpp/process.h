// Starting child processes that inherit nothing but what they are given.
#ifndef PYASC_CLIENT_CPP_PROCESS_H
#define PYASC_CLIENT_CPP_PROCESS_H

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "absl/status/statusor.h"

namespace pyasc::client {

struct SpawnOptions {
  // argv[0] is the path of the program; PATH is not searched.
  std::vector<std::string> argv;
  // "NAME=value" each; unset: the environment of this process.
  std::optional<std::vector<std::string>> environment;
  // Descriptors that become 0, 1 and 2 of the child. -1: /dev/null. All others are closed.
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  // A session of its own, with / as the working directory: for daemons.
  bool new_session = false;
};

// The child's process id. Errors: what fork or exec said, with the program's path.
absl::StatusOr<pid_t> Spawn(const SpawnOptions &options);

// "ended with exit code 3" or "was killed by signal 11 (Segmentation fault)" from a wait status.
std::string DescribeExit(int wait_status);

// The last `lines` lines of a file, "" when it cannot be read.
std::string Tail(const std::string &path, int lines);

} // namespace pyasc::client

#endif // PYASC_CLIENT_CPP_PROCESS_H
