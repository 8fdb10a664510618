// Synchronised modules are free of races, however fast each pipe is; and the checker that says so
// notices a missing flag.
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include "compiler/target/ascend/npu.h"
#include "compiler/target/ascend/passes.h"
#include "compiler/target/ascend/testing/kernels.h"
#include "compiler/target/ascend/testing/race_check.h"

namespace pyasc::npu {
namespace {

using testing::MatmulKernel;

class SyncTest : public ::testing::Test {
protected:
  SyncTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                        mlir::memref::MemRefDialect, mlir::scf::SCFDialect, NpuDialect>();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  // Whole lowering of a kernel.
  mlir::OwningOpRef<mlir::ModuleOp> lower(const std::string &kernel) {
    auto module = parse(kernel);
    mlir::PassManager manager(&context);
    buildAscendPipeline(manager, PlanOptions{});
    EXPECT_TRUE(module && succeeded(manager.run(*module)));
    return module;
  }

  // Placement and synchronisation of one planned vector function's body. Its arguments are %a, %b
  // and %c in GM (65536 x f32) and %s, an f32.
  mlir::OwningOpRef<mlir::ModuleOp> synchronise(const std::string &body) {
    std::string gm = "memref<65536xf32, #npu.space<gm>>";
    auto module = parse(
        "!ub = memref<64xf32, #npu.space<ub>>\n!gm = " + gm +
        "\nmodule attributes {npu.soc = \"ascend910b3\", npu.stage = \"planned\", npu.workspaces = "
        "[]} {\nfunc.func @f(%a: !gm {npu.binding = \"parameter:0\"}, %b: !gm {npu.binding = "
        "\"parameter:1\"}, %c: !gm {npu.binding = \"result:0\"}, %s: f32 {npu.binding = "
        "\"parameter:2\"}) attributes {npu.core = \"aiv\", npu.blocks = 2 : i64} {\n"
        "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
        "%c8 = arith.constant 8 : index\n%n = arith.constant 64 : index\n" +
        body + "\nreturn\n}\n}");
    mlir::PassManager manager(&context);
    manager.addPass(createPlacePass());
    manager.addPass(createSyncPass());
    manager.addPass(createVerifyStagePass());
    EXPECT_TRUE(module && succeeded(manager.run(*module)));
    return module;
  }

  static std::vector<std::string> faultsOf(mlir::ModuleOp module) {
    std::vector<std::string> faults;
    for (auto function : module.getOps<mlir::func::FuncOp>()) {
      int64_t blocks = function->getAttrOfType<mlir::IntegerAttr>(kBlocks).getInt();
      for (int64_t block : {int64_t{0}, blocks - 1}) {
        testing::RaceReport report = testing::checkRaces(function, block);
        EXPECT_GT(report.instructions, 0);
        faults.insert(faults.end(), report.faults.begin(), report.faults.end());
      }
    }
    return faults;
  }

  template <typename Op> static int64_t count(mlir::ModuleOp module) {
    int64_t number = 0;
    module.walk([&](Op) { ++number; });
    return number;
  }

  mlir::MLIRContext context;
};

const std::vector<std::string> kNone;

// Bodies of loads, stores and vector ops of 64 elements, for synchronise().
std::string load(const std::string &to, const std::string &from, const std::string &at) {
  return "npu.load " + to + "[%c0], " + from + "[" + at +
         "] count %c1 len %n src_stride %n dst_stride %n : !ub, !gm\n";
}
std::string store(const std::string &to, const std::string &at, const std::string &from) {
  return "npu.store " + to + "[" + at + "], " + from +
         "[%c0] count %c1 len %n dst_stride %n src_stride %n : !gm, !ub\n";
}
std::string add(const std::string &to, const std::string &a, const std::string &b) {
  return "npu.vbinary add " + to + "[%c0], " + a + "[%c0], " + b +
         "[%c0] count %n : !ub, !ub, !ub\n";
}

TEST_F(SyncTest, ContractionsOfAllShapesAndLayoutsAreFreeOfRaces) {
  for (MatmulKernel kernel : {
           MatmulKernel{.m = 1024, .n = 1024, .k = 1024},
           MatmulKernel{.m = 1, .n = 7, .k = 257},
           MatmulKernel{.m = 257, .n = 1, .k = 1000},
           MatmulKernel{.m = 1000, .n = 257, .k = 7, .transpose_a = true},
           MatmulKernel{.m = 300, .n = 500, .k = 700, .transpose_b = true, .zero_first = false},
           MatmulKernel{.m = 1000, .n = 1000, .k = 1, .transpose_a = true, .transpose_b = true},
           MatmulKernel{.m = 512, .n = 640, .k = 900, .element = "f16", .rounded = true},
           MatmulKernel{.m = 65, .n = 33, .k = 129, .element = "bf16", .batch = 37},
       }) {
    auto module = lower(kernel.text());
    EXPECT_EQ(faultsOf(*module), kNone) << kernel.text();
    // The one barrier allowed is that between mmads, where they turn out to be small.
    module->walk(
        [&](PipeBarrierOp barrier) { EXPECT_EQ(barrier.getPipe(), Pipe::M) << kernel.text(); });
  }
}

TEST_F(SyncTest, EveryFlagOfAContractionIsNeeded) {
  std::string text = MatmulKernel{.m = 600, .n = 600, .k = 600}.text();
  int64_t flags = count<WaitFlagOp>(*lower(text));
  ASSERT_GT(flags, 6);
  for (int64_t removed = 0; removed < flags; ++removed) {
    auto module = lower(text);
    int64_t number = 0;
    module->walk([&](WaitFlagOp wait) {
      if (number++ == removed)
        wait.erase();
    });
    EXPECT_NE(faultsOf(*module), kNone) << "without wait " << removed;
  }
}

TEST_F(SyncTest, ADoubleBufferedLoopOverlapsItsIterations) {
  auto module = synchronise("%x = npu.buffer depth 2 : !ub\n%y = npu.buffer depth 2 : !ub\n"
                            "scf.for %i = %c0 to %n step %c1 {\n"
                            "%xs = npu.slot %x[%i] : !ub\n%ys = npu.slot %y[%i] : !ub\n"
                            "%at = arith.muli %i, %n : index\n" +
                            load("%xs", "%a", "%at") + add("%ys", "%xs", "%xs") +
                            store("%c", "%at", "%ys") + "}");
  EXPECT_EQ(faultsOf(*module), kNone);
  EXPECT_EQ(count<PipeBarrierOp>(*module), 0);
  // Four dependences of two slots: set and wait in the loop, the ways back also around it.
  EXPECT_EQ(count<SetFlagOp>(*module), 4 + 2 * 2);
}

TEST_F(SyncTest, AnUpdateInPlaceStaysDoubleBuffered) {
  auto module = synchronise("%x = npu.buffer depth 2 : !ub\nscf.for %i = %c0 to %n step %c1 {\n"
                            "%xs = npu.slot %x[%i] : !ub\n%at = arith.muli %i, %n : index\n" +
                            load("%xs", "%c", "%at") + add("%xs", "%xs", "%xs") +
                            store("%c", "%at", "%xs") + "}");
  EXPECT_EQ(faultsOf(*module), kNone);
  module->walk([&](SetFlagOp flag) {
    EXPECT_FALSE(flag.getFrom() == Pipe::MTE3 && flag.getTo() == Pipe::V) << "needless";
  });
}

TEST_F(SyncTest, ATileThatReadsWhatTheLastOneWroteWaitsForIt) {
  // Tile i reads the elements that tile i - 1 wrote.
  auto module = synchronise("%x = npu.buffer depth 2 : !ub\nscf.for %i = %c0 to %n step %c1 {\n"
                            "%xs = npu.slot %x[%i] : !ub\n%at = arith.muli %i, %n : index\n"
                            "%next = arith.addi %at, %n : index\n" +
                            load("%xs", "%c", "%at") + add("%xs", "%xs", "%xs") +
                            store("%c", "%next", "%xs") + "}");
  EXPECT_EQ(faultsOf(*module), kNone);
  int64_t backs = 0;
  module->walk([&](WaitFlagOp flag) {
    backs += flag.getFrom() == Pipe::MTE3 && flag.getTo() == Pipe::MTE2;
  });
  EXPECT_GE(backs, 2);
}

TEST_F(SyncTest, DependentVectorOpsHaveABarrierBetween) {
  auto module =
      synchronise("%x = npu.buffer : !ub\n%y = npu.buffer : !ub\n" + load("%x", "%a", "%c0") +
                  add("%y", "%x", "%x") + add("%x", "%y", "%y") + store("%c", "%c0", "%x"));
  EXPECT_EQ(faultsOf(*module), kNone);
  EXPECT_EQ(count<PipeBarrierOp>(*module), 1);
}

TEST_F(SyncTest, WithoutEnoughEventIdsThereAreBarriers) {
  // Nine operands, loaded and used in turn, each with its own flags, in a loop and outside one.
  std::string straight, loop;
  for (int i = 0; i < 9; ++i) {
    std::string x = "%x" + std::to_string(i);
    straight += x + " = npu.buffer depth 2 : !ub\n";
    loop += x + "s = npu.slot " + x + "[%i] : !ub\n" + load(x + "s", "%a", "%c0") +
            add(x + "s", x + "s", x + "s") + store("%c", "%at", x + "s");
  }
  std::string tail;
  for (int i = 0; i < 9; ++i) {
    std::string x = "%x" + std::to_string(i);
    tail += load(x, "%b", "%c0") + add(x, x, x);
  }
  for (int i = 0; i < 9; ++i)
    tail += store("%c", "%c0", "%x" + std::to_string(i));
  auto module = synchronise(
      straight + "scf.for %i = %c0 to %c8 step %c1 {\n%at = arith.muli %i, %n : index\n" + loop +
      "}\n" + tail);
  EXPECT_EQ(faultsOf(*module), kNone);
  EXPECT_GT(count<PipeBarrierOp>(*module), 0);
}

TEST_F(SyncTest, BuffersThatShareBytesWaitForEachOther) {
  // 65536-element buffers do not fit beside each other: the second loop reuses the first's bytes.
  std::string big = "memref<40000xf32, #npu.space<ub>>";
  std::string body = "%x = npu.buffer : " + big + "\n%y = npu.buffer : " + big + "\n";
  for (std::string x : {"%x", "%y"})
    body += "scf.for %i = %c0 to %c8 step %c1 {\nnpu.load " + x +
            "[%c0], %a[%c0] count %c1 len %n src_stride %n dst_stride %n : " + big +
            ", !gm\nnpu.vbinary add " + x + "[%c0], " + x + "[%c0], " + x +
            "[%c0] count %n : " + big + ", " + big + ", " + big + "\nnpu.store %c[%c0], " + x +
            "[%c0] count %c1 len %n dst_stride %n src_stride %n : !gm, " + big + "\n}\n";
  EXPECT_EQ(faultsOf(*synchronise(body)), kNone);
}

TEST_F(SyncTest, ScalarAccessesWaitForThePipes) {
  auto module = synchronise("%x = npu.buffer : !ub\nscf.for %i = %c0 to %c8 step %c1 {\n" +
                            load("%x", "%a", "%c0") +
                            "%v = memref.load %x[%i] : !ub\nmemref.store %v, %x[%c0] : !ub\n" +
                            add("%x", "%x", "%x") + store("%c", "%c0", "%x") +
                            "%w = memref.load %c[%i] : !gm\nmemref.store %w, %c[%c8] : !gm\n}");
  EXPECT_EQ(faultsOf(*module), kNone);
  EXPECT_GE(count<DcacheFlushOp>(*module), 2);
}

TEST_F(SyncTest, BranchesAndNestedLoopsKeepFlagsPaired) {
  auto module = synchronise(
      "%x = npu.buffer : !ub\n%y = npu.buffer depth 2 : !ub\nscf.for %i = %c0 to %c8 step %c1 {\n" +
      load("%x", "%a", "%c0") +
      "scf.for %j = %c0 to %c8 step %c1 {\n%ys = npu.slot %y[%j] : !ub\n" +
      load("%ys", "%b", "%c0") + "%even = arith.cmpi ult, %j, %i : index\nscf.if %even {\n" +
      add("%ys", "%ys", "%x") + "} else {\n" + add("%x", "%ys", "%x") + load("%x", "%b", "%c0") +
      "}\n" + store("%c", "%c0", "%ys") + "}\n" + store("%c", "%n", "%x") + "}");
  EXPECT_EQ(faultsOf(*module), kNone);
}

TEST_F(SyncTest, TheTestAndTheBodyOfAWhileLoopWait) {
  auto module = synchronise("%x = npu.buffer : !ub\n%zero = arith.constant 0.0 : f32\n"
                            "%r = scf.while (%k = %c0) : (index) -> index {\n" +
                            load("%x", "%a", "%c0") +
                            "%v = memref.load %x[%c0] : !ub\n"
                            "%go = arith.cmpi ult, %k, %c8 : index\nscf.condition(%go) %k : index\n"
                            "} do {\n^bb0(%k: index):\n" +
                            add("%x", "%x", "%x") +
                            "%k1 = arith.addi %k, %c1 : index\nscf.yield %k1 : index\n}");
  EXPECT_EQ(faultsOf(*module), kNone);
}

} // namespace
} // namespace pyasc::npu
