#include "client/cpp/npy.h"

#include <cstdio>
#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cpp/files.h"

namespace pyasc::client {
namespace {

using ::testing::HasSubstr;

std::string WithHeader(std::string dict, int version = 1) {
  std::string head("\x93NUMPY", 6);
  head += char(version);
  head += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    head += char((dict.size() >> (8 * i)) & 0xff);
  return head + dict;
}

class NpyTest : public ::testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/npy-test-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string Put(const std::string &content) {
    std::string path = directory_ + "/a.npy";
    EXPECT_TRUE(WriteFile(path, {content}).ok());
    return path;
  }
  std::string directory_;
};

TEST_F(NpyTest, EveryFormatVersionIsRead) {
  for (int version : {1, 2, 3}) {
    std::string path =
        Put(WithHeader("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n", version) +
            std::string("\x01\0\xff\xff", 4));
    absl::StatusOr<Tensor> tensor = ReadNpy(path);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(FormatType(tensor->type), "i16[2]");
    EXPECT_EQ(FormatElement(*tensor, 1), "-1");
  }
}

TEST_F(NpyTest, FortranOrderBecomesRowMajor) {
  // Column-major 2x3 of 0..5 by element: [[0,2,4],[1,3,5]].
  std::string path = Put(WithHeader("{'fortran_order': True, 'shape': (2L, 3L), 'descr': '|u1'}") +
                         std::string("\0\1\2\3\4\5", 6));
  absl::StatusOr<Tensor> tensor = ReadNpy(path);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(FormatType(tensor->type), "u8[2,3]");
  EXPECT_EQ(tensor->data, std::string("\0\2\4\1\3\5", 6));
}

TEST_F(NpyTest, WhatIsWrittenIsReadBack) {
  for (const char *type : {"f32[2,3]", "bf16[4]", "bool[3]", "u64[]", "f16[0,5]", "i8[1]"}) {
    Tensor tensor;
    tensor.type = *ParseType(type);
    tensor.data.assign(*ByteSize(tensor.type), '\1');
    std::string path = directory_ + "/b.npy";
    ASSERT_TRUE(WriteNpy(path, tensor).ok());
    absl::StatusOr<Tensor> again = ReadNpy(path);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(FormatType(again->type), type);
    EXPECT_EQ(again->data, tensor.data);
    EXPECT_EQ(FormatNpyHeader(tensor.type).size() % 64, 0u);
  }
}

TEST_F(NpyTest, WhatIsNoTensorIsRefusedWithAWayOut) {
  struct Case {
    const char *descr;
    const char *says;
  };
  for (const Case &c : {Case{"'|O'", "Python objects"}, Case{"'>f4'", "newbyteorder"},
                        Case{"'<c8'", "no element type"}, Case{"'<U4'", "no element type"},
                        Case{"[('a', '<f4')]", "structured"}, Case{"'<V4'", "no element type"}}) {
    absl::StatusOr<NpyHeader> header = ParseNpyHeader(WithHeader(
        std::string("{'descr': ") + c.descr + ", 'fortran_order': False, 'shape': (2,)}"));
    ASSERT_FALSE(header.ok()) << c.descr;
    EXPECT_THAT(header.status().message(), HasSubstr(c.says));
  }
}

TEST_F(NpyTest, DamagedFilesAreRefused) {
  std::string good = WithHeader("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }");
  EXPECT_THAT(ReadNpy(Put(good + "1234567")).status().message(), HasSubstr("expected 8 bytes"));
  EXPECT_FALSE(ReadNpy(Put("")).ok());
  EXPECT_FALSE(ReadNpy(Put("PK\x03\x04 a zip archive")).ok());
  for (size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_FALSE(ParseNpyHeader(good.substr(0, cut)).ok()) << cut;
  EXPECT_FALSE(ParseNpyHeader(WithHeader("{'descr': '<f4', 'shape': (2,)}")).ok());
  EXPECT_FALSE(
      ParseNpyHeader(WithHeader("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}")).ok());
  // A shape larger than the file must not be allocated.
  EXPECT_THAT(ReadNpy(Put(WithHeader("{'descr': '<f8', 'fortran_order': False, "
                                     "'shape': (1000000000, 100000)}")))
                  .status()
                  .message(),
              HasSubstr("expected"));
}

TEST_F(NpyTest, AMissingFileIsNamed) {
  absl::Status status = ReadNpy(directory_ + "/none.npy").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(status.message(), HasSubstr("none.npy"));
}

} // namespace
} // namespace pyasc::client
