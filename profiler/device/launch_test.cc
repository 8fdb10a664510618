#include "profiler/device/launch.h"

#include "proto/contract/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pyasc::device {
namespace {

using ::testing::HasSubstr;

struct FakeBuffer : Buffer {
  explicit FakeBuffer(int64_t bytes) : bytes(bytes) {}
  int64_t size_bytes() const override { return bytes; }
  int64_t bytes;
};

void Push(v1::LaunchExpr *expr, v1::LaunchExpr::Op op, int64_t value = 0) {
  expr->add_steps()->set_op(op);
  expr->mutable_steps(expr->steps_size() - 1)->set_value(value);
}

// kernel(A: f32[6,7], n: int64), both phases on one core.
v1::LaunchContract Contract() {
  v1::LaunchContract contract;
  contract.set_schema_version(contract::kLaunchSchemaVersion);
  v1::Parameter *a = contract.add_parameters();
  a->set_name("A");
  a->mutable_tensor()->set_dtype(v1::DTYPE_FLOAT32);
  a->mutable_tensor()->add_shape(6);
  a->mutable_tensor()->add_shape(7);
  v1::Parameter *n = contract.add_parameters();
  n->set_name("n");
  n->set_scalar(v1::DTYPE_INT64);
  v1::Phase *phase = contract.add_phases();
  phase->set_entry("k");
  Push(phase->mutable_blocks(), v1::LaunchExpr::OP_CONST, 1);
  phase->add_arguments()->set_parameter(0);
  return contract;
}

int64_t Value(std::initializer_list<std::pair<v1::LaunchExpr::Op, int64_t>> steps, int64_t n = 0) {
  v1::LaunchExpr expr;
  for (auto [op, value] : steps)
    Push(&expr, op, value);
  std::vector<LaunchArgument> arguments(2);
  arguments[1].scalar_bits = static_cast<uint64_t>(n);
  return Evaluate(expr, Contract(), arguments).value();
}

TEST(Evaluate, DividesTowardsMinusInfinityAndUp) {
  using E = v1::LaunchExpr;
  EXPECT_EQ(Value({{E::OP_CONST, -7}, {E::OP_CONST, 2}, {E::OP_FLOOR_DIV, 0}}), -4);
  EXPECT_EQ(Value({{E::OP_CONST, -7}, {E::OP_CONST, 2}, {E::OP_CEIL_DIV, 0}}), -3);
  EXPECT_EQ(Value({{E::OP_CONST, 7}, {E::OP_CONST, 2}, {E::OP_CEIL_DIV, 0}}), 4);
  EXPECT_EQ(Value({{E::OP_CONST, -7}, {E::OP_CONST, 3}, {E::OP_MOD, 0}}), 2);
}

TEST(Evaluate, ReadsDimsAndScalars) {
  using E = v1::LaunchExpr;
  EXPECT_EQ(Value({{E::OP_DIM, (0 << 8) | 1}}), 7);
  EXPECT_EQ(Value({{E::OP_SCALAR, 1}, {E::OP_DIM, 0}, {E::OP_MUL, 0}}, -2), -12);
}

TEST(Evaluate, RefusesMalformedExpressions) {
  using E = v1::LaunchExpr;
  for (auto steps : std::vector<std::vector<std::pair<E::Op, int64_t>>>{
           {},
           {{E::OP_ADD, 0}},
           {{E::OP_CONST, 1}, {E::OP_CONST, 2}},
           {{E::OP_CONST, 1}, {E::OP_CONST, 0}, {E::OP_MOD, 0}},
           {{E::OP_CONST, INT64_MAX}, {E::OP_CONST, 1}, {E::OP_ADD, 0}},
           {{E::OP_CONST, INT64_MIN}, {E::OP_CONST, -1}, {E::OP_FLOOR_DIV, 0}},
           {{E::OP_DIM, 9 << 8}},
           {{E::OP_DIM, 5}},
           {{E::OP_SCALAR, 0}},
       }) {
    v1::LaunchExpr expr;
    for (auto [op, value] : steps)
      Push(&expr, op, value);
    EXPECT_FALSE(Evaluate(expr, Contract(), {}).ok());
  }
}

TEST(CheckContract, AcceptsAWholeOneAndRefusesDamage) {
  EXPECT_TRUE(CheckContract(Contract()).ok());
  v1::LaunchContract damaged = Contract();
  damaged.set_schema_version(99);
  EXPECT_THAT(CheckContract(damaged).message(), HasSubstr("99"));
  damaged = Contract();
  damaged.mutable_phases(0)->add_arguments()->set_workspace(3);
  EXPECT_FALSE(CheckContract(damaged).ok());
  damaged = Contract();
  damaged.mutable_parameters(0)->mutable_tensor()->set_shape(0, INT64_MAX);
  EXPECT_FALSE(CheckContract(damaged).ok());
  damaged = Contract();
  damaged.mutable_phases(0)->clear_blocks();
  EXPECT_FALSE(CheckContract(damaged).ok());
}

// Two phases, the second in a loop and given its variable.
v1::LaunchContract WithLoop() {
  v1::LaunchContract contract = Contract();
  *contract.add_phases() = contract.phases(0);
  contract.mutable_phases(1)->add_arguments()->set_loop_variable(true);
  v1::PhaseLoop *loop = contract.add_loops();
  loop->set_first_phase(1);
  loop->set_phases(1);
  Push(loop->mutable_rounds(), v1::LaunchExpr::OP_CONST, 3);
  return contract;
}

TEST(CheckContract, TakesLoopsOfPhasesThatLieApartAndHoldWhatAsksForTheirVariable) {
  EXPECT_TRUE(CheckContract(WithLoop()).ok());
  v1::LaunchContract damaged = WithLoop();
  damaged.mutable_phases(0)->add_arguments()->set_loop_variable(true);
  EXPECT_THAT(CheckContract(damaged).message(), HasSubstr("outside of loops"));
  damaged = WithLoop();
  damaged.mutable_loops(0)->set_phases(2);
  EXPECT_THAT(CheckContract(damaged).message(), HasSubstr("has not"));
  damaged.mutable_loops(0)->set_phases(UINT32_MAX);
  damaged.mutable_loops(0)->set_first_phase(UINT32_MAX);
  EXPECT_FALSE(CheckContract(damaged).ok());
  damaged = WithLoop();
  damaged.mutable_loops(0)->set_phases(0);
  EXPECT_FALSE(CheckContract(damaged).ok());
  damaged = WithLoop();
  *damaged.add_loops() = damaged.loops(0);
  EXPECT_THAT(CheckContract(damaged).message(), HasSubstr("apart"));
  damaged = WithLoop();
  damaged.mutable_loops(0)->clear_rounds();
  EXPECT_FALSE(CheckContract(damaged).ok());
  damaged = WithLoop();
  for (int phase : {0, 1}) {
    damaged.mutable_phases(phase)->set_group(1);
    damaged.mutable_phases(phase)->set_core(phase == 0 ? v1::CORE_KIND_AIC : v1::CORE_KIND_AIV);
  }
  EXPECT_THAT(CheckContract(damaged).message(), HasSubstr("group apart"));
}

TEST(CheckLaunch, NamesTheArgumentThatDoesNotFit) {
  FakeBuffer right(6 * 7 * 4), wrong(8);
  EXPECT_TRUE(CheckLaunch(Contract(), {{{&right, 0}, {nullptr, 3}}}, {}).ok());
  EXPECT_THAT(CheckLaunch(Contract(), {{{&wrong, 0}, {nullptr, 3}}}, {}).message(),
              HasSubstr("'A' has 168 bytes"));
  EXPECT_THAT(CheckLaunch(Contract(), {{{&right, 0}, {&right, 3}}}, {}).message(),
              HasSubstr("'n' is a scalar"));
  EXPECT_FALSE(CheckLaunch(Contract(), {{{&right, 0}}}, {}).ok());
}

TEST(CheckLaunch, RefusesOneBufferForTwoParametersUnlessAllowed) {
  v1::LaunchContract contract = Contract();
  *contract.mutable_parameters(1) = contract.parameters(0);
  contract.mutable_parameters(1)->set_name("B");
  v1::AliasRule *rule = contract.add_aliases();
  rule->set_second(1);
  FakeBuffer buffer(6 * 7 * 4);
  EXPECT_THAT(CheckLaunch(contract, {{{&buffer, 0}, {&buffer, 0}}}, {}).message(),
              HasSubstr("'A' and 'B' are the same buffer"));
  rule->set_same_buffer_allowed(true);
  EXPECT_TRUE(CheckLaunch(contract, {{{&buffer, 0}, {&buffer, 0}}}, {}).ok());
}

TEST(CheckLaunch, RefusesAResultThatIsAnArgumentOrAnotherResult) {
  v1::LaunchContract contract = Contract();
  for (const char *name : {"return.0", "return.1"}) {
    v1::Result *result = contract.add_results();
    result->set_name(name);
    result->set_dtype(v1::DTYPE_INT64);
    Push(result->add_shape(), v1::LaunchExpr::OP_CONST, 21);
  }
  FakeBuffer a(6 * 7 * 4), b(168), c(168);
  const LaunchArgument arguments[] = {{&a, 0}, {nullptr, 3}};
  auto check = [&](Buffer *first, Buffer *second) {
    Buffer *results[] = {first, second};
    return CheckLaunch(contract, arguments, results);
  };
  EXPECT_TRUE(check(&b, &c).ok());
  EXPECT_THAT(check(&b, &b).message(), HasSubstr("'return.1' and result 'return.0'"));
  EXPECT_THAT(check(&b, &a).message(), HasSubstr("'return.1' and argument 'A'"));
}

} // namespace
} // namespace pyasc::device
