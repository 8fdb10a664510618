#include "client/cli/baseline.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <google/protobuf/util/json_util.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/cli/format.h"
#include "client/cpp/files.h"

namespace pyasc::cli {
namespace {

constexpr double kSameWithin = 0.005;
constexpr double kSignificance = 0.01;
constexpr int kFewestSamples = 5;

double Time(const v1::ProfileReport &report) {
  return report.samples().median_us() > 0 ? report.samples().median_us() : report.kernel_us();
}

// Two-sided Mann-Whitney test by the normal approximation, with the correction for ties: how
// likely chance alone sets the two as far apart.
double RankSumP(const v1::ProfileReport &a, const v1::ProfileReport &b) {
  struct Sample {
    double us;
    bool first;
  };
  std::vector<Sample> all;
  for (double us : a.samples().kernel_us())
    all.push_back({us, true});
  for (double us : b.samples().kernel_us())
    all.push_back({us, false});
  std::sort(all.begin(), all.end(), [](Sample x, Sample y) { return x.us < y.us; });
  double n1 = a.samples().kernel_us_size(), n2 = b.samples().kernel_us_size(), n = n1 + n2;
  double rank_sum = 0, ties = 0;
  for (size_t i = 0; i < all.size();) {
    size_t j = i;
    while (j < all.size() && all[j].us == all[i].us)
      ++j;
    // Equal samples share the mean of their ranks.
    double rank = (double(i + 1) + double(j)) / 2, count = double(j - i);
    ties += count * count * count - count;
    for (; i < j; ++i)
      rank_sum += all[i].first ? rank : 0;
  }
  double u = rank_sum - n1 * (n1 + 1) / 2;
  double variance = n1 * n2 / 12 * (n + 1 - ties / (n * (n - 1)));
  if (variance <= 0)
    return 1;
  double z = std::max(std::fabs(u - n1 * n2 / 2) - 0.5, 0.0) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

absl::Status CheckSameLaunch(const v1::LaunchInfo &a, const v1::LaunchInfo &b) {
  auto describe = [](const v1::LaunchInfo &launch) {
    return absl::StrCat(launch.kernel(), "(", absl::StrJoin(launch.arguments(), ", "), ") on ",
                        launch.driver(), " ", launch.soc());
  };
  if (describe(a) != describe(b))
    return absl::InvalidArgumentError(absl::StrCat(
        "the baseline is of another launch: ", describe(a), ", and this is ", describe(b)));
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<Comparison> Compare(const v1::ProfileReport &baseline,
                                   const v1::ProfileReport &current) {
  if (absl::Status same = CheckSameLaunch(baseline.launch(), current.launch()); !same.ok())
    return same;
  double before = Time(baseline), after = Time(current);
  if (!(before > 0) || !(after > 0))
    return absl::InvalidArgumentError("the baseline or this report has no kernel time to compare");
  Comparison result;
  result.ratio = after / before;
  std::string proof;
  bool exact = baseline.trust().source() == "simulated" && current.trust().source() == "simulated";
  bool differs = std::fabs(result.ratio - 1) >= kSameWithin;
  bool certain = true;
  if (!exact) {
    int fewest = std::min(baseline.samples().kernel_us_size(), current.samples().kernel_us_size());
    if (fewest < kFewestSamples) {
      certain = false;
      proof = absl::StrCat(", only ", fewest, " samples");
    } else {
      double p = RankSumP(baseline, current);
      certain = p < kSignificance;
      proof = absl::StrFormat(", p = %.2g", p);
    }
  }
  const char *name = "SAME";
  if (differs && !certain) {
    result.verdict = Comparison::kUnsure;
    name = "UNSURE";
  } else if (differs) {
    result.verdict = result.ratio > 1 ? Comparison::kSlower : Comparison::kFaster;
    name = result.ratio > 1 ? "SLOWER" : "FASTER";
  }
  result.text = absl::StrFormat("%s: %s after %s (%+.1f %%)%s", name, FormatMicroseconds(after),
                                FormatMicroseconds(before), (result.ratio - 1) * 100, proof);
  return result;
}

absl::StatusOr<v1::ProfileReport> ReadReportJson(const std::string &path) {
  absl::StatusOr<std::string> json = client::ReadFile(path);
  if (!json.ok())
    return json.status();
  // A later version's report may have further fields.
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  v1::ProfileReport report;
  auto status = google::protobuf::util::JsonStringToMessage(*json, &report, options);
  if (!status.ok())
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no report of `pyasc profile --json`: ", status.ToString()));
  return report;
}

absl::StatusOr<double> ParseTolerance(absl::string_view text) {
  absl::string_view number = text;
  bool percent = absl::ConsumeSuffix(&number, "%");
  double value;
  if (!absl::SimpleAtod(number, &value) || !(value >= 0) || !std::isfinite(value))
    return absl::InvalidArgumentError(
        absl::StrCat("--fail-if-slower takes a share such as 5%, not '", text, "'"));
  return percent ? value / 100 : value;
}

} // namespace pyasc::cli
