#include "client/cli/file_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pyasc::cli {
namespace {

using testing::HasSubstr;

constexpr absl::string_view kKernel = "@asc.kernel\ndef k(x: asc.float32[4]):\n    x[0] = 1\n";
constexpr absl::string_view kModule = "// a comment\nmodule attributes {npu.soc = \"x\"} {\n}\n";

TEST(FileKindTest, AFileIsToldByItsNameAndByWhatItHolds) {
  EXPECT_EQ(KindOf("a.py", "x = 1\n"), FileKind::kKernels);
  EXPECT_EQ(KindOf("a.txt", kKernel), FileKind::kKernels);
  EXPECT_EQ(KindOf("a.mlir", ""), FileKind::kModule);
  EXPECT_EQ(KindOf("-", kModule), FileKind::kModule);
  EXPECT_EQ(KindOf("a.py", "\x93NUMPY\x01"), FileKind::kArray);
  EXPECT_EQ(KindOf("a", "{\"launch\": 1}"), FileKind::kJson);
  EXPECT_EQ(KindOf("a.o", absl::string_view("\x7f"
                                            "ELF\0",
                                            5)),
            FileKind::kObject);
  EXPECT_EQ(KindOf("a.txt", "def f(): pass\n"), FileKind::kText);
}

TEST(FileKindTest, TheMessageNamesTheCommandThatTakesTheFile) {
  EXPECT_TRUE(ExpectKind(FileKind::kKernels, "a.py", kKernel).ok());
  EXPECT_TRUE(ExpectKind(FileKind::kModule, "a.mlir", kModule).ok());
  EXPECT_TRUE(ExpectKind(FileKind::kKernels, "a.txt", "def f(): pass\n").ok());
  EXPECT_THAT(ExpectKind(FileKind::kModule, "a.py", kKernel).message(),
              HasSubstr("`pyasc run a.py`"));
  EXPECT_THAT(ExpectKind(FileKind::kKernels, "a.mlir", kModule).message(),
              HasSubstr("`pyasc sim a.mlir`"));
  EXPECT_THAT(ExpectKind(FileKind::kKernels, "a.npy", "\x93NUMPY\x01").message(),
              HasSubstr("--arg NAME=@a.npy"));
  EXPECT_THAT(ExpectKind(FileKind::kKernels, "r.json", "{}").message(), HasSubstr("--baseline"));
}

} // namespace
} // namespace pyasc::cli
