// Counts what each step of a kernel does: arithmetic, bytes, iterations.

#include <algorithm>

#include "compiler/analysis/analyze.h"
#include "compiler/analysis/iterations.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace pyasc::compiler::analysis {
namespace {

double bytesOf(Type element) { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }

// Bytes that stay in the scalar unit's data cache.
constexpr double kSmall = 16384;

bool isSmall(MemRefType type) {
  return type.hasStaticShape() &&
         static_cast<double>(type.getNumElements()) * bytesOf(type.getElementType()) <= kSmall;
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
    text += (text.empty() ? "" : "x") +
            (ShapedType::isDynamic(extent) ? std::string("?") : std::to_string(extent));
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
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  if (failed(getStridesAndOffset(type, strides, offset)))
    return std::nullopt;
  double advance = 0;
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
    if (at[0] != at[1] && ShapedType::isDynamic(strides[axis]))
      return std::nullopt;
    if (at[0] != at[1])
      advance += static_cast<double>(at[1] - at[0]) * static_cast<double>(strides[axis]);
  }
  return std::abs(advance) * bytesOf(type.getElementType());
}

unsigned nodesOf(AffineExpr expr) {
  unsigned nodes = 0;
  expr.walk([&](AffineExpr inner) { nodes += isa<AffineBinaryOpExpr>(inner); });
  return nodes;
}

// Whether the vector unit does it on 16-bit lanes, twice as many as there are of 32 bits.
bool isNarrow(Operation &op) {
  unsigned widest = 0;
  auto look = [&](TypeRange types) {
    for (Type type : types)
      if (type.isIntOrFloat())
        widest = std::max(widest, type.getIntOrFloatBitWidth());
  };
  look(op.getOperandTypes());
  look(op.getResultTypes());
  return widest <= 16;
}

// How often something runs: at least as far as is known, and likely.
struct Times {
  double least = 0;
  double likely = 0;
  Times operator*(double factor) const { return {least * factor, likely * factor}; }
};

// The extents of a memref, static or values.
SmallVector<OpFoldResult> extentsOf(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Builder builder(memref.getContext());
  SmallVector<OpFoldResult> extents;
  for (int64_t extent : type.getShape())
    extents.push_back(builder.getIndexAttr(extent));
  if (type.hasStaticShape())
    return extents;
  SmallVector<OpFoldResult> known;
  if (auto subview = memref.getDefiningOp<memref::SubViewOp>()) {
    llvm::SmallBitVector dropped = subview.getDroppedDims();
    for (auto [i, size] : llvm::enumerate(subview.getMixedSizes()))
      if (!dropped.test(i))
        known.push_back(size);
  } else if (auto alloc = memref.getDefiningOp<memref::AllocOp>()) {
    known = alloc.getMixedSizes();
  } else if (auto cast = memref.getDefiningOp<memref::CastOp>()) {
    known = extentsOf(cast.getSource());
  }
  for (auto [i, extent] : llvm::enumerate(extents))
    if (type.isDynamicDim(i))
      // Null: not known.
      extent = i < known.size() ? known[i] : OpFoldResult();
  return extents;
}

// Extents of a structured op's loops; null where no operand tells.
SmallVector<OpFoldResult> loopExtents(linalg::GenericOp op) {
  SmallVector<OpFoldResult> extents(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    SmallVector<OpFoldResult> of = extentsOf(operand.get());
    for (auto [i, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || !of[i])
        continue;
      OpFoldResult &extent = extents[dim.getPosition()];
      if (!extent || (getConstantIntValue(of[i]) && !getConstantIntValue(extent)))
        extent = of[i];
    }
  }
  return extents;
}

// Counts what a step does.
class Counter {
public:
  explicit Counter(Step &step) : step_(step) {}
  void Count(Operation &op) { Count(op, {1, 1}); }

private:
  void Count(Operation &op, Times times);
  void CountBlock(Block &block, Times times);
  void CountGeneric(linalg::GenericOp op, Times times);
  void CountBranch(Operation &op, Times times, bool known);
  void CountScalar(Operation &op, double times);
  void CountBytes(Operation &op, Times times);
  double Misses(Operation &op, Value memref, double times) const;
  // What is entered now.
  Times Now();
  // Elements of a box, whatever the loops around.
  Times Elements(ArrayRef<OpFoldResult> extents, Times times);
  Times Enter(ArrayRef<OpFoldResult> extents, Times times, size_t &entered);
  void Leave(size_t count) {
    while (count-- > 0)
      space_.Leave();
  }
  // Runs `body` as often as what was tried to be entered does; otherwise once a time, said to be
  // unknown.
  template <typename Body> void Inside(bool entered, Times times, Body body);

  Step &step_;
  IterationSpace space_;
  // Loops and branches around of which nothing is known.
  int unknown_ = 0;
  // Likely iterations beside those of space_.
  double factor_ = 1;
  // Mean iterations of the loops around.
  DenseMap<Operation *, double> trips_;
};

Times Counter::Now() {
  std::optional<double> count = space_.Count();
  step_.exact &= count.has_value();
  double likely = count ? *count : space_.Sample();
  return {unknown_ > 0 ? 0 : count.value_or(0), likely * factor_};
}

template <typename Body> void Counter::Inside(bool entered, Times times, Body body) {
  if (!entered) {
    step_.exact = false;
    ++unknown_;
    body(Times{0, times.likely});
    --unknown_;
    return;
  }
  body(Now());
  space_.Leave();
}

Times Counter::Enter(ArrayRef<OpFoldResult> extents, Times times, size_t &entered) {
  bool known = true;
  for (OpFoldResult extent : extents) {
    bool one = extent && space_.EnterExtent(extent);
    entered += one;
    known &= one;
  }
  step_.exact &= known;
  Times now = entered > 0 ? Now() : times;
  return {known ? now.least : 0, now.likely};
}

Times Counter::Elements(ArrayRef<OpFoldResult> extents, Times times) {
  size_t entered = 0;
  Times elements = Enter(extents, times, entered);
  Leave(entered);
  return elements;
}

// Lines that `times` accesses fetch: one after the other in memory share a line; what stays in
// place over the inner loops is fetched once in them. No line is thought to survive longer.
double Counter::Misses(Operation &op, Value memref, double times) const {
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
    // Anywhere.
    return isSmall(type) ? static_cast<double>(type.getNumElements()) *
                               bytesOf(type.getElementType()) / kCacheLine
                         : times;
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
    auto trips = trips_.find(loop);
    misses /= std::max(1.0, trips == trips_.end() ? 1.0 : trips->second);
  }
  return misses;
}

// The memory that an op without regions loads from or stores to; null for others.
Value accessed(Operation &op) {
  return llvm::TypeSwitch<Operation *, Value>(&op)
      .Case<affine::AffineLoadOp, affine::AffineStoreOp, memref::LoadOp, memref::StoreOp,
            memref::AtomicRMWOp>([](auto access) { return access.getMemref(); })
      .Default(Value());
}

// What the scalar unit does for an op without regions.
void Counter::CountScalar(Operation &op, double times) {
  ScalarWork &work = step_.scalar;
  if (Value memref = accessed(op)) {
    // A cell is a register.
    if (isCell(memref) && memref.getDefiningOp<memref::AllocaOp>())
      return;
    work.accesses += times;
    work.misses += Misses(op, memref, times);
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

void Counter::CountBytes(Operation &op, Times times) {
  if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    Times elements = Elements(extentsOf(copy.getSource()), times);
    double element = bytesOf(copy.getSource().getType().getElementType());
    step_.read_bytes += elements.least * element;
    step_.write_bytes += elements.least * element;
    step_.scalar.accesses += 2 * elements.likely;
    step_.scalar.misses += 2 * elements.likely * element / kCacheLine;
    step_.scalar.integer_ops += elements.likely * kLoopOps;
    return;
  }
  Value memref = accessed(op);
  if (!memref || isCell(memref))
    return;
  double bytes = times.least * bytesOf(cast<MemRefType>(memref.getType()).getElementType());
  if (!isa<affine::AffineStoreOp, memref::StoreOp>(op))
    step_.read_bytes += bytes;
  if (!isa<affine::AffineLoadOp, memref::LoadOp>(op))
    step_.write_bytes += bytes;
}

void Counter::CountBlock(Block &block, Times times) {
  for (Operation &op : block.without_terminator())
    Count(op, times);
}

void Counter::CountGeneric(linalg::GenericOp op, Times times) {
  size_t entered = 0;
  Times iterations = Enter(loopExtents(op), times, entered);
  CountBlock(op.getRegion().front(), iterations);
  Leave(entered);
  // Its loops, and the elements that they load and store. Sums stay in registers.
  step_.scalar.integer_ops += iterations.likely * kLoopOps;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    bool reads = op.payloadUsesValueFromOperand(&operand), input = op.isDpsInput(&operand);
    if (!type || (input && !reads))
      continue;
    Times elements = Elements(extentsOf(operand.get()), times);
    double element = bytesOf(type.getElementType());
    step_.scalar.accesses += input ? iterations.likely : elements.likely;
    // A strided input misses at each access: its last index is not the innermost loop.
    AffineMap map = op.getMatchingIndexingMap(&operand);
    bool consecutive = map.getNumResults() == 0 || !input ||
                       map.getResult(map.getNumResults() - 1) ==
                           getAffineDimExpr(map.getNumDims() - 1, map.getContext());
    bool small = elements.likely * element <= kSmall * times.likely;
    step_.scalar.misses +=
        consecutive || small ? elements.likely * element / kCacheLine : iterations.likely;
    if (reads)
      step_.read_bytes += elements.least * element;
    if (!input)
      step_.write_bytes += elements.least * element;
  }
}

// `known`: space_ has the condition of the first region.
void Counter::CountBranch(Operation &op, Times times, bool known) {
  bool both = llvm::all_of(op.getRegions(), [](Region &region) { return !region.empty(); });
  step_.scalar.integer_ops += times.likely;
  for (auto [side, region] : llvm::enumerate(op.getRegions())) {
    if (region.empty())
      continue;
    if (side > 0 && known)
      space_.Negate();
    double factor = factor_;
    // A branch with both sides takes each half of the time.
    if (!known && both)
      factor_ /= 2;
    Times inside = known ? Now() : Times{0, times.likely / (both ? 2 : 1)};
    CountBlock(region.front(), inside);
    factor_ = factor;
  }
}

void Counter::Count(Operation &op, Times times) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return CountGeneric(generic, times);
  auto enterLoop = [&](Operation &loop, bool entered, Block &body) {
    Inside(entered, times, [&](Times all) {
      if (times.likely > 0)
        trips_[&loop] = all.likely / times.likely;
      step_.scalar.integer_ops += all.likely * kLoopOps;
      CountBlock(body, all);
    });
  };
  if (auto loop = dyn_cast<affine::AffineForOp>(op))
    return enterLoop(op, space_.Enter(loop), *loop.getBody());
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return enterLoop(op, space_.Enter(loop), *loop.getBody());
  if (isa<affine::AffineIfOp, scf::IfOp>(op)) {
    auto affine_if = dyn_cast<affine::AffineIfOp>(op);
    bool known = affine_if ? space_.EnterIf(affine_if) : space_.EnterIf(cast<scf::IfOp>(op));
    unknown_ += !known;
    step_.exact &= known;
    CountBranch(op, times, known);
    unknown_ -= !known;
    if (known)
      space_.Leave();
    return;
  }
  if (op.getNumRegions() > 0) {
    // A while loop counts once.
    Inside(false, times, [&](Times once) {
      step_.scalar.integer_ops += once.likely;
      for (Region &region : op.getRegions())
        for (Block &block : region)
          CountBlock(block, once);
    });
    return;
  }
  step_.operations += times.likely;
  if (isNarrow(op))
    step_.narrow_operations += times.likely;
  CountScalar(op, times.likely);
  CountBytes(op, times);
  if (!isFlop(op))
    return;
  step_.flops += times.least;
  if (isNarrow(op))
    step_.narrow_flops += times.least;
}

// A number of iterations, at least 1 and no more than an integer holds.
int64_t toCount(double iterations) {
  return static_cast<int64_t>(std::clamp(iterations, 1.0, 0x1p62));
}

// Sums of products of two operands, windows included: each loop is one of a product's kinds; one
// that a single operand follows makes it something else.
bool isContraction(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!maps[2].isProjectedPermutation())
    return false;
  bool isSum = false, isMatrix = false;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
    const bool a = maps[0].isFunctionOfDim(loop), b = maps[1].isFunctionOfDim(loop),
               c = maps[2].isFunctionOfDim(loop);
    if (c ? !a && !b : !a || !b)
      return false;
    isSum |= !c;
    isMatrix |= c && a != b;
  }
  return isSum && isMatrix;
}

void describeGeneric(linalg::GenericOp op, Step &step) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  Type element = getElementTypeOrSelf(op.getDpsInits()[0].getType());
  double parallel = 1;
  for (auto [extent, iterator] : llvm::zip(extents, op.getIteratorTypesArray()))
    if (iterator == utils::IteratorType::parallel && !ShapedType::isDynamic(extent))
      parallel *= static_cast<double>(extent);
  step.parallel_iterations = toCount(parallel);
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

// Iterations of the asc.parallel loops at the top of a nest; 1 where they are not known.
int64_t parallelIterations(Operation &op) {
  IterationSpace space;
  Operation *loop = &op;
  while (loop && loop->hasAttr("asc.parallel")) {
    auto affine_loop = dyn_cast<affine::AffineForOp>(loop);
    if (!affine_loop || !space.Enter(affine_loop))
      break;
    loop = &affine_loop.getBody()->front();
  }
  return toCount(space.Count().value_or(1));
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
    op.setAttr(kStepAttribute, IntegerAttr::get(IntegerType::get(op.getContext(), 64),
                                                static_cast<int64_t>(steps.size())));
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
    Counter(step).Count(op);
    steps.push_back(std::move(step));
  }
  return steps;
}

} // namespace pyasc::compiler::analysis
