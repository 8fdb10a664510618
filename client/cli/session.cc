#include "client/cli/session.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/cli/file_kind.h"
#include "client/cpp/files.h"
#include "client/cpp/local_worker.h"
#include "client/cpp/retry.h"

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
           "unix:PATH or HOST:PORT of a service, or local; default\n"
           "$PYASC_SERVER, else your own daemon, started when needed;\n"
           "TLS and tokens: $PYASC_TLS_CA, $PYASC_TLS_CERTIFICATE,\n"
           "$PYASC_TLS_KEY, $PYASC_TOKEN or $PYASC_TOKEN_FILE"},
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
          {"--debug", nullptr,
           "asc.print prints and asserts are checked, else both are left\n"
           "out; on ascend also bounds checks, which sim and host always\nmake"}};
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

bool IsLocal(const Arguments &arguments) {
  return arguments.Has("--local") || ServerAddress(arguments) == "local";
}

absl::StatusOr<std::unique_ptr<client::Client>> Connect(const Arguments &arguments) {
  client::ServiceOptions options;
  options.bin_dir = BinDirectory();
  options.server = ServerAddress(arguments);
  options.local = IsLocal(arguments);
  absl::StatusOr<std::unique_ptr<client::Client>> connected = client::Client::Connect(options);
  if (connected.ok() || options.local || !arguments.Has("--fallback-local"))
    return connected;
  std::fprintf(stderr, "pyasc: warning: %s; using a local worker\n",
               std::string(connected.status().message()).c_str());
  options.local = true;
  return client::Client::Connect(options);
}

int Fail(const absl::Status &status) {
  std::string message(status.message());
  if (message.empty())
    message = absl::StrCat("the service answered ", absl::StatusCodeToString(status.code()),
                           " and did not say why");
  std::fprintf(stderr, "pyasc: error: %s\n", message.c_str());
  if (absl::IsDeadlineExceeded(status))
    std::fprintf(stderr, "pyasc: note: --timeout SECONDS gives it longer\n");
  switch (status.code()) {
  case absl::StatusCode::kResourceExhausted:
    // Without a hint when to come back, it will not fit later either.
    return status.GetPayload(client::kRetryPayload) ? kTryLater : kServiceFailed;
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

absl::Status WriteTo(const std::string &path, const std::string &text) {
  if (path != "-")
    return client::WriteFile(path, {text});
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return absl::ErrnoToStatus(errno, "standard output");
  return absl::OkStatus();
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
  if (absl::Status kind = ExpectKind(FileKind::kKernels, path, *source); !kind.ok())
    return kind;
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

namespace {

// Run-time errors come with their position alone.
void AddSourceLine(absl::string_view source, v1::Diagnostic *diagnostic) {
  if (diagnostic->range().line() == 0 || !diagnostic->source_line().empty())
    return;
  std::vector<absl::string_view> lines = absl::StrSplit(source, '\n');
  if (diagnostic->range().line() <= lines.size())
    diagnostic->set_source_line(
        std::string(absl::StripSuffix(lines[diagnostic->range().line() - 1], "\r")));
}

// What --arg could say for a parameter: "f32[64,128]" for asc.float32[N, C], the same number for
// the same name; for a run, a value of that type.
std::string ExampleArgument(const ScannedParameter &parameter, bool values,
                            std::map<std::string, int64_t> &sizes) {
  constexpr int64_t kSizes[] = {64, 128, 256, 512};
  const std::string &annotation = parameter.annotation;
  if (parameter.is_constexpr)
    return "4";
  if (annotation == "int")
    return values ? "3" : "i64";
  if (annotation == "float")
    return values ? "0.5" : "f32";
  if (annotation == "bool")
    return values ? "True" : "bool";
  size_t bracket = annotation.find('[');
  std::string base = annotation.substr(0, bracket);
  std::optional<v1::DType> dtype = client::ParseDType(base.substr(base.rfind('.') + 1));
  bool is_float = !dtype || client::IsFloat(*dtype);
  if (dtype && bracket == std::string::npos)
    return !values ? std::string(client::ShortName(*dtype)) : is_float ? "0.5" : "1";
  std::string text(dtype ? client::ShortName(*dtype) : "f32");
  std::string dims =
      dtype ? annotation.substr(bracket + 1, annotation.rfind(']') - bracket - 1) : "first, second";
  const char *separator = "[";
  for (absl::string_view dim : absl::StrSplit(dims, ',')) {
    dim = absl::StripAsciiWhitespace(dim);
    int64_t number;
    if (!absl::SimpleAtoi(dim, &number))
      number = sizes.try_emplace(std::string(dim), kSizes[sizes.size() % 4]).first->second;
    absl::StrAppend(&text, separator, number);
    separator = ",";
  }
  return absl::StrCat(values ? (is_float ? "randn:" : "ones:") : "", text, "]");
}

// After a missing-argument: how to give what is missing.
void ShowHowToGiveArguments(const KernelInput &input) {
  std::vector<ScannedParameter> missing;
  const auto &given = input.request.arguments();
  for (const ScannedParameter &parameter : input.parameters)
    if (!parameter.has_default &&
        std::none_of(given.begin(), given.end(),
                     [&](const v1::Argument &a) { return a.name() == parameter.name; }))
      missing.push_back(parameter);
  if (!missing.empty())
    std::fprintf(stderr, "pyasc: note: give %s, for example:\n  %s\n",
                 missing.size() == 1 ? "it" : "them",
                 ExampleFlags(missing, input.needs_values).c_str());
}

} // namespace

std::string ExampleFlags(const std::vector<ScannedParameter> &parameters, bool values) {
  std::vector<std::string> flags;
  std::map<std::string, int64_t> sizes;
  for (const ScannedParameter &parameter : parameters)
    flags.push_back(absl::StrCat("--arg '", parameter.name, "=",
                                 ExampleArgument(parameter, values, sizes), "'"));
  return absl::StrJoin(flags, " ");
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
    if (spec.is_array()) {
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

Flag SanitizeFlag() {
  return {"--sanitize", nullptr,
          "sim: report races, wrong flags, bytes out of bounds or never\n"
          "written, and more (docs/sanitizer.md); PYASC_SANITIZE=1 does, too"};
}

bool Sanitizes(const Arguments &arguments) {
  const char *wanted = std::getenv("PYASC_SANITIZE");
  return arguments.Has("--sanitize") || (wanted && *wanted && absl::string_view(wanted) != "0");
}

void ShowDiagnostics(const Diagnostics &diagnostics, const KernelInput &input,
                     const Arguments &arguments) {
  Diagnostics shown = diagnostics;
  if (input.request.files_size() > 0)
    for (v1::Diagnostic &diagnostic : shown)
      AddSourceLine(input.request.files(0).content(), &diagnostic);
  std::string text = RenderDiagnostics(shown, {input.path}, UseColor(arguments, STDERR_FILENO));
  std::fputs(text.c_str(), stderr);
  if (std::any_of(diagnostics.begin(), diagnostics.end(),
                  [](const v1::Diagnostic &d) { return d.code() == "missing-argument"; }))
    ShowHowToGiveArguments(input);
}

// Of a rejected kernel: 2 when all that is wrong is how it was called.
static int RejectedCode(const Diagnostics &diagnostics) {
  static const std::set<absl::string_view> kCallers = {"ambiguous-kernel", "missing-argument",
                                                       "no-target",        "unknown-argument",
                                                       "unknown-kernel",   "unknown-soc"};
  for (const v1::Diagnostic &d : diagnostics)
    if (d.severity() == v1::SEVERITY_ERROR && !kCallers.contains(d.code()))
      return kKernelWrong;
  return CountErrors(diagnostics) ? kUsage : kKernelWrong;
}

int CheckOutcome(const v1::CompileReply &reply, const KernelInput &input,
                 const Arguments &arguments) {
  ShowDiagnostics(reply.diagnostics(), input, arguments);
  if (reply.outcome() == v1::OUTCOME_OK)
    return kDone;
  if (reply.outcome() == v1::OUTCOME_REJECTED)
    return RejectedCode(reply.diagnostics());
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
    return RejectedCode(done.diagnostics());
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
