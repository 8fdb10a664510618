#include "client/cpp/process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "client/cpp/files.h"

namespace pyasc::client {
namespace {

// Runs in the child between fork and exec: nothing here may allocate or lock.
[[noreturn]] void ExecChild(const SpawnOptions &options, char *const *argv, char *const *envp,
                            int error_fd) {
  auto fail = [&] {
    int error = errno;
    (void)!::write(error_fd, &error, sizeof error);
    ::_exit(127);
  };
  if (options.new_session && (::setsid() < 0 || ::chdir("/") != 0))
    fail();
  int null_fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null_fd < 0)
    fail();
  // First out of the way of 0..2, then into place.
  int wanted[3] = {options.stdin_fd, options.stdout_fd, options.stderr_fd};
  for (int &fd : wanted) {
    fd = ::fcntl(fd < 0 ? null_fd : fd, F_DUPFD_CLOEXEC, 10);
    if (fd < 0)
      fail();
  }
  for (int i = 0; i < 3; ++i)
    if (::dup2(wanted[i], i) < 0)
      fail();
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
    fail();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD})
    ::signal(signal, SIG_DFL);
  ::execve(argv[0], argv, envp);
  fail();
  ::_exit(127);
}

std::vector<char *> Pointers(const std::vector<std::string> &strings) {
  std::vector<char *> pointers;
  for (const std::string &string : strings)
    pointers.push_back(const_cast<char *>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

} // namespace

absl::StatusOr<pid_t> Spawn(const SpawnOptions &options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return absl::ErrnoToStatus(errno, "pipe");
  FileDescriptor read_end(ends[0]), write_end(ends[1]);
  std::vector<char *> argv = Pointers(options.argv);
  std::vector<char *> envp;
  if (options.environment)
    envp = Pointers(*options.environment);
  pid_t pid = ::fork();
  if (pid < 0)
    return absl::ErrnoToStatus(errno, "fork");
  if (pid == 0)
    ExecChild(options, argv.data(), options.environment ? envp.data() : environ, write_end.get());
  write_end.Close();
  int error = 0;
  ssize_t n;
  do
    n = ::read(read_end.get(), &error, sizeof error);
  while (n < 0 && errno == EINTR);
  if (n == sizeof error) {
    int status;
    ::waitpid(pid, &status, 0);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot start ", options.argv[0]));
  }
  return pid;
}

std::string DescribeExit(int wait_status) {
  if (WIFSIGNALED(wait_status))
    return absl::StrCat("was killed by signal ", WTERMSIG(wait_status), " (",
                        ::strsignal(WTERMSIG(wait_status)), ")");
  return absl::StrCat("ended with exit code ", WEXITSTATUS(wait_status));
}

std::string Tail(const std::string &path, int lines) {
  absl::StatusOr<std::string> content = ReadFile(path);
  if (!content.ok())
    return "";
  absl::string_view text = *content;
  size_t begin = text.size();
  if (begin > 0 && text[begin - 1] == '\n')
    --begin;
  for (; begin > 0 && lines > 0; --begin)
    if (text[begin - 1] == '\n' && --lines == 0)
      break;
  return std::string(text.substr(begin));
}

} // namespace pyasc::client
