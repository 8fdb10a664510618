#include "profiler/report/build_report.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "compiler/machine/machine.h"
#include "profiler/report/verdict.h"
#include "proto/contract/tensor_type.h"

namespace pyasc::report {
namespace {

std::string Describe(const v1::Parameter &parameter) {
  if (parameter.kind_case() == v1::Parameter::kScalar)
    return absl::StrCat(parameter.name(), "=", contract::ShortName(parameter.scalar()));
  return absl::StrCat(parameter.name(), "=", contract::ShortName(parameter.tensor().dtype()), "[",
                      absl::StrJoin(parameter.tensor().shape(), ","), "]");
}

double Quantile(const std::vector<double> &sorted, double q) {
  double rank = q * static_cast<double>(sorted.size() - 1);
  auto low = static_cast<size_t>(rank);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (rank - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

// Paths between global memory and the cores; every byte that a core sees takes one of them.
bool IsGlobalPath(const v1::PathTraffic &path) {
  return path.path() == "gm_to_ub" || path.path() == "ub_to_gm" || path.path() == "gm_to_l1" ||
         path.path() == "l0c_to_gm" || path.path() == "gm_to_scalar" ||
         path.path() == "scalar_to_gm";
}

void AddMovedBytes(v1::ProfileReport *report) {
  report->clear_moved_bytes();
  for (const v1::PhaseProfile &phase : report->phases())
    for (const v1::PathTraffic &path : phase.paths())
      if (IsGlobalPath(path))
        report->set_moved_bytes(report->moved_bytes() + static_cast<double>(path.bytes()));
}

void AddImbalance(v1::PhaseProfile *phase) {
  phase->clear_imbalance();
  double sum = 0, slowest = 0;
  for (double time : phase->core_time_us()) {
    sum += time;
    slowest = std::max(slowest, time);
  }
  if (phase->core_time_us_size() > 1 && sum > 0)
    phase->set_imbalance(std::max(0.0, slowest * phase->core_time_us_size() / sum - 1));
}

// Bytes that HBM surely had to carry: those counted there. The scalar unit's own cache is not
// followed behind L2: with such traffic, or none counted, at least what the kernel needs.
double HbmBytes(const v1::ProfileReport &report) {
  double counted = 0;
  bool all = false;
  for (const v1::PhaseProfile &phase : report.phases())
    for (const v1::PathTraffic &path : phase.paths()) {
      if (path.path() == "hbm_read" || path.path() == "hbm_write") {
        counted += static_cast<double>(path.bytes());
        all = true;
      }
    }
  for (const v1::PhaseProfile &phase : report.phases())
    for (const v1::PathTraffic &path : phase.paths())
      all &= path.path() != "gm_to_scalar" && path.path() != "scalar_to_gm";
  return all ? counted : std::max(counted, report.compile().compulsory_bytes());
}

void AddRooflines(v1::ProfileReport *report) {
  const v1::CompileReport &compile = report->compile();
  double time = report->kernel_us(), bytes = HbmBytes(*report);
  if (time <= 0 || bytes <= 0 || compile.peak_gflops() <= 0 ||
      compile.peak_bandwidth_gb_per_s() <= 0)
    return;
  v1::Roofline *roofline = report->add_rooflines();
  roofline->set_level("hbm");
  // 1 flop/us is 1e6 flop/s, so flops / us / 1e3 is GFLOP/s; bytes alike.
  roofline->set_flops_per_byte(compile.flops() / bytes);
  roofline->set_achieved_gflops(compile.flops() / time / 1e3);
  roofline->set_achieved_gb_per_s(bytes / time / 1e3);
  roofline->set_roof_gb_per_s(compile.peak_bandwidth_gb_per_s());
  double at_bandwidth = roofline->flops_per_byte() * compile.peak_bandwidth_gb_per_s();
  roofline->set_roof_gflops(std::min(compile.peak_gflops(), at_bandwidth));
  roofline->set_roof(at_bandwidth <= compile.peak_gflops() ? "memory" : "compute");
  if (roofline->roof() == "compute" && compile.units_size() > 0)
    roofline->set_unit(std::max_element(compile.units().begin(), compile.units().end(),
                                        [](const v1::UnitWork &a, const v1::UnitWork &b) {
                                          return a.least_us() < b.least_us();
                                        })
                           ->unit());
  double least =
      std::max(compile.flops() / compile.peak_gflops(), bytes / compile.peak_bandwidth_gb_per_s()) /
      1e3;
  roofline->set_fraction(least / time);
}

} // namespace

void BuildReport(const v1::Artifact &artifact, const device::LaunchOutcome &outcome,
                 v1::ProfileReport *report) {
  report->set_schema_version(1);
  v1::LaunchInfo *launch = report->mutable_launch();
  launch->set_kernel(artifact.kernel());
  launch->set_driver(artifact.target());
  launch->set_soc(artifact.soc());
  launch->clear_arguments();
  for (const v1::Parameter &parameter : artifact.launch().parameters())
    launch->add_arguments(Describe(parameter));

  bool simulated = artifact.target() == "sim";
  report->mutable_trust()->set_source(simulated ? "simulated" : "measured");
  report->mutable_trust()->set_clock(simulated                     ? "cycles of the timing model"
                                     : artifact.target() == "host" ? "monotonic clock"
                                                                   : "device events");
  const machine::Soc *soc = simulated ? machine::FindSoc(artifact.soc()) : nullptr;
  if (soc) {
    // A simulated device is any chip; what counts is the one that the kernel is for.
    launch->set_device(absl::StrCat("simulated ", soc->product));
    const machine::Calibration &c = soc->calibration;
    report->mutable_trust()->set_model_error(c.worst_error);
    report->mutable_trust()->set_calibration(
        absl::StrFormat("calibrated on %d published measurements of %s: total times within %.0f "
                        "%%, median %.1f %%; "
                        "pipes' times within %.0f %%, median %.1f %%",
                        c.rows, c.chips, 100 * c.worst_error, 100 * c.median_error,
                        100 * c.pipe_worst_error, 100 * c.pipe_median_error));
  }
  if (report->trust().caches().empty())
    report->mutable_trust()->set_caches(simulated ? "cold" : "warm");

  report->set_kernel_us(outcome.kernel_us);
  report->set_launch_us(outcome.launch_us);
  report->clear_phases();
  for (const v1::PhaseProfile &phase : outcome.phases)
    AddImbalance(&(*report->add_phases() = phase));
  report->clear_lines();
  for (const v1::LineTime &line : outcome.lines)
    *report->add_lines() = line;
  *report->mutable_compile() = artifact.report();
  AddMovedBytes(report);
  report->clear_rooflines();
  AddRooflines(report);
  *report->mutable_verdict() = Judge(*report);
}

v1::Samples Summarize(const std::vector<double> &kernel_us) {
  v1::Samples samples;
  if (kernel_us.empty())
    return samples;
  samples.mutable_kernel_us()->Add(kernel_us.begin(), kernel_us.end());
  std::vector<double> sorted = kernel_us;
  std::sort(sorted.begin(), sorted.end());
  samples.set_min_us(sorted.front());
  samples.set_p25_us(Quantile(sorted, 0.25));
  samples.set_median_us(Quantile(sorted, 0.5));
  samples.set_p75_us(Quantile(sorted, 0.75));
  double sum = 0;
  for (double value : sorted)
    sum += value;
  samples.set_mean_us(sum / static_cast<double>(sorted.size()));
  if (samples.median_us() > 0)
    samples.set_relative_spread((samples.p75_us() - samples.p25_us()) / samples.median_us());
  return samples;
}

} // namespace pyasc::report
