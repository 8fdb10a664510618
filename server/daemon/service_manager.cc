#include "server/daemon/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "absl/strings/numbers.h"
#include "server/process/fd.h"

namespace pyasc::server {

ServiceNotifier ServiceNotifier::FromEnvironment() {
  ServiceNotifier notifier;
  if (const char *socket = std::getenv("NOTIFY_SOCKET"))
    notifier.socket_ = socket;
  int64_t usec = 0, pid = ::getpid();
  const char *interval = std::getenv("WATCHDOG_USEC");
  const char *whom = std::getenv("WATCHDOG_PID");
  if (interval && absl::SimpleAtoi(interval, &usec) && usec > 0 &&
      (!whom || (absl::SimpleAtoi(whom, &pid) && pid == ::getpid())))
    notifier.watchdog_interval_ = std::chrono::milliseconds(usec / 2000);
  for (const char *name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
    ::unsetenv(name);
  return notifier;
}

void ServiceNotifier::Tell(const std::string &state) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path))
    return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') // the abstract namespace
    address.sun_path[0] = '\0';
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid())
    return;
  // A manager that does not listen is no reason to stop.
  (void)!::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
                  reinterpret_cast<sockaddr *>(&address),
                  static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size()));
}

} // namespace pyasc::server
