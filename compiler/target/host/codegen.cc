// LLVM dialect -> LLVM IR -> optimised ELF object.

#include <algorithm>
#include <mutex>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include "compiler/target/host/host.h"

namespace pyasc::compiler::host {
namespace {

llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

// Adds `void name(ptr args, i64 block, i64 num_blocks)`: loads each argument and calls the kernel.
// The blocks share nothing yet: block 0 does all the work.
llvm::Function *addEntry(llvm::Module &module, llvm::Function &kernel, llvm::StringRef name) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *ptr = llvm::PointerType::getUnqual(context);
  llvm::Type *i64 = llvm::Type::getInt64Ty(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {ptr, i64, i64}, false);
  auto *entry = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  auto *start = llvm::BasicBlock::Create(context, "start", entry);
  auto *work = llvm::BasicBlock::Create(context, "work", entry);
  auto *done = llvm::BasicBlock::Create(context, "done", entry);
  llvm::IRBuilder<> builder(start);
  builder.CreateCondBr(builder.CreateICmpEQ(entry->getArg(1), builder.getInt64(0)), work, done);
  builder.SetInsertPoint(work);
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &formal : kernel.args()) {
    llvm::Value *slot = builder.CreateConstGEP1_64(ptr, entry->getArg(0), formal.getArgNo());
    llvm::Value *value = builder.CreateLoad(ptr, slot);
    if (!formal.getType()->isPointerTy())
      value = builder.CreateLoad(formal.getType(), value);
    arguments.push_back(value);
  }
  builder.CreateCall(&kernel, arguments);
  builder.CreateBr(done);
  builder.SetInsertPoint(done);
  builder.CreateRetVoid();
  return entry;
}

void addArtifactSection(llvm::Module &module, llvm::StringRef artifact) {
  auto *data = llvm::ConstantDataArray::getString(module.getContext(), artifact, false);
  auto *global = new llvm::GlobalVariable(
      module, data->getType(), true, llvm::GlobalValue::InternalLinkage, data, "pyasc_artifact");
  global->setSection(".pyasc.artifact");
  global->setAlignment(llvm::Align(16));
  llvm::appendToUsed(module, {global});
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> targetMachine(const Cpu &cpu) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  std::string triple = llvm::sys::getDefaultTargetTriple();
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return fail(error);
  llvm::TargetOptions options;
  // a * b + c is two roundings, as Python and NumPy have it.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, cpu.name, cpu.features, options, llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
}

// Defines the function that the code generator calls to narrow a float to bfloat16, which not every
// C library has. All arithmetic on bfloat16 was expanded to integers before, but the optimiser may
// turn a selection between bits into one between bfloats, and that is done in float.
void defineBfloat16Narrowing(llvm::Module &module) {
  bool used = false;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      used |= instruction.getType()->isBFloatTy();
  if (!used)
    return;
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> b(context);
  auto *type = llvm::FunctionType::get(b.getBFloatTy(), {b.getFloatTy()}, false);
  auto *narrow =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "__truncsfbf2", module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "", narrow));
  llvm::Value *x = narrow->getArg(0), *bits = b.CreateBitCast(x, b.getInt32Ty());
  llvm::Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  llvm::Value *rounded = b.CreateAdd(bits, b.CreateAdd(odd, b.getInt32(0x7FFF)));
  llvm::Value *quiet = b.CreateOr(bits, b.getInt32(0x00400000));
  llvm::Value *result = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded);
  result = b.CreateTrunc(b.CreateLShr(result, 16), b.getInt16Ty());
  b.CreateRet(b.CreateBitCast(result, b.getBFloatTy()));
  llvm::appendToCompilerUsed(module, {narrow});
}

// Keeps LLVM's hands off functions with nests deeper than any kernel that somebody waits for: where
// bounds hang on the loops around, what it works out of loops takes time exponential in their
// depth.
void leaveDeepNests(llvm::Module &module, llvm::TargetMachine &machine) {
  constexpr unsigned kMaxLoopDepth = 12;
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    llvm::DominatorTree dominators(function);
    llvm::LoopInfo loops(dominators);
    if (llvm::none_of(function, [&](const llvm::BasicBlock &block) {
          return loops.getLoopDepth(&block) > kMaxLoopDepth;
        }))
      continue;
    function.removeFnAttr(llvm::Attribute::AlwaysInline);
    function.addFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::OptimizeNone);
    machine.setOptLevel(llvm::CodeGenOptLevel::None);
  }
}

bool hasLongBlock(const llvm::Function &function) {
  constexpr size_t kMaxBlock = 2000;
  return llvm::any_of(function,
                      [](const llvm::BasicBlock &block) { return block.size() > kMaxBlock; });
}

bool hasLongBlock(const llvm::Module &module) {
  return llvm::any_of(module,
                      [](const llvm::Function &function) { return hasLongBlock(function); });
}

// False when unrolling made a block so long that what follows, whose time grows with the square of
// the instructions (dependences for the vectoriser, the scheduler's graph), would take seconds.
bool optimise(llvm::Module &module, llvm::TargetMachine &machine, bool unroll) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  // LLVM 19's narrows what it vectorises to the bits that it takes to be needed, and loses a sign:
  // of uitofp(sext i8 to i16) it makes uitofp(i8).
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = true;
  tuning.LoopUnrolling = unroll;
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::OptNoneInstrumentation keep_out(/*DebugLogging=*/false);
  keep_out.registerCallbacks(callbacks);
  // It compares each two accesses of a loop, and what was vectorised with gathers has thousands.
  callbacks.registerShouldRunOptionalPassCallback([](llvm::StringRef pass, llvm::Any unit) {
    auto *function = llvm::any_cast<const llvm::Function *>(&unit);
    return pass != "LoopLoadEliminationPass" || !function || !hasLongBlock(**function);
  });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  auto level = llvm::OptimizationLevel::O3;
  auto phase = llvm::ThinOrFullLTOPhase::None;
  builder.buildModuleSimplificationPipeline(level, phase).run(module, modules);
  if (unroll && hasLongBlock(module))
    return false;
  builder.buildModuleOptimizationPipeline(level, phase).run(module, modules);
  return !unroll || !hasLongBlock(module);
}

// Nests of constant extents are unrolled wholly, one inside the other: with many of them that takes
// seconds and gains nothing.
std::unique_ptr<llvm::Module> optimised(std::unique_ptr<llvm::Module> module,
                                        llvm::TargetMachine &machine) {
  constexpr size_t kMaxUnrolled = 700;
  leaveDeepNests(*module, machine);
  if (module->getInstructionCount() <= kMaxUnrolled) {
    std::unique_ptr<llvm::Module> unrolled = llvm::CloneModule(*module);
    if (optimise(*unrolled, machine, /*unroll=*/true))
      return unrolled;
  }
  optimise(*module, machine, /*unroll=*/false);
  return module;
}

} // namespace

Cpu hostCpu() {
  Cpu cpu{llvm::sys::getHostCPUName().str(), ""};
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> names;
  for (auto &feature : features)
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(names.begin(), names.end());
  for (std::string &name : names)
    cpu.features += (cpu.features.empty() ? "" : ",") + name;
  return cpu;
}

llvm::Expected<ObjectCode> emitObject(mlir::ModuleOp source, llvm::StringRef kernel_name,
                                      const Cpu &cpu, const ObjectOptions &options) {
  mlir::registerBuiltinDialectTranslation(*source.getContext());
  mlir::registerLLVMDialectTranslation(*source.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = mlir::translateModuleToLLVMIR(source, context);
  if (!module)
    return fail("translation to LLVM IR failed");
  auto machine = targetMachine(cpu);
  if (!machine)
    return machine.takeError();
  module->setTargetTriple((*machine)->getTargetTriple().str());
  module->setDataLayout((*machine)->createDataLayout());

  llvm::Function *kernel = module->getFunction(kernel_name);
  if (!kernel)
    return fail("the module has no function '" + kernel_name + "'");
  // A kernel may have the name of a C function that the code calls ("exp", "malloc").
  kernel->setName("pyasc_kernel_body");
  kernel->setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::Function *entry = addEntry(*module, *kernel, options.entry);
  if (!options.alias.empty())
    llvm::GlobalAlias::create(options.alias, entry);
  if (!options.artifact.empty())
    addArtifactSection(*module, options.artifact);
  for (llvm::Function &function : *module)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", cpu.name);
      function.addFnAttr("target-features", cpu.features);
    }
  std::string problems;
  llvm::raw_string_ostream problem_stream(problems);
  if (llvm::verifyModule(*module, &problem_stream))
    return fail("invalid LLVM IR: " + problems);

  module = optimised(std::move(module), **machine);
  defineBfloat16Narrowing(*module);
  ObjectCode code;
  llvm::raw_string_ostream(code.llvm_ir) << *module;
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream object_stream(object);
  llvm::legacy::PassManager emitter;
  if ((*machine)->addPassesToEmitFile(emitter, object_stream, nullptr,
                                      llvm::CodeGenFileType::ObjectFile))
    return fail("this CPU's code generator cannot emit objects");
  emitter.run(*module);
  code.object.assign(object.begin(), object.end());
  return code;
}

} // namespace pyasc::compiler::host
