#include "profiler/report/build_report.h"

#include <set>
#include <string>

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

struct Busy {
  const char *pipe;
  double share;
};

// A profile of 100 us of phases, whose pipes are busy as said, after `launch_us`, far from any
// roof.
v1::ProfileReport Crafted(std::initializer_list<Busy> pipes, double launch_us = 1) {
  device::LaunchOutcome outcome;
  outcome.launch_us = launch_us;
  outcome.kernel_us = launch_us + 100;
  v1::PhaseProfile &phase = outcome.phases.emplace_back();
  phase.set_entry("k_0");
  phase.set_time_us(100);
  for (const Busy &busy : pipes) {
    v1::PipeTime *pipe = phase.add_pipes();
    pipe->set_pipe(busy.pipe);
    pipe->set_busy_us(100 * busy.share);
    pipe->set_utilization(busy.share);
  }
  v1::ProfileReport report;
  BuildReport(SimArtifact(1e6, 1e6), outcome, &report);
  return report;
}

TEST(Verdict, FollowsFromTheBusiestPipe) {
  struct Case {
    std::initializer_list<Busy> pipes;
    const char *bound;
  };
  const Case cases[] = {
      {{{"scalar", 0.99}, {"mte2", 0.1}}, "scalar"},
      {{{"vector", 0.7}, {"mte2", 0.5}}, "vector"},
      {{{"cube", 0.74}, {"mte2", 0.89}}, "transfer"},
      {{{"mte3", 0.9}}, "transfer"},
      {{{"cube", 0.95}, {"mte2", 0.89}}, "cube"},
      {{{"vector", 0.5}, {"mte2", 0.59}}, "latency"},
  };
  for (const Case &one : cases) {
    v1::Verdict verdict = Crafted(one.pipes).verdict();
    EXPECT_EQ(verdict.bound_by(), one.bound);
    EXPECT_THAT(verdict.summary(), testing::StartsWith(std::string(one.bound) + " bound: "));
    EXPECT_THAT(verdict.summary(), HasSubstr("of the memory roof"));
  }
}

TEST(Verdict, LaunchesThatTakeHalfOfTheTimeComeBeforePipes) {
  EXPECT_EQ(Crafted({{"scalar", 0.99}}, 99).verdict().bound_by(), "scalar");
  v1::ProfileReport report = Crafted({{"scalar", 0.99}}, 101);
  EXPECT_EQ(report.verdict().bound_by(), "launch");
  // The launch is part of the kernel's time: 101 of 201 us.
  ASSERT_EQ(report.verdict().advice_size(), 1);
  EXPECT_NEAR(report.verdict().advice(0).gain(), 101.0 / 201, 1e-9);
  EXPECT_THAT(report.verdict().advice(0).text(), HasSubstr("101.0 us of the kernel's 201.0 us"));
  EXPECT_THAT(report.verdict().advice(0).text(), testing::Not(HasSubstr("1 phase")));
}

TEST(Verdict, WithoutPipesOrRoofsNamesNoBound) {
  v1::Artifact artifact;
  artifact.set_target("host");
  device::LaunchOutcome outcome;
  outcome.kernel_us = 10;
  v1::ProfileReport report;
  BuildReport(artifact, outcome, &report);
  EXPECT_EQ(report.verdict().bound_by(), "");
  EXPECT_THAT(report.verdict().summary(), testing::StartsWith("times only"));
  EXPECT_EQ(report.trust().caches(), "warm");
}

TEST(BuildReport, AKernelWithoutFloatingPointHasARoofInBytes) {
  v1::ProfileReport report;
  BuildReport(SimArtifact(0, 1e6), OnePhase(20), &report);
  ASSERT_EQ(report.rooflines_size(), 1);
  EXPECT_NEAR(report.rooflines(0).fraction(), 0.5, 1e-9);
  EXPECT_NEAR(report.rooflines(0).achieved_gb_per_s(), 50, 1e-9);
  EXPECT_EQ(report.rooflines(0).roof(), "memory");
}

TEST(BuildReport, MovedBytesAreThoseBetweenGlobalMemoryAndTheCores) {
  device::LaunchOutcome outcome = OnePhase(20);
  for (auto [path, bytes] :
       std::initializer_list<std::pair<const char *, int64_t>>{{"gm_to_ub", 100},
                                                               {"ub_to_gm", 20},
                                                               {"gm_to_scalar", 3},
                                                               {"l2_read", 100},
                                                               {"l1_to_l0a", 50},
                                                               {"hbm_read", 512}}) {
    v1::PathTraffic *traffic = outcome.phases[0].add_paths();
    traffic->set_path(path);
    traffic->set_bytes(bytes);
  }
  v1::ProfileReport report;
  BuildReport(SimArtifact(0, 1e6), outcome, &report);
  EXPECT_EQ(report.moved_bytes(), 123);
  BuildReport(SimArtifact(0, 1e6), OnePhase(20), &report);
  EXPECT_FALSE(report.has_moved_bytes());
}

TEST(BuildReport, ImbalanceIsTheSlowestCoreOverTheMean) {
  device::LaunchOutcome outcome = OnePhase(20);
  for (double us : {10.0, 10.0, 16.0})
    outcome.phases[0].add_core_time_us(us);
  v1::ProfileReport report;
  BuildReport(SimArtifact(1e6, 1e6), outcome, &report);
  EXPECT_NEAR(report.phases(0).imbalance(), 16.0 / 12 - 1, 1e-9);
  ASSERT_EQ(report.verdict().advice_size(), 1);
  EXPECT_THAT(report.verdict().advice(0).text(),
              HasSubstr("mean 12.0 us, slowest 16.0 us, imbalance 33 %"));
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

// A kernel whose lines 4 to 7 run on the scalar unit all the time, with `statements` of them.
v1::ProfileReport Scalar(std::initializer_list<v1::LoweredStatement> statements) {
  v1::Artifact artifact = SimArtifact(1e6, 1e6);
  artifact.mutable_report()->set_cores_used(1);
  artifact.mutable_report()->set_cores_available(40);
  for (const v1::LoweredStatement &statement : statements)
    *artifact.mutable_report()->add_statements() = statement;
  device::LaunchOutcome outcome = OnePhase(100);
  v1::LineTime &line = outcome.lines.emplace_back();
  line.mutable_range()->set_line(6);
  line.set_busy_us(100);
  v1::ProfileReport report;
  BuildReport(artifact, outcome, &report);
  return report;
}

v1::LoweredStatement ScalarStatement(uint32_t line, const char *reason, int64_t cores = 40,
                                     const char *cores_reason = "") {
  v1::LoweredStatement statement;
  statement.set_unit("scalar");
  statement.set_reason(reason);
  statement.mutable_range()->set_line(line);
  statement.mutable_range()->set_end_line(7);
  statement.set_cores(cores);
  statement.set_cores_reason(cores_reason);
  return statement;
}

TEST(Advice, TimeInsideALoopCountsForTheLoop) {
  v1::ProfileReport report = Scalar({ScalarStatement(4, "index of 'A' is loaded from memory")});
  ASSERT_EQ(report.verdict().advice_size(), 1);
  const v1::Advice &advice = report.verdict().advice(0);
  EXPECT_EQ(advice.range().line(), 4u);
  EXPECT_THAT(advice.text(), HasSubstr("line 4 runs on the scalar unit: index of 'A'"));
  // Up to the roof, which allows 10 of these 100 us.
  EXPECT_NEAR(advice.gain(), 0.9, 1e-9);
}

TEST(Advice, OfTwoStatementsOnOneLineThePhasesTell) {
  v1::Artifact artifact = SimArtifact(1, 1);
  v1::CompileReport *compile = artifact.mutable_report();
  *compile->add_statements() = ScalarStatement(4, "it has few elements");
  *compile->add_statements() = ScalarStatement(4, "");
  compile->mutable_statements(1)->set_unit("vector");
  device::LaunchOutcome outcome;
  outcome.kernel_us = 100;
  for (uint32_t n : {0u, 1u}) {
    v1::PhasePlan *plan = compile->add_phases();
    plan->set_entry(n == 0 ? "k_0" : "k_1");
    plan->add_statements(n);
    v1::PhaseProfile &phase = outcome.phases.emplace_back();
    phase.set_entry(plan->entry());
    phase.set_time_us(n == 0 ? 10 : 90);
  }
  v1::LineTime &line = outcome.lines.emplace_back();
  line.mutable_range()->set_line(4);
  line.set_busy_us(100);
  v1::ProfileReport report;
  BuildReport(artifact, outcome, &report);
  ASSERT_EQ(report.verdict().advice_size(), 1);
  EXPECT_NEAR(report.verdict().advice(0).gain(), 0.1, 0.01);
}

TEST(Advice, OfRowsThatAreCopiedOnlyTheCoresAreAdvised) {
  v1::LoweredStatement copies = ScalarStatement(4, "", 1, "the loop is not parallel");
  copies.set_unit("transfer");
  v1::ProfileReport report = Scalar({copies});
  ASSERT_EQ(report.verdict().advice_size(), 1);
  EXPECT_THAT(report.verdict().advice(0).text(),
              HasSubstr("line 4 copies rows by DMA: 1 of 40 cores runs it"));
  copies.set_cores(40);
  EXPECT_EQ(Scalar({copies}).verdict().advice_size(), 0);
}

TEST(Advice, SaysNothingTwiceAndSavesNoMoreThanThereIs) {
  v1::ProfileReport report = Scalar({ScalarStatement(4, "why"), ScalarStatement(4, "why"),
                                     ScalarStatement(6, "why"), ScalarStatement(5, "because")});
  double sum = 0;
  std::set<std::string> texts;
  for (const v1::Advice &advice : report.verdict().advice()) {
    sum += advice.gain();
    EXPECT_TRUE(texts.insert(advice.text()).second) << advice.text();
  }
  EXPECT_LE(sum, 1.0);
  EXPECT_THAT(report.verdict().advice(0).text(), HasSubstr("lines 4, 6 run on the scalar unit"));
}

TEST(Advice, AParallelLoopIsNotToldToBecomeOne) {
  v1::ProfileReport report =
      Scalar({ScalarStatement(4, "why", 1, "where it writes in 'h' is known at run time only")});
  ASSERT_EQ(report.verdict().advice_size(), 1);
  EXPECT_THAT(report.verdict().advice(0).text(), HasSubstr("1 of 40 cores does it all: "
                                                           "where it writes in 'h'"));
  EXPECT_THAT(report.verdict().advice(0).text(), testing::Not(HasSubstr("asc.parallel_for")));
  report = Scalar({ScalarStatement(4, "why", 1, "the loop is not parallel")});
  EXPECT_THAT(report.verdict().advice(0).text(), HasSubstr("write asc.parallel_for"));
}

// y[0] = x.sum()
TEST(Advice, AStepThatIsNoLoopIsNotToldToBecomeAParallelOne) {
  v1::ProfileReport report = Scalar({ScalarStatement(4, "why", 1, "the step is no loop")});
  ASSERT_EQ(report.verdict().advice_size(), 1);
  EXPECT_THAT(report.verdict().advice(0).text(), testing::Not(HasSubstr("asc.parallel_for")));
  EXPECT_THAT(report.verdict().advice(0).text(), HasSubstr("a single step and no loop"));
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
