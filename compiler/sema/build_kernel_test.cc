#include "compiler/sema/build_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/sema/test_request.h"

namespace pyasc::sema {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(BuildKernel, AScalarKernelGivenArraysIsAppliedToEachElement) {
  Built b = Build("@asc.kernel\n"
                  "def add(a: asc.float32, b: asc.float32) -> asc.float32:\n"
                  "    return a + b\n",
                  {"a=f32[1000]", "b=f32[1000]"});
  EXPECT_EQ(b.diagnostics, "");
  EXPECT_THAT(b.ir, HasSubstr("asc.name = \"return\", asc.result"));
  EXPECT_THAT(b.ir, HasSubstr("affine.for %arg3 = 0 to 1000"));
}

TEST(BuildKernel, AMinimumInARangeIsABoundAndDropsOutWhereTheTilesFit) {
  const char *source = "@asc.kernel\n"
                       "def k(A: asc.float32[N]):\n"
                       "    for i in range(0, N, 32):\n"
                       "        for j in range(i, min(i + 32, N)):\n"
                       "            A[j] = 1.0\n";
  EXPECT_THAT(Build(source, {"A=f32[1000]"}).ir, HasSubstr("to min #map"));
  Built even = Build(source, {"A=f32[1024]"});
  EXPECT_THAT(even.ir, Not(HasSubstr("min #map")));
  EXPECT_THAT(even.ir, Not(HasSubstr("asc.check")));
}

TEST(BuildKernel, A16BitSumIsKeptInFloat32AndRoundedOnce) {
  Built b = Build("@asc.kernel\n"
                  "def k(A: asc.float16[M, K], B: asc.float16[K, N], C: asc.float16[M, N]):\n"
                  "    for i in range(M):\n"
                  "        for j in range(N):\n"
                  "            for k in range(K):\n"
                  "                C[i, j] += A[i, k] * B[k, j]\n",
                  {"A=f16[4,8]", "B=f16[8,4]", "C=f16[4,4]"});
  EXPECT_EQ(b.diagnostics, "");
  EXPECT_THAT(b.ir, HasSubstr("memref.alloc() : memref<4x4xf32>"));
  EXPECT_THAT(b.ir, HasSubstr("arith.mulf %"));
  EXPECT_THAT(b.ir, Not(HasSubstr("arith.mulf %4, %5 : f16")));
}

TEST(BuildKernel, AVariableWidensWhenALaterAssignmentNeedsIt) {
  Built b = Build("@asc.kernel\n"
                  "def k(A: asc.float32[N], B: asc.float32[1]):\n"
                  "    s = 0\n"
                  "    for i in range(N):\n"
                  "        s += A[i]\n"
                  "    B[0] = s\n",
                  {"A=f32[8]", "B=f32[1]"});
  EXPECT_EQ(b.diagnostics, "");
  EXPECT_THAT(b.ir, HasSubstr("memref.alloca() : memref<f32>"));
  EXPECT_THAT(b.ir, Not(HasSubstr("memref<i32>")));
}

TEST(BuildKernel, AnOperandThatItsGuardKeepsInBoundsStaysUnderTheGuard) {
  // `and` without a branch would read A[-1] in the first iteration.
  Built b = Build("@asc.kernel\n"
                  "def k(A: asc.float32[N], B: asc.int32[N]):\n"
                  "    for i in range(N):\n"
                  "        if i > 0 and A[i - 1] > A[i]:\n"
                  "            B[i] = 1\n",
                  {"A=f32[8]", "B=i32[8]"});
  EXPECT_EQ(b.diagnostics, "");
  size_t guard = b.ir.find("scf.if"), read = b.ir.find("- 1]");
  ASSERT_NE(guard, std::string::npos);
  ASSERT_NE(read, std::string::npos);
  EXPECT_LT(guard, read);
}

TEST(BuildKernel, ALoopWhoseLastSliceIsCutIsSplit) {
  Built b = Build("@asc.kernel\n"
                  "def k(A: asc.float32[N], B: asc.float32[N]):\n"
                  "    for i in asc.parallel_for(0, N, 4):\n"
                  "        B[i:i + 4] = A[i:i + 4]\n",
                  {"A=f32[10]", "B=f32[10]"});
  EXPECT_EQ(b.diagnostics, "");
  EXPECT_THAT(b.ir, HasSubstr("affine.for %arg2 = 0 to 8 step 4"));
  EXPECT_THAT(b.ir, HasSubstr("memref.subview %arg0[8] [2] [1]"));
}

TEST(BuildKernel, HelpersAreSpecialisedByTheirArgumentTypes) {
  Built b = Build("def half(x):\n"
                  "    return x // 2\n"
                  "@asc.kernel\n"
                  "def k(A: asc.float32[1], B: asc.int32[1]):\n"
                  "    A[0] = half(A[0])\n"
                  "    B[0] = half(B[0])\n",
                  {"A=f32[1]", "B=i32[1]"});
  EXPECT_EQ(b.diagnostics, "");
  EXPECT_THAT(b.ir, HasSubstr("math.floor"));
  EXPECT_THAT(b.ir, HasSubstr("arith.divsi"));
}

struct Refusal {
  const char *name;
  const char *body;
  const char *expected; // line:column-line:column code
};

class Refuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refuses, WithAPositionAndACode) {
  std::string source =
      std::string("@asc.kernel\ndef k(A: asc.float32[N], B: asc.int32[N]):\n") + GetParam().body;
  Built b = Build(source, {"A=f32[8]", "B=i32[8]"});
  EXPECT_THAT(b.diagnostics, HasSubstr(GetParam().expected));
  EXPECT_EQ(b.ir, "");
}

INSTANTIATE_TEST_SUITE_P(
    All, Refuses,
    ::testing::Values(
        Refusal{"OutOfBounds", "    A[8] = 1.0\n", "3:5-3:9 out-of-bounds"},
        Refusal{"OutOfBoundsInALoop", "    for i in range(N):\n        A[i] = A[i + 1]\n",
                "4:16-4:24 out-of-bounds"},
        Refusal{"UnknownName", "    A[0] = x\n", "3:12-3:13 unknown-name"},
        Refusal{"FloatIntoInt", "    B[0] = 1.5\n", "3:12-3:15 float-to-int"},
        Refusal{"Race", "    for i in asc.parallel_for(N):\n        A[0] = 1.0\n",
                "4:9-4:13 parallel-race"},
        Refusal{"RaceOnAVariable",
                "    t = 0.0\n    for i in asc.parallel_for(N):\n        t = A[i]\n    A[0] = t\n",
                "5:9-5:17 parallel-variable"},
        Refusal{"Unbound", "    if A[0] > 0:\n        x = 1.0\n    A[0] = x\n",
                "5:12-5:13 possibly-unbound"},
        Refusal{"WriteThroughAReboundName",
                "    t = A\n    for i in range(3):\n        t[0] = 1.0\n        t = t + 1.0\n"
                "    A[1] = t[0]\n",
                "5:9-5:13 rebound-alias"},
        Refusal{"With", "    with A:\n        pass\n", "unsupported-with"},
        Refusal{"Lambda", "    f = lambda x: x\n", "3:9-3:20 unsupported-lambda"},
        Refusal{"TruthOfATensor", "    if A > 0:\n        pass\n", "3:8-3:13 ambiguous-truth"},
        Refusal{"BreakInParallel", "    for i in asc.parallel_for(N):\n        break\n",
                "4:9-4:14 parallel-break"}),
    [](const auto &info) { return info.param.name; });

TEST(BuildKernel, ArgumentsAreCheckedAgainstTheSignature) {
  const char *source = "@asc.kernel\n"
                       "def k(A: asc.float32[N], B: asc.float32[N, 4], alpha: asc.float32):\n"
                       "    A[0] = alpha\n";
  EXPECT_THAT(Build(source, {"A=f32[8]", "B=f32[9,4]", "alpha=f32"}).diagnostics,
              HasSubstr("2:41-2:42 dim-mismatch parameter 'B' has size 9 on axis 0, expected 8, "
                        "since N is 8 in parameter 'A'"));
  EXPECT_THAT(Build(source, {"A=i32[8]", "B=f32[8,4]", "alpha=f32"}).diagnostics,
              HasSubstr("type-mismatch parameter 'A' is float32, and the argument is int32"));
  EXPECT_THAT(Build(source, {"A=f32[8]", "B=f32[8]", "alpha=f32"}).diagnostics,
              HasSubstr("rank-mismatch"));
  EXPECT_THAT(Build(source, {"A=f32[8]", "B=f32[8,4]", "alpha=i64"}).diagnostics,
              HasSubstr("type-mismatch parameter 'alpha' is float32, and the argument is an int"));
  EXPECT_THAT(Build(source, {"A=f32[8]", "B=f32[8,4]"}).diagnostics,
              HasSubstr("missing-argument no argument was given for parameter 'alpha'"));
  EXPECT_THAT(Build(source, {"A=f32[8]", "B=f32[8,4]", "alpha=f32", "alhpa=f32"}).diagnostics,
              HasSubstr("unknown-argument"));
}

TEST(BuildKernel, AFloatParameterTakesAnIntAndAFloat32DoesNot) {
  EXPECT_EQ(Build("@asc.kernel\ndef k(A: asc.float32[N], s: float):\n    A[0] = s\n",
                  {"A=f32[8]", "s=i64"})
                .diagnostics,
            "");
  EXPECT_THAT(Build("@asc.kernel\ndef k(A: asc.float32[N], s: asc.float32):\n    A[0] = s\n",
                    {"A=f32[8]", "s=i64"})
                  .diagnostics,
              HasSubstr("parameter 's' is float32, and the argument is an int"));
  EXPECT_THAT(Build("@asc.kernel\ndef k(A: asc.float32[N], n: int):\n    A[n] = 0.0\n",
                    {"A=f32[8]", "n=f32"})
                  .diagnostics,
              HasSubstr("parameter 'n' is int, and the argument is a float"));
}

TEST(BuildKernel, DeclaredDimsAreSymbolicSizes) {
  for (const char *declaration :
       {"N, C = asc.dims('N C')", "import pyasc as asc\nN, C = asc.dims('N, C')",
        "import pyasc\nN = pyasc.dims('N')\nC = pyasc.dims('C')",
        "from pyasc import dims\n[N, C] = dims(['N', 'C'])", ""}) {
    std::string text = std::string(declaration) +
                       "\n@asc.kernel\ndef k(A: asc.float32[N, C]):\n"
                       "    for i in range(N):\n        A[i, C - 1] = C * 1.0\n";
    EXPECT_EQ(Build(text, {"A=f32[3,5]"}).diagnostics, "") << declaration;
  }
  EXPECT_THAT(Build("N, M = asc.dims('N M')\n@asc.kernel\ndef k(A: asc.float32[N]):\n"
                    "    A[0] = M * 1.0\n",
                    {"A=f32[3]"})
                  .diagnostics,
              HasSubstr("4:12-4:13 unbound-dim"));
}

TEST(BuildKernel, AllMissingArgumentsAreOneError) {
  Built b = Build("@asc.kernel\ndef k(A: asc.float32[N], B: asc.tensor, s: float = 1.0):\n"
                  "    A[0] = s\n",
                  {});
  EXPECT_EQ(b.diagnostics,
            "2:7-2:24 missing-argument no arguments were given for parameters 'A' and "
            "'B'\n");
}

TEST(BuildKernel, TheSemanticKeyFollowsMeaningAndPlaces) {
  auto key = [](std::string_view text) { return Build(text, {"A=f32[8]"}).key; };
  std::string a = key("T = 2\n@asc.kernel\ndef k(A: asc.float32[N]):\n    A[0] = T * 1.0\n");
  ASSERT_NE(a, "");
  // Other words for the same, on the same lines.
  EXPECT_EQ(a, key("T = 1 + 1\n@asc.kernel\ndef k(A: asc.float32[N]):\n    A[0] = T * 1.0  # two\n"
                   "\ndef unrelated():\n    pass\n"));
  EXPECT_NE(a, key("T = 3\n@asc.kernel\ndef k(A: asc.float32[N]):\n    A[0] = T * 1.0\n"));
  // A line further down, errors and profiles have to say so.
  EXPECT_NE(a, key("T = 2\n\n@asc.kernel\ndef k(A: asc.float32[N]):\n    A[0] = T * 1.0\n"));
}

} // namespace
} // namespace pyasc::sema
