#include "proto/contract/launch_expr.h"

#include <gtest/gtest.h>

namespace pyasc::contract {
namespace {

using Expr = v1::LaunchExpr;

Expr Make(std::initializer_list<std::pair<Expr::Op, int64_t>> steps) {
  Expr expr;
  for (auto [op, value] : steps) {
    Expr::Step &step = *expr.add_steps();
    step.set_op(op);
    step.set_value(value);
  }
  return expr;
}

Expr Binary(Expr::Op op, int64_t a, int64_t b) {
  return Make({{Expr::OP_CONST, a}, {Expr::OP_CONST, b}, {op, 0}});
}

TEST(LaunchExpr, Arithmetic) {
  struct Case {
    Expr::Op op;
    int64_t a, b, want;
  } cases[] = {
      {Expr::OP_ADD, 2, 3, 5},         {Expr::OP_SUB, 2, 3, -1},
      {Expr::OP_MUL, -2, 3, -6},       {Expr::OP_FLOOR_DIV, -7, 2, -4},
      {Expr::OP_FLOOR_DIV, 7, -2, -4}, {Expr::OP_FLOOR_DIV, 6, 3, 2},
      {Expr::OP_CEIL_DIV, 7, 2, 4},    {Expr::OP_CEIL_DIV, -7, 2, -3},
      {Expr::OP_CEIL_DIV, 6, 3, 2},    {Expr::OP_MOD, -7, 3, 2},
      {Expr::OP_MOD, 7, -3, -2},       {Expr::OP_MIN, 2, 3, 2},
      {Expr::OP_MAX, 2, 3, 3},
  };
  for (const Case &c : cases) {
    auto value = Evaluate(Binary(c.op, c.a, c.b), {});
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(*value, c.want) << "op " << c.op << " of " << c.a << " and " << c.b;
  }
}

TEST(LaunchExpr, DimensionsAndScalarsComeFromTheArguments) {
  std::vector<LaunchValue> values = {{{4, 5}, std::nullopt}, {{}, 7}};
  EXPECT_EQ(Evaluate(Make({{Expr::OP_DIM, 0 << 8 | 1}}), values).value(), 5);
  EXPECT_EQ(Evaluate(Make({{Expr::OP_SCALAR, 1}}), values).value(), 7);
}

TEST(LaunchExpr, WhatMakesNoSenseIsRefused) {
  std::vector<LaunchValue> values = {{{4, 5}, std::nullopt}};
  for (const Expr &expr :
       {Make({}), Make({{Expr::OP_ADD, 0}}), Make({{Expr::OP_CONST, 1}, {Expr::OP_CONST, 1}}),
        Make({{Expr::OP_DIM, 2}}), Make({{Expr::OP_DIM, 1 << 8}}), Make({{Expr::OP_DIM, -1}}),
        Make({{Expr::OP_SCALAR, 0}}), Make({{Expr::OP_SCALAR, -1}}), Binary(Expr::OP_MOD, 1, 0),
        Binary(Expr::OP_FLOOR_DIV, INT64_MIN, -1), Binary(Expr::OP_MUL, INT64_MAX, 2),
        Binary(Expr::OP_UNSPECIFIED, 1, 1)})
    EXPECT_FALSE(Evaluate(expr, values).ok()) << expr.ShortDebugString();
}

} // namespace
} // namespace pyasc::contract
