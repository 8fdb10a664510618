#include "compiler/target/ascend/plan_scalar_emit.h"

#include "compiler/ir/asc_dialect.h"
#include "compiler/ir/copies.h"
#include "compiler/ir/expand_print.h"
#include "compiler/target/ascend/npu.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace pyasc::npu {

using namespace mlir;

PhaseEmitter::PhaseEmitter(OpBuilder &builder, Block *entry, Outside outside)
    : builder_(builder), entry_(entry), outside_(std::move(outside)) {}

LogicalResult PhaseEmitter::emit(Operation *op) {
  Location loc = op->getLoc();
  if (auto loop = dyn_cast<affine::AffineForOp>(op))
    return emitAffineFor(loop);
  if (auto branch = dyn_cast<affine::AffineIfOp>(op))
    return emitAffineIf(branch);
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    auto results = expand(loc, apply.getAffineMap(), apply.getMapOperands());
    if (failed(results))
      return failure();
    map(apply.getResult(), materialize(loc, results->front()));
    return success();
  }
  if (isa<affine::AffineMinOp, affine::AffineMaxOp>(op)) {
    bool isMin = isa<affine::AffineMinOp>(op);
    AffineMap affineMap =
        isMin ? cast<affine::AffineMinOp>(op).getMap() : cast<affine::AffineMaxOp>(op).getMap();
    auto results = expand(loc, affineMap, op->getOperands());
    if (failed(results))
      return failure();
    Value value = materialize(loc, results->front());
    for (OpFoldResult other : llvm::drop_begin(*results)) {
      Value next = materialize(loc, other);
      value = isMin ? builder_.createOrFold<arith::MinSIOp>(loc, value, next)
                    : builder_.createOrFold<arith::MaxSIOp>(loc, value, next);
    }
    map(op->getResult(0), value);
    return success();
  }
  if (isa<affine::AffineLoadOp, affine::AffineStoreOp>(op)) {
    auto read = dyn_cast<affine::AffineLoadOp>(op);
    auto write = dyn_cast<affine::AffineStoreOp>(op);
    auto target = view(read ? read.getMemRef() : write.getMemRef());
    auto at = read ? expand(loc, read.getAffineMap(), read.getMapOperands())
                   : expand(loc, write.getAffineMap(), write.getMapOperands());
    if (failed(target) || failed(at))
      return failure();
    if (read) {
      map(read.getResult(), load(loc, *target, *at));
      return success();
    }
    auto value = scalar(write.getValueToStore());
    if (failed(value))
      return failure();
    store(loc, *value, *target, *at);
    return success();
  }
  if (auto read = dyn_cast<memref::LoadOp>(op)) {
    auto target = view(read.getMemRef());
    auto at = indices(loc, read.getIndices());
    if (failed(target) || failed(at))
      return failure();
    map(read.getResult(), load(loc, *target, *at));
    return success();
  }
  if (auto write = dyn_cast<memref::StoreOp>(op)) {
    auto target = view(write.getMemRef());
    auto at = indices(loc, write.getIndices());
    auto value = scalar(write.getValueToStore());
    if (failed(target) || failed(at) || failed(value))
      return failure();
    store(loc, *value, *target, *at);
    // A reader on the other side of the data cache sees a print at once, even if the kernel hangs.
    if (op == published_)
      builder_.create<DcacheFlushOp>(loc);
    return success();
  }
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return emitGeneric(generic, {});
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return emitCopy(copy);
  if (auto atomic = dyn_cast<memref::AtomicRMWOp>(op))
    return emitAtomic(atomic);
  if (isa<ir::CheckOp>(op))
    return emitCheck(op);
  if (auto print = dyn_cast<ir::PrintOp>(op))
    return emitPrint(print);
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto source = view(dim.getSource());
    auto position = dim.getConstantIndex();
    if (failed(source))
      return failure();
    if (!position || *position >= static_cast<int64_t>(source->sizes.size()))
      return refuse("the dimension asked for must be a constant");
    map(dim.getResult(), materialize(loc, source->sizes[*position]));
    return success();
  }
  if (isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp>(op))
    return success(); // bound when they are used
  if (isa<memref::SubViewOp, memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
          memref::ReinterpretCastOp>(op)) {
    // Views inside of loops are made where they stand; their users may come later.
    auto made = makeView(op->getResult(0));
    if (failed(made))
      return failure();
    views_[op->getResult(0)] = *made;
    return success();
  }
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == "arith" || dialect == "math" || dialect == "scf")
    return emitByCloning(op);
  return refuse("the scalar unit has no form of this operation");
}

LogicalResult PhaseEmitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(emit(&op)))
      return failure();
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Values and views
//===------------------------------------------------------------------------------------------===//

LogicalResult PhaseEmitter::atStart(llvm::function_ref<LogicalResult()> make) {
  if (atStart_)
    return make();
  OpBuilder::InsertionGuard guard(builder_);
  // Behind the constants too: what is made may use any of them.
  if (startEnd_ && (!constantsEnd_ || constantsEnd_->isBeforeInBlock(startEnd_)))
    builder_.setInsertionPointAfter(startEnd_);
  else if (constantsEnd_)
    builder_.setInsertionPointAfter(constantsEnd_);
  else
    builder_.setInsertionPointToStart(entry_);
  atStart_ = true;
  LogicalResult result = make();
  atStart_ = false;
  // Where only constants stand before this point nothing has started: later constants go behind
  // the last of them, and what starts must go behind those.
  Block::iterator point = builder_.getInsertionPoint();
  if (point != entry_->begin() && &*std::prev(point) != constantsEnd_)
    startEnd_ = &*std::prev(point);
  return result;
}

FailureOr<Value> PhaseEmitter::scalar(Value value) {
  if (Value known = values_.lookupOrNull(value))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    FailureOr<Value> bound = outside_.bindScalar(argument);
    if (failed(bound))
      return refuse("a value is not defined where it is used");
    map(value, *bound);
    return bound;
  }
  Operation *def = value.getDefiningOp();
  if (failed(atStart([&] { return emit(def); })))
    return failure();
  return values_.lookup(value);
}

FailureOr<FlatView> PhaseEmitter::view(Value memref) {
  auto known = views_.find(memref);
  if (known != views_.end())
    return known->second;
  FailureOr<FlatView> made = failure();
  if (failed(atStart([&] { return made = makeView(memref), LogicalResult(made); })))
    return failure();
  views_[memref] = *made;
  return made;
}

FailureOr<FlatView> PhaseEmitter::makeView(Value memref) {
  Location loc = memref.getLoc();
  Operation *def = memref.getDefiningOp();
  auto type = cast<MemRefType>(memref.getType());
  if (!def || isa<memref::AllocOp, memref::AllocaOp>(def)) {
    FlatView whole;
    whole.origin = memref;
    whole.cell = def && isa<memref::AllocaOp>(def) && outside_.isLocalCell(memref);
    if (whole.cell) {
      OpBuilder::InsertionGuard guard(builder_);
      builder_.setInsertionPointToStart(entry_);
      whole.base = builder_.create<memref::AllocaOp>(loc, type);
      if (!constantsEnd_)
        constantsEnd_ = whole.base.getDefiningOp();
      return whole;
    }
    if (!type.hasStaticShape() || !type.getLayout().isIdentity()) {
      return refuse("a tensor must have a static shape and no strides of its own");
    }
    whole.base = outside_.bindTensor(memref);
    whole.offset = builder_.getIndexAttr(0);
    if (int64_t stride = outside_.privateStride ? outside_.privateStride(memref) : 0) {
      Value block = builder_.create<BlockIdxOp>(loc, builder_.getIndexType());
      whole.offset = mul(loc, block, builder_.getIndexAttr(stride));
    }
    whole.strides.resize(type.getRank());
    int64_t stride = 1;
    for (int64_t d = type.getRank() - 1; d >= 0; --d) {
      whole.strides[d] = builder_.getIndexAttr(stride);
      stride *= type.getDimSize(d);
    }
    for (int64_t size : type.getShape())
      whole.sizes.push_back(builder_.getIndexAttr(size));
    return whole;
  }

  auto source = view(def->getOperand(0));
  if (failed(source))
    return failure();
  if (isa<memref::CastOp>(def))
    return source;
  if (auto subview = dyn_cast<memref::SubViewOp>(def)) {
    auto offsets = folded(loc, subview.getMixedOffsets());
    auto sizes = folded(loc, subview.getMixedSizes());
    auto steps = folded(loc, subview.getMixedStrides());
    if (failed(offsets) || failed(sizes) || failed(steps))
      return failure();
    FlatView result{source->base, source->origin, source->offset, {}, {}, false};
    llvm::SmallBitVector dropped = subview.getDroppedDims();
    for (auto [d, stride] : llvm::enumerate(source->strides)) {
      result.offset = add(loc, result.offset, mul(loc, (*offsets)[d], stride));
      if (dropped.test(d))
        continue;
      result.sizes.push_back((*sizes)[d]);
      result.strides.push_back(mul(loc, (*steps)[d], stride));
    }
    return result;
  }
  // The shape changes below keep the elements' order; each group's dims must lie dense inside.
  if (isa<memref::CollapseShapeOp, memref::ExpandShapeOp>(def) && type.hasStaticShape()) {
    FlatView result{source->base, source->origin, source->offset, {}, {}, false};
    for (int64_t size : type.getShape())
      result.sizes.push_back(builder_.getIndexAttr(size));
    result.strides.resize(type.getRank());
    if (auto collapse = dyn_cast<memref::CollapseShapeOp>(def)) {
      for (auto [d, group] : llvm::enumerate(collapse.getReassociationIndices()))
        result.strides[d] = source->strides[group.back()];
      return result;
    }
    auto expanded = cast<memref::ExpandShapeOp>(def);
    for (auto [d, group] : llvm::enumerate(expanded.getReassociationIndices())) {
      OpFoldResult stride = source->strides[d];
      for (int64_t inner : llvm::reverse(group)) {
        result.strides[inner] = stride;
        stride = mul(loc, stride, result.sizes[inner]);
      }
    }
    return result;
  }
  if (auto cast = dyn_cast<memref::ReinterpretCastOp>(def)) {
    auto offsets = folded(loc, cast.getMixedOffsets());
    auto sizes = folded(loc, cast.getMixedSizes());
    auto strides = folded(loc, cast.getMixedStrides());
    if (failed(offsets) || failed(sizes) || failed(strides))
      return failure();
    // The offset counts from the start of the underlying tensor, as for the op itself.
    FlatView result{source->base, source->origin, source->offset, *sizes, *strides, false};
    auto sourceType = dyn_cast<MemRefType>(cast.getSource().getType());
    if (!sourceType || !sourceType.getLayout().isIdentity())
      return refuse("a view of a view may not be reinterpreted");
    result.offset = add(loc, result.offset, offsets->front());
    return result;
  }
  return refuse("this view cannot be resolved to a tensor");
}

FailureOr<SmallVector<OpFoldResult>> PhaseEmitter::indices(Location loc, ValueRange operands) {
  SmallVector<OpFoldResult> result;
  for (Value operand : operands)
    result.push_back(operand);
  return folded(loc, result);
}

FailureOr<SmallVector<OpFoldResult>> PhaseEmitter::folded(Location loc,
                                                          ArrayRef<OpFoldResult> values) {
  SmallVector<OpFoldResult> result;
  for (OpFoldResult value : values) {
    if (auto constant = getConstantIntValue(value)) {
      result.push_back(builder_.getIndexAttr(*constant));
      continue;
    }
    auto mapped = scalar(cast<Value>(value));
    if (failed(mapped))
      return failure();
    result.push_back(getAsOpFoldResult(*mapped));
  }
  return result;
}

FailureOr<SmallVector<OpFoldResult>> PhaseEmitter::expand(Location loc, AffineMap affineMap,
                                                          ValueRange operands) {
  SmallVector<Value> dims;
  for (Value operand : operands) {
    auto mapped = scalar(operand);
    if (failed(mapped))
      return failure();
    dims.push_back(*mapped);
  }
  ValueRange all(dims);
  SmallVector<OpFoldResult> results;
  for (AffineExpr expr : affineMap.getResults()) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      results.push_back(builder_.getIndexAttr(constant.getValue()));
      continue;
    }
    results.push_back(getAsOpFoldResult(
        affine::expandAffineExpr(builder_, loc, expr, all.take_front(affineMap.getNumDims()),
                                 all.drop_front(affineMap.getNumDims()))));
  }
  return results;
}

Value PhaseEmitter::address(Location loc, const FlatView &view, ArrayRef<OpFoldResult> indices) {
  OpFoldResult at = view.offset;
  for (auto [index, stride] : llvm::zip_equal(indices, view.strides))
    at = add(loc, at, mul(loc, index, stride));
  return materialize(loc, at);
}

Value PhaseEmitter::load(Location loc, const FlatView &view, ArrayRef<OpFoldResult> indices) {
  if (view.cell)
    return builder_.create<memref::LoadOp>(loc, view.base);
  return builder_.create<memref::LoadOp>(loc, view.base, address(loc, view, indices));
}

void PhaseEmitter::store(Location loc, Value value, const FlatView &view,
                         ArrayRef<OpFoldResult> indices) {
  storesElements_ = true;
  if (view.cell)
    builder_.create<memref::StoreOp>(loc, value, view.base);
  else
    builder_.create<memref::StoreOp>(loc, value, view.base, address(loc, view, indices));
}

Value PhaseEmitter::index(Location loc, int64_t value) {
  Value &constant = constants_[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(builder_);
    if (constantsEnd_)
      builder_.setInsertionPointAfter(constantsEnd_);
    else
      builder_.setInsertionPointToStart(entry_);
    constant = builder_.create<arith::ConstantIndexOp>(loc, value);
    constantsEnd_ = constant.getDefiningOp();
  }
  return constant;
}

Value PhaseEmitter::materialize(Location loc, OpFoldResult value) {
  if (auto constant = getConstantIntValue(value))
    return index(loc, *constant);
  return cast<Value>(value);
}

OpFoldResult PhaseEmitter::add(Location loc, OpFoldResult a, OpFoldResult b) {
  auto left = getConstantIntValue(a), right = getConstantIntValue(b);
  if (left && right)
    return builder_.getIndexAttr(*left + *right);
  if (left && *left == 0)
    return b;
  if (right && *right == 0)
    return a;
  return builder_.createOrFold<arith::AddIOp>(loc, materialize(loc, a), materialize(loc, b));
}

OpFoldResult PhaseEmitter::mul(Location loc, OpFoldResult a, OpFoldResult b) {
  auto left = getConstantIntValue(a), right = getConstantIntValue(b);
  if (left && right)
    return builder_.getIndexAttr(*left * *right);
  if ((left && *left == 0) || (right && *right == 1))
    return a;
  if ((right && *right == 0) || (left && *left == 1))
    return b;
  return builder_.createOrFold<arith::MulIOp>(loc, materialize(loc, a), materialize(loc, b));
}

//===------------------------------------------------------------------------------------------===//
// Control flow
//===------------------------------------------------------------------------------------------===//

LogicalResult PhaseEmitter::emitAffineFor(affine::AffineForOp op) {
  Location loc = op.getLoc();
  auto lows = expand(loc, op.getLowerBoundMap(), op.getLowerBoundOperands());
  auto highs = expand(loc, op.getUpperBoundMap(), op.getUpperBoundOperands());
  if (failed(lows) || failed(highs))
    return failure();
  auto combine = [&](ArrayRef<OpFoldResult> values, bool isMax) {
    Value value = materialize(loc, values.front());
    for (OpFoldResult other : values.drop_front()) {
      Value next = materialize(loc, other);
      value = isMax ? builder_.createOrFold<arith::MaxSIOp>(loc, value, next)
                    : builder_.createOrFold<arith::MinSIOp>(loc, value, next);
    }
    return value;
  };
  Value low = combine(*lows, /*isMax=*/true), high = combine(*highs, /*isMax=*/false);
  SmallVector<Value> inits;
  for (Value init : op.getInits()) {
    auto mapped = scalar(init);
    if (failed(mapped))
      return failure();
    inits.push_back(*mapped);
  }
  auto loop = builder_.create<scf::ForOp>(loc, low, high, index(loc, op.getStepAsInt()), inits);
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (attribute.getName().getValue() == ir::AscDialect::kUnroll)
      loop->setAttr(attribute.getName(), attribute.getValue());
  map(op.getInductionVar(), loop.getInductionVar());
  for (auto [from, to] : llvm::zip_equal(op.getRegionIterArgs(), loop.getRegionIterArgs()))
    map(from, to);
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(loop.getBody());
  if (failed(emitBlock(*op.getBody())))
    return failure();
  if (!inits.empty()) {
    SmallVector<Value> yields;
    for (Value value : op.getBody()->getTerminator()->getOperands()) {
      auto mapped = scalar(value);
      if (failed(mapped))
        return failure();
      yields.push_back(*mapped);
    }
    builder_.setInsertionPointToEnd(loop.getBody());
    builder_.create<scf::YieldOp>(loc, yields);
  }
  for (auto [from, to] : llvm::zip_equal(op.getResults(), loop.getResults()))
    map(from, to);
  return success();
}

LogicalResult PhaseEmitter::emitAffineIf(affine::AffineIfOp op) {
  Location loc = op.getLoc();
  IntegerSet set = op.getIntegerSet();
  SmallVector<Value> operands;
  for (Value operand : op.getOperands()) {
    auto mapped = scalar(operand);
    if (failed(mapped))
      return failure();
    operands.push_back(*mapped);
  }
  ValueRange all(operands);
  Value holds;
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    Value value = affine::expandAffineExpr(builder_, loc, set.getConstraint(i),
                                           all.take_front(set.getNumDims()),
                                           all.drop_front(set.getNumDims()));
    auto predicate = set.isEq(i) ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge;
    Value one = builder_.createOrFold<arith::CmpIOp>(loc, predicate, value, index(loc, 0));
    holds = holds ? builder_.createOrFold<arith::AndIOp>(loc, holds, one) : one;
  }
  if (!holds)
    holds = builder_.create<arith::ConstantIntOp>(loc, 1, 1);
  auto branch = builder_.create<scf::IfOp>(loc, op.getResultTypes(), holds,
                                           /*addThenBlock=*/true,
                                           /*addElseBlock=*/op.hasElse());
  auto fill = [&](Block *from, Block *to) -> LogicalResult {
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToEnd(to);
    if (failed(emitBlock(*from)))
      return failure();
    SmallVector<Value> yields;
    for (Value value : from->getTerminator()->getOperands()) {
      auto mapped = scalar(value);
      if (failed(mapped))
        return failure();
      yields.push_back(*mapped);
    }
    builder_.setInsertionPointToEnd(to);
    builder_.create<scf::YieldOp>(loc, yields);
    return success();
  };
  if (failed(fill(op.getThenBlock(), branch.thenBlock())) ||
      (op.hasElse() && failed(fill(op.getElseBlock(), branch.elseBlock()))))
    return failure();
  for (auto [from, to] : llvm::zip_equal(op.getResults(), branch.getResults()))
    map(from, to);
  return success();
}

LogicalResult PhaseEmitter::emitRegion(Region &from, Region &to) {
  if (from.empty())
    return success();
  if (!from.hasOneBlock())
    return refuse("a region of several blocks has no scalar form");
  OpBuilder::InsertionGuard guard(builder_);
  if (to.empty())
    builder_.createBlock(&to);
  Block &source = from.front(), &target = to.front();
  for (BlockArgument argument : source.getArguments())
    map(argument, target.addArgument(argument.getType(), argument.getLoc()));
  builder_.setInsertionPointToEnd(&target);
  if (failed(emitBlock(source)))
    return failure();
  builder_.setInsertionPointToEnd(&target);
  return emitByCloning(source.getTerminator());
}

LogicalResult PhaseEmitter::emitByCloning(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (isa<MemRefType>(operand.getType()))
      return refuse("tensors cannot be values of the scalar unit");
    if (failed(scalar(operand)))
      return failure();
  }
  Operation *clone = op->cloneWithoutRegions(values_); // maps the results too
  builder_.insert(clone);
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), clone->getRegions()))
    if (failed(emitRegion(from, to)))
      return failure();
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Effects
//===------------------------------------------------------------------------------------------===//

LogicalResult PhaseEmitter::emitAtomic(memref::AtomicRMWOp op) {
  Location loc = op.getLoc();
  auto target = view(op.getMemref());
  auto at = indices(loc, op.getIndices());
  auto value = scalar(op.getValue());
  if (failed(target) || failed(at) || failed(value))
    return failure();
  // One core runs this code: reading and writing suffice.
  Value old = load(loc, *target, *at);
  Value updated = arith::getReductionOp(op.getKind(), builder_, loc, old, *value);
  if (!updated)
    return failure();
  store(loc, updated, *target, *at);
  map(op.getResult(), updated);
  return success();
}

LogicalResult PhaseEmitter::emitCheck(Operation *op) {
  auto check = cast<ir::CheckOp>(op);
  Location loc = op->getLoc();
  auto function = op->getParentOfType<func::FuncOp>();
  Value buffer;
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), ir::AscDialect::kErrorBuffer))
      buffer = argument;
  if (!buffer)
    return refuse("a check needs the kernel's error buffer");
  auto target = view(buffer);
  auto ok = scalar(check.getOk()), value = scalar(check.getValue()),
       bound = scalar(check.getBound());
  if (failed(target) || failed(ok) || failed(value) || failed(bound))
    return failure();
  Type i64 = builder_.getI64Type();
  Value yes = builder_.create<arith::ConstantIntOp>(loc, 1, 1);
  Value bad = builder_.createOrFold<arith::XOrIOp>(loc, *ok, yes);
  auto report = builder_.create<scf::IfOp>(loc, bad, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(report.thenBlock());
  OpFoldResult slot = builder_.getIndexAttr(0);
  Value recorded = load(loc, *target, slot);
  Value none = builder_.create<arith::ConstantIntOp>(loc, 0, 64);
  Value first = builder_.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, recorded, none);
  auto record = builder_.create<scf::IfOp>(loc, first, /*withElseRegion=*/false);
  builder_.setInsertionPointToStart(record.thenBlock());
  Value code = builder_.create<arith::ConstantIntOp>(loc, check.getCode(), 64);
  Value values[] = {code, builder_.create<arith::IndexCastOp>(loc, i64, *value),
                    builder_.create<arith::IndexCastOp>(loc, i64, *bound)};
  const bool stored = storesElements_;
  for (auto [position, field] : llvm::enumerate(values))
    store(loc, field, *target, OpFoldResult(builder_.getIndexAttr(position)));
  storesElements_ = stored;
  return success();
}

LogicalResult PhaseEmitter::emitPrint(ir::PrintOp print) {
  Value log = ir::FindArgument(print, ir::AscDialect::kPrintLog);
  if (!log)
    return refuse("a print needs the kernel's print log");
  // Made beside the print, emitted, and taken away again: the kernel stays as it was.
  OpBuilder beside(print);
  Operation *marker = nullptr;
  Operation *before = print->getPrevNode();
  ir::ExpandPrint(
      beside, print, log, ir::FindArgument(print, ir::AscDialect::kErrorBuffer), [&](Value words) {
        Value first = beside.create<arith::ConstantIndexOp>(print.getLoc(), 0);
        marker = beside.create<memref::StoreOp>(print.getLoc(), words, log, ValueRange{first});
      });
  published_ = marker;
  SmallVector<Operation *> made;
  for (Operation *op = before ? before->getNextNode() : &print->getBlock()->front();
       op != print.getOperation(); op = op->getNextNode())
    made.push_back(op);
  LogicalResult result = success();
  for (Operation *op : made)
    if (succeeded(result))
      result = emit(op);
  published_ = nullptr;
  for (Operation *op : made)
    op->walk([&](Operation *inner) {
      for (Value value : inner->getResults())
        forget(value);
      for (Region &region : inner->getRegions())
        for (Block &block : region)
          for (Value value : block.getArguments())
            forget(value);
    });
  for (Operation *op : llvm::reverse(made))
    op->erase();
  return result;
}

//===------------------------------------------------------------------------------------------===//
// Generics
//===------------------------------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> PhaseEmitter::emitBody(linalg::GenericOp op, ValueRange ivs,
                                                     ValueRange arguments) {
  Block *body = op.getBody();
  for (auto [from, to] : llvm::zip_equal(body->getArguments(), arguments))
    map(from, to);
  for (Operation &inner : body->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      map(index.getResult(), ivs[index.getDim()]);
    else if (failed(emit(&inner)))
      return failure();
  }
  SmallVector<Value> results;
  for (Value value : body->getTerminator()->getOperands()) {
    auto mapped = scalar(value);
    if (failed(mapped))
      return failure();
    results.push_back(*mapped);
  }
  return results;
}

LogicalResult PhaseEmitter::emitGeneric(linalg::GenericOp op, ValueRange given) {
  Location loc = op.getLoc();
  if (!op.hasPureBufferSemantics())
    return refuse("a generic must work on memrefs");
  SmallVector<FlatView> views;
  for (Value operand : op->getOperands()) {
    if (!isa<MemRefType>(operand.getType()))
      return refuse("a generic's operands must be memrefs");
    auto resolved = view(operand);
    if (failed(resolved))
      return failure();
    views.push_back(*resolved);
  }
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  unsigned dims = iterators.size(), inputs = op.getNumDpsInputs();

  SmallVector<OpFoldResult> extents(dims);
  for (auto [operand, affineMap] : llvm::enumerate(maps))
    for (auto [position, expr] : llvm::enumerate(affineMap.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && !extents[dim.getPosition()])
        extents[dim.getPosition()] = views[operand].sizes[position];
  if (llvm::any_of(extents, [](OpFoldResult extent) { return !extent; }))
    return refuse("an iterator's extent is not the size of any operand");

  if (ir::IsCopy(op) && emitRowCopy(loc, views[0], views[1], given))
    return success();

  // The trailing reductions accumulate in values instead of memory, unless an input might see the
  // partial results.
  unsigned tail = dims;
  bool shared = llvm::any_of(ArrayRef(views).drop_front(inputs), [&](const FlatView &out) {
    return llvm::any_of(ArrayRef(views).take_front(inputs),
                        [&](const FlatView &in) { return in.origin == out.origin; });
  });
  auto outMaps = ArrayRef(maps).drop_front(inputs);
  while (!shared && tail > given.size() && iterators[tail - 1] == utils::IteratorType::reduction &&
         llvm::none_of(outMaps, [&](AffineMap m) { return m.isFunctionOfDim(tail - 1); }))
    --tail;

  OpBuilder::InsertionGuard guard(builder_);
  SmallVector<Value> ivs(given);
  auto indicesOf = [&](unsigned operand) -> SmallVector<OpFoldResult> {
    SmallVector<OpFoldResult> at;
    for (AffineExpr expr : maps[operand].getResults()) {
      if (auto constant = dyn_cast<AffineConstantExpr>(expr))
        at.push_back(builder_.getIndexAttr(constant.getValue()));
      else
        at.push_back(getAsOpFoldResult(affine::expandAffineExpr(builder_, loc, expr, ivs, {})));
    }
    return at;
  };
  for (unsigned d = given.size(); d < tail; ++d) {
    auto loop = builder_.create<scf::ForOp>(loc, index(loc, 0), materialize(loc, extents[d]),
                                            index(loc, 1));
    ivs.push_back(loop.getInductionVar());
    builder_.setInsertionPointToStart(loop.getBody());
  }
  ivs.resize(dims);
  SmallVector<Value> outs;
  SmallVector<SmallVector<OpFoldResult>> outIndices;
  for (unsigned operand = inputs; operand < views.size(); ++operand) {
    bool read = tail < dims || op.payloadUsesValueFromOperand(&op->getOpOperand(operand));
    outIndices.push_back(indicesOf(operand));
    outs.push_back(read ? load(loc, views[operand], outIndices.back()) : Value());
  }
  SmallVector<scf::ForOp> nest;
  SmallVector<Value> carried = outs;
  for (unsigned d = tail; d < dims; ++d) {
    auto loop = builder_.create<scf::ForOp>(loc, index(loc, 0), materialize(loc, extents[d]),
                                            index(loc, 1), carried);
    ivs[d] = loop.getInductionVar();
    carried.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    builder_.setInsertionPointToStart(loop.getBody());
    nest.push_back(loop);
  }
  SmallVector<Value> arguments;
  for (unsigned operand = 0; operand < inputs; ++operand)
    arguments.push_back(op.payloadUsesValueFromOperand(&op->getOpOperand(operand))
                            ? load(loc, views[operand], indicesOf(operand))
                            : Value());
  // An unused argument needs no value; a placeholder keeps the lists aligned.
  arguments.append(carried);
  SmallVector<Value> mapped;
  for (auto [argument, value] : llvm::zip_equal(op.getBody()->getArguments(), arguments))
    mapped.push_back(value ? value : Value(argument));
  auto results = emitBody(op, ivs, mapped);
  if (failed(results))
    return failure();
  SmallVector<Value> finals = *results;
  for (scf::ForOp loop : llvm::reverse(nest)) {
    builder_.setInsertionPointToEnd(loop.getBody());
    builder_.create<scf::YieldOp>(loc, finals);
    finals.assign(loop.getResults().begin(), loop.getResults().end());
  }
  if (!nest.empty())
    builder_.setInsertionPointAfter(nest.front());
  for (auto [out, value] : llvm::enumerate(finals))
    store(loc, value, views[inputs + out], outIndices[out]);
  return success();
}

} // namespace pyasc::npu
