// pyasc run: one launch with the user's arrays.

#include <cstdio>
#include <filesystem>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/format.h"
#include "client/cli/report_text.h"
#include "client/cli/session.h"
#include "client/cli/trace_file.h"
#include "client/cpp/files.h"
#include "client/cpp/npy.h"

namespace pyasc::cli {
namespace {

// Before the work is done, not after.
absl::Status CheckWritable(const std::string &path) {
  std::filesystem::path directory = std::filesystem::path(path).parent_path();
  if (directory.empty())
    directory = ".";
  if (::access(directory.c_str(), W_OK | X_OK) != 0)
    return absl::InvalidArgumentError(absl::StrCat("cannot write ", path, ": ", directory.string(),
                                                   " is no directory to write in"));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<OutputSpec>> ReadOutputSpecs(const Arguments &arguments) {
  std::vector<OutputSpec> outputs;
  for (const std::string &text : arguments.All("--out")) {
    absl::StatusOr<OutputSpec> output = ParseOutputSpec(text);
    if (!output.ok())
      return output.status();
    if (absl::Status status = CheckWritable(output->path); !status.ok())
      return status;
    outputs.push_back(*std::move(output));
  }
  return outputs;
}

absl::Status WriteOutput(const OutputSpec &spec, const client::RunOutputValue &value) {
  if (!spec.to_float32)
    return client::WriteNpy(spec.path, value.tensor);
  absl::StatusOr<client::Tensor> wide = client::ToFloat32(value.tensor);
  if (!wide.ok())
    return absl::InvalidArgumentError(absl::StrCat(spec.name, ": ", wide.status().message()));
  return client::WriteNpy(spec.path, *wide);
}

std::string PrintText(const v1::PrintLine &print, const std::vector<std::string> &paths,
                      bool prefix) {
  if (!prefix || print.range().line() == 0)
    return absl::StrCat(print.text(), "\n");
  const uint32_t file = print.range().file();
  return absl::StrCat(file < paths.size() ? paths[file] : "?", ":", print.range().line(), " [core ",
                      print.core(), "] ", print.text(), "\n");
}

int Run(const Arguments &arguments) {
  absl::StatusOr<std::vector<OutputSpec>> outputs = ReadOutputSpecs(arguments);
  if (!outputs.ok())
    return UsageError(outputs.status());
  absl::StatusOr<KernelInput> input = ReadKernelInput(arguments.positional[0], arguments);
  if (!input.ok())
    return UsageError(input.status());
  input->needs_values = true;
  absl::StatusOr<client::RunCall> call = MakeRunCall(*input);
  if (!call.ok())
    return UsageError(call.status());
  if (arguments.Has("--report") || arguments.Has("--json"))
    call->options.set_profile(true);
  call->options.set_sanitize(Sanitizes(arguments));

  TraceFile trace;
  if (arguments.Has("--trace") && input->request.target() != v1::TARGET_SIM)
    return UsageError(absl::InvalidArgumentError("--trace is for --target sim alone"));
  if (absl::Status status = trace.Open(arguments, &call->options); !status.ok())
    return UsageError(status);
  absl::StatusOr<client::RunResult> result;
  {
    ProgressLine line(!arguments.Has("--quiet"));
    absl::StatusOr<client::CallOptions> options = MakeCallOptions(arguments, &line);
    if (!options.ok())
      return UsageError(options.status());
    trace.Receive(&*options);
    const bool prefix = arguments.Has("--print-prefix");
    options->on_print = [&](const v1::PrintLine &print) {
      line.Clear();
      std::fputs(PrintText(print, {input->path}, prefix).c_str(), stdout);
      std::fflush(stdout);
    };
    absl::StatusOr<std::unique_ptr<client::Client>> connected = Connect(arguments);
    if (!connected.ok()) {
      line.Clear();
      return Fail(connected.status());
    }
    call->options.set_all_outputs(outputs->empty());
    for (const OutputSpec &output : *outputs)
      call->options.add_outputs(output.name);
    result = (*connected)->Run(*call, *options);
  }
  const absl::Status traced = trace.Close();
  for (const absl::Status &status : {result.status(), traced})
    if (!status.ok())
      return Fail(status);
  const std::string findings = arguments.Has("--json") ? FindingsJson(result->done) : "";
  if (!findings.empty())
    if (absl::Status status = WriteTo(arguments.Get("--json"), findings); !status.ok())
      return Fail(status);
  if (int code = CheckOutcome(result->done, *input, arguments); code != kDone)
    return code;
  for (const OutputSpec &output : *outputs)
    if (absl::Status status = WriteOutput(output, result->outputs[output.name]); !status.ok())
      return Fail(status);
  // JSON on standard output stands there alone.
  std::FILE *text = arguments.Get("--json") == "-" ? stderr : stdout;
  if (outputs->empty())
    for (const std::string &name : result->names) {
      const client::RunOutputValue &value = result->outputs[name];
      std::fprintf(text, "%s = %s\n", name.c_str(),
                   SummarizeTensor(value.tensor, value.is_scalar).c_str());
    }
  if (arguments.Has("--report"))
    std::fputs(ReportText(result->done.report(), {input->path}).c_str(), text);
  if (arguments.Has("--json"))
    if (absl::Status status = WriteTo(arguments.Get("--json"), ReportJson(result->done.report()));
        !status.ok())
      return Fail(status);
  return kDone;
}

} // namespace

Command RunCommand() {
  Command command;
  command.name = "run";
  command.usage = "FILE --arg NAME=VALUE ... [--out NAME=FILE.npy ...] [flags]";
  command.summary = "Compile a kernel and run it once.";
  command.details =
      "Values of --arg:\n"
      "  @FILE.npy            an array (two-byte void elements, which ml_dtypes.bfloat16 arrays\n"
      "                       are saved as, are bfloat16; bf16:@FILE.npy rounds float32 or\n"
      "                       float64)\n"
      "  1.5  -3  True  inf   a Python number or bool\n"
      "  zeros:f32[2,3]       an array that the service makes: zeros:, ones:, rand: (uniform in\n"
      "                       [0, 1)), randn: (normal), with ,seed=N for the last two; without\n"
      "                       it the numbers follow from the argument's name\n"
      "  randint:i32[8],low=0,high=10\n"
      "                       whole numbers below high (100), from low (0); ,seed=N as above\n"
      "  arange:i32[2,3]      0, 1, 2, ... over the whole array\n"
      "  [1, 2]  f16:[[1.5]]  a list, nested for more axes: i32, f32 or bool unless said\n"
      "Element types: bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64, or their long names.\n\n"
      "--out writes a parameter that the kernel writes, or what it returns: return, or return.0,\n"
      "return.1 of a tuple. NAME=f32:FILE.npy widens 16-bit floats. Without --out, the outputs\n"
      "are printed in short.";
  command.examples = {
      "pyasc run saxpy.py --arg alpha=0.75 --arg x=@x.npy --arg y=@y.npy --out y=y2.npy",
      "pyasc run add.py --kernel add_tensors --arg 'a=rand:f32[1000],seed=1' --arg "
      "'b=ones:f32[1000]' --out return=c.npy",
      "pyasc run matmul.py --target host --local --arg A=@a.npy --arg B=@b.npy --arg "
      "'C=zeros:f32[1024,1024]' --out C=c.npy"};
  command.flags = Concat(KernelFlags(),
                         Concat({{"--out", "NAME=FILE", "write an output to an .npy file"},
                                 {"--print-prefix", nullptr,
                                  "FILE:LINE [core N] before each line that the kernel prints"},
                                 {"--report", nullptr, "measure this one run and print the report"},
                                 {"--json", "FILE",
                                  "measure this one run and write the report as JSON; - is\n"
                                  "standard output"},
                                 SanitizeFlag()},
                                Concat(TraceFlags(), ServiceFlags())));
  command.min_positional = command.max_positional = 1;
  command.run = Run;
  return command;
}

} // namespace pyasc::cli
