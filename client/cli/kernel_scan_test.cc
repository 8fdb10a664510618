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
  std::vector<std::string> constexprs, defaults;
  for (const ScannedParameter &parameter : kernels[0].parameters) {
    if (parameter.is_constexpr)
      constexprs.push_back(parameter.name);
    if (parameter.has_default)
      defaults.push_back(parameter.name);
  }
  EXPECT_THAT(constexprs, ElementsAre("n", "q"));
  EXPECT_THAT(defaults, ElementsAre("m", "p", "q", "r"));
  EXPECT_EQ(kernels[0].parameters[0].annotation, "asc.float32[N, M]");
}

TEST(KernelScanTest, AnnotationsThatSayItAllAreArguments) {
  auto shown = [](const char *annotation) {
    ScannedParameter parameter;
    parameter.annotation = annotation;
    std::optional<v1::Argument> argument = ArgumentFromAnnotation(parameter);
    return argument ? argument->ShortDebugString() : "open";
  };
  EXPECT_EQ(shown("asc.float32[1024, 16]"),
            "tensor { dtype: DTYPE_FLOAT32 shape: 1024 shape: 16 }");
  EXPECT_EQ(shown("float16[3]"), "tensor { dtype: DTYPE_FLOAT16 shape: 3 }");
  EXPECT_EQ(shown("asc.int32"), "scalar: DTYPE_INT32");
  EXPECT_EQ(shown("float"), "scalar: DTYPE_FLOAT32");
  EXPECT_EQ(shown("int"), "scalar: DTYPE_INT64");
  for (const char *open : {"", "asc.tensor", "asc.constexpr", "asc.float32[N]", "asc.float32[4, N]",
                           "asc.float32[]", "asc.float32[2 * 3]", "list[3]"})
    EXPECT_EQ(shown(open), "open") << open;
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
