#include "client/cli/format.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace pyasc::cli {
namespace {

// Three significant digits and the prefix that fits.
std::string Scaled(double value, absl::string_view unit) {
  if (!std::isfinite(value))
    return "-";
  static constexpr const char *kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  int prefix = 0;
  // 999.5 would print as 1000.
  while (std::fabs(value) >= 999.5 && prefix < 5) {
    value /= 1000;
    ++prefix;
  }
  int digits = std::fabs(value) >= 99.95 || (prefix == 0 && value == std::floor(value)) ? 0
               : std::fabs(value) >= 9.995                                              ? 1
                                                                                        : 2;
  return absl::StrCat(absl::StrFormat("%.*f", digits, value), " ", kPrefixes[prefix], unit);
}

} // namespace

std::string FormatMicroseconds(double us) {
  if (!std::isfinite(us) || us < 0)
    return "-";
  if (us >= 999'950)
    return absl::StrFormat("%.2f s", us / 1e6);
  if (us >= 9'999.5)
    return absl::StrFormat("%.1f ms", us / 1e3);
  if (us >= 999.95)
    return absl::StrFormat("%.2f ms", us / 1e3);
  return absl::StrFormat("%.1f us", us);
}

std::string FormatBytes(double bytes) { return Scaled(bytes, "B"); }

std::string FormatKibibytes(int64_t bytes) {
  if (bytes >= 10 << 20)
    return absl::StrCat(bytes >> 20, " MiB");
  if (bytes % 1024 == 0 || bytes >= 100 << 10)
    return absl::StrCat(bytes >> 10, " KiB");
  return absl::StrCat(bytes, " B");
}

std::string FormatFlops(double flops) { return Scaled(flops, "FLOP"); }

std::string FormatFlopRate(double gflops) { return Scaled(gflops * 1e9, "FLOP/s"); }

std::string FormatPercent(double fraction) {
  return std::isfinite(fraction) ? absl::StrFormat("%.1f %%", fraction * 100) : "-";
}

std::string Bar(double fraction, int width) {
  if (!(fraction > 0))
    fraction = 0;
  int eighths = static_cast<int>(std::lround(std::min(fraction, 1.0) * width * 8));
  static constexpr const char *kPartial[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i)
    bar += "█";
  bar += kPartial[eighths % 8];
  for (int i = (eighths + 7) / 8; i < width; ++i)
    bar += "·";
  return bar;
}

std::string SummarizeTensor(const client::Tensor &tensor, bool is_scalar) {
  if (is_scalar && !tensor.data.empty())
    return client::FormatElement(tensor, 0);
  constexpr int64_t kShown = 6;
  int64_t count = client::NumElements(tensor.type).value_or(0);
  std::string text = client::FormatType(tensor.type) + " [";
  for (int64_t i = 0; i < std::min(count, kShown); ++i)
    absl::StrAppend(&text, i ? ", " : "", client::FormatElement(tensor, i));
  return text + (count > kShown ? ", ...]" : "]");
}

} // namespace pyasc::cli
