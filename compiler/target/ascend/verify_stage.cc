// npu-verify-stage: checks what a module's npu.stage promises (docs/architecture.md).
//
// In and out: the same npu module. The verifiers of the ops look at one op; this pass looks at what
// only the whole shows: attributes of module and functions, which core may do what, addresses.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/target/ascend/live_ranges.h"
#include "compiler/target/ascend/npu.h"
#include "compiler/target/ascend/passes.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

enum class Stage { planned, placed, synced };

bool isVectorSpace(Space space) { return space == Space::ub; }

LogicalResult verifyBinding(func::FuncOp function, unsigned argument, size_t workspaces) {
  auto binding = function.getArgAttrOfType<StringAttr>(argument, kBinding);
  if (!binding)
    return function.emitError("argument ") << argument << " has no " << kBinding;
  auto [kind, number] = binding.getValue().split(':');
  unsigned index = 0;
  if (binding.getValue() == kLoopVariable) {
    Type type = function.getArgument(argument).getType();
    if (!function->hasAttr(kLoop) || !(type.isIndex() || type.isInteger(64)))
      return function.emitError("argument ")
             << argument << " is a loop variable: an index or i64, of a function with " << kLoop;
    return success();
  }
  if (binding.getValue() != "error" && binding.getValue() != "prints" &&
      ((kind != "parameter" && kind != "result" && kind != "workspace") ||
       number.getAsInteger(10, index)))
    return function.emitError("argument ") << argument << " has the unknown binding " << binding;
  if (kind == "workspace" && index >= workspaces)
    return function.emitError("argument ") << argument << " is bound to a missing workspace";
  BlockArgument value = function.getArgument(argument);
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!type)
    return success();
  if (findSpace(type) != Space::gm)
    return emitError(value.getLoc(), "argument ") << argument << " is no memref in gm";
  if (type.getRank() != 1 || !type.hasStaticShape() || !type.getLayout().isIdentity())
    return emitError(value.getLoc(), "argument ")
           << argument << " must be flat, of a static size and without a layout";
  return success();
}

bool hasPipe(bool cube, Pipe pipe) {
  switch (pipe) {
  case Pipe::V:
  case Pipe::MTE3:
    return !cube;
  case Pipe::M:
  case Pipe::MTE1:
  case Pipe::FIX:
    return cube;
  default:
    return true;
  }
}

// The pipes that a flag or a barrier is about.
SmallVector<Pipe, 2> pipesNamed(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Pipe, 2>>(op)
      .Case<SetFlagOp, WaitFlagOp>(
          [](auto flag) { return SmallVector<Pipe, 2>{flag.getFrom(), flag.getTo()}; })
      .Case<CrossSetOp, CrossWaitOp, PipeBarrierOp>(
          [](auto one) { return SmallVector<Pipe, 2>{one.getPipe()}; })
      .Default([](Operation *) { return SmallVector<Pipe, 2>(); });
}

// What has no result that the scalar unit could be trusted with.
LogicalResult verifyArithmetic(Operation *op) {
  if (op->getNumOperands() != 2)
    return success();
  APInt second;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&second)))
    return success();
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp>(op) &&
      second.isZero())
    return op->emitOpError("divides by zero");
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op) && second.uge(second.getBitWidth()))
    return op->emitOpError("shifts by the width of its type or more");
  return success();
}

LogicalResult verifyOp(Operation *op, Stage stage, bool cube) {
  bool isNpu = isa<NpuDialect>(op->getDialect());
  bool isScalar =
      isa<arith::ArithDialect, scf::SCFDialect>(op->getDialect()) ||
      op->getDialect()->getNamespace() == "math" ||
      isa<memref::LoadOp, memref::StoreOp, memref::AllocaOp, func::ReturnOp, func::FuncOp>(op);
  if (!isNpu && !isScalar)
    return op->emitOpError("does not belong in an npu module");
  for (Value operand : op->getOperands()) {
    if (!isa<MemRefType>(operand.getType()))
      continue;
    std::optional<Space> space = findSpace(operand.getType());
    if (!space && cast<MemRefType>(operand.getType()).getRank() == 0)
      continue; // a cell: a variable of the scalar unit
    if (!space)
      return op->emitOpError("uses a memref without a space");
    if (!isNpu && *space != Space::gm && *space != Space::ub)
      return op->emitOpError("reaches ")
             << stringifySpace(*space) << ", which the scalar unit cannot";
    if (*space != Space::gm && isVectorSpace(*space) == cube)
      return op->emitOpError("uses ") << stringifySpace(*space) << " on a core without it";
  }
  if (failed(verifyArithmetic(op)))
    return failure();
  if (stage != Stage::synced && isa<SetFlagOp, WaitFlagOp, PipeBarrierOp>(op))
    return op->emitOpError("exists from the stage synced on only");
  if (auto set = dyn_cast<CrossSetOp>(op); set && set.getMode() == 1 && cube)
    return op->emitOpError("with mode 1 is between vector cores");
  for (Pipe pipe : pipesNamed(op))
    if (!hasPipe(cube, pipe))
      return op->emitOpError("names the pipe ") << stringifyPipe(pipe) << ", which a core of kind "
                                                << (cube ? "aic" : "aiv") << " does not have";
  if (auto instruction = dyn_cast<InstructionOpInterface>(op))
    if (!hasPipe(cube, instruction.getPipe()))
      return op->emitOpError("runs on a pipe that its core does not have");
  // What a core lacks; a memory that another op reaches is seen there.
  if (auto buffer = dyn_cast<BufferOp>(op); buffer && isVectorSpace(buffer.getSpace()) == cube)
    return op->emitOpError("is in ")
           << stringifySpace(buffer.getSpace()) << ", which its core does not have";
  if (isa<LoadNd2NzOp>(op) && !cube)
    return op->emitOpError("needs a cube core");
  APInt cycles;
  if (auto work = dyn_cast<ScalarWorkOp>(op);
      work && matchPattern(work.getCycles(), m_ConstantInt(&cycles)) && cycles.isNegative())
    return op->emitOpError("takes no negative number of cycles, it is ") << cycles.getSExtValue();
  if (auto buffer = dyn_cast<BufferOp>(op))
    if ((stage != Stage::planned) != buffer.getAddr().has_value())
      return op->emitOpError(stage == Stage::planned ? "has an address too early"
                                                     : "has no address");
  return success();
}

LogicalResult verifyAddresses(func::FuncOp function, const machine::Soc &soc) {
  SmallVector<LiveRange> ranges = liveRangesOf(function);
  auto end = [](BufferOp buffer) {
    return static_cast<int64_t>(*buffer.getAddr()) + buffer.totalBytes();
  };
  for (size_t i = 0; i < ranges.size(); ++i) {
    BufferOp buffer = ranges[i].buffer;
    // What place keeps free, a hand-written module may use.
    const int64_t bytes = buffer.getSpace() == Space::ub   ? soc.ub_physical_bytes
                          : buffer.getSpace() == Space::l1 ? soc.l1_physical_bytes
                                                           : bytesOfSpace(buffer.getSpace(), soc);
    if (end(buffer) > bytes)
      return buffer.emitOpError(kBeyondMemory);
    for (size_t j = 0; j < i; ++j) {
      BufferOp other = ranges[j].buffer;
      if (other.getSpace() == buffer.getSpace() && ranges[i].overlaps(ranges[j]) &&
          *buffer.getAddr() < static_cast<uint64_t>(end(other)) &&
          *other.getAddr() < static_cast<uint64_t>(end(buffer))) {
        InFlightDiagnostic error = buffer.emitOpError(kSharesBytes);
        error.attachNote(other.getLoc()) << "the other buffer";
        return error;
      }
    }
  }
  return success();
}

// Functions of one npu.group run at the same time: one for cube cores, one for vector cores, next
// to each other.
LogicalResult verifyGroup(func::FuncOp function) {
  if (!function->hasAttr(kGroup))
    return success();
  auto group = function->getAttrOfType<IntegerAttr>(kGroup);
  if (!group || !group.getValue().isSignedIntN(32) || group.getValue().getSExtValue() < 1)
    return function.emitError("has an npu.group that is no number from 1 on");
  int members = 0;
  bool adjacent = false;
  for (auto other : cast<ModuleOp>(function->getParentOp()).getOps<func::FuncOp>()) {
    if (other->getAttrOfType<IntegerAttr>(kGroup) != group)
      continue;
    ++members;
    if (other == function)
      continue;
    if (other->getAttr(kCore) == function->getAttr(kCore))
      return function.emitError("shares its npu.group with a function for the same kind of core");
    adjacent = other->getNextNode() == function || function->getNextNode() == other;
  }
  if (members != 2 || !adjacent)
    return function.emitError(
        "needs one other function of its npu.group, for the other kind of core, next to it");
  return success();
}

// Functions of one npu.loop stand next to each other, with a group as a whole, and agree on the
// rounds.
LogicalResult verifyLoop(func::FuncOp function) {
  Attribute loop = function->getAttr(kLoop), rounds = function->getAttr(kRounds);
  auto previous = dyn_cast_or_null<func::FuncOp>(function->getPrevNode());
  if (previous && function->hasAttr(kGroup) &&
      previous->getAttr(kGroup) == function->getAttr(kGroup) && previous->getAttr(kLoop) != loop)
    return function.emitError("has another ") << kLoop << " than the function of its group";
  if (!loop && !rounds)
    return success();
  auto isWhole = [](Attribute attribute) {
    auto number = dyn_cast_or_null<IntegerAttr>(attribute);
    return number && number.getValue().isSignedIntN(64);
  };
  auto numbers = dyn_cast_or_null<ArrayAttr>(rounds);
  if (!isWhole(loop) || !numbers || numbers.size() != 3 || !llvm::all_of(numbers, isWhole) ||
      cast<IntegerAttr>(numbers[2]).getValue().isNegative())
    return function.emitError("needs both ") << kLoop << ", a whole number, and " << kRounds
                                             << " = [start, step, count], a count of 0 or more";
  bool seen = false, ended = false;
  for (auto other : cast<ModuleOp>(function->getParentOp()).getOps<func::FuncOp>()) {
    bool member = other->getAttr(kLoop) == loop;
    if (member && ended)
      return other.emitError("stands apart from the functions of its ") << kLoop;
    if (member && other->getAttr(kRounds) != rounds)
      return other.emitError("has other ") << kRounds << " than the functions of its " << kLoop;
    seen |= member;
    ended |= seen && !member;
  }
  return success();
}

struct VerifyStagePass : PassWrapper<VerifyStagePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyStagePass)
  StringRef getArgument() const override { return "npu-verify-stage"; }
  StringRef getDescription() const override { return "Check what the module's npu.stage promises"; }

  void runOnOperation() override {
    if (failed(verify(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

  static LogicalResult verify(ModuleOp module) {
    auto soc = module->getAttrOfType<StringAttr>(kSoc);
    auto stageName = module->getAttrOfType<StringAttr>(kStage);
    auto workspaces = module->getAttrOfType<ArrayAttr>(kWorkspaces);
    if (!soc || !stageName || !workspaces)
      return module.emitError("needs npu.soc, npu.stage and npu.workspaces");
    for (Attribute bytes : workspaces) {
      auto number = dyn_cast<IntegerAttr>(bytes);
      if (!number || !number.getValue().isSignedIntN(48) || number.getValue().isNegative())
        return module.emitError("has npu.workspaces that are no numbers of bytes: ") << workspaces;
    }
    if (!machine::FindSoc(soc.getValue()))
      return module.emitError("names an unknown SoC: ") << soc;
    Stage stage = Stage::planned;
    if (stageName == kPlaced)
      stage = Stage::placed;
    else if (stageName == kSynced)
      stage = Stage::synced;
    else if (stageName != kPlanned)
      return module.emitError("has an unknown npu.stage: ") << stageName;

    for (auto function : module.getOps<func::FuncOp>()) {
      auto core = function->getAttrOfType<StringAttr>(kCore);
      auto blocks = function->getAttrOfType<IntegerAttr>(kBlocks);
      if (!core || (core != "aic" && core != "aiv"))
        return function.emitError("needs npu.core, aic or aiv");
      if (!blocks || !blocks.getValue().isSignedIntN(32) || blocks.getValue().getSExtValue() < 1 ||
          blocks.getValue().getSExtValue() > 65535)
        return function.emitError("needs npu.blocks, at least 1 and at most 65535");
      if (failed(verifyGroup(function)) || failed(verifyLoop(function)))
        return failure();
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (failed(verifyBinding(function, i, workspaces.size())))
          return failure();
      WalkResult result = function.walk([&](Operation *op) {
        return failed(verifyOp(op, stage, core == "aic")) ? WalkResult::interrupt()
                                                          : WalkResult::advance();
      });
      if (result.wasInterrupted() ||
          (stage != Stage::planned &&
           failed(verifyAddresses(function, *machine::FindSoc(soc.getValue())))))
        return failure();
    }
    return success();
  }
};

} // namespace

std::unique_ptr<Pass> createVerifyStagePass() { return std::make_unique<VerifyStagePass>(); }

} // namespace pyasc::npu
