// Operations and bytes are counted exactly, whatever the bounds depend on, or said to be unknown.
#include <string>

#include <gtest/gtest.h>

#include "compiler/analysis/analyze.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"

namespace pyasc::compiler::analysis {
namespace {

class StepsTest : public ::testing::Test {
protected:
  StepsTest() : context_(mlir::MLIRContext::Threading::DISABLED) {
    context_
        .loadDialect<mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                     mlir::func::FuncDialect, mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                     mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
  }

  // The only step of a kernel with tensors %a (of 8) and %b (of 1000), and a number %n.
  Step StepOf(const std::string &body) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @k(%a: memref<8xf32>, %b: memref<1000xf32>, %n: index, %cond: i1) "
        "attributes {asc.kernel} {\n"
        "%one = arith.constant 1.0 : f32\n%c0 = arith.constant 0 : index\n"
        "%c1 = arith.constant 1 : index\n%c8 = arith.constant 8 : index\n" +
            body + "\nreturn }",
        &context_);
    EXPECT_TRUE(module_);
    std::vector<Step> steps = FindSteps(*module_->getOps<mlir::func::FuncOp>().begin());
    EXPECT_EQ(steps.size(), 1u);
    return steps.at(0);
  }

  // An increment of %b[index]: one operation, four bytes each way.
  static std::string Increment(const std::string &index) {
    return "%v = affine.load %b[" + index +
           "] : memref<1000xf32>\n"
           "%w = arith.addf %v, %one : f32\n"
           "affine.store %w, %b[" +
           index + "] : memref<1000xf32>\n";
  }

private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

TEST_F(StepsTest, TailsOfBlocksAreCountedAsTheyAre) {
  // for i0 in range(0, 8, 5): for k0 in range(0, 8, 5): for i in range(i0, min(i0+5, 8)):
  //   for k in range(k0, min(k0+5, 8)): b[0] += 1
  Step step = StepOf("affine.for %i0 = 0 to 8 step 5 { affine.for %k0 = 0 to 8 step 5 {\n"
                     "affine.for %i = affine_map<(d) -> (d)>(%i0) to min affine_map<(d) -> (d + 5, "
                     "8)>(%i0) {\n"
                     "affine.for %k = affine_map<(d) -> (d)>(%k0) to min affine_map<(d) -> (d + 5, "
                     "8)>(%k0) {\n" +
                     Increment("0") + "} } } }");
  EXPECT_TRUE(step.exact);
  EXPECT_EQ(step.flops, 64);
  EXPECT_EQ(step.read_bytes, 256);
  EXPECT_EQ(step.write_bytes, 256);
}

TEST_F(StepsTest, TilesOfRunTimeExtentAreCountedByTheirLoops) {
  // As raised blocks look like: views whose extent is a minimum over the loop variable.
  Step step = StepOf(
      "affine.for %i0 = 0 to 8 step 5 {\n"
      "%n0 = affine.min affine_map<(d) -> (5, (d floordiv 5) * -5 + 8)>(%i0)\n"
      "%s = memref.subview %b[%i0] [%n0] [1] : memref<1000xf32> to "
      "memref<?xf32, strided<[1], offset: ?>>\n"
      "affine.for %k0 = 0 to 8 step 5 {\n"
      "%n1 = affine.min affine_map<(d) -> (5, (d floordiv 5) * -5 + 8)>(%k0)\n"
      "%t = memref.subview %a[%k0] [%n1] [1] : memref<8xf32> to "
      "memref<?xf32, strided<[1], offset: ?>>\n"
      "linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> "
      "(d0)>], iterator_types = [\"parallel\", \"reduction\"]} ins(%t : "
      "memref<?xf32, strided<[1], offset: ?>>) outs(%s : memref<?xf32, strided<[1], offset: ?>>) "
      "{\n^bb0(%in: f32, %out: f32):\n%sum = arith.addf %out, %in : f32\nlinalg.yield %sum : f32 } "
      "} }");
  EXPECT_TRUE(step.exact);
  EXPECT_EQ(step.flops, 64);
  // 8 elements of %a for each of two blocks of %b; 8 of %b for each of two blocks of %a.
  EXPECT_EQ(step.read_bytes, 4 * (16 + 16));
  EXPECT_EQ(step.write_bytes, 4 * 16);
}

TEST_F(StepsTest, TrianglesAreCounted) {
  Step step = StepOf("affine.for %i = 0 to 1000 { affine.for %j = 0 to affine_map<(d) -> (d + 1)>"
                     "(%i) {\n" +
                     Increment("%i") + "} }");
  EXPECT_TRUE(step.exact);
  EXPECT_EQ(step.flops, 500500);
}

TEST_F(StepsTest, AnEmptyLoopCountsNothing) {
  Step step =
      StepOf("affine.for %i = 0 to 8 { affine.for %j = 9 to affine_map<(d) -> (d)>(%i) {\n" +
             Increment("%i") + "} }");
  EXPECT_TRUE(step.exact);
  EXPECT_EQ(step.flops, 0);
  EXPECT_EQ(step.read_bytes, 0);
}

TEST_F(StepsTest, BothSidesOfAConditionOnLoopVariablesAreCounted) {
  Step step = StepOf("affine.for %i = 0 to 1000 {\n"
                     "affine.if affine_set<(d) : (d - 1 >= 0, -d + 10 >= 0)>(%i) {\n" +
                     Increment("%i") + "} else {\n" + Increment("%i") +
                     "%x = arith.mulf %one, %one : f32\naffine.store %x, %b[0] : memref<1000xf32>\n"
                     "} }");
  EXPECT_TRUE(step.exact);
  EXPECT_EQ(step.flops, 10 + 2 * 990);
}

TEST_F(StepsTest, WhatIsKnownAtRunTimeOnlyIsSaidToBeUnknown) {
  Step step = StepOf("scf.for %i = %c0 to %n step %c1 {\n" + Increment("0") + "}");
  EXPECT_FALSE(step.exact);
  EXPECT_EQ(step.flops, 0);
  step = StepOf("scf.for %i = %c0 to %c8 step %c1 {\n" + Increment("0") +
                "scf.if %cond {\n%x = arith.addf %one, %one : f32\n"
                "affine.store %x, %b[0] : memref<1000xf32>\n} }");
  EXPECT_FALSE(step.exact);
  EXPECT_EQ(step.flops, 8) << "at least those that no branch keeps back";
}

TEST_F(StepsTest, WhatIsTooLongToCountIsSaidToBeUnknown) {
  std::string loops, ends;
  for (int depth = 0; depth < 6; ++depth) {
    std::string outer = "%i" + std::to_string(depth - 1);
    loops += "affine.for %i" + std::to_string(depth) + " = 0 to " +
             (depth == 0 ? "1000" : "affine_map<(d) -> (d)>(" + outer + ")") + " {\n";
    ends += "}";
  }
  Step step = StepOf(loops + Increment("0") + ends);
  EXPECT_FALSE(step.exact);
  EXPECT_EQ(step.flops, 0);
  // The guess for the scalar unit's time is of the order of 1000^6 / 6!.
  EXPECT_GT(step.scalar.float_ops, 1e14);
  EXPECT_LT(step.scalar.float_ops, 1e16);
}

TEST_F(StepsTest, BoundsBeyondIntegersAreUnknownAndNotAbsurd) {
  Step step = StepOf("affine.for %i = 0 to 1000 { affine.for %j = 0 to affine_map<(d) -> (d * "
                     "4611686018427387904)>(%i) {\n" +
                     Increment("0") + "} }");
  EXPECT_FALSE(step.exact);
  EXPECT_EQ(step.flops, 0);
  EXPECT_GE(step.operations, 0);
}

TEST_F(StepsTest, ACopyMovesEachElementOnce) {
  Step step = StepOf("memref.copy %a, %a : memref<8xf32> to memref<8xf32>");
  EXPECT_EQ(step.read_bytes, 32);
  EXPECT_EQ(step.write_bytes, 32);
}

} // namespace
} // namespace pyasc::compiler::analysis
