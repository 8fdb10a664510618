#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/cli/report_html.h"
#include "client/cli/report_text.h"

namespace pyasc::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Everything there is, and more of it than fits.
v1::ProfileReport LargeReport() {
  v1::ProfileReport report;
  report.mutable_verdict()->set_bound_by("latency");
  for (int i = 0; i < 9; ++i) {
    v1::Advice *advice = report.mutable_verdict()->add_advice();
    advice->set_text(absl::StrCat("advice ", i));
    advice->mutable_range()->set_line(i + 1);
    report.add_rooflines()->set_level(absl::StrCat("level", i));
    v1::PhaseProfile *phase = report.add_phases();
    phase->set_entry(absl::StrCat("phase", i));
    phase->set_time_us(10 + i);
    for (const char *pipe : {"scalar", "vector", "cube", "mte1", "mte2", "mte3", "fixpipe"}) {
      v1::PipeTime *time = phase->add_pipes();
      time->set_pipe(pipe);
      time->set_busy_us(5);
      time->set_utilization(0.5);
    }
    for (int j = 0; j < 20; ++j) {
      v1::PathTraffic *traffic = phase->add_paths();
      traffic->set_path(absl::StrCat("path", j));
      traffic->set_bytes(1000 * (j + 1));
    }
  }
  report.mutable_samples()->add_kernel_us(12);
  return report;
}

TEST(ReportTextTest, FortyLinesAreEnoughForAnyReport) {
  std::string text = ReportText(LargeReport(), {"k.py"});
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40) << text;
  // The longest phases, in launch order.
  EXPECT_LT(text.find("phase7"), text.find("phase8"));
  EXPECT_THAT(text, HasSubstr("phase8"));
  EXPECT_THAT(text, Not(HasSubstr("phase6")));
  EXPECT_THAT(text, HasSubstr("7 shorter phases"));
  // The largest path, summed over the phases.
  EXPECT_THAT(text, HasSubstr("path19"));
  EXPECT_THAT(text, HasSubstr("180 kB"));
  EXPECT_THAT(text, HasSubstr("level3"));
}

TEST(ReportTextTest, WhatWasNotMeasuredIsNotShownAsZero) {
  v1::ProfileReport report;
  report.set_kernel_us(5);
  v1::PhaseProfile *phase = report.add_phases();
  v1::PathTraffic *traffic = phase->add_paths();
  traffic->set_path("gm_to_ub");
  traffic->set_bytes(10);
  std::string text = ReportText(report, {});
  EXPECT_THAT(text, HasSubstr("kernel 5.0 us"));
  EXPECT_THAT(text, Not(HasSubstr("wall clock")));
  EXPECT_THAT(text, Not(HasSubstr("moved")));
  EXPECT_THAT(text, Not(HasSubstr("compile")));
  EXPECT_THAT(text, Not(HasSubstr("cycles")));
  EXPECT_THAT(text, Not(HasSubstr("of peak")));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(ReportTextTest, SimulatedTimeIsMarkedAndApartFromTheWallClock) {
  v1::ProfileReport report;
  report.mutable_trust()->set_source("simulated");
  report.set_kernel_us(12);
  report.set_launch_us(5);
  report.add_phases()->set_time_us(7);
  report.set_compile_us(3000);
  report.set_generate_us(200);
  std::string text = ReportText(report, {});
  EXPECT_THAT(text, HasSubstr("kernel 12.0 us = launch 5.0 us + phase 7.0 us (simulated)\n"));
  EXPECT_THAT(text, HasSubstr("compile 3.00 ms | make arguments 200.0 us (wall clock"));
}

TEST(ReportTextTest, PhasesThatRunAtTheSameTimeCountOnce) {
  v1::ProfileReport report;
  report.set_kernel_us(12);
  report.set_launch_us(5);
  for (double time : {7, 6}) {
    v1::PhaseProfile *phase = report.add_phases();
    phase->set_time_us(time);
    phase->set_group(1);
  }
  EXPECT_THAT(ReportText(report, {}),
              HasSubstr("kernel 12.0 us = launch 5.0 us + phases 7.0 us (two at the same time)\n"));
  EXPECT_THAT(ReportHtml(report, {}), HasSubstr("of which phases</td><td class=n>7.0 us"));
}

TEST(ReportTextTest, PhasesNameTheLinesOfTheirStatements) {
  v1::ProfileReport report;
  report.add_phases()->set_entry("k_0");
  v1::PhasePlan *plan = report.mutable_compile()->add_phases();
  plan->set_entry("k_0");
  plan->add_lines()->set_line(92);
  EXPECT_THAT(ReportText(report, {}), HasSubstr("k_0 (line 92) on "));
}

TEST(ReportTextTest, OneRunHasNoStatistics) {
  v1::ProfileReport report;
  report.mutable_samples()->add_kernel_us(12);
  EXPECT_THAT(ReportText(report, {}), Not(HasSubstr("median")));
  report.mutable_samples()->add_kernel_us(13);
  EXPECT_THAT(ReportText(report, {}), HasSubstr("2 runs: median"));
}

TEST(ReportTextTest, TheVerdictIsItsSummaryOnce) {
  v1::ProfileReport report;
  report.mutable_verdict()->set_bound_by("latency");
  report.mutable_verdict()->set_roof_fraction(0.063);
  report.mutable_verdict()->set_summary("latency bound: this and that; 6.3 % of the memory roof");
  EXPECT_THAT(ReportText(report, {}),
              HasSubstr("Verdict   latency bound: this and that; 6.3 % of the memory roof\n"));
}

TEST(ReportTextTest, MoreThanTheRoofIsCalledAFault) {
  v1::ProfileReport report;
  report.add_rooflines()->set_fraction(1.2);
  EXPECT_THAT(ReportText(report, {}), HasSubstr("fault in the counting"));
}

TEST(ReportTextTest, ACompileReportNamesUnitAndReasonOfEachStatementOnce) {
  v1::Artifact artifact;
  artifact.set_kernel("k");
  for (int i = 0; i < 2; ++i) {
    v1::LoweredStatement *statement = artifact.mutable_report()->add_statements();
    statement->mutable_range()->set_line(7);
    statement->set_unit("scalar");
    statement->set_what("loop");
    statement->set_reason("the index is not affine");
  }
  std::string text = CompileReportText(artifact, {"dir/k.py"});
  size_t first = text.find("k.py:7");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("k.py:7", first + 1), std::string::npos);
  EXPECT_THAT(text, HasSubstr("the index is not affine"));
  EXPECT_THAT(text, HasSubstr("no estimate for this target"));
}

TEST(ReportTextTest, OperationsThatAreNotKnownAreNotCalledNone) {
  v1::Artifact artifact;
  v1::CompileReport *report = artifact.mutable_report();
  report->set_exact(true);
  EXPECT_THAT(CompileReportText(artifact, {}), HasSubstr("no floating-point operations"));
  report->set_exact(false);
  EXPECT_THAT(CompileReportText(artifact, {}), HasSubstr("known at run time only"));
  EXPECT_THAT(CompileReportText(artifact, {}), Not(HasSubstr("no floating-point")));
  report->set_flops(2e6);
  EXPECT_THAT(CompileReportText(artifact, {}), HasSubstr("at least 2.00 MFLOP a launch"));
}

TEST(ReportJsonTest, FieldsKeepTheirNamesAndUnmeasuredOnesAreAbsent) {
  v1::ProfileReport report;
  report.add_phases()->set_time_us(1.5);
  std::string json = ReportJson(report);
  EXPECT_THAT(json, HasSubstr("\"time_us\": 1.5"));
  EXPECT_THAT(json, HasSubstr("\"launch_us\": 0"));
  EXPECT_THAT(json, Not(HasSubstr("l2_hit_ratio")));
  EXPECT_THAT(json, Not(HasSubstr("timeUs")));
}

TEST(ReportHtmlTest, NothingOfTheUsersCanBecomeMarkup) {
  v1::ProfileReport report = LargeReport();
  report.mutable_launch()->set_kernel("</script><script>alert(1)</script>");
  report.mutable_verdict()->set_summary("<img src=x onerror=alert(1)>");
  v1::LineTime *line = report.add_lines();
  line->mutable_range()->set_line(1);
  line->set_busy_us(3);
  std::string html = ReportHtml(report, {{"<k>.py", "if a < b & c:\n    '</pre>'"}});
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("if a &lt; b &amp; c:"));
  // One script element: the report's JSON.
  size_t first = html.find("</script>");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(html.find("</script>", first + 1), std::string::npos);
}

TEST(ReportHtmlTest, TheRooflineRisesWithTheMemorysRateToTheUnitsPeak) {
  v1::ProfileReport report;
  report.mutable_compile()->set_peak_gflops(1000);
  v1::Roofline *roof = report.add_rooflines();
  roof->set_flops_per_byte(1);
  roof->set_achieved_gflops(50);
  roof->set_roof_gflops(100);
  roof->set_roof_gb_per_s(100);
  // From 0.1 FLOP/B, where 100 GB/s allow 10 GFLOP/s, over 10 FLOP/B, where they meet the peak.
  EXPECT_THAT(ReportHtml(report, {}), HasSubstr("points=\"60.0,280.0 420.0,106.7 600.0,106.7\""));
}

TEST(ReportHtmlTest, DegenerateNumbersDrawNoInfinities) {
  v1::ProfileReport report = LargeReport();
  v1::Roofline *roof = report.add_rooflines();
  roof->set_flops_per_byte(0);
  roof->set_fraction(std::numeric_limits<double>::quiet_NaN());
  report.add_phases()->add_pipes()->set_wait_us(4);
  std::string html = ReportHtml(report, {});
  size_t svg = 0;
  while ((svg = html.find("<svg", svg)) != std::string::npos) {
    std::string chart = html.substr(svg, html.find("</svg>", svg) - svg);
    EXPECT_EQ(chart.find("nan"), std::string::npos);
    EXPECT_EQ(chart.find("inf"), std::string::npos);
    ++svg;
  }
}

} // namespace
} // namespace pyasc::cli
