#include "client/cpp/daemon.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/build_id.h"
#include "client/cpp/files.h"
#include "client/cpp/process.h"

namespace pyasc::client {
namespace {

std::string Environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string Home() {
  std::string home = Environment("HOME");
  if (!home.empty() && home[0] == '/')
    return home;
  const passwd *entry = ::getpwuid(::getuid());
  return entry && entry->pw_dir ? entry->pw_dir : "/";
}

// The XDG rule: an unset or relative value counts as the default.
std::string XdgDirectory(const char *name, absl::string_view fallback) {
  std::string value = Environment(name);
  return !value.empty() && value[0] == '/' ? value : absl::StrCat(Home(), "/", fallback);
}

absl::Status MakeDirectories(const std::string &path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return absl::ErrnoToStatus(errno, absl::StrCat("making ", part));
    if (slash == std::string::npos)
      return absl::OkStatus();
  }
}

// Makes the directory, or checks that it is ours alone.
absl::Status MakePrivateDirectory(const std::string &path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return absl::ErrnoToStatus(errno, absl::StrCat("making ", path));
  struct stat st;
  if (::lstat(path.c_str(), &st) != 0)
    return absl::ErrnoToStatus(errno, path);
  if (!S_ISDIR(st.st_mode) || st.st_uid != ::getuid())
    return absl::PermissionDeniedError(
        absl::StrCat(path, " should be a directory of user ", ::getuid(),
                     " but is not; remove it, or set XDG_RUNTIME_DIR to a directory of your own"));
  if (st.st_mode & 077)
    return absl::PermissionDeniedError(
        absl::StrCat(path, " is open to other users; run: chmod 700 ", path));
  return absl::OkStatus();
}

std::string MachineId() {
  absl::StatusOr<std::string> id = ReadFile("/etc/machine-id");
  if (id.ok()) {
    std::string text(absl::StripAsciiWhitespace(*id));
    if (!text.empty() && text.find('/') == std::string::npos)
      return text;
  }
  utsname name;
  if (::uname(&name) == 0 && name.nodename[0] && !std::strchr(name.nodename, '/'))
    return name.nodename;
  return "machine";
}

absl::StatusOr<std::string> SocketDirectory() {
  std::string runtime = Environment("XDG_RUNTIME_DIR");
  struct stat st;
  // A socket's path has at most 107 bytes: "/pyasc/", 16 digits and ".sock" are 28 of them.
  bool usable = !runtime.empty() && runtime[0] == '/' && runtime.size() < 79 &&
                ::stat(runtime.c_str(), &st) == 0 && S_ISDIR(st.st_mode) &&
                st.st_uid == ::getuid() && ::access(runtime.c_str(), W_OK | X_OK) == 0;
  std::string directory = usable ? runtime + "/pyasc" : absl::StrCat("/tmp/pyasc-", ::getuid());
  if (absl::Status status = MakePrivateDirectory(directory); !status.ok())
    return status;
  return directory;
}

std::vector<std::string> DaemonEnvironment() {
  std::vector<std::string> environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
                                          absl::StrCat("HOME=", Home())};
  for (const char *name : {"USER", "LOGNAME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME",
                           "XDG_CONFIG_HOME"}) {
    std::string value = Environment(name);
    if (!value.empty())
      environment.push_back(absl::StrCat(name, "=", value));
  }
  return environment;
}

absl::Status StartAndWait(const std::string &bin_dir, const DaemonPaths &paths,
                          absl::Time deadline) {
  FileDescriptor log(
      ::open(paths.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600));
  if (!log.valid())
    return absl::ErrnoToStatus(errno, paths.log);
  // What is left of a daemon that died.
  ::unlink(paths.socket.c_str());
  SpawnOptions spawn;
  spawn.argv = {bin_dir + "/pyascd", absl::StrCat("--listen=", paths.address()),
                absl::StrCat("--cache-dir=", paths.cache_dir), "--idle-exit-seconds=600",
                "--http-port=0"};
  spawn.environment = DaemonEnvironment();
  spawn.stdout_fd = log.get();
  spawn.stderr_fd = log.get();
  spawn.new_session = true;
  absl::StatusOr<pid_t> pid = Spawn(spawn);
  if (!pid.ok())
    return absl::UnavailableError(pid.status().message());
  while (!IsListening(paths.socket)) {
    int wait_status;
    if (::waitpid(*pid, &wait_status, WNOHANG) == *pid)
      return absl::UnavailableError(absl::StrCat("pyascd did not start: it ",
                                                 DescribeExit(wait_status), "; the end of ",
                                                 paths.log, ":\n", Tail(paths.log, 5)));
    if (absl::Now() >= deadline)
      return absl::UnavailableError(
          absl::StrCat("pyascd (process ", *pid, ") does not listen yet; see ", paths.log));
    absl::SleepFor(absl::Milliseconds(5));
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<DaemonPaths> FindDaemon(const std::string &bin_dir) {
  std::string cache_home = absl::StrCat(XdgDirectory("XDG_CACHE_HOME", ".cache"), "/pyasc");
  std::string state_home = absl::StrCat(XdgDirectory("XDG_STATE_HOME", ".local/state"), "/pyasc");
  // A read-only home costs the caches, which the daemon bypasses by itself.
  MakeDirectories(cache_home).IgnoreError();
  absl::StatusOr<std::string> build = BuildId(bin_dir, cache_home);
  if (!build.ok())
    return build.status();
  absl::StatusOr<std::string> directory = SocketDirectory();
  if (!directory.ok())
    return directory.status();
  DaemonPaths paths;
  paths.build = build->substr(0, 16);
  paths.socket = absl::StrCat(*directory, "/", paths.build, ".sock");
  paths.lock = absl::StrCat(*directory, "/", paths.build, ".lock");
  bool have_state =
      MakeDirectories(state_home).ok() && ::access(state_home.c_str(), W_OK | X_OK) == 0;
  paths.log = absl::StrCat(have_state ? state_home : *directory, "/pyascd-", paths.build, ".log");
  paths.cache_dir = absl::StrCat(cache_home, "/", MachineId());
  return paths;
}

bool IsListening(const std::string &socket) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof address.sun_path)
    return false;
  std::strcpy(address.sun_path, socket.c_str());
  FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid())
    return false;
  if (::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) == 0)
    return true;
  // A full queue: the daemon is there, but has not accepted for a while.
  return errno == EAGAIN || errno == EINPROGRESS;
}

absl::Status EnsureDaemon(const std::string &bin_dir, const DaemonPaths &paths,
                          absl::Duration timeout) {
  if (IsListening(paths.socket))
    return absl::OkStatus();
  absl::Time deadline = absl::Now() + timeout;
  FileDescriptor lock(::open(paths.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid())
    return absl::ErrnoToStatus(errno, paths.lock);
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return absl::ErrnoToStatus(errno, paths.lock);
    if (absl::Now() >= deadline)
      return absl::UnavailableError(
          absl::StrCat("another process has been starting pyascd for too long; see ", paths.log));
    absl::SleepFor(absl::Milliseconds(5));
  }
  if (IsListening(paths.socket))
    return absl::OkStatus();
  return StartAndWait(bin_dir, paths, deadline);
}

} // namespace pyasc::client
