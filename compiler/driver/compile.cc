#include "compiler/driver/compile.h"

#include <optional>
#include <string>
#include <utility>

#include "compiler/analysis/analyze.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/driver/buffer_names.h"
#include "compiler/driver/c_header.h"
#include "compiler/driver/contract.h"
#include "compiler/driver/fast_memory.h"
#include "compiler/driver/npu_text.h"
#include "compiler/driver/stages.h"
#include "compiler/ir/asc_dialect.h"
#include "compiler/machine/machine.h"
#include "compiler/sema/build_kernel.h"
#include "compiler/target/ascend/ascendc.h"
#include "compiler/target/ascend/export_sim.h"
#include "compiler/target/ascend/npu.h"
#include "compiler/target/ascend/passes.h"
#include "compiler/target/host/host.h"
#include "compiler/transform/passes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "proto/contract/schema.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

namespace pyasc::compiler {
namespace {

// The kernel's symbol while it is lowered: a kernel may be called "exp" or "malloc".
constexpr llvm::StringLiteral kBody = "pyasc_kernel_body";
constexpr llvm::StringLiteral kHostEntry = "pyasc_entry";

const char *TargetName(v1::Target target) {
  switch (target) {
  case v1::TARGET_HOST:
    return "host";
  case v1::TARGET_ASCEND:
    return "ascend";
  default:
    return "sim";
  }
}

std::string Sha256Hex(const std::string &text) {
  return llvm::toHex(llvm::SHA256::hash(llvm::ArrayRef(
                         reinterpret_cast<const uint8_t *>(text.data()), text.size())),
                     /*LowerCase=*/true);
}

// One compilation.
class Compilation {
public:
  explicit Compilation(const v1::CompileRequest &request)
      : request_(request), context_(mlir::MLIRContext::Threading::DISABLED) {
    ir::LoadKernelDialects(context_);
    context_.loadDialect<npu::NpuDialect>();
    report_ = artifact_.mutable_report();
  }

  v1::CompileReply Run() {
    v1::CompileReply reply;
    bool accepted = FrontEnd();
    bool lowered = accepted && Lower();
    if (kernel_)
      reply.set_semantic_key(Sha256Hex(kernel_->semantic_key_text));
    std::vector<v1::Diagnostic> diagnostics = diagnostics_.Take();
    reply.mutable_diagnostics()->Add(diagnostics.begin(), diagnostics.end());
    if (!lowered) {
      reply.set_outcome(accepted ? v1::OUTCOME_FAILED : v1::OUTCOME_REJECTED);
      return reply;
    }
    artifact_.mutable_diagnostics()->Add(diagnostics.begin(), diagnostics.end());
    reply.set_outcome(v1::OUTCOME_OK);
    reply.set_artifact(artifact_.SerializeAsString());
    return reply;
  }

  std::string Key() { return FrontEnd() ? Sha256Hex(kernel_->semantic_key_text) : std::string(); }

private:
  bool Wants(v1::Emit emit) const {
    for (int wanted : request_.options().emits())
      if (wanted == emit)
        return true;
    return false;
  }

  // Everything up to kernel form. False: the request is wrong.
  bool FrontEnd();
  // Kernel form to code. False: the compiler failed.
  bool Lower();
  bool LowerAscend(mlir::ModuleOp structured);
  bool LowerHost(mlir::ModuleOp structured);
  // The object of `kernel.o`: host code whose artifact lies in a section of its own.
  bool EmitObject(mlir::ModuleOp structured);
  std::optional<host::ObjectCode> HostObject(mlir::ModuleOp structured,
                                             const host::ObjectOptions &options);

  const v1::CompileRequest &request_;
  mlir::MLIRContext context_;
  diag::DiagnosticList diagnostics_;
  v1::Artifact artifact_;
  v1::CompileReport *report_;
  std::optional<sema::KernelModule> kernel_;
  const machine::Soc *soc_ = nullptr;
  std::optional<Stages> stages_;
};

bool Compilation::FrontEnd() {
  stages_.emplace(&diagnostics_, report_, &artifact_, Wants(v1::EMIT_STAGES));
  if (request_.target() == v1::TARGET_UNSPECIFIED) {
    diagnostics_.Error("no-target", {}, "the request names no target: sim, host or ascend");
    return false;
  }
  std::string soc = request_.soc().empty() ? std::string(machine::kDefaultSoc) : request_.soc();
  if (request_.target() != v1::TARGET_HOST) {
    soc_ = machine::FindSoc(soc);
    if (!soc_) {
      std::string names;
      for (const std::string &name : machine::SocNames())
        names += (names.empty() ? "" : ", ") + name;
      diagnostics_.Error("unknown-soc", {}, "there is no SoC '" + soc + "'; known are " + names);
      return false;
    }
  }
  stages_->Time("front-end",
                [&] { kernel_ = sema::BuildKernel(context_, request_, diagnostics_); });
  if (!kernel_ || diagnostics_.HasErrors()) {
    kernel_.reset();
    return false;
  }
  if (soc_ && !CheckFastMemory(*kernel_->module, *soc_, diagnostics_)) {
    kernel_.reset();
    return false;
  }
  artifact_.set_schema_version(contract::kArtifactSchemaVersion);
  artifact_.set_kernel(kernel_->kernel_name);
  artifact_.set_target(TargetName(request_.target()));
  if (soc_)
    artifact_.set_soc(soc_->name);
  return true;
}

bool Compilation::Lower() {
  mlir::ModuleOp module = *kernel_->module;
  std::string complaint;
  {
    context_.printOpOnDiagnostic(false);
    mlir::ScopedDiagnosticHandler handler(&context_, [&](mlir::Diagnostic &diagnostic) {
      complaint += diagnostic.str() + "\n";
      return mlir::success();
    });
    if (mlir::failed(mlir::verify(module))) {
      stages_->ReportFault("front-end", {}, complaint);
      return false;
    }
  }
  auto functions = module.getOps<mlir::func::FuncOp>();
  mlir::func::FuncOp kernel = *functions.begin();
  analysis::WarnOfParallelReads(kernel, diagnostics_);
  *artifact_.mutable_launch() = DescribeKernel(kernel);
  report_->set_compulsory_bytes(CompulsoryBytes(artifact_.launch()));
  stages_->Dump("kernel-form", module);
  if (Wants(v1::EMIT_ASC_IR))
    (*artifact_.mutable_texts())["asc-ir"] = TextOf(module);
  if (!stages_->Run("transform", module,
                    [](mlir::OpPassManager &passes) { buildStructurePipeline(passes); }))
    return false;
  if (auto counts = module->getAttrOfType<mlir::DictionaryAttr>("asc.pass_counts"))
    for (mlir::NamedAttribute count : counts) {
      v1::PassCount *out = report_->add_passes();
      out->set_name(count.getName().str());
      out->set_count(mlir::cast<mlir::IntegerAttr>(count.getValue()).getInt());
    }
  bool lowered = request_.target() == v1::TARGET_HOST ? LowerHost(module) : LowerAscend(module);
  if (lowered && Wants(v1::EMIT_OBJ))
    lowered = EmitObject(module);
  return lowered;
}

bool Compilation::LowerAscend(mlir::ModuleOp structured) {
  mlir::func::FuncOp kernel = *structured.getOps<mlir::func::FuncOp>().begin();
  std::vector<analysis::Step> steps = analysis::FindSteps(kernel);
  mlir::OwningOpRef<mlir::ModuleOp> module(structured.clone());
  npu::PlanOptions options;
  options.soc = soc_;
  if (!stages_->Run("ascend", *module, [&](mlir::OpPassManager &passes) {
        npu::buildAscendPipeline(passes, options);
      }))
    return false;
  if (Wants(v1::EMIT_NPU_IR))
    (*artifact_.mutable_texts())["npu-ir"] = TextOf(*module);
  AddNpuPhases(*module, artifact_.mutable_launch());
  analysis::FillEstimates(steps, *module, soc_, report_);

  bool exported = true;
  if (request_.target() == v1::TARGET_SIM)
    stages_->Time("sim-program", [&] {
      NameBuffers(*module, artifact_.launch());
      exported = npu::ExportSimProgram(*module, diagnostics_, artifact_.mutable_sim());
    });
  if (exported && (request_.target() == v1::TARGET_ASCEND || Wants(v1::EMIT_ASCENDC)))
    stages_->Time("ascendc", [&] {
      std::string text;
      exported =
          npu::PrintAscendC(*module, artifact_.launch(), artifact_.kernel(), diagnostics_, &text);
      if (Wants(v1::EMIT_ASCENDC))
        (*artifact_.mutable_texts())["ascendc"] = text;
      if (request_.target() == v1::TARGET_ASCEND)
        artifact_.mutable_ascend()->set_ascendc(text);
    });
  return exported;
}

std::optional<host::ObjectCode> Compilation::HostObject(mlir::ModuleOp structured,
                                                        const host::ObjectOptions &options) {
  mlir::OwningOpRef<mlir::ModuleOp> module(structured.clone());
  mlir::func::FuncOp kernel = *module->getOps<mlir::func::FuncOp>().begin();
  kernel.setSymName(kBody);
  if (!stages_->Run("llvm-dialect", *module,
                    [](mlir::OpPassManager &passes) { host::buildLowerToLLVMPipeline(passes); }))
    return std::nullopt;
  std::optional<host::ObjectCode> code;
  stages_->Time("llvm", [&] {
    auto object = host::emitObject(*module, kBody, host::hostCpu(), options);
    if (object)
      code = std::move(*object);
    else
      diagnostics_.Error("cannot-lower", {}, llvm::toString(object.takeError()));
  });
  return code;
}

bool Compilation::LowerHost(mlir::ModuleOp structured) {
  mlir::func::FuncOp kernel = *structured.getOps<mlir::func::FuncOp>().begin();
  analysis::FillEstimates(analysis::FindSteps(kernel), {}, nullptr, report_);
  AddHostPhase(kernel, kHostEntry.str(), artifact_.mutable_launch());
  host::ObjectOptions options;
  options.entry = kHostEntry;
  std::optional<host::ObjectCode> code = HostObject(structured, options);
  if (!code)
    return false;
  host::Cpu cpu = host::hostCpu();
  artifact_.mutable_host()->set_object(code->object);
  artifact_.mutable_host()->set_cpu(cpu.name);
  artifact_.mutable_host()->set_cpu_features(cpu.features);
  if (Wants(v1::EMIT_LLVM))
    (*artifact_.mutable_texts())["llvm"] = code->llvm_ir;
  return true;
}

bool Compilation::EmitObject(mlir::ModuleOp structured) {
  host::ObjectOptions options;
  options.entry = "pyasc_" + artifact_.kernel();
  // Without its texts: the section is there to be launched from.
  v1::Artifact embedded = artifact_;
  embedded.clear_texts();
  options.artifact = embedded.SerializeAsString();
  // The same passes again, under another name.
  if (request_.target() == v1::TARGET_HOST)
    stages_->StopDumping();
  std::optional<host::ObjectCode> code = HostObject(structured, options);
  if (!code)
    return false;
  (*artifact_.mutable_texts())["obj"] = code->object;
  (*artifact_.mutable_texts())["header"] = CHeader(artifact_);
  return true;
}

v1::CompileReply CompileModule(const v1::CompileRequest &request) {
  diag::DiagnosticList diagnostics;
  v1::Artifact artifact;
  v1::CompileReply reply;
  const bool accepted = CompileNpuText(request, diagnostics, artifact);
  std::vector<v1::Diagnostic> taken = diagnostics.Take();
  reply.mutable_diagnostics()->Add(taken.begin(), taken.end());
  reply.set_outcome(accepted ? v1::OUTCOME_OK : v1::OUTCOME_REJECTED);
  if (accepted) {
    reply.set_semantic_key(Sha256Hex("npu module\n" + request.files(0).content()));
    reply.set_artifact(artifact.SerializeAsString());
  }
  return reply;
}

} // namespace

v1::CompileReply Compile(const v1::CompileRequest &request) {
  return request.language() == v1::LANGUAGE_NPU ? CompileModule(request)
                                                : Compilation(request).Run();
}

std::string SemanticKey(const v1::CompileRequest &request) {
  return request.language() == v1::LANGUAGE_NPU
             ? Sha256Hex("npu module\n" + request.files(0).content())
             : Compilation(request).Key();
}

} // namespace pyasc::compiler
