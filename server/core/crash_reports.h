// What a worker was asked when it died, kept for whoever looks after the daemon.
//
// A report is two files that only the daemon's user can read: NAME.json, a CrashReport of
// worker.proto in protobuf's JSON, and NAME.py, the kernel's text as it was sent. The tensors of a
// run are not kept.
#ifndef PYASC_SERVER_CORE_CRASH_REPORTS_H
#define PYASC_SERVER_CORE_CRASH_REPORTS_H

#include <mutex>
#include <string>

#include "pyasc/v1/compile.pb.h"

namespace pyasc::server {

// Thread-safe.
class CrashReports {
public:
  // Beyond it the oldest goes.
  static constexpr size_t kMaxReports = 64;

  // `directory` is made at the first crash; "": nothing is kept.
  CrashReports(std::string directory, std::string build_id)
      : directory_(std::move(directory)), build_id_(std::move(build_id)) {}

  // `role`: "compile worker" or "device worker". Writes to the disk and logs where; a disk that
  // refuses is logged and changes nothing else.
  void Keep(const std::string &role, const std::string &how, const v1::CompileRequest &request);

private:
  const std::string directory_, build_id_;
  std::mutex mutex_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CORE_CRASH_REPORTS_H
