#include "client/cli/report_html.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/cli/format.h"
#include "client/cli/report_text.h"

namespace pyasc::cli {
namespace {

constexpr char kHead[] = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>
:root{--fg:#1d2433;--dim:#667085;--line:#e4e7ec;--bg:#fff;--bar:#3b7dd8;--wait:#f2b544;--hot:224,82,60}
@media(prefers-color-scheme:dark){:root{--fg:#e6e9ef;--dim:#98a2b3;--line:#344054;--bg:#12161f}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--fg);background:var(--bg);max-width:1000px;margin:2em auto;padding:0 1em}
h1{font-size:1.4em;margin-bottom:.2em}h2{font-size:1.1em;margin:1.8em 0 .4em;border-bottom:1px solid var(--line)}
h3{font-size:1em;margin:1em 0 .3em}.dim{color:var(--dim)}.verdict{font-size:1.15em}
table{border-collapse:collapse;width:100%}th{text-align:left;font-weight:600;color:var(--dim)}
td,th{padding:.15em .6em .15em 0;vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
pre,code,td.code{font:13px/1.45 ui-monospace,monospace}td.code{white-space:pre}
svg{display:block;max-width:100%}svg text{font:12px system-ui,sans-serif;fill:var(--fg)}
.axis{stroke:var(--dim)}.grid{stroke:var(--line)}.b{fill:var(--bar)}.w{fill:var(--wait)}.r{stroke:var(--bar);fill:none;stroke-width:2}.p{fill:rgb(var(--hot))}
</style>
)";

std::string Number(double value) { return absl::StrFormat("%.2f", value); }

std::string Cell(absl::string_view text) { return absl::StrCat("<td>", HtmlEscape(text), "</td>"); }
std::string NumberCell(absl::string_view text) {
  return absl::StrCat("<td class=n>", HtmlEscape(text), "</td>");
}

// One horizontal bar, a second part behind the first.
std::string BarSvg(double first, double second) {
  constexpr double kWidth = 260;
  double a = std::clamp(first, 0.0, 1.0) * kWidth;
  double b = std::clamp(second, 0.0, 1.0) * kWidth;
  b = std::min(b, kWidth - a);
  return absl::StrFormat("<svg width=260 height=12 role=img><rect class=grid width=260 height=12 "
                         "fill=none /><rect class=b width=%.1f height=12 /><rect class=w x=%.1f "
                         "width=%.1f height=12 /></svg>",
                         a, a, b);
}

std::string TimeSection(const v1::ProfileReport &report) {
  struct Part {
    const char *name;
    double us;
  };
  const double phases = TimeOfPhases(report).us;
  // Two clocks, two tables: simulated and real time are not comparable.
  const std::vector<Part> device = {{"kernel", report.kernel_us()},
                                    {"of which launch", report.launch_us()},
                                    {"of which phases", report.launch_us() > 0 ? phases : 0}};
  const std::vector<Part> wall = {{"compile", report.compile_us()},
                                  {"make arguments", report.generate_us()},
                                  {"copy in", report.copy_in_us()},
                                  {"copy out", report.copy_out_us()}};
  std::string html = "<h2>Time</h2>";
  auto add = [&](absl::string_view title, const std::vector<Part> &parts) {
    double most = 0;
    for (const Part &part : parts)
      most = std::max(most, part.us);
    if (most <= 0)
      return;
    absl::StrAppend(&html, "<h3>", HtmlEscape(title), "</h3><table>");
    for (const Part &part : parts)
      if (part.us > 0)
        absl::StrAppend(&html, "<tr>", Cell(part.name), NumberCell(FormatMicroseconds(part.us)),
                        "<td>", BarSvg(part.us / most, 0), "</td></tr>");
    html += "</table>";
  };
  add(absl::StrCat("On the device (", report.trust().source(), ")"), device);
  add("In the service (wall clock)", wall);
  if (report.samples().kernel_us_size() > 1) {
    const auto &samples = report.samples().kernel_us();
    double top = *std::max_element(samples.begin(), samples.end());
    double step = 600.0 / samples.size();
    html += "<h3>Samples</h3><svg width=620 height=110 role=img>";
    for (int i = 0; i < samples.size() && top > 0; ++i)
      absl::StrAppend(&html, absl::StrFormat("<rect class=b x=%.2f y=%.2f width=%.2f height=%.2f>"
                                             "<title>%s</title></rect>",
                                             i * step, 100 - 96 * samples[i] / top,
                                             std::max(step - 1, 0.5), 96 * samples[i] / top,
                                             FormatMicroseconds(samples[i])));
    absl::StrAppend(&html, "</svg><p class=dim>median ",
                    FormatMicroseconds(report.samples().median_us()), ", min ",
                    FormatMicroseconds(report.samples().min_us()), ", spread ",
                    FormatPercent(report.samples().relative_spread()), "</p>");
  }
  return html;
}

std::string CoresSvg(const v1::PhaseProfile &phase) {
  const auto &cores = phase.core_time_us();
  double top = *std::max_element(cores.begin(), cores.end());
  double step = 600.0 / cores.size();
  std::string svg = "<h3>Time of each core</h3><svg width=620 height=90 role=img>";
  for (int i = 0; i < cores.size() && top > 0; ++i)
    absl::StrAppend(&svg,
                    absl::StrFormat("<rect class=b x=%.2f y=%.2f width=%.2f height=%.2f>"
                                    "<title>core %d: %s</title></rect>",
                                    i * step, 84 - 80 * cores[i] / top, std::max(step - 1, 0.5),
                                    80 * cores[i] / top, i, FormatMicroseconds(cores[i])));
  return svg + "</svg>";
}

std::string PhaseSection(const v1::PhaseProfile &phase) {
  std::string html = absl::StrCat(
      "<h3>", HtmlEscape(phase.entry()), " <span class=dim>", phase.blocks(), " ",
      HtmlEscape(phase.core()), phase.blocks() == 1 ? " block, " : " blocks, ",
      phase.launches() > 1 ? absl::StrCat(phase.launches(), " launches, ") : "",
      phase.has_imbalance() ? absl::StrCat("imbalance ", FormatPercent(phase.imbalance()), ", ")
                            : "",
      FormatMicroseconds(phase.time_us()),
      phase.has_cycles() ? absl::StrCat(", ", phase.cycles(), " cycles") : "",
      phase.has_l2_hit_ratio() ? absl::StrCat(", L2 hits ", FormatPercent(phase.l2_hit_ratio()))
                               : "",
      "</span></h3>");
  if (phase.pipes_size() > 0) {
    html += "<table><tr><th>pipe<th class=n>busy<th class=n>waiting<th class=n>instructions"
            "<th class=n>of the time<th>";
    for (const v1::PipeTime &pipe : phase.pipes()) {
      double wait = phase.time_us() > 0 ? pipe.wait_us() / phase.time_us() : 0;
      absl::StrAppend(&html, "<tr>", Cell(pipe.pipe()),
                      NumberCell(FormatMicroseconds(pipe.busy_us())),
                      NumberCell(FormatMicroseconds(pipe.wait_us())),
                      NumberCell(absl::StrCat(pipe.instructions())),
                      NumberCell(FormatPercent(pipe.utilization())), "<td>",
                      BarSvg(pipe.utilization(), wait), "</td></tr>");
    }
    html += "</table><p class=dim>blue: busy, yellow: waiting</p>";
  }
  if (phase.paths_size() > 0) {
    html += "<table><tr><th>path<th class=n>bytes<th class=n>rate<th class=n>of peak<th>";
    for (const v1::PathTraffic &path : phase.paths())
      absl::StrAppend(
          &html, "<tr>", Cell(path.path()),
          NumberCell(FormatBytes(static_cast<double>(path.bytes()))),
          NumberCell(FormatBytes(path.gb_per_s() * 1e9) + "/s"),
          NumberCell(path.has_peak_fraction() ? FormatPercent(path.peak_fraction()) : "not known"),
          "<td>", path.has_peak_fraction() ? BarSvg(path.peak_fraction(), 0) : "", "</td></tr>");
    html += "</table>";
  }
  if (phase.core_time_us_size() > 1)
    html += CoresSvg(phase);
  return html;
}

// Both axes logarithmic: the slope of the memory's rate, flat at the peak of the units that the
// kernel uses, and below it what was achieved.
std::string RooflineSection(const v1::ProfileReport &report) {
  struct Point {
    const v1::Roofline *roof;
    double x, y, top, slope; // logarithms; slope: of the rate, in GB/s
  };
  double peak = std::log10(report.compile().peak_gflops());
  std::vector<Point> points;
  for (const v1::Roofline &roof : report.rooflines())
    if (roof.flops_per_byte() > 0 && roof.achieved_gflops() > 0 && roof.roof_gflops() > 0 &&
        roof.roof_gb_per_s() > 0 && report.compile().peak_gflops() > 0)
      points.push_back({&roof, std::log10(roof.flops_per_byte()),
                        std::log10(roof.achieved_gflops()), std::log10(roof.roof_gflops()),
                        std::log10(roof.roof_gb_per_s())});
  if (points.empty())
    return "";
  double x0 = points[0].x, x1 = x0, y0 = points[0].y, y1 = peak;
  for (const Point &point : points) {
    double ridge = peak - point.slope;
    x0 = std::min({x0, point.x, ridge});
    x1 = std::max({x1, point.x, ridge});
    y0 = std::min({y0, point.y, point.top});
  }
  x0 = std::floor(x0 - 0.5), x1 = std::ceil(x1 + 0.5), y0 = std::floor(y0 - 0.5),
  y1 = std::ceil(y1 + 0.2);
  auto px = [&](double x) { return 60 + (x - x0) / (x1 - x0) * 540; };
  auto py = [&](double y) { return 280 - (y - y0) / (y1 - y0) * 260; };
  std::string svg = "<h2>Roofline</h2><svg width=680 height=320 role=img>";
  for (double x = x0; x <= x1; ++x)
    absl::StrAppend(&svg, absl::StrFormat("<line class=grid x1=%.1f x2=%.1f y1=20 y2=280 /><text "
                                          "x=%.1f y=296 text-anchor=middle>%g</text>",
                                          px(x), px(x), px(x), std::pow(10, x)));
  for (double y = y0; y <= y1; ++y)
    absl::StrAppend(&svg, absl::StrFormat("<line class=grid y1=%.1f y2=%.1f x1=60 x2=600 /><text "
                                          "x=54 y=%.1f text-anchor=end>%g</text>",
                                          py(y), py(y), py(y) + 4, std::pow(10, y)));
  svg += "<text x=330 y=316 text-anchor=middle>FLOP per byte</text><text x=60 y=12>GFLOP/s</text>";
  for (const Point &point : points) {
    // The slope starts where it enters the chart, on the left or from below.
    double from = std::max(x0, y0 - point.slope), ridge = peak - point.slope;
    absl::StrAppend(
        &svg,
        absl::StrFormat("<polyline class=r fill=none points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" />",
                        px(from), py(from + point.slope), px(ridge), py(peak), px(x1), py(peak)),
        absl::StrFormat("<line class=axis stroke-dasharray=3 x1=%.1f x2=%.1f y1=%.1f y2=%.1f />"
                        "<circle class=p cx=%.1f cy=%.1f r=5><title>%s</title></circle>"
                        "<text x=%.1f y=%.1f>%s %s</text>",
                        px(point.x), px(point.x), py(point.top), py(point.y), px(point.x),
                        py(point.y), FormatFlopRate(point.roof->achieved_gflops()), px(point.x) + 9,
                        py(point.y) + 4, HtmlEscape(point.roof->level()),
                        FormatPercent(point.roof->fraction())));
  }
  svg += "</svg><p class=dim>blue: what the memory's rate and the units' peak allow; red: "
         "achieved</p><table><tr>"
         "<th>level<th class=n>FLOP/B<th class=n>achieved<th class=n>roof<th class=n>fraction";
  for (const v1::Roofline &roof : report.rooflines())
    absl::StrAppend(&svg, "<tr>", Cell(roof.level()), NumberCell(Number(roof.flops_per_byte())),
                    NumberCell(FormatFlopRate(roof.achieved_gflops())),
                    NumberCell(FormatFlopRate(roof.roof_gflops())),
                    NumberCell(FormatPercent(roof.fraction())), "</tr>");
  return svg + "</table>";
}

// The source with the share of the time that each line took as its background.
std::string SourceSection(const v1::ProfileReport &report,
                          const std::vector<ReportSource> &sources) {
  std::map<std::pair<uint32_t, uint32_t>, const v1::LineTime *> times;
  std::map<std::pair<uint32_t, uint32_t>, std::string> notes;
  double most = 0;
  for (const v1::LineTime &line : report.lines()) {
    times[{line.range().file(), line.range().line()}] = &line;
    most = std::max(most, line.busy_us());
  }
  for (const v1::LoweredStatement &statement : report.compile().statements()) {
    std::string &note = notes[{statement.range().file(), statement.range().line()}];
    std::string text = absl::StrCat(statement.unit(), ": ", statement.what(),
                                    statement.reason().empty() ? "" : " (", statement.reason(),
                                    statement.reason().empty() ? "" : ")");
    if (!absl::StrContains(note, text))
      absl::StrAppend(&note, note.empty() ? "" : "; ", text);
  }
  if (times.empty() && notes.empty())
    return "";
  std::string html = "<h2>Source</h2>";
  for (uint32_t file = 0; file < sources.size(); ++file) {
    absl::StrAppend(&html, "<h3>", HtmlEscape(sources[file].path),
                    "</h3><table><tr><th class=n>line<th class=n>busy<th>pipe<th>source<th>runs "
                    "as");
    uint32_t number = 0;
    for (absl::string_view line : absl::StrSplit(sources[file].content, '\n')) {
      ++number;
      auto time = times.find({file, number});
      auto note = notes.find({file, number});
      const v1::LineTime *measured = time == times.end() ? nullptr : time->second;
      double heat = measured && most > 0 ? measured->busy_us() / most : 0;
      absl::StrAppend(
          &html,
          heat > 0 ? absl::StrFormat("<tr style=\"background:rgba(var(--hot),%.2f)\">", heat * 0.5)
                   : "<tr>",
          NumberCell(absl::StrCat(number)),
          NumberCell(measured ? FormatMicroseconds(measured->busy_us()) : ""),
          Cell(measured ? measured->pipe() : ""), "<td class=code>", HtmlEscape(line), "</td>",
          Cell(note == notes.end() ? "" : note->second), "</tr>\n");
    }
    html += "</table>";
  }
  return html;
}

std::string CompilerSection(const v1::CompileReport &report) {
  std::string html;
  if (!report.bottlenecks().empty()) {
    html += "<h3>Bottlenecks that the compiler foresaw</h3><ol>";
    for (const std::string &bottleneck : report.bottlenecks())
      absl::StrAppend(&html, "<li>", HtmlEscape(bottleneck));
    html += "</ol>";
  }
  if (!report.stages().empty()) {
    html += "<h3>Stages</h3><table>";
    for (const v1::CompileStage &stage : report.stages())
      absl::StrAppend(&html, "<tr>", Cell(stage.name()),
                      NumberCell(FormatMicroseconds(static_cast<double>(stage.time_ns()) / 1e3)),
                      "</tr>");
    html += "</table>";
  }
  return html.empty() ? html : "<h2>Compiler</h2>" + html;
}

} // namespace

std::string HtmlEscape(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string ReportHtml(const v1::ProfileReport &report, const std::vector<ReportSource> &sources) {
  const v1::LaunchInfo &launch = report.launch();
  const v1::Verdict &verdict = report.verdict();
  std::vector<std::string> paths;
  paths.reserve(sources.size());
  for (const ReportSource &source : sources)
    paths.push_back(source.path);
  std::string html = kHead;
  absl::StrAppend(
      &html, "<title>", HtmlEscape(launch.kernel()), ": pyasc report</title></head>", "<body><h1>",
      HtmlEscape(launch.kernel()), "</h1><p class=dim>",
      HtmlEscape(absl::StrCat(launch.driver(), " ", launch.device(), " ", launch.soc())), "<br>",
      HtmlEscape(absl::StrJoin(launch.arguments(), ", ")), "</p>");
  absl::StrAppend(&html, "<h2>Verdict</h2><p class=verdict>", HtmlEscape(verdict.summary()),
                  "</p><ol>");
  for (const v1::Advice &advice : verdict.advice())
    absl::StrAppend(&html, "<li>", HtmlEscape(advice.text()),
                    advice.range().line()
                        ? absl::StrCat(" <span class=dim>line ", advice.range().line(), "</span>")
                        : "",
                    advice.gain() > 0 ? absl::StrCat(" <span class=dim>may save ",
                                                     FormatPercent(advice.gain()), "</span>")
                                      : "");
  html += "</ol>";
  html += TimeSection(report);
  if (report.phases_size() > 0)
    html += "<h2>Phases</h2>";
  for (const v1::PhaseProfile &phase : report.phases())
    html += PhaseSection(phase);
  html += RooflineSection(report);
  html += SourceSection(report, sources);
  html += CompilerSection(report.compile());
  absl::StrAppend(&html, "<h2>As text</h2><pre>", HtmlEscape(ReportText(report, paths)), "</pre>");
  // "</" inside a script would end it.
  absl::StrAppend(&html, "<script type=\"application/json\" id=\"report\">",
                  absl::StrReplaceAll(ReportJson(report), {{"</", "<\\/"}}),
                  "</script></body></html>\n");
  return html;
}

} // namespace pyasc::cli
