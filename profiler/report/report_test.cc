#include "profiler/report/build_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pyasc::report {
namespace {

using ::testing::HasSubstr;

v1::Artifact SimArtifact(double flops, double bytes) {
  v1::Artifact artifact;
  artifact.set_kernel("k");
  artifact.set_target("sim");
  artifact.mutable_report()->set_flops(flops);
  artifact.mutable_report()->set_compulsory_bytes(bytes);
  artifact.mutable_report()->set_peak_gflops(1000);
  artifact.mutable_report()->set_peak_bandwidth_gb_per_s(100);
  return artifact;
}

device::LaunchOutcome OnePhase(double time_us) {
  device::LaunchOutcome outcome;
  outcome.kernel_us = time_us;
  v1::PhaseProfile &phase = outcome.phases.emplace_back();
  phase.set_entry("k_0");
  phase.set_time_us(time_us);
  v1::PipeTime *pipe = phase.add_pipes();
  pipe->set_pipe("mte2");
  pipe->set_utilization(0.9);
  return outcome;
}

TEST(BuildReport, NamesMemoryWhenTheMemoryRoofIsNear) {
  // 1e6 bytes at 100 GB/s take 10 us; 11 us is 91 % of that roof.
  v1::ProfileReport report;
  BuildReport(SimArtifact(1e6, 1e6), OnePhase(11), &report);
  ASSERT_EQ(report.rooflines_size(), 1);
  EXPECT_NEAR(report.rooflines(0).fraction(), 10.0 / 11, 1e-9);
  EXPECT_EQ(report.verdict().bound_by(), "memory");
}

TEST(BuildReport, NamesComputeWhenTheComputeRoofIsNear) {
  // 1e9 flops at 1000 GFLOP/s take 1000 us.
  v1::ProfileReport report;
  BuildReport(SimArtifact(1e9, 1e6), OnePhase(1100), &report);
  EXPECT_EQ(report.verdict().bound_by(), "compute");
}

TEST(BuildReport, NamesLatencyAndTheBusiestPipeFarFromAnyRoof) {
  v1::ProfileReport report;
  BuildReport(SimArtifact(1e6, 1e6), OnePhase(100), &report);
  EXPECT_EQ(report.verdict().bound_by(), "latency");
  EXPECT_THAT(report.verdict().summary(), HasSubstr("mte2"));
}

TEST(BuildReport, SaysThatMoreThanTheRoofIsAFaultOfCounting) {
  v1::ProfileReport report;
  BuildReport(SimArtifact(1e6, 1e6), OnePhase(5), &report);
  EXPECT_THAT(report.verdict().summary(), HasSubstr("counted wrongly"));
}

TEST(BuildReport, SurvivesZeroMeasuredTime) {
  v1::ProfileReport report;
  BuildReport(SimArtifact(1e6, 1e6), OnePhase(0), &report);
  EXPECT_EQ(report.rooflines_size(), 0);
  EXPECT_FALSE(report.verdict().summary().empty());
}

TEST(BuildReport, AdvisesTheLineThatRunsOnTheScalarUnit) {
  v1::Artifact artifact = SimArtifact(1e6, 1e6);
  v1::LoweredStatement *statement = artifact.mutable_report()->add_statements();
  statement->set_unit("scalar");
  statement->set_reason("index of 'A' is loaded from memory");
  statement->mutable_range()->set_line(7);
  device::LaunchOutcome outcome = OnePhase(100);
  v1::LineTime &line = outcome.lines.emplace_back();
  line.mutable_range()->set_line(7);
  line.set_busy_us(50);
  v1::ProfileReport report;
  BuildReport(artifact, outcome, &report);
  ASSERT_GE(report.verdict().advice_size(), 1);
  EXPECT_EQ(report.verdict().advice(0).range().line(), 7u);
  EXPECT_THAT(report.verdict().advice(0).text(), HasSubstr("index of 'A'"));
}

TEST(Summarize, GivesQuartilesByInterpolation) {
  v1::Samples samples = Summarize({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(samples.min_us(), 1);
  EXPECT_DOUBLE_EQ(samples.median_us(), 2.5);
  EXPECT_DOUBLE_EQ(samples.p25_us(), 1.75);
  EXPECT_DOUBLE_EQ(samples.p75_us(), 3.25);
  EXPECT_DOUBLE_EQ(samples.mean_us(), 2.5);
  EXPECT_DOUBLE_EQ(samples.relative_spread(), 0.6);
  EXPECT_EQ(samples.kernel_us(0), 4) << "samples stay in the order of measuring";
}

TEST(Summarize, GivesNothingForNoSamples) { EXPECT_EQ(Summarize({}).kernel_us_size(), 0); }

} // namespace
} // namespace pyasc::report
