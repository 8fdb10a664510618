// The audit log: one JSON line a call, for those who ask later who did what.
#ifndef PYASC_SERVER_RPC_AUDIT_LOG_H
#define PYASC_SERVER_RPC_AUDIT_LOG_H

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "server/process/fd.h"

namespace pyasc::server {

// Thread-safe; does not block: a writer thread takes what has come together in a tenth of a second,
// since waking it for each line would cost more than the line. Lines that the disk is too slow for
// are dropped, and their number logged.
class AuditLog {
public:
  struct Entry {
    std::string tenant, peer, method, code, request_id, kernel;
    double milliseconds = 0;
  };
  // Appends to `path`, which is made with mode 0600.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string &path);
  // Writes what is left.
  ~AuditLog();
  void Write(const Entry &entry);

private:
  explicit AuditLog(UniqueFd file);
  void Serve();
  // Without the mutex.
  void Append(const std::string &lines);

  const UniqueFd file_;
  bool failed_ = false; // the last write; the thread's own
  std::mutex mutex_;    // what follows
  std::condition_variable changed_;
  std::string lines_; // not written yet
  uint64_t dropped_ = 0;
  bool ending_ = false;
  std::thread thread_; // last: it uses the rest
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_AUDIT_LOG_H
