#include "compiler/driver/contract.h"

#include <set>

#include "compiler/ir/asc_dialect.h"
#include "compiler/ir/expand_print.h"
#include "compiler/target/ascend/npu.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "proto/contract/schema.h"
#include "proto/contract/tensor_type.h"

using namespace mlir;

namespace pyasc::compiler {
namespace {

using ir::AscDialect;

std::string stringAttr(func::FuncOp kernel, unsigned argument, StringRef name) {
  auto attribute = kernel.getArgAttrOfType<StringAttr>(argument, name);
  return attribute ? attribute.str() : "";
}

v1::DType dtypeOf(func::FuncOp kernel, unsigned argument) {
  return contract::ParseDType(stringAttr(kernel, argument, AscDialect::kDType))
      .value_or(v1::DTYPE_UNSPECIFIED);
}

void setConstant(v1::LaunchExpr *expr, int64_t value) {
  v1::LaunchExpr::Step *step = expr->add_steps();
  step->set_op(v1::LaunchExpr::OP_CONST);
  step->set_value(value);
}

void setRange(Location loc, v1::SourceRange *range) {
  auto position = loc->findInstanceOf<FileLineColLoc>();
  if (!position)
    return;
  uint32_t file = 0;
  position.getFilename().getValue().getAsInteger(10, file);
  range->set_file(file);
  range->set_line(position.getLine());
  range->set_column(position.getColumn());
  range->set_end_line(position.getLine());
  range->set_end_column(position.getColumn());
}

struct Effects {
  bool reads = false;
  bool writes = false;
};

// What happens to a memref and everything that is a view of it. An op without known effects
// counts as both.
void collectEffects(Value memref, Effects &effects) {
  for (OpOperand &use : memref.getUses()) {
    Operation *op = use.getOwner();
    if (auto view = dyn_cast<ViewLikeOpInterface>(op); view && view.getViewSource() == memref) {
      collectEffects(op->getResult(0), effects);
      continue;
    }
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      bool used = generic.payloadUsesValueFromOperand(&use);
      effects.reads |= used;
      effects.writes |= generic.isDpsInit(&use);
      continue;
    }
    // The affine accesses implement effects on the op, not on the operand.
    if (isa<affine::AffineReadOpInterface>(op)) {
      effects.reads = true;
      continue;
    }
    if (isa<affine::AffineWriteOpInterface>(op)) {
      effects.writes = true;
      continue;
    }
    auto interface = dyn_cast<MemoryEffectOpInterface>(op);
    if (!interface) {
      effects.reads = effects.writes = true;
      continue;
    }
    SmallVector<MemoryEffects::EffectInstance> instances;
    interface.getEffectsOnValue(memref, instances);
    for (const MemoryEffects::EffectInstance &instance : instances) {
      effects.reads |= isa<MemoryEffects::Read>(instance.getEffect());
      effects.writes |= isa<MemoryEffects::Write>(instance.getEffect());
    }
  }
}

v1::Access accessOf(const Effects &effects) {
  if (effects.reads)
    return effects.writes ? v1::ACCESS_READ_WRITE : v1::ACCESS_READ;
  return effects.writes ? v1::ACCESS_WRITE : v1::ACCESS_NONE;
}

void addParameter(func::FuncOp kernel, BlockArgument argument, v1::LaunchContract *contract) {
  v1::Parameter *parameter = contract->add_parameters();
  parameter->set_name(stringAttr(kernel, argument.getArgNumber(), AscDialect::kName));
  v1::DType dtype = dtypeOf(kernel, argument.getArgNumber());
  setRange(argument.getLoc(), parameter->mutable_range());
  if (auto memref = dyn_cast<MemRefType>(argument.getType())) {
    parameter->mutable_tensor()->set_dtype(dtype);
    for (int64_t extent : memref.getShape())
      parameter->mutable_tensor()->add_shape(extent);
    Effects effects;
    collectEffects(argument, effects);
    parameter->set_access(accessOf(effects));
  } else {
    parameter->set_scalar(dtype);
    parameter->set_access(argument.use_empty() ? v1::ACCESS_NONE : v1::ACCESS_READ);
  }
}

void addResult(func::FuncOp kernel, BlockArgument argument, v1::LaunchContract *contract) {
  v1::Result *result = contract->add_results();
  unsigned index = argument.getArgNumber();
  result->set_name(stringAttr(kernel, index, AscDialect::kName));
  result->set_dtype(dtypeOf(kernel, index));
  result->set_is_scalar(static_cast<bool>(kernel.getArgAttr(index, AscDialect::kScalarResult)));
  for (int64_t extent : cast<MemRefType>(argument.getType()).getShape())
    setConstant(result->add_shape(), extent);
}

// The one loop body in which `memref` is used, by plain accesses whose index is the loops'
// variables, each of them once: every iteration has an element of its own. Null when it is used
// otherwise.
Block *elementwiseBody(BlockArgument memref, AffineMap &map, SmallVector<Value> &indices) {
  Block *body = nullptr;
  for (Operation *op : memref.getUsers()) {
    AffineMap used;
    SmallVector<Value> at;
    if (auto load = dyn_cast<affine::AffineLoadOp>(op)) {
      used = load.getAffineMap();
      at.assign(load.getMapOperands().begin(), load.getMapOperands().end());
    } else if (auto store = dyn_cast<affine::AffineStoreOp>(op)) {
      used = store.getAffineMap();
      at.assign(store.getMapOperands().begin(), store.getMapOperands().end());
    } else {
      return nullptr;
    }
    if (body && (op->getBlock() != body || used != map || at != indices))
      return nullptr;
    body = op->getBlock();
    map = used;
    indices = at;
  }
  if (!body || !map.isPermutation())
    return nullptr;
  unsigned loops = 0;
  for (Operation *around = body->getParentOp(); !isa<func::FuncOp>(around);
       around = around->getParentOp(), ++loops) {
    auto loop = dyn_cast<affine::AffineForOp>(around);
    if (!loop || !llvm::is_contained(indices, loop.getInductionVar()))
      return nullptr;
  }
  return loops == indices.size() ? body : nullptr;
}

// Whether one buffer for both is no fault: each element is read only where it is written, before
// that, and nothing else is stored there.
bool mayBeOneBuffer(BlockArgument a, BlockArgument b) {
  AffineMap map, other;
  SmallVector<Value> indices, otherIndices;
  Block *body = elementwiseBody(a, map, indices);
  if (!body || elementwiseBody(b, other, otherIndices) != body || map != other ||
      indices != otherIndices)
    return false;
  Operation *store = nullptr;
  for (Operation &op : body->without_terminator()) {
    if (op.getNumRegions() > 0)
      return false;
    if (!isa<affine::AffineStoreOp>(op)) {
      if (!isMemoryEffectFree(&op) && !isa<affine::AffineLoadOp, memref::LoadOp>(op))
        return false;
      continue;
    }
    if (store)
      return false;
    store = &op;
  }
  Value written = store ? cast<affine::AffineStoreOp>(store).getMemRef() : Value();
  if (written != a && written != b)
    return false;
  Value read = written == a ? b : a;
  return llvm::all_of(read.getUsers(), [&](Operation *op) { return op->isBeforeInBlock(store); });
}

// The compiler takes arguments as not overlapping, so that a pair of which one is written may be
// one buffer only where that cannot show.
void addAliasRules(func::FuncOp kernel, v1::LaunchContract *contract) {
  std::vector<BlockArgument> arguments;
  for (BlockArgument argument : kernel.getArguments())
    if (static_cast<int>(arguments.size()) < contract->parameters_size())
      arguments.push_back(argument);
  auto written = [&](int i) {
    const v1::Parameter &parameter = contract->parameters(i);
    return parameter.has_tensor() &&
           (parameter.access() == v1::ACCESS_WRITE || parameter.access() == v1::ACCESS_READ_WRITE);
  };
  for (int i = 0; i < contract->parameters_size(); ++i)
    for (int j = i + 1; j < contract->parameters_size(); ++j)
      if (contract->parameters(i).has_tensor() && contract->parameters(j).has_tensor() &&
          (written(i) || written(j))) {
        v1::AliasRule *rule = contract->add_aliases();
        rule->set_first(static_cast<uint32_t>(i));
        rule->set_second(static_cast<uint32_t>(j));
        rule->set_same_buffer_allowed(mayBeOneBuffer(arguments[i], arguments[j]));
      }
}

void addErrorTable(func::FuncOp kernel, v1::LaunchContract *contract) {
  auto table = kernel->getAttrOfType<ArrayAttr>(AscDialect::kErrors);
  if (!table)
    return;
  for (Attribute attribute : table) {
    auto row = cast<DictionaryAttr>(attribute);
    v1::ErrorEntry *entry = contract->add_error_table();
    entry->set_code(row.getAs<IntegerAttr>("code").getInt());
    if (auto name = row.getAs<StringAttr>("name"))
      entry->set_name(name.str());
    entry->set_message(row.getAs<StringAttr>("message").str());
  }
  kernel.walk([&](ir::CheckOp check) {
    for (v1::ErrorEntry &entry : *contract->mutable_error_table())
      if (entry.code() == static_cast<int64_t>(check.getCode()))
        setRange(check.getLoc(), entry.mutable_range());
  });
}

bool isPrintLog(func::FuncOp kernel, unsigned index) {
  return static_cast<bool>(kernel.getArgAttr(index, AscDialect::kPrintLog));
}

// One entry for all prints with the same id.
void addPrintTable(func::FuncOp kernel, v1::LaunchContract *contract) {
  std::set<int64_t> known;
  kernel.walk([&](ir::PrintOp print) {
    if (!known.insert(print.getId()).second)
      return;
    v1::PrintEntry *entry = contract->add_print_table();
    entry->set_id(static_cast<uint32_t>(print.getId()));
    entry->set_format(print.getFormat().str());
    entry->set_error_code(print.getCode());
    setRange(print.getLoc(), entry->mutable_range());
    for (auto [value, dtype] : llvm::zip_equal(print.getValues(), print.getDtypes())) {
      v1::TensorType *type = entry->add_values();
      type->set_dtype(contract::ParseDType(cast<StringAttr>(dtype).getValue().str())
                          .value_or(v1::DTYPE_UNSPECIFIED));
      if (auto memref = dyn_cast<MemRefType>(value.getType()))
        for (int64_t extent : memref.getShape())
          type->add_shape(extent);
    }
  });
  for (unsigned index = 0; index < kernel.getNumArguments(); ++index)
    if (isPrintLog(kernel, index))
      contract->set_print_log_words(ir::kPrintLogWords);
}

bool isErrorBuffer(func::FuncOp kernel, unsigned index) {
  return static_cast<bool>(kernel.getArgAttr(index, AscDialect::kErrorBuffer));
}

bool isResult(func::FuncOp kernel, unsigned index) {
  return kernel.getArgAttr(index, AscDialect::kResult) ||
         kernel.getArgAttr(index, AscDialect::kScalarResult);
}

} // namespace

v1::LaunchContract DescribeKernel(func::FuncOp kernel) {
  v1::LaunchContract contract;
  contract.set_schema_version(contract::kLaunchSchemaVersion);
  for (BlockArgument argument : kernel.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (isErrorBuffer(kernel, index) || isPrintLog(kernel, index))
      continue;
    if (isResult(kernel, index))
      addResult(kernel, argument, &contract);
    else
      addParameter(kernel, argument, &contract);
  }
  addAliasRules(kernel, &contract);
  addErrorTable(kernel, &contract);
  addPrintTable(kernel, &contract);
  return contract;
}

void AddHostPhase(func::FuncOp kernel, const std::string &entry, v1::LaunchContract *contract) {
  v1::Phase *phase = contract->add_phases();
  phase->set_core(v1::CORE_KIND_HOST);
  phase->set_entry(entry);
  setConstant(phase->mutable_blocks(), 1);
  // Each alloc has one buffer at a time, freed at the end of its block.
  int64_t temporaries = 0;
  kernel.walk([&](memref::AllocOp alloc) {
    auto type = cast<MemRefType>(alloc.getType());
    if (type.hasStaticShape())
      temporaries += llvm::divideCeil(type.getElementTypeBitWidth(), 8) * type.getNumElements();
  });
  contract->set_temporary_bytes(temporaries);
  uint32_t parameters = 0;
  uint32_t results = 0;
  for (unsigned index = 0; index < kernel.getNumArguments(); ++index) {
    v1::PhaseArgument *argument = phase->add_arguments();
    if (isErrorBuffer(kernel, index))
      argument->set_error_buffer(true);
    else if (isPrintLog(kernel, index))
      argument->set_print_log(true);
    else if (isResult(kernel, index))
      argument->set_result(results++);
    else
      argument->set_parameter(parameters++);
  }
}

void AddNpuPhases(ModuleOp module, v1::LaunchContract *contract) {
  if (auto workspaces = module->getAttrOfType<ArrayAttr>(npu::kWorkspaces))
    for (Attribute bytes : workspaces)
      setConstant(contract->add_workspaces()->mutable_bytes(), cast<IntegerAttr>(bytes).getInt());
  Attribute previousLoop;
  for (auto function : module.getOps<func::FuncOp>()) {
    v1::Phase *phase = contract->add_phases();
    phase->set_core(function->getAttrOfType<StringAttr>(npu::kCore).getValue() == "aic"
                        ? v1::CORE_KIND_AIC
                        : v1::CORE_KIND_AIV);
    phase->set_entry(function.getName().str());
    if (auto group = function->getAttrOfType<IntegerAttr>(npu::kGroup))
      phase->set_group(static_cast<uint32_t>(group.getInt()));
    if (Attribute loop = function->getAttr(npu::kLoop)) {
      if (loop != previousLoop) {
        v1::PhaseLoop *added = contract->add_loops();
        added->set_first_phase(static_cast<uint32_t>(contract->phases_size() - 1));
        auto rounds = function->getAttrOfType<ArrayAttr>(npu::kRounds).getAsRange<IntegerAttr>();
        SmallVector<int64_t> values;
        for (IntegerAttr value : rounds)
          values.push_back(value.getValue().getSExtValue());
        added->set_start(values[0]);
        added->set_step(values[1]);
        setConstant(added->mutable_rounds(), values[2]);
      }
      v1::PhaseLoop *last = contract->mutable_loops(contract->loops_size() - 1);
      last->set_phases(last->phases() + 1);
    }
    previousLoop = function->getAttr(npu::kLoop);
    setConstant(phase->mutable_blocks(),
                function->getAttrOfType<IntegerAttr>(npu::kBlocks).getInt());
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      StringRef binding = function.getArgAttrOfType<StringAttr>(index, npu::kBinding).getValue();
      v1::PhaseArgument *argument = phase->add_arguments();
      auto [kind, number_text] = binding.split(':');
      uint32_t number = 0;
      number_text.getAsInteger(10, number);
      if (kind == "parameter")
        argument->set_parameter(number);
      else if (kind == "result")
        argument->set_result(number);
      else if (kind == "workspace")
        argument->set_workspace(number);
      else if (kind == "prints")
        argument->set_print_log(true);
      else if (kind == npu::kLoopVariable)
        argument->set_loop_variable(true);
      else
        argument->set_error_buffer(true);
    }
  }
}

double CompulsoryBytes(const v1::LaunchContract &contract) {
  double total = 0;
  for (const v1::Parameter &parameter : contract.parameters()) {
    if (!parameter.has_tensor())
      continue;
    double bytes = static_cast<double>(contract::ElementBytes(parameter.tensor().dtype()));
    for (int64_t extent : parameter.tensor().shape())
      bytes *= static_cast<double>(extent);
    if (parameter.access() == v1::ACCESS_READ || parameter.access() == v1::ACCESS_WRITE)
      total += bytes;
    else if (parameter.access() == v1::ACCESS_READ_WRITE)
      total += 2 * bytes;
  }
  for (const v1::Result &result : contract.results()) {
    double bytes = static_cast<double>(contract::ElementBytes(result.dtype()));
    for (const v1::LaunchExpr &extent : result.shape())
      bytes *= static_cast<double>(extent.steps(0).value());
    total += bytes;
  }
  return total;
}

} // namespace pyasc::compiler
