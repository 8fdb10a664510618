#include "server/worker/run_job.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "profiler/report/build_report.h"
#include "proto/contract/launch_expr.h"
#include "proto/contract/tensor_type.h"
#include "server/core/compiled.h"
#include "server/core/scalar_bits.h"
#include "server/worker/generate.h"

namespace pyasc::server {

using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kMaxLoaded = 64;
// Outcomes that are kept to choose the median one from; times are kept of all.
constexpr size_t kMaxOutcomes = 256;
// Bytes; a multiple of every element's width.
constexpr int64_t kGeneratedPiece = 1 << 20;
// After which a sanitized run that does not end is told so, with its line.
constexpr uint64_t kSanitizedInstructions = 5'000'000'000;

double Microseconds(Clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

void Report(const std::function<void(const v1::Progress &)> &on_progress, const char *stage) {
  v1::Progress progress;
  progress.set_stage(stage);
  if (on_progress)
    on_progress(progress);
}

bool Writes(v1::Access access) {
  return access == v1::ACCESS_WRITE || access == v1::ACCESS_READ_WRITE;
}

// A device that is another worker's by now is not touched.
absl::Status CheckLease(const RunEvents &events) {
  if (!events.holds_device || events.holds_device())
    return absl::OkStatus();
  return absl::CancelledError("the lease on the device is lost");
}

absl::Status Named(const std::string &name, const absl::Status &status) {
  return absl::Status(status.code(), absl::StrCat("the argument '", name, "': ", status.message()));
}

} // namespace

// All that one job needs while it runs.
struct DeviceRunner::Launch {
  const wire::RunJob &job;
  std::vector<TensorMemory> &memory;
  const RunEvents &events;
  Loaded &loaded;
  wire::RunResult &result;

  const v1::LaunchContract &contract() const { return loaded.artifact.launch(); }
  std::vector<const wire::LaunchArgument *> given;      // by parameter
  std::vector<contract::LaunchValue> values;            // by parameter
  std::vector<device::LaunchArgument> arguments;        // by parameter
  std::vector<std::unique_ptr<device::Buffer>> buffers; // all
  std::vector<device::Buffer *> results;                // by result
  std::vector<device::LaunchOutcome> outcomes;
  std::vector<double> times;
  // Making generated arguments, apart from copying them.
  double generate_us = 0;

  absl::Status MatchArguments();
  absl::Status Allocate(device::Device &device);
  absl::Status CopyIn(device::Device &device, size_t parameter);
  absl::Status CopyOutputs(device::Device &device);
  void ReportError(const device::LaunchOutcome &outcome);
  void ReportFindings(const device::LaunchOutcome &outcome);
};

absl::StatusOr<std::unique_ptr<DeviceRunner>>
DeviceRunner::Open(std::unique_ptr<device::Driver> driver, uint32_t ordinal) {
  std::unique_ptr<DeviceRunner> runner(new DeviceRunner);
  runner->driver_ = std::move(driver);
  auto device = runner->driver_->Open(ordinal);
  if (!device.ok())
    return device.status();
  runner->device_ = *std::move(device);
  return runner;
}

absl::StatusOr<DeviceRunner::Loaded *> DeviceRunner::Load(const wire::RunJob &job) {
  auto found = index_.find(job.artifact_key());
  if (found != index_.end()) {
    loaded_.splice(loaded_.begin(), loaded_, found->second);
    return &*found->second;
  }
  if (job.artifact().empty())
    return nullptr;
  Loaded loaded{job.artifact_key(), {}, nullptr};
  if (absl::Status s = CheckArtifact(job.artifact(), &loaded.artifact); !s.ok())
    return s;
  auto executable = device_->Load(loaded.artifact);
  if (!executable.ok())
    return executable.status();
  loaded.executable = *std::move(executable);
  while (loaded_.size() >= kMaxLoaded) {
    index_.erase(loaded_.back().key);
    loaded_.pop_back();
  }
  loaded_.push_front(std::move(loaded));
  index_[job.artifact_key()] = loaded_.begin();
  return &loaded_.front();
}

wire::RunResult DeviceRunner::Run(const wire::RunJob &job, std::vector<TensorMemory> &memory,
                                  const RunEvents &events) {
  wire::RunResult result;
  absl::StatusOr<Loaded *> loaded = Load(job);
  if (!loaded.ok()) {
    result.set_error(absl::StrCat("the device refused the artifact: ", loaded.status().message()));
    return result;
  }
  if (!*loaded) {
    result.set_artifact_needed(true);
    return result;
  }
  Launch launch{job, memory, events, **loaded, result, {}, {}, {}, {}, {}, {}, {}};
  absl::Status status = RunOnce(launch);
  if (status.ok() && result.diagnostics().empty() && job.max_samples() > 0)
    status = Measure(launch);
  if (!status.ok()) {
    result.set_error(std::string(status.message()));
    return result;
  }
  v1::ProfileReport &report = *result.mutable_report();
  report.mutable_samples()->CopyFrom(report::Summarize(launch.times));
  // The outcome that is shown is a real one, the nearest to the median.
  const double median = report.samples().median_us();
  const device::LaunchOutcome &shown = *std::min_element(
      launch.outcomes.begin(), launch.outcomes.end(), [&](const auto &a, const auto &b) {
        return std::abs(a.kernel_us - median) < std::abs(b.kernel_us - median);
      });
  report.set_schema_version(1);
  report.mutable_launch()->set_device(device_->info().name());
  // Cold is a promise that the simulator keeps; nobody flushes a real machine's caches.
  if (job.hot() && job.max_samples() > 0)
    report.mutable_trust()->set_caches("hot");
  report::BuildReport((*loaded)->artifact, shown, &report);
  return result;
}

absl::Status DeviceRunner::RunOnce(Launch &launch) {
  if (absl::Status s = launch.MatchArguments(); !s.ok())
    return s;
  Report(launch.events.on_progress, "copying in");
  Clock::time_point begin = Clock::now();
  if (absl::Status s = CheckLease(launch.events); !s.ok())
    return s;
  if (absl::Status s = launch.Allocate(*device_); !s.ok())
    return s;
  for (size_t i = 0; i < launch.arguments.size() && !launch.job.timing_only(); ++i)
    if (absl::Status s = launch.CopyIn(*device_, i); !s.ok())
      return s;
  launch.result.mutable_report()->set_generate_us(launch.generate_us);
  launch.result.mutable_report()->set_copy_in_us(Microseconds(Clock::now() - begin) -
                                                 launch.generate_us);

  Report(launch.events.on_progress, "running");
  device::LaunchOptions options;
  options.profile = launch.job.profile();
  options.mode = launch.job.timing_only() ? device::LaunchOptions::Mode::kTimingOnly
                                          : device::LaunchOptions::Mode::kFull;
  options.max_instructions = launch.job.max_instructions();
  options.threads = launch.job.threads();
  options.sanitize = launch.job.sanitize();
  if (options.sanitize && options.max_instructions == 0)
    options.max_instructions = kSanitizedInstructions;
  options.on_print = launch.events.on_print; // once, however often it is measured
  if (launch.job.trace_events() > 0)
    options.on_trace = launch.events.on_trace;
  options.trace_events = launch.job.trace_events();
  if (absl::Status s = CheckLease(launch.events); !s.ok())
    return s;
  auto outcome =
      device_->Launch(*launch.loaded.executable, launch.arguments, launch.results, options);
  if (!outcome.ok())
    return outcome.status();
  launch.times.push_back(outcome->kernel_us);
  launch.outcomes.push_back(*std::move(outcome));
  launch.ReportFindings(launch.outcomes.back());
  if (launch.outcomes.back().error_code != 0)
    launch.ReportError(launch.outcomes.back());
  if (!launch.result.diagnostics().empty())
    return absl::OkStatus();
  Report(launch.events.on_progress, "copying out");
  begin = Clock::now();
  if (absl::Status s = CheckLease(launch.events); !s.ok())
    return s;
  absl::Status status = launch.CopyOutputs(*device_);
  launch.result.mutable_report()->set_copy_out_us(Microseconds(Clock::now() - begin));
  return status;
}

absl::Status DeviceRunner::Measure(Launch &launch) {
  // Simulated time does not vary: the first launch, cold, is the measurement; a hot one needs
  // that first launch as its warm-up.
  const bool simulated = launch.loaded.artifact.target() == "sim";
  if (simulated && !launch.job.hot())
    return absl::OkStatus();
  const size_t samples = simulated ? 1 : launch.job.max_samples();
  const auto deadline = Clock::now() + std::chrono::seconds(launch.job.max_seconds());
  launch.times.clear(); // the first launch was the warm-up
  launch.outcomes.clear();
  device::LaunchOptions options;
  options.profile = true;
  options.hot = launch.job.hot();
  while (launch.times.size() < samples) {
    if (absl::Status s = CheckLease(launch.events); !s.ok())
      return s;
    // A kernel that adds to its own output must not measure other numbers every time.
    for (size_t i = 0; i < launch.arguments.size(); ++i)
      if (launch.arguments[i].buffer &&
          Writes(launch.contract().parameters(static_cast<int>(i)).access()))
        if (absl::Status s = launch.CopyIn(*device_, i); !s.ok())
          return s;
    auto outcome =
        device_->Launch(*launch.loaded.executable, launch.arguments, launch.results, options);
    if (!outcome.ok())
      return outcome.status();
    launch.times.push_back(outcome->kernel_us);
    if (launch.outcomes.size() < kMaxOutcomes)
      launch.outcomes.push_back(*std::move(outcome));
    v1::Progress progress;
    progress.set_stage("running");
    progress.set_fraction(static_cast<double>(launch.times.size()) / static_cast<double>(samples));
    if (launch.events.on_progress)
      launch.events.on_progress(progress);
    if (launch.job.max_seconds() && Clock::now() >= deadline)
      break;
  }
  return absl::OkStatus();
}

absl::Status DeviceRunner::Launch::MatchArguments() {
  for (const v1::Parameter &parameter : contract().parameters()) {
    auto found = std::find_if(job.arguments().begin(), job.arguments().end(),
                              [&](const auto &a) { return a.name() == parameter.name(); });
    if (found == job.arguments().end())
      return absl::InvalidArgumentError(
          absl::StrCat("the argument '", parameter.name(), "' has no value"));
    if (parameter.has_tensor() == found->has_scalar())
      return absl::InvalidArgumentError(absl::StrCat("the argument '", parameter.name(),
                                                     "' is not of the kind that was compiled"));
    if (parameter.has_tensor() && !contract::SameType(parameter.tensor(), found->type()))
      return absl::InvalidArgumentError(absl::StrCat(
          "the argument '", parameter.name(), "' is ", contract::TypeName(found->type()),
          "; the kernel is compiled for ", contract::TypeName(parameter.tensor())));
    given.push_back(&*found);
    contract::LaunchValue &value = values.emplace_back();
    device::LaunchArgument &argument = arguments.emplace_back();
    if (parameter.has_tensor()) {
      value.dims.assign(found->type().shape().begin(), found->type().shape().end());
      continue;
    }
    absl::StatusOr<uint64_t> bits = ScalarBits(found->scalar(), parameter.scalar());
    if (!bits.ok())
      return Named(parameter.name(), bits.status());
    argument.scalar_bits = *bits;
    if (found->scalar().has_int_value())
      value.scalar = found->scalar().int_value();
    else if (found->scalar().has_bool_value())
      value.scalar = found->scalar().bool_value();
  }
  return absl::OkStatus();
}

absl::Status DeviceRunner::Launch::Allocate(device::Device &device) {
  auto allocate = [&](const v1::TensorType &type) -> absl::StatusOr<device::Buffer *> {
    absl::StatusOr<int64_t> bytes = contract::TensorBytes(type);
    if (!bytes.ok())
      return bytes.status();
    auto buffer = device.Allocate(*bytes);
    if (!buffer.ok())
      return buffer.status();
    buffers.push_back(*std::move(buffer));
    return buffers.back().get();
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const v1::Parameter &parameter = contract().parameters(static_cast<int>(i));
    if (!parameter.has_tensor())
      continue;
    auto buffer = allocate(parameter.tensor());
    if (!buffer.ok())
      return Named(parameter.name(), buffer.status());
    arguments[i].buffer = *buffer;
  }
  for (const v1::Result &result : contract().results()) {
    absl::StatusOr<v1::TensorType> type = contract::ResultType(result, values);
    if (!type.ok())
      return type.status();
    auto buffer = allocate(*type);
    if (!buffer.ok())
      return buffer.status();
    results.push_back(*buffer);
  }
  return absl::OkStatus();
}

absl::Status DeviceRunner::Launch::CopyIn(device::Device &device, size_t i) {
  if (!arguments[i].buffer)
    return absl::OkStatus();
  const wire::LaunchArgument &argument = *given[i];
  device::Buffer &to = *arguments[i].buffer;
  if (argument.has_generated()) {
    // By pieces that stay in the processor's caches.
    std::vector<std::byte> piece(std::min(to.size_bytes(), kGeneratedPiece));
    const size_t width = contract::ElementBytes(argument.generated().type().dtype());
    int64_t at = 0;
    do { // once for an empty tensor, too: its kind may be wrong
      const Clock::time_point begin = Clock::now();
      piece.resize(std::min(to.size_bytes() - at, kGeneratedPiece));
      if (absl::Status s = Generate(argument.generated(), at / width, piece); !s.ok())
        return Named(argument.name(), s);
      generate_us += Microseconds(Clock::now() - begin);
      if (absl::Status s = device.CopyIn(to, at, piece); !s.ok())
        return s;
      at += kGeneratedPiece;
    } while (at < to.size_bytes());
    return absl::OkStatus();
  }
  if (argument.memory_index() >= memory.size() ||
      memory[argument.memory_index()].size_bytes() < to.size_bytes())
    return absl::InvalidArgumentError(
        absl::StrCat("the argument '", argument.name(), "' came without its data"));
  absl::StatusOr<Mapping> mapping = memory[argument.memory_index()].Map(/*writable=*/false);
  if (!mapping.ok())
    return mapping.status();
  return device.CopyIn(to, 0, mapping->bytes().first(to.size_bytes()));
}

absl::Status DeviceRunner::Launch::CopyOutputs(device::Device &device) {
  for (const wire::LaunchArgument &output : job.outputs()) {
    device::Buffer *from = nullptr;
    for (int i = 0; i < contract().results_size(); ++i)
      if (contract().results(i).name() == output.name())
        from = results[i];
    for (int i = 0; !from && i < contract().parameters_size(); ++i)
      if (contract().parameters(i).name() == output.name())
        from = arguments[i].buffer;
    if (!from || output.memory_index() >= memory.size() ||
        memory[output.memory_index()].size_bytes() != from->size_bytes())
      return absl::InvalidArgumentError(
          absl::StrCat("the output '", output.name(), "' does not fit the kernel"));
    absl::StatusOr<Mapping> mapping = memory[output.memory_index()].Map(/*writable=*/true);
    if (!mapping.ok())
      return mapping.status();
    if (absl::Status s = device.CopyOut(*from, 0, mapping->bytes()); !s.ok())
      return s;
  }
  return absl::OkStatus();
}

void DeviceRunner::Launch::ReportFindings(const device::LaunchOutcome &outcome) {
  auto place = [](const v1::MemoryAccess &access) {
    std::string text =
        absl::StrCat("block ", access.core(), ", pipe ", access.pipe(), ", ", access.instruction());
    if (!access.memory().empty())
      absl::StrAppend(&text, access.write() ? " writes " : " reads ", access.memory(),
                      access.buffer().empty() ? "" : " ", access.buffer(), " bytes ",
                      access.begin(), "..", access.end());
    return text;
  };
  for (const v1::Finding &finding : outcome.findings) {
    *result.add_findings() = finding;
    v1::Diagnostic &diagnostic = *result.add_diagnostics();
    diagnostic.set_severity(v1::SEVERITY_ERROR);
    diagnostic.set_code(finding.kind());
    diagnostic.set_message(
        absl::StrCat(finding.message(),
                     finding.count() > 1 ? absl::StrCat(" (", finding.count(), " times)") : "",
                     "; ", finding.advice()));
    *diagnostic.mutable_range() = finding.range();
    auto note = [&](const v1::MemoryAccess &access, const char *which) {
      v1::Diagnostic &n = *diagnostic.add_notes();
      n.set_severity(v1::SEVERITY_NOTE);
      n.set_message(absl::StrCat(which, place(access)));
      *n.mutable_range() = access.range();
    };
    if (finding.has_other()) {
      note(finding.access(), "here: ");
      note(finding.other(), "the other access: ");
    }
  }
}

void DeviceRunner::Launch::ReportError(const device::LaunchOutcome &outcome) {
  v1::Diagnostic &diagnostic = *result.add_diagnostics();
  diagnostic.set_severity(v1::SEVERITY_ERROR);
  diagnostic.set_code("run-time-error");
  diagnostic.set_message(
      absl::StrCat("the kernel reported the unknown error ", outcome.error_code));
  for (const v1::ErrorEntry &entry : contract().error_table()) {
    if (entry.code() != outcome.error_code)
      continue;
    diagnostic.set_message(
        absl::StrReplaceAll(entry.message(), {{"{value}", absl::StrCat(outcome.error_value)},
                                              {"{bound}", absl::StrCat(outcome.error_bound)}}));
    *diagnostic.mutable_range() = entry.range();
    if (!entry.name().empty())
      diagnostic.set_code(entry.name());
  }
  if (!outcome.error_message.empty())
    diagnostic.set_message(outcome.error_message);
}

} // namespace pyasc::server
