// What the commands share: the flags that choose a service, reading kernel files, reporting
// failures with the right exit code.
#ifndef PYASC_CLIENT_CLI_SESSION_H
#define PYASC_CLIENT_CLI_SESSION_H

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/argument_spec.h"
#include "client/cli/command_line.h"
#include "client/cli/diagnostics_text.h"
#include "client/cli/kernel_scan.h"
#include "client/cli/progress.h"
#include "client/cpp/client.h"

namespace pyasc::cli {

inline constexpr char kVersion[] = "0.1.0";

// --server, --local, --fallback-local, --timeout, --color, --quiet.
std::vector<Flag> ServiceFlags();
// --kernel, --arg, --target, --soc, --precision, --debug.
std::vector<Flag> KernelFlags();
std::vector<Flag> Concat(std::vector<Flag> a, const std::vector<Flag> &b);

// The directory of this program, where the service's programs are too.
std::string BinDirectory();

// "unix:" or "host:port" from --server or PYASC_SERVER; "" when the user's own daemon is meant.
std::string ServerAddress(const Arguments &arguments);

// Whether --local, or "local" as the server's address, asks for a worker of our own.
bool IsLocal(const Arguments &arguments);

// Connects as the flags and PYASC_SERVER say.
absl::StatusOr<std::unique_ptr<client::Client>> Connect(const Arguments &arguments);

// Prints "pyasc: error: ..." and gives the exit code that fits the status.
int Fail(const absl::Status &status);
// As Fail, for what the user typed: exit code 2.
int UsageError(const absl::Status &status);

// Writes what a flag asked for: to the file `path`, or to standard output when it is "-".
absl::Status WriteTo(const std::string &path, const std::string &text);

bool UseColor(const Arguments &arguments, int fd);

// A kernel file and what the command line says of it.
struct KernelInput {
  std::string path;
  v1::CompileRequest request;
  std::vector<ArgumentSpec> arguments;
  // What a glance at the file shows of the kernel's parameters.
  std::vector<ScannedParameter> parameters;
  // For a run types do not suffice; for messages.
  bool needs_values = false;
};

// Reads FILE and the flags of KernelFlags(); request.arguments is filled from --arg. Errors are
// the user's.
absl::StatusOr<KernelInput> ReadKernelInput(const std::string &path, const Arguments &arguments);

// For compiling alone: gives the parameters that no --arg names, and that have no default, the type
// that their annotation says.
void AddAnnotatedArguments(KernelInput *input);

// The devices, once the service knows what they are or ten seconds have passed.
absl::StatusOr<v1::ListDevicesReply> ListReadyDevices(client::Client &client,
                                                      const client::CallOptions &options);

// --arg flags that would do for `parameters`: "--arg 'x=f32[64,128]' --arg 'n=3'". `values`: for a
// run, where types do not suffice.
std::string ExampleFlags(const std::vector<ScannedParameter> &parameters, bool values);

// --sanitize, which PYASC_SANITIZE=1 asks for, too.
Flag SanitizeFlag();
bool Sanitizes(const Arguments &arguments);

// Ready for Run and Profile; loads the arrays. Errors are the user's.
absl::StatusOr<client::RunCall> MakeRunCall(const KernelInput &input);

// Renders diagnostics on standard error.
void ShowDiagnostics(const Diagnostics &diagnostics, const KernelInput &input,
                     const Arguments &arguments);

// kDone for OK; otherwise shows what is wrong and gives the exit code.
int CheckOutcome(const v1::CompileReply &reply, const KernelInput &input,
                 const Arguments &arguments);
int CheckOutcome(const v1::RunDone &done, const KernelInput &input, const Arguments &arguments);

// Shows an operation that is done, on standard output; its JSON where --json is given. The exit
// code is that of the work: of a batch, that of the item that went worst.
int ShowOperation(const google::longrunning::Operation &operation, const Arguments &arguments);
// The same once it is done. With --timeout, kTryLater where it still runs.
int AwaitOperation(client::Client &client, const std::string &name, const Arguments &arguments);

// Options for a call with --timeout, showing progress on `line` (which outlives the call).
// Errors are the user's.
absl::StatusOr<client::CallOptions> MakeCallOptions(const Arguments &arguments, ProgressLine *line);

// Ends the process with 130 at SIGINT (128 + n at SIGTERM and SIGHUP), leaving no files behind.
void InstallSignalHandlers();

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_SESSION_H
