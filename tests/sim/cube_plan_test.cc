// Contractions, lowered whole for the Ascend target, give the right product on the simulator, which
// also finds races and accesses out of bounds.
#include <cmath>

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tests/sim/sim_harness.h"
#include "gtest/gtest.h"

#include "compiler/target/ascend/npu.h"
#include "compiler/target/ascend/passes.h"
#include "compiler/target/ascend/testing/kernels.h"

namespace pyasc::tests {
namespace {

using npu::testing::MatmulKernel;
using sim::Bytes;
using sim::Values;

// Small integers are exact in every type here: the order of additions does not matter.
float Entry(int64_t i, int64_t salt) { return static_cast<float>((i * 7 + i / 13 + salt) % 5 - 2); }

// IEEE half, for integers up to 2048 and their negatives.
uint16_t Half(float value) {
  if (value == 0)
    return 0;
  int exponent = 0;
  float mantissa = std::frexp(std::fabs(value), &exponent); // in [0.5, 1)
  auto bits =
      static_cast<uint16_t>((exponent + 14) << 10 | static_cast<int>((mantissa * 2 - 1) * 1024));
  return value < 0 ? bits | 0x8000 : bits;
}

std::vector<std::byte> Encoded(const std::vector<float> &values, const std::string &element) {
  if (element == "f32")
    return Bytes(values);
  std::vector<uint16_t> halves;
  for (float value : values)
    halves.push_back(Half(value));
  return Bytes(halves);
}

void CheckProduct(const MatmulKernel &kernel) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                      mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                      mlir::memref::MemRefDialect, mlir::scf::SCFDialect, npu::NpuDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kernel.text(), &context);
  mlir::PassManager manager(&context);
  npu::buildAscendPipeline(manager, npu::PlanOptions{});
  ASSERT_TRUE(module && succeeded(manager.run(*module))) << kernel.text();
  auto phases = module->getOps<mlir::func::FuncOp>();
  ASSERT_EQ(std::distance(phases.begin(), phases.end()), 1);
  mlir::func::FuncOp phase = *phases.begin();

  const int64_t batches = std::max<int64_t>(kernel.batch, 1);
  const int64_t m = kernel.m, n = kernel.n, k = kernel.k;
  std::vector<float> a(batches * m * k), b(batches * k * n), c(batches * m * n);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = Entry(i, 1);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = Entry(i, 3);
  // What a zero fill must overwrite, and a sum must keep.
  for (size_t i = 0; i < c.size(); ++i)
    c[i] = kernel.zero_first ? NAN : Entry(i, 2);

  std::vector<std::vector<std::byte>> buffers;
  size_t result = 0;
  for (unsigned i = 0; i < phase.getNumArguments(); ++i) {
    llvm::StringRef binding = phase.getArgAttrOfType<mlir::StringAttr>(i, npu::kBinding).getValue();
    if (binding == "result:0")
      result = i;
    buffers.push_back(binding == "parameter:0"   ? Encoded(a, kernel.element)
                      : binding == "parameter:1" ? Encoded(b, kernel.element)
                      : kernel.rounded           ? Encoded(c, kernel.element)
                                                 : Bytes(c));
  }
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  const int64_t blocks = phase->getAttrOfType<mlir::IntegerAttr>(npu::kBlocks).getInt();
  auto outcome = RunText(text, buffers, blocks);
  ASSERT_TRUE(outcome.ok()) << outcome.status() << "\n" << kernel.text();

  std::vector<float> expected(c.size());
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const int64_t at = (batch * m + i) * n + j;
        float sum = kernel.zero_first ? 0 : c[at];
        for (int64_t x = 0; x < k; ++x)
          sum += a[batch * m * k + (kernel.transpose_a ? x * m + i : i * k + x)] *
                 b[batch * k * n + (kernel.transpose_b ? j * k + x : x * n + j)];
        expected[at] = sum;
      }
  EXPECT_TRUE(buffers[result] ==
              (kernel.rounded ? Encoded(expected, kernel.element) : Encoded(expected, "f32")))
      << kernel.text();
}

TEST(CubePlanTest, EveryExtentAndItsTailGiveTheProduct) {
  const int64_t extents[] = {1, 7, 16, 257};
  for (int64_t m : extents)
    for (int64_t n : extents)
      for (int64_t k : extents)
        CheckProduct({.m = m, .n = n, .k = k});
}

TEST(CubePlanTest, EveryLayoutAndTypeGivesTheProduct) {
  for (bool a : {false, true})
    for (bool b : {false, true})
      for (const char *element : {"f32", "f16"})
        for (bool zero : {false, true}) {
          CheckProduct({.m = 130,
                        .n = 75,
                        .k = 211,
                        .transpose_a = a,
                        .transpose_b = b,
                        .element = element,
                        .zero_first = zero});
          CheckProduct({.m = 3,
                        .n = 40,
                        .k = 9,
                        .transpose_a = a,
                        .transpose_b = b,
                        .element = element,
                        .zero_first = zero,
                        .batch = 23});
        }
}

TEST(CubePlanTest, ManyTilesAndPanelsGiveTheProduct) {
  CheckProduct({.m = 1000, .n = 520, .k = 300});
  CheckProduct({.m = 40, .n = 30, .k = 3000, .transpose_a = true});
}

TEST(CubePlanTest, ARoundedResultIsWrittenInSixteenBits) {
  CheckProduct({.m = 65, .n = 100, .k = 70, .element = "f16", .rounded = true});
}

} // namespace
} // namespace pyasc::tests
