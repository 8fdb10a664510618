#include "server/rpc/audit_log.h"

#include <fcntl.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/process/fd.h"
#include "spdlog/async.h"
#include "spdlog/async_logger.h"
#include "spdlog/sinks/basic_file_sink.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {
namespace {

// What callers and kernels name themselves goes in as JSON text.
std::string Quoted(const std::string &text) {
  std::string quoted = "\"";
  for (unsigned char c : text.substr(0, 256)) {
    if (c == '"' || c == '\\')
      quoted += {'\\', static_cast<char>(c)};
    else if (c < 32 || c > 126)
      absl::StrAppendFormat(&quoted, "\\u%04x", c);
    else
      quoted += static_cast<char>(c);
  }
  return quoted + '"';
}

} // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string &path) {
  UniqueFd made(::open(path.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made.valid())
    return absl::ErrnoToStatus(errno, absl::StrCat("audit_log: cannot open ", path));
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    auto logger = std::make_shared<spdlog::async_logger>(
        "audit", sink, spdlog::thread_pool(), spdlog::async_overflow_policy::overrun_oldest);
    logger->set_pattern("%v");
    spdlog::register_logger(logger); // flushed every second with the others
    return std::unique_ptr<AuditLog>(new AuditLog(std::move(logger)));
  } catch (const spdlog::spdlog_ex &error) {
    return absl::UnavailableError(absl::StrCat("audit_log: ", error.what()));
  }
}

AuditLog::~AuditLog() {
  logger_->flush();
  spdlog::drop("audit");
}

void AuditLog::Write(const Entry &entry) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  logger_->info(absl::StrFormat(
      R"({"time": %.3f, "tenant": %s, "peer": %s, "method": %s, "code": %s, "request_id": %s, "kernel": %s, "ms": %.3f})",
      std::chrono::duration<double>(now).count(), Quoted(entry.tenant), Quoted(entry.peer),
      Quoted(entry.method), Quoted(entry.code), Quoted(entry.request_id), Quoted(entry.kernel),
      entry.milliseconds));
}

} // namespace pyasc::server
