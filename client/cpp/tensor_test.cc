#include "client/cpp/tensor.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace pyasc::client {
namespace {

template <typename T> Tensor Make(v1::DType dtype, std::vector<T> values) {
  Tensor tensor;
  tensor.type.set_dtype(dtype);
  tensor.type.add_shape(values.size());
  tensor.data.assign(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
  return tensor;
}

TEST(TensorTest, ShortAndLongNamesMeanTheSame) {
  for (const char *pair : {"f32 float32", "bf16 bfloat16", "u8 uint8", "i64 int64", "bool bool"}) {
    std::string text = pair, first = text.substr(0, text.find(' ')),
                second = text.substr(text.find(' ') + 1);
    ASSERT_TRUE(ParseDType(first).has_value()) << first;
    EXPECT_EQ(ParseDType(first), ParseDType(second));
    EXPECT_EQ(ShortName(*ParseDType(second)), first);
    EXPECT_EQ(LongName(*ParseDType(first)), second);
  }
  EXPECT_FALSE(ParseDType("f8").has_value());
  EXPECT_FALSE(ParseDType("").has_value());
}

TEST(TensorTest, TypesAreParsedAsTheyArePrinted) {
  for (const char *text : {"f32[2,3]", "bf16[]", "bool[0]", "i8[1,1,7]"}) {
    absl::StatusOr<v1::TensorType> type = ParseType(text);
    ASSERT_TRUE(type.ok()) << text << ": " << type.status();
    EXPECT_EQ(FormatType(*type), text);
  }
  EXPECT_EQ(FormatType(*ParseType("float32[ 2 , 3 ]")), "f32[2,3]");
}

TEST(TensorTest, MalformedTypesAreRefused) {
  for (const char *text : {"f32", "f33[2]", "f32[2", "f32[-1]", "f32[a]", "f32[2,]", "[3]",
                           "f32[9223372036854775807,2]"})
    EXPECT_FALSE(ParseType(text).ok()) << text;
}

TEST(TensorTest, ASizeThatOverflowsIsAnErrorUnlessAnExtentIsZero) {
  v1::TensorType type;
  type.set_dtype(v1::DTYPE_FLOAT32);
  for (int i = 0; i < 3; ++i)
    type.add_shape(int64_t(1) << 40);
  EXPECT_FALSE(ByteSize(type).ok());
  type.add_shape(0);
  // The product of the others is not needed, but must not overflow unseen either.
  absl::StatusOr<int64_t> size = ByteSize(type);
  EXPECT_TRUE(!size.ok() || *size == 0);
}

TEST(TensorTest, BFloat16RoundsToNearestEven) {
  // 1 + 2^-8 lies half way between 1 and 1 + 2^-7; even is 1. 1 + 3*2^-8 goes up.
  Tensor rounded = *ToBFloat16(Make<float>(
      v1::DTYPE_FLOAT32, {1.0f + 1.0f / 256, 1.0f + 3.0f / 256, -0.0f, INFINITY, NAN, 3.4e38f}));
  EXPECT_EQ(rounded.type.dtype(), v1::DTYPE_BFLOAT16);
  EXPECT_EQ(FormatElement(rounded, 0), "1.0");
  EXPECT_EQ(FormatElement(rounded, 1), "1.015625");
  EXPECT_EQ(FormatElement(rounded, 2), "-0.0");
  EXPECT_EQ(FormatElement(rounded, 3), "inf");
  EXPECT_EQ(FormatElement(rounded, 4), "nan");
  EXPECT_EQ(FormatElement(rounded, 5), "inf");
}

TEST(TensorTest, Float64IsRoundedOnceToBFloat16) {
  // Just above the midpoint of 1 and 1 + 2^-7: float32 rounds it down to the midpoint, from where
  // a second rounding would go to 1.
  Tensor rounded =
      *ToBFloat16(Make<double>(v1::DTYPE_FLOAT64, {1.0 + 1.0 / 256 + std::ldexp(1.0, -40),
                                                   -(1.0 + 1.0 / 256 + std::ldexp(1.0, -40)),
                                                   1.0 + 3.0 / 256 - std::ldexp(1.0, -40)}));
  EXPECT_EQ(FormatElement(rounded, 0), "1.0078125");
  EXPECT_EQ(FormatElement(rounded, 1), "-1.0078125");
  EXPECT_EQ(FormatElement(rounded, 2), "1.0078125");
}

TEST(TensorTest, HalfWidensExactly) {
  Tensor wide = *ToFloat32(
      Make<uint16_t>(v1::DTYPE_FLOAT16, {0x3c00, 0x8000, 0x0001, 0x7bff, 0xfc00, 0x7e00}));
  EXPECT_EQ(FormatElement(wide, 0), "1.0");
  EXPECT_EQ(FormatElement(wide, 1), "-0.0");
  float smallest;
  std::memcpy(&smallest, wide.data.data() + 8, 4);
  EXPECT_EQ(smallest, std::ldexp(1.0f, -24));
  EXPECT_EQ(FormatElement(wide, 3), "65504.0");
  EXPECT_EQ(FormatElement(wide, 4), "-inf");
  EXPECT_EQ(FormatElement(wide, 5), "nan");
  EXPECT_FALSE(ToFloat32(Make<int32_t>(v1::DTYPE_INT32, {1})).ok());
}

TEST(TensorTest, ElementsPrintByTheirType) {
  EXPECT_EQ(FormatElement(Make<uint8_t>(v1::DTYPE_BOOL, {0, 1}), 1), "True");
  EXPECT_EQ(FormatElement(Make<int8_t>(v1::DTYPE_INT8, {-5}), 0), "-5");
  EXPECT_EQ(FormatElement(Make<uint64_t>(v1::DTYPE_UINT64, {~uint64_t(0)}), 0),
            "18446744073709551615");
  EXPECT_EQ(FormatElement(Make<double>(v1::DTYPE_FLOAT64, {0.1}), 0), "0.1");
}

} // namespace
} // namespace pyasc::client
