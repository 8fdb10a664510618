#include "server/process/frame.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace pyasc::server {
namespace {

absl::Status PeerGone() { return absl::UnavailableError("the other end of the socket is closed"); }

} // namespace

absl::Status FrameChannel::WaitFor(short events, Deadline deadline) {
  for (;;) {
    int timeout_ms = -1;
    if (deadline) {
      auto left = *deadline - std::chrono::steady_clock::now();
      // Rounded up, so that poll never returns a moment before the deadline and spins.
      auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
      timeout_ms = static_cast<int>(std::clamp<int64_t>(ms, 0, 1 << 30));
    }
    pollfd entry{socket_.get(), events, 0};
    int ready = ::poll(&entry, 1, timeout_ms);
    if (ready > 0)
      return absl::OkStatus();
    if (ready == 0) {
      if (deadline && std::chrono::steady_clock::now() >= *deadline)
        return absl::DeadlineExceededError("no answer on the socket in time");
      continue;
    }
    if (errno != EINTR)
      return absl::ErrnoToStatus(errno, "poll");
  }
}

absl::Status FrameChannel::Send(const google::protobuf::MessageLite &message,
                                std::span<const int> fds, Deadline deadline) {
  if (!open())
    return PeerGone();
  if (fds.size() > kMaxFrameFds)
    return absl::InvalidArgumentError("too many descriptors for one frame");
  size_t body = message.ByteSizeLong();
  if (body > kMaxFrameBytes)
    return absl::ResourceExhaustedError(absl::StrCat("a frame of ", body, " bytes is too large"));
  std::string bytes(4 + body, '\0');
  for (int i = 0; i < 4; ++i)
    bytes[i] = static_cast<char>(body >> (8 * i));
  if (!message.SerializeToArray(bytes.data() + 4, static_cast<int>(body)))
    return absl::InternalError("cannot serialise a frame");

  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFrameFds)] = {};
  size_t sent = 0;
  while (sent < bytes.size()) {
    iovec part{bytes.data() + sent, bytes.size() - sent};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (sent == 0 && !fds.empty()) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
      cmsghdr *rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
      std::memcpy(CMSG_DATA(rights), fds.data(), sizeof(int) * fds.size());
    }
    ssize_t n = ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += n;
      continue;
    }
    if (errno == EINTR)
      continue;
    if (errno == EPIPE || errno == ECONNRESET)
      return PeerGone();
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      return absl::ErrnoToStatus(errno, "sendmsg");
    if (absl::Status s = WaitFor(POLLOUT, deadline); !s.ok())
      return s;
  }
  return absl::OkStatus();
}

absl::Status FrameChannel::ReadExactly(char *to, size_t size, std::vector<UniqueFd> *fds,
                                       Deadline deadline) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFrameFds)];
  size_t got = 0;
  while (got < size) {
    iovec part{to + got, size - got};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    ssize_t n = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0) {
      if (errno == EINTR)
        continue;
      if (errno == ECONNRESET)
        return PeerGone();
      if (errno != EAGAIN && errno != EWOULDBLOCK)
        return absl::ErrnoToStatus(errno, "recvmsg");
      if (absl::Status s = WaitFor(POLLIN, deadline); !s.ok())
        return s;
      continue;
    }
    for (cmsghdr *c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        continue;
      size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd;
        std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        UniqueFd owned(fd);
        if (fds)
          fds->push_back(std::move(owned));
      }
    }
    if (n == 0)
      return got == 0 ? PeerGone() : absl::DataLossError("the stream ended within a frame");
    got += n;
  }
  return absl::OkStatus();
}

absl::Status FrameChannel::Receive(google::protobuf::MessageLite &message,
                                   std::vector<UniqueFd> *fds, Deadline deadline) {
  if (!open())
    return PeerGone();
  unsigned char prefix[4];
  if (absl::Status s = ReadExactly(reinterpret_cast<char *>(prefix), 4, fds, deadline); !s.ok())
    return s;
  size_t size = prefix[0] | prefix[1] << 8 | prefix[2] << 16 | size_t{prefix[3]} << 24;
  if (size > kMaxFrameBytes)
    return absl::DataLossError(absl::StrCat("a frame of ", size, " bytes is too large"));
  std::string body(size, '\0');
  if (absl::Status s = ReadExactly(body.data(), size, fds, deadline); !s.ok())
    return absl::IsUnavailable(s) ? absl::DataLossError("the stream ended within a frame") : s;
  if (!message.ParseFromArray(body.data(), static_cast<int>(size)))
    return absl::DataLossError("a frame does not hold the expected message");
  return absl::OkStatus();
}

absl::StatusOr<SocketPair> MakeSocketPair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return absl::ErrnoToStatus(errno, "socketpair");
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

} // namespace pyasc::server
