#include "compiler/driver/npu_text.h"

#include <string>

#include "compiler/driver/contract.h"
#include "compiler/driver/npu_scan.h"
#include "compiler/driver/stages.h"
#include "compiler/ir/asc_dialect.h"
#include "compiler/target/ascend/export_sim.h"
#include "compiler/target/ascend/npu.h"
#include "compiler/target/ascend/passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "proto/contract/schema.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace pyasc::compiler {
namespace {

constexpr llvm::StringLiteral kName = "npu.name";
constexpr llvm::StringLiteral kOutput = "npu.output";
// The text's name in locations: the index of its file.
constexpr llvm::StringLiteral kFile = "0";
constexpr diag::SourceRange kFirstLine = {0, 1, 1, 1, 2};

v1::DType dtypeOf(Type type) {
  if (isa<IndexType>(type))
    return v1::DTYPE_INT64;
  if (type.isF16())
    return v1::DTYPE_FLOAT16;
  if (type.isBF16())
    return v1::DTYPE_BFLOAT16;
  if (type.isF32())
    return v1::DTYPE_FLOAT32;
  if (type.isF64())
    return v1::DTYPE_FLOAT64;
  if (type.isInteger(1))
    return v1::DTYPE_BOOL;
  if (type.isInteger(8))
    return v1::DTYPE_INT8;
  if (type.isInteger(16))
    return v1::DTYPE_INT16;
  if (type.isInteger(32))
    return v1::DTYPE_INT32;
  if (type.isInteger(64))
    return v1::DTYPE_INT64;
  return v1::DTYPE_UNSPECIFIED;
}

// Names of the number parameters that say how many blocks a function has, by function.
using BlockNames = llvm::StringMap<std::string>;

BlockNames addDefaults(ModuleOp module, const machine::Soc &soc) {
  BlockNames names;
  Builder builder(module.getContext());
  module->setAttr(npu::kSoc, builder.getStringAttr(soc.name));
  if (!module->hasAttr(npu::kStage))
    module->setAttr(npu::kStage, builder.getStringAttr(npu::kSynced));
  if (!module->hasAttr(npu::kWorkspaces))
    module->setAttr(npu::kWorkspaces, builder.getArrayAttr({}));
  for (auto function : module.getOps<func::FuncOp>()) {
    auto core = function->getAttrOfType<StringAttr>(npu::kCore);
    if (auto name = function->getAttrOfType<StringAttr>(npu::kBlocks)) {
      names[function.getName()] = name.str();
      function->removeAttr(npu::kBlocks);
    }
    if (core && !function->hasAttr(npu::kBlocks))
      function->setAttr(npu::kBlocks, builder.getI64IntegerAttr(core == "aic" ? soc.cube_cores
                                                                              : soc.vector_cores));
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      const std::string number = std::to_string(i);
      if (!function.getArgAttr(i, npu::kBinding))
        function.setArgAttr(i, npu::kBinding, builder.getStringAttr("parameter:" + number));
      if (!function.getArgAttr(i, kName))
        function.setArgAttr(i, kName, builder.getStringAttr("arg" + number));
    }
  }
  return names;
}

// What the verifiers see of a fault has the code that the simulator's findings have.
const char *codeOf(llvm::StringRef message) {
  if (message.contains(npu::kSharesBytes))
    return "buffer-overlap";
  if (message.contains(npu::kBeyondMemory))
    return "buffer-out-of-bounds";
  if (message.contains(", must be in ") || message.contains(" is less than "))
    return "operand-out-of-range";
  if (message.contains("multiple of "))
    return "misaligned-address";
  return message.contains("has a negative offset") ? "out-of-bounds" : "bad-module";
}

// What is wrong is the text's fault, not the compiler's.
bool verify(ModuleOp module, diag::DiagnosticList &diagnostics) {
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    const std::string message = diagnostic.str();
    auto built = diagnostics.Error(codeOf(message), RangeOf(diagnostic.getLocation()), message);
    for (Diagnostic &note : diagnostic.getNotes())
      built.Note(RangeOf(note.getLocation()), note.str());
    return success();
  });
  module.getContext()->printOpOnDiagnostic(false);
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  passes.addPass(npu::createVerifyStagePass());
  return succeeded(passes.run(module));
}

// Buffers are called as the text calls them: the value's name before the op.
void nameBuffers(ModuleOp module, llvm::StringRef text) {
  SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  module.walk([&](npu::BufferOp buffer) {
    auto at = dyn_cast<FileLineColLoc>(buffer.getLoc());
    if (!at || at.getLine() == 0 || at.getLine() > lines.size())
      return;
    llvm::StringRef name = lines[at.getLine() - 1].ltrim();
    name = name.take_until([](char c) { return c == ' ' || c == '=' || c == ','; });
    if (name.consume_front("%") && !name.empty())
      buffer->setAttr(npu::kBufferName, StringAttr::get(module.getContext(), name));
  });
}

// What the functions do to parameter `number`; also its name and type, which all must agree on.
bool describeParameter(ModuleOp module, unsigned number, diag::DiagnosticList &diagnostics,
                       v1::Parameter &parameter) {
  bool reads = false, writes = false, found = false, output = false;
  const std::string binding = "parameter:" + std::to_string(number);
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments()) {
      const unsigned i = argument.getArgNumber();
      if (function.getArgAttrOfType<StringAttr>(i, npu::kBinding) != binding)
        continue;
      auto memref = dyn_cast<MemRefType>(argument.getType());
      v1::Parameter here;
      const v1::DType dtype = dtypeOf(memref ? memref.getElementType() : argument.getType());
      if (dtype == v1::DTYPE_UNSPECIFIED) {
        std::string type;
        llvm::raw_string_ostream(type) << argument.getType();
        diagnostics.Error("bad-module", RangeOf(argument.getLoc()),
                          "no parameter has the type '" + type +
                              "': tensors are memrefs of f16, bf16, f32, f64, i8, i16, i32 or i64, "
                              "numbers of these types or index");
        return false;
      }
      if (memref) {
        here.mutable_tensor()->set_dtype(dtype);
        for (int64_t extent : memref.getShape())
          here.mutable_tensor()->add_shape(extent);
      } else {
        here.set_scalar(dtype);
      }
      here.set_name(function.getArgAttrOfType<StringAttr>(i, kName).str());
      parameter.clear_access();
      parameter.clear_starts_undefined();
      const v1::SourceRange first = parameter.range(); // other functions have it elsewhere
      parameter.clear_range();
      if (found && here.SerializeAsString() != parameter.SerializeAsString()) {
        diagnostics.Error("bad-module", RangeOf(argument.getLoc()),
                          "the functions do not agree on name and type of " + binding);
        return false;
      }
      parameter = here;
      *parameter.mutable_range() = found ? first : RangeOf(argument.getLoc()).ToProto();
      found = true;
      if (function.getArgAttr(i, kOutput)) // what it holds before does not count
        output = true;
      for (OpOperand &use : argument.getUses()) {
        if (auto instruction = dyn_cast<npu::InstructionOpInterface>(use.getOwner())) {
          for (const npu::Access &access : instruction.getAccesses())
            if (access.operand == &use)
              (access.write ? writes : reads) = true;
        } else {
          (isa<memref::StoreOp>(use.getOwner()) ? writes : reads) = true;
        }
      }
    }
  if (!found)
    diagnostics.Error("bad-module", RangeOf(module.getLoc()), "no argument is bound to " + binding);
  parameter.set_starts_undefined(output);
  parameter.set_access(reads && writes ? v1::ACCESS_READ_WRITE
                       : writes        ? v1::ACCESS_WRITE
                       : reads         ? v1::ACCESS_READ
                                       : v1::ACCESS_NONE);
  return found;
}

// That the last parameter's name is its own.
bool checkName(ModuleOp module, const v1::LaunchContract &contract,
               diag::DiagnosticList &diagnostics) {
  const int last = contract.parameters_size() - 1;
  const std::string &name = contract.parameters(last).name();
  for (int i = 0; i < last; ++i)
    if (contract.parameters(i).name() == name) {
      const std::string binding = "parameter:" + std::to_string(last);
      diag::SourceRange range;
      for (auto function : module.getOps<func::FuncOp>())
        for (BlockArgument argument : function.getArguments())
          if (function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), npu::kBinding) ==
              binding)
            range = RangeOf(argument.getLoc());
      diagnostics.Error("bad-module", range,
                        "two parameters are called '" + name +
                            "': npu.name has to tell them apart");
      return false;
    }
  return true;
}

bool describe(ModuleOp module, const BlockNames &block_names, diag::DiagnosticList &diagnostics,
              v1::LaunchContract *contract) {
  unsigned parameters = 0;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto [kind, number] =
          function.getArgAttrOfType<StringAttr>(i, npu::kBinding).getValue().split(':');
      unsigned index = 0;
      if (kind == "result") {
        diagnostics.Error("bad-module", RangeOf(function.getArgument(i).getLoc()),
                          "a hand-written module has no results: bind outputs "
                          "to parameters");
        return false;
      }
      if (kind == "parameter" && !number.getAsInteger(10, index))
        parameters = std::max(parameters, index + 1);
    }
  if (parameters > 64) {
    diagnostics.Error("bad-module", RangeOf(module.getLoc()), "a module has at most 64 parameters");
    return false;
  }
  contract->set_schema_version(contract::kLaunchSchemaVersion);
  for (unsigned i = 0; i < parameters; ++i)
    if (!describeParameter(module, i, diagnostics, *contract->add_parameters()) ||
        !checkName(module, *contract, diagnostics))
      return false;
  AddNpuPhases(module, contract);
  for (v1::Phase &phase : *contract->mutable_phases()) {
    auto named = block_names.find(phase.entry());
    if (named == block_names.end())
      continue;
    v1::LaunchExpr::Step *step = phase.mutable_blocks()->mutable_steps(0);
    step->set_op(v1::LaunchExpr::OP_UNSPECIFIED);
    for (int i = 0; i < contract->parameters_size(); ++i)
      if (const v1::Parameter &p = contract->parameters(i);
          p.name() == named->second && p.scalar() == v1::DTYPE_INT64) {
        step->set_op(v1::LaunchExpr::OP_SCALAR);
        step->set_value(i);
      }
    if (step->op() == v1::LaunchExpr::OP_UNSPECIFIED) {
      auto function = module.lookupSymbol<func::FuncOp>(phase.entry());
      diagnostics.Error("bad-module", RangeOf(function.getLoc()),
                        "npu.blocks of '" + phase.entry() + "' names no index parameter: '" +
                            named->second + "'");
      return false;
    }
  }
  return true;
}

} // namespace

bool CompileNpuText(const v1::CompileRequest &request, diag::DiagnosticList &diagnostics,
                    v1::Artifact &artifact) {
  if (request.target() != v1::TARGET_SIM) {
    diagnostics.Error("bad-module", {}, "a module of the npu dialect runs on the target sim only");
    return false;
  }
  const std::string &text = request.files(0).content();
  if (llvm::StringRef(text).starts_with("ML\xefR")) {
    diagnostics.Error("bad-module", {}, "this is MLIR's bytecode; send the module as text");
    return false;
  }
  if (const std::optional<TextFault> fault = ScanNpuText(text)) {
    diagnostics.Error("bad-module", {0, fault->line, fault->column, fault->line, fault->end},
                      fault->message);
    return false;
  }
  MLIRContext context(MLIRContext::Threading::DISABLED);
  ir::LoadKernelDialects(context);
  context.loadDialect<npu::NpuDialect>();
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        diagnostics.Error(codeOf(diagnostic.str()), RangeOf(diagnostic.getLocation()),
                          diagnostic.str());
      return success();
    });
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context), kFile);
  }
  if (!module) {
    if (!diagnostics.HasErrors())
      diagnostics.Error("bad-module", kFirstLine, "the text is no module");
    return false;
  }
  const diag::SourceRange whole = RangeOf((*module)->getLoc());
  std::string soc_name = request.soc();
  diag::SourceRange soc_range; // of a request it has none
  if (Attribute named = (*module)->getAttr(npu::kSoc)) {
    if (!isa<StringAttr>(named)) {
      diagnostics.Error("bad-module", whole, "npu.soc is a name, such as \"ascend910b1\"");
      return false;
    }
    if (soc_name.empty()) {
      soc_name = cast<StringAttr>(named).str();
      soc_range = whole;
    }
  }
  if (soc_name.empty())
    soc_name = std::string(machine::kDefaultSoc);
  const machine::Soc *soc = machine::FindSoc(soc_name);
  if (!soc) {
    std::string names;
    for (const std::string &name : machine::SocNames())
      names += (names.empty() ? "" : ", ") + name;
    diagnostics.Error("unknown-soc", soc_range,
                      "there is no SoC '" + soc_name + "'; known are " + names);
    return false;
  }
  auto functions = module->getOps<func::FuncOp>();
  if (functions.empty()) {
    diagnostics.Error("bad-module", whole, "the module has no function");
    return false;
  }
  for (func::FuncOp function : functions)
    if (function.isDeclaration()) {
      diagnostics.Error("bad-module", RangeOf(function.getLoc()),
                        "the function '" + function.getName().str() + "' has no body");
      return false;
    }
  const BlockNames block_names = addDefaults(*module, *soc);
  nameBuffers(*module, text);
  if (!verify(*module, diagnostics))
    return false;
  artifact.set_schema_version(contract::kArtifactSchemaVersion);
  artifact.set_kernel((*functions.begin()).getName().str());
  artifact.set_target("sim");
  artifact.set_soc(soc->name);
  return describe(*module, block_names, diagnostics, artifact.mutable_launch()) &&
         npu::ExportSimProgram(*module, diagnostics, artifact.mutable_sim());
}

} // namespace pyasc::compiler
