#include "compiler/transform/expand_tensors.h"

#include "compiler/ir/asc_dialect.h"
#include "compiler/transform/buffers.h"
#include "compiler/transform/nest.h"
#include "mlir/Dialect/Affine/Analysis/AffineAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineValueMap.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace pyasc {

using namespace mlir;
using affine::AffineForOp;
using linalg::GenericOp;

namespace {

constexpr int64_t kMaxElements = int64_t(1) << 27;
// Of the operations in a loop together, the loops around each: what relating them to each other
// costs grows with the square of their number, at each depth.
constexpr int64_t kMaxLevels = 160;

// An element of a buffer: index expressions whose dimension i is operands[i].
struct Place {
  Value buffer;
  SmallVector<AffineExpr> exprs;
  SmallVector<Value> operands;

  AffineExpr dimensionOf(Value value) {
    auto known = llvm::find(operands, value);
    unsigned position = known - operands.begin();
    if (known == operands.end())
      operands.push_back(value);
    return getAffineDimExpr(position, value.getContext());
  }

  std::pair<AffineMap, SmallVector<Value>> composed() const {
    AffineMap map = AffineMap::get(operands.size(), 0, exprs, buffer.getContext());
    SmallVector<Value> values(operands);
    affine::fullyComposeAffineMapAndOperands(&map, &values);
    affine::canonicalizeMapAndOperands(&map, &values);
    return {map, values};
  }
};

// Follows views made inside of `loop` from `place.buffer` down to what they are views of.
bool followViews(Place &place, AffineForOp loop) {
  MLIRContext *context = place.buffer.getContext();
  AffineExpr zero = getAffineConstantExpr(0, context);
  while (Operation *definition = place.buffer.getDefiningOp()) {
    if (!loop->isAncestor(definition))
      return true;
    SmallVector<AffineExpr> exprs;
    if (auto view = dyn_cast<memref::SubViewOp>(definition)) {
      llvm::SmallBitVector dropped = view.getDroppedDims();
      unsigned next = 0;
      for (unsigned axis = 0; axis < dropped.size(); ++axis) {
        std::optional<int64_t> stride = getConstantIntValue(view.getMixedStrides()[axis]);
        OpFoldResult offset = view.getMixedOffsets()[axis];
        if (!stride)
          return false;
        AffineExpr start;
        if (std::optional<int64_t> constant = getConstantIntValue(offset))
          start = getAffineConstantExpr(*constant, context);
        else if (affine::isValidDim(cast<Value>(offset)))
          start = place.dimensionOf(cast<Value>(offset));
        else
          return false;
        exprs.push_back(dropped.test(axis) ? start : start + place.exprs[next] * *stride);
        next += !dropped.test(axis);
      }
    } else if (auto view = dyn_cast<memref::ExpandShapeOp>(definition)) {
      ArrayRef<int64_t> shape = view.getResultType().getShape();
      for (const ReassociationIndices &group : view.getReassociationIndices()) {
        AffineExpr expr = zero;
        for (int64_t axis : group) {
          if (ShapedType::isDynamic(shape[axis]))
            return false;
          expr = expr * shape[axis] + place.exprs[axis];
        }
        exprs.push_back(expr);
      }
    } else if (auto view = dyn_cast<memref::CollapseShapeOp>(definition)) {
      ArrayRef<int64_t> shape = view.getSrcType().getShape();
      if (!view.getSrcType().hasStaticShape())
        return false;
      exprs.assign(shape.size(), zero);
      for (auto [axis, group] : llvm::enumerate(view.getReassociationIndices())) {
        AffineExpr rest = place.exprs[axis];
        SmallVector<int64_t> axes;
        for (int64_t inner : group)
          if (shape[inner] != 1)
            axes.push_back(inner);
        for (int64_t inner : llvm::reverse(axes)) {
          bool isOutermost = inner == axes.front();
          exprs[inner] = isOutermost ? rest : rest % shape[inner];
          if (!isOutermost)
            rest = rest.floorDiv(shape[inner]);
        }
      }
    } else {
      return !isa<ViewLikeOpInterface>(definition);
    }
    place.exprs = std::move(exprs);
    place.buffer = cast<ViewLikeOpInterface>(definition).getViewSource();
  }
  return true;
}

// The greatest and least value of an affine expression, where constants bound it.
struct Range {
  int64_t least, greatest;
};

std::optional<Range> combine(AffineExprKind kind, Range left, Range right) {
  constexpr int64_t limit = int64_t(1) << 31;
  auto isSmall = [](Range range) { return range.least > -limit && range.greatest < limit; };
  if (!isSmall(left) || !isSmall(right))
    return std::nullopt;
  if (kind == AffineExprKind::Add)
    return Range{left.least + right.least, left.greatest + right.greatest};
  bool isConstant = right.least == right.greatest;
  if (kind == AffineExprKind::Mul && isConstant) {
    int64_t a = left.least * right.least, b = left.greatest * right.least;
    return Range{std::min(a, b), std::max(a, b)};
  }
  if (kind == AffineExprKind::Mod && isConstant && right.least > 0)
    return Range{0, right.least - 1};
  return std::nullopt;
}

std::optional<Range> rangeOf(Value value);

std::optional<Range> rangeOf(AffineExpr expr, ValueRange operands, unsigned numDims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Range{constant.getValue(), constant.getValue()};
  if (auto dimension = dyn_cast<AffineDimExpr>(expr))
    return rangeOf(operands[dimension.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return rangeOf(operands[numDims + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<Range> left = rangeOf(binary.getLHS(), operands, numDims);
  std::optional<Range> right = rangeOf(binary.getRHS(), operands, numDims);
  if (!left || !right)
    return std::nullopt;
  return combine(expr.getKind(), *left, *right);
}

// Of an induction variable: all values that it takes in some iteration of the loops around.
std::optional<Range> rangeOf(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return Range{*constant, *constant};
  AffineForOp loop = affine::getForInductionVarOwner(value);
  if (!loop)
    return std::nullopt;
  std::optional<int64_t> least, greatest;
  auto visit = [](AffineMap map, ValueRange operands, auto take) {
    for (AffineExpr expr : map.getResults())
      if (std::optional<Range> range = rangeOf(expr, operands, map.getNumDims()))
        take(*range);
  };
  visit(loop.getLowerBoundMap(), loop.getLowerBoundOperands(),
        [&](Range range) { least = std::max(least.value_or(range.least), range.least); });
  visit(loop.getUpperBoundMap(), loop.getUpperBoundOperands(), [&](Range range) {
    greatest = std::min(greatest.value_or(range.greatest - 1), range.greatest - 1);
  });
  if (!least || !greatest)
    return std::nullopt;
  return Range{*least, std::max(*least, *greatest)};
}

class TensorExpander {
public:
  TensorExpander(AffineForOp root, Operation *twin, unsigned numOwners,
                 SmallVectorImpl<Operation *> &added, std::string &reason)
      : root(root), twin(twin), numOwners(numOwners), added(added), reason(reason) {}

  bool run() {
    SmallVector<GenericOp> generics;
    root.walk([&](GenericOp generic) { generics.push_back(generic); });
    int64_t levels = 0;
    for (GenericOp generic : generics)
      for (Operation *at = generic; at != root; at = at->getParentOp())
        levels += isa<AffineForOp>(at->getParentOp());
    if (levels > kMaxLevels)
      return fail(generics.front(), "is one of " + std::to_string(generics.size()) +
                                        " in the loop, which are too many to become operations "
                                        "over all of its iterations");
    // A loop with a step is counted, so that its blocks are known by their number.
    SmallVector<AffineForOp> loops;
    root.walk([&](AffineForOp loop) { loops.push_back(loop); });
    for (AffineForOp loop : loops)
      if (loop.getStepAsInt() != 1 && loop.hasConstantBounds())
        if (failed(affine::normalizeAffineFor(loop)))
          return fail(loop, "stands in a loop with a step that is not understood");
    hoistViews();
    for (GenericOp generic : generics)
      if (!standsInCountedLoops(generic) || !expand(generic))
        return false;
    foldViews();
    findBlocks();
    llvm::SetVector<Value> temporaries;
    root.walk([&](Operation *op) {
      if (op->getNumResults() == 1 && isa<memref::AllocOp>(op))
        temporaries.insert(op->getResult(0));
      for (Value operand : op->getOperands())
        if (operand.getDefiningOp<memref::AllocOp>())
          temporaries.insert(operand);
    });
    for (Value temporary : temporaries)
      if (!expandTemporary(temporary.getDefiningOp<memref::AllocOp>()))
        return false;
    splitSummedBlocks();
    return true;
  }

private:
  bool fail(Operation *op, const std::string &why) {
    unsigned line = lineOf(op);
    reason = "the tensor operation" + (line ? " on line " + std::to_string(line) : "") + " " + why;
    return false;
  }

  bool standsInCountedLoops(GenericOp generic) {
    for (Operation *op = generic->getParentOp(); op != root; op = op->getParentOp())
      if (!isa<AffineForOp, affine::AffineIfOp>(op))
        return fail(generic, "stands in a branch, or in a loop of which only the run tells how "
                             "often it runs");
    return true;
  }

  // Views of whole tensors that no iteration changes: followed, a reshaped one would have indices
  // that are sums or quotients.
  void hoistViews() {
    root.walk([&](Operation *op) {
      if (isa<memref::ExpandShapeOp, memref::CollapseShapeOp, memref::SubViewOp>(op) &&
          llvm::none_of(op->getOperands(), [&](Value operand) {
            return root->isAncestor(operand.getParentBlock()->getParentOp());
          }))
        op->moveBefore(root);
    });
  }

  // ---- operations as loops

  bool expand(GenericOp generic) {
    if (generic.getNumDpsInits() != 1)
      return fail(generic, "has several results");
    OpOperand &out = *generic.getDpsInitOperand(0);
    Type element = cast<MemRefType>(out.get().getType()).getElementType();
    // Raising would give it an accumulator of its own.
    bool isNarrow = element.isF16() || element.isBF16();
    if (generic.getNumReductionLoops() != 0 && isNarrow && !isExtremum(generic))
      return fail(generic, "adds up in 16 bits");
    SmallVector<int64_t> extents = generic.getStaticLoopRanges();
    if (llvm::any_of(extents, ShapedType::isDynamic))
      return fail(generic, "has a shape that only the run tells");
    Location loc = generic.getLoc();
    OpBuilder builder(generic);
    SmallVector<Value> variables(extents.size());
    for (auto [axis, extent] : llvm::enumerate(extents)) {
      if (extent == 1)
        continue;
      auto loop = builder.create<AffineForOp>(loc, 0, extent);
      loop->setAttr(kElementLoop, builder.getUnitAttr());
      if (generic.getIteratorTypesArray()[axis] == utils::IteratorType::reduction)
        reductionLoops.insert(loop);
      variables[axis] = loop.getInductionVar();
      builder.setInsertionPointToStart(loop.getBody());
    }
    IRMapping mapping;
    Place destination;
    for (OpOperand &operand : generic->getOpOperands()) {
      std::optional<Place> place =
          placeOf(operand.get(), generic.getMatchingIndexingMap(&operand), variables);
      if (!place)
        return fail(generic, "has an operand whose place is not affine in the loops around it");
      if (&operand == &out)
        destination = *place;
      if (!generic.payloadUsesValueFromOperand(&operand))
        continue;
      auto [map, values] = place->composed();
      mapping.map(generic.getMatchingBlockArgument(&operand),
                  builder.create<affine::AffineLoadOp>(loc, place->buffer, map, values));
    }
    for (Operation &op : generic.getBody()->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(op)) {
        Value variable = variables[index.getDim()];
        mapping.map(index.getResult(),
                    variable ? variable : builder.create<arith::ConstantIndexOp>(loc, 0));
        continue;
      }
      builder.clone(op, mapping);
    }
    Value result = mapping.lookupOrDefault(generic.getBody()->getTerminator()->getOperand(0));
    auto [map, values] = destination.composed();
    builder.create<affine::AffineStoreOp>(loc, result, destination.buffer, map, values);
    generic.erase();
    return true;
  }

  static bool isExtremum(GenericOp generic) {
    Operation *last = generic.getBody()->getTerminator()->getOperand(0).getDefiningOp();
    return isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
                           arith::MinNumFOp>(last);
  }

  // The element of `memref` that `map` names for the loop variables; a null one is always 0.
  std::optional<Place> placeOf(Value memref, AffineMap map, ArrayRef<Value> variables) {
    Place place{memref, {}, {}};
    SmallVector<AffineExpr> replacements;
    for (Value variable : variables)
      replacements.push_back(variable ? place.dimensionOf(variable)
                                      : getAffineConstantExpr(0, memref.getContext()));
    for (AffineExpr expr : map.getResults())
      place.exprs.push_back(expr.replaceDims(replacements));
    if (!followViews(place, root))
      return std::nullopt;
    return place;
  }

  // ---- loads and stores through views

  void foldViews() {
    SmallVector<Operation *> accesses, views;
    root.walk([&](Operation *op) {
      if (isa<affine::AffineLoadOp, affine::AffineStoreOp>(op))
        accesses.push_back(op);
      if (isa<ViewLikeOpInterface>(op))
        views.push_back(op);
    });
    for (Operation *op : accesses) {
      affine::MemRefAccess access(op);
      if (!access.memref.getDefiningOp<ViewLikeOpInterface>() ||
          !root->isAncestor(access.memref.getDefiningOp()))
        continue;
      affine::AffineValueMap map;
      access.getAccessMap(&map);
      Place place{access.memref, {}, llvm::to_vector(map.getOperands())};
      SmallVector<AffineExpr> symbols;
      for (unsigned s = 0; s < map.getNumSymbols(); ++s)
        symbols.push_back(getAffineDimExpr(map.getNumDims() + s, op->getContext()));
      for (AffineExpr expr : map.getAffineMap().getResults())
        place.exprs.push_back(expr.replaceSymbols(symbols));
      if (followViews(place, root))
        replaceAccess(op, place);
    }
    for (Operation *view : llvm::reverse(views))
      if (view->use_empty())
        view->erase();
  }

  static void replaceAccess(Operation *op, const Place &place) {
    auto [map, values] = place.composed();
    OpBuilder builder(op);
    if (auto load = dyn_cast<affine::AffineLoadOp>(op))
      load.replaceAllUsesWith(
          builder.create<affine::AffineLoadOp>(op->getLoc(), place.buffer, map, values)
              .getResult());
    else
      builder.create<affine::AffineStoreOp>(op->getLoc(),
                                            cast<affine::AffineStoreOp>(op).getValueToStore(),
                                            place.buffer, map, values);
    op->erase();
  }

  // ---- blocks of rows

  // An axis of a temporary, or (with axis -1) a loop variable.
  using Node = std::pair<const void *, int64_t>;

  static Node nodeOf(Value value, int64_t axis = -1) { return {value.getAsOpaquePointer(), axis}; }

  // Groups axes of temporaries with the loop variables that run along them, and says of a loop
  // variable t of T values which loop i stands beside it, in indices T * i + t of other tensors.
  void findBlocks() {
    root.walk([&](Operation *op) {
      if (!isa<affine::AffineLoadOp, affine::AffineStoreOp>(op))
        return;
      affine::MemRefAccess access(op);
      affine::AffineValueMap map;
      access.getAccessMap(&map);
      for (int64_t axis = 0; axis < map.getNumResults(); ++axis) {
        AffineExpr expr = map.getResult(axis);
        if (access.memref.getDefiningOp<memref::AllocOp>()) {
          if (auto dimension = dyn_cast<AffineDimExpr>(expr))
            axes.unionSets(nodeOf(access.memref, axis),
                           nodeOf(map.getOperand(dimension.getPosition())));
          continue;
        }
        SmallVector<std::pair<Value, int64_t>> terms;
        if (!collectTerms(expr, map, terms))
          continue;
        for (auto [inner, one] : terms)
          for (auto [outer, factor] : terms)
            if (AffineForOp loop = affine::getForInductionVarOwner(inner);
                loop && one == 1 && factor > 1 && loop.hasConstantBounds() &&
                loop.getConstantLowerBound() == 0 && loop.getConstantUpperBound() == factor)
              blocks[inner].insert(outer);
      }
    });
  }

  // `expr` as a sum of variables times factors, its constant left out.
  static bool collectTerms(AffineExpr expr, const affine::AffineValueMap &map,
                           SmallVectorImpl<std::pair<Value, int64_t>> &terms) {
    if (isa<AffineConstantExpr>(expr))
      return true;
    int64_t factor = 1;
    if (auto product = dyn_cast<AffineBinaryOpExpr>(expr)) {
      if (product.getKind() == AffineExprKind::Add)
        return collectTerms(product.getLHS(), map, terms) &&
               collectTerms(product.getRHS(), map, terms);
      auto constant = dyn_cast<AffineConstantExpr>(product.getRHS());
      if (product.getKind() != AffineExprKind::Mul || !constant)
        return false;
      factor = constant.getValue();
      expr = product.getLHS();
    }
    if (isa<AffineSymbolExpr>(expr))
      return true;
    auto dimension = dyn_cast<AffineDimExpr>(expr);
    if (!dimension)
      return false;
    terms.push_back({map.getOperand(dimension.getPosition()), factor});
    return true;
  }

  // The one loop whose iterations are blocks along this axis, or null.
  Value blockLoopOf(Value temporary, int64_t axis) {
    llvm::SetVector<Value> found;
    auto self = axes.findLeader(nodeOf(temporary, axis));
    if (self == axes.member_end())
      return Value();
    for (auto &[variable, loops] : blocks)
      if (axes.findLeader(nodeOf(variable)) == self)
        found.insert(loops.begin(), loops.end());
    return found.size() == 1 ? found.front() : Value();
  }

  // A result for each block i of what is added up over t, x[T * i + t], is a sum of the rows of x
  // in another shape, x[i, t].
  void splitSummedBlocks() {
    SmallVector<affine::AffineStoreOp> stores;
    root.walk([&](affine::AffineStoreOp store) {
      if (reductionLoops.contains(store->getParentOp()))
        stores.push_back(store);
    });
    for (affine::AffineStoreOp store : stores)
      for (auto load :
           llvm::make_early_inc_range(store->getBlock()->getOps<affine::AffineLoadOp>()))
        if (isReadOnly(load.getMemRef()))
          splitIndices(load, store);
  }

  bool isReadOnly(Value buffer) {
    return !root->isAncestor(buffer.getParentBlock()->getParentOp()) && !mayWrite(root, buffer);
  }

  void splitIndices(affine::AffineLoadOp load, affine::AffineStoreOp store) {
    affine::AffineValueMap map, written;
    affine::MemRefAccess(load).getAccessMap(&map);
    affine::MemRefAccess(store).getAccessMap(&written);
    SmallVector<Value> target(written.getOperands());
    target.append(cellOwners.lookup(store.getMemRef()));
    auto type = cast<MemRefType>(load.getMemRefType());
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> exprs;
    SmallVector<ReassociationIndices> groups;
    for (unsigned axis = 0; axis < map.getNumResults(); ++axis) {
      AffineExpr expr = map.getResult(axis);
      int64_t size = type.getDimSize(axis);
      groups.emplace_back();
      auto addAxis = [&](int64_t extent, AffineExpr index) {
        groups.back().push_back(static_cast<int64_t>(shape.size()));
        shape.push_back(extent);
        exprs.push_back(index);
      };
      std::optional<std::pair<unsigned, int64_t>> inner = summedInBlocks(expr, map, target);
      if (!inner || ShapedType::isDynamic(size) || size % inner->second != 0) {
        addAxis(size, expr);
        continue;
      }
      auto [dimension, extent] = *inner;
      AffineExpr place = getAffineDimExpr(dimension, load.getContext());
      addAxis(size / extent, simplifyAffineExpr((expr - place).floorDiv(extent), map.getNumDims(),
                                                map.getNumSymbols()));
      addAxis(extent, place);
    }
    if (shape.size() == map.getNumResults())
      return;
    FailureOr<MemRefType> split = memref::ExpandShapeOp::computeExpandedType(type, shape, groups);
    if (failed(split))
      return;
    Value &view = splitViews[{load.getMemRef(), *split}];
    if (!view)
      view = OpBuilder(root).create<memref::ExpandShapeOp>(load.getLoc(), *split, load.getMemRef(),
                                                           groups);
    OpBuilder builder(load);
    load.replaceAllUsesWith(
        builder
            .create<affine::AffineLoadOp>(
                load.getLoc(), view,
                AffineMap::get(map.getNumDims(), map.getNumSymbols(), exprs, load.getContext()),
                map.getOperands())
            .getResult());
    load.erase();
  }

  // Whether an index is T * i + t + T * c, where t of T values is added up and i is one of
  // `target`, what tells the results apart: the dimension of t, and T.
  std::optional<std::pair<unsigned, int64_t>>
  summedInBlocks(AffineExpr expr, const affine::AffineValueMap &map, ArrayRef<Value> target) {
    SmallVector<std::pair<Value, int64_t>> terms;
    if (!collectTerms(expr, map, terms) || terms.size() != 2)
      return std::nullopt;
    if (terms[0].second != 1)
      std::swap(terms[0], terms[1]);
    auto [inner, one] = terms[0];
    auto [outer, factor] = terms[1];
    AffineForOp loop = affine::getForInductionVarOwner(inner);
    if (one != 1 || factor < 2 || !loop || !reductionLoops.contains(loop) ||
        !loop.hasConstantBounds() || loop.getConstantUpperBound() != factor ||
        !llvm::is_contained(target, outer))
      return std::nullopt;
    unsigned dimension = llvm::find(map.getOperands(), inner) - map.getOperands().begin();
    AffineExpr rest = expr - getAffineDimExpr(dimension, expr.getContext());
    if (dimension >= map.getNumDims() ||
        !simplifyAffineExpr(rest, map.getNumDims(), map.getNumSymbols()).isMultipleOf(factor))
      return std::nullopt;
    return std::pair(dimension, factor);
  }

  // ---- temporaries

  // The loops that each have a temporary of their own, outermost first.
  SmallVector<AffineForOp> ownersOf(memref::AllocOp temporary) {
    SmallVector<Operation *> users;
    for (Operation *user : temporary->getUsers())
      if (!twin->isAncestor(user))
        users.push_back(user);
    bool isInside = root->isProperAncestor(temporary);
    if (users.empty() ||
        !llvm::all_of(users, [&](Operation *user) { return root->isProperAncestor(user); }))
      return {};
    // The innermost block around all users; loops that stand for an operation are part of it.
    Block *block = users[0]->getBlock();
    auto isOutermost = [&] { return block == root.getBody(); };
    auto holdsAll = [&] {
      return llvm::all_of(
          users, [&](Operation *user) { return block->findAncestorOpInBlock(*user) != nullptr; });
    };
    while (!isOutermost() && (!holdsAll() || !isa<AffineForOp>(block->getParentOp()) ||
                              block->getParentOp()->hasAttr(kElementLoop)))
      block = block->getParentOp()->getBlock();
    if (!isOverwrittenFirst(*block, temporary, users)) {
      if (!isInside)
        return {};
      block = temporary->getBlock();
    }
    SmallVector<AffineForOp> owners;
    for (Operation *op = block->getParentOp();; op = op->getParentOp()) {
      if (auto loop = dyn_cast<AffineForOp>(op))
        owners.push_back(loop);
      if (op == root)
        break;
    }
    std::reverse(owners.begin(), owners.end());
    if (owners.size() > numOwners)
      owners.truncate(numOwners);
    return owners;
  }

  // Whether the first op of the block that uses the temporary writes all of its elements and reads
  // none.
  bool isOverwrittenFirst(Block &block, memref::AllocOp temporary, ArrayRef<Operation *> users) {
    Operation *first = nullptr;
    for (Operation *user : users) {
      Operation *op = block.findAncestorOpInBlock(*user);
      if (!first || op->isBeforeInBlock(first))
        first = op;
    }
    SmallVector<Operation *> own;
    for (Operation *user : users)
      if (first->isAncestor(user))
        own.push_back(user);
    auto store = own.size() == 1 ? dyn_cast<affine::AffineStoreOp>(own[0]) : nullptr;
    if (!store)
      return false;
    // Every element: an index is a loop of its own over the whole axis.
    affine::AffineValueMap map;
    affine::MemRefAccess(store).getAccessMap(&map);
    llvm::SmallPtrSet<Operation *, 4> running;
    for (auto [expr, size] :
         llvm::zip(map.getAffineMap().getResults(), temporary.getType().getShape())) {
      if (size == 1 && expr == 0)
        continue;
      auto dimension = dyn_cast<AffineDimExpr>(expr);
      AffineForOp loop =
          dimension ? affine::getForInductionVarOwner(map.getOperand(dimension.getPosition()))
                    : AffineForOp();
      if (!loop || !loop.hasConstantBounds() || loop.getConstantLowerBound() != 0 ||
          loop.getConstantUpperBound() != size || loop.getStepAsInt() != 1 ||
          !first->isAncestor(loop) || !running.insert(loop).second)
        return false;
    }
    // And nothing between may keep the store from running.
    for (Operation *op = store; op != first; op = op->getParentOp())
      if (op != store && !running.contains(op))
        return false;
    return first == store.getOperation() || running.contains(first);
  }

  bool expandTemporary(memref::AllocOp temporary) {
    SmallVector<AffineForOp> owners = ownersOf(temporary);
    if (owners.empty())
      return true; // what it carries is a dependence
    SmallVector<Operation *> accesses;
    for (Operation *user : temporary->getUsers()) {
      if (twin->isAncestor(user))
        continue;
      auto store = dyn_cast<affine::AffineStoreOp>(user);
      if (!isa<affine::AffineLoadOp>(user) && !(store && store.getMemRef() == temporary))
        return fail(user, "uses a tensor of its iteration in a way that is not affine");
      accesses.push_back(user);
    }
    if (temporary.getType().hasStaticShape() && temporary.getType().getNumElements() == 1)
      return makeCell(temporary, accesses, owners);
    MLIRContext *context = temporary->getContext();
    ArrayRef<int64_t> shape = temporary.getType().getShape();
    // Each loop has an axis of its own in front, or multiplies one that holds its blocks.
    SmallVector<int64_t> newShape, ofAxis(shape.size(), -1);
    SmallVector<AffineExpr> numbers; // of iterations; dimension i is owner i
    SmallVector<unsigned> leading;
    SmallVector<int64_t> counts;
    for (unsigned index = 0; index < owners.size(); ++index) {
      AffineForOp loop = owners[index];
      std::optional<Range> range = rangeOf(loop.getInductionVar());
      if (!range)
        return fail(temporary, "stands in a loop of which only the run tells how often it runs");
      counts.push_back(range->greatest - range->least + 1);
      numbers.push_back(getAffineDimExpr(index, context) - range->least);
      SmallVector<int64_t> along;
      for (unsigned axis = 0; axis < shape.size(); ++axis)
        if (blockLoopOf(temporary, axis) == loop.getInductionVar())
          along.push_back(axis);
      if (along.size() == 1 && range->least == 0)
        ofAxis[along[0]] = index;
      else
        leading.push_back(index);
    }
    int64_t elements = 1;
    auto addAxis = [&](int64_t size) {
      newShape.push_back(size);
      return !__builtin_mul_overflow(elements, size, &elements) && elements <= kMaxElements;
    };
    bool isReasonable = true;
    for (unsigned index : leading)
      isReasonable &= addAxis(counts[index]);
    SmallVector<bool> isKept;
    for (auto [axis, size] : llvm::enumerate(shape)) {
      isKept.push_back(size != 1 || ofAxis[axis] >= 0);
      if (isKept.back())
        isReasonable &= addAxis(ofAxis[axis] >= 0 ? size * counts[ofAxis[axis]] : size);
    }
    if (!isReasonable)
      return fail(temporary, "computes what would take " + std::to_string(kMaxElements) +
                                 " elements or more for all iterations together");
    OpBuilder outside = atEntry();
    auto whole = outside.create<memref::AllocOp>(
        temporary.getLoc(), MemRefType::get(newShape, temporary.getType().getElementType()));
    whole->setDiscardableAttrs(temporary->getDiscardableAttrDictionary());
    whole->removeAttr(ir::AscDialect::kShared);
    added.push_back(whole);
    for (Operation *op : accesses) {
      affine::AffineValueMap map;
      affine::MemRefAccess(op).getAccessMap(&map);
      Place place{whole, {}, {}};
      for (AffineForOp loop : owners)
        place.dimensionOf(loop.getInductionVar());
      SmallVector<AffineExpr> dims, symbols;
      for (auto [position, operand] : llvm::enumerate(map.getOperands()))
        (position < map.getNumDims() ? dims : symbols).push_back(place.dimensionOf(operand));
      for (unsigned index : leading)
        place.exprs.push_back(numbers[index]);
      for (auto [axis, expr] : llvm::enumerate(map.getAffineMap().getResults())) {
        if (!isKept[axis])
          continue;
        AffineExpr inside = expr.replaceDimsAndSymbols(dims, symbols);
        place.exprs.push_back(ofAxis[axis] >= 0 ? numbers[ofAxis[axis]] * shape[axis] + inside
                                                : inside);
      }
      replaceAccess(op, place);
    }
    if (root->isProperAncestor(temporary))
      temporary.erase();
    return true;
  }

  // One element is a variable like others, whose expansion is the business of expand_cells.h.
  bool makeCell(memref::AllocOp temporary, ArrayRef<Operation *> accesses,
                ArrayRef<AffineForOp> owners) {
    auto function = root->getParentOfType<func::FuncOp>();
    OpBuilder outside = OpBuilder::atBlockBegin(&function.getBody().front());
    auto cell = outside.create<memref::AllocaOp>(
        temporary.getLoc(), MemRefType::get({}, temporary.getType().getElementType()));
    added.push_back(cell);
    for (AffineForOp loop : owners)
      cellOwners[cell].push_back(loop.getInductionVar());
    for (Operation *op : accesses)
      replaceAccess(op, Place{cell, {}, {}});
    if (root->isProperAncestor(temporary))
      temporary.erase();
    return true;
  }

  // Where temporaries stand: in the body of the parallel loop around, or at the function's top.
  OpBuilder atEntry() {
    for (Operation *op = root->getParentOp(); op; op = op->getParentOp()) {
      bool isParallel = isa<AffineForOp>(op) && op->hasAttr(ir::AscDialect::kParallel);
      if (isParallel || isa<func::FuncOp>(op))
        return OpBuilder::atBlockBegin(&op->getRegion(0).front());
    }
    return OpBuilder(root);
  }

  AffineForOp root;
  Operation *twin;
  unsigned numOwners;
  SmallVectorImpl<Operation *> &added;
  std::string &reason;
  llvm::DenseSet<Operation *> reductionLoops; // of the loops that stand for operations
  llvm::DenseMap<std::pair<Value, Type>, Value> splitViews;
  llvm::DenseMap<Value, SmallVector<Value>> cellOwners; // loop variables
  llvm::EquivalenceClasses<Node> axes;
  llvm::MapVector<Value, llvm::SetVector<Value>> blocks;
};

} // namespace

bool hasTensorOperations(AffineForOp loop) {
  return loop.walk([](GenericOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

bool expandTensors(AffineForOp loop, Operation *twin, unsigned numOwners,
                   SmallVectorImpl<Operation *> &temporaries, std::string &reason) {
  return TensorExpander(loop, twin, numOwners, temporaries, reason).run();
}

} // namespace pyasc
