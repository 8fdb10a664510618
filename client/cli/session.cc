#include "client/cli/session.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cpp/files.h"
#include "client/cpp/local_worker.h"

namespace pyasc::cli {
namespace {

constexpr size_t kMaxSourceBytes = 1 << 20;

extern "C" void EndOnSignal(int signal) {
  client::LocalWorker::RemoveDirectoriesInSignalHandler();
  ::_exit(128 + signal);
}

// For the service's logs; unique enough to find a call again.
std::string RequestId() {
  std::random_device random;
  return absl::StrFormat("cli-%08x%08x", random(), random());
}

absl::StatusOr<v1::Target> ParseTarget(absl::string_view text) {
  if (text == "sim")
    return v1::TARGET_SIM;
  if (text == "host")
    return v1::TARGET_HOST;
  if (text == "ascend")
    return v1::TARGET_ASCEND;
  return absl::InvalidArgumentError(
      absl::StrCat("--target is sim, host or ascend, not '", text, "'"));
}

// The kernel that the request means, as far as a glance at the file can tell.
absl::StatusOr<ScannedKernel> ChooseKernel(const std::string &path, absl::string_view source,
                                           const std::string &wanted) {
  std::vector<ScannedKernel> kernels = ScanKernels(source);
  std::vector<std::string> names;
  for (const ScannedKernel &kernel : kernels) {
    if (kernel.name == wanted)
      return kernel;
    names.push_back(kernel.name);
  }
  if (wanted.empty() && kernels.size() == 1)
    return kernels[0];
  if (wanted.empty() && kernels.size() > 1)
    return absl::InvalidArgumentError(absl::StrCat(path,
                                                   " has several kernels; choose one with "
                                                   "--kernel: ",
                                                   absl::StrJoin(names, ", ")));
  // The compiler says what is wrong, with a position.
  return ScannedKernel{wanted, {}};
}

} // namespace

std::vector<Flag> ServiceFlags() {
  return {{"--server", "ADDR",
           "unix:PATH or HOST:PORT of a service; default $PYASC_SERVER,\n"
           "else your own daemon, started when needed"},
          {"--local", nullptr, "no daemon: a worker of this command alone"},
          {"--fallback-local", nullptr, "--local when the service cannot be reached"},
          {"--timeout", "SECONDS", "how long the call may take, waiting included; default 600"},
          {"--color", "WHEN", "auto, always or never; default auto"},
          {"--quiet", nullptr, "no progress"}};
}

std::vector<Flag> KernelFlags() {
  return {{"--kernel", "NAME", "the kernel's function; needed when FILE has several"},
          {"--arg", "NAME=VALUE", "an argument by name; see above"},
          {"--target", "TARGET", "sim (default), host or ascend"},
          {"--soc", "SOC", "the chip, for sim and ascend; default ascend910b3"},
          {"--precision", "MODE", "mixed or auto; default: the promotion rules"},
          {"--debug", nullptr, "keep asc.print, asserts and bounds checks"}};
}

std::vector<Flag> Concat(std::vector<Flag> a, const std::vector<Flag> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string BinDirectory() {
  std::error_code error;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : self.parent_path().string();
}

std::string ServerAddress(const Arguments &arguments) {
  if (arguments.Has("--server"))
    return arguments.Get("--server");
  const char *server = std::getenv("PYASC_SERVER");
  return server ? server : "";
}

absl::StatusOr<std::unique_ptr<client::Client>> Connect(const Arguments &arguments) {
  client::ServiceOptions options;
  options.bin_dir = BinDirectory();
  options.local = arguments.Has("--local");
  options.server = ServerAddress(arguments);
  absl::StatusOr<std::unique_ptr<client::Client>> connected = client::Client::Connect(options);
  if (connected.ok() || options.local || !arguments.Has("--fallback-local"))
    return connected;
  std::fprintf(stderr, "pyasc: warning: %s; using a local worker\n",
               std::string(connected.status().message()).c_str());
  options.local = true;
  return client::Client::Connect(options);
}

int Fail(const absl::Status &status) {
  std::fprintf(stderr, "pyasc: error: %s\n", std::string(status.message()).c_str());
  switch (status.code()) {
  case absl::StatusCode::kResourceExhausted:
    return kTryLater;
  case absl::StatusCode::kCancelled:
    return kInterrupted;
  case absl::StatusCode::kInvalidArgument:
    return kUsage;
  default:
    return kServiceFailed;
  }
}

int UsageError(const absl::Status &status) {
  std::fprintf(stderr, "pyasc: error: %s\n", std::string(status.message()).c_str());
  return kUsage;
}

bool UseColor(const Arguments &arguments, int fd) {
  std::string when = arguments.Get("--color", "auto");
  if (when != "auto")
    return when == "always";
  const char *term = std::getenv("TERM");
  return ::isatty(fd) && !std::getenv("NO_COLOR") && term && absl::string_view(term) != "dumb";
}

absl::StatusOr<KernelInput> ReadKernelInput(const std::string &path, const Arguments &arguments) {
  KernelInput input;
  input.path = path;
  absl::StatusOr<std::string> source = client::ReadFile(path);
  if (!source.ok())
    return source.status();
  if (source->size() > kMaxSourceBytes)
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", source->size(), " bytes; a kernel file has at most 1 MiB"));
  absl::StatusOr<v1::Target> target = ParseTarget(arguments.Get("--target", "sim"));
  if (!target.ok())
    return target.status();
  absl::StatusOr<ScannedKernel> kernel = ChooseKernel(path, *source, arguments.Get("--kernel"));
  if (!kernel.ok())
    return kernel.status();

  v1::CompileRequest &request = input.request;
  request.add_files()->set_content(*std::move(source));
  request.set_kernel(kernel->name);
  input.parameters = kernel->parameters;
  request.set_target(*target);
  request.set_soc(arguments.Get("--soc"));
  request.set_request_id(RequestId());
  std::string precision = arguments.Get("--precision");
  if (!precision.empty() && precision != "mixed" && precision != "auto")
    return absl::InvalidArgumentError(
        absl::StrCat("--precision is mixed or auto, not '", precision, "'"));
  request.mutable_options()->set_precision(precision);
  request.mutable_options()->set_debug(arguments.Has("--debug"));

  for (const std::string &text : arguments.All("--arg")) {
    absl::StatusOr<ArgumentSpec> spec = ParseArgumentSpec(text);
    if (!spec.ok())
      return spec.status();
    for (const ArgumentSpec &other : input.arguments)
      if (other.name == spec->name)
        return absl::InvalidArgumentError(
            absl::StrCat("--arg gives '", spec->name, "' more than once"));
    bool is_constexpr = std::any_of(
        kernel->parameters.begin(), kernel->parameters.end(),
        [&](const ScannedParameter &p) { return p.name == spec->name && p.is_constexpr; });
    absl::StatusOr<v1::Argument> argument = SignatureOf(*spec, is_constexpr);
    if (!argument.ok())
      return argument.status();
    *request.add_arguments() = *std::move(argument);
    input.arguments.push_back(*std::move(spec));
  }
  return input;
}

void AddAnnotatedArguments(KernelInput *input) {
  for (const ScannedParameter &parameter : input->parameters) {
    const auto &given = input->request.arguments();
    bool is_given = std::any_of(given.begin(), given.end(), [&](const v1::Argument &argument) {
      return argument.name() == parameter.name;
    });
    if (is_given || parameter.has_default)
      continue;
    if (std::optional<v1::Argument> argument = ArgumentFromAnnotation(parameter))
      *input->request.add_arguments() = *std::move(argument);
  }
}

absl::StatusOr<client::RunCall> MakeRunCall(const KernelInput &input) {
  client::RunCall call;
  call.compile = input.request;
  for (int i = 0; i < input.request.arguments_size(); ++i) {
    const ArgumentSpec &spec = input.arguments[i];
    // Folded into the code; a launch has no such argument.
    if (input.request.arguments(i).has_constexpr_value())
      continue;
    if (!spec.has_value())
      return absl::InvalidArgumentError(absl::StrCat(
          spec.name, ": a type alone does for compiling; a run needs a value, such as zeros:",
          input.request.arguments(i).has_tensor()
              ? client::FormatType(input.request.arguments(i).tensor())
              : "f32[8]",
          " or a number"));
    client::RunArgument argument;
    argument.name = spec.name;
    if (std::holds_alternative<ArrayFile>(spec.value)) {
      absl::StatusOr<client::Tensor> tensor = LoadArray(spec);
      if (!tensor.ok())
        return tensor.status();
      argument.value = *std::move(tensor);
    } else if (const auto *scalar = std::get_if<v1::ScalarValue>(&spec.value)) {
      argument.value = *scalar;
    } else {
      argument.value = std::get<v1::GeneratedTensor>(spec.value);
    }
    call.arguments.push_back(std::move(argument));
  }
  return call;
}

void ShowDiagnostics(const Diagnostics &diagnostics, const KernelInput &input,
                     const Arguments &arguments) {
  std::string text =
      RenderDiagnostics(diagnostics, {input.path}, UseColor(arguments, STDERR_FILENO));
  std::fputs(text.c_str(), stderr);
}

int CheckOutcome(const v1::CompileReply &reply, const KernelInput &input,
                 const Arguments &arguments) {
  ShowDiagnostics(reply.diagnostics(), input, arguments);
  if (reply.outcome() == v1::OUTCOME_OK)
    return kDone;
  if (reply.outcome() == v1::OUTCOME_REJECTED)
    return kKernelWrong;
  if (CountErrors(reply.diagnostics()) == 0)
    std::fprintf(stderr, "pyasc: error: the compiler failed and did not say why\n");
  return kServiceFailed;
}

int CheckOutcome(const v1::RunDone &done, const KernelInput &input, const Arguments &arguments) {
  ShowDiagnostics(done.diagnostics(), input, arguments);
  if (!done.failure().empty()) {
    std::fprintf(stderr, "pyasc: error: the run failed: %s\n", done.failure().c_str());
    return kServiceFailed;
  }
  if (done.outcome() == v1::OUTCOME_OK)
    return kDone;
  if (done.outcome() == v1::OUTCOME_REJECTED)
    return kKernelWrong;
  if (CountErrors(done.diagnostics()) == 0)
    std::fprintf(stderr, "pyasc: error: the service failed and did not say why\n");
  return kServiceFailed;
}

absl::StatusOr<client::CallOptions> MakeCallOptions(const Arguments &arguments,
                                                    ProgressLine *line) {
  client::CallOptions options;
  if (arguments.Has("--timeout")) {
    double seconds;
    if (!absl::SimpleAtod(arguments.Get("--timeout"), &seconds) || !(seconds > 0))
      return absl::InvalidArgumentError(absl::StrCat("--timeout takes a number of seconds, not '",
                                                     arguments.Get("--timeout"), "'"));
    options.timeout = absl::Seconds(seconds);
  }
  options.on_progress = [line](const v1::Progress &progress) { line->Update(progress); };
  options.on_print = [line](const v1::PrintLine &print) {
    line->Clear();
    std::string text = print.text();
    if (text.empty() || text.back() != '\n')
      text += '\n';
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  };
  return options;
}

void InstallSignalHandlers() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    action.sa_handler = EndOnSignal;
    ::sigaction(signal, &action, nullptr);
  }
}

} // namespace pyasc::cli
