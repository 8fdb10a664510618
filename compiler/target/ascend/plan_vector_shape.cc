#include "compiler/target/ascend/plan_vector_shape.h"

#include <numeric>

#include "compiler/target/ascend/plan_vector_reduce.h"

namespace pyasc::npu {

using namespace mlir;

int64_t VectorNest::inputs() const {
  return llvm::count_if(operands, [](const VectorOperand &operand) { return !operand.isOutput; });
}

int64_t VectorNest::points() const {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

//===------------------------------------------------------------------------------------------===//
// Analysis
//===------------------------------------------------------------------------------------------===//

namespace {

// Adds factor * expr to the strides and the offset; false when expr is not linear.
bool addLinear(AffineExpr expr, int64_t factor, VectorOperand &operand) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    operand.strides[dim.getPosition()] += factor;
    return true;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    operand.offset += factor * constant.getValue();
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, operand) &&
           addLinear(binary.getRHS(), factor, operand);
  auto scale = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == AffineExprKind::Mul && scale &&
         addLinear(binary.getLHS(), factor * scale.getValue(), operand);
}

// The first and the last element that an operand touches, relative to its root.
std::pair<int64_t, int64_t> span(const VectorOperand &operand, ArrayRef<int64_t> extents) {
  int64_t low = operand.view.offset + operand.offset, high = low;
  for (auto [stride, extent] : llvm::zip_equal(operand.strides, extents))
    (stride < 0 ? low : high) += stride * (extent - 1);
  return {low, high};
}

// Whether an output and an input touch common elements in another way than at the same point.
bool interferes(const VectorOperand &in, const VectorOperand &out, const VectorNest &nest) {
  if (in.view.root != out.view.root || !in.used)
    return false;
  bool sameStart =
      in.view.offset + in.offset == out.view.offset + out.offset && in.view.terms == out.view.terms;
  bool reduces = llvm::is_contained(nest.reduction, true);
  if (sameStart && in.strides == out.strides && !reduces)
    return false;
  if (in.view.terms != out.view.terms)
    return true; // run-time offsets
  auto [inLow, inHigh] = span(in, nest.extents);
  auto [outLow, outHigh] = span(out, nest.extents);
  return inLow <= outHigh && outLow <= inHigh;
}

void dropDim(VectorNest &nest, int64_t d) {
  nest.extents.erase(nest.extents.begin() + d);
  nest.reduction.erase(nest.reduction.begin() + d);
  for (VectorOperand &operand : nest.operands)
    operand.strides.erase(operand.strides.begin() + d);
}

} // namespace

void simplifyNest(VectorNest &nest) {
  for (int64_t d = nest.rank() - 1; d >= 0; --d)
    if (nest.extents[d] == 1)
      dropDim(nest, d);
  // Dimension d walks into d + 1 when its step is the whole of d + 1, for everyone.
  for (int64_t d = nest.rank() - 2; d >= 0; --d) {
    bool merges = nest.reduction[d] == nest.reduction[d + 1];
    for (const VectorOperand &operand : nest.operands)
      merges &= operand.strides[d] == operand.strides[d + 1] * nest.extents[d + 1];
    if (!merges)
      continue;
    nest.extents[d + 1] *= nest.extents[d];
    dropDim(nest, d);
  }
}

std::optional<Combiner> findCombiner(linalg::GenericOp generic) {
  Block &body = *generic.getBody();
  Value out = body.getArguments().back();
  Combiner combiner;
  Operation *op = body.getTerminator()->getOperand(0).getDefiningOp();
  if (generic.getNumDpsInits() != 1 || !op || op->getBlock() != &body ||
      op->getNumOperands() != 2 || !out.hasOneUse() || *out.getUsers().begin() != op)
    return std::nullopt;
  combiner.op = op;
  combiner.element = op->getOperand(op->getOperand(0) == out ? 1 : 0);
  Type type = out.getType();
  Builder builder(type.getContext());
  auto infinity = [&](bool negative) {
    return FloatAttr::get(type,
                          APFloat::getInf(cast<FloatType>(type).getFloatSemantics(), negative));
  };
  if (isa<arith::AddFOp, arith::AddIOp>(op)) {
    combiner.neutral = cast<TypedAttr>(builder.getZeroAttr(type));
    if (isa<FloatType>(type))
      combiner.reduce = Reduce::sum;
  } else if (isa<arith::MaximumFOp>(op)) {
    combiner.neutral = infinity(true);
    combiner.reduce = Reduce::max;
    combiner.binary = Binary::max;
  } else if (isa<arith::MinimumFOp>(op)) {
    combiner.neutral = infinity(false);
    combiner.reduce = Reduce::min;
    combiner.binary = Binary::min;
  } else if (isa<arith::MulFOp>(op)) {
    combiner.neutral = FloatAttr::get(type, 1.0);
    combiner.binary = Binary::mul;
  } else if (isa<arith::MaxSIOp, arith::MinSIOp>(op)) {
    unsigned width = type.getIntOrFloatBitWidth();
    bool isMax = isa<arith::MaxSIOp>(op);
    combiner.neutral = IntegerAttr::get(type, isMax ? APInt::getSignedMinValue(width)
                                                    : APInt::getSignedMaxValue(width));
    combiner.binary = isMax ? Binary::max : Binary::min;
  } else {
    return std::nullopt;
  }
  return combiner;
}

FailureOr<VectorNest> analyseNest(Planner &planner, linalg::GenericOp op, std::string &reason,
                                  bool merge) {
  VectorNest nest;
  nest.op = op;
  nest.extents = op.getStaticLoopRanges();
  if (llvm::any_of(nest.extents, ShapedType::isDynamic)) {
    reason = "an extent is known at run time only";
    return failure();
  }
  for (utils::IteratorType iterator : op.getIteratorTypesArray())
    nest.reduction.push_back(iterator == utils::IteratorType::reduction);
  nest.empty = llvm::is_contained(nest.extents, 0);
  if (!op.getBody()->getOps<linalg::IndexOp>().empty()) {
    reason = "its elements depend on their positions";
    return failure();
  }
  for (OpOperand &operand : op->getOpOperands()) {
    VectorOperand result;
    result.memref = operand.get();
    result.isOutput = op.isDpsInit(&operand);
    result.used = op.payloadUsesValueFromOperand(&operand);
    FailureOr<MemRefView> view = planner.locate(operand.get());
    if (failed(view)) {
      reason = "a view has sizes or strides that are known at run time only";
      return failure();
    }
    result.view = *view;
    result.element = view->element;
    result.strides.assign(nest.extents.size(), 0);
    for (auto [position, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (!addLinear(expr, view->strides[position], result)) {
        reason = "an index is not linear";
        return failure();
      }
    nest.operands.push_back(std::move(result));
  }
  if (nest.empty)
    return nest;
  for (const VectorOperand &out : nest.operands) {
    if (!out.isOutput)
      continue;
    for (const VectorOperand &other : nest.operands)
      if (&other != &out &&
          (interferes(other, out, nest) || (other.isOutput && other.view.root == out.view.root))) {
        reason = "an operand overlaps the result";
        return failure();
      }
  }
  if (merge)
    simplifyNest(nest);
  return nest;
}

//===------------------------------------------------------------------------------------------===//
// Choosing loops
//===------------------------------------------------------------------------------------------===//

TileKind kindOf(const VectorOperand &operand, const VectorLoops &loops) {
  bool alongColumns = loops.column >= 0 && operand.strides[loops.column] != 0;
  bool alongRows = loops.row >= 0 && operand.strides[loops.row] != 0;
  if (alongColumns)
    return alongRows || loops.row < 0 ? TileKind::full : TileKind::row;
  return alongRows ? TileKind::column : TileKind::uniform;
}

static bool isStep(int64_t stride) { return stride == 2 || stride == 4; }

int64_t stepOf(const VectorOperand &operand, const VectorLoops &loops) {
  int64_t stride = loops.column < 0 ? 1 : operand.strides[loops.column];
  return isStep(stride) && !isTransposed(operand, loops) ? stride : 1;
}

bool isTransposed(const VectorOperand &operand, const VectorLoops &loops) {
  return !operand.isOutput && loops.column >= 0 && loops.row >= 0 &&
         operand.strides[loops.row] == 1 && operand.strides[loops.column] > 1;
}

namespace {

// What inputs that are not contiguous along the vector may be.
enum class Layout {
  contiguous,
  steps,  // every second or fourth element; results are every second one
  across, // contiguous in another dimension, and transposed on the way
};

// Whether vectors can lie along `d`; `across` is the other dimension.
bool canBeColumn(const VectorNest &nest, int64_t d, Layout layout = Layout::contiguous,
                 int64_t across = -1) {
  for (const VectorOperand &operand : nest.operands) {
    int64_t stride = operand.strides[d];
    if (!operand.isOutput && !operand.used)
      continue;
    const int64_t bytes = bytesOf(operand.element);
    if (layout == Layout::steps && (bytes == 2 || bytes == 4) &&
        (operand.isOutput ? stride == 2 && !llvm::is_contained(nest.reduction, true)
                          : isStep(stride)))
      continue;
    // The lines of the other dimension lie apart.
    if (layout == Layout::across && !operand.isOutput && operand.strides[across] == 1 &&
        stride >= nest.extents[across] && bytes <= 4)
      continue;
    if (operand.isOutput ? stride != (nest.reduction[d] ? 0 : 1) : stride != 0 && stride != 1)
      return false;
  }
  // A reduction that no input follows has nothing along the vector.
  return llvm::any_of(nest.operands,
                      [&](const VectorOperand &operand) { return operand.strides[d] > 0; });
}

bool canBeRow(const VectorNest &nest, int64_t d, const VectorLoops &loops) {
  if (d == loops.column || d == nest.part || nest.reduction[d])
    return false;
  for (const VectorOperand &operand : nest.operands) {
    int64_t stride = operand.strides[d];
    if (!operand.isOutput && !operand.used)
      continue;
    if (operand.isOutput && loops.form == VectorForm::rowReduce) {
      if (stride != 1)
        return false;
    } else if (operand.isOutput) {
      // Rows of the result must not overlap, and each has more than its place.
      if (stride < nest.extents[loops.column] * operand.strides[loops.column])
        return false;
    } else if (operand.strides[loops.column] == 0) {
      if (stride != 0 && stride != 1)
        return false;
    } else if (stride < 0) {
      return false;
    }
  }
  return true;
}

// A dimension of results that the vectors of the inputs do not depend on.
bool canBeBlock(const VectorNest &nest, int64_t d, const VectorLoops &loops) {
  if (d == nest.part)
    return false;
  for (const VectorOperand &operand : nest.operands) {
    if (!operand.isOutput && !operand.used)
      continue;
    bool vector = kindOf(operand, loops) != TileKind::uniform;
    if (operand.isOutput ? operand.strides[d] == 0 : vector && operand.strides[d] != 0)
      return false;
  }
  return true;
}

} // namespace

// Whether rows along `d` follow each other closely in all operands, and are enough for a tile:
// where rows are shorter than a line of L2 its other rows would be read for nothing.
static bool isNear(const VectorNest &nest, int64_t d, const VectorLoops &loops) {
  constexpr int64_t kLineBytes = 512, kTile = 512;
  const int64_t columns = nest.extents[loops.column];
  return nest.extents[d] * columns >= kTile &&
         llvm::all_of(nest.operands, [&](const auto &operand) {
           return operand.strides[d] < 2 * columns &&
                  columns * bytesOf(operand.element) < kLineBytes;
         });
}

// Where no dimension is contiguous in all operands: one that is in the results, and the one that is
// in the inputs. The largest such tile; -1: there is none.
static std::pair<int64_t, int64_t> chooseAcross(const VectorNest &nest) {
  std::pair<int64_t, int64_t> best{-1, -1};
  int64_t most = 0;
  for (int64_t column = 0; column < nest.rank(); ++column)
    for (int64_t row = 0; row < nest.rank(); ++row) {
      if (row == column || nest.reduction[row] || !canBeColumn(nest, column, Layout::across, row))
        continue;
      int64_t size =
          std::min<int64_t>(nest.extents[column], 128) * std::min<int64_t>(nest.extents[row], 128);
      if (size > most) {
        best = {column, row};
        most = size;
      }
    }
  return best;
}

// The reduction whose elements are rows of a tile that are folded into one line: the one whose rows
// lie closest, if they lie closer than those of the parallel rows. -1: there is none.
static int64_t chooseFolded(const VectorNest &nest, const VectorLoops &loops) {
  constexpr int64_t kFewRows = 8;
  auto apart = [&](int64_t d) {
    int64_t most = 0;
    for (const VectorOperand &operand : nest.operands)
      if (!operand.isOutput && operand.used && operand.strides[loops.column] != 0)
        most = std::max(most, operand.strides[d]);
    return most;
  };
  auto fits = [&](int64_t d) {
    return nest.reduction[d] && nest.extents[d] >= kFewRows &&
           llvm::all_of(nest.operands, [&](const VectorOperand &operand) {
             int64_t stride = operand.strides[d];
             if (!operand.isOutput && !operand.used)
               return true;
             if (operand.strides[loops.column] > 1)
               return false;
             if (operand.isOutput)
               return true;
             return operand.strides[loops.column] == 0
                        ? stride == 0 || stride == 1
                        : stride == 0 || stride >= nest.extents[loops.column];
           });
  };
  int64_t best = -1;
  for (int64_t d = 0; d < nest.rank(); ++d)
    if (fits(d) && apart(d) > 0 && (best < 0 || apart(d) < apart(best)))
      best = d;
  bool closer = best >= 0 && (loops.row < 0 || apart(best) < apart(loops.row));
  std::string reason;
  return closer && succeeded(findReduction(nest, reason)) ? best : -1;
}

FailureOr<VectorLoops> chooseLoops(const VectorNest &nest, std::string &reason) {
  VectorLoops loops;
  bool reduces = llvm::is_contained(nest.reduction, true);
  for (Layout layout : {Layout::contiguous, Layout::steps}) {
    for (int64_t d = 0; d < nest.rank(); ++d) {
      if (!canBeColumn(nest, d, layout))
        continue;
      // Long vectors first; a reduction, which needs another instruction, must be twice as long.
      auto worth = [&](int64_t dim) {
        return std::min<int64_t>(nest.extents[dim], 512) * (nest.reduction[dim] ? 1 : 2);
      };
      if (loops.column < 0 || worth(d) > worth(loops.column))
        loops.column = d;
    }
    if (loops.column >= 0)
      break;
  }
  if (loops.column < 0)
    std::tie(loops.column, loops.row) = chooseAcross(nest);
  if (loops.column < 0) {
    reason =
        nest.rank() == 0 ? "it is a single element" : "no dimension is contiguous in all operands";
    return failure();
  }
  bool transposes = loops.row >= 0;
  loops.form = nest.reduction[loops.column] ? VectorForm::rowReduce
               : reduces                    ? VectorForm::accumulate
                                            : VectorForm::elementwise;
  int64_t outputs = nest.rank() == 0 ? 0 : nest.operands.size() - nest.inputs();
  if (loops.form != VectorForm::elementwise && outputs != 1) {
    reason = "a reduction has several results";
    return failure();
  }
  if (transposes && !canBeRow(nest, loops.row, loops)) {
    reason = "no dimension is contiguous in all operands, nor are two";
    return failure();
  }
  for (int64_t d = 0; d < nest.rank() && !transposes; ++d)
    if (canBeRow(nest, d, loops) &&
        (loops.row < 0 || std::pair(isNear(nest, d, loops), nest.extents[d]) >=
                              std::pair(isNear(nest, loops.row, loops), nest.extents[loops.row])))
      loops.row = d;
  for (const VectorOperand &operand : nest.operands)
    if (operand.used && stepOf(operand, loops) > 1 && kindOf(operand, loops) != TileKind::full) {
      reason = "an operand of one row is not contiguous";
      return failure();
    }
  if (loops.form == VectorForm::accumulate)
    for (int64_t d = 0; d < nest.rank(); ++d)
      if (d != loops.column && d != loops.row && !nest.reduction[d] && canBeBlock(nest, d, loops) &&
          (loops.block < 0 || nest.extents[d] > nest.extents[loops.block]))
        loops.block = d;
  if (loops.form == VectorForm::accumulate && loops.block < 0 && !transposes)
    if (int64_t folded = chooseFolded(nest, loops); folded >= 0) {
      loops.form = VectorForm::lineReduce;
      loops.row = folded;
    }
  for (int64_t d = 0; d < nest.rank(); ++d) {
    if (d == loops.column || d == loops.row || d == loops.block)
      continue;
    (nest.reduction[d] ? loops.steps : loops.outer).push_back(d);
  }
  return loops;
}

std::optional<VectorLoops> adoptLoops(const VectorNest &nest, const VectorLoops &loops) {
  VectorLoops own = loops;
  own.steps.clear();
  for (int64_t d = 0; d < nest.rank(); ++d)
    if (nest.reduction[d])
      own.steps.push_back(d);
  own.form = own.steps.empty() ? VectorForm::elementwise : VectorForm::accumulate;
  if (!canBeColumn(nest, own.column) || (own.row >= 0 && !canBeRow(nest, own.row, own)))
    return std::nullopt;
  if (own.block >= 0 && own.form == VectorForm::accumulate && !canBeBlock(nest, own.block, own))
    return std::nullopt;
  return own;
}

} // namespace pyasc::npu
