#include "client/cli/trace_file.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace pyasc::cli {
namespace {

constexpr uint64_t kDefaultEvents = 1'000'000;

} // namespace

std::vector<Flag> TraceFlags() {
  return {{"--trace", "FILE",
           "sim: write what every pipe does, and waits for, as a trace for Perfetto\n"
           "or chrome://tracing"},
          {"--trace-limit", "N", "events in the trace at most; default 1000000"}};
}

TraceFile::~TraceFile() {
  if (file_)
    std::fclose(file_);
}

absl::Status TraceFile::Open(const Arguments &arguments, v1::RunOptions *run) {
  events_ = kDefaultEvents;
  if (arguments.Has("--trace-limit") &&
      (!absl::SimpleAtoi(arguments.Get("--trace-limit"), &events_) || events_ == 0))
    return absl::InvalidArgumentError(absl::StrCat(
        "--trace-limit takes a whole number above 0, not '", arguments.Get("--trace-limit"), "'"));
  if (!arguments.Has("--trace"))
    return arguments.Has("--trace-limit")
               ? absl::InvalidArgumentError("--trace-limit needs --trace FILE")
               : absl::OkStatus();
  path_ = arguments.Get("--trace");
  file_ = std::fopen(path_.c_str(), "w");
  if (!file_)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write ", path_, ": ", std::strerror(errno)));
  run->set_trace_events(events_);
  return absl::OkStatus();
}

void TraceFile::Receive(client::CallOptions *options) {
  if (!file_)
    return;
  options->on_trace = [this](const v1::TraceChunk &chunk) {
    failed_ |=
        std::fwrite(chunk.data().data(), 1, chunk.data().size(), file_) != chunk.data().size();
    left_out_ += chunk.left_out();
  };
}

absl::Status TraceFile::Close() {
  if (!file_)
    return absl::OkStatus();
  failed_ |= std::fclose(file_) != 0;
  file_ = nullptr;
  if (failed_)
    return absl::InternalError(absl::StrCat("cannot write all of ", path_));
  if (left_out_ > 0)
    std::fprintf(stderr,
                 "note: %s has the first %llu events; %llu more were left out (--trace-limit)\n",
                 path_.c_str(), static_cast<unsigned long long>(events_),
                 static_cast<unsigned long long>(left_out_));
  return absl::OkStatus();
}

} // namespace pyasc::cli
