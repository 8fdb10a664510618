// Asks the worker program what it is: build id, targets, SoCs.
#ifndef PYASC_SERVER_DAEMON_DESCRIBE_WORKER_H
#define PYASC_SERVER_DAEMON_DESCRIBE_WORKER_H

#include <string>

#include "absl/status/statusor.h"
#include "pyasc/v1/compile.pb.h"

namespace pyasc::server {

// Runs `program --describe`, which prints a serialised GetCapabilitiesReply. `path` is what
// messages call it. REQUIRES: the process has one thread.
absl::StatusOr<v1::GetCapabilitiesReply> DescribeWorker(const std::string &program,
                                                        const std::string &path);

} // namespace pyasc::server

#endif // PYASC_SERVER_DAEMON_DESCRIBE_WORKER_H
