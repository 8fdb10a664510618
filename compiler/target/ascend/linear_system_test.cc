#include "compiler/target/ascend/linear_system.h"

#include <random>

#include "gtest/gtest.h"

namespace pyasc::npu {
namespace {

TEST(LinearSystem, ScaledEqualityFallsIntoRowAndColumn) {
  // 8192 * (i - j) + (c - d) = 0 with columns below 8192 and i > j.
  LinearSystem system;
  Linear i = system.variable(), j = system.variable();
  Linear c = system.variable(), d = system.variable();
  for (const Linear &column : {c, d}) {
    system.positive(column);
    system.positive(Linear{{}, 8191}.add(column, -1));
  }
  Linear place = Linear().add(i, 8192).add(j, -8192).add(c).add(d, -1);
  system.zero(place);
  EXPECT_EQ(system.isEmptyByBounds(), false);
  Linear later = Linear{{}, -1}.add(i).add(j, -1);
  system.positive(later);
  EXPECT_EQ(system.isEmptyByBounds(), true);
  EXPECT_TRUE(system.isEmptyByProgramming());
}

TEST(LinearSystem, NoMultipleOfTwoIsOdd) {
  LinearSystem system;
  Linear i = system.variable();
  system.zero(Linear{{}, 7}.add(i, 2));
  EXPECT_EQ(system.isEmptyByBounds(), true);
  EXPECT_TRUE(system.isEmptyByProgramming());
}

TEST(LinearSystem, MemoTellsSystemsApart) {
  LinearSystemMemo memo;
  LinearSystem a;
  a.positive(Linear{{}, -5}.add(a.variable()));
  EXPECT_FALSE(memo.isEmpty(a));
  LinearSystem b = a;
  b.positive(Linear{{}, 4}.add(Linear{{{0, 1}}, 0}, -1));
  EXPECT_TRUE(memo.isEmpty(b));
  EXPECT_FALSE(memo.isEmpty(a));
}

// Bounds and integer programming never disagree, and bounds decide nearly all.
TEST(LinearSystem, AgreesWithIntegerProgrammingOnRandomSystems) {
  std::mt19937 random(7);
  auto pick = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  const int64_t strides[] = {1, 1, 1, 2, 3, 16, 64, 100, -1, -1, -7, -64};
  int decided = 0, empty = 0;
  constexpr int kSystems = 3000;
  for (int n = 0; n < kSystems; ++n) {
    LinearSystem system;
    std::vector<Linear> variables;
    for (int v = pick(1, 7); v > 0; --v) {
      variables.push_back(system.variable());
      if (pick(0, 9) == 0)
        continue;
      system.positive(Linear{{}, pick(-3, 3)}.add(variables.back()));
      if (pick(0, 9) > 0)
        system.positive(Linear{{}, pick(0, 70)}.add(variables.back(), -1));
    }
    auto expression = [&] {
      Linear sum{{}, pick(-40, 40)};
      for (int terms = pick(1, 4); terms > 0; --terms)
        sum.add(variables[pick(0, static_cast<int>(variables.size()) - 1)], strides[pick(0, 11)]);
      return sum;
    };
    for (int e = pick(0, 2); e > 0; --e)
      system.zero(expression());
    for (int e = pick(0, 4); e > 0; --e)
      system.positive(expression());
    const bool right = system.isEmptyByProgramming();
    empty += right;
    if (std::optional<bool> answer = system.isEmptyByBounds()) {
      ++decided;
      ASSERT_EQ(*answer, right) << "system " << n;
    }
    EXPECT_EQ(system.isEmpty(), right);
  }
  EXPECT_GT(decided, kSystems * 9 / 10);
  EXPECT_GT(empty, kSystems / 10);
  EXPECT_LT(empty, kSystems * 9 / 10);
}

} // namespace
} // namespace pyasc::npu
