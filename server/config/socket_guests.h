// Who may use the Unix sockets besides the daemon's own user and root.
#ifndef PYASC_SERVER_CONFIG_SOCKET_GUESTS_H
#define PYASC_SERVER_CONFIG_SOCKET_GUESTS_H

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace pyasc::server {

// "uid:1000", "user:alice", "gid:100", "group:ci" (also as one of a caller's further groups).
struct SocketGuests {
  std::vector<uid_t> uids;
  std::vector<gid_t> gids;
  bool empty() const { return uids.empty() && gids.empty(); }
};
// INVALID_ARGUMENT names the entry.
absl::StatusOr<SocketGuests> ParseSocketGuests(const std::vector<std::string> &entries);

} // namespace pyasc::server

#endif // PYASC_SERVER_CONFIG_SOCKET_GUESTS_H
