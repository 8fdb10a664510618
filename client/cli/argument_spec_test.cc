#include "client/cli/argument_spec.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pyasc::cli {
namespace {

using ::testing::HasSubstr;

TEST(LiteralTest, PythonsNumbersKeepTheirKind) {
  struct Case {
    const char *text;
    const char *expected;
  };
  for (const Case &c :
       {Case{"3", "int_value: 3"}, Case{"-7", "int_value: -7"}, Case{"+7", "int_value: 7"},
        Case{"1_000_000", "int_value: 1000000"}, Case{"0x1F", "int_value: 31"},
        Case{"-9223372036854775808", "int_value: -9223372036854775808"},
        Case{"1.5", "float_value: 1.5"}, Case{".5", "float_value: 0.5"},
        Case{"5.", "float_value: 5"}, Case{"-2e-3", "float_value: -0.002"},
        Case{"1e3", "float_value: 1000"}, Case{"inf", "float_value: inf"},
        Case{"-inf", "float_value: -inf"}, Case{"True", "bool_value: true"},
        Case{"False", "bool_value: false"}}) {
    absl::StatusOr<v1::ScalarValue> value = ParseLiteral(c.text);
    ASSERT_TRUE(value.ok()) << c.text << ": " << value.status();
    EXPECT_EQ(value->ShortDebugString(), c.expected) << c.text;
  }
  EXPECT_TRUE(std::isnan(ParseLiteral("nan")->float_value()));
  EXPECT_TRUE(std::signbit(ParseLiteral("-0.0")->float_value()));
}

TEST(LiteralTest, WhatPythonWouldRefuseIsRefused) {
  for (const char *text :
       {"",   "-",   "true",     "1__0", "_1",  "1_",  "1.5.2", "--3",    "- 3", "1 2",
        "0x", "0xg", "infinity", "NaN",  "'x'", "[1]", "1j",    "nan(3)", "1e",  "1,5"})
    EXPECT_FALSE(ParseLiteral(text).ok()) << text;
  EXPECT_THAT(ParseLiteral("9223372036854775808").status().message(), HasSubstr("64 bits"));
  EXPECT_THAT(ParseLiteral("0x10000000000000000").status().message(), HasSubstr("64 bits"));
}

TEST(ArgumentSpecTest, EachFormIsTold) {
  EXPECT_EQ(std::get<ArrayFile>(ParseArgumentSpec("A=@dir/a=b.npy")->value).path, "dir/a=b.npy");
  EXPECT_TRUE(std::get<ArrayFile>(ParseArgumentSpec("A=bf16:@a.npy")->value).to_bfloat16);
  EXPECT_EQ(
      client::FormatType(std::get<v1::TensorType>(ParseArgumentSpec("A=float32[2, 3]")->value)),
      "f32[2,3]");
  EXPECT_EQ(std::get<v1::DType>(ParseArgumentSpec("A=i64")->value), v1::DTYPE_INT64);
  v1::GeneratedTensor generated =
      std::get<v1::GeneratedTensor>(ParseArgumentSpec("A=rand:f16[4],seed=9")->value);
  EXPECT_EQ(generated.kind(), v1::GeneratedTensor::KIND_UNIFORM);
  EXPECT_EQ(generated.seed(), 9u);
  EXPECT_EQ(client::FormatType(generated.type()), "f16[4]");
}

TEST(ArgumentSpecTest, ErrorsNameTheParameterAndTheWayOut) {
  struct Case {
    const char *text;
    const char *says;
  };
  for (const Case &c : {Case{"A", "NAME=VALUE"},
                        Case{"=3", "NAME=VALUE"},
                        Case{"3=3", "NAME=VALUE"},
                        Case{"A=", "A: expected"},
                        Case{"A=rand:i32[4]", "write randint:i32[4],low=0,high=10"},
                        Case{"A=[1, x]", "met 'x'"},
                        Case{"A=[1", "',' or ']'"},
                        Case{"A=[1] 2", "after the list"},
                        Case{"A=[[1], [2, 3]]", "1 and 2 elements"},
                        Case{"A=[[1], 2]", "not both"},
                        Case{"A=i8:[300]", "300 does not fit int8"},
                        Case{"A=i8:[1.5]", "fractions"},
                        Case{"A=x8:[1]", "'x8' is no element type"},
                        Case{"A=randint:i8[4],high=300", "do not fit int8"},
                        Case{"A=randint:i32[4],low=5,high=5", "no whole number"},
                        Case{"A=randint:i32[4],step=5", ",low=N ,high=N ,seed=N"},
                        Case{"A=arange:i32[4],seed=1", "takes nothing"},
                        Case{"A=zeros:f32[4],seed=1", "only rand: and randn:"},
                        Case{"A=rand:f32[4],sed=1", "seed=N"},
                        Case{"A=rand:f32", "f32[1024,1024]"},
                        Case{"A=f31[4]", "unknown element type"}})
    EXPECT_THAT(ParseArgumentSpec(c.text).status().message(), HasSubstr(c.says)) << c.text;
}

// The elements of an argument as text.
std::string ElementsOf(const char *text) {
  absl::StatusOr<ArgumentSpec> spec = ParseArgumentSpec(text);
  if (!spec.ok() || !spec->is_array())
    return std::string(spec.status().message());
  absl::StatusOr<client::Tensor> tensor = LoadArray(*spec);
  if (!tensor.ok())
    return std::string(tensor.status().message());
  EXPECT_EQ(client::FormatType(SignatureOf(*spec, false)->tensor()),
            client::FormatType(tensor->type));
  std::string out = client::FormatType(tensor->type);
  for (int64_t i = 0; i < *client::NumElements(tensor->type); ++i)
    out += " " + client::FormatElement(*tensor, i);
  return out;
}

TEST(ArgumentSpecTest, ListsAndRulesBecomeArrays) {
  EXPECT_EQ(ElementsOf("A=[1, -2, 3]"), "i32[3] 1 -2 3");
  EXPECT_EQ(ElementsOf("A=[[1,2],[3,4],]"), "i32[2,2] 1 2 3 4");
  EXPECT_EQ(ElementsOf("A=[1, 2.5]"), "f32[2] 1.0 2.5");
  EXPECT_EQ(ElementsOf("A=[True, False]"), "bool[2] True False");
  EXPECT_EQ(ElementsOf("A=[5000000000]"), "i64[1] 5000000000");
  EXPECT_EQ(ElementsOf("A=f16:[1, 0.5]"), "f16[2] 1.0 0.5");
  EXPECT_EQ(ElementsOf("A=bf16:[1.5]"), "bf16[1] 1.5");
  EXPECT_EQ(ElementsOf("A=u8:[255]"), "u8[1] 255");
  EXPECT_EQ(ElementsOf("A=[]"), "i32[0]");
  EXPECT_EQ(ElementsOf("A=arange:i64[2,3]"), "i64[2,3] 0 1 2 3 4 5");
  EXPECT_EQ(ElementsOf("A=arange:f32[3]"), "f32[3] 0.0 1.0 2.0");
  EXPECT_EQ(ElementsOf("A=randint:i8[3],low=-4,high=-3"), "i8[3] -4 -4 -4");
  EXPECT_EQ(ElementsOf("A=randint:i32[9]"), ElementsOf("A=randint:i32[9]"));
  EXPECT_NE(ElementsOf("A=randint:i32[9],seed=1"), ElementsOf("A=randint:i32[9],seed=2"));
  EXPECT_THAT(ElementsOf("A=arange:i8[200]"), HasSubstr("does not fit int8"));
  EXPECT_THAT(ElementsOf("A=arange:i64[1000000000]"), HasSubstr("more than 1 GiB"));
}

TEST(ArgumentSpecTest, LiteralsBecomeTheirKindOrAConstexprValue) {
  ArgumentSpec spec = *ParseArgumentSpec("n=4");
  EXPECT_EQ(SignatureOf(spec, false)->scalar(), v1::DTYPE_INT64);
  EXPECT_EQ(SignatureOf(spec, true)->constexpr_value().int_value(), 4);
  EXPECT_EQ(SignatureOf(*ParseArgumentSpec("n=4.0"), false)->scalar(), v1::DTYPE_FLOAT32);
  EXPECT_EQ(SignatureOf(*ParseArgumentSpec("n=True"), false)->scalar(), v1::DTYPE_BOOL);
  EXPECT_FALSE(SignatureOf(*ParseArgumentSpec("n=f32[4]"), true).ok());
}

TEST(OutputSpecTest, ParametersAndResultsHaveNames) {
  EXPECT_EQ(ParseOutputSpec("C=c.npy")->path, "c.npy");
  EXPECT_EQ(ParseOutputSpec("return=r.npy")->name, "return");
  EXPECT_EQ(ParseOutputSpec("return.12=r.npy")->name, "return.12");
  EXPECT_TRUE(ParseOutputSpec("C=f32:c.npy")->to_float32);
  for (const char *text : {"C", "C=", "=c.npy", "return.x=c.npy", "a.b=c.npy"})
    EXPECT_FALSE(ParseOutputSpec(text).ok()) << text;
}

} // namespace
} // namespace pyasc::cli
