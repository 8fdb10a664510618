// pyasc check: what is wrong with kernels, without arguments or artifacts; for editors and
// continuous integration. Files are checked in parallel and reported in order.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/kernel_scan.h"
#include "client/cli/session.h"
#include "client/cpp/files.h"

namespace pyasc::cli {
namespace {

constexpr uint32_t kDefaultJobs = 4;

// What became of one file.
struct Checked {
  v1::CheckReply reply;
  // The service's own.
  absl::Status status;
};

// Whether a .py file is worth a look: it holds kernels, perhaps in an encoding that is none of ours
// (two bytes a letter), which the service says.
bool HoldsKernels(std::string content) {
  std::erase(content, '\0');
  // A mark of the byte order stands before the first line.
  content.erase(0, std::min(content.find_first_not_of("\xEF\xBB\xBF\xFE\xFF"), content.size()));
  return !ScanKernels(content).empty();
}

// The given files, each once; of a directory, the .py files below it that hold kernels.
absl::StatusOr<std::vector<std::string>> FindFiles(const std::vector<std::string> &paths) {
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      if (!std::filesystem::exists(path, error))
        return absl::InvalidArgumentError(absl::StrCat(path, ": there is no such file"));
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (auto it = std::filesystem::recursive_directory_iterator(path, error);
         !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
      if (it->is_directory() && it->path().filename().string().starts_with("."))
        it.disable_recursion_pending();
      if (it->path().extension() != ".py" || !it->is_regular_file())
        continue;
      absl::StatusOr<std::string> content = client::ReadFile(it->path().string());
      if (!content.ok())
        return content.status();
      if (HoldsKernels(*std::move(content)))
        found.push_back(it->path().string());
    }
    if (error)
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.message()));
    if (found.empty()) // what a farm looks at must not pass for want of a letter in its path
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": no .py file below it has a kernel (a function decorated with "
                             "@asc.kernel)"));
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  std::set<std::string> seen;
  std::erase_if(files, [&](const std::string &file) { return !seen.insert(file).second; });
  return files;
}

absl::StatusOr<v1::CheckRequest> MakeRequest(const std::string &path, const Arguments &arguments) {
  // A file that holds several kernels is checked whole: no kernel has to be named.
  Arguments one = arguments;
  if (!arguments.Has("--kernel")) {
    absl::StatusOr<std::string> source = client::ReadFile(path);
    if (!source.ok())
      return source.status();
    std::vector<ScannedKernel> kernels = ScanKernels(*source);
    if (kernels.size() > 1)
      one.flags["--kernel"] = {kernels[0].name};
  }
  absl::StatusOr<KernelInput> input = ReadKernelInput(path, one);
  if (!input.ok())
    return input.status();
  v1::CheckRequest request;
  *request.mutable_files() = input->request.files();
  request.set_kernel(arguments.Get("--kernel"));
  *request.mutable_arguments() = input->request.arguments();
  request.set_target(input->request.target());
  request.set_soc(input->request.soc());
  *request.mutable_options() = input->request.options();
  request.set_request_id(input->request.request_id());
  return request;
}

// An --arg that no kernel of any file has is a slip.
absl::Status CheckArgumentNames(const std::vector<v1::CheckRequest> &requests) {
  std::vector<std::string> names;
  for (const v1::CheckRequest &request : requests)
    for (const ScannedKernel &kernel : ScanKernels(request.files(0).content()))
      for (const ScannedParameter &parameter : kernel.parameters)
        names.push_back(parameter.name);
  if (requests.empty())
    return absl::OkStatus();
  for (const v1::Argument &argument : requests[0].arguments())
    if (std::find(names.begin(), names.end(), argument.name()) == names.end()) {
      std::string hint = DidYouMean(argument.name(), names);
      return absl::InvalidArgumentError(
          absl::StrCat("no kernel has a parameter '", argument.name(), "'",
                       hint.empty() ? "" : "; did you mean '" + hint + "'?"));
    }
  return absl::OkStatus();
}

// How to have a kernel checked whose parameters say too little.
void AddArgHint(const std::string &path, const v1::CheckRequest &request,
                const v1::CheckReply &reply, v1::Diagnostic *diagnostic) {
  if (diagnostic->code() != "unchecked-kernel")
    return;
  for (const v1::CheckedKernel &kernel : reply.kernels()) {
    if (kernel.outcome() != v1::OUTCOME_UNSPECIFIED ||
        diagnostic->message().find("'" + kernel.name() + "'") == std::string::npos)
      continue;
    std::vector<ScannedParameter> open;
    for (const ScannedKernel &scanned : ScanKernels(request.files(0).content()))
      for (const ScannedParameter &parameter : scanned.parameters)
        if (scanned.name == kernel.name() &&
            std::find(kernel.open_parameters().begin(), kernel.open_parameters().end(),
                      parameter.name) != kernel.open_parameters().end())
          open.push_back(parameter);
    v1::Diagnostic &note = *diagnostic->add_notes();
    note.set_severity(v1::SEVERITY_NOTE);
    note.set_message(absl::StrCat("for example: pyasc check ", path, " --kernel ", kernel.name(),
                                  " ", ExampleFlags(open, /*values=*/false)));
    return;
  }
}

std::string Counted(size_t n, absl::string_view what) {
  return absl::StrCat(n, " ", what, n == 1 ? "" : "s");
}

struct Totals {
  size_t kernels = 0, files = 0, errors = 0, warnings = 0, unchecked = 0, failed = 0;
};

std::string Summary(const Totals &totals) {
  std::string text = absl::StrCat(Counted(totals.kernels, "kernel"), " in ",
                                  Counted(totals.files, "file"), " checked: ");
  std::vector<std::string> found;
  if (totals.errors)
    found.push_back(Counted(totals.errors, "error"));
  else
    found.push_back("no errors");
  if (totals.warnings)
    found.push_back(Counted(totals.warnings, "warning"));
  if (totals.unchecked)
    found.push_back(absl::StrCat(totals.unchecked, " not checked for want of types"));
  if (totals.failed)
    found.push_back(absl::StrCat(totals.failed, " not checked, since the service failed"));
  return text + absl::StrJoin(found, ", ") + "\n";
}

// Kernels that were tried with guessed types pass for those alone.
std::string GuessedText(const std::vector<std::string> &paths,
                        const std::vector<Checked> &checked) {
  std::string text;
  for (size_t i = 0; i < paths.size(); ++i)
    for (const v1::CheckedKernel &kernel : checked[i].reply.kernels())
      if (kernel.outcome() == v1::OUTCOME_OK && !kernel.open_parameters().empty())
        absl::StrAppend(&text, paths[i], ": '", kernel.name(), "' was checked with ",
                        kernel.samples(0), "; --arg gives other types\n");
  return text;
}

int Run(const Arguments &arguments) {
  std::string format = arguments.Get("--format", arguments.Has("--json") ? "json" : "text");
  if (format != "text" && format != "json" && format != "sarif")
    return UsageError(absl::InvalidArgumentError(
        absl::StrCat("--format is text, json or sarif, not '", format, "'")));
  uint32_t jobs = std::clamp(std::thread::hardware_concurrency(), 1u, kDefaultJobs);
  if (arguments.Has("--jobs") &&
      (!absl::SimpleAtoi(arguments.Get("--jobs"), &jobs) || jobs < 1 || jobs > 256))
    return UsageError(absl::InvalidArgumentError(
        absl::StrCat("--jobs takes a number from 1 to 256, not '", arguments.Get("--jobs"), "'")));
  absl::StatusOr<std::vector<std::string>> paths = FindFiles(arguments.positional);
  if (!paths.ok())
    return UsageError(paths.status());
  if (arguments.Has("--kernel") && paths->size() != 1)
    return UsageError(absl::InvalidArgumentError("--kernel names a kernel of one file: give one"));

  std::vector<v1::CheckRequest> requests;
  for (const std::string &path : *paths) {
    absl::StatusOr<v1::CheckRequest> request = MakeRequest(path, arguments);
    if (!request.ok())
      return UsageError(request.status());
    requests.push_back(*std::move(request));
  }
  if (absl::Status status = CheckArgumentNames(requests); !status.ok())
    return UsageError(status);

  std::vector<Checked> checked(requests.size());
  if (!requests.empty()) {
    ProgressLine line(!arguments.Has("--quiet"));
    absl::StatusOr<client::CallOptions> options = MakeCallOptions(arguments, &line);
    if (!options.ok())
      return UsageError(options.status());
    options->on_progress = nullptr;
    absl::StatusOr<std::unique_ptr<client::Client>> connected = Connect(arguments);
    if (!connected.ok()) {
      line.Clear();
      return Fail(connected.status());
    }
    std::atomic<size_t> next{0}, ended{0};
    // A service that is gone fails one file, not each of thousands.
    std::atomic<bool> gone{false};
    auto work = [&] {
      for (size_t i; (i = next++) < requests.size() && !gone;) {
        absl::StatusOr<v1::CheckReply> reply = (*connected)->Check(requests[i], *options);
        if (reply.ok())
          checked[i].reply = *std::move(reply);
        else
          checked[i].status = reply.status();
        if (absl::IsUnavailable(checked[i].status))
          gone = true;
        v1::Progress progress;
        progress.set_stage(absl::StrCat("checked ", ++ended, " of ", requests.size(), " files"));
        progress.set_fraction(double(ended) / requests.size());
        line.Update(progress);
      }
    };
    std::vector<std::thread> threads;
    for (uint32_t i = 1; i < std::min<size_t>(jobs, requests.size()); ++i)
      threads.emplace_back(work);
    work();
    for (std::thread &thread : threads)
      thread.join();
    line.Clear();
  }

  Diagnostics all;
  Totals totals{.files = requests.size()};
  absl::Status failure;
  bool compiler_failed = false;
  for (size_t file = 0; file < checked.size(); ++file) {
    v1::CheckReply &reply = checked[file].reply;
    if (!checked[file].status.ok()) {
      ++totals.failed;
      failure.Update(
          absl::Status(checked[file].status.code(),
                       absl::StrCat((*paths)[file], ": ", checked[file].status.message())));
      continue;
    }
    compiler_failed |= reply.outcome() == v1::OUTCOME_FAILED;
    totals.kernels += reply.kernels_size();
    for (const v1::CheckedKernel &kernel : reply.kernels())
      totals.unchecked += kernel.outcome() == v1::OUTCOME_UNSPECIFIED;
    for (v1::Diagnostic &diagnostic : *reply.mutable_diagnostics()) {
      AddArgHint((*paths)[file], requests[file], reply, &diagnostic);
      // A request has one file, number 0; here it is one of many.
      auto renumber = [file](auto &self, v1::Diagnostic &d) -> void {
        d.mutable_range()->set_file(file);
        for (v1::Diagnostic &note : *d.mutable_notes())
          self(self, note);
        for (v1::FixIt &fix : *d.mutable_fixits())
          fix.mutable_range()->set_file(file);
      };
      renumber(renumber, diagnostic);
      if (arguments.Has("--warnings-as-errors") && diagnostic.severity() == v1::SEVERITY_WARNING)
        diagnostic.set_severity(v1::SEVERITY_ERROR);
      totals.warnings += diagnostic.severity() == v1::SEVERITY_WARNING;
      totals.errors += diagnostic.severity() == v1::SEVERITY_ERROR;
      all.Add(std::move(diagnostic));
    }
  }

  std::string out = arguments.Get("-o", arguments.Get("--json", "-"));
  std::string text;
  if (format == "json")
    text = DiagnosticsJson(all, *paths);
  else if (format == "sarif")
    text = DiagnosticsSarif(all, *paths, kVersion);
  else
    text = RenderDiagnostics(all, *paths, UseColor(arguments, out == "-" ? fileno(stdout) : -1),
                             /*counts=*/false) +
           GuessedText(*paths, checked);
  if (absl::Status status = WriteTo(out, text); !status.ok())
    return UsageError(status);
  if (!arguments.Has("--quiet"))
    std::fputs(Summary(totals).c_str(), format == "text" ? stdout : stderr);
  if (!failure.ok())
    return Fail(failure);
  return compiler_failed ? kServiceFailed : totals.errors ? kKernelWrong : kDone;
}

} // namespace

Command CheckCommand() {
  Command command;
  command.name = "check";
  command.usage = "PATH... [--arg NAME=TYPE ...] [--format text|json|sarif] [-o FILE] [flags]";
  command.summary = "Check kernels and print what is wrong with them.";
  command.details =
      "PATH is a kernel file or a directory, whose .py files with kernels are all checked.\n\n"
      "No arguments are needed: symbolic sizes are tried with several values. What is wrong with\n"
      "general sizes (different, multiples of 128) is an error; what is wrong with odd sizes or\n"
      "ones only is a warning that says for which. Where an annotation does not say a parameter's\n"
      "type, likely types are tried until one passes; --arg NAME=TYPE says it, as for `pyasc\n"
      "compile`, for all kernels with a parameter of that name.\n\n"
      "Ends with 0 without errors, 1 with errors, 3 when the service failed. Warnings alone end "
      "with\n"
      "0; --warnings-as-errors makes them errors, for a farm that is to stop at them.";
  command.examples = {"pyasc check kernels/",
                      "pyasc check softmax.py --arg 'x=f32[64,1000]' --arg 'y=f32[64,1000]'",
                      "pyasc check kernels/ --format sarif -o pyasc.sarif"};
  command.flags = Concat({{"--format", "FORMAT", "text (default), json or sarif"},
                          {"-o", "FILE", "where to write it; - (default) is standard output"},
                          {"--warnings-as-errors", nullptr, "report every warning as an error"},
                          {"--json", "FILE", "the same as --format json -o FILE"},
                          {"--jobs", "N", "files that are checked at a time; default up to 4"}},
                         Concat(KernelFlags(), ServiceFlags()));
  command.min_positional = 1;
  command.max_positional = 100000;
  command.run = Run;
  return command;
}

} // namespace pyasc::cli
