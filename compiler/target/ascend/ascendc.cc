#include "compiler/target/ascend/ascendc.h"

#include <algorithm>
#include <set>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

#include "compiler/ir/expand_print.h"
#include "compiler/target/ascend/ascendc_printer.h"

using namespace mlir;

namespace pyasc::npu {
namespace {

// C++ names of what a phase's argument is bound to: the formal argument and, for memory, the tensor
// over it. The author's names end in "_addr", "_gm" or "_arg", ours in "Addr" and "Gm", and no
// local has one of these endings: so no name is a keyword, hides a function or meets another.
struct ArgumentNames {
  std::string formal;
  std::string tensor;
};

ArgumentNames namesOf(BlockArgument argument, StringRef binding,
                      const v1::LaunchContract &contract) {
  auto [kind, number_text] = binding.split(':');
  int number = 0;
  number_text.getAsInteger(10, number);
  if (kind == "parameter") {
    const std::string &name = contract.parameters(number).name();
    if (!isa<MemRefType>(argument.getType()))
      return {name + "_arg", name + "_arg"};
    return {name + "_addr", name + "_gm"};
  }
  if (kind == kLoopVariable)
    return {"loopArg", "loopArg"};
  std::string name = kind == "result"      ? "result" + number_text.str()
                     : kind == "workspace" ? "workspace" + number_text.str()
                     : kind == "prints"    ? "prints"
                                           : "errors";
  return {name + "Addr", name + "Gm"};
}

const char *position(Space space) {
  switch (space) {
  case Space::ub:
    return "TPosition::VECCALC";
  case Space::l1:
    return "TPosition::A1";
  case Space::l0a:
    return "TPosition::A2";
  case Space::l0b:
    return "TPosition::B2";
  case Space::l0c:
    return "TPosition::CO1";
  case Space::gm:
    break;
  }
  return "TPosition::GM";
}

std::string tensorType(Value memory) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  return element.isInteger(1) ? "uint8_t" : cppType(element);
}

void declareBuffer(AscendCPrinter &printer, BufferOp buffer) {
  int64_t elements =
      buffer.totalBytes() / bytesOf(cast<MemRefType>(buffer.getType()).getElementType());
  std::string name = printer.fresh(stringifySpace(buffer.getSpace()).str() + "Tile");
  printer.name(buffer, name);
  std::string depth =
      buffer.getDepth() > 1 ? llvm::formatv(" // {0} slots", buffer.getDepth()).str() : "";
  printer.line(llvm::formatv("LocalTensor<{0}> {1}({2}, {3}, {4});{5}", tensorType(buffer), name,
                             position(buffer.getSpace()), *buffer.getAddr(), elements, depth));
}

// First free byte of UB after every buffer.
int64_t scratchAddress(func::FuncOp phase) {
  int64_t end = 0;
  phase.walk([&](BufferOp buffer) {
    if (buffer.getSpace() == Space::ub)
      end = std::max<int64_t>(end, static_cast<int64_t>(*buffer.getAddr()) + buffer.totalBytes());
  });
  return (end + 31) / 32 * 32;
}

StringRef bindingOf(func::FuncOp phase, BlockArgument argument) {
  return phase.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kBinding).getValue();
}

std::string formalOf(func::FuncOp phase, BlockArgument argument,
                     const v1::LaunchContract &contract) {
  return (isa<MemRefType>(argument.getType()) ? "GM_ADDR" : cppType(argument.getType())) + " " +
         namesOf(argument, bindingOf(phase, argument), contract).formal;
}

bool isVector(func::FuncOp phase) {
  return phase->getAttrOfType<StringAttr>(kCore).getValue() == "aiv";
}

std::string blocksOf(func::FuncOp phase) {
  return std::to_string(phase->getAttrOfType<IntegerAttr>(kBlocks).getInt());
}

// The statements of a phase, between its braces.
void printBody(AscendCPrinter &printer, func::FuncOp phase, const v1::LaunchContract &contract) {
  for (BlockArgument argument : phase.getArguments()) {
    if (!isa<MemRefType>(argument.getType()))
      continue;
    StringRef binding = bindingOf(phase, argument);
    std::string type = tensorType(argument);
    std::string name = printer.use(argument);
    printer.line("GlobalTensor<" + type + "> " + name + ";");
    // Every block has an error record of its own, 64 bytes apart: a cache line each.
    std::string address = namesOf(argument, binding, contract).formal;
    if (binding == "error")
      address += " + GetBlockIdx() * 64";
    else if (binding == "prints")
      address += " + GetBlockIdx() * " + std::to_string(ir::kPrintLogWords * 8);
    printer.line(name + ".SetGlobalBuffer(reinterpret_cast<__gm__ " + type + " *>(" + address +
                 "));");
    // Read once, past L2.
    auto passesL2 = [](Operation *user) {
      auto load = dyn_cast<LoadOp>(user);
      auto nz = dyn_cast<LoadNd2NzOp>(user);
      return (load && load.getBypassL2()) || (nz && nz.getBypassL2());
    };
    if (!argument.use_empty() && llvm::all_of(argument.getUsers(), passesL2))
      printer.line(name + ".SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);");
  }
  printer.scratch_address = scratchAddress(phase);
  for (Operation &op : phase.getBody().front().without_terminator()) {
    if (auto buffer = dyn_cast<BufferOp>(op))
      declareBuffer(printer, buffer);
    else
      printer.statement(&op);
  }
}

// One function: a kernel, or what one kind of core does in the kernel of a group.
void printPhase(AscendCPrinter &printer, func::FuncOp phase, const v1::LaunchContract &contract,
                bool part) {
  bool vector = isVector(phase);
  std::string formals;
  for (BlockArgument argument : phase.getArguments()) {
    formals += (formals.empty() ? "" : ", ") + formalOf(phase, argument, contract);
    printer.name(argument, namesOf(argument, bindingOf(phase, argument), contract).tensor);
  }
  printer.indent(-1);
  if (part)
    printer.line("\n// What the " + std::string(vector ? "vector" : "cube") + " cores do.");
  else
    printer.line("\n// " + blocksOf(phase) + " blocks on " + (vector ? "vector" : "cube") +
                 " cores.");
  printer.line((part ? "__aicore__ inline void " : "extern \"C\" __global__ __aicore__ void ") +
               phase.getName() + (part ? "_part(" : "(") + formals + ") {");
  printer.indent(1);
  if (!part)
    printer.line(vector ? "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);"
                        : "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);");
  printBody(printer, phase, contract);
  printer.indent(-1);
  printer.line("}");
  printer.indent(1);
}

// The kernel of a group: the arguments of the first phase, then what only the second has.
std::string groupKernel(func::FuncOp first, func::FuncOp second,
                        const v1::LaunchContract &contract) {
  std::string formals;
  std::set<std::string> known;
  std::string calls[2];
  for (auto [number, phase] : llvm::enumerate(SmallVector{first, second})) {
    std::string actuals;
    for (BlockArgument argument : phase.getArguments()) {
      std::string name = namesOf(argument, bindingOf(phase, argument), contract).formal;
      actuals += (actuals.empty() ? "" : ", ") + name;
      if (known.insert(name).second)
        formals += (formals.empty() ? "" : ", ") + formalOf(phase, argument, contract);
    }
    calls[number] = std::string("  if ") + (isVector(phase) ? "ASCEND_IS_AIV" : "ASCEND_IS_AIC") +
                    " {\n    " + phase.getName().str() + "_part(" + actuals + ");\n  }\n";
  }
  func::FuncOp cube = isVector(first) ? second : first;
  return "\n// " + blocksOf(cube) + " blocks of a cube core and two vector cores.\n" +
         "extern \"C\" __global__ __aicore__ void " + first.getName().str() + "(" + formals +
         ") {\n  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);\n" + calls[0] + calls[1] +
         "}\n";
}

// The blocks to launch: of a group, those of its cube cores.
int64_t launchBlocks(const v1::LaunchContract &contract, const v1::Phase &phase) {
  int64_t blocks = phase.blocks().steps(0).value();
  for (const v1::Phase &other : contract.phases())
    if (phase.group() != 0 && other.group() == phase.group() && other.core() == v1::CORE_KIND_AIC)
      blocks = other.blocks().steps(0).value();
  return blocks;
}

std::string launchComment(ModuleOp module, const v1::LaunchContract &contract,
                          const std::string &kernel) {
  std::string soc = module->getAttrOfType<StringAttr>(kSoc).str();
  std::string text = "// Kernel '" + kernel + "' for " + soc + ", generated by pyasc.\n" +
                     "// Launch, in this order, each when the one before has ended:\n";
  uint32_t group = 0;
  for (auto [number, phase] : llvm::enumerate(contract.phases())) {
    auto loop = llvm::find_if(contract.loops(), [&](const v1::PhaseLoop &l) {
      return number >= l.first_phase() && number < l.first_phase() + l.phases();
    });
    bool inside = loop != contract.loops().end();
    if (inside && number == loop->first_phase())
      text += "//   " + std::to_string(loop->rounds().steps(0).value()) + " times, with loopArg " +
              std::to_string(loop->start()) + ", " + std::to_string(loop->start() + loop->step()) +
              ", ...:\n";
    if (phase.group() == 0 || phase.group() != group)
      text += (inside ? "//     " : "//   ") + phase.entry() + "<<<" +
              std::to_string(launchBlocks(contract, phase)) + ">>>\n";
    group = phase.group();
  }
  if (contract.workspaces_size() > 0)
    text += "// Workspaces, zero-filled, bytes:";
  for (const v1::Workspace &workspace : contract.workspaces())
    text += " " + std::to_string(workspace.bytes().steps(0).value());
  if (contract.workspaces_size() > 0)
    text += "\n";
  if (contract.print_log_words() > 0)
    text += "// Print log, zero-filled: " + std::to_string(contract.print_log_words()) +
            " int64 a block, read by the launch contract's print table.\n";
  return text;
}

} // namespace

bool PrintAscendC(ModuleOp module, const v1::LaunchContract &contract, const std::string &kernel,
                  diag::DiagnosticList &diagnostics, std::string *text) {
  std::set<Piece> pieces;
  std::string phases;
  bool flushes = false;
  func::FuncOp before;
  for (auto phase : module.getOps<func::FuncOp>()) {
    AscendCPrinter printer(diagnostics, pieces);
    bool part = phase->hasAttr(kGroup);
    printPhase(printer, phase, contract, part);
    if (printer.failed)
      return false;
    phase.walk([&](DcacheFlushOp) { flushes = true; });
    phases += printer.out;
    if (part && before && before->getAttr(kGroup) == phase->getAttr(kGroup))
      phases += groupKernel(before, phase, contract);
    before = phase;
  }
  *text = launchComment(module, contract, kernel) + "#include \"kernel_operator.h\"\n\n" +
          "using namespace AscendC;\n" + preludeText(pieces);
  if (flushes)
    *text += R"(
// Writes back and invalidates the whole data cache of the scalar unit.
__aicore__ inline void FlushDataCache() {
  GlobalTensor<uint8_t> none;
  DataCacheCleanAndInvalid<uint8_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(none);
}
)";
  *text += phases;
  return true;
}

} // namespace pyasc::npu
