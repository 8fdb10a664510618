// The user's own daemon: where it listens, and starting it when it is not there.
#ifndef PYASC_CLIENT_CPP_DAEMON_H
#define PYASC_CLIENT_CPP_DAEMON_H

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace pyasc::client {

// Names of the daemon of one build and one user.
struct DaemonPaths {
  // BuildId() of the binaries, cut to 16 digits.
  std::string build;
  // The socket, in a directory of the user's that nobody else can enter.
  std::string socket;
  std::string lock;
  std::string log;
  std::string cache_dir;

  std::string address() const { return "unix:" + socket; }
};

// $XDG_RUNTIME_DIR/pyasc, or /tmp/pyasc-$UID, for socket and lock; $XDG_STATE_HOME/pyasc for the
// log; $XDG_CACHE_HOME/pyasc/<machine id> for the cache. Makes the directories. Errors:
// NOT_FOUND when bin_dir has no daemon; PERMISSION_DENIED when the socket's directory belongs to
// somebody else or is open to others.
absl::StatusOr<DaemonPaths> FindDaemon(const std::string &bin_dir);

// Whether somebody accepts connections at the socket. A stopped or busy daemon is alive: the
// kernel queues for it.
bool IsListening(const std::string &socket);

// Returns when the daemon listens, after starting it if need be. At most one is started, however
// many processes call this at the same time. The daemon gets a session of its own, no
// descriptors but the log as its output, and an environment of only HOME, USER, LOGNAME, PATH,
// LANG and the XDG directories.
// Errors: UNAVAILABLE with the end of the log when it dies or does not listen in time.
absl::Status EnsureDaemon(const std::string &bin_dir, const DaemonPaths &paths,
                          absl::Duration timeout);

} // namespace pyasc::client

#endif // PYASC_CLIENT_CPP_DAEMON_H
