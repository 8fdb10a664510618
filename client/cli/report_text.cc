#include "client/cli/report_text.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/format.h"
#include "proto/contract/phase_groups.h"

namespace pyasc::cli {
namespace {

constexpr size_t kMaxLines = 40;
constexpr size_t kBarWidth = 20;

// Lines with a section's name in front of its first one.
class Sections {
public:
  void Begin(absl::string_view name) { pending_ = std::string(name); }
  void Line(absl::string_view text) {
    lines_.push_back(absl::StrFormat("%-10s", pending_) + std::string(text));
    while (lines_.back().back() == ' ')
      lines_.back().pop_back();
    pending_.clear();
  }
  void Plain(absl::string_view text) { lines_.emplace_back(text); }
  size_t size() const { return lines_.size(); }
  std::string Text() const { return absl::StrJoin(lines_, "\n") + "\n"; }

private:
  std::string pending_;
  std::vector<std::string> lines_;
};

std::string Position(const v1::SourceRange &range, const std::vector<std::string> &paths) {
  if (!range.line())
    return "";
  std::string path = range.file() < paths.size() ? paths[range.file()] : "?";
  return absl::StrCat(path.substr(path.rfind('/') + 1), ":", range.line());
}

std::string Joined(const std::vector<std::string> &parts, const char *separator = ", ") {
  std::vector<std::string> shown;
  for (const std::string &part : parts)
    if (!part.empty())
      shown.push_back(part);
  return absl::StrJoin(shown, separator);
}

void AddVerdict(const v1::ProfileReport &report, const std::vector<std::string> &paths,
                Sections *out) {
  const v1::Verdict &verdict = report.verdict();
  out->Begin("Verdict");
  // The summary says it all; reports of other builds may lack it.
  out->Line(verdict.summary().empty() ? verdict.bound_by() + " bound" : verdict.summary());
  for (int i = 0; i < std::min(3, verdict.advice_size()); ++i) {
    const v1::Advice &advice = verdict.advice(i);
    std::string gain =
        advice.gain() > 0 ? absl::StrCat("up to ", FormatPercent(advice.gain())) : "";
    out->Line(absl::StrCat(i + 1, ". ",
                           Joined({gain, Position(advice.range(), paths), advice.text()}, ": ")));
  }
}

bool IsSimulated(const v1::ProfileReport &report) { return report.trust().source() == "simulated"; }

void AddTrust(const v1::ProfileReport &report, Sections *out) {
  const v1::Trust &trust = report.trust();
  out->Begin("Trust");
  out->Line(Joined({trust.source(), trust.clock(),
                    trust.caches().empty() ? "" : trust.caches() + " caches",
                    !trust.has_answer_checked() ? ""
                    : trust.answer_checked()    ? "answer checked"
                                                : "answer not checked",
                    trust.contended() ? "CONTENDED: other work ran beside it" : "",
                    trust.has_model_error()
                        ? absl::StrCat("timing model within ", FormatPercent(trust.model_error()),
                                       " of its calibration")
                        : "",
                    report.samples().kernel_us_size() == 1 ? "one run" : ""}));
  const v1::Samples &samples = report.samples();
  if (samples.kernel_us_size() > 1)
    out->Line(absl::StrFormat(
        "%d runs: median %s, min %s, quartiles %s to %s, spread %s", samples.kernel_us_size(),
        FormatMicroseconds(samples.median_us()), FormatMicroseconds(samples.min_us()),
        FormatMicroseconds(samples.p25_us()), FormatMicroseconds(samples.p75_us()),
        FormatPercent(samples.relative_spread())));
}

void AddLaunch(const v1::ProfileReport &report, Sections *out) {
  const v1::LaunchInfo &launch = report.launch();
  out->Begin("Launch");
  std::string arguments = absl::StrJoin(launch.arguments(), ", ");
  out->Line(Joined({launch.kernel(), arguments}, ": "));
  out->Line(absl::StrCat(
      "on ", Joined({launch.driver(), launch.device(), launch.soc()}),
      report.cache().empty() ? "" : absl::StrCat("; compile cache: ", report.cache())));
}

// The device's clock and this machine's are two lines: they are not comparable where the device is
// simulated.
void AddTime(const v1::ProfileReport &report, Sections *out) {
  struct Part {
    const char *name;
    double us;
  };
  auto joined = [](std::initializer_list<Part> all, const char *separator) {
    std::vector<std::string> parts;
    for (const Part &part : all)
      if (part.us > 0)
        parts.push_back(absl::StrCat(part.name, " ", FormatMicroseconds(part.us)));
    return absl::StrJoin(parts, separator);
  };
  out->Begin("Time");
  const auto [phases, together] = TimeOfPhases(report);
  if (report.kernel_us() > 0) {
    std::string parts;
    if (report.launch_us() > 0 && phases > 0)
      parts = " = " + joined({{"launch", report.launch_us()},
                              {report.phases_size() == 1 ? "phase" : "phases", phases}},
                             " + ");
    if (!parts.empty() && together > 0)
      absl::StrAppend(&parts, together == 1
                                  ? " (two at the same time)"
                                  : absl::StrCat(" (", together, " times two at the same time)"));
    out->Line(absl::StrCat("kernel ", FormatMicroseconds(report.kernel_us()), parts,
                           IsSimulated(report) ? " (simulated)" : ""));
  }
  std::string wall = joined({{"compile", report.compile_us()},
                             {"make arguments", report.generate_us()},
                             {"copy in", report.copy_in_us()},
                             {"copy out", report.copy_out_us()}},
                            " | ");
  if (!wall.empty())
    out->Line(absl::StrCat(wall, " (wall clock of the service)"));
}

// The phases that took longest, in launch order.
std::vector<const v1::PhaseProfile *> LongestPhases(const v1::ProfileReport &report, size_t count) {
  std::vector<const v1::PhaseProfile *> phases;
  for (const v1::PhaseProfile &phase : report.phases())
    phases.push_back(&phase);
  std::sort(phases.begin(), phases.end(), [](auto *a, auto *b) {
    return a->time_us() != b->time_us() ? a->time_us() > b->time_us() : a < b;
  });
  phases.resize(std::min(phases.size(), count));
  std::sort(phases.begin(), phases.end());
  return phases;
}

// " (line 92)" of a phase; "" where the compiler names no lines.
std::string LinesOf(const v1::CompileReport &compile, const std::string &entry) {
  constexpr int kMost = 3;
  for (const v1::PhasePlan &phase : compile.phases()) {
    if (phase.entry() != entry || phase.lines().empty())
      continue;
    std::vector<std::string> lines;
    for (int i = 0; i < std::min(kMost, phase.lines_size()); ++i)
      lines.push_back(absl::StrCat(phase.lines(i).line()));
    return absl::StrCat(phase.lines_size() == 1 ? " (line " : " (lines ",
                        absl::StrJoin(lines, ", "), phase.lines_size() > kMost ? ", ...)" : ")");
  }
  return "";
}

// ", 10 launches" of a phase in a loop of phases.
std::string LaunchesOf(int64_t launches) {
  return launches > 1 ? absl::StrCat(", ", launches, " launches") : "";
}

void AddPhases(const v1::ProfileReport &report, Sections *out) {
  out->Begin("Pipes");
  for (const v1::PhaseProfile *phase : LongestPhases(report, 2)) {
    std::string cores =
        phase->has_imbalance() ? absl::StrCat("imbalance ", FormatPercent(phase->imbalance())) : "";
    out->Line(Joined(
        {absl::StrCat(phase->entry(), LinesOf(report.compile(), phase->entry()), " on ",
                      phase->blocks(), " ", phase->core(),
                      phase->blocks() == 1 ? " block" : " blocks", LaunchesOf(phase->launches())),
         FormatMicroseconds(phase->time_us()),
         phase->has_cycles() ? absl::StrCat(phase->cycles(), " cycles") : "", cores}));
    for (const v1::PipeTime &pipe : phase->pipes()) {
      if (pipe.busy_us() <= 0 && pipe.instructions() == 0)
        continue;
      out->Line(absl::StrFormat("  %-8s%s %7s  busy %s, waiting %s, %d instructions", pipe.pipe(),
                                Bar(pipe.utilization(), kBarWidth),
                                FormatPercent(pipe.utilization()),
                                FormatMicroseconds(pipe.busy_us()),
                                FormatMicroseconds(pipe.wait_us()), pipe.instructions()));
    }
  }
  if (report.phases_size() > 2)
    out->Line(absl::StrCat("... and ", report.phases_size() - 2,
                           report.phases_size() == 3 ? " shorter phase" : " shorter phases"));
}

struct PathSum {
  std::string path;
  int64_t bytes = 0;
  double gb_per_s = 0;
  std::optional<double> peak_fraction;
};

// A path's traffic over all phases; the rate is that of the phase with the most bytes.
std::vector<PathSum> SumPaths(const v1::ProfileReport &report) {
  std::vector<PathSum> sums;
  std::map<std::string, int64_t> largest;
  for (const v1::PhaseProfile &phase : report.phases()) {
    for (const v1::PathTraffic &traffic : phase.paths()) {
      auto it = std::find_if(sums.begin(), sums.end(),
                             [&](const PathSum &sum) { return sum.path == traffic.path(); });
      if (it == sums.end())
        it = sums.insert(sums.end(), PathSum{traffic.path(), 0, 0, std::nullopt});
      it->bytes += traffic.bytes();
      if (traffic.bytes() < largest[traffic.path()])
        continue;
      largest[traffic.path()] = traffic.bytes();
      it->gb_per_s = traffic.gb_per_s();
      it->peak_fraction =
          traffic.has_peak_fraction() ? std::optional(traffic.peak_fraction()) : std::nullopt;
    }
  }
  return sums;
}

void AddMemory(const v1::ProfileReport &report, size_t budget, Sections *out) {
  out->Begin("Memory");
  const v1::CompileReport &compile = report.compile();
  if (compile.compulsory_bytes() > 0 && report.has_moved_bytes())
    out->Line(absl::StrFormat(
        "needed %s, moved %s (%.1f times)", FormatBytes(compile.compulsory_bytes()),
        FormatBytes(report.moved_bytes()), report.moved_bytes() / compile.compulsory_bytes()));
  std::vector<PathSum> paths = SumPaths(report);
  std::erase_if(paths, [](const PathSum &path) { return path.bytes == 0; });
  std::sort(paths.begin(), paths.end(), [](const PathSum &a, const PathSum &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.path < b.path;
  });
  for (size_t i = 0; i < std::min(paths.size(), budget); ++i) {
    const PathSum &path = paths[i];
    std::string peak;
    if (path.peak_fraction)
      peak = absl::StrFormat("%s %7s of peak", Bar(*path.peak_fraction, kBarWidth),
                             FormatPercent(*path.peak_fraction));
    out->Line(absl::StrFormat("  %-12s %9s %9s/s  %s", path.path, FormatBytes(path.bytes),
                              FormatBytes(path.gb_per_s * 1e9), peak));
  }
  for (const v1::PhaseProfile &phase : report.phases())
    if (phase.has_l2_hit_ratio() && report.phases_size() == 1)
      out->Line(absl::StrCat("  L2 hits ", FormatPercent(phase.l2_hit_ratio())));
}

void AddRooflines(const v1::ProfileReport &report, Sections *out) {
  out->Begin("Roofline");
  for (int i = 0; i < std::min(4, report.rooflines_size()); ++i) {
    const v1::Roofline &roof = report.rooflines(i);
    std::string rates =
        roof.achieved_gflops() > 0
            ? absl::StrFormat("%8.2f FLOP/B: %s of %s", roof.flops_per_byte(),
                              FormatFlopRate(roof.achieved_gflops()),
                              FormatFlopRate(roof.roof_gflops()))
            : absl::StrFormat("%s/s of %s/s", FormatBytes(roof.achieved_gb_per_s() * 1e9),
                              FormatBytes(roof.roof_gb_per_s() * 1e9));
    out->Line(
        absl::StrFormat("%-5s %s, %s%s%s", roof.level(), rates, FormatPercent(roof.fraction()),
                        (roof.roof().empty() ? "" : " of the " + roof.roof() + " roof") +
                            (roof.unit().empty() ? "" : " (" + roof.unit() + " unit)"),
                        roof.fraction() > 1.0 ? " (over the roof: a fault in the counting)" : ""));
  }
  // Host reports and those of other builds have no statements.
  if (report.rooflines_size() > 0 && report.compile().statements_size() > 0 &&
      !report.compile().exact())
    out->Line("at least: not all operations are known at compile time");
}

// Runs of the same unit, reason and what on the same line are one.
std::vector<std::string> StatementLines(const v1::CompileReport &report,
                                        const std::vector<std::string> &paths) {
  std::vector<std::string> lines;
  for (const v1::LoweredStatement &statement : report.statements()) {
    std::string line = absl::StrFormat("%-16s %-7s %s", Position(statement.range(), paths),
                                       statement.unit(), statement.what());
    if (statement.compute_time_us() > 0 || statement.memory_time_us() > 0)
      absl::StrAppend(&line, ", compute ", FormatMicroseconds(statement.compute_time_us()),
                      ", memory ", FormatMicroseconds(statement.memory_time_us()));
    if (!statement.reason().empty())
      absl::StrAppend(&line, " -- ", statement.reason());
    if (statement.cores() > 0)
      absl::StrAppend(&line, "; on ", statement.cores(),
                      statement.cores() == 1 ? " core" : " cores",
                      statement.cores_reason().empty() ? "" : ": ", statement.cores_reason());
    if (std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(line);
  }
  return lines;
}

std::string OperationsText(const v1::CompileReport &report) {
  if (!report.exact())
    return report.flops() > 0 ? absl::StrCat("at least ", FormatFlops(report.flops()),
                                             " a launch (the rest is known at run time only)")
                              : "floating-point operations known at run time only";
  return report.flops() > 0 ? absl::StrCat(FormatFlops(report.flops()), " a launch")
                            : "no floating-point operations";
}

} // namespace

PhasesTime TimeOfPhases(const v1::ProfileReport &report) {
  PhasesTime time;
  for (const contract::PhaseGroup &group : contract::GroupPhases(report)) {
    time.us += group.us;
    time.together += group.phases.size() > 1;
  }
  return time;
}

std::string ReportText(const v1::ProfileReport &report, const std::vector<std::string> &paths) {
  Sections out;
  AddVerdict(report, paths, &out);
  AddTrust(report, &out);
  AddLaunch(report, &out);
  AddTime(report, &out);
  AddPhases(report, &out);
  size_t roof_lines = std::min(4, report.rooflines_size());
  size_t used = out.size() + roof_lines + 2;
  AddMemory(report, used < kMaxLines ? kMaxLines - used : 0, &out);
  AddRooflines(report, &out);
  return out.Text();
}

std::string CompileReportText(const v1::Artifact &artifact, const std::vector<std::string> &paths) {
  const v1::CompileReport &report = artifact.report();
  Sections out;
  out.Plain(absl::StrCat("Compile-time report: ", artifact.kernel(), " for ", artifact.target(),
                         artifact.soc().empty() ? "" : " (" + artifact.soc() + ")"));
  out.Begin("Throughput");
  // Keeps the column when the name fills it.
  out.Line(absl::StrCat(
      " ",
      Joined({report.estimated_time_us() > 0
                  ? absl::StrCat(
                        "estimated ", FormatMicroseconds(report.estimated_time_us()), " a launch",
                        report.estimated_launch_us() > 0
                            ? absl::StrCat(", of which launching is ",
                                           FormatMicroseconds(report.estimated_launch_us()))
                            : "")
                  : "no estimate for this target",
              report.estimated_gflops() > 0 ? FormatFlopRate(report.estimated_gflops()) : "",
              OperationsText(report)})));
  if (report.estimated_time_us() > 0)
    out.Line(" estimate: each statement alone at its unit's and the memory's rate, no simulation");
  out.Begin("Bandwidth");
  double moved = report.gm_read_bytes() + report.gm_write_bytes();
  out.Line(absl::StrCat(
      " ", Joined({report.estimated_bandwidth_gb_per_s() > 0
                       ? FormatBytes(report.estimated_bandwidth_gb_per_s() * 1e9) + "/s demanded"
                       : "",
                   absl::StrCat(FormatBytes(report.gm_read_bytes()), " read"),
                   absl::StrCat(FormatBytes(report.gm_write_bytes()), " written by the statements"),
                   report.compulsory_bytes() > 0
                       ? absl::StrCat(FormatBytes(report.compulsory_bytes()), " needed",
                                      moved > 0 ? absl::StrFormat(" (%.1f times)",
                                                                  moved / report.compulsory_bytes())
                                                : "")
                       : ""})));
  out.Begin("Parallel");
  out.Line(absl::StrCat(" ", Joined({report.parallel_iterations() > 0
                                         ? absl::StrCat(report.parallel_iterations(),
                                                        " iterations may run at the same time")
                                         : "",
                                     report.cores_available() > 0
                                         ? absl::StrCat(report.cores_used(), " of ",
                                                        report.cores_available(), " cores used")
                                         : ""})));
  out.Begin("Phases");
  for (const v1::PhasePlan &phase : report.phases())
    out.Line(absl::StrCat(
        " ", phase.entry(), LinesOf(report, phase.entry()), " on ", phase.blocks(), " ",
        phase.core(), phase.blocks() == 1 ? " block" : " blocks", LaunchesOf(phase.launches())));
  if (!report.onchip_bytes().empty()) {
    std::map<std::string, int64_t> memories(report.onchip_bytes().begin(),
                                            report.onchip_bytes().end());
    std::vector<std::string> parts;
    for (const auto &[memory, bytes] : memories)
      parts.push_back(absl::StrCat(memory, " ", FormatKibibytes(bytes)));
    out.Begin("On chip");
    out.Line(absl::StrCat(" ", absl::StrJoin(parts, ", ")));
  }
  out.Begin("Source");
  for (const std::string &line : StatementLines(report, paths))
    out.Line(absl::StrCat(" ", line));
  out.Begin("Passes");
  std::vector<std::string> passes;
  for (const v1::PassCount &pass : report.passes())
    passes.push_back(absl::StrCat(pass.name(), " ", pass.count()));
  if (!passes.empty())
    out.Line(absl::StrCat(" ", absl::StrJoin(passes, ", ")));
  out.Begin("Stages");
  std::vector<std::string> stages;
  for (const v1::CompileStage &stage : report.stages())
    stages.push_back(absl::StrCat(stage.name(), " ", FormatMicroseconds(stage.time_ns() / 1e3)));
  if (!stages.empty())
    out.Line(absl::StrCat(" ", absl::StrJoin(stages, ", ")));
  out.Begin("Bottleneck");
  int number = 0;
  for (const std::string &bottleneck : report.bottlenecks())
    out.Line(absl::StrCat(" ", ++number, ". ", bottleneck));
  return out.Text();
}

std::string MessageJson(const google::protobuf::Message &message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(message, &json, options);
  return json;
}

std::string ReportJson(const v1::ProfileReport &report) { return MessageJson(report); }
std::string CompileReportJson(const v1::CompileReport &report) { return MessageJson(report); }

std::string FindingsJson(const v1::RunDone &done) {
  if (done.findings().empty())
    return "";
  v1::RunDone findings;
  *findings.mutable_findings() = done.findings();
  return MessageJson(findings);
}

} // namespace pyasc::cli
