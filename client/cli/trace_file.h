// --trace: the simulator's trace, written to a file as it comes.
#ifndef PYASC_CLIENT_CLI_TRACE_FILE_H
#define PYASC_CLIENT_CLI_TRACE_FILE_H

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/command_line.h"
#include "client/cpp/client.h"

namespace pyasc::cli {

std::vector<Flag> TraceFlags();

class TraceFile {
public:
  TraceFile() = default;
  ~TraceFile();
  TraceFile(const TraceFile &) = delete;
  TraceFile &operator=(const TraceFile &) = delete;

  // Opens what --trace names, if it is there, and asks for the trace. Errors are the user's.
  absl::Status Open(const Arguments &arguments, v1::RunOptions *run);
  // Outlives the call.
  void Receive(client::CallOptions *options);
  // After the call, however it ended: whether all of the file is there; says on standard error what
  // was left out.
  absl::Status Close();

private:
  std::string path_;
  std::FILE *file_ = nullptr;
  bool failed_ = false;
  uint64_t events_ = 0;
  uint64_t left_out_ = 0;
};

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_TRACE_FILE_H
