// The helper's side of Spawner, and the messages between the two.
#ifndef PYASC_SERVER_PROCESS_SPAWNER_HELPER_H
#define PYASC_SERVER_PROCESS_SPAWNER_HELPER_H

#include <cstdint>

namespace pyasc::server {

// Daemon to helper. For kSpawn the NUL-terminated arguments follow, and one descriptor.
struct HelperRequest {
  enum Kind : uint32_t { kSpawn = 1, kKill = 2 } kind;
  int32_t pid; // kKill
  uint64_t token;
  uint64_t memory_bytes;
  uint64_t cpu_seconds;
  int32_t nice;
  uint32_t argument_count;
};

// Helper to daemon.
struct HelperReply {
  enum Kind : uint32_t { kStarted = 1, kEnded = 2 } kind;
  int32_t pid;
  uint64_t token;      // kStarted
  int32_t error;       // kStarted: errno, 0 when it runs
  int32_t wait_status; // kEnded
};

inline constexpr int kMaxHelperMessage = 32 * 1024;

// Serves `control` until the daemon closes it, then ends all children and the process.
[[noreturn]] void RunSpawnerHelper(int control);

} // namespace pyasc::server

#endif // PYASC_SERVER_PROCESS_SPAWNER_HELPER_H
