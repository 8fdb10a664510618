#include "client/cli/kernel_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pyasc::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Names(absl::string_view source) {
  std::vector<std::string> names;
  for (const ScannedKernel &kernel : ScanKernels(source))
    names.push_back(kernel.name);
  return names;
}

TEST(KernelScanTest, KernelsAreFoundByTheirDecorator) {
  EXPECT_THAT(Names("@asc.kernel\ndef a(): ...\n"
                    "def helper(): ...\n"
                    "@kernel\ndef b(): ...\n"
                    "@asc.kernel(target='host',\n  soc='x')\n@other\ndef c(x): ...\n"
                    "  @pyasc.kernel  # why\n\n  def d (\n x): ...\n"),
              ElementsAre("a", "b", "c", "d"));
}

TEST(KernelScanTest, TextInStringsAndCommentsIsNoKernel) {
  EXPECT_THAT(Names("'''\n@asc.kernel\ndef a(): ...\n'''\n# @asc.kernel\ndef b(): ...\n"
                    "@functools.cache\ndef c(): ...\nx = y @ kernel\ndef d(): ...\n"),
              IsEmpty());
  EXPECT_THAT(Names("s = 'it\\'s'\n@asc.kernel\ndef a(): ...\n"), ElementsAre("a"));
}

TEST(KernelScanTest, ConstexprParametersAreFoundAmongTheOthers) {
  std::vector<ScannedKernel> kernels =
      ScanKernels("@asc.kernel\n"
                  "def k(A: asc.float32[N, M], n: asc.constexpr, m: int = max(1, 2),\n"
                  "      p: 'constexpr' = 3,  # a comment: asc.constexpr\n"
                  "      q: asc.constexpr[int] = 4, r: float = constexpr) -> asc.float32: ...\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_THAT(kernels[0].constexpr_parameters, ElementsAre("n", "q"));
}

TEST(KernelScanTest, BrokenTextEndsTheScanWithoutHarm) {
  std::string text = "@asc.kernel(\ndef k(a: '''x\\";
  for (size_t n = 0; n <= text.size(); ++n)
    ScanKernels(text.substr(0, n));
  EXPECT_THAT(Names("@asc.kernel\ndef k(a, b"), ElementsAre("k"));
  EXPECT_THAT(Names("@asc.kernel\ndef"), ElementsAre(""));
}

} // namespace
} // namespace pyasc::cli
