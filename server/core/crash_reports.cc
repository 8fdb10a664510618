#include "server/core/crash_reports.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "pyasc/worker/v1/worker.pb.h"
#include "server/core/keys.h"
#include "server/process/fd.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {
namespace {

namespace fs = std::filesystem;

// Callers name their requests: no more of it goes into a file's name than is harmless there.
std::string FileNamePart(const std::string &text) {
  std::string part;
  for (char c : text.substr(0, 40))
    part += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return part;
}

absl::Status WriteNew(const std::string &path, const std::string &content) {
  UniqueFd file(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid())
    return absl::ErrnoToStatus(errno, path);
  if (WriteAll(file.get(), content))
    return absl::OkStatus();
  const int error = errno;
  ::unlink(path.c_str());
  return absl::ErrnoToStatus(error, path);
}

// Names begin with their time, so that the smallest is the oldest.
void DropOldest(const std::string &directory) {
  std::error_code error;
  std::vector<fs::path> reports;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".json")
      reports.push_back(at->path());
  std::sort(reports.begin(), reports.end());
  for (size_t i = 0; i + CrashReports::kMaxReports < reports.size(); ++i) {
    fs::remove(reports[i], error);
    fs::remove(reports[i].replace_extension(".py"), error);
  }
}

} // namespace

void CrashReports::Keep(const std::string &role, const std::string &how,
                        const v1::CompileRequest &request) {
  if (directory_.empty())
    return;
  const absl::Time now = absl::Now();
  worker::v1::CrashReport report;
  report.set_time(absl::FormatTime(absl::RFC3339_full, now, absl::UTCTimeZone()));
  report.set_role(role);
  report.set_how(how);
  report.set_build_id(build_id_);
  *report.mutable_request() = request;
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json, source;
  (void)google::protobuf::util::MessageToJsonString(report, &json, options);
  for (const v1::SourceFile &file : request.files())
    source += file.content();

  // One at a time: two of one moment would have one name, and both drop the same oldest.
  std::lock_guard lock(mutex_);
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST)
    return spdlog::warn("[{}] no crash report: {}", LogName(request),
                        absl::ErrnoToStatus(errno, directory_).ToString());
  const std::string name =
      absl::StrCat(directory_, "/", absl::FormatTime("%Y%m%dT%H%M%E6S", now, absl::UTCTimeZone()),
                   "-", FileNamePart(request.request_id()));
  // The JSON last: who sees it finds both.
  absl::Status status = WriteNew(name + ".py", source);
  if (status.ok())
    status = WriteNew(name + ".json", json);
  if (!status.ok())
    return spdlog::warn("[{}] no crash report: {}", LogName(request), status.ToString());
  DropOldest(directory_);
  spdlog::warn("[{}] what the {} was asked is in {}.json", LogName(request), role, name);
}

} // namespace pyasc::server
