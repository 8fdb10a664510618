// The audit log: one JSON line a call, for those who ask later who did what.
#ifndef PYASC_SERVER_RPC_AUDIT_LOG_H
#define PYASC_SERVER_RPC_AUDIT_LOG_H

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace spdlog {
class logger;
}

namespace pyasc::server {

// Thread-safe; does not block: a writer thread of its own takes the lines, and drops the oldest
// when the disk is too slow for them.
class AuditLog {
public:
  struct Entry {
    std::string tenant, peer, method, code, request_id, kernel;
    double milliseconds = 0;
  };
  // Appends to `path`, which is made with mode 0600.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string &path);
  ~AuditLog();
  void Write(const Entry &entry);

private:
  explicit AuditLog(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}
  std::shared_ptr<spdlog::logger> logger_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_AUDIT_LOG_H
