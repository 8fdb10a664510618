#include "profiler/sim/half.h"
#include "profiler/sim/half_arrays.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace pyasc::sim {
namespace {

// The value of a 16-bit float straight from its definition.
double Decode(uint16_t bits, int mantissa, int exponent_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> mantissa & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << mantissa) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(fraction, 1 - bias - mantissa);
  return sign * std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

// Rounds by searching the table of all finite values: the nearest, the even one on a tie.
class Oracle {
public:
  Oracle(int mantissa, int exponent_bits) {
    infinity_ = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa);
    for (int bits = 0; bits < infinity_; ++bits)
      values_.push_back(Decode(static_cast<uint16_t>(bits), mantissa, exponent_bits));
    // What rounds to infinity lies at or beyond half a step past the greatest value.
    values_.push_back(2 * values_.back() - values_[values_.size() - 2]);
  }
  uint16_t Round(double value) const {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(value);
    if (magnitude >= values_.back())
      return sign | infinity_;
    auto above = std::upper_bound(values_.begin(), values_.end(), magnitude);
    auto index = static_cast<uint16_t>(above - values_.begin() - 1);
    const double down = magnitude - values_[index];
    const double up = values_[index + 1] - magnitude;
    if (up < down || (up == down && index % 2 == 1))
      ++index;
    return sign | index;
  }

private:
  uint16_t infinity_;
  std::vector<double> values_;
};

bool SameFloat(float a, double b) {
  return std::isnan(b) ? std::isnan(a)
                       : static_cast<double>(a) == b && std::signbit(a) == std::signbit(b);
}

TEST(HalfTest, EveryHalfAndBfloat16WidensToItsValue) {
  for (int bits = 0; bits < 65536; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    ASSERT_TRUE(SameFloat(HalfToFloat(half), Decode(half, 10, 5))) << bits;
    ASSERT_TRUE(SameFloat(Bfloat16ToFloat(half), Decode(half, 7, 8))) << bits;
  }
}

TEST(HalfTest, WideningAndNarrowingIsTheIdentityButForSignallingNan) {
  for (int bits = 0; bits < 65536; ++bits) {
    auto value = static_cast<uint16_t>(bits);
    const bool half_nan = (value & 0x7fff) > 0x7c00;
    ASSERT_EQ(FloatToHalf(HalfToFloat(value)), half_nan ? value | 0x200 : value);
    const bool bfloat_nan = (value & 0x7fff) > 0x7f80;
    ASSERT_EQ(FloatToBfloat16(Bfloat16ToFloat(value)), bfloat_nan ? value | 0x40 : value);
  }
}

TEST(HalfTest, NarrowingRoundsToNearestEven) {
  const Oracle half(10, 5), bfloat(7, 8);
  auto check = [&](float value) {
    ASSERT_EQ(FloatToHalf(value), half.Round(value)) << value;
    ASSERT_EQ(FloatToBfloat16(value), bfloat.Round(value)) << value;
    ASSERT_EQ(DoubleToHalf(value), half.Round(value)) << value;
    ASSERT_EQ(DoubleToBfloat16(value), bfloat.Round(value)) << value;
  };
  // Midpoints between neighbours and what lies next to them.
  for (int bits = 0; bits < 0x7c00; ++bits) {
    const float low = HalfToFloat(static_cast<uint16_t>(bits));
    const float high = bits + 1 == 0x7c00 ? 65536.0f : HalfToFloat(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    for (float value : {low, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)}) {
      check(value);
      check(-value);
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 2000000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isnan(value))
      check(value);
  }
}

TEST(HalfTest, DoublesRoundOnce) {
  // Rounding to float first would land on a tie and then go to the even neighbour.
  const double just_above_tie = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(DoubleToHalf(just_above_tie), 0x3c01);
  EXPECT_EQ(FloatToHalf(static_cast<float>(just_above_tie)), 0x3c00);
  EXPECT_EQ(DoubleToBfloat16(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(DoubleToHalf(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(DoubleToHalf(-1e300), 0xfc00);
}

// Every bit pattern of 16 bits, and floats of every exponent, sign and rounding.
TEST(HalfTest, ArraysAreConvertedAsSingleNumbersAre) {
  std::vector<uint16_t> patterns(65536 + 3);
  for (size_t i = 0; i < patterns.size(); ++i)
    patterns[i] = static_cast<uint16_t>(i);
  const auto *bytes = reinterpret_cast<const std::byte *>(patterns.data());
  const auto n = static_cast<int64_t>(patterns.size());
  std::vector<float> halves(n), bfloats(n);
  WidenHalves(bytes, halves.data(), n);
  WidenBfloats(bytes, bfloats.data(), n);
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(halves[i]), std::bit_cast<uint32_t>(HalfToFloat(patterns[i])))
        << i;
    ASSERT_EQ(std::bit_cast<uint32_t>(bfloats[i]),
              std::bit_cast<uint32_t>(Bfloat16ToFloat(patterns[i])))
        << i;
  }
  std::vector<float> floats;
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x7fffu, 0x8000u,
                         0x8001u, 0xf000u, 0xffffu})
      floats.push_back(std::bit_cast<float>(high << 16 | low));
  std::vector<uint16_t> half(floats.size()), bfloat(floats.size());
  NarrowToHalves(floats.data(), reinterpret_cast<std::byte *>(half.data()),
                 static_cast<int64_t>(floats.size()));
  NarrowToBfloats(floats.data(), reinterpret_cast<std::byte *>(bfloat.data()),
                  static_cast<int64_t>(floats.size()));
  for (size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(half[i], FloatToHalf(floats[i])) << std::bit_cast<uint32_t>(floats[i]);
    ASSERT_EQ(bfloat[i], FloatToBfloat16(floats[i])) << std::bit_cast<uint32_t>(floats[i]);
  }
}

} // namespace
} // namespace pyasc::sim
