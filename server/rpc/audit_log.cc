#include "server/rpc/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {
namespace {

constexpr std::chrono::milliseconds kTogether{100};
constexpr size_t kMaxWaiting = 8 << 20; // bytes

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

// Thousandths as a decimal fraction.
std::string Thousandths(int64_t value) {
  return absl::StrCat(value / 1000, ".", absl::Dec(value % 1000, absl::kZeroPad3));
}

} // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string &path) {
  UniqueFd file(::open(path.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid())
    return absl::ErrnoToStatus(errno, absl::StrCat("audit_log: cannot open ", path));
  return std::unique_ptr<AuditLog>(new AuditLog(std::move(file)));
}

AuditLog::AuditLog(UniqueFd file) : file_(std::move(file)), thread_([this] { Serve(); }) {}

AuditLog::~AuditLog() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void AuditLog::Write(const Entry &entry) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string line = absl::StrCat(
      R"({"time": )", Thousandths(now / std::chrono::milliseconds(1)), R"(, "tenant": )",
      Quoted(entry.tenant), R"(, "peer": )", Quoted(entry.peer), R"(, "method": )",
      Quoted(entry.method), R"(, "code": )", Quoted(entry.code), R"(, "request_id": )",
      Quoted(entry.request_id), R"(, "kernel": )", Quoted(entry.kernel), R"(, "ms": )",
      Thousandths(static_cast<int64_t>(entry.milliseconds * 1000)), "}\n");
  bool first;
  {
    std::lock_guard lock(mutex_);
    if (lines_.size() + line.size() > kMaxWaiting) {
      ++dropped_;
      return;
    }
    first = lines_.empty();
    lines_ += line;
  }
  if (first)
    changed_.notify_one();
}

void AuditLog::Serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !lines_.empty(); });
    changed_.wait_for(lock, kTogether, [this] { return ending_; });
    if (lines_.empty())
      return;
    const std::string lines = std::exchange(lines_, {});
    const uint64_t dropped = std::exchange(dropped_, 0);
    lock.unlock();
    Append(lines);
    if (dropped)
      spdlog::warn("audit log: {} lines dropped: the disk is too slow for them", dropped);
    lock.lock();
  }
}

void AuditLog::Append(const std::string &lines) {
  for (size_t written = 0; written < lines.size();) {
    const ssize_t n = ::write(file_.get(), lines.data() + written, lines.size() - written);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      if (!failed_)
        spdlog::warn("audit log: cannot be written: {}; lines are lost", std::strerror(errno));
      failed_ = true;
      return;
    }
    written += n;
  }
  failed_ = false;
}

} // namespace pyasc::server
