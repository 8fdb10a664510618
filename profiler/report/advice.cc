#include "profiler/report/advice.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace pyasc::report {
namespace {

constexpr size_t kMost = 3;
// Below this share of the time a piece of advice is noise.
constexpr double kWorthwhile = 0.02;
constexpr double kImbalance = 0.1;
// From here on the bytes moved beyond the needed ones are worth a word.
constexpr double kTraffic = 2;
constexpr double kLaunch = 0.2;

struct Draft {
  std::string text;
  double gain = 0; // of kernel_us, alone
  v1::SourceRange range;
};

// All phases, of those that run at the same time the longest.
double PhaseTime(const v1::ProfileReport &report) {
  return std::max(0.0, report.kernel_us() - report.launch_us());
}

// The share of the kernel's time that phases take whose statements `is_one` holds for; a phase with
// others too counts by the statements' estimates. Nullopt where no phase names its statements.
template <typename IsOne>
std::optional<double> ShareOfPhases(const v1::ProfileReport &report, IsOne is_one) {
  const v1::CompileReport &compile = report.compile();
  double sum = 0;
  bool known = false;
  for (const v1::PhaseProfile &phase : report.phases()) {
    auto plan =
        std::find_if(compile.phases().begin(), compile.phases().end(),
                     [&](const v1::PhasePlan &one) { return one.entry() == phase.entry(); });
    if (plan == compile.phases().end() || plan->statements().empty())
      continue;
    known = true;
    double all = 0, here = 0;
    int64_t count = 0, matching = 0;
    for (uint32_t number : plan->statements()) {
      if (number >= static_cast<uint32_t>(compile.statements_size()))
        continue;
      const v1::LoweredStatement &statement = compile.statements(static_cast<int>(number));
      double time = std::max(statement.compute_time_us(), statement.memory_time_us());
      bool one = is_one(statement);
      all += time;
      here += one ? time : 0;
      ++count;
      matching += one;
    }
    if (count > 0)
      sum += phase.time_us() *
             (all > 0 ? here / all : static_cast<double>(matching) / static_cast<double>(count));
  }
  if (!known || report.kernel_us() <= 0)
    return std::nullopt;
  return sum / report.kernel_us();
}

// Of the busy time of all lines that of the range's, as a share of the kernel's time.
double ShareOf(const v1::ProfileReport &report, const v1::SourceRange &range) {
  double all = 0, here = 0;
  for (const v1::LineTime &line : report.lines()) {
    all += line.busy_us();
    if (line.range().file() == range.file() && line.range().line() >= range.line() &&
        line.range().line() <= std::max(range.line(), range.end_line()))
      here += line.busy_us();
  }
  return all > 0 && report.kernel_us() > 0 ? here / all * PhaseTime(report) / report.kernel_us()
                                           : 0;
}

// The kernel's least possible share of its time: the roof's.
double Floor(const v1::ProfileReport &report) {
  return report.rooflines_size() > 0 ? std::min(1.0, report.rooflines(0).fraction()) : 0;
}

// Statements that are no loop, such as the store of one number, have nothing that cores could
// share.
constexpr std::string_view kNoLoop = "the step is no loop";

std::string CoresClause(const v1::LoweredStatement &statement, int64_t available) {
  if (statement.cores() <= 0 || statement.cores() * 2 > available)
    return "";
  if (statement.cores_reason() == kNoLoop)
    return "one core does it, since it is a single step and no loop";
  if (statement.cores_reason() == "the loop is not parallel")
    return absl::StrFormat("1 of %d cores runs it: where iterations do not need one another, "
                           "write asc.parallel_for",
                           available);
  if (statement.cores() == 1)
    return absl::StrFormat("1 of %d cores does it all: %s", available, statement.cores_reason());
  return absl::StrFormat("%d of %d cores share its iterations: %s", statement.cores(), available,
                         statement.cores_reason());
}

// Stands for the reason of statements that are nothing but copies.
constexpr std::string_view kRowsMove = "rows move";

std::string ReasonOf(const v1::LoweredStatement &statement) {
  if (statement.unit() == "transfer")
    return std::string(kRowsMove);
  return statement.reason().empty() ? "it was not recognised as a tensor operation"
                                    : statement.reason();
}

// What the scalar unit runs, or hands out row by row to be copied.
bool IsSerial(const v1::LoweredStatement &statement) {
  return statement.unit() == "scalar" || statement.unit() == "transfer";
}

// What the compiler left to the scalar unit, and on how many cores it runs there. Statements with
// one reason are one piece of advice; the gain of moving off the scalar unit holds what more cores
// would bring, so that the cores are no advice of their own. Of rows that are copied, cores are all
// that can be advised.
void AdviseScalar(const v1::ProfileReport &report, std::vector<Draft> &drafts) {
  const v1::CompileReport &compile = report.compile();
  struct Group {
    std::string reason, cores;
    std::vector<v1::SourceRange> ranges;
  };
  std::vector<Group> groups;
  for (const v1::LoweredStatement &statement : compile.statements()) {
    std::string cores = CoresClause(statement, compile.cores_available());
    if (statement.unit() != "scalar" && !(statement.unit() == "transfer" && !cores.empty()))
      continue;
    std::string reason = ReasonOf(statement);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group &known) {
      return known.reason == reason && known.cores == cores;
    });
    if (group == groups.end())
      group = groups.insert(groups.end(), Group{reason, cores, {}});
    auto same = [&](const v1::SourceRange &range) {
      return range.file() == statement.range().file() && range.line() == statement.range().line();
    };
    if (std::none_of(group->ranges.begin(), group->ranges.end(), same))
      group->ranges.push_back(statement.range());
  }
  for (const Group &group : groups) {
    double by_lines = 0;
    std::vector<std::string> lines;
    for (const v1::SourceRange &range : group.ranges) {
      by_lines += ShareOf(report, range);
      lines.push_back(absl::StrCat(range.line()));
    }
    // Lines cannot tell statements of one line apart, phases can.
    double share = ShareOfPhases(report, [&](const v1::LoweredStatement &statement) {
                     return IsSerial(statement) && ReasonOf(statement) == group.reason &&
                            CoresClause(statement, compile.cores_available()) == group.cores;
                   }).value_or(by_lines);
    const bool one = group.ranges.size() == 1;
    std::string what = absl::StrCat(one ? "line " : "lines ", absl::StrJoin(lines, ", "));
    absl::StrAppend(&what,
                    group.reason == kRowsMove
                        ? one ? " copies rows by DMA: " : " copy rows by DMA: "
                    : one ? " runs on the scalar unit: "
                          : " run on the scalar unit: ",
                    group.reason == kRowsMove ? "" : group.reason,
                    group.reason == kRowsMove || group.cores.empty() ? "" : "; ", group.cores);
    drafts.push_back(
        {std::move(what), std::max(0.0, std::min(share, 1.0) - Floor(report)), group.ranges[0]});
  }
}

void AdviseBalance(const v1::ProfileReport &report, std::vector<Draft> &drafts) {
  for (const v1::PhaseProfile &phase : report.phases()) {
    if (!phase.has_imbalance() || phase.imbalance() <= kImbalance || report.kernel_us() <= 0)
      continue;
    double slowest = *std::max_element(phase.core_time_us().begin(), phase.core_time_us().end());
    double mean = slowest / (1 + phase.imbalance());
    drafts.push_back({absl::StrFormat("the cores of phase %s finish unevenly (mean %.1f us, "
                                      "slowest %.1f us, imbalance %.0f %%): choose extents that "
                                      "divide over %d cores",
                                      phase.entry(), mean, slowest, 100 * phase.imbalance(),
                                      phase.core_time_us_size()),
                      (slowest - mean) / report.kernel_us(),
                      {}});
  }
}

// Cube and vector phases; of scalar ones the compiler knows better why.
void AdviseCores(const v1::ProfileReport &report, std::vector<Draft> &drafts) {
  const v1::CompileReport &compile = report.compile();
  for (const v1::LoweredStatement &statement : compile.statements())
    if (IsSerial(statement))
      return;
  if (compile.cores_used() <= 0 || compile.cores_used() * 2 > compile.cores_available() ||
      report.kernel_us() <= 0)
    return;
  double idle = 1.0 - static_cast<double>(compile.cores_used()) /
                          static_cast<double>(compile.cores_available());
  drafts.push_back({absl::StrFormat("%d of %d cores work, for the kernel has no more tiles: give "
                                    "one launch more or larger arrays",
                                    compile.cores_used(), compile.cores_available()),
                    idle * PhaseTime(report) / report.kernel_us(),
                    {}});
}

void AdviseTraffic(const v1::ProfileReport &report, std::vector<Draft> &drafts) {
  double needed = report.compile().compulsory_bytes(), moved = report.moved_bytes();
  if (needed <= 0 || moved <= kTraffic * needed || report.kernel_us() <= 0)
    return;
  double busy = 0;
  for (const v1::PhaseProfile &phase : report.phases())
    for (const v1::PipeTime &pipe : phase.pipes())
      if (pipe.pipe() == "mte2")
        busy += pipe.busy_us();
  if (report.phases_size() > 1)
    drafts.push_back({absl::StrFormat("%d phases pass intermediate results through global memory, "
                                      "%.1f times the bytes needed: one loop nest or expression "
                                      "over all of it would keep them in the cores",
                                      report.phases_size(), moved / needed),
                      busy / report.kernel_us() * (1.0 - needed / moved),
                      {}});
}

void AdviseLaunch(const v1::ProfileReport &report, std::vector<Draft> &drafts) {
  double share = report.kernel_us() > 0 ? report.launch_us() / report.kernel_us() : 0;
  if (share < kLaunch)
    return;
  int phases = std::max(report.phases_size(), 1);
  int64_t launches = 0;
  for (const v1::PhaseProfile &phase : report.phases())
    launches += std::max<int64_t>(phase.launches(), 1);
  drafts.push_back(
      {absl::StrFormat(
           "launching %s takes %.1f us of the kernel's %.1f us: let one launch do more "
           "work, on larger arrays or with several operations in one kernel",
           absl::StrCat(phases == 1 ? "its phase" : absl::StrCat("its ", phases, " phases"),
                        launches > phases ? absl::StrCat(", ", launches, " times in all,") : ""),
           report.launch_us(), report.kernel_us()),
       share,
       {}});
}

} // namespace

std::vector<v1::Advice> Advise(const v1::ProfileReport &report) {
  std::vector<Draft> drafts;
  AdviseScalar(report, drafts);
  AdviseBalance(report, drafts);
  AdviseCores(report, drafts);
  AdviseTraffic(report, drafts);
  AdviseLaunch(report, drafts);
  std::stable_sort(drafts.begin(), drafts.end(),
                   [](const Draft &a, const Draft &b) { return a.gain > b.gain; });
  std::vector<v1::Advice> advice;
  double left = 1;
  for (Draft &draft : drafts) {
    double gain = std::min(draft.gain, 1.0) * left;
    if (gain < kWorthwhile || advice.size() == kMost)
      continue;
    left -= gain;
    v1::Advice &one = advice.emplace_back();
    one.set_text(std::move(draft.text));
    one.set_gain(gain);
    if (draft.range.line())
      *one.mutable_range() = draft.range;
  }
  return advice;
}

} // namespace pyasc::report
