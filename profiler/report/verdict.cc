#include "profiler/report/verdict.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "profiler/report/advice.h"
#include "proto/contract/phase_groups.h"

namespace pyasc::report {
namespace {

// A pipe, or the launches, that take this share of the time bound the kernel.
constexpr double kBusy = 0.6;
constexpr double kLaunchBound = 0.5;
// A roof that is reached this far binds.
constexpr double kAtRoof = 0.8;

struct Pipe {
  std::string name;
  // Of the time of all phases.
  double share = 0;
};

// The pipe that is busy longest over all phases.
Pipe FindBusiest(const v1::ProfileReport &report) {
  std::map<std::string, double> busy;
  double total = 0;
  for (const contract::PhaseGroup &group : contract::GroupPhases(report)) {
    // Of phases that run at the same time the busier one's pipe counts.
    std::map<std::string, double> most;
    for (const v1::PhaseProfile *phase : group.phases)
      for (const v1::PipeTime &pipe : phase->pipes())
        most[pipe.pipe()] = std::max(most[pipe.pipe()], pipe.busy_us());
    total += group.us;
    for (const auto &[name, us] : most)
      busy[name] += us;
  }
  Pipe busiest;
  for (const auto &[name, us] : busy)
    if (total > 0 && us / total > busiest.share)
      busiest = {name, us / total};
  return busiest;
}

std::string Describe(const std::string &pipe) {
  if (pipe == "mte1")
    return "mte1 (L1 to the cube's buffers)";
  if (pipe == "mte2")
    return "mte2 (global memory to the core)";
  if (pipe == "mte3")
    return "mte3 (the core to global memory)";
  if (pipe == "fixpipe")
    return "fixpipe (the cube's results to global memory)";
  if (pipe == "scalar")
    return "the scalar unit";
  if (pipe == "vector")
    return "the vector unit";
  return pipe == "cube" ? "the cube unit" : pipe;
}

std::string BoundOf(const std::string &pipe) {
  return pipe == "scalar" || pipe == "vector" || pipe == "cube" ? pipe : "transfer";
}

std::string Percent(double share) {
  return share < 0.0995 ? absl::StrFormat("%.1f %%", 100 * share)
                        : absl::StrFormat("%.0f %%", 100 * share);
}

std::string RoofClause(const v1::ProfileReport &report) {
  if (report.rooflines_size() == 0)
    return "";
  const v1::Roofline &roof = report.rooflines(0);
  return absl::StrCat(Percent(roof.fraction()), " of the ", roof.roof(), " roof",
                      roof.unit().empty() ? "" : absl::StrCat(" (", roof.unit(), " unit)"));
}

void Conclude(std::string bound_by, std::string cause, const v1::ProfileReport &report,
              v1::Verdict *verdict) {
  std::string roof = RoofClause(report);
  verdict->set_summary(absl::StrCat(bound_by, " bound: ", cause, roof.empty() ? "" : "; ", roof));
  verdict->set_bound_by(std::move(bound_by));
}

} // namespace

v1::Verdict Judge(const v1::ProfileReport &report) {
  v1::Verdict verdict;
  Pipe busiest = FindBusiest(report);
  const v1::Roofline *roof = report.rooflines_size() > 0 ? &report.rooflines(0) : nullptr;
  if (roof)
    verdict.set_roof_fraction(roof->fraction());
  double launch = report.kernel_us() > 0 ? report.launch_us() / report.kernel_us() : 0;

  if (roof && roof->fraction() > 1.0) {
    verdict.set_bound_by(roof->roof());
    verdict.set_summary(absl::StrFormat(
        "%.0f %% of the %s roof: over 100 %% means that bytes or operations are counted wrongly",
        100 * roof->fraction(), roof->roof()));
  } else if (roof && roof->fraction() >= kAtRoof) {
    verdict.set_bound_by(roof->roof());
    verdict.set_summary(absl::StrCat(roof->roof(), " bound: ", RoofClause(report)));
  } else if (launch >= kLaunchBound) {
    Conclude("launch",
             absl::StrFormat("launching takes %s of the kernel's %.1f us", Percent(launch),
                             report.kernel_us()),
             report, &verdict);
  } else if (busiest.share >= kBusy) {
    Conclude(BoundOf(busiest.name),
             absl::StrCat(Describe(busiest.name), " is busy ", Percent(busiest.share),
                          " of the phases' time"),
             report, &verdict);
  } else if (!busiest.name.empty()) {
    Conclude("latency",
             absl::StrCat("no pipe is busy even ", Percent(kBusy),
                          " of the phases' time, they wait for one another; the busiest is ",
                          Describe(busiest.name), " with ", Percent(busiest.share)),
             report, &verdict);
  } else if (roof) {
    verdict.set_summary(absl::StrCat(RoofClause(report), "; what the rest waits for is not known"));
  } else {
    verdict.set_summary("times only: this driver knows neither roofs nor pipes");
  }
  for (v1::Advice &advice : Advise(report))
    *verdict.add_advice() = std::move(advice);
  return verdict;
}

} // namespace pyasc::report
