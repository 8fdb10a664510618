#include "server/rpc/operation_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {
namespace {

using google::longrunning::Operation;

constexpr uint32_t kMaxRecord = 64u << 20;

// Owner's length and owner, then the operation; without `done`, `name` alone: it is deleted.
constexpr char kPut = 'P', kDelete = 'D';

std::string Frame(const std::string &payload) {
  const uint32_t header[2] = {
      static_cast<uint32_t>(payload.size()),
      static_cast<uint32_t>(::crc32(0, reinterpret_cast<const Bytef *>(payload.data()),
                                    static_cast<uInt>(payload.size())))};
  std::string frame(reinterpret_cast<const char *>(header), sizeof(header));
  return frame + payload;
}

std::string PutRecord(const std::string &owner, const Operation &operation) {
  std::string payload(1, kPut);
  payload += static_cast<char>(std::min<size_t>(owner.size(), 255));
  payload += owner.substr(0, 255);
  payload += operation.SerializeAsString();
  return Frame(payload);
}

// Reads whole records; returns how far they go.
size_t Parse(const std::string &content, std::map<std::string, OperationJournal::Stored> *all) {
  size_t at = 0;
  for (;;) {
    uint32_t header[2];
    if (content.size() - at < sizeof(header))
      return at;
    std::memcpy(header, content.data() + at, sizeof(header));
    if (header[0] == 0 || header[0] > kMaxRecord ||
        content.size() - at - sizeof(header) < header[0])
      return at;
    const std::string payload = content.substr(at + sizeof(header), header[0]);
    if (::crc32(0, reinterpret_cast<const Bytef *>(payload.data()), header[0]) != header[1])
      return at;
    if (payload[0] == kDelete) {
      all->erase(payload.substr(1));
    } else if (payload[0] == kPut && payload.size() >= 2) {
      const size_t owner = static_cast<unsigned char>(payload[1]);
      OperationJournal::Stored stored;
      if (payload.size() >= 2 + owner &&
          stored.operation.ParseFromString(payload.substr(2 + owner))) {
        stored.owner = payload.substr(2, owner);
        (*all)[stored.operation.name()] = std::move(stored);
      }
    }
    at += sizeof(header) + header[0];
  }
}

UniqueFd OpenFile(const std::string &path, int flags) {
  return UniqueFd(
      ::open(path.c_str(), flags | O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
}

} // namespace

absl::StatusOr<std::unique_ptr<OperationJournal>>
OperationJournal::Open(const std::string &path, std::vector<Stored> *stored) {
  UniqueFd file = OpenFile(path, 0);
  if (!file.valid())
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return absl::FailedPreconditionError(absl::StrCat("another process has ", path));
  std::string content;
  char buffer[64 << 10];
  for (ssize_t n; (n = ::read(file.get(), buffer, sizeof(buffer))) > 0;)
    content.append(buffer, static_cast<size_t>(n));
  std::map<std::string, Stored> all;
  const size_t whole = Parse(content, &all);
  if (whole != content.size())
    spdlog::warn("operations: {} ends in {} bytes that are no record; they are dropped", path,
                 content.size() - whole);
  for (auto &[name, one] : all)
    stored->push_back(std::move(one));
  return std::unique_ptr<OperationJournal>(new OperationJournal(path, std::move(file)));
}

void OperationJournal::Failed(const char *what) {
  if (!failed_)
    spdlog::warn("operations: {} {}: {}; operations will not survive a restart", what, path_,
                 std::strerror(errno));
  failed_ = true;
}

void OperationJournal::Append(const std::string &record) {
  std::lock_guard lock(mutex_);
  // Behind half a record nothing could be read any more.
  if (failed_)
    return;
  if (!WriteAll(file_.get(), record))
    return Failed("cannot write");
  grown_ += record.size();
}

void OperationJournal::Put(const std::string &owner, const Operation &operation) {
  Append(PutRecord(owner, operation));
}

void OperationJournal::Delete(const std::string &name) { Append(Frame(kDelete + name)); }

void OperationJournal::Rewrite(const std::vector<Stored> &all) {
  std::string content;
  for (const Stored &stored : all)
    content += PutRecord(stored.owner, stored.operation);
  std::lock_guard lock(mutex_);
  const std::string fresh_path = path_ + ".new";
  UniqueFd fresh = OpenFile(fresh_path, O_TRUNC);
  if (!fresh.valid() || ::flock(fresh.get(), LOCK_EX | LOCK_NB) != 0 ||
      !WriteAll(fresh.get(), content) || ::rename(fresh_path.c_str(), path_.c_str()) != 0)
    return Failed("cannot rewrite");
  file_ = std::move(fresh);
  grown_ = 0;
  failed_ = false;
}

uint64_t OperationJournal::grown() const {
  std::lock_guard lock(mutex_);
  return grown_;
}

} // namespace pyasc::server
