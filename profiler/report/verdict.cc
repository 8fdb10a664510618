#include "profiler/report/verdict.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace pyasc::report {
namespace {

// Fractions above which a roof or an imbalance is worth a word.
constexpr double kBound = 0.8;
constexpr double kImbalance = 0.1;
// Below this share of the time a piece of advice is noise.
constexpr double kWorthwhile = 0.02;

struct BusiestPipe {
  std::string name;
  double utilization = 0;
  std::string entry;
};

BusiestPipe FindBusiest(const v1::ProfileReport &report) {
  BusiestPipe busiest;
  double longest = -1;
  for (const v1::PhaseProfile &phase : report.phases()) {
    if (phase.time_us() <= longest)
      continue;
    for (const v1::PipeTime &pipe : phase.pipes()) {
      if (phase.time_us() > longest || pipe.utilization() > busiest.utilization) {
        busiest = {pipe.pipe(), pipe.utilization(), phase.entry()};
        longest = phase.time_us();
      }
    }
  }
  return busiest;
}

double TotalTime(const v1::ProfileReport &report) {
  double total = 0;
  for (const v1::PhaseProfile &phase : report.phases())
    total += phase.time_us();
  return total;
}

void Add(std::vector<v1::Advice> &advice, std::string text, double gain,
         const v1::SourceRange *range = nullptr) {
  if (gain < kWorthwhile)
    return;
  v1::Advice &one = advice.emplace_back();
  one.set_text(std::move(text));
  one.set_gain(std::min(gain, 1.0));
  if (range)
    *one.mutable_range() = *range;
}

double LineShare(const v1::ProfileReport &report, const v1::SourceRange &range) {
  double all = 0;
  double here = 0;
  for (const v1::LineTime &line : report.lines()) {
    all += line.busy_us();
    if (line.range().file() == range.file() && line.range().line() >= range.line() &&
        line.range().line() <= std::max(range.line(), range.end_line()))
      here += line.busy_us();
  }
  return all > 0 ? here / all : 0;
}

// Statements that the compiler left to the scalar unit.
void AdviseScalar(const v1::ProfileReport &report, std::vector<v1::Advice> &advice) {
  for (const v1::LoweredStatement &statement : report.compile().statements()) {
    if (statement.unit() != "scalar")
      continue;
    Add(advice,
        absl::StrCat("line ", statement.range().line(), " runs on the scalar unit: ",
                     statement.reason().empty() ? "it was not recognised as a tensor operation"
                                                : statement.reason()),
        LineShare(report, statement.range()), &statement.range());
  }
}

void AdviseBalance(const v1::ProfileReport &report, std::vector<v1::Advice> &advice) {
  double total = TotalTime(report);
  for (const v1::PhaseProfile &phase : report.phases()) {
    if (phase.core_time_us_size() == 0 || total <= 0)
      continue;
    double sum = 0;
    for (double time : phase.core_time_us())
      sum += time;
    double mean = sum / phase.core_time_us_size();
    double slowest = *std::max_element(phase.core_time_us().begin(), phase.core_time_us().end());
    if (slowest > 0 && (slowest - mean) / slowest > kImbalance)
      Add(advice,
          absl::StrFormat("the cores of phase %s finish unevenly (mean %.1f us, slowest %.1f us): "
                          "choose extents that divide over the cores",
                          phase.entry(), mean, slowest),
          (slowest - mean) / total);
  }
}

void AdviseCores(const v1::ProfileReport &report, std::vector<v1::Advice> &advice) {
  const v1::CompileReport &compile = report.compile();
  if (compile.cores_used() > 0 && compile.cores_used() * 2 <= compile.cores_available())
    Add(advice,
        absl::StrFormat("%d of %d cores work: give the kernel more independent iterations "
                        "(asc.parallel_for) or larger inputs",
                        compile.cores_used(), compile.cores_available()),
        1.0 - static_cast<double>(compile.cores_used()) /
                  static_cast<double>(compile.cores_available()));
}

void AdviseTraffic(const v1::ProfileReport &report, std::vector<v1::Advice> &advice) {
  double needed = report.compile().compulsory_bytes();
  double moved = 0;
  double memory_share = 0;
  double total = TotalTime(report);
  for (const v1::PhaseProfile &phase : report.phases()) {
    for (const v1::PathTraffic &path : phase.paths())
      if (path.path() == "gm_to_ub" || path.path() == "ub_to_gm" || path.path() == "gm_to_l1" ||
          path.path() == "l0c_to_gm")
        moved += static_cast<double>(path.bytes());
    for (const v1::PipeTime &pipe : phase.pipes())
      if (pipe.pipe() == "mte2" && total > 0)
        memory_share += pipe.utilization() * phase.time_us() / total;
  }
  if (needed > 0 && moved > 2 * needed && report.phases_size() > 1)
    Add(advice,
        absl::StrFormat("%d phases pass intermediate results through global memory: %.1f times "
                        "the bytes of the arguments are moved",
                        report.phases_size(), moved / needed),
        memory_share * (1.0 - needed / moved));
}

void AdviseLaunch(const v1::ProfileReport &report, std::vector<v1::Advice> &advice) {
  double total = report.launch_us() + report.kernel_us();
  if (total > 0 && report.launch_us() > 0)
    Add(advice,
        absl::StrFormat("launching %d phases costs %.1f us beside %.1f us of work: give one launch "
                        "more work",
                        std::max(report.phases_size(), 1), report.launch_us(), report.kernel_us()),
        report.launch_us() / total / 2);
}

} // namespace

v1::Verdict Judge(const v1::ProfileReport &report) {
  v1::Verdict verdict;
  BusiestPipe busiest = FindBusiest(report);
  if (report.rooflines_size() > 0) {
    const v1::Roofline &roofline = report.rooflines(0);
    bool memory = roofline.roof_gflops() < report.compile().peak_gflops();
    verdict.set_roof_fraction(roofline.fraction());
    if (roofline.fraction() > 1.0) {
      verdict.set_bound_by(memory ? "memory" : "compute");
      verdict.set_summary(absl::StrFormat(
          "%.0f %% of the %s roof: over 100 %% means that bytes or operations are counted wrongly",
          100 * roofline.fraction(), memory ? "memory" : "compute"));
    } else if (roofline.fraction() >= kBound) {
      verdict.set_bound_by(memory ? "memory" : "compute");
      verdict.set_summary(absl::StrFormat("bound by %s: %.0f %% of that roof",
                                          memory ? "memory bandwidth" : "compute",
                                          100 * roofline.fraction()));
    } else {
      verdict.set_bound_by("latency");
      verdict.set_summary(absl::StrFormat("bound by latency: %.0f %% of the %s roof",
                                          100 * roofline.fraction(),
                                          memory ? "memory" : "compute"));
    }
  } else {
    verdict.set_bound_by("latency");
    verdict.set_summary("no roof is known for this device: times only");
  }
  if (!busiest.name.empty())
    verdict.set_summary(absl::StrFormat("%s; busiest pipe %s (%.0f %% of phase %s)",
                                        verdict.summary(), busiest.name, 100 * busiest.utilization,
                                        busiest.entry));

  std::vector<v1::Advice> advice;
  AdviseScalar(report, advice);
  AdviseBalance(report, advice);
  AdviseCores(report, advice);
  AdviseTraffic(report, advice);
  AdviseLaunch(report, advice);
  std::stable_sort(advice.begin(), advice.end(),
                   [](const v1::Advice &a, const v1::Advice &b) { return a.gain() > b.gain(); });
  for (size_t i = 0; i < advice.size() && i < 3; ++i)
    *verdict.add_advice() = advice[i];
  return verdict;
}

} // namespace pyasc::report
