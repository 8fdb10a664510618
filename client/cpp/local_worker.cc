#include "client/cpp/local_worker.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/process.h"

namespace pyasc::client {
namespace {

constexpr char kSocketName[] = "/worker.sock";
// The worker makes it beside its socket.
constexpr char kLockName[] = "/worker.sock.lock";
constexpr char kStderrName[] = "/worker.err";

// Directories to remove when a signal ends the process; a slot is in use while its first byte
// is set.
struct Slot {
  std::atomic<bool> used{false};
  char files[3][200];
  char directory[200];
};
Slot slots[8];

void Remember(const std::string &directory) {
  if (directory.size() + sizeof kLockName > sizeof slots[0].directory)
    return;
  for (Slot &slot : slots) {
    if (slot.used.load())
      continue;
    const char *names[] = {kSocketName, kLockName, kStderrName};
    for (int i = 0; i < 3; ++i)
      std::strcpy(slot.files[i], (directory + names[i]).c_str());
    std::strcpy(slot.directory, directory.c_str());
    slot.used.store(true);
    return;
  }
}

void Forget(const std::string &directory) {
  for (Slot &slot : slots)
    if (slot.used.load() && directory == slot.directory)
      slot.used.store(false);
}

// A socket's path has at most 107 bytes, so that a long TMPDIR is not followed.
absl::StatusOr<std::string> MakePrivateDirectory() {
  const char *runtime = std::getenv("XDG_RUNTIME_DIR");
  for (std::string base : {std::string(runtime ? runtime : ""), std::string("/tmp")}) {
    if (base.empty() || base[0] != '/' || base.size() > 60)
      continue;
    std::string directory = absl::StrCat(base, "/pyasc-local-XXXXXX");
    if (::mkdtemp(directory.data()))
      return directory;
  }
  return absl::ErrnoToStatus(errno, "cannot make a private directory in /tmp");
}

} // namespace

absl::StatusOr<std::unique_ptr<LocalWorker>> LocalWorker::Start(const std::string &bin_dir,
                                                                absl::Duration timeout) {
  absl::StatusOr<std::string> directory = MakePrivateDirectory();
  if (!directory.ok())
    return directory.status();
  std::unique_ptr<LocalWorker> worker(new LocalWorker);
  worker->directory_ = *directory;
  worker->address_ = absl::StrCat("unix:", *directory, kSocketName);
  worker->stderr_path_ = *directory + kStderrName;
  Remember(*directory);

  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0)
    return absl::ErrnoToStatus(errno, "pipe");
  FileDescriptor child_stdin(in[0]);
  worker->stdin_ = FileDescriptor(in[1]);
  if (::pipe2(out, O_CLOEXEC) != 0)
    return absl::ErrnoToStatus(errno, "pipe");
  worker->stdout_ = FileDescriptor(out[0]);
  FileDescriptor child_stdout(out[1]);
  FileDescriptor child_stderr(
      ::open(worker->stderr_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!child_stderr.valid())
    return absl::ErrnoToStatus(errno, worker->stderr_path_);

  SpawnOptions spawn;
  spawn.argv = {bin_dir + "/pyasc-worker", "--role=local",
                absl::StrCat("--listen=", worker->address_)};
  spawn.stdin_fd = child_stdin.get();
  spawn.stdout_fd = child_stdout.get();
  spawn.stderr_fd = child_stderr.get();
  absl::StatusOr<pid_t> pid = Spawn(spawn);
  if (!pid.ok())
    return absl::UnavailableError(pid.status().message());
  worker->pid_ = *pid;
  child_stdout.Close();

  absl::Time deadline = absl::Now() + timeout;
  std::string said;
  while (said.find('\n') == std::string::npos) {
    int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    pollfd poll_fd = {worker->stdout_.get(), POLLIN, 0};
    int ready = left > 0 ? ::poll(&poll_fd, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0)
      return absl::UnavailableError(
          absl::StrCat("the local worker was not ready within ", absl::FormatDuration(timeout)));
    char buffer[256];
    ssize_t n = ::read(worker->stdout_.get(), buffer, sizeof buffer);
    if (n <= 0) {
      std::string end = worker->Obituary(absl::Seconds(1));
      return absl::UnavailableError(absl::StrCat("the local worker did not start: ",
                                                 end.empty() ? "it closed its output" : end));
    }
    said.append(buffer, n);
  }
  if (said.substr(0, said.find('\n')) != "ready")
    return absl::UnavailableError(
        absl::StrCat("expected 'ready' from the local worker, met '", said, "'"));
  return worker;
}

LocalWorker::~LocalWorker() {
  stdin_.Close();
  if (pid_ > 0 && !ended_ && Obituary(absl::Seconds(2)).empty()) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &wait_status_, 0);
  }
  Forget(directory_);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string LocalWorker::Obituary(absl::Duration patience) {
  if (pid_ <= 0)
    return "";
  absl::Time deadline = absl::Now() + patience;
  while (!ended_) {
    pid_t pid = ::waitpid(pid_, &wait_status_, WNOHANG);
    if (pid == pid_)
      ended_ = true;
    else if (absl::Now() >= deadline)
      return "";
    else
      absl::SleepFor(absl::Milliseconds(2));
  }
  std::string text = absl::StrCat("it ", DescribeExit(wait_status_));
  std::string wrote = Tail(stderr_path_, 10);
  if (!wrote.empty())
    absl::StrAppend(&text, "; it wrote:\n", wrote);
  return text;
}

void LocalWorker::RemoveDirectoriesInSignalHandler() {
  for (Slot &slot : slots) {
    if (!slot.used.load())
      continue;
    for (const char *file : slot.files)
      ::unlink(file);
    ::rmdir(slot.directory);
  }
}

} // namespace pyasc::client
