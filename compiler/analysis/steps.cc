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

constexpr double kCacheLine = 64;
// Loop control of the scalar unit: count, compare and jump.
constexpr double kLoopOps = 2;

bool isCell(Value memref) { return cast<MemRefType>(memref.getType()).getRank() == 0; }

// Bytes between the accesses of two iterations of the loop around; nullopt when not affine.
std::optional<double> strideBytes(AffineMap map, ValueRange operands, Value iv, MemRefType type) {
  double stride = 1, advance = 0;
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    AffineExpr expr = map.getResult(axis);
    int64_t at[2];
    for (int64_t i : {0, 1}) {
      SmallVector<AffineExpr> dims, symbols;
      for (auto [k, operand] : llvm::enumerate(operands))
        (k < map.getNumDims() ? dims : symbols)
            .push_back(getAffineConstantExpr(operand == iv ? i : 0, map.getContext()));
      auto value = dyn_cast<AffineConstantExpr>(
          simplifyAffineExpr(expr.replaceDimsAndSymbols(dims, symbols), 0, 0));
      if (!value)
        return std::nullopt;
      at[i] = value.getValue();
    }
    advance += static_cast<double>(at[1] - at[0]) * stride;
    stride *= static_cast<double>(type.getDimSize(axis));
  }
  return std::abs(advance) * bytesOf(type.getElementType());
}

// Lines that `times` accesses fetch: one after the other in memory share a line; what stays in
// place over the inner loops is fetched once in them. No line is thought to survive longer.
double missesOf(Operation &op, Value memref, double times) {
  auto type = cast<MemRefType>(memref.getType());
  AffineMap map;
  ValueRange operands;
  if (auto load = dyn_cast<affine::AffineLoadOp>(op)) {
    map = load.getAffineMap();
    operands = load.getMapOperands();
  } else if (auto store = dyn_cast<affine::AffineStoreOp>(op)) {
    map = store.getAffineMap();
    operands = store.getMapOperands();
  } else {
    // Anywhere: small buffers stay in the cache.
    return bytesOf(type) <= 16384 ? bytesOf(type) / kCacheLine : times;
  }
  double misses = times;
  for (Operation *loop = op.getParentOp(); loop; loop = loop->getParentOp()) {
    auto affine_loop = dyn_cast<affine::AffineForOp>(loop);
    if (!affine_loop)
      continue;
    std::optional<double> stride = strideBytes(map, operands, affine_loop.getInductionVar(), type);
    if (!stride)
      return misses;
    double step = *stride * static_cast<double>(affine_loop.getStepAsInt());
    if (step > 0)
      return misses * std::min(1.0, step / kCacheLine);
    misses /=
        std::max(1.0, static_cast<double>(affine::getConstantTripCount(affine_loop).value_or(1)));
  }
  return misses;
}

unsigned nodesOf(AffineExpr expr) {
  unsigned nodes = 0;
  expr.walk([&](AffineExpr inner) { nodes += isa<AffineBinaryOpExpr>(inner); });
  return nodes;
}

// What the scalar unit does for an op without regions.
void countScalar(Operation &op, double times, ScalarWork &work) {
  Value memref;
  if (auto load = dyn_cast<affine::AffineLoadOp>(op))
    memref = load.getMemRef();
  else if (auto store = dyn_cast<affine::AffineStoreOp>(op))
    memref = store.getMemRef();
  else if (auto load = dyn_cast<memref::LoadOp>(op))
    memref = load.getMemRef();
  else if (auto store = dyn_cast<memref::StoreOp>(op))
    memref = store.getMemRef();
  if (memref) {
    // A cell is a register.
    if (isCell(memref) && memref.getDefiningOp<memref::AllocaOp>())
      return;
    work.accesses += times;
    work.misses += missesOf(op, memref, times);
    work.integer_ops += times * (cast<MemRefType>(memref.getType()).getRank() > 1);
    return;
  }
  if (op.hasTrait<OpTrait::ConstantLike>() || op.getNumResults() == 0)
    return;
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    work.integer_ops += times * nodesOf(apply.getAffineMap().getResult(0));
    return;
  }
  auto isFloat = [](Type type) { return isa<FloatType>(type); };
  if (isa<arith::SelectOp>(op)) {
    work.integer_ops += times;
  } else if (isa<math::AbsFOp>(op)) {
    work.float_ops += times;
  } else if (isa<math::MathDialect>(op.getDialect()) ||
             isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
                 arith::RemUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op)) {
    work.divisions += times;
  } else if (llvm::any_of(op.getOperandTypes(), isFloat) ||
             llvm::any_of(op.getResultTypes(), isFloat)) {
    work.float_ops += times;
  } else {
    work.integer_ops += times;
  }
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
  // Its loops, and the elements that they load and store. Sums stay in registers.
  step.scalar.integer_ops += times * iterations * kLoopOps;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type || (op.isDpsInput(&operand) && !op.payloadUsesValueFromOperand(&operand)))
      continue;
    double elements = static_cast<double>(type.getNumElements());
    step.scalar.accesses += times * (op.isDpsInput(&operand) ? iterations : elements);
    // A strided input misses at each access: its last index is not the innermost loop.
    AffineMap map = op.getMatchingIndexingMap(&operand);
    bool consecutive = map.getNumResults() == 0 || op.isDpsInit(&operand) ||
                       map.getResult(map.getNumResults() - 1) ==
                           getAffineDimExpr(map.getNumDims() - 1, map.getContext());
    step.scalar.misses += times * (consecutive || bytesOf(type) <= 16384
                                       ? elements * bytesOf(type.getElementType()) / kCacheLine
                                       : iterations);
  }
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
    double all = times * static_cast<double>(trips.value_or(1));
    step.scalar.integer_ops += all * kLoopOps;
    return countBlock(*loop.getBody(), all, step);
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    std::optional<double> trips = tripCount(loop);
    step.exact &= trips.has_value();
    step.scalar.integer_ops += times * trips.value_or(1) * kLoopOps;
    return countBlock(*loop.getBody(), times * trips.value_or(1), step);
  }
  if (op.getNumRegions() > 0) {
    // A while loop counts once, a branch with both sides half the time each.
    step.exact = false;
    bool halved = isa<scf::IfOp, affine::AffineIfOp>(op) &&
                  llvm::all_of(op.getRegions(), [](Region &region) { return !region.empty(); });
    step.scalar.integer_ops += times;
    for (Region &region : op.getRegions())
      for (Block &block : region)
        countBlock(block, halved ? times / 2 : times, step);
    return;
  }
  step.operations += times;
  countScalar(op, times, step.scalar);
  if (isFlop(op))
    step.flops += times;
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
  step.line = step.end_line = position.getLine();
}

// The last line of what stands in the step.
void extend(Operation &op, Step &step) {
  op.walk([&](Operation *inner) {
    auto position = inner->getLoc()->findInstanceOf<FileLineColLoc>();
    uint32_t file = 0;
    if (!position || position.getFilename().getValue().getAsInteger(10, file) || file != step.file)
      return;
    if (position.getLine() >= step.line)
      step.end_line = std::max(step.end_line, position.getLine());
  });
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

double ScalarWork::Cycles(const machine::Soc &soc) const {
  const machine::ScalarCost &cost = soc.scalar;
  return integer_ops * cost.instruction_cycles + float_ops * cost.float_cycles +
         divisions * cost.divide_cycles + accesses * cost.dcache_hit_cycles +
         misses * soc.gm.scalar_latency_cycles;
}

std::vector<Step> FindSteps(func::FuncOp kernel) {
  std::vector<Step> steps;
  for (Operation &op : kernel.getBody().front()) {
    if (!computes(op))
      continue;
    Step step;
    setPosition(op.getLoc(), step);
    extend(op, step);
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
