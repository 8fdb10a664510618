// The C++ client of the pyasc service: compile, run, profile, ask.
//
// A Client holds one gRPC channel and, with ServiceOptions::local, one worker process. Its calls
// block; they may be made from several threads at the same time. A kernel that is wrong is no
// error of a call: look at the reply's outcome. Errors are the service's own: UNAVAILABLE,
// RESOURCE_EXHAUSTED (with kRetryPayload of retry.h: the deadline left no room for a further try;
// without: it will never fit), DEADLINE_EXCEEDED, FAILED_PRECONDITION, ... Each has a message.
#ifndef PYASC_CLIENT_CPP_CLIENT_H
#define PYASC_CLIENT_CPP_CLIENT_H

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/tensor.h"
#include "google/longrunning/operations.pb.h"
#include "pyasc/v1/compile.pb.h"
#include "pyasc/v1/execution.pb.h"
#include "pyasc/v1/service.pb.h"

namespace pyasc::client {

struct ServiceOptions {
  // "unix:PATH" or "HOST:PORT" (TLS and token: see credentials.h). "": the user's own daemon,
  // started when it is not there.
  std::string server = {};
  // A worker of our own as a child process, no daemon. `server` is then ignored.
  bool local = false;
  // Where pyascd and pyasc-worker are; needed unless `server` is set.
  std::string bin_dir = {};
  // How long the service may take to start and to answer the first connection.
  absl::Duration connect_timeout = absl::Seconds(20);
};

struct CallOptions {
  // Of the whole call, retries included.
  absl::Duration timeout = absl::Minutes(10);
  // Called from the calling thread; a retry shows as stage "waiting for room". May be empty.
  std::function<void(const v1::Progress &)> on_progress;
  std::function<void(const v1::PrintLine &)> on_print;
  std::function<void(const v1::TraceChunk &)> on_trace;
};

struct RunArgument {
  std::string name;
  std::variant<Tensor, v1::ScalarValue, v1::GeneratedTensor> value;
};

struct RunCall {
  v1::CompileRequest compile;
  std::vector<RunArgument> arguments;
  v1::RunOptions options;
};

struct RunOutputValue {
  Tensor tensor;
  bool is_scalar = false;
};

struct RunResult {
  v1::RunDone done;
  // By name: parameters asked for, and "return", "return.0", ...
  std::map<std::string, RunOutputValue> outputs;
  // Their names as they came: parameters in the kernel's order, then what it returns.
  std::vector<std::string> names;
};

class Client {
public:
  // Connects, starting what the options ask for. Errors: UNAVAILABLE when nobody answers.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const ServiceOptions &options);
  ~Client();

  absl::StatusOr<v1::CompileReply> Compile(const v1::CompileRequest &request,
                                           const CallOptions &options = {});

  // What is wrong with a file's kernels, without arguments; see CheckRequest.
  absl::StatusOr<v1::CheckReply> Check(const v1::CheckRequest &request,
                                       const CallOptions &options = {});

  // Tensors over 64 KiB travel in chunks, both ways.
  absl::StatusOr<RunResult> Run(const RunCall &call, const CallOptions &options = {});

  // Measures with repeated launches and returns the final result. Arguments that are too large to
  // travel inline go into leased buffers; where the service has no room for them, this is one
  // measured Run. Outputs are not returned. A connection that breaks while it
  // measures is made anew, and progress and prints go on where they were (follow.h).
  absl::StatusOr<v1::RunDone> Profile(const RunCall &call, uint32_t max_samples,
                                      uint32_t max_seconds, bool hot,
                                      const CallOptions &options = {});

  // Begins a batch of compiles, which goes on without its caller; its Operation's response is a
  // CompileBatchResult.
  absl::StatusOr<google::longrunning::Operation> StartBatch(const v1::CompileBatchRequest &request,
                                                            const CallOptions &options = {});

  // An operation, a profile or a batch, by its name. NOT_FOUND: it never was, was deleted, is of
  // another tenant, or its result is older than an hour.
  absl::StatusOr<google::longrunning::Operation> GetOperation(const std::string &name,
                                                              const CallOptions &options = {});
  // Returns it when it is done, with progress and prints on the way (follow.h). DEADLINE_EXCEEDED:
  // it still runs.
  absl::StatusOr<google::longrunning::Operation> AwaitOperation(const std::string &name,
                                                                const CallOptions &options = {});
  absl::Status CancelOperation(const std::string &name, const CallOptions &options = {});
  absl::Status DeleteOperation(const std::string &name, const CallOptions &options = {});
  // All of this caller's, with their results.
  absl::StatusOr<std::vector<google::longrunning::Operation>>
  ListOperations(const CallOptions &options = {});

  absl::StatusOr<v1::ListDevicesReply> ListDevices(const CallOptions &options = {});
  absl::StatusOr<v1::GetStatsReply> GetStats(const CallOptions &options = {});
  absl::StatusOr<v1::ManageCacheReply> ManageCache(v1::ManageCacheRequest::Action action,
                                                   const CallOptions &options = {});
  absl::StatusOr<v1::GetCapabilitiesReply> GetCapabilities(const CallOptions &options = {});
  absl::Status Shutdown(uint32_t grace_seconds, const CallOptions &options = {});

  // Where it is connected to.
  const std::string &address() const;

private:
  absl::StatusOr<v1::RunDone> ProfileOnce(const RunCall &call, const CallOptions &options);

  struct State;
  explicit Client(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace pyasc::client

#endif // PYASC_CLIENT_CPP_CLIENT_H
