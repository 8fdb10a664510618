// Runs kernels before and after the structure pipeline on the same data: the results must be equal,
// to the bit for integers. A fixed table of nests, then random ones.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "compiler/transform/passes.h"
#include "compiler/transform/testing/random_nest.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/Support/TargetSelect.h"
#include "gtest/gtest.h"

namespace pyasc {
namespace {

using namespace mlir;

// One buffer an argument: int32 or float32 elements, four bytes each.
using Buffers = std::vector<std::vector<int32_t>>;

class Differential : public testing::Test {
protected:
  Differential() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    registerBuiltinDialectTranslation(context);
    registerLLVMDialectTranslation(context);
    context.loadAllAvailableDialects();
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registry.insert<affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect,
                    func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
                    memref::MemRefDialect, scf::SCFDialect>();
    return registry;
  }

  OwningOpRef<ModuleOp> parse(const std::string &text) {
    return parseSourceString<ModuleOp>(text, &context);
  }

  LogicalResult structure(ModuleOp module) {
    PassManager manager(&context);
    buildStructurePipeline(manager);
    return manager.run(module);
  }

  std::unique_ptr<ExecutionEngine> compile(ModuleOp module) {
    PassManager manager(&context);
    manager.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
    manager.addPass(memref::createExpandStridedMetadataPass());
    manager.addPass(createLowerAffinePass());
    manager.addPass(createConvertSCFToCFPass());
    manager.addPass(arith::createArithExpandOpsPass());
    manager.addPass(createConvertMathToLLVMPass());
    manager.addPass(createArithToLLVMConversionPass());
    manager.addPass(createFinalizeMemRefToLLVMConversionPass());
    manager.addPass(createConvertControlFlowToLLVMPass());
    manager.addPass(createConvertFuncToLLVMPass());
    manager.addPass(createReconcileUnrealizedCastsPass());
    if (failed(manager.run(module)))
      return nullptr;
    ExecutionEngineOptions options;
    options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::None;
    auto engine = ExecutionEngine::create(module, options);
    if (!engine) {
      ADD_FAILURE() << llvm::toString(engine.takeError());
      return nullptr;
    }
    return std::move(*engine);
  }

  static std::vector<MemRefType> argumentsOf(func::FuncOp function) {
    std::vector<MemRefType> types;
    for (Type type : function.getArgumentTypes())
      types.push_back(cast<MemRefType>(type));
    return types;
  }

  static Buffers randomBuffers(const std::vector<MemRefType> &types, unsigned seed) {
    std::mt19937 random(seed);
    Buffers buffers;
    for (MemRefType type : types) {
      auto &buffer = buffers.emplace_back(type.getNumElements());
      for (int32_t &word : buffer) {
        float value = int(random() % 2001 - 1000) / 256.0f;
        word = type.getElementType().isF32() ? llvm::bit_cast<int32_t>(value)
                                             : int32_t(random() % 2001) - 1000;
      }
    }
    return buffers;
  }

  static bool run(ExecutionEngine &engine, const std::string &name,
                  const std::vector<MemRefType> &types, Buffers &buffers) {
    // A memref argument is (allocated, aligned, offset, sizes..., strides...).
    std::vector<std::vector<int64_t>> descriptors;
    for (size_t i = 0; i < types.size(); ++i) {
      auto address = reinterpret_cast<int64_t>(buffers[i].data());
      std::vector<int64_t> words{address, address, 0};
      words.insert(words.end(), types[i].getShape().begin(), types[i].getShape().end());
      int64_t stride = types[i].getNumElements();
      for (int64_t size : types[i].getShape())
        words.push_back(stride = size ? stride / size : 0);
      descriptors.push_back(std::move(words));
    }
    llvm::SmallVector<void *> packed;
    for (auto &words : descriptors)
      for (int64_t &word : words)
        packed.push_back(&word);
    if (auto error = engine.invokePacked(name, packed)) {
      ADD_FAILURE() << llvm::toString(std::move(error));
      return false;
    }
    return true;
  }

  static bool agree(const std::vector<MemRefType> &types, const Buffers &a, const Buffers &b) {
    for (size_t i = 0; i < types.size(); ++i)
      for (size_t j = 0; j < a[i].size(); ++j) {
        if (a[i][j] == b[i][j])
          continue;
        if (!types[i].getElementType().isF32())
          return false;
        float x = llvm::bit_cast<float>(a[i][j]), y = llvm::bit_cast<float>(b[i][j]);
        if (!(std::abs(x - y) <= 1e-3f * std::max({1.0f, std::abs(x), std::abs(y)})) &&
            !(std::isnan(x) && std::isnan(y)))
          return false;
      }
    return true;
  }

  // Compiles `text` as it is and after the pipeline, and compares all its functions.
  // Returns how many statements were raised.
  int64_t check(const std::string &text) {
    OwningOpRef<ModuleOp> plain = parse(text), structured = parse(text);
    if (!plain || !structured) {
      ADD_FAILURE() << "does not parse:\n" << text;
      return 0;
    }
    if (failed(structure(*structured))) {
      ADD_FAILURE() << "the pipeline failed on:\n" << text;
      return 0;
    }
    std::string result;
    llvm::raw_string_ostream(result) << *structured;
    int64_t raised = 0;
    if (auto counts = (*structured)->getAttrOfType<DictionaryAttr>("asc.pass_counts"))
      raised = cast<IntegerAttr>(counts.get("raised_statements")).getInt();
    std::vector<std::pair<std::string, std::vector<MemRefType>>> functions;
    std::map<std::string, std::string> before, after;
    for (auto function : plain->getOps<func::FuncOp>()) {
      functions.push_back({function.getName().str(), argumentsOf(function)});
      llvm::raw_string_ostream(before[function.getName().str()]) << function;
    }
    for (auto function : structured->getOps<func::FuncOp>())
      llvm::raw_string_ostream(after[function.getName().str()]) << function;
    auto plainEngine = compile(*plain), structuredEngine = compile(*structured);
    if (!plainEngine || !structuredEngine) {
      ADD_FAILURE() << "does not lower:\n" << result;
      return raised;
    }
    for (auto &[name, types] : functions) {
      Buffers expected = randomBuffers(types, 7), actual = expected;
      if (!run(*plainEngine, name, types, expected) || !run(*structuredEngine, name, types, actual))
        return raised;
      EXPECT_TRUE(agree(types, expected, actual)) << name << " computes something else:\n"
                                                  << before[name] << "\nbecame\n"
                                                  << after[name];
    }
    return raised;
  }

  MLIRContext context;
};

std::string readFile(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_F(Differential, TableOfNestsKeepsItsMeaning) {
  EXPECT_GT(check(readFile("compiler/transform/testing/nests.mlir")), 30);
}

TEST_F(Differential, RandomNestsKeepTheirMeaning) {
  // More rounds by hand: PYASC_FUZZ_ROUNDS=200 PYASC_FUZZ_SEED=1 ...
  const char *rounds = std::getenv("PYASC_FUZZ_ROUNDS");
  const char *seed = std::getenv("PYASC_FUZZ_SEED");
  std::mt19937 random(seed ? std::atoi(seed) : 1);
  int64_t raised = 0;
  int total = rounds ? std::atoi(rounds) : 4;
  for (int round = 0; round < total && !HasFailure(); ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i)
      text += testing_support::randomNest(random, "nest" + std::to_string(i));
    raised += check(text);
  }
  EXPECT_GT(raised, total * 20) << "the random nests are too hard to show anything";
}

} // namespace
} // namespace pyasc
