#include "client/cli/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/report_text.h"
#include "client/cpp/files.h"

namespace pyasc::cli {
namespace {

using ::testing::HasSubstr;

v1::ProfileReport Report(const char *source, std::vector<double> samples) {
  v1::ProfileReport report;
  report.mutable_launch()->set_kernel("k");
  report.mutable_trust()->set_source(source);
  for (double us : samples)
    report.mutable_samples()->add_kernel_us(us);
  std::sort(samples.begin(), samples.end());
  report.mutable_samples()->set_median_us(samples[samples.size() / 2]);
  return report;
}

TEST(BaselineTest, SimulatedTimesAreComparedAsTheyAre) {
  EXPECT_EQ(Compare(Report("simulated", {100}), Report("simulated", {105}))->verdict,
            Comparison::kSlower);
  EXPECT_EQ(Compare(Report("simulated", {100}), Report("simulated", {95}))->verdict,
            Comparison::kFaster);
  absl::StatusOr<Comparison> same =
      Compare(Report("simulated", {100}), Report("simulated", {100.4}));
  EXPECT_EQ(same->verdict, Comparison::kSame);
  EXPECT_THAT(same->text, HasSubstr("SAME: 100.4 us after 100.0 us (+0.4 %)"));
}

TEST(BaselineTest, MeasuredDifferencesNeedProof) {
  std::vector<double> low = {100, 101, 102, 100.5, 101.5, 99, 100.2, 101.1};
  std::vector<double> high = {110, 111, 109, 110.5, 112, 108, 110.1, 111.2};
  EXPECT_EQ(Compare(Report("measured", low), Report("measured", high))->verdict,
            Comparison::kSlower);
  EXPECT_EQ(Compare(Report("measured", high), Report("measured", low))->verdict,
            Comparison::kFaster);
  // Other medians, but the samples lie among each other.
  std::vector<double> wide = {90, 130, 95, 125, 104, 120, 92, 99};
  EXPECT_EQ(Compare(Report("measured", low), Report("measured", wide))->verdict,
            Comparison::kUnsure);
  EXPECT_EQ(Compare(Report("measured", {100, 100}), Report("measured", {200, 200}))->verdict,
            Comparison::kUnsure);
  EXPECT_EQ(Compare(Report("measured", low), Report("measured", low))->verdict, Comparison::kSame);
}

TEST(BaselineTest, AnotherLaunchIsNoBaseline) {
  v1::ProfileReport other = Report("simulated", {100});
  other.mutable_launch()->add_arguments("A=f32[8]");
  EXPECT_THAT(Compare(Report("simulated", {100}), other).status().message(),
              HasSubstr("another launch: k() on"));
  EXPECT_FALSE(Compare(Report("simulated", {100}), Report("simulated", {0})).ok());
}

TEST(BaselineTest, AReportComesBackFromItsJson) {
  std::string path = ::testing::TempDir() + "/baseline.json";
  v1::ProfileReport report = Report("measured", {1, 2, 3});
  std::string json = ReportJson(report);
  json.insert(json.find('{') + 1, "\"field_of_a_later_version\": 3,");
  ASSERT_TRUE(client::WriteFile(path, {json}).ok());
  absl::StatusOr<v1::ProfileReport> again = ReadReportJson(path);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->SerializeAsString(), report.SerializeAsString());
  ASSERT_TRUE(client::WriteFile(path, {"not json"}).ok());
  EXPECT_FALSE(ReadReportJson(path).ok());
}

TEST(BaselineTest, TolerancesAreShares) {
  EXPECT_DOUBLE_EQ(*ParseTolerance("5%"), 0.05);
  EXPECT_DOUBLE_EQ(*ParseTolerance("2.5 %"), 0.025);
  EXPECT_DOUBLE_EQ(*ParseTolerance("0.1"), 0.1);
  for (const char *text : {"", "%", "five", "-1%", "nan"})
    EXPECT_FALSE(ParseTolerance(text).ok()) << text;
}

} // namespace
} // namespace pyasc::cli
