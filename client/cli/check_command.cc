// pyasc check: diagnostics without an artifact, for editors and continuous integration.

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/kernel_scan.h"
#include "client/cli/session.h"
#include "client/cpp/files.h"

namespace pyasc::cli {
namespace {

// The given files; of a directory, the .py files below it that hold kernels.
absl::StatusOr<std::vector<std::string>> FindFiles(const std::vector<std::string> &paths) {
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (auto it = std::filesystem::recursive_directory_iterator(path, error);
         !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
      if (it->path().extension() != ".py" || !it->is_regular_file())
        continue;
      absl::StatusOr<std::string> content = client::ReadFile(it->path().string());
      if (content.ok() && !ScanKernels(*content).empty())
        found.push_back(it->path().string());
    }
    if (error)
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.message()));
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

// One request a kernel: a file may have several.
absl::StatusOr<std::vector<KernelInput>> ReadKernels(const std::string &path,
                                                     const Arguments &arguments) {
  std::vector<KernelInput> inputs;
  absl::StatusOr<std::string> source = client::ReadFile(path);
  if (!source.ok())
    return source.status();
  std::vector<ScannedKernel> kernels = ScanKernels(*source);
  if (arguments.Has("--kernel") || kernels.size() < 2)
    kernels = {{arguments.Get("--kernel"), {}}};
  for (const ScannedKernel &kernel : kernels) {
    Arguments one = arguments;
    if (!kernel.name.empty())
      one.flags["--kernel"] = {kernel.name};
    absl::StatusOr<KernelInput> input = ReadKernelInput(path, one);
    if (!input.ok())
      return input.status();
    AddAnnotatedArguments(&*input);
    inputs.push_back(*std::move(input));
  }
  return inputs;
}

int Run(const Arguments &arguments) {
  std::string format = arguments.Get("--format", "text");
  if (format != "text" && format != "json" && format != "sarif")
    return UsageError(absl::InvalidArgumentError(
        absl::StrCat("--format is text, json or sarif, not '", format, "'")));
  absl::StatusOr<std::vector<std::string>> paths = FindFiles(arguments.positional);
  if (!paths.ok())
    return UsageError(paths.status());

  Diagnostics all;
  bool wrong = false, failed = false;
  size_t kernels = 0;
  {
    ProgressLine line(!arguments.Has("--quiet"));
    absl::StatusOr<client::CallOptions> options = MakeCallOptions(arguments, &line);
    if (!options.ok())
      return UsageError(options.status());
    absl::StatusOr<std::unique_ptr<client::Client>> connected;
    for (size_t file = 0; file < paths->size(); ++file) {
      absl::StatusOr<std::vector<KernelInput>> inputs = ReadKernels((*paths)[file], arguments);
      if (!inputs.ok()) {
        line.Clear();
        return UsageError(inputs.status());
      }
      for (const KernelInput &input : *inputs) {
        if (kernels++ == 0)
          connected = Connect(arguments);
        absl::StatusOr<v1::CompileReply> reply =
            connected.ok() ? (*connected)->Compile(input.request, *options) : connected.status();
        if (!reply.ok()) {
          line.Clear();
          return Fail(reply.status());
        }
        wrong |= reply->outcome() == v1::OUTCOME_REJECTED;
        failed |= reply->outcome() == v1::OUTCOME_FAILED;
        for (v1::Diagnostic &diagnostic : *reply->mutable_diagnostics()) {
          // A request has one file, number 0; here it is one of many.
          auto renumber = [file](auto &self, v1::Diagnostic &d) -> void {
            d.mutable_range()->set_file(file);
            for (v1::Diagnostic &note : *d.mutable_notes())
              self(self, note);
          };
          renumber(renumber, diagnostic);
          all.Add(std::move(diagnostic));
        }
      }
    }
  }
  if (format == "json")
    std::fputs(DiagnosticsJson(all, *paths).c_str(), stdout);
  else if (format == "sarif")
    std::fputs(DiagnosticsSarif(all, *paths, kVersion).c_str(), stdout);
  else
    std::fputs(RenderDiagnostics(all, *paths, UseColor(arguments, fileno(stdout))).c_str(), stdout);
  if (format == "text" && !wrong && !failed)
    std::printf("%zu %s checked, no errors\n", kernels, kernels == 1 ? "kernel" : "kernels");
  return failed ? kServiceFailed : wrong ? kKernelWrong : kDone;
}

} // namespace

Command CheckCommand() {
  Command command;
  command.name = "check";
  command.usage = "PATH... [--arg NAME=TYPE ...] [--format text|json|sarif] [flags]";
  command.summary = "Check kernels and print what is wrong with them.";
  command.details = "PATH is a kernel file or a directory, whose .py files with kernels are all "
                    "checked.\n--arg gives types where annotations do not say it all, as for "
                    "`pyasc compile`.";
  command.examples = {"pyasc check kernels/",
                      "pyasc check softmax.py --arg 'x=f32[64,1000]' --arg 'y=f32[64,1000]'",
                      "pyasc check kernels/ --format sarif > pyasc.sarif"};
  command.flags = Concat({{"--format", "FORMAT", "text (default), json or sarif"}},
                         Concat(KernelFlags(), ServiceFlags()));
  command.min_positional = 1;
  command.max_positional = 10000;
  command.run = Run;
  return command;
}

} // namespace pyasc::cli
