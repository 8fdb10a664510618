// Runs small kernels in kernel form as native code and looks at what they wrote.

#include "compiler/target/host/host.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/asc_dialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

namespace pyasc::compiler::host {
namespace {

// Compiles `text` (one function `k`) and calls it with pointers to the arguments.
void RunKernel(const std::string &text, std::vector<void *> arguments) {
  mlir::MLIRContext context;
  ir::LoadKernelDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  mlir::PassManager passes(&context);
  buildLowerToLLVMPipeline(passes);
  ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
  llvm::Expected<ObjectCode> code = emitObject(*module, "k", hostCpu(), {});
  ASSERT_TRUE(static_cast<bool>(code)) << llvm::toString(code.takeError());
  auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  jit->getMainJITDylib().addGenerator(
      llvm::cantFail(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit->getDataLayout().getGlobalPrefix())));
  llvm::cantFail(jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(code->object, "k.o")));
  auto entry = llvm::cantFail(jit->lookup("pyasc_entry")).toPtr<void(void **, int64_t, int64_t)>();
  entry(arguments.data(), 0, 1);
}

TEST(HostTarget, ContractionKeepsTheOrderOfItsSum) {
  // 1e8 + 1 - 1e8 in float32 depends on the order: in order of k it is 0.
  float a[3] = {1e8f, 1.0f, -1e8f}, b[3 * 4], c[4] = {0, 0, 0, 0};
  std::fill(b, b + 12, 1.0f);
  RunKernel(R"(func.func @k(%a: memref<1x3xf32>, %b: memref<3x4xf32>, %c: memref<1x4xf32>) {
    linalg.generic {indexing_maps = [affine_map<(i,j,k)->(i,k)>, affine_map<(i,j,k)->(k,j)>,
                                     affine_map<(i,j,k)->(i,j)>],
                    iterator_types = ["parallel","parallel","reduction"]}
      ins(%a, %b : memref<1x3xf32>, memref<3x4xf32>) outs(%c : memref<1x4xf32>) {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %z, %p : f32
        linalg.yield %s : f32
    }
    return
  })",
            {a, b, c});
  for (float value : c)
    EXPECT_EQ(value, 0.0f);
}

TEST(HostTarget, CellsInLoopsDoNotGrowTheStack) {
  std::vector<float> out(1);
  RunKernel(R"(func.func @k(%out: memref<1xf32>) {
    %one = arith.constant 1.0 : f32
    affine.for %i = 0 to 30000000 {
      %cell = memref.alloca() : memref<f32>
      affine.store %one, %cell[] : memref<f32>
      %v = affine.load %cell[] : memref<f32>
      affine.store %v, %out[0] : memref<1xf32>
    }
    return
  })",
            {out.data()});
  EXPECT_EQ(out[0], 1.0f);
}

TEST(HostTarget, TemporariesAreFreedInTheirLoop) {
  // 20,000 times 16 MiB would not fit.
  std::vector<float> out(1);
  RunKernel(R"(func.func @k(%out: memref<1xf32>) {
    %one = arith.constant 1.0 : f32
    affine.for %i = 0 to 20000 {
      %t = memref.alloc() : memref<4194304xf32>
      affine.store %one, %t[%i] : memref<4194304xf32>
      %v = affine.load %t[%i] : memref<4194304xf32>
      affine.store %v, %out[0] : memref<1xf32>
    }
    return
  })",
            {out.data()});
  EXPECT_EQ(out[0], 1.0f);
}

TEST(HostTarget, FirstFailedCheckIsRecorded) {
  int64_t errors[4] = {0, 0, 0, 0};
  RunKernel(R"(func.func @k(%e: memref<4xi64> {asc.error_buffer})
      attributes {asc.errors = [{code = 3 : i64, message = "too large"}]} {
    affine.for %i = 0 to 10 {
      %limit = arith.constant 7 : index
      %ok = arith.cmpi slt, %i, %limit : index
      asc.check %ok, %i, %limit {code = 3 : i64}
    }
    return
  })",
            {errors});
  EXPECT_EQ(errors[0], 3);
  EXPECT_EQ(errors[1], 7);
  EXPECT_EQ(errors[2], 7);
}

TEST(HostTarget, Bfloat16RoundsToNearestEvenAtEveryOperation) {
  // bfloat16 has 8 bits of significand: 256 + 1 is a tie and goes to the even 256, 258 + 1 to 260.
  auto bits = [](float f) {
    uint32_t u;
    std::memcpy(&u, &f, 4);
    return static_cast<uint16_t>(u >> 16);
  };
  uint16_t x[2] = {bits(256), bits(258)}, y[2] = {bits(1), bits(1)}, z[2];
  RunKernel(R"(func.func @k(%x: memref<2xbf16>, %y: memref<2xbf16>, %z: memref<2xbf16>) {
    affine.for %i = 0 to 2 {
      %a = affine.load %x[%i] : memref<2xbf16>
      %b = affine.load %y[%i] : memref<2xbf16>
      %c = arith.addf %a, %b : bf16
      affine.store %c, %z[%i] : memref<2xbf16>
    }
    return
  })",
            {x, y, z});
  EXPECT_EQ(z[0], bits(256));
  EXPECT_EQ(z[1], bits(260));
}

TEST(HostTarget, MathFunctionsAgreeWithTheCLibrary) {
  float in[1] = {0.7f}, out[8];
  RunKernel(R"(func.func @k(%in: memref<1xf32>, %out: memref<8xf32>) {
    %x = affine.load %in[0] : memref<1xf32>
    %0 = math.exp %x : f32
    affine.store %0, %out[0] : memref<8xf32>
    %1 = math.tanh %x : f32
    affine.store %1, %out[1] : memref<8xf32>
    %2 = math.erf %x : f32
    affine.store %2, %out[2] : memref<8xf32>
    %3 = math.rsqrt %x : f32
    affine.store %3, %out[3] : memref<8xf32>
    %4 = math.log1p %x : f32
    affine.store %4, %out[4] : memref<8xf32>
    %5 = math.powf %x, %x : f32
    affine.store %5, %out[5] : memref<8xf32>
    %6 = math.atan2 %x, %x : f32
    affine.store %6, %out[6] : memref<8xf32>
    %7 = math.roundeven %x : f32
    affine.store %7, %out[7] : memref<8xf32>
    return
  })",
            {in, out});
  double x = in[0];
  double expected[8] = {std::exp(x),   std::tanh(x),   std::erf(x),      1 / std::sqrt(x),
                        std::log1p(x), std::pow(x, x), std::atan2(x, x), 1.0};
  for (int i = 0; i < 8; ++i)
    EXPECT_NEAR(out[i], expected[i], 4e-7) << i;
}

} // namespace
} // namespace pyasc::compiler::host
