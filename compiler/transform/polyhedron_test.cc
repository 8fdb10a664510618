#include "compiler/transform/polyhedron.h"

#include "gtest/gtest.h"

namespace pyasc {
namespace {

LinearForm form(std::initializer_list<int64_t> coefficients, int64_t constant) {
  LinearForm result = LinearForm::ofConstant(constant);
  unsigned variable = 0;
  for (int64_t coefficient : coefficients)
    result.set(variable++, coefficient);
  return result;
}

// Variables: 0 the tile, 1 the element. Tiles start at `step` * tile and hold `size` elements.
std::vector<Constraint> tiles(int64_t count, int64_t step, int64_t size) {
  return {
      {form({1}, 0)}, {form({-1}, count - 1)}, {form({-step, 1}, 0)}, {form({step, -1}, size - 1)}};
}

bool coversInterval(const std::vector<Constraint> &domain, int64_t last) {
  ProofCache cache;
  return isCovered({{form({0, 1}, 0)}, {form({0, -1}, last)}}, domain, 2, {0}, cache);
}

TEST(IsCovered, HoldsForTilesThatTouch) {
  EXPECT_TRUE(coversInterval(tiles(6, 10, 10), 59));
  EXPECT_TRUE(coversInterval(tiles(6, 10, 12), 61));
}

TEST(IsCovered, FailsForTilesWithGaps) {
  EXPECT_FALSE(coversInterval(tiles(6, 10, 8), 57));
  EXPECT_FALSE(coversInterval(tiles(6, 10, 10), 60));
}

TEST(System, FindsEmptinessThatOnlyIntegersShow) {
  ProofCache cache;
  System even(2); // 2a = 2b + 1
  even.addZero(form({2, -2}, -1));
  EXPECT_TRUE(even.isProvablyEmpty(cache));
  System between(2); // 1 <= 3a - 3b <= 2
  between.addNonNegative(form({3, -3}, -1));
  between.addNonNegative(form({-3, 3}, 2));
  EXPECT_TRUE(between.isProvablyEmpty(cache));
  System possible(2);
  possible.addNonNegative(form({3, -2}, -1));
  possible.addNonNegative(form({-3, 2}, 1));
  EXPECT_FALSE(possible.isProvablyEmpty(cache));
}

TEST(System, ProvesNothingWhenItOverflows) {
  ProofCache cache;
  System large(3); // a = 2^62 b, and a large multiple of a
  large.addZero(form({1, -(int64_t(1) << 62), 0}, 0));
  large.addZero(form({4, 0, 1}, 0));
  EXPECT_FALSE(large.isProvablyEmpty(cache));
}

TEST(System, ImpliesWhatItsConstraintsForce) {
  ProofCache cache;
  System domain(2); // 0 <= a <= b <= 9
  domain.addNonNegative(form({1}, 0));
  domain.addNonNegative(form({-1, 1}, 0));
  domain.addNonNegative(form({0, -1}, 9));
  EXPECT_TRUE(domain.implies(form({-1, 0}, 9), cache));
  EXPECT_FALSE(domain.implies(form({-1, 0}, 8), cache));
}

TEST(ProjectOnto, KeepsParametersAndOneVariable) {
  std::vector<Constraint> domain = tiles(6, 10, 8);
  llvm::SmallVector<bool> isParameter(2, false);
  auto interval = projectOnto(domain, 2, 1, isParameter);
  ASSERT_TRUE(interval.has_value());
  ProofCache cache;
  System box(2);
  for (const Constraint &constraint : *interval)
    box.add(constraint);
  EXPECT_TRUE(box.implies(form({0, 1}, 0), cache));
  EXPECT_TRUE(box.implies(form({0, -1}, 57), cache));
}

} // namespace
} // namespace pyasc
