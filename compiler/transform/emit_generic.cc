#include "compiler/transform/emit_generic.h"

#include "compiler/transform/index_expr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/IntegerSet.h"

namespace pyasc {

using namespace mlir;

namespace {

bool isSixteenBitFloat(Type type) { return type.isF16() || type.isBF16(); }

class GenericEmitter {
public:
  GenericEmitter(OpBuilder &builder, const Nest &nest, const RaisePlan &plan,
                 const EmitContext &context)
      : b(builder), nest(nest), plan(plan), statement(nest.statements[plan.statement]),
        context(context), loc(statement.op->getLoc()),
        index(nest, builder.getContext(), context.materialize) {}

  void run() {
    if (!plan.guards.empty())
      enterGuards();
    for (const RaisedDimension &dimension : plan.dimensions)
      if (!addExtent(dimension))
        return; // an empty interval
    // A dimension of one element is no dimension: MLIR cannot tell it from dropped ones in views.
    for (OpFoldResult size : extents)
      places.push_back(isConstantIntValue(size, 1) ? std::nullopt : std::optional(numPlaces++));
    makeOperands();
    if (!plan.update)
      return emitElementwise();
    // Extrema are as exact in 16 bits.
    bool isSum = plan.update->combine == Combine::Add;
    bool isHalf =
        isSixteenBitFloat(cast<MemRefType>(destination.memref.getType()).getElementType());
    isHalf && (isSum || plan.update->type.isF32())
        ? emitHalfReduction()
        : emitReduction(destination.memref, destination.map);
  }

private:
  struct Operand {
    const Access *access;
    Value memref;
    AffineMap map;
  };

  // ---- index arithmetic over the fixed variables

  AffineExpr exprOf(const LinearForm &form) { return index.of(form); }

  OpFoldResult apply(AffineExpr expr, ArrayRef<OpFoldResult> extra = {}) {
    SmallVector<OpFoldResult> all(index.operands);
    all.append(extra.begin(), extra.end());
    return affine::makeComposedFoldedAffineApply(b, loc, AffineMap::get(all.size(), 0, expr), all);
  }

  OpFoldResult extreme(ArrayRef<AffineExpr> exprs, bool isMax) {
    if (exprs.size() == 1)
      return apply(exprs[0]);
    AffineMap map = AffineMap::get(index.operands.size(), 0, exprs, b.getContext());
    return isMax ? affine::makeComposedFoldedAffineMax(b, loc, map, index.operands)
                 : affine::makeComposedFoldedAffineMin(b, loc, map, index.operands);
  }

  void enterGuards() {
    SmallVector<AffineExpr> exprs;
    SmallVector<bool> equalities;
    for (const Constraint &guard : plan.guards) {
      exprs.push_back(exprOf(guard.form));
      equalities.push_back(guard.isEquality);
    }
    SmallVector<Value> values;
    for (OpFoldResult operand : index.operands)
      values.push_back(cast<Value>(operand));
    auto branch = b.create<affine::AffineIfOp>(
        loc, IntegerSet::get(values.size(), 0, exprs, equalities), values,
        /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.getThenBlock());
  }

  bool addExtent(const RaisedDimension &dimension) {
    unsigned y = plan.firstDimension + (&dimension - plan.dimensions.data());
    SmallVector<AffineExpr> lowers, uppers; // inclusive
    for (const Constraint &constraint : dimension.interval) {
      LinearForm rest = constraint.form;
      int64_t factor = rest[y];
      rest.set(y, 0);
      AffineExpr expr = exprOf(rest);
      if (factor > 0 || constraint.isEquality)
        lowers.push_back(factor > 0 ? (-expr).ceilDiv(factor) : expr.ceilDiv(-factor));
      if (factor < 0 || constraint.isEquality)
        uppers.push_back(factor > 0 ? (-expr).floorDiv(factor) : expr.floorDiv(-factor));
    }
    OpFoldResult lower = extreme(lowers, /*isMax=*/true);
    OpFoldResult size;
    if (lowers.size() == 1) {
      SmallVector<AffineExpr> sizes;
      for (AffineExpr upper : uppers)
        sizes.push_back(upper - lowers[0] + 1);
      size = extreme(sizes, /*isMax=*/false);
    } else {
      OpFoldResult upper = extreme(uppers, /*isMax=*/false);
      size = affine::makeComposedFoldedAffineApply(
          b, loc, AffineMap::get(2, 0, b.getAffineDimExpr(0) - b.getAffineDimExpr(1) + 1),
          {upper, lower});
    }
    if (std::optional<int64_t> constant = getConstantIntValue(size)) {
      if (*constant <= 0)
        return false;
    } else if (dimension.mayBeEmpty) {
      size = affine::makeComposedFoldedAffineMax(
          b, loc,
          AffineMap::get(1, 0, {b.getAffineDimExpr(0), b.getAffineConstantExpr(0)}, b.getContext()),
          {size});
    }
    starts.push_back(lower);
    extents.push_back(size);
    return true;
  }

  // ---- operands

  Operand makeOperand(const Access &access, Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    SmallVector<OpFoldResult> offsets, sizes, strides;
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> results;
    bool isWhole = true;
    for (auto [axis, row] : llvm::enumerate(access.rows)) {
      DimensionUse use = useOf(nest, plan, row);
      AffineExpr offset = exprOf(use.offset);
      if (!use.window.empty()) {
        addWindow(use, offset, offsets, sizes, shape, results);
        strides.push_back(b.getIndexAttr(1));
        isWhole &= results.size() == shape.size() && !shape.empty() &&
                   isConstantIntValue(offsets.back(), 0) &&
                   getConstantIntValue(sizes.back()) == type.getDimSize(axis) &&
                   shape.back() == type.getDimSize(axis);
        continue;
      }
      if (!use.dimension) {
        offsets.push_back(apply(offset));
        sizes.push_back(b.getIndexAttr(1));
        strides.push_back(b.getIndexAttr(1));
        isWhole = false;
        continue;
      }
      OpFoldResult lower = starts[*use.dimension], size = extents[*use.dimension];
      std::optional<unsigned> place = places[*use.dimension];
      offsets.push_back(
          apply(offset + b.getAffineDimExpr(index.operands.size()) * use.stride, {lower}));
      sizes.push_back(size);
      if (!place) {
        strides.push_back(b.getIndexAttr(1));
        isWhole = false;
        continue;
      }
      strides.push_back(b.getIndexAttr(use.stride));
      shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
      results.push_back(b.getAffineDimExpr(*place));
      isWhole &= isConstantIntValue(offsets.back(), 0) && use.stride == 1 &&
                 shape.back() == type.getDimSize(axis);
    }
    Value view = memref;
    if (!isWhole) {
      auto viewType = cast<MemRefType>(
          memref::SubViewOp::inferRankReducedResultType(shape, type, offsets, sizes, strides));
      view = b.create<memref::SubViewOp>(loc, viewType, memref, offsets, sizes, strides);
    }
    return {&access, view, AffineMap::get(numPlaces, 0, results, b.getContext())};
  }

  // An axis whose index is a sum of dimensions: as long as the sum runs.
  void addWindow(const DimensionUse &use, AffineExpr offset, SmallVector<OpFoldResult> &offsets,
                 SmallVector<OpFoldResult> &sizes, SmallVector<int64_t> &shape,
                 SmallVector<AffineExpr> &results) {
    SmallVector<OpFoldResult> lowers, lengths;
    AffineExpr size = b.getAffineConstantExpr(1), place = b.getAffineConstantExpr(0);
    bool isDimension = false;
    for (auto [dimension, factor] : use.window) {
      offset = offset + b.getAffineDimExpr(index.operands.size() + lowers.size()) * factor;
      size = size + (b.getAffineDimExpr(lowers.size()) - 1) * factor;
      lowers.push_back(starts[dimension]);
      lengths.push_back(extents[dimension]);
      if (places[dimension]) {
        place = place + b.getAffineDimExpr(*places[dimension]) * factor;
        isDimension = true;
      }
    }
    offsets.push_back(apply(offset, lowers));
    sizes.push_back(affine::makeComposedFoldedAffineApply(
        b, loc, AffineMap::get(lengths.size(), 0, size), lengths));
    if (!isDimension)
      return; // one element
    shape.push_back(getConstantIntValue(sizes.back()).value_or(ShapedType::kDynamic));
    results.push_back(place);
  }

  void makeOperands() {
    const Access &write = statement.accesses[0];
    destination = makeOperand(write, write.memref);
    for (const Access &access : statement.accesses) {
      if (access.isWrite)
        continue;
      if (plan.update && access.op == plan.update->load)
        continue;
      if (isSamePlace(access, write) && !plan.update) {
        readsOld = true;
        continue;
      }
      if (llvm::none_of(inputs,
                        [&](const Operand &known) { return isSamePlace(*known.access, access); }))
        inputs.push_back(makeOperand(access, access.memref));
    }
  }

  static bool isSamePlace(const Access &a, const Access &b) {
    return a.memref == b.memref && a.rows == b.rows;
  }

  // ---- the body

  // Maps loads to block arguments and rebuilds the pure ops between them and `value`.
  Value build(OpBuilder &body, IRMapping &mapping, Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *definition = value.getDefiningOp();
    if (const LinearForm *form = nest.formOf(value)) {
      Value result = buildIndex(body, *form, value);
      mapping.map(value, result);
      return result;
    }
    if (!definition || !statement.slice.contains(definition)) {
      if (definition && definition->hasTrait<OpTrait::ConstantLike>())
        return body.clone(*definition)->getResult(0);
      return context.materialize(value);
    }
    for (Value operand : definition->getOperands())
      build(body, mapping, operand);
    IRMapping local = mapping;
    for (Value operand : definition->getOperands())
      if (!local.contains(operand))
        local.map(operand, build(body, mapping, operand));
    Operation *copy = body.clone(*definition, local);
    mapping.map(value, copy->getResult(cast<OpResult>(value).getResultNumber()));
    return mapping.lookup(value);
  }

  // dimension * (linalg.index + lower bound) ... + what is fixed
  Value buildIndex(OpBuilder &body, const LinearForm &form, Value value) {
    auto factors = *coefficientsOver(nest, plan, form);
    LinearForm rest =
        form.restrictedTo([&](unsigned v) { return !nest.varies(v, innerLoops(nest, plan)); });
    rest.constant = form.constant;
    AffineExpr expr = exprOf(rest);
    SmallVector<OpFoldResult> extra;
    for (auto [dimension, factor] : llvm::enumerate(factors)) {
      if (factor == 0)
        continue;
      std::optional<unsigned> place = places[dimension];
      extra.push_back(place ? OpFoldResult(body.create<linalg::IndexOp>(loc, *place).getResult())
                            : OpFoldResult(body.getIndexAttr(0)));
      extra.push_back(starts[dimension]);
      unsigned position = index.operands.size() + extra.size();
      expr = expr +
             (body.getAffineDimExpr(position - 2) + body.getAffineDimExpr(position - 1)) * factor;
    }
    SmallVector<OpFoldResult> all(index.operands);
    all.append(extra);
    OpFoldResult result =
        affine::makeComposedFoldedAffineApply(body, loc, AffineMap::get(all.size(), 0, expr), all);
    return getValueOrCreateConstantIndexOp(body, loc, result);
  }

  IRMapping mapArguments(ValueRange arguments, ArrayRef<Operand> ins) {
    IRMapping mapping;
    for (const Access &access : statement.accesses)
      if (!access.isWrite)
        for (auto [operand, argument] : llvm::zip(ins, arguments))
          if (isSamePlace(*operand.access, access))
            mapping.map(access.op->getResult(0), argument);
    return mapping;
  }

  SmallVector<utils::IteratorType> iterators() const {
    SmallVector<utils::IteratorType> kinds;
    for (auto [dimension, place] : llvm::zip(plan.dimensions, places))
      if (place)
        kinds.push_back(dimension.isReduction ? utils::IteratorType::reduction
                                              : utils::IteratorType::parallel);
    return kinds;
  }

  template <typename Body>
  void createGeneric(ArrayRef<Operand> ins, Value out, AffineMap outMap, Body body) {
    SmallVector<Value> inputValues;
    SmallVector<AffineMap> maps;
    for (const Operand &operand : ins) {
      inputValues.push_back(operand.memref);
      maps.push_back(operand.map);
    }
    maps.push_back(outMap);
    b.create<linalg::GenericOp>(loc, TypeRange{}, inputValues, ValueRange{out}, maps, iterators(),
                                [&](OpBuilder &inner, Location where, ValueRange arguments) {
                                  Value result = body(inner, arguments);
                                  inner.create<linalg::YieldOp>(where, result);
                                });
  }

  void emitElementwise() {
    createGeneric(inputs, destination.memref, destination.map,
                  [&](OpBuilder &inner, ValueRange arguments) {
                    IRMapping mapping = mapArguments(arguments, inputs);
                    if (readsOld)
                      for (const Access &access : statement.accesses)
                        if (!access.isWrite && isSamePlace(access, statement.accesses[0]))
                          mapping.map(access.op->getResult(0), arguments.back());
                    return build(inner, mapping, bodyRoots(statement, std::nullopt)[0]);
                  });
  }

  // The value of one term in the accumulator's type.
  Value buildTerm(OpBuilder &inner, IRMapping &mapping, const UpdateTerm &term, Type type) {
    Value value;
    auto product = term.value.getDefiningOp<arith::MulFOp>();
    if (product && isSixteenBitFloat(product.getType()) && type.isF32() &&
        plan.update->combine == Combine::Add && statement.slice.contains(product)) {
      // 16-bit products accumulate in float32 without being rounded first.
      Value lhs = inner.create<arith::ExtFOp>(loc, type, build(inner, mapping, product.getLhs()));
      Value rhs = inner.create<arith::ExtFOp>(loc, type, build(inner, mapping, product.getRhs()));
      value = inner.create<arith::MulFOp>(loc, lhs, rhs);
    } else {
      value = build(inner, mapping, term.value);
      if (value.getType() != type)
        value = inner.create<arith::ExtFOp>(loc, type, value);
    }
    if (!term.isNegated)
      return value;
    if (isa<FloatType>(type))
      return inner.create<arith::NegFOp>(loc, value);
    Value zero = inner.create<arith::ConstantOp>(loc, inner.getIntegerAttr(type, 0));
    return inner.create<arith::SubIOp>(loc, zero, value);
  }

  // Loads that a term is computed from, as operands.
  SmallVector<Operand> inputsOf(const UpdateTerm &term) {
    llvm::SmallPtrSet<Operation *, 8> reached;
    SmallVector<Value> worklist{term.value};
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      Operation *definition = value.getDefiningOp();
      if (nest.formOf(value) || !definition || !statement.slice.contains(definition) ||
          !reached.insert(definition).second)
        continue;
      llvm::append_range(worklist, definition->getOperands());
    }
    SmallVector<Operand> result;
    for (const Operand &operand : inputs)
      if (llvm::any_of(statement.accesses, [&](const Access &access) {
            return reached.contains(access.op) && isSamePlace(access, *operand.access);
          }))
        result.push_back(operand);
    return result;
  }

  // Sums of products (written-out taps) become one contraction a product.
  bool isSumOfProducts(const Update &update) {
    if (update.combine != Combine::Add || update.terms.size() < 2)
      return false;
    return llvm::all_of(update.terms, [&](const UpdateTerm &term) {
      Operation *op = term.value.getDefiningOp();
      if (!op || !isa<arith::MulFOp, arith::MulIOp>(op))
        return false;
      llvm::SmallBitVector covered(numPlaces);
      auto cover = [&](AffineMap map) {
        for (unsigned place = 0; place < numPlaces; ++place)
          if (map.isFunctionOfDim(place))
            covered.set(place);
      };
      cover(destination.map);
      for (const Operand &operand : inputsOf(term))
        cover(operand.map);
      return covered.all();
    });
  }

  void emitReduction(Value out, AffineMap outMap) {
    const Update &update = *plan.update;
    std::vector<SmallVector<UpdateTerm>> parts;
    if (isSumOfProducts(update))
      for (const UpdateTerm &term : update.terms)
        parts.push_back({term});
    else
      parts.push_back(llvm::to_vector(ArrayRef<UpdateTerm>(update.terms)));
    for (ArrayRef<UpdateTerm> part : parts) {
      SmallVector<Operand> ins = parts.size() == 1 ? inputs : inputsOf(part[0]);
      createGeneric(ins, out, outMap, [&](OpBuilder &inner, ValueRange arguments) {
        IRMapping mapping = mapArguments(arguments, ins);
        Type type = arguments.back().getType();
        // Terms are added up before they meet the old value, as contractions want it. A product of
        // them could overflow where the one that is written does not.
        bool isSum = update.combine == Combine::Add;
        Value old = arguments.back(), result = isSum ? Value() : old;
        for (const UpdateTerm &term : part) {
          Value value = buildTerm(inner, mapping, term, type);
          result = result ? buildCombine(inner, loc, update.combine, result, value) : value;
        }
        return isSum ? buildCombine(inner, loc, update.combine, old, result) : result;
      });
    }
  }

  void emitHalfReduction() {
    auto viewType = cast<MemRefType>(destination.memref.getType());
    Value wide;
    {
      OpBuilder outside = OpBuilder::atBlockBegin(context.allocationBlock);
      auto shape = viewType.hasStaticShape()
                       ? viewType.getShape()
                       : cast<MemRefType>(statement.accesses[0].memref.getType()).getShape();
      wide = outside.create<memref::AllocOp>(loc, MemRefType::get(shape, b.getF32Type()));
    }
    if (!viewType.hasStaticShape())
      wide = makeOperand(statement.accesses[0], wide).memref;
    AffineMap identity = b.getMultiDimIdentityMap(viewType.getRank());
    SmallVector<utils::IteratorType> parallel(viewType.getRank(), utils::IteratorType::parallel);
    auto convert = [&](Value from, Value to, bool isWidening) {
      b.create<linalg::GenericOp>(
          loc, TypeRange{}, ValueRange{from}, ValueRange{to},
          ArrayRef<AffineMap>{identity, identity}, parallel,
          [&](OpBuilder &inner, Location where, ValueRange arguments) {
            Type type = arguments[1].getType();
            Value result =
                isWidening ? inner.create<arith::ExtFOp>(where, type, arguments[0]).getResult()
                           : inner.create<arith::TruncFOp>(where, type, arguments[0]).getResult();
            inner.create<linalg::YieldOp>(where, result);
          });
    };
    convert(destination.memref, wide, true);
    emitReduction(wide, destination.map);
    convert(wide, destination.memref, false);
  }

  OpBuilder &b;
  const Nest &nest;
  const RaisePlan &plan;
  const Statement &statement;
  const EmitContext &context;
  Location loc;
  IndexExpressions index;                      // over the fixed variables
  SmallVector<OpFoldResult> starts, extents;   // of each dimension
  SmallVector<std::optional<unsigned>> places; // of each dimension in the generic, if it has one
  unsigned numPlaces = 0;
  Operand destination{nullptr, {}, {}};
  SmallVector<Operand> inputs;
  bool readsOld = false;
};

} // namespace

void emitRaised(OpBuilder &builder, const Nest &nest, const RaisePlan &plan,
                const EmitContext &context) {
  OpBuilder::InsertionGuard restore(builder);
  GenericEmitter(builder, nest, plan, context).run();
}

} // namespace pyasc
