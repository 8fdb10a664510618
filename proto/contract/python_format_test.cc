#include "proto/contract/python_format.h"

#include <gtest/gtest.h>

#include <vector>

namespace pyasc::contract {
namespace {

// What Python 3.11 and NumPy print.
struct Row {
  v1::DType dtype;
  uint64_t word;
  const char *spec;
  const char *text;
};
const Row kRows[] = {
    {v1::DTYPE_FLOAT32, 0x0u, "", "0.0"},
    {v1::DTYPE_FLOAT32, 0x80000000u, "", "-0.0"},
    {v1::DTYPE_FLOAT32, 0x3dcccccdu, "", "0.1"},
    {v1::DTYPE_FLOAT32, 0x3eaaaaabu, "", "0.33333334"},
    {v1::DTYPE_FLOAT32, 0x5a0e1bcau, "", "1e+16"},
    {v1::DTYPE_FLOAT32, 0x61021ab1u, "", "1.5e+20"},
    {v1::DTYPE_FLOAT32, 0x4b18967fu, "", "9999999.0"},
    {v1::DTYPE_FLOAT32, 0x4ceb79a3u, "", "123456790.0"},
    {v1::DTYPE_FLOAT32, 0x38d1b717u, "", "1e-04"},
    {v1::DTYPE_FLOAT32, 0x38cf9e38u, "", "9.9e-05"},
    {v1::DTYPE_FLOAT32, 0x1u, "", "1e-45"},
    {v1::DTYPE_FLOAT32, 0x7f7fffffu, "", "3.4028235e+38"},
    {v1::DTYPE_FLOAT32, 0x4b800000u, "", "16777216.0"},
    {v1::DTYPE_FLOAT32, 0x29800000u, "", "5.684342e-14"},
    {v1::DTYPE_FLOAT32, 0x6c800000u, "", "1.2379401e+27"},
    {v1::DTYPE_FLOAT32, 0x7fc00000u, "", "nan"},
    {v1::DTYPE_FLOAT32, 0x7f800000u, "", "inf"},
    {v1::DTYPE_FLOAT32, 0xff800000u, "", "-inf"},
    {v1::DTYPE_FLOAT32, 0xc0200000u, "", "-2.5"},
    {v1::DTYPE_FLOAT32, 0x58635fa9u, "", "1000000000000000.0"},
    {v1::DTYPE_FLOAT16, 0x3dccc000u, "", "0.1"},
    {v1::DTYPE_FLOAT16, 0x3eaaa000u, "", "0.3333"},
    {v1::DTYPE_FLOAT16, 0x477fe000u, "", "65500.0"},
    {v1::DTYPE_FLOAT16, 0x33800000u, "", "6e-08"},
    {v1::DTYPE_FLOAT16, 0x387fc000u, "", "6.1e-05"},
    {v1::DTYPE_FLOAT16, 0x3f800000u, "", "1.0"},
    {v1::DTYPE_FLOAT16, 0x45000000u, "", "2048.0"},
    {v1::DTYPE_FLOAT16, 0x42054000u, "", "33.3"},
    {v1::DTYPE_FLOAT16, 0x38d1c000u, "", "0.0001"},
    {v1::DTYPE_FLOAT16, 0x3dcca000u, "", "0.0999"},
    {v1::DTYPE_FLOAT64, 0x3fb999999999999au, "", "0.1"},
    {v1::DTYPE_FLOAT64, 0x3fd5555555555555u, "", "0.3333333333333333"},
    {v1::DTYPE_FLOAT64, 0x4341c37937e08000u, "", "1e+16"},
    {v1::DTYPE_FLOAT64, 0x4480f0cf064dd592u, "", "1e+22"},
    {v1::DTYPE_FLOAT64, 0x3ee4f8b588e368f1u, "", "1e-05"},
    {v1::DTYPE_FLOAT64, 0x4004000000000000u, "", "2.5"},
    {v1::DTYPE_FLOAT64, 0x400921f9f01b866eu, ".2f", "3.14"},
    {v1::DTYPE_FLOAT64, 0x4132d687e4189375u, ",.2f", "1,234,567.89"},
    {v1::DTYPE_FLOAT64, 0x3fe0000000000000u, "%", "50.000000%"},
    {v1::DTYPE_FLOAT64, 0x3fc0000000000000u, ".1%", "12.5%"},
    {v1::DTYPE_FLOAT64, 0x4008000000000000u, ".3", "3.0"},
    {v1::DTYPE_FLOAT64, 0x4059000000000000u, ".3", "1e+02"},
    {v1::DTYPE_FLOAT64, 0x40934a0000000000u, ".3", "1.23e+03"},
    {v1::DTYPE_FLOAT64, 0x3e7ad7f29abcaf48u, "g", "1e-07"},
    {v1::DTYPE_FLOAT64, 0x40fe240000000000u, "g", "123456"},
    {v1::DTYPE_FLOAT64, 0x4132d68700000000u, "g", "1.23457e+06"},
    {v1::DTYPE_FLOAT64, 0x4004000000000000u, ">10.1f", "       2.5"},
    {v1::DTYPE_FLOAT64, 0xc004000000000000u, "<8", "-2.5    "},
    {v1::DTYPE_FLOAT64, 0x4004000000000000u, "^9.2e", "2.50e+00 "},
    {v1::DTYPE_FLOAT64, 0xc004000000000000u, "08.2f", "-0002.50"},
    {v1::DTYPE_FLOAT64, 0x4000000000000000u, "+", "+2.0"},
    {v1::DTYPE_FLOAT64, 0x4000000000000000u, " .1f", " 2.0"},
    {v1::DTYPE_FLOAT64, 0x40934a0000000000u, "012,.1f", "00,001,234.5"},
    {v1::DTYPE_FLOAT64, 0x7ff8000000000000u, ">6", "   nan"},
    {v1::DTYPE_FLOAT64, 0xfff0000000000000u, "06.1f", "-00inf"},
    {v1::DTYPE_FLOAT64, 0x3f1a36e2eb1c432du, ".3", "0.0001"},
    {v1::DTYPE_FLOAT64, 0x4000000000000000u, "#.0f", "2."},
    {v1::DTYPE_FLOAT64, 0x4202a05f20000000u, "*>15,.0f", "*10,000,000,000"},
    {v1::DTYPE_FLOAT64, 0x7ff0000000000000u, "F", "INF"},
    {v1::DTYPE_FLOAT64, 0x3ff8000000000000u, "E", "1.500000E+00"},
    {v1::DTYPE_FLOAT64, 0x0u, "g", "0"},
    {v1::DTYPE_FLOAT64, 0x8000000000000000u, ".1f", "-0.0"},
    {v1::DTYPE_FLOAT64, 0x4059000000000000u, "#g", "100.000"},
    {v1::DTYPE_FLOAT64, 0x4415af1d78b58c40u, "", "1e+20"},
    {v1::DTYPE_FLOAT64, 0x40c81cd6c8b43958u, "n", "12345.7"},
    {v1::DTYPE_INT64, 0x2au, "", "42"},
    {v1::DTYPE_INT64, 0xffffffffffffffd6u, "5", "  -42"},
    {v1::DTYPE_INT64, 0x2au, "<5d", "42   "},
    {v1::DTYPE_INT64, 0x2au, "^6", "  42  "},
    {v1::DTYPE_INT64, 0x2au, "05", "00042"},
    {v1::DTYPE_INT64, 0xffffffffffffffd6u, "05", "-0042"},
    {v1::DTYPE_INT64, 0xffu, "x", "ff"},
    {v1::DTYPE_INT64, 0xffu, "#X", "0XFF"},
    {v1::DTYPE_INT64, 0x5u, "#b", "0b101"},
    {v1::DTYPE_INT64, 0x12d687u, ",", "1,234,567"},
    {v1::DTYPE_INT64, 0x12d687u, "_", "1_234_567"},
    {v1::DTYPE_INT64, 0x12d687u, "012,", "0,001,234,567"},
    {v1::DTYPE_INT64, 0xffffu, "_x", "ffff"},
    {v1::DTYPE_INT64, 0x2au, ".1f", "42.0"},
    {v1::DTYPE_INT64, 0x2au, "e", "4.200000e+01"},
    {v1::DTYPE_INT64, 0x7u, "+", "+7"},
    {v1::DTYPE_INT64, 0x8u, "#o", "0o10"},
    {v1::DTYPE_INT64, 0x1u, "%", "100.000000%"},
    {v1::DTYPE_INT64, 0x8000000000000000u, "", "-9223372036854775808"},
    {v1::DTYPE_INT64, 0x8000000000000000u, "x", "-8000000000000000"},
    {v1::DTYPE_INT64, 0x2au, "*^7", "**42***"},
    {v1::DTYPE_INT64, 0x2au, "=+6", "+   42"},
    {v1::DTYPE_BOOL, 0x1u, "", "True"},
    {v1::DTYPE_BOOL, 0x0u, "", "False"},
    {v1::DTYPE_BOOL, 0x1u, "d", "1"},
    {v1::DTYPE_BOOL, 0x1u, ">3", "  1"},
    {v1::DTYPE_UINT64, 0xffffffffffffffffu, "", "18446744073709551615"},
    {v1::DTYPE_UINT64, 0xffffffffffffffffu, ",", "18,446,744,073,709,551,615"},
};

TEST(PythonFormat, NumbersPrintAsInPython) {
  for (const Row &row : kRows) {
    auto text = FormatNumber({row.dtype, row.word}, row.spec);
    ASSERT_TRUE(text.ok()) << row.spec << ": " << text.status();
    EXPECT_EQ(*text, row.text) << "'" << row.spec << "'";
  }
}

TEST(PythonFormat, WhatPythonRefusesIsRefused) {
  const PrintNumber integer{v1::DTYPE_INT32, 7}, real{v1::DTYPE_FLOAT32, 0};
  for (const char *spec : {".2", "s", "5.1d", "q", ",x", "<<<", "5 ", "z"})
    EXPECT_FALSE(FormatNumber(integer, spec).ok()) << spec;
  for (const char *spec : {"d", "x", "s", ".", ".f", "99999999"})
    EXPECT_FALSE(FormatNumber(real, spec).ok()) << spec;
}

TEST(PythonFormat, TextsHaveTheirFieldsFilled) {
  v1::TensorType scalar, matrix, empty;
  for (v1::TensorType *type : {&scalar, &matrix, &empty})
    type->set_dtype(v1::DTYPE_INT32);
  matrix.add_shape(2);
  matrix.add_shape(2);
  empty.add_shape(0);
  const std::vector<v1::TensorType> types = {scalar, matrix, empty, scalar};
  const std::vector<uint64_t> words = {7, 1, 2, 3, static_cast<uint64_t>(-4), 9};
  EXPECT_EQ(FormatText("{{a}} {:03d} {} {}{}", types, words), "{a} 007 [[1, 2], [3, -4]] []9");
  EXPECT_EQ(FormatText("{} {}", types, {}), "? [[?, ?], [?, ?]]") << "a record that ends early";
  EXPECT_EQ(FormatText("{:q}", types, words), "?");
}

} // namespace
} // namespace pyasc::contract
