// asc-split-positions: takes what depends on a position along one axis alone out of operations on
// many elements.
//
// In: generics whose bodies compute with linalg.index, as x[i, j] * float(i) or a causal mask. Out:
// for each such value a vector along its axis, made by a generic of its own before, and read like
// any other operand; so the operation is elementwise, which vector units take, and only the vector
// is computed position by position. Comparisons and conversions of sums of positions along several
// axes are made of such vectors in float32, where that holds them exactly. A generic of which some
// position would be left stays as it is.
#include <functional>

#include "compiler/transform/pass_counts.h"
#include "compiler/transform/passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

#include "compiler/ir/asc_dialect.h"

namespace pyasc {

using namespace mlir;
using linalg::GenericOp;

namespace {

// Fewer elements are not worth an operation of their own.
constexpr int64_t kLeastElements = 1 << 12;
// As many elements of the operation as there are of the vectors, at least.
constexpr int64_t kLeastRatio = 8;
// Integers that float32 holds exactly.
constexpr int64_t kExact = int64_t(1) << 24;

// What a value of the body hangs on.
struct Source {
  enum Kind { Uniform, Axis, Elements } kind = Uniform;
  unsigned axis = 0;

  bool isAlong(unsigned dim) const { return kind == Axis && axis == dim; }
};

class Splitter {
public:
  explicit Splitter(GenericOp generic)
      : generic(generic), ranges(generic.getStaticLoopRanges()), body(*generic.getBody()) {}

  bool run() {
    if (!mayBeSplit())
      return false;
    expandSums();
    for (Operation &op : body.without_terminator())
      sources[op.getResult(0)] = sourceOf(op);
    if (!choose() || !isWorthIt())
      return false;
    replace();
    return true;
  }

private:
  bool mayBeSplit() {
    if (body.getOps<linalg::IndexOp>().empty() || generic.getNumDpsInits() != 1 ||
        llvm::any_of(ranges, ShapedType::isDynamic))
      return false;
    for (Operation *op = generic->getParentOp(); !isa<func::FuncOp>(op); op = op->getParentOp())
      if (!isa<affine::AffineForOp>(op) || op->hasAttr(ir::AscDialect::kParallel))
        return false; // computed element by element in any case
    return llvm::all_of(body.without_terminator(), [](Operation &op) {
      return op.getNumResults() == 1 && op.getNumRegions() == 0;
    });
  }

  // Sums of positions as additions: the two sides of a comparison may stand in one.
  void expandSums() {
    for (auto apply : llvm::make_early_inc_range(body.getOps<affine::AffineApplyOp>())) {
      AffineMap map = apply.getAffineMap();
      bool isSum = true;
      map.getResult(0).walk([&](AffineExpr expr) {
        isSum &= expr.getKind() != AffineExprKind::Mod &&
                 expr.getKind() != AffineExprKind::FloorDiv &&
                 expr.getKind() != AffineExprKind::CeilDiv;
      });
      if (!isSum || map.getNumInputs() < 2)
        continue;
      OpBuilder builder(apply);
      ValueRange operands = apply.getMapOperands();
      Value sum = affine::expandAffineExpr(builder, apply.getLoc(), map.getResult(0),
                                           operands.take_front(map.getNumDims()),
                                           operands.drop_front(map.getNumDims()));
      apply.replaceAllUsesWith(sum);
      apply.erase();
    }
  }

  Source sourceOf(Operation &op) {
    if (auto index = dyn_cast<linalg::IndexOp>(op))
      return {Source::Axis, static_cast<unsigned>(index.getDim())};
    if (!isPure(&op))
      return {Source::Elements};
    Source result;
    for (Value operand : op.getOperands()) {
      Source own = sourceOf(operand);
      if (own.kind == Source::Uniform)
        continue;
      if (own.kind == Source::Elements || (result.kind == Source::Axis && result.axis != own.axis))
        return {Source::Elements};
      result = own;
    }
    return result;
  }

  Source sourceOf(Value value) {
    if (isInBody(value))
      return isa<BlockArgument>(value) ? Source{Source::Elements} : sources.lookup(value);
    return {};
  }

  bool isInBody(Value value) { return value.getParentBlock() == &body; }

  // ---- which values become vectors

  // Fills `vectors`, `comparisons` and `conversions`; false when positions would be left.
  bool choose() {
    for (Operation &op : body) {
      if (op.getNumResults() == 1 && sources[op.getResult(0)].kind != Source::Elements)
        continue;
      if (isSum(op))
        continue; // a part of others
      if (isComparison(op)) {
        comparisons.push_back(cast<arith::CmpIOp>(op));
        continue;
      }
      if (isConversion(op)) {
        conversions.push_back(cast<arith::SIToFPOp>(op));
        continue;
      }
      for (Value operand : op.getOperands()) {
        if (isInBody(operand) && operand.getDefiningOp() && isSum(*operand.getDefiningOp()))
          return false;
        if (sourceOf(operand).kind != Source::Axis)
          continue;
        Type type = operand.getType();
        if (!type.isF32() && !type.isF16() && !type.isInteger(1))
          return false;
        vectors.insert(operand);
      }
    }
    return !vectors.empty() || !comparisons.empty() || !conversions.empty();
  }

  // Of a sum of positions along several axes to a float.
  bool isConversion(Operation &op) {
    auto conversion = dyn_cast<arith::SIToFPOp>(op);
    return conversion && sourceOf(conversion.getIn()).kind == Source::Elements &&
           isExact(conversion.getIn()) && conversion.getType().getIntOrFloatBitWidth() <= 32;
  }

  // Of sums of positions along several axes, which float32 can compare as well.
  bool isComparison(Operation &op) {
    auto compare = dyn_cast<arith::CmpIOp>(op);
    return compare && isSigned(compare.getPredicate()) && isExact(compare.getLhs()) &&
           isExact(compare.getRhs());
  }

  // Whether an integer is a sum of positions that float32 holds exactly, with all that it is a sum
  // of.
  bool isExact(Value value) {
    std::optional<std::pair<int64_t, int64_t>> range = rangeOf(value);
    if (!range || range->first <= -kExact || range->second >= kExact)
      return false;
    if (sourceOf(value).kind != Source::Elements)
      return true;
    Operation *op = value.getDefiningOp();
    return op && isExact(*op);
  }

  bool isExact(Operation &op) {
    return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp, arith::ExtSIOp>(
               op) &&
           llvm::all_of(op.getOperands(), [&](Value operand) { return isExact(operand); });
  }

  // Such an integer of several axes, which only comparisons, conversions and sums like it use.
  bool isSum(Operation &op) {
    return op.getNumResults() == 1 && sourceOf(op.getResult(0)).kind == Source::Elements &&
           isExact(op.getResult(0)) && llvm::all_of(op.getUsers(), [&](Operation *user) {
             return isComparison(*user) || isConversion(*user) ||
                    (user->getNumResults() == 1 && isSum(*user));
           });
  }

  // The positions along one axis that such an integer is a sum of.
  void collectPositions(Value value, llvm::function_ref<void(Value)> take) {
    if (sourceOf(value).kind == Source::Axis)
      return take(value);
    if (sourceOf(value).kind == Source::Elements)
      for (Value operand : value.getDefiningOp()->getOperands())
        collectPositions(operand, take);
  }

  static bool isSigned(arith::CmpIPredicate predicate) {
    return floatPredicate(predicate).has_value();
  }

  static std::optional<arith::CmpFPredicate> floatPredicate(arith::CmpIPredicate predicate) {
    switch (predicate) {
    case arith::CmpIPredicate::eq:
      return arith::CmpFPredicate::OEQ;
    case arith::CmpIPredicate::ne:
      return arith::CmpFPredicate::UNE;
    case arith::CmpIPredicate::slt:
      return arith::CmpFPredicate::OLT;
    case arith::CmpIPredicate::sle:
      return arith::CmpFPredicate::OLE;
    case arith::CmpIPredicate::sgt:
      return arith::CmpFPredicate::OGT;
    case arith::CmpIPredicate::sge:
      return arith::CmpFPredicate::OGE;
    default:
      return std::nullopt;
    }
  }

  std::optional<std::pair<int64_t, int64_t>> rangeOf(Value value) {
    constexpr int64_t limit = int64_t(1) << 30;
    Operation *op = value.getDefiningOp();
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return std::pair(constant.getSExtValue(), constant.getSExtValue());
    if (!op || !isInBody(value))
      return std::nullopt;
    if (auto index = dyn_cast<linalg::IndexOp>(op))
      return std::pair<int64_t, int64_t>(0, std::max<int64_t>(ranges[index.getDim()] - 1, 0));
    if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
      return op->getOperand(0).getType().isInteger(1) ? std::nullopt : rangeOf(op->getOperand(0));
    if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
      return std::nullopt;
    auto a = rangeOf(op->getOperand(0)), b = rangeOf(op->getOperand(1));
    auto isSmall = [](auto &range) {
      return range && range->first > -limit && range->second < limit;
    };
    if (!isSmall(a) || !isSmall(b))
      return std::nullopt;
    std::pair<int64_t, int64_t> result;
    if (isa<arith::AddIOp>(op)) {
      result = {a->first + b->first, a->second + b->second};
    } else if (isa<arith::SubIOp>(op)) {
      result = {a->first - b->second, a->second - b->first};
    } else {
      int64_t products[] = {a->first * b->first, a->first * b->second, a->second * b->first,
                            a->second * b->second};
      auto [least, greatest] = std::minmax_element(std::begin(products), std::end(products));
      result = {*least, *greatest};
    }
    // As the type holds it.
    unsigned width = value.getType().isIndex() ? 64 : value.getType().getIntOrFloatBitWidth();
    if (width < 32 &&
        (result.first < -(int64_t(1) << (width - 1)) || result.second >= int64_t(1) << (width - 1)))
      return std::nullopt;
    if (width == 32 && (result.first < -limit || result.second > limit))
      return std::nullopt;
    return result;
  }

  bool isWorthIt() {
    int64_t elements = 1, positions = 0;
    for (int64_t range : ranges)
      if (__builtin_mul_overflow(elements, range, &elements))
        return false;
    auto add = [&](Value value) {
      if (Source source = sourceOf(value); source.kind == Source::Axis)
        positions += ranges[source.axis];
    };
    llvm::for_each(vectors, add);
    for (arith::CmpIOp compare : comparisons)
      for (Value side : compare.getOperands())
        collectPositions(side, add);
    for (arith::SIToFPOp conversion : conversions)
      collectPositions(conversion.getIn(), add);
    return elements >= kLeastElements && elements / kLeastRatio >= positions;
  }

  // ---- the vectors, and the operation that reads them

  // A vector of `value` along its axis, as float32 where the value is no float.
  Value makeVector(Value value) {
    Value &known = made[value];
    if (known)
      return known;
    unsigned axis = sourceOf(value).axis;
    llvm::SetVector<Operation *> needed;
    collect(value, needed);
    // As far out as all that it is computed from allows.
    Operation *place = generic;
    auto isOutside = [&](Operation *around) {
      return llvm::all_of(needed, [&](Operation *op) {
        return llvm::all_of(op->getOperands(), [&](Value operand) {
          return isInBody(operand) || !around->isAncestor(operand.getParentBlock()->getParentOp());
        });
      });
    };
    while (!isa<func::FuncOp>(place->getParentOp()) && isOutside(place->getParentOp()))
      place = place->getParentOp();
    OpBuilder builder(generic->getContext());
    Location loc = generic.getLoc();
    Type type = value.getType();
    Type element = isa<FloatType>(type) ? type : builder.getF32Type();
    builder.setInsertionPointToStart(&generic->getParentOfType<func::FuncOp>().getBody().front());
    Value vector = builder.create<memref::AllocOp>(loc, MemRefType::get({ranges[axis]}, element));
    builder.setInsertionPoint(place);
    builder.create<GenericOp>(
        loc, TypeRange{}, ValueRange{}, ValueRange{vector},
        ArrayRef<AffineMap>{builder.getMultiDimIdentityMap(1)},
        ArrayRef<utils::IteratorType>{utils::IteratorType::parallel},
        [&](OpBuilder &inner, Location where, ValueRange) {
          IRMapping mapping;
          for (Operation *op : needed) {
            if (isa<linalg::IndexOp>(op))
              mapping.map(op->getResult(0), inner.create<linalg::IndexOp>(where, 0));
            else
              inner.clone(*op, mapping);
          }
          Value result = mapping.lookupOrDefault(value);
          if (type.isIndex())
            result = inner.create<arith::IndexCastOp>(where, inner.getI64Type(), result);
          if (type.isInteger(1))
            result = inner.create<arith::UIToFPOp>(where, element, result);
          else if (!isa<FloatType>(type))
            result = inner.create<arith::SIToFPOp>(where, element, result);
          inner.create<linalg::YieldOp>(where, result);
        });
    return known = vector;
  }

  // The ops of the body that `value` is computed by, in order.
  void collect(Value value, llvm::SetVector<Operation *> &needed) {
    if (!isInBody(value))
      return;
    for (Value operand : value.getDefiningOp()->getOperands())
      collect(operand, needed);
    needed.insert(value.getDefiningOp());
  }

  void replace() {
    SmallVector<Value> inputs(generic.getDpsInputs());
    SmallVector<AffineMap> maps(generic.getIndexingMapsArray());
    AffineMap last = maps.pop_back_val();
    MLIRContext *context = generic->getContext();
    unsigned numOld = inputs.size();
    llvm::MapVector<Value, unsigned> places; // of a value's vector among the inputs
    auto addInput = [&](Value value) {
      if (sourceOf(value).kind != Source::Axis || places.contains(value))
        return;
      places[value] = inputs.size();
      inputs.push_back(makeVector(value));
      maps.push_back(
          AffineMap::get(ranges.size(), 0, getAffineDimExpr(sourceOf(value).axis, context)));
    };
    llvm::for_each(vectors, addInput);
    for (arith::CmpIOp compare : comparisons)
      for (Value side : compare.getOperands())
        collectPositions(side, addInput);
    for (arith::SIToFPOp conversion : conversions)
      collectPositions(conversion.getIn(), addInput);
    maps.push_back(last);

    OpBuilder builder(generic);
    auto split = builder.create<GenericOp>(
        generic.getLoc(), TypeRange{}, inputs, generic.getDpsInits(), maps,
        generic.getIteratorTypesArray(), [&](OpBuilder &inner, Location loc, ValueRange arguments) {
          IRMapping mapping;
          for (unsigned i = 0; i < numOld; ++i)
            mapping.map(body.getArgument(i), arguments[i]);
          mapping.map(body.getArgument(numOld), arguments.back());
          for (Value value : vectors) {
            Value argument = arguments[places[value]];
            if (value.getType().isInteger(1))
              argument = inner.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, argument,
                                                     zero(inner, loc));
            mapping.map(value, argument);
          }
          std::function<Value(Value)> asFloat = [&](Value value) -> Value {
            if (auto place = places.find(value); place != places.end())
              return arguments[place->second];
            if (sourceOf(value).kind == Source::Uniform) {
              auto constant = static_cast<float>(rangeOf(value).value_or(std::pair(0, 0)).first);
              return inner.create<arith::ConstantOp>(loc, inner.getF32FloatAttr(constant));
            }
            Operation *op = value.getDefiningOp();
            Value left = asFloat(op->getOperand(0));
            if (op->getNumOperands() == 1)
              return left;
            Value right = asFloat(op->getOperand(1));
            if (isa<arith::AddIOp>(op))
              return inner.create<arith::AddFOp>(loc, left, right);
            if (isa<arith::SubIOp>(op))
              return inner.create<arith::SubFOp>(loc, left, right);
            return inner.create<arith::MulFOp>(loc, left, right);
          };
          for (Operation &op : body) {
            auto compare = dyn_cast<arith::CmpIOp>(op);
            if (compare && llvm::is_contained(comparisons, compare)) {
              mapping.map(
                  compare.getResult(),
                  inner.create<arith::CmpFOp>(
                      loc,
                      floatPredicate(compare.getPredicate()).value_or(arith::CmpFPredicate::OEQ),
                      asFloat(compare.getLhs()), asFloat(compare.getRhs())));
              continue;
            }
            auto conversion = dyn_cast<arith::SIToFPOp>(op);
            if (conversion && llvm::is_contained(conversions, conversion)) {
              // An integer has one zero: a product of 0 and a negative number must not be -0.0.
              Value sum =
                  inner.create<arith::AddFOp>(loc, asFloat(conversion.getIn()), zero(inner, loc));
              if (conversion.getType() != sum.getType())
                sum = inner.create<arith::TruncFOp>(loc, conversion.getType(), sum);
              mapping.map(conversion.getResult(), sum);
              continue;
            }
            bool isReplaced = op.getNumResults() == 1 && mapping.contains(op.getResult(0));
            bool isPosition = op.getNumResults() == 1 &&
                              (sources[op.getResult(0)].kind == Source::Axis || isSum(op));
            if (!isReplaced && !isPosition)
              inner.clone(op, mapping);
          }
        });
    split->setDiscardableAttrs(generic->getDiscardableAttrDictionary());
    generic.erase();
  }

  static Value zero(OpBuilder &builder, Location loc) {
    return builder.create<arith::ConstantOp>(loc, builder.getF32FloatAttr(0));
  }

  GenericOp generic;
  SmallVector<int64_t> ranges;
  Block &body;
  llvm::DenseMap<Value, Source> sources;
  llvm::SetVector<Value> vectors; // that other values of the body are computed from
  // Of positions along several axes.
  SmallVector<arith::CmpIOp> comparisons;
  SmallVector<arith::SIToFPOp> conversions;
  llvm::DenseMap<Value, Value> made;
};

struct SplitPositions : PassWrapper<SplitPositions, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitPositions)

  StringRef getArgument() const override { return "asc-split-positions"; }
  StringRef getDescription() const override { return "Make vectors of what positions give"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<linalg::LinalgDialect, memref::MemRefDialect, arith::ArithDialect>();
  }

  void runOnOperation() override {
    SmallVector<GenericOp> generics;
    getOperation().walk([&](GenericOp generic) { generics.push_back(generic); });
    int64_t split = 0;
    for (GenericOp generic : generics)
      split += Splitter(generic).run();
    if (split != 0)
      addPassCount(getOperation(), "split_positions", split);
  }
};

} // namespace

std::unique_ptr<Pass> createSplitPositionsPass() { return std::make_unique<SplitPositions>(); }

} // namespace pyasc
