// pyasc sim: run a hand-written module of the npu dialect on the simulator.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/cli/commands.h"
#include "client/cli/file_kind.h"
#include "client/cli/format.h"
#include "client/cli/report_text.h"
#include "client/cli/session.h"
#include "client/cli/trace_file.h"
#include "client/cpp/files.h"
#include "client/cpp/npy.h"
#include "pyasc/v1/artifact.pb.h"

namespace pyasc::cli {
namespace {

constexpr uint64_t kDefaultMaxInstructions = 20'000'000'000;
// Cores printed one by one.
constexpr int kMaxCores = 8;

absl::StatusOr<uint64_t> Number(const Arguments &arguments, absl::string_view flag,
                                uint64_t otherwise) {
  uint64_t value = otherwise;
  if (!arguments.Has(flag))
    return value;
  // 20000000000, or 2e10.
  double real = 0;
  if (!absl::SimpleAtoi(arguments.Get(flag), &value)) {
    constexpr double kMost = 1e18;
    value = 0;
    if (absl::SimpleAtod(arguments.Get(flag), &real) && real >= 1 && real <= kMost &&
        std::floor(real) == real)
      value = static_cast<uint64_t>(real);
  }
  if (value == 0)
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " takes a whole number above 0, not '", arguments.Get(flag), "'"));
  return value;
}

absl::StatusOr<std::vector<ArgumentSpec>> ReadArguments(const Arguments &arguments) {
  std::vector<ArgumentSpec> specs;
  for (const std::string &text : arguments.All("--arg")) {
    absl::StatusOr<ArgumentSpec> spec = ParseArgumentSpec(text);
    if (!spec.ok())
      return spec.status();
    if (!spec->has_value())
      return absl::InvalidArgumentError(absl::StrCat("--arg ", spec->name, " needs a value"));
    specs.push_back(*std::move(spec));
  }
  return specs;
}

// Where the module declares the parameter that a message names, as "FILE:LINE: "; else nothing.
std::string PlaceOfParameter(const v1::LaunchContract &contract, const std::string &path,
                             absl::string_view message) {
  for (const v1::Parameter &p : contract.parameters())
    if (p.range().line() != 0 && absl::StrContains(message, absl::StrCat("'", p.name(), "'")))
      return absl::StrCat(path, ":", p.range().line(), ": ");
  return "";
}

// "'x', 'y' and 'n'".
std::string NamesOf(const v1::LaunchContract &contract) {
  std::string names;
  for (int i = 0; i < contract.parameters_size(); ++i)
    absl::StrAppend(&names,
                    i == 0                               ? ""
                    : i + 1 < contract.parameters_size() ? ", "
                                                         : " and ",
                    "'", contract.parameters(i).name(), "'");
  return names.empty() ? "none" : names;
}

// A value for every parameter: what --arg gives, else zeros.
absl::StatusOr<std::vector<client::RunArgument>> Values(const v1::LaunchContract &contract,
                                                        const std::vector<ArgumentSpec> &specs) {
  std::vector<client::RunArgument> values;
  for (const ArgumentSpec &spec : specs)
    if (std::none_of(contract.parameters().begin(), contract.parameters().end(),
                     [&](const v1::Parameter &p) { return p.name() == spec.name; }))
      return absl::InvalidArgumentError(absl::StrCat("the module has no parameter '", spec.name,
                                                     "': its parameters are ", NamesOf(contract)));
  for (const v1::Parameter &parameter : contract.parameters()) {
    client::RunArgument value;
    value.name = parameter.name();
    auto spec = std::find_if(specs.begin(), specs.end(), [&](const ArgumentSpec &candidate) {
      return candidate.name == parameter.name();
    });
    if (spec == specs.end()) {
      if (!parameter.has_tensor())
        return absl::InvalidArgumentError(absl::StrCat(
            "the number '", parameter.name(), "' needs a value: --arg ", parameter.name(), "=..."));
      v1::GeneratedTensor zeros;
      zeros.set_kind(v1::GeneratedTensor::KIND_ZEROS);
      *zeros.mutable_type() = parameter.tensor();
      value.value = zeros;
    } else if (spec->is_array()) {
      absl::StatusOr<client::Tensor> tensor = LoadArray(*spec);
      if (!tensor.ok())
        return tensor.status();
      value.value = *std::move(tensor);
    } else if (const auto *scalar = std::get_if<v1::ScalarValue>(&spec->value)) {
      value.value = *scalar;
    } else {
      value.value = std::get<v1::GeneratedTensor>(spec->value);
    }
    values.push_back(std::move(value));
  }
  return values;
}

void PrintPipes(const google::protobuf::RepeatedPtrField<v1::PipeTime> &pipes, const char *indent) {
  for (const v1::PipeTime &pipe : pipes)
    std::printf(
        "%s%-8s busy %12s  %6s  waiting %12s  %lld instructions\n", indent, pipe.pipe().c_str(),
        FormatMicroseconds(pipe.busy_us()).c_str(), FormatPercent(pipe.utilization()).c_str(),
        FormatMicroseconds(pipe.wait_us()).c_str(), static_cast<long long>(pipe.instructions()));
}

void PrintReport(const v1::ProfileReport &report, bool per_core) {
  std::printf("%s on %s: %s in all, %s of it to launch\n", report.launch().kernel().c_str(),
              report.launch().soc().c_str(), FormatMicroseconds(report.kernel_us()).c_str(),
              FormatMicroseconds(report.launch_us()).c_str());
  if (!report.trust().calibration().empty())
    std::printf("timing model: %s\n", report.trust().calibration().c_str());
  for (const v1::PhaseProfile &phase : report.phases()) {
    std::printf("%s: %lld %s blocks, ", phase.entry().c_str(),
                static_cast<long long>(phase.blocks()), phase.core().c_str());
    if (phase.launches() > 1)
      std::printf("%lld launches, ", static_cast<long long>(phase.launches()));
    std::printf("%s, %lld cycles\n", FormatMicroseconds(phase.time_us()).c_str(),
                static_cast<long long>(phase.cycles()));
    if (phase.core_time_us_size() > 1) {
      auto [least, most] =
          std::minmax_element(phase.core_time_us().begin(), phase.core_time_us().end());
      double sum = 0;
      for (double us : phase.core_time_us())
        sum += us;
      std::printf("  cores    %d: least %s, mean %s, most %s\n", phase.core_time_us_size(),
                  FormatMicroseconds(*least).c_str(),
                  FormatMicroseconds(sum / phase.core_time_us_size()).c_str(),
                  FormatMicroseconds(*most).c_str());
    }
    PrintPipes(phase.pipes(), "  ");
    for (const v1::PathTraffic &path : phase.paths())
      std::printf("  %-10s %14lld bytes  %9s/s\n", path.path().c_str(),
                  static_cast<long long>(path.bytes()), FormatBytes(path.gb_per_s() * 1e9).c_str());
    if (phase.has_l2_hits())
      std::printf("  L2       %lld lines hit, %lld missed\n",
                  static_cast<long long>(phase.l2_hits()),
                  static_cast<long long>(phase.l2_misses()));
    const int cores = per_core ? phase.cores_size() : std::min(phase.cores_size(), kMaxCores);
    if (cores < phase.cores_size() || phase.cores_size() < 2)
      continue; // the means say it, or there is nothing to add
    for (const v1::CoreProfile &core : phase.cores()) {
      std::printf("  core %u: %s to %s\n", core.core(), FormatMicroseconds(core.start_us()).c_str(),
                  FormatMicroseconds(core.end_us()).c_str());
      PrintPipes(core.pipes(), "    ");
    }
  }
}

// What the program did wrong starts with "line N: ".
int FailLocated(const v1::RunDone &done, const std::string &path) {
  absl::string_view failure = done.failure();
  absl::string_view rest = failure;
  if (!absl::ConsumePrefix(&rest, "line "))
    return kDone;
  const size_t colon = rest.find(": ");
  if (colon == absl::string_view::npos)
    return kDone;
  std::fprintf(stderr, "%s:%s: error: %s\n", path.c_str(),
               std::string(rest.substr(0, colon)).c_str(),
               std::string(rest.substr(colon + 2)).c_str());
  return kKernelWrong;
}

int Run(const Arguments &arguments) {
  absl::StatusOr<uint64_t> limit = Number(arguments, "--max-instructions", kDefaultMaxInstructions);
  absl::StatusOr<uint64_t> threads = Number(arguments, "--threads", 1);
  absl::StatusOr<std::vector<ArgumentSpec>> specs = ReadArguments(arguments);
  for (const absl::Status &status : {limit.status(), threads.status(), specs.status()})
    if (!status.ok())
      return UsageError(status);
  KernelInput input;
  input.path = arguments.positional[0];
  absl::StatusOr<std::string> source = client::ReadFile(input.path);
  if (!source.ok())
    return UsageError(source.status());
  if (absl::Status kind = ExpectKind(FileKind::kModule, input.path, *source); !kind.ok())
    return UsageError(kind);
  client::RunCall call;
  v1::CompileRequest &request = input.request;
  request.add_files()->set_content(*std::move(source));
  request.set_language(v1::LANGUAGE_NPU);
  request.set_target(v1::TARGET_SIM);
  request.set_soc(arguments.Get("--soc"));
  call.options.set_profile(true);
  call.options.set_timing_only(arguments.Has("--timing-only"));
  call.options.set_sanitize(Sanitizes(arguments) && !call.options.timing_only());
  call.options.set_max_instructions(*limit);
  call.options.set_threads(static_cast<uint32_t>(*threads));
  std::vector<OutputSpec> outputs;
  for (const std::string &text : arguments.All("--out")) {
    absl::StatusOr<OutputSpec> output = ParseOutputSpec(text);
    if (!output.ok())
      return UsageError(output.status());
    call.options.add_outputs(output->name);
    outputs.push_back(*std::move(output));
  }
  if (arguments.Has("--sanitize") && call.options.timing_only())
    return UsageError(absl::InvalidArgumentError("--sanitize needs data: leave --timing-only out"));
  if (!outputs.empty() && call.options.timing_only())
    return UsageError(absl::InvalidArgumentError("--timing-only computes nothing to write"));

  TraceFile trace;
  if (absl::Status status = trace.Open(arguments, &call.options); !status.ok())
    return UsageError(status);
  absl::StatusOr<client::RunResult> result;
  v1::Artifact artifact;
  // Of an error that concerns a parameter, with the line where the module declares it.
  auto located = [&](const absl::Status &status) {
    absl::Status to(status.code(),
                    absl::StrCat(PlaceOfParameter(artifact.launch(), input.path, status.message()),
                                 status.message()));
    status.ForEachPayload(
        [&](absl::string_view url, const absl::Cord &payload) { to.SetPayload(url, payload); });
    return to;
  };
  {
    ProgressLine line(!arguments.Has("--quiet"));
    absl::StatusOr<client::CallOptions> options = MakeCallOptions(arguments, &line);
    if (!options.ok())
      return UsageError(options.status());
    trace.Receive(&*options);
    absl::StatusOr<std::unique_ptr<client::Client>> connected = Connect(arguments);
    if (!connected.ok()) {
      line.Clear();
      return Fail(connected.status());
    }
    absl::StatusOr<v1::CompileReply> reply = (*connected)->Compile(request, *options);
    line.Clear();
    if (!reply.ok())
      return Fail(reply.status());
    if (reply->outcome() != v1::OUTCOME_OK)
      return CheckOutcome(*reply, input, arguments);
    if (!artifact.ParseFromString(reply->artifact()))
      return Fail(absl::InternalError("the service sent an artifact that cannot be read"));
    absl::StatusOr<std::vector<client::RunArgument>> values = Values(artifact.launch(), *specs);
    if (!values.ok())
      return UsageError(located(values.status()));
    call.compile = request;
    call.arguments = *std::move(values);
    result = (*connected)->Run(call, *options);
  }
  const absl::Status traced = trace.Close();
  for (const absl::Status &status : {result.status(), traced})
    if (!status.ok())
      return Fail(located(status));
  if (arguments.Has("--json"))
    std::fputs(FindingsJson(result->done).c_str(), stdout);
  if (int code = FailLocated(result->done, input.path); code != kDone)
    return code;
  if (int code = CheckOutcome(result->done, input, arguments); code != kDone)
    return code;
  for (const OutputSpec &output : outputs)
    if (absl::Status status = client::WriteNpy(output.path, result->outputs[output.name].tensor);
        !status.ok())
      return Fail(status);
  if (arguments.Has("--json"))
    std::fputs(ReportJson(result->done.report()).c_str(), stdout);
  else
    PrintReport(result->done.report(), arguments.Has("--per-core"));
  return kDone;
}

} // namespace

Command SimCommand() {
  Command command;
  command.name = "sim";
  command.usage = "FILE.mlir [--soc SOC] [--timing-only] [--json] [flags]";
  command.summary = "Run a hand-written program of the npu dialect on the simulator.";
  command.details =
      "FILE is a module of the npu dialect (docs/npu-dialect.md): functions for cube or vector\n"
      "cores, with their buffers, copies, vector and cube instructions and flags. Shows the time\n"
      "in all, each pipe's busy and waiting time, the bytes of each path and the L2 hits.\n"
      "Tensors start as zeros unless --arg says otherwise, numbers need an --arg.";
  command.examples = {"pyasc sim vector_add.mlir --soc ascend910b1 --timing-only",
                      "pyasc sim matmul.mlir --arg tiles=4 --json > report.json",
                      "pyasc sim matmul.mlir --arg tiles=4 --trace matmul.json"};
  command.flags =
      Concat({{"--soc", "SOC", "the chip; default: the module's npu.soc, else ascend910b3"},
              {"--timing-only", nullptr, "compute no data: faster, and tensors take no memory"},
              {"--json", nullptr, "the report as JSON, with its units in the field names"},
              {"--per-core", nullptr, "print every core, however many there are"},
              {"--arg", "NAME=VALUE", "a parameter's value, as for `pyasc run`"},
              {"--out", "NAME=FILE", "write a tensor to an .npy file afterwards"},
              {"--threads", "N", "host threads; results do not depend on it; default 1"},
              SanitizeFlag(),
              {"--max-instructions", "N", "end with an error after so many; default 2e10"}},
             Concat(TraceFlags(), ServiceFlags()));
  command.min_positional = command.max_positional = 1;
  command.run = Run;
  return command;
}

} // namespace pyasc::cli
