#include "compiler/driver/buffer_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

#include "compiler/driver/stages.h"
#include "compiler/target/ascend/npu.h"

namespace pyasc::compiler {
namespace {

using namespace mlir;

// What the contract calls that which an argument is bound to ("parameter:0", "workspace:1").
std::string boundTo(BlockArgument argument, const v1::LaunchContract &contract) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto binding = function
                     ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), npu::kBinding)
                     : StringAttr();
  if (!binding)
    return "";
  auto [kind, number] = binding.getValue().split(':');
  int index = 0;
  if (number.getAsInteger(10, index) || index < 0)
    return "";
  if (kind == "parameter" && index < contract.parameters_size())
    return contract.parameters(index).name();
  if (kind == "result" && index < contract.results_size())
    return contract.results(index).name();
  return (kind + " " + number).str();
}

// The tensor that the op copies from or to, if any.
std::string tensorOf(Operation *op, const v1::LaunchContract &contract) {
  if (!isa<npu::LoadOp, npu::LoadNd2NzOp, npu::StoreOp, npu::FixpipeOp>(op))
    return "";
  for (Value operand : op->getOperands())
    if (auto argument = dyn_cast<BlockArgument>(operand);
        argument && isa<MemRefType>(argument.getType()))
      return boundTo(argument, contract);
  return "";
}

// What the buffer is loaded from, before what it is stored to; an L0 buffer what its L1 buffer is.
std::string roleOf(Value buffer, const v1::LaunchContract &contract, int depth = 0) {
  std::string stored;
  SmallVector<Value> places = {buffer};
  for (size_t n = 0; n < places.size(); ++n)
    for (Operation *user : places[n].getUsers()) {
      if (isa<npu::SlotOp>(user)) {
        places.push_back(user->getResult(0));
        continue;
      }
      if (auto load = dyn_cast<npu::LoadL0Op>(user);
          load && load.getDst() == places[n] && depth == 0) {
        Value source = load.getSrc();
        if (auto slot = source.getDefiningOp<npu::SlotOp>())
          source = slot.getBuffer();
        if (std::string role = roleOf(source, contract, depth + 1); !role.empty())
          return role;
      }
      std::string tensor = tensorOf(user, contract);
      if (tensor.empty())
        continue;
      if (isa<npu::LoadOp, npu::LoadNd2NzOp>(user))
        return "tile of " + tensor;
      stored = "tile of " + tensor;
    }
  return stored;
}

} // namespace

void NameBuffers(ModuleOp module, const v1::LaunchContract &contract) {
  module.walk([&](npu::BufferOp buffer) {
    if (buffer->hasAttr(npu::kBufferName))
      return;
    std::string name = roleOf(buffer.getResult(), contract);
    if (name.empty()) {
      const diag::SourceRange range = RangeOf(buffer.getLoc());
      name = range.IsKnown() ? "temporary of line " + std::to_string(range.line) : "temporary";
    }
    buffer->setAttr(npu::kBufferName, StringAttr::get(module.getContext(), name));
  });
}

} // namespace pyasc::compiler
