// The host target: structured form -> LLVM -> ELF object code for this machine's CPU.
#ifndef PYASC_COMPILER_TARGET_HOST_HOST_H
#define PYASC_COMPILER_TARGET_HOST_HOST_H

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace pyasc::compiler::host {

// Adds the passes that take a module in structured form to the LLVM dialect.
void buildLowerToLLVMPipeline(mlir::OpPassManager &pm);

// Passes of buildLowerToLLVMPipeline that are ours.
std::unique_ptr<mlir::Pass> createOrderLoopsPass();
std::unique_ptr<mlir::Pass> createLowerChecksPass();
std::unique_ptr<mlir::Pass> createPlaceAllocationsPass();
std::unique_ptr<mlir::Pass> createSaturateCastsPass();
std::unique_ptr<mlir::Pass> createConvertToLLVMPass();

// The CPU that the code is made for: this machine's.
struct Cpu {
  std::string name;
  std::string features;
};
Cpu hostCpu();

struct ObjectOptions {
  // Name of the exported entry `void entry(void **args, int64_t block, int64_t num_blocks)`.
  std::string entry = "pyasc_entry";
  // Further symbol with the same signature; "" for none. For kernel.o.
  std::string alias;
  // Put into the section ".pyasc.artifact" when not empty.
  std::string artifact;
};

struct ObjectCode {
  std::string object;
  std::string llvm_ir;
};

// Translates a module of the LLVM dialect whose function `kernel` takes pointers and scalars, adds
// the entry, optimises (-O3) and emits position-independent ELF.
llvm::Expected<ObjectCode> emitObject(mlir::ModuleOp module, llvm::StringRef kernel, const Cpu &cpu,
                                      const ObjectOptions &options);

} // namespace pyasc::compiler::host

#endif // PYASC_COMPILER_TARGET_HOST_HOST_H
