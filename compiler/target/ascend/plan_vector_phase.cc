#include "compiler/target/ascend/plan_vector_phase.h"

namespace pyasc::npu {

using namespace mlir;

// UB that buffers may use: some is left for the scratch of scalar functions (ascendc_prelude.cc).
static constexpr int64_t kReservedBytes = 1024;

int64_t vectorBudget(const Planner &planner) { return planner.soc().ub_bytes - kReservedBytes; }

FailureOr<std::function<int64_t(TileSize)>> tryPhase(Location loc, const Tiling &trial,
                                                     const EmitPhase &emit, std::string &reason) {
  OwningOpRef<func::FuncOp> scratch =
      func::FuncOp::create(loc, "trial", FunctionType::get(loc.getContext(), {}, {}));
  Block *entry = scratch->addEntryBlock();
  OpBuilder builder = OpBuilder::atBlockEnd(entry);
  builder.create<func::ReturnOp>(loc);
  builder.setInsertionPoint(entry->getTerminator());
  PhaseEmitter::Outside outside;
  outside.bindTensor = [&](Value tensor) -> Value {
    auto type = cast<MemRefType>(tensor.getType());
    return entry->addArgument(memoryType(type.getNumElements(), type.getElementType(), Space::gm),
                              loc);
  };
  outside.bindScalar = [&](BlockArgument argument) -> FailureOr<Value> {
    return Value(entry->addArgument(argument.getType(), loc));
  };
  outside.isLocalCell = [](Value) { return false; };
  PhaseEmitter emitter(builder, entry, outside);
  auto buffers = std::make_shared<TileBuffers>(entry, trial.size);
  if (failed(emit(emitter, *buffers, trial, reason)))
    return failure();
  return std::function<int64_t(TileSize)>(
      [buffers](TileSize size) { return buffers->bytes(size); });
}

LogicalResult planPhase(Planner &planner, Location loc, const Tiling &tiling, const EmitPhase &emit,
                        std::string &reason) {
  Phase phase = planner.begin(loc, "aiv", tiling.cores);
  PhaseEmitter::Outside outside;
  outside.bindTensor = [&](Value tensor) -> Value { return phase.memory(tensor); };
  outside.bindScalar = [&](BlockArgument argument) { return phase.scalar(argument); };
  outside.isLocalCell = [](Value) { return false; };
  Block *entry = &phase.function.front();
  PhaseEmitter emitter(phase.builder, entry, outside);
  TileBuffers buffers(entry, tiling.size);
  if (failed(emit(emitter, buffers, tiling, reason)))
    return failure();
  if (buffers.bytes(tiling.size) > vectorBudget(planner)) {
    reason = "its values do not fit into the unified buffer";
    return failure();
  }
  return success();
}

} // namespace pyasc::npu
