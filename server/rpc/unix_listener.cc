#include "server/rpc/unix_listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {
namespace {

// Where the machine has no descriptors left, until some are free.
constexpr std::chrono::milliseconds kPause{50};

} // namespace

absl::StatusOr<PeerCredentials> CredentialsOf(int socket) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return absl::ErrnoToStatus(errno, "asking who calls");
  PeerCredentials peer{credentials.pid, credentials.uid, {}};
  size = 0;
  // Says how much it needs.
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, nullptr, &size) != 0 && errno == ERANGE) {
    peer.gids.resize(size / sizeof(gid_t));
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, peer.gids.data(), &size) != 0)
      peer.gids.clear();
  }
  peer.gids.push_back(credentials.gid);
  return peer;
}

PeerKind KindOf(const PeerCredentials &peer, uid_t owner, const SocketGuests &guests) {
  if (peer.uid == owner || peer.uid == 0)
    return PeerKind::kOwner;
  auto has = [](const auto &list, auto value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  const bool guest =
      has(guests.uids, peer.uid) ||
      std::any_of(peer.gids.begin(), peer.gids.end(), [&](gid_t g) { return has(guests.gids, g); });
  return guest ? PeerKind::kGuest : PeerKind::kStranger;
}

absl::StatusOr<std::unique_ptr<UnixListener>> UnixListener::Listen(const std::string &path,
                                                                   SocketGuests guests) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return absl::UnavailableError(absl::StrCat("the path of a socket may have ",
                                               sizeof(address.sun_path) - 1, " characters: ", path,
                                               " has ", path.size()));
  std::memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!socket.valid() || !wake.valid())
    return absl::ErrnoToStatus(errno, "making a socket");
  struct stat there{};
  if (::lstat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode))
    ::unlink(path.c_str());
  auto failed = [&](const char *what) {
    return absl::UnavailableError(absl::StrCat(what, " ", path, ": ", std::strerror(errno)));
  };
  const mode_t mask = ::umask(0077);
  const int bound =
      ::bind(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address));
  ::umask(mask);
  if (bound != 0)
    return failed("cannot listen on");
  if (::chmod(path.c_str(), guests.empty() ? 0600 : 0666) != 0)
    return failed("cannot set the mode of");
  if (::listen(socket.get(), SOMAXCONN) != 0)
    return failed("cannot listen on");
  return std::unique_ptr<UnixListener>(
      new UnixListener(path, std::move(guests), std::move(socket), std::move(wake)));
}

UnixListener::~UnixListener() {
  if (thread_.joinable()) {
    uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof(one));
    thread_.join();
  }
  ::unlink(path_.c_str());
}

void UnixListener::Serve(Events events) {
  events_ = std::move(events);
  thread_ = std::thread([this] { Loop(); });
}

void UnixListener::Loop() {
  const uid_t owner = ::geteuid();
  for (;;) {
    pollfd entries[2] = {{socket_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    if (::poll(entries, 2, -1) < 0 && errno != EINTR)
      return;
    if (entries[1].revents)
      return;
    UniqueFd fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        spdlog::warn("cannot take a connection on {}: {}", path_, std::strerror(errno));
        ::poll(&entries[1], 1, static_cast<int>(kPause.count()));
      }
      continue;
    }
    absl::StatusOr<PeerCredentials> peer = CredentialsOf(fd.get());
    if (!peer.ok())
      continue;
    const PeerKind kind = KindOf(*peer, owner, guests_);
    if (kind == PeerKind::kStranger) {
      fd.Reset();
      events_.on_stranger(*peer);
      continue;
    }
    events_.on_connection(socket_.get(), fd.Release(), kind);
  }
}

} // namespace pyasc::server
