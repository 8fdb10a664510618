#include "compiler/target/ascend/export_sim.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/target/ascend/export_sim_function.h"

using namespace mlir;

namespace pyasc::npu {

using sim_isa::ScalarOp;

std::optional<sim_isa::Type> simType(Type type) {
  using T = sim_isa::Type;
  if (isa<IndexType>(type))
    return T::kI64;
  if (isa<Float16Type>(type))
    return T::kF16;
  if (isa<BFloat16Type>(type))
    return T::kBF16;
  if (isa<Float32Type>(type))
    return T::kF32;
  if (isa<Float64Type>(type))
    return T::kF64;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    switch (integer.getWidth()) {
    case 1:
    case 8:
      return T::kI8;
    case 16:
      return T::kI16;
    case 32:
      return T::kI32;
    case 64:
      return T::kI64;
    default:
      break;
    }
  }
  return std::nullopt;
}

sim_isa::Space simSpace(Space space) {
  switch (space) {
  case Space::gm:
    return sim_isa::Space::kGm;
  case Space::ub:
    return sim_isa::Space::kUb;
  case Space::l1:
    return sim_isa::Space::kL1;
  case Space::l0a:
    return sim_isa::Space::kL0A;
  case Space::l0b:
    return sim_isa::Space::kL0B;
  case Space::l0c:
    break;
  }
  return sim_isa::Space::kL0C;
}

uint32_t packedLine(Location location) {
  uint32_t packed = 0;
  location->walk([&](Location at) {
    auto file_line = dyn_cast<FileLineColLoc>(at);
    unsigned file = 0;
    if (!file_line || file_line.getFilename().getValue().getAsInteger(10, file))
      return WalkResult::advance();
    packed = sim_isa::PackLine(file & 0xff, file_line.getLine() & 0xffffff);
    return WalkResult::interrupt();
  });
  return packed;
}

namespace {

// A rank-0 alloca is a variable, which lives in a register.
bool isCell(Value memory) {
  return memory.getDefiningOp<memref::AllocaOp>() &&
         cast<MemRefType>(memory.getType()).getRank() == 0;
}

int bitsOf(Type type) { return 8 * sim_isa::TypeBytes(*simType(type)); }

} // namespace

bool SimFunctionExporter::refuse(Operation *op, const std::string &why) {
  const uint32_t line = packedLine(op->getLoc());
  diag::SourceRange range;
  range.file = sim_isa::FileOf(line);
  range.line = sim_isa::LineOf(line);
  diagnostics.Error("no-sim-form", range,
                    "the simulator has no form of the operation '" +
                        op->getName().getStringRef().str() + "'" + (why.empty() ? "" : ": " + why));
  return false;
}

bool SimFunctionExporter::run(v1::SimFunction &to) {
  out = &to;
  to.set_name(function.getName().str());
  to.set_line(packedLine(function.getLoc()));
  to.set_core(function->getAttrOfType<StringAttr>(kCore).getValue() == "aic" ? v1::CORE_KIND_AIC
                                                                             : v1::CORE_KIND_AIV);
  to.set_num_arguments(function.getNumArguments());
  for (BlockArgument argument : function.getArguments()) {
    const int reg = static_cast<int>(argument.getArgNumber());
    if (isa<MemRefType>(argument.getType()))
      places.try_emplace(argument, Quantity::Register(reg));
    else if (simType(argument.getType()))
      define(argument, reg);
    else
      return refuse(function, "an argument has a type that the simulator lacks");
  }
  if (!function.getBody().hasOneBlock())
    return refuse(function, "its control flow is not structured");
  if (!exportBlock(function.getBody().front()))
    return false;
  return builder.Finish(to) || refuse(function, "it needs too many registers");
}

bool SimFunctionExporter::exportBlock(Block &block) {
  for (Operation &op : block) {
    builder.SetLine(packedLine(op.getLoc()));
    if (!exportOp(&op))
      return false;
  }
  return true;
}

bool SimFunctionExporter::exportOp(Operation *op) {
  // Values that registers hold; memories have places instead.
  auto scalar = [](Type type) { return isa<MemRefType>(type) || simType(type).has_value(); };
  auto carried = [](Value value) { return simType(value.getType()).has_value(); };
  if (!llvm::all_of(op->getResultTypes(), scalar) || !llvm::all_of(op->getOperandTypes(), scalar))
    return refuse(op, "it works on types that the simulator lacks");
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (!llvm::all_of(block.getArguments(), carried))
        return refuse(op, "it carries values that the simulator lacks");
  if (op->getNumRegions() > 0 && !llvm::all_of(op->getResults(), carried))
    return refuse(op, "it gives values that the simulator lacks");
  if (Outcome outcome = exportNpu(op); outcome != Outcome::kUnknown)
    return outcome == Outcome::kDone;
  if (Outcome outcome = exportScalar(op); outcome != Outcome::kUnknown)
    return outcome == Outcome::kDone;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](BufferOp o) { return exportBuffer(o); })
      .Case([&](SlotOp o) { return exportSlot(o); })
      .Case([&](memref::AllocaOp o) {
        if (!isCell(o))
          return refuse(op, "only single variables live in registers");
        define(o, builder.NewRegister());
        return true;
      })
      .Case([&](memref::LoadOp o) { return exportLoad(o); })
      .Case([&](memref::StoreOp o) { return exportStore(o); })
      .Case([&](scf::ForOp o) { return exportFor(o); })
      .Case([&](scf::IfOp o) { return exportIf(o); })
      .Case([&](scf::WhileOp o) { return exportWhile(o); })
      // Terminators: their operands are taken by the op around them.
      .Case<func::ReturnOp, scf::YieldOp, scf::ConditionOp>([](auto) { return true; })
      .Default([&](Operation *) { return refuse(op); });
}

// ------------------------------------------------------------------------------------- values

Quantity SimFunctionExporter::quantity(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
      return value.getType().isInteger(1) ? integer.getValue().getZExtValue()
                                          : integer.getValue().getSExtValue();
    if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
      return static_cast<int64_t>(real.getValue().bitcastToAPInt().getZExtValue());
  }
  auto it = registers.find(value);
  assert(it != registers.end() && "an operand whose definition was not exported");
  return Quantity::Register(it->second);
}

sim_isa::Field SimFunctionExporter::address(Value memory, Value offset) {
  return builder.AddressField(baseOf(memory), quantity(offset),
                              bytesOf(cast<MemRefType>(memory.getType()).getElementType()));
}

Quantity SimFunctionExporter::addressQuantity(Value memory, Value offset) {
  return builder.AddScaled(baseOf(memory), quantity(offset),
                           bytesOf(cast<MemRefType>(memory.getType()).getElementType()));
}

SmallVector<int> SimFunctionExporter::newRegisters(ValueRange values) {
  SmallVector<int> regs;
  for (Value value : values) {
    regs.push_back(builder.NewRegister());
    define(value, regs.back());
  }
  return regs;
}

void SimFunctionExporter::assign(ValueRange from, ArrayRef<int> to) {
  SmallVector<int> sources;
  for (Value value : from)
    sources.push_back(reg(value));
  // A register that is overwritten before it is read is saved first.
  for (size_t i = 0; i < sources.size(); ++i)
    if (sources[i] != to[i] && llvm::is_contained(to.take_front(i), sources[i]))
      sources[i] = builder.Compute(Op::kMove, sources[i]);
  for (size_t i = 0; i < sources.size(); ++i)
    if (sources[i] != to[i])
      builder.Emit(Op::kMove, to[i], sources[i]);
}

// ------------------------------------------------------------------------------------- memory

bool SimFunctionExporter::exportBuffer(BufferOp buffer) {
  if (!buffer.getAddr())
    return refuse(buffer, "it has no address");
  places.try_emplace(buffer.getResult(), Quantity(static_cast<int64_t>(*buffer.getAddr())));
  v1::SimBuffer &named = *out->add_buffers();
  named.set_space(static_cast<uint32_t>(simSpace(buffer.getSpace())));
  named.set_address(static_cast<int64_t>(*buffer.getAddr()));
  named.set_bytes(buffer.totalBytes());
  if (auto name = buffer->getAttrOfType<StringAttr>(kBufferName))
    named.set_name(name.str());
  return true;
}

bool SimFunctionExporter::exportSlot(SlotOp slot) {
  auto buffer = slot.getBuffer().getDefiningOp<BufferOp>();
  if (!buffer)
    return refuse(slot, "it is no slot of a buffer");
  const auto depth = static_cast<int64_t>(buffer.getDepth());
  const Quantity iteration = quantity(slot.getIteration());
  Quantity index = 0;
  if (iteration.constant)
    index = iteration.value % depth;
  else if (depth > 1)
    index = Quantity::Register(
        builder.Compute(Op::kRemU64, iteration.reg, builder.ConstantRegister(depth)));
  places.try_emplace(slot.getResult(),
                     builder.AddScaled(baseOf(buffer), index, buffer.slotBytes()));
  return true;
}

// Address of a scalar access: memory[b + c * width + imm].
namespace {
// Far above every memory, far below overflow.
constexpr int64_t kMostIndex = int64_t{1} << 40;
bool isBeyondMemory(const Quantity &index) {
  return index.constant && (index.value < 0 || index.value > kMostIndex);
}
struct ScalarAddress {
  int b, c;
  int64_t imm;
};
ScalarAddress scalarAddress(SimBuilder &builder, const Quantity &base, const Quantity &index,
                            int64_t width) {
  const int b = base.constant ? builder.ConstantRegister(0) : base.reg;
  const int64_t imm = base.constant ? base.value : 0;
  if (index.constant)
    return {b, sim_isa::kNoRegister, imm + index.value * width};
  return {b, index.reg, imm};
}
} // namespace

bool SimFunctionExporter::exportLoad(memref::LoadOp load) {
  Value memory = load.getMemRef();
  if (isCell(memory)) {
    define(load.getResult(), builder.Compute(Op::kMove, registers.at(memory)));
    return true;
  }
  auto type = cast<MemRefType>(memory.getType());
  std::optional<Space> space = findSpace(type);
  if (!space || type.getRank() != 1 || (*space != Space::gm && *space != Space::ub) ||
      !places.contains(memory) || !simType(type.getElementType()))
    return refuse(load, "the scalar unit reads GM and UB only");
  if (isBeyondMemory(quantity(load.getIndices()[0])))
    return refuse(load, "its index is negative, or beyond any memory");
  const int bits = bitsOf(type.getElementType());
  const ScalarAddress at =
      scalarAddress(builder, baseOf(memory), quantity(load.getIndices()[0]), bits / 8);
  const Op op = sim_isa::OfWidth(*space == Space::gm ? Op::kLoadGm8 : Op::kLoadUb8, bits);
  int value = builder.Compute(op, at.b, at.c, at.imm);
  if (type.getElementType().isInteger(1))
    value = builder.Compute(Op::kBool, value);
  define(load.getResult(), value);
  return true;
}

bool SimFunctionExporter::exportStore(memref::StoreOp store) {
  Value memory = store.getMemRef();
  if (isCell(memory)) {
    builder.Emit(Op::kMove, registers.at(memory), reg(store.getValueToStore()));
    return true;
  }
  auto type = cast<MemRefType>(memory.getType());
  std::optional<Space> space = findSpace(type);
  if (!space || type.getRank() != 1 || (*space != Space::gm && *space != Space::ub) ||
      !places.contains(memory) || !simType(type.getElementType()))
    return refuse(store, "the scalar unit writes GM and UB only");
  if (isBeyondMemory(quantity(store.getIndices()[0])))
    return refuse(store, "its index is negative, or beyond any memory");
  const int bits = bitsOf(type.getElementType());
  const ScalarAddress at =
      scalarAddress(builder, baseOf(memory), quantity(store.getIndices()[0]), bits / 8);
  builder.Emit(sim_isa::OfWidth(*space == Space::gm ? Op::kStoreGm8 : Op::kStoreUb8, bits),
               reg(store.getValueToStore()), at.b, at.c, at.imm);
  return true;
}

// ------------------------------------------------------------------------------- control flow

bool SimFunctionExporter::exportFor(scf::ForOp loop) {
  Type type = loop.getInductionVar().getType();
  if (!simType(type) || type.isInteger(1))
    return refuse(loop, "its induction variable has an unknown type");
  const int iv = builder.NewRegister();
  define(loop.getInductionVar(), iv);
  const int bound = reg(loop.getUpperBound());
  builder.Emit(Op::kMove, iv, reg(loop.getLowerBound()));
  SmallVector<int> carried = newRegisters(loop.getRegionIterArgs());
  assign(loop.getInitArgs(), carried);
  const int begin = builder.NewLabel(), end = builder.NewLabel();
  builder.Bind(begin);
  builder.JumpGreaterEqual(Quantity::Register(iv), Quantity::Register(bound), end);
  if (!exportBlock(*loop.getBody()))
    return false;
  builder.SetLine(packedLine(loop.getLoc()));
  assign(cast<scf::YieldOp>(loop.getBody()->getTerminator()).getOperands(), carried);
  const Quantity step = quantity(loop.getStep());
  if (step.constant && bitsOf(type) == 64)
    builder.Emit(Op::kAddI64, iv, iv, 0, step.value);
  else
    builder.Emit(sim_isa::OfWidth(Op::kAdd8, bitsOf(type)), iv, iv, builder.RegisterOf(step));
  builder.Jump(begin);
  builder.Bind(end);
  for (auto [result, from] : llvm::zip(loop.getResults(), carried))
    define(result, from);
  return true;
}

bool SimFunctionExporter::exportIf(scf::IfOp branch) {
  SmallVector<int> results = newRegisters(branch.getResults());
  const int otherwise = builder.NewLabel(), end = builder.NewLabel();
  builder.JumpIfNot(reg(branch.getCondition()), otherwise);
  if (!exportBlock(*branch.thenBlock()))
    return false;
  assign(branch.thenYield().getOperands(), results);
  if (Block *block = branch.elseBlock()) {
    builder.Jump(end);
    builder.Bind(otherwise);
    if (!exportBlock(*block))
      return false;
    assign(branch.elseYield().getOperands(), results);
  } else {
    builder.Bind(otherwise);
  }
  builder.Bind(end);
  return true;
}

bool SimFunctionExporter::exportWhile(scf::WhileOp loop) {
  SmallVector<int> before = newRegisters(loop.getBeforeArguments());
  SmallVector<int> after = newRegisters(loop.getAfterArguments());
  assign(loop.getInits(), before);
  const int begin = builder.NewLabel(), end = builder.NewLabel();
  builder.Bind(begin);
  if (!exportBlock(*loop.getBeforeBody()))
    return false;
  scf::ConditionOp condition = loop.getConditionOp();
  // The condition may be one of the registers that are about to change.
  const int go_on = builder.Compute(Op::kMove, reg(condition.getCondition()));
  assign(condition.getArgs(), after);
  builder.JumpIfNot(go_on, end);
  if (!exportBlock(*loop.getAfterBody()))
    return false;
  assign(loop.getYieldOp().getOperands(), before);
  builder.Jump(begin);
  builder.Bind(end);
  for (auto [result, from] : llvm::zip(loop.getResults(), after))
    define(result, from);
  return true;
}

// ------------------------------------------------------------------------------------- module

bool ExportSimProgram(ModuleOp module, diag::DiagnosticList &diagnostics, v1::SimProgram *program) {
  auto stage = module->getAttrOfType<StringAttr>(kStage);
  if (!stage || stage.getValue() != kSynced) {
    diagnostics.Error("no-sim-form", diag::SourceRange(),
                      "only a synced npu module has a simulator program");
    return false;
  }
  program->Clear();
  program->set_isa_version(sim_isa::kSimIsaVersion);
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttrOfType<StringAttr>(kCore)) {
      diagnostics.Error("no-sim-form", diag::SourceRange(),
                        "function '" + function.getName().str() + "' names no kind of core");
      return false;
    }
    if (!SimFunctionExporter(function, diagnostics).run(*program->add_functions())) {
      program->Clear();
      return false;
    }
  }
  return true;
}

} // namespace pyasc::npu
