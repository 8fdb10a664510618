// pyasc profile: measure a kernel and say where the time went.

#include <cstdio>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/baseline.h"
#include "client/cli/commands.h"
#include "client/cli/report_html.h"
#include "client/cli/report_text.h"
#include "client/cli/session.h"
#include "client/cpp/files.h"

namespace pyasc::cli {
namespace {

absl::StatusOr<uint32_t> Count(const Arguments &arguments, absl::string_view flag) {
  uint32_t count = 0;
  if (arguments.Has(flag) && (!absl::SimpleAtoi(arguments.Get(flag), &count) || count == 0))
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " takes a whole number of at least 1, not '", arguments.Get(flag), "'"));
  return count;
}

// --baseline and --fail-if-slower.
struct Gate {
  std::optional<v1::ProfileReport> baseline;
  // Share that the kernel may be slower than the baseline.
  std::optional<double> tolerance;
};

absl::StatusOr<Gate> ReadGate(const Arguments &arguments) {
  Gate gate;
  if (arguments.Has("--baseline")) {
    absl::StatusOr<v1::ProfileReport> report = ReadReportJson(arguments.Get("--baseline"));
    if (!report.ok())
      return report.status();
    gate.baseline = *std::move(report);
  }
  if (arguments.Has("--fail-if-slower")) {
    if (!gate.baseline)
      return absl::InvalidArgumentError("--fail-if-slower needs a --baseline to be slower than");
    absl::StatusOr<double> tolerance = ParseTolerance(arguments.Get("--fail-if-slower"));
    if (!tolerance.ok())
      return tolerance.status();
    gate.tolerance = *tolerance;
  }
  return gate;
}

int Judge(const Gate &gate, const v1::ProfileReport &report, std::FILE *out) {
  absl::StatusOr<Comparison> comparison = Compare(*gate.baseline, report);
  if (!comparison.ok())
    return UsageError(comparison.status());
  std::fprintf(out, "%-10s%s\n", "Baseline", comparison->text.c_str());
  bool failed = gate.tolerance && comparison->verdict == Comparison::kSlower &&
                comparison->ratio > 1 + *gate.tolerance;
  return failed ? kGateFailed : kDone;
}

int Run(const Arguments &arguments) {
  absl::StatusOr<uint32_t> samples = Count(arguments, "--samples");
  absl::StatusOr<uint32_t> seconds = Count(arguments, "--max-seconds");
  if (!samples.ok() || !seconds.ok())
    return UsageError(samples.ok() ? seconds.status() : samples.status());
  absl::StatusOr<Gate> gate = ReadGate(arguments);
  if (!gate.ok())
    return UsageError(gate.status());
  absl::StatusOr<KernelInput> input = ReadKernelInput(arguments.positional[0], arguments);
  if (!input.ok())
    return UsageError(input.status());
  input->needs_values = true;
  absl::StatusOr<client::RunCall> call = MakeRunCall(*input);
  if (!call.ok())
    return UsageError(call.status());
  call->options.set_timing_only(arguments.Has("--timing-only"));

  if (arguments.Has("--sanitize") && call->options.timing_only())
    return UsageError(absl::InvalidArgumentError("--sanitize needs data: leave --timing-only out"));
  call->options.set_sanitize(Sanitizes(arguments) && !call->options.timing_only());
  // What goes to standard output as JSON or HTML stands there alone.
  const bool taken = arguments.Get("--json") == "-" || arguments.Get("--html") == "-";
  absl::StatusOr<v1::RunDone> done;
  {
    ProgressLine line(!arguments.Has("--quiet"));
    absl::StatusOr<client::CallOptions> options = MakeCallOptions(arguments, &line);
    if (!options.ok())
      return UsageError(options.status());
    if (taken)
      options->on_print = [&line](const v1::PrintLine &print) {
        line.Clear();
        std::fputs((print.text() + (print.text().ends_with('\n') ? "" : "\n")).c_str(), stderr);
      };
    absl::StatusOr<std::unique_ptr<client::Client>> connected = Connect(arguments);
    done = connected.ok()
               ? (*connected)->Profile(*call, *samples, *seconds, arguments.Has("--hot"), *options)
               : connected.status();
  }
  if (!done.ok())
    return Fail(done.status());
  const std::string findings = arguments.Has("--json") ? FindingsJson(*done) : "";
  if (!findings.empty())
    if (absl::Status status = WriteTo(arguments.Get("--json"), findings); !status.ok())
      return UsageError(status);
  if (int code = CheckOutcome(*done, *input, arguments); code != kDone)
    return code;
  const v1::ProfileReport &report = done->report();
  struct File {
    const char *flag;
    std::string (*render)(const v1::ProfileReport &, const KernelInput &);
  };
  const File files[] = {
      {"--json",
       [](const v1::ProfileReport &report, const KernelInput &) { return ReportJson(report); }},
      {"--html", [](const v1::ProfileReport &report, const KernelInput &input) {
         return ReportHtml(report, {{input.path, input.request.files(0).content()}});
       }}};
  for (const File &file : files) {
    if (!arguments.Has(file.flag))
      continue;
    absl::Status status = WriteTo(arguments.Get(file.flag), file.render(report, *input));
    if (!status.ok())
      return UsageError(status);
  }
  std::FILE *text = taken ? stderr : stdout;
  std::fputs(ReportText(report, {input->path}).c_str(), text);
  return gate->baseline ? Judge(*gate, report, text) : kDone;
}

} // namespace

Command ProfileCommand() {
  Command command;
  command.name = "profile";
  command.usage = "FILE --arg NAME=VALUE ... [--html R.html] [--json R.json] [flags]";
  command.summary = "Run a kernel, measured, and say where the time went.";
  command.details = "Arguments as for `pyasc run`. What the kernel prints goes to standard output, "
                    "unless\n--json or --html are there. A connection that breaks meanwhile is "
                    "made anew.";
  command.examples = {
      "pyasc profile matmul.py --arg 'A=rand:f32[1024,1024],seed=1' --arg "
      "'B=rand:f32[1024,1024],seed=2' --arg 'C=zeros:f32[1024,1024]'",
      "pyasc profile saxpy.py --arg alpha=2.0 --arg x=@x.npy --arg y=@y.npy --html saxpy.html",
      "pyasc profile matmul.py ... --baseline main.json --fail-if-slower 5%"};
  command.flags = Concat(
      KernelFlags(),
      Concat(
          {{"--html", "FILE", "write the report as one page that needs no network"},
           {"--json", "FILE", "write the report as JSON; - is standard output"},
           {"--baseline", "FILE", "compare with a report that --json wrote earlier"},
           {"--fail-if-slower", "SHARE", "end with 4 when surely slower by more, such as 5%"},
           {"--samples", "N", "measure at most N launches"},
           {"--max-seconds", "N", "measure for at most N seconds"},
           {"--hot", nullptr, "leave the caches warm between launches"},
           {"--timing-only", nullptr, "sim: compute no data: faster, and tensors take no memory"},
           SanitizeFlag()},
          ServiceFlags()));
  command.min_positional = command.max_positional = 1;
  command.run = Run;
  return command;
}

} // namespace pyasc::cli
