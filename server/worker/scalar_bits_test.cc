#include "server/core/scalar_bits.h"

#include <gtest/gtest.h>

#include "server/worker/generate.h"

namespace pyasc::server {
namespace {

v1::ScalarValue Int(int64_t value) {
  v1::ScalarValue scalar;
  scalar.set_int_value(value);
  return scalar;
}

v1::ScalarValue Float(double value) {
  v1::ScalarValue scalar;
  scalar.set_float_value(value);
  return scalar;
}

TEST(ScalarBits, NumbersTakeTheParametersWidth) {
  EXPECT_EQ(ScalarBits(Int(-1), v1::DTYPE_INT8).value(), 0xffu);
  EXPECT_EQ(ScalarBits(Int(-2), v1::DTYPE_INT32).value(), 0xfffffffeu);
  EXPECT_EQ(ScalarBits(Int(-1), v1::DTYPE_INT64).value(), UINT64_MAX);
  EXPECT_EQ(ScalarBits(Int(255), v1::DTYPE_UINT8).value(), 255u);
  EXPECT_EQ(ScalarBits(Int(1), v1::DTYPE_BOOL).value(), 1u);
  EXPECT_EQ(ScalarBits(Int(1), v1::DTYPE_FLOAT32).value(), 0x3f800000u);
  EXPECT_EQ(ScalarBits(Float(1.5), v1::DTYPE_FLOAT64).value(), 0x3ff8000000000000u);
  EXPECT_EQ(ScalarBits(Float(1), v1::DTYPE_FLOAT16).value(), 0x3c00u);
  EXPECT_EQ(ScalarBits(Float(65504), v1::DTYPE_FLOAT16).value(), 0x7bffu);
  EXPECT_EQ(ScalarBits(Float(1), v1::DTYPE_BFLOAT16).value(), 0x3f80u);
}

TEST(ScalarBits, BFloat16RoundsToNearestEven) {
  EXPECT_EQ(FloatBits(1 + 0x1p-8, v1::DTYPE_BFLOAT16), 0x3f80u);     // a tie, to even
  EXPECT_EQ(FloatBits(1 + 3 * 0x1p-8, v1::DTYPE_BFLOAT16), 0x3f82u); // a tie, to even
  EXPECT_EQ(FloatBits(1 + 0x1.1p-8, v1::DTYPE_BFLOAT16), 0x3f81u);
  EXPECT_EQ(FloatBits(__builtin_nan(""), v1::DTYPE_BFLOAT16) & 0x7fff, 0x7fc0u);
}

TEST(ScalarBits, WhatDoesNotFitIsRefused) {
  for (const auto &[value, dtype] : {std::pair{Int(128), v1::DTYPE_INT8},
                                     {Int(-129), v1::DTYPE_INT8},
                                     {Int(256), v1::DTYPE_UINT8},
                                     {Int(-1), v1::DTYPE_UINT64},
                                     {Int(int64_t{1} << 31), v1::DTYPE_INT32},
                                     {Int(2), v1::DTYPE_BOOL},
                                     {Float(1.0), v1::DTYPE_INT32},
                                     {v1::ScalarValue(), v1::DTYPE_INT32},
                                     {Int(1), v1::DTYPE_UNSPECIFIED}})
    EXPECT_FALSE(ScalarBits(value, dtype).ok()) << value.ShortDebugString() << " as " << dtype;
}

TEST(Generate, UniformNumbersStayBelowOneInEveryDtype) {
  for (v1::DType dtype : {v1::DTYPE_FLOAT16, v1::DTYPE_BFLOAT16}) {
    v1::GeneratedTensor tensor;
    tensor.set_kind(v1::GeneratedTensor::KIND_UNIFORM);
    tensor.mutable_type()->set_dtype(dtype);
    std::vector<uint16_t> bits(100'000);
    ASSERT_TRUE(Generate(tensor, 0, std::as_writable_bytes(std::span(bits))).ok());
    const uint16_t one = static_cast<uint16_t>(FloatBits(1, dtype));
    for (uint16_t b : bits)
      ASSERT_LT(b, one);
  }
}

TEST(Generate, APartIsThatPartOfTheWhole) {
  v1::GeneratedTensor tensor;
  tensor.mutable_type()->set_dtype(v1::DTYPE_FLOAT32);
  tensor.set_seed(3);
  for (auto kind : {v1::GeneratedTensor::KIND_ZEROS, v1::GeneratedTensor::KIND_ONES,
                    v1::GeneratedTensor::KIND_UNIFORM, v1::GeneratedTensor::KIND_NORMAL}) {
    tensor.set_kind(kind);
    std::vector<float> whole(1000), part(300);
    ASSERT_TRUE(Generate(tensor, 0, std::as_writable_bytes(std::span(whole))).ok());
    ASSERT_TRUE(Generate(tensor, 650, std::as_writable_bytes(std::span(part))).ok());
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 650));
  }
}

TEST(Generate, RandomIntegersAreRefused) {
  v1::GeneratedTensor tensor;
  tensor.set_kind(v1::GeneratedTensor::KIND_NORMAL);
  tensor.mutable_type()->set_dtype(v1::DTYPE_INT32);
  int32_t value;
  EXPECT_FALSE(Generate(tensor, 0, std::as_writable_bytes(std::span(&value, 1))).ok());
}

} // namespace
} // namespace pyasc::server
