// What the daemon tells systemd (or whoever set NOTIFY_SOCKET): ready, reloading, stopping, alive.
#ifndef PYASC_SERVER_DAEMON_SERVICE_MANAGER_H
#define PYASC_SERVER_DAEMON_SERVICE_MANAGER_H

#include <chrono>
#include <optional>
#include <string>

namespace pyasc::server {

// Does nothing when no service manager asked to be told.
class ServiceNotifier {
public:
  // Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment, so that workers do
  // not answer for the daemon. REQUIRES: one thread.
  static ServiceNotifier FromEnvironment();

  // "READY=1", "STATUS=...", several lines at once.
  void Tell(const std::string &state) const;
  // How often "WATCHDOG=1" has to be told: half the time that the manager waits.
  std::optional<std::chrono::milliseconds> watchdog_interval() const { return watchdog_interval_; }

private:
  std::string socket_;
  std::optional<std::chrono::milliseconds> watchdog_interval_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_DAEMON_SERVICE_MANAGER_H
