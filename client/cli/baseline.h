// Comparing a measurement with an earlier one.
#ifndef PYASC_CLIENT_CLI_BASELINE_H
#define PYASC_CLIENT_CLI_BASELINE_H

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pyasc/v1/report.pb.h"

namespace pyasc::cli {

struct Comparison {
  enum Verdict { kSame, kFaster, kSlower, kUnsure };
  Verdict verdict = kSame;
  // New time over old time: 1.05 is 5 % slower.
  double ratio = 1;
  // "SLOWER: 105.0 us after 100.0 us (+5.0 %), p = 0.0001".
  std::string text;
};

// Times of the simulator are exact and compared as they are. Measured ones are compared by their
// medians, with a rank-sum test on the samples: a difference that chance would make in more than
// 1 of 100 cases, or fewer than 5 samples on either side, is UNSURE. Differences below 0.5 % are
// SAME. Errors: INVALID_ARGUMENT when the two are not of the same launch (kernel, arguments,
// driver, SoC) or one has no time.
absl::StatusOr<Comparison> Compare(const v1::ProfileReport &baseline,
                                   const v1::ProfileReport &current);

// A file written by `pyasc profile --json`.
absl::StatusOr<v1::ProfileReport> ReadReportJson(const std::string &path);

// "5%", "5 %" or "0.05" as a fraction.
absl::StatusOr<double> ParseTolerance(absl::string_view text);

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_BASELINE_H
