#include "server/process/spawner.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/process/spawner_helper.h"

namespace pyasc::server {

absl::StatusOr<std::unique_ptr<Spawner>> Spawner::Start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return absl::ErrnoToStatus(errno, "socketpair");
  pid_t helper = ::fork();
  if (helper < 0) {
    int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return absl::ErrnoToStatus(error, "fork");
  }
  if (helper == 0) {
    ::close(ends[0]);
    RunSpawnerHelper(ends[1]);
  }
  ::close(ends[1]);
  return std::unique_ptr<Spawner>(new Spawner(UniqueFd(ends[0]), helper));
}

Spawner::~Spawner() {
  // The helper sees the end of its socket, kills what is left and goes.
  ::shutdown(control_.get(), SHUT_RDWR);
  if (reader_.joinable())
    reader_.join();
  ::waitpid(helper_, nullptr, 0);
}

absl::StatusOr<pid_t> Spawner::Spawn(const std::string &program,
                                     const std::vector<std::string> &argv,
                                     const ProcessLimits &limits, UniqueFd socket) {
  std::unique_lock lock(mutex_);
  // Not in Start(): there must be no thread when the daemon forks.
  if (!reader_.joinable())
    reader_ = std::thread([this] { ReadReplies(); });
  uint64_t token = next_token_++;
  HelperRequest request{HelperRequest::kSpawn,
                        0,
                        token,
                        limits.memory_bytes,
                        limits.cpu_seconds,
                        limits.nice,
                        static_cast<uint32_t>(argv.size())};
  std::string message(reinterpret_cast<const char *>(&request), sizeof(request));
  message.append(program.c_str(), program.size() + 1);
  for (const std::string &argument : argv)
    message.append(argument.c_str(), argument.size() + 1);
  if (message.size() >= kMaxHelperMessage)
    return absl::InvalidArgumentError("the worker's command line is too long");

  alignas(cmsghdr) char rights[CMSG_SPACE(sizeof(int))] = {};
  iovec part{message.data(), message.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = rights;
  header.msg_controllen = sizeof(rights);
  cmsghdr *c = CMSG_FIRSTHDR(&header);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  int fd = socket.get();
  std::memcpy(CMSG_DATA(c), &fd, sizeof(fd));
  if (::sendmsg(control_.get(), &header, MSG_NOSIGNAL) < 0)
    return absl::ErrnoToStatus(errno, "asking the spawner for a worker");
  socket.Reset();

  auto done = [&] { return helper_gone_ || started_.count(token); };
  changed_.wait(lock, done);
  auto found = started_.find(token);
  if (found == started_.end())
    return absl::UnavailableError("the spawner process is gone");
  auto [pid, error] = found->second;
  started_.erase(found);
  if (error)
    return absl::ErrnoToStatus(error, absl::StrCat("cannot start ", argv[0]));
  return pid;
}

void Spawner::Kill(pid_t pid) {
  HelperRequest request{};
  request.kind = HelperRequest::kKill;
  request.pid = pid;
  ::send(control_.get(), &request, sizeof(request), MSG_NOSIGNAL);
}

std::optional<ExitStatus> Spawner::WaitExit(pid_t pid, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return helper_gone_ || ended_.count(pid); });
  auto found = ended_.find(pid);
  if (found == ended_.end())
    return std::nullopt;
  ExitStatus status = found->second;
  ended_.erase(found);
  return status;
}

void Spawner::ReadReplies() {
  for (;;) {
    HelperReply reply;
    ssize_t n = ::recv(control_.get(), &reply, sizeof(reply), 0);
    if (n < 0 && errno == EINTR)
      continue;
    std::lock_guard lock(mutex_);
    if (n != sizeof(reply)) {
      helper_gone_ = true;
      changed_.notify_all();
      return;
    }
    if (reply.kind == HelperReply::kStarted)
      started_[reply.token] = {reply.pid, reply.error};
    else
      ended_[reply.pid] = WIFSIGNALED(reply.wait_status)
                              ? ExitStatus{true, WTERMSIG(reply.wait_status)}
                              : ExitStatus{false, WEXITSTATUS(reply.wait_status)};
    changed_.notify_all();
  }
}

} // namespace pyasc::server
