// Frames between pyascd and a worker: a 4-byte little-endian length, a protobuf message, and
// descriptors beside it (SCM_RIGHTS on the frame's first bytes).
//
// A FrameChannel is used by one thread at a time. The peer is not trusted: lengths and numbers of
// descriptors are bounded before anything is allocated.
#ifndef PYASC_SERVER_PROCESS_FRAME_H
#define PYASC_SERVER_PROCESS_FRAME_H

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"
#include "server/process/fd.h"

namespace pyasc::server {

// An artifact with all its texts stays far below.
inline constexpr size_t kMaxFrameBytes = 512u << 20;
inline constexpr size_t kMaxFrameFds = 64;

class FrameChannel {
public:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  FrameChannel() = default;
  explicit FrameChannel(UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  bool open() const { return socket_.valid(); }
  void Close() { socket_.Reset(); }

  // DEADLINE_EXCEEDED: the peer did not take the frame in time. UNAVAILABLE: the peer is gone.
  absl::Status Send(const google::protobuf::MessageLite &message, std::span<const int> fds,
                    Deadline deadline);
  // Takes one frame. DEADLINE_EXCEEDED, UNAVAILABLE (end of stream), or DATA_LOSS (no frame, or
  // no message of this type): after any error but DEADLINE_EXCEEDED before the first byte the
  // channel is of no further use.
  absl::Status Receive(google::protobuf::MessageLite &message, std::vector<UniqueFd> *fds,
                       Deadline deadline);

private:
  absl::Status WaitFor(short events, Deadline deadline);
  absl::Status ReadExactly(char *to, size_t size, std::vector<UniqueFd> *fds, Deadline deadline);

  UniqueFd socket_;
};

// Both ends of a connected, close-on-exec stream socket pair.
struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};
absl::StatusOr<SocketPair> MakeSocketPair();

} // namespace pyasc::server

#endif // PYASC_SERVER_PROCESS_FRAME_H
