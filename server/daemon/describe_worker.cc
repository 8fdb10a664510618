#include "server/daemon/describe_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "server/process/fd.h"

namespace pyasc::server {
namespace {

constexpr std::chrono::seconds kTimeLimit{60};

} // namespace

absl::StatusOr<v1::GetCapabilitiesReply> DescribeWorker(const std::string &program,
                                                        const std::string &path) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return absl::ErrnoToStatus(errno, "pipe");
  UniqueFd from(ends[0]), to(ends[1]);
  pid_t child = ::fork();
  if (child < 0)
    return absl::ErrnoToStatus(errno, "fork");
  if (child == 0) {
    ::dup2(to.get(), STDOUT_FILENO);
    ::execl(program.c_str(), path.c_str(), "--describe", static_cast<char *>(nullptr));
    ::_exit(127);
  }
  to.Reset();
  std::string bytes;
  const auto deadline = std::chrono::steady_clock::now() + kTimeLimit;
  bool in_time = true;
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd entry{from.get(), POLLIN, 0};
    int ready = left.count() > 0 ? ::poll(&entry, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0) {
      in_time = false;
      ::kill(child, SIGKILL);
      break;
    }
    char buffer[4096];
    ssize_t n = ::read(from.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    bytes.append(buffer, n);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time)
    return absl::DeadlineExceededError(absl::StrCat(path, " --describe does not end"));
  v1::GetCapabilitiesReply reply;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !reply.ParseFromString(bytes) ||
      reply.build_id().empty())
    return absl::UnavailableError(
        WIFEXITED(status) && WEXITSTATUS(status) == 127
            ? absl::StrCat("cannot run the worker program ", path)
            : absl::StrCat(path, " --describe failed: it is no pyasc-worker of this version"));
  return reply;
}

} // namespace pyasc::server
