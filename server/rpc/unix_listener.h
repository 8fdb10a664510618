// A Unix socket that asks the kernel who calls (SO_PEERCRED) before gRPC sees the connection, so
// that a file mode or a directory that somebody has loosened lets nobody in.
#ifndef PYASC_SERVER_RPC_UNIX_LISTENER_H
#define PYASC_SERVER_RPC_UNIX_LISTENER_H

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/config/socket_guests.h"
#include "server/process/fd.h"

namespace pyasc::server {

struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  std::vector<gid_t> gids;
};
// Of the process that made the connection.
absl::StatusOr<PeerCredentials> CredentialsOf(int socket);

enum class PeerKind { kOwner, kGuest, kStranger };
PeerKind KindOf(const PeerCredentials &peer, uid_t owner, const SocketGuests &guests);

class UnixListener {
public:
  // Called on the listener's thread. Whoever gets a descriptor closes it.
  struct Events {
    std::function<void(int listener, int fd, PeerKind)> on_connection;
    // After the connection was closed.
    std::function<void(const PeerCredentials &)> on_stranger;
  };
  // Binds and listens, replacing a socket that nobody serves any more. With guests the file is open
  // to all, else to its owner alone. REQUIRES: the caller holds the socket's lock. UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Listen(const std::string &path,
                                                              SocketGuests guests);
  // Takes connections no more, and removes the file.
  ~UnixListener();
  void Serve(Events events);

private:
  UnixListener(std::string path, SocketGuests guests, UniqueFd socket, UniqueFd wake)
      : path_(std::move(path)), guests_(std::move(guests)), socket_(std::move(socket)),
        wake_(std::move(wake)) {}
  void Loop();

  const std::string path_;
  const SocketGuests guests_;
  UniqueFd socket_, wake_;
  Events events_;
  std::thread thread_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_UNIX_LISTENER_H
