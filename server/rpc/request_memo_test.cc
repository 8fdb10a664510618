#include "server/rpc/request_memo.h"

#include <gtest/gtest.h>

#include "pyasc/v1/compile.pb.h"

namespace pyasc::server {
namespace {

v1::CompileRequest Request() {
  v1::CompileRequest request;
  request.add_files()->set_content("text");
  request.set_kernel("k");
  request.set_target(v1::TARGET_SIM);
  return request;
}

TEST(RequestGlance, WhatIsForLogsOnlyDoesNotMatter) {
  v1::CompileRequest request = Request();
  const std::string plain = GlanceAt(request.SerializeAsString()).digest;
  EXPECT_EQ(plain.size(), 32u);
  request.set_request_id("mine");
  request.set_traceparent("00-...");
  const std::string bytes = request.SerializeAsString();
  const RequestGlance glance = GlanceAt(bytes);
  EXPECT_EQ(glance.digest, plain);
  EXPECT_EQ(glance.request_id, "mine");
  EXPECT_EQ(glance.kernel, "k");
}

TEST(RequestGlance, EverythingElseDoes) {
  const std::string plain = GlanceAt(Request().SerializeAsString()).digest;
  v1::CompileRequest other = Request();
  other.set_kernel("l");
  EXPECT_NE(GlanceAt(other.SerializeAsString()).digest, plain);
  other = Request();
  other.mutable_options()->set_debug(true);
  EXPECT_NE(GlanceAt(other.SerializeAsString()).digest, plain);
  // A field that this build does not know: 99, varint 1.
  EXPECT_NE(GlanceAt(Request().SerializeAsString() + "\x98\x06\x01").digest, plain);
}

TEST(RequestGlance, WhatIsNoMessageHasNoDigest) {
  const std::string bytes = Request().SerializeAsString();
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    const std::string part = bytes.substr(0, cut);
    v1::CompileRequest parsed;
    if (!parsed.ParseFromString(part))
      EXPECT_EQ(GlanceAt(part).digest, "") << cut;
  }
  EXPECT_EQ(GlanceAt("\xff\xff\xff").digest, "");
}

TEST(RequestMemo, RemembersTheLastOnes) {
  RequestMemo memo;
  memo.Remember(std::string(32, 'a'), "key");
  EXPECT_EQ(memo.Find(std::string(32, 'a')), "key");
  EXPECT_EQ(memo.Find(std::string(32, 'b')), std::nullopt);
  EXPECT_EQ(memo.Find(""), std::nullopt);
  for (int i = 0; i < 5000; ++i)
    memo.Remember("a" + std::to_string(100000 + i), "other");
  EXPECT_EQ(memo.Find(std::string(32, 'a')), std::nullopt) << "bounded";
}

} // namespace
} // namespace pyasc::server
