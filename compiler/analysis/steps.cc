// Counts what each step of a kernel does: arithmetic, bytes, iterations.

#include <algorithm>

#include "compiler/analysis/analyze.h"
#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace pyasc::compiler::analysis {
namespace {

double bytesOf(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    return static_cast<double>(memref.getNumElements()) * bytesOf(memref.getElementType());
  return std::max(1u, type.getIntOrFloatBitWidth() / 8);
}

// Arithmetic on floats; a multiply-add is two operations. Casts, comparisons and selections are
// no arithmetic, as in the usual counting of FLOPs.
bool isFlop(Operation &op) {
  if (op.getNumResults() != 1 || !isa<FloatType>(op.getResult(0).getType()))
    return false;
  if (isa<math::MathDialect>(op.getDialect()))
    return true;
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::RemFOp,
             arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp>(op);
}

std::string shapeText(ArrayRef<int64_t> extents) {
  std::string text;
  for (int64_t extent : extents)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "1" : text;
}

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

// Adds `op`, which runs `times` times, to `step`.
void count(Operation &op, double times, Step &step);

void countBlock(Block &block, double times, Step &step) {
  for (Operation &op : block.without_terminator())
    count(op, times, step);
}

void countGeneric(linalg::GenericOp op, double times, Step &step) {
  double iterations = 1;
  for (int64_t extent : op.getStaticLoopRanges())
    iterations *= static_cast<double>(extent);
  countBlock(op.getRegion().front(), times * iterations, step);
  for (OpOperand *input : op.getDpsInputOperands())
    if (isa<MemRefType>(input->get().getType()) && op.payloadUsesValueFromOperand(input))
      step.read_bytes += times * bytesOf(input->get().getType());
  for (OpOperand &init : op.getDpsInitsMutable()) {
    step.write_bytes += times * bytesOf(init.get().getType());
    if (op.payloadUsesValueFromOperand(&init))
      step.read_bytes += times * bytesOf(init.get().getType());
  }
}

std::optional<double> tripCount(scf::ForOp loop) {
  auto low = getConstantIntValue(loop.getLowerBound());
  auto high = getConstantIntValue(loop.getUpperBound());
  auto step = getConstantIntValue(loop.getStep());
  if (!low || !high || !step || *step <= 0)
    return std::nullopt;
  return std::max<int64_t>(0, (*high - *low + *step - 1) / *step);
}

void count(Operation &op, double times, Step &step) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return countGeneric(generic, times, step);
  if (auto loop = dyn_cast<affine::AffineForOp>(op)) {
    std::optional<uint64_t> trips = affine::getConstantTripCount(loop);
    step.exact &= trips.has_value();
    return countBlock(*loop.getBody(), times * static_cast<double>(trips.value_or(1)), step);
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    std::optional<double> trips = tripCount(loop);
    step.exact &= trips.has_value();
    return countBlock(*loop.getBody(), times * trips.value_or(1), step);
  }
  if (op.getNumRegions() > 0) {
    // Branches and while loops: counted once, as a lower bound of their bodies.
    step.exact = false;
    for (Region &region : op.getRegions())
      for (Block &block : region)
        countBlock(block, times, step);
    return;
  }
  step.operations += times;
  if (isFlop(op))
    step.flops += times;
  auto isCell = [](Value memref) { return cast<MemRefType>(memref.getType()).getRank() == 0; };
  if (auto load = dyn_cast<affine::AffineLoadOp>(op); load && !isCell(load.getMemRef()))
    step.read_bytes += times * bytesOf(load.getType());
  if (auto load = dyn_cast<memref::LoadOp>(op); load && !isCell(load.getMemRef()))
    step.read_bytes += times * bytesOf(load.getType());
  if (auto store = dyn_cast<affine::AffineStoreOp>(op); store && !isCell(store.getMemRef()))
    step.write_bytes += times * bytesOf(store.getValueToStore().getType());
  if (auto store = dyn_cast<memref::StoreOp>(op); store && !isCell(store.getMemRef()))
    step.write_bytes += times * bytesOf(store.getValueToStore().getType());
}

bool isContraction(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return false;
  FailureOr<linalg::ContractionDimensions> dims = linalg::inferContractionDims(op);
  // Each loop is one of the kinds: one that a single operand follows makes it something else.
  return succeeded(dims) && !dims->k.empty() && (!dims->m.empty() || !dims->n.empty()) &&
         dims->batch.size() + dims->m.size() + dims->n.size() + dims->k.size() == op.getNumLoops();
}

void describeGeneric(linalg::GenericOp op, Step &step) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  Type element = getElementTypeOrSelf(op.getDpsInits()[0].getType());
  step.parallel_iterations = 1;
  for (auto [extent, iterator] : llvm::zip(extents, op.getIteratorTypesArray()))
    if (iterator == utils::IteratorType::parallel)
      step.parallel_iterations *= std::max<int64_t>(extent, 1);
  if (isContraction(op)) {
    step.contraction = true;
    for (Value input : op.getDpsInputs())
      step.contraction_bits = std::max<int>(
          step.contraction_bits,
          static_cast<int>(getElementTypeOrSelf(input.getType()).getIntOrFloatBitWidth()));
    element = getElementTypeOrSelf(op.getDpsInputs()[0].getType());
    step.what = "contraction";
  } else {
    step.what = op.getNumReductionLoops() > 0 ? "reduction" : "elementwise";
  }
  step.what += " " + shapeText(extents) + " " + typeText(element);
}

void setPosition(Location loc, Step &step) {
  auto position = loc->findInstanceOf<FileLineColLoc>();
  if (!position)
    return;
  position.getFilename().getValue().getAsInteger(10, step.file);
  step.line = position.getLine();
}

bool computes(Operation &op) {
  return isa<linalg::GenericOp, affine::AffineForOp, scf::ForOp, scf::WhileOp, scf::IfOp,
             affine::AffineIfOp, affine::AffineStoreOp, memref::StoreOp, memref::CopyOp>(op);
}

// Iterations of the asc.parallel loops at the top of a nest.
int64_t parallelIterations(Operation &op) {
  int64_t iterations = 1;
  Operation *loop = &op;
  while (loop && loop->hasAttr("asc.parallel")) {
    auto affine_loop = dyn_cast<affine::AffineForOp>(loop);
    if (!affine_loop)
      break;
    iterations *= static_cast<int64_t>(affine::getConstantTripCount(affine_loop).value_or(1));
    loop = &affine_loop.getBody()->front();
  }
  return std::max<int64_t>(iterations, 1);
}

} // namespace

std::vector<Step> FindSteps(func::FuncOp kernel) {
  std::vector<Step> steps;
  for (Operation &op : kernel.getBody().front()) {
    if (!computes(op))
      continue;
    Step step;
    setPosition(op.getLoc(), step);
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      describeGeneric(generic, step);
    } else {
      step.what = op.getNumRegions() > 0 ? "loop" : "store";
      step.parallel_iterations = parallelIterations(op);
      if (auto reason = op.getAttrOfType<StringAttr>("asc.scalar_reason"))
        step.reason = reason.getValue().str();
    }
    count(op, 1, step);
    steps.push_back(std::move(step));
  }
  return steps;
}

} // namespace pyasc::compiler::analysis
