#include "compiler/transform/element.h"

#include <algorithm>

#include "compiler/transform/cells.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace pyasc {

using namespace mlir;

namespace {

using Range = std::optional<std::pair<int64_t, int64_t>>;

// Indices beyond this are in no buffer, and products of two of them do not overflow.
constexpr int64_t kMaxIndex = int64_t(1) << 31;

Range checked(int64_t low, int64_t high) {
  if (low < -kMaxIndex || high > kMaxIndex || low > high)
    return std::nullopt;
  return std::pair(low, high);
}

// The same computation on the same values.
bool isSameValue(Value a, Value b, int depth = 0) {
  if (a == b)
    return true;
  Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  if (!left || !right || depth > 6 || left->getName() != right->getName() ||
      left->getNumResults() != 1 || left->getNumRegions() != 0 || !isMemoryEffectFree(left) ||
      left->getAttrDictionary() != right->getAttrDictionary() ||
      left->getPropertiesAsAttribute() != right->getPropertiesAsAttribute() ||
      left->getNumOperands() != right->getNumOperands() || a.getType() != b.getType())
    return false;
  return llvm::all_of(llvm::zip(left->getOperands(), right->getOperands()), [&](auto pair) {
    return isSameValue(std::get<0>(pair), std::get<1>(pair), depth + 1);
  });
}

Range rangeOf(AffineExpr expr, ArrayRef<Value> operands, unsigned numDims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return checked(constant.getValue(), constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return indexRange(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return indexRange(operands[numDims + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Range left = rangeOf(binary.getLHS(), operands, numDims);
  Range right = rangeOf(binary.getRHS(), operands, numDims);
  if (!left || !right)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return checked(left->first + right->first, left->second + right->second);
  case AffineExprKind::Mul: {
    int64_t corners[] = {left->first * right->first, left->first * right->second,
                         left->second * right->first, left->second * right->second};
    return checked(*std::min_element(corners, corners + 4),
                   *std::max_element(corners, corners + 4));
  }
  case AffineExprKind::Mod:
    return right->first > 0 ? checked(0, right->second - 1) : std::nullopt;
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv: {
    if (right->first <= 0 || right->first != right->second)
      return std::nullopt;
    auto divide = [&](int64_t value) {
      return expr.getKind() == AffineExprKind::FloorDiv
                 ? llvm::divideFloorSigned(value, right->first)
                 : llvm::divideCeilSigned(value, right->first);
    };
    return checked(divide(left->first), divide(left->second));
  }
  default:
    return std::nullopt;
  }
}

// Of several results: each bounds the least (or greatest) from one side.
Range rangeOfExtreme(AffineMap map, ArrayRef<Value> operands, bool isMax) {
  Range result;
  for (AffineExpr expr : map.getResults()) {
    Range one = rangeOf(expr, operands, map.getNumDims());
    if (!one)
      return std::nullopt;
    if (!result)
      result = one;
    else if (isMax)
      result = {std::max(result->first, one->first), std::max(result->second, one->second)};
    else
      result = {std::min(result->first, one->first), std::min(result->second, one->second)};
  }
  return result;
}

} // namespace

Range indexRange(Value index) {
  APInt known;
  if (matchPattern(index, m_ConstantInt(&known)))
    return known.getSignificantBits() <= 33 ? checked(known.getSExtValue(), known.getSExtValue())
                                            : std::nullopt;
  auto operands = [](OperandRange range) { return llvm::to_vector<4>(range); };
  if (affine::isAffineForInductionVar(index)) {
    affine::AffineForOp loop = affine::getForInductionVarOwner(index);
    Range low = rangeOfExtreme(loop.getLowerBoundMap(), operands(loop.getLowerBoundOperands()),
                               /*isMax=*/true);
    Range high = rangeOfExtreme(loop.getUpperBoundMap(), operands(loop.getUpperBoundOperands()),
                                /*isMax=*/false);
    // A loop that never runs makes no index.
    return low && high ? checked(low->first, std::max(high->second - 1, low->first)) : std::nullopt;
  }
  Operation *op = index.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return rangeOfExtreme(apply.getAffineMap(), operands(apply.getMapOperands()), true);
  if (auto least = dyn_cast<affine::AffineMinOp>(op))
    return rangeOfExtreme(least.getMap(), operands(least->getOperands()), false);
  if (auto most = dyn_cast<affine::AffineMaxOp>(op))
    return rangeOfExtreme(most.getMap(), operands(most->getOperands()), true);
  if (index.getType().isIndex() && isa<arith::AddIOp, arith::SubIOp>(op)) {
    Range left = indexRange(op->getOperand(0)), right = indexRange(op->getOperand(1));
    if (!left || !right)
      return std::nullopt;
    return isa<arith::AddIOp>(op)
               ? checked(left->first + right->first, left->second + right->second)
               : checked(left->first - right->second, left->second - right->first);
  }
  return std::nullopt;
}

std::optional<Element> Element::of(Operation *op) {
  if (auto load = dyn_cast<affine::AffineLoadOp>(op))
    return Element{op, false, load.getMemRef(), load.getAffineMap(),
                   llvm::to_vector(load.getMapOperands())};
  if (auto store = dyn_cast<affine::AffineStoreOp>(op))
    return Element{op, true, store.getMemRef(), store.getAffineMap(),
                   llvm::to_vector(store.getMapOperands())};
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return Element{op, false, load.getMemRef(), {}, llvm::to_vector(load.getIndices())};
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return Element{op, true, store.getMemRef(), {}, llvm::to_vector(store.getIndices())};
  return std::nullopt;
}

Value Element::stored() const { return storedValue(op); }

bool Element::isSameAs(const Element &other) const {
  if (memref != other.memref)
    return false;
  if (cast<MemRefType>(memref.getType()).getRank() == 0)
    return true;
  return map == other.map && index.size() == other.index.size() &&
         llvm::all_of(llvm::zip(index, other.index),
                      [](auto pair) { return isSameValue(std::get<0>(pair), std::get<1>(pair)); });
}

bool Element::isInBounds() const {
  auto type = cast<MemRefType>(memref.getType());
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    Range range =
        map ? rangeOf(map.getResult(axis), index, map.getNumDims()) : indexRange(index[axis]);
    if (!range || type.isDynamicDim(axis) || range->first < 0 ||
        range->second >= type.getDimSize(axis))
      return false;
  }
  return true;
}

Value Element::load(OpBuilder &builder, Location loc) const {
  if (map)
    return builder.create<affine::AffineLoadOp>(loc, memref, map, index);
  return builder.create<memref::LoadOp>(loc, memref, index);
}

void Element::store(OpBuilder &builder, Location loc, Value value) const {
  if (map)
    builder.create<affine::AffineStoreOp>(loc, value, memref, map, index);
  else
    builder.create<memref::StoreOp>(loc, value, memref, index);
}

} // namespace pyasc
