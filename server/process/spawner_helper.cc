#include "server/process/spawner_helper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <vector>

#include "server/process/spawner.h"

namespace pyasc::server {
namespace {

// AddressSanitizer reserves terabytes of address space.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PYASC_NO_ADDRESS_SPACE_LIMIT 1
#endif
#endif

void SetLimit(__rlimit_resource resource, uint64_t value) {
  rlimit limit{value, value};
  ::setrlimit(resource, &limit);
}

// In the child, between fork and exec. Reports a failure through `report`.
[[noreturn]] void BecomeWorker(const HelperRequest &request, const char *program,
                               std::vector<char *> argv, int socket, int report, pid_t helper) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != helper)
    ::_exit(1); // the helper went away before the line above
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // A process group of its own: a terminal's Ctrl-C is the daemon's to handle.
  ::setpgid(0, 0);

  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  SetLimit(RLIMIT_CORE, 0);
#ifndef PYASC_NO_ADDRESS_SPACE_LIMIT
  if (request.memory_bytes)
    SetLimit(RLIMIT_AS, request.memory_bytes);
#endif
  if (request.cpu_seconds)
    SetLimit(RLIMIT_CPU, request.cpu_seconds);
  if (request.nice)
    ::setpriority(PRIO_PROCESS, 0, request.nice);

  // Moved above the target first, since either may already be number 3.
  report = ::fcntl(report, F_DUPFD_CLOEXEC, kWorkerSocket + 2);
  socket = ::fcntl(socket, F_DUPFD_CLOEXEC, kWorkerSocket + 2);
  int null = ::open("/dev/null", O_RDWR);
  if (null >= 0) {
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
  }
  ::dup2(socket, kWorkerSocket);
  ::fcntl(kWorkerSocket, F_SETFD, 0);
  for (int fd = kWorkerSocket + 1; fd < 64; ++fd)
    if (fd != report)
      ::close(fd);
  ::execv(program, argv.data());
  int error = errno;
  (void)!::write(report, &error, sizeof(error));
  ::_exit(127);
}

void Reply(int control, const HelperReply &reply) {
  while (::send(control, &reply, sizeof(reply), MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

void Spawn(int control, const HelperRequest &request, char *arguments, size_t size, int socket,
           std::set<pid_t> &children) {
  HelperReply reply{HelperReply::kStarted, 0, request.token, 0, 0};
  std::vector<char *> argv;
  const char *program = arguments;
  for (size_t at = std::strlen(arguments) + 1; at < size && argv.size() < request.argument_count;
       at += std::strlen(arguments + at) + 1)
    argv.push_back(arguments + at);
  argv.push_back(nullptr);
  int report[2];
  if (argv.size() < 2 || socket < 0 || ::pipe2(report, O_CLOEXEC) != 0) {
    reply.error = EINVAL;
    return Reply(control, reply);
  }
  pid_t helper = ::getpid();
  pid_t child = ::fork();
  if (child == 0)
    BecomeWorker(request, program, argv, socket, report[1], helper);
  reply.error = child < 0 ? errno : 0;
  ::close(report[1]);
  int error = 0;
  // Ends at exec, which closes the pipe.
  if (child > 0 && ::read(report[0], &error, sizeof(error)) == sizeof(error)) {
    ::waitpid(child, nullptr, 0);
    reply.error = error;
  } else if (child > 0) {
    reply.pid = child;
    children.insert(child);
  }
  ::close(report[0]);
  Reply(control, reply);
}

void Reap(int control, std::set<pid_t> &children) {
  for (;;) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0)
      return;
    const pid_t pid = ended.si_pid;
    // What it has started ends with it. While it is not reaped, the group's number is its own.
    if (children.count(pid))
      ::kill(-pid, SIGKILL);
    int status;
    if (::waitpid(pid, &status, 0) == pid && children.erase(pid))
      Reply(control, {HelperReply::kEnded, pid, 0, 0, status});
  }
}

// False when the daemon has gone.
bool ServeRequest(int control, std::set<pid_t> &children) {
  alignas(HelperRequest) static char message[kMaxHelperMessage];
  alignas(cmsghdr) char rights[CMSG_SPACE(sizeof(int))];
  iovec part{message, sizeof(message) - 1};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = rights;
  header.msg_controllen = sizeof(rights);
  ssize_t n = ::recvmsg(control, &header, MSG_CMSG_CLOEXEC);
  if (n < 0)
    return errno == EINTR || errno == EAGAIN;
  if (n == 0)
    return false;
  message[n] = '\0';
  int socket = -1;
  cmsghdr *c = CMSG_FIRSTHDR(&header);
  if (c && c->cmsg_type == SCM_RIGHTS)
    std::memcpy(&socket, CMSG_DATA(c), sizeof(socket));
  HelperRequest request;
  if (static_cast<size_t>(n) >= sizeof(request)) {
    std::memcpy(&request, message, sizeof(request));
    if (request.kind == HelperRequest::kSpawn)
      Spawn(control, request, message + sizeof(request), n - sizeof(request), socket, children);
    else if (request.kind == HelperRequest::kKill && children.count(request.pid))
      ::kill(-request.pid, SIGKILL); // with whatever it has started
  }
  if (socket >= 0)
    ::close(socket);
  return true;
}

} // namespace

void RunSpawnerHelper(int control) {
  ::prctl(PR_SET_NAME, "pyascd-spawner");
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGINT, SIG_IGN); // the daemon ends us by closing the socket
  ::signal(SIGTERM, SIG_IGN);
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &child_ended, nullptr);
  int signals = ::signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK);

  std::set<pid_t> children;
  for (;;) {
    pollfd entries[2] = {{control, POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(entries, 2, -1) < 0 && errno != EINTR)
      break;
    signalfd_siginfo ignored;
    while (::read(signals, &ignored, sizeof(ignored)) > 0) {
    }
    Reap(control, children);
    if (entries[0].revents && !ServeRequest(control, children))
      break;
  }
  for (pid_t child : children)
    ::kill(-child, SIGKILL);
  ::_exit(0);
}

} // namespace pyasc::server
