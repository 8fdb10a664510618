#include "compiler/target/ascend/plan_scalar_split.h"

#include <numeric>
#include <optional>

#include "compiler/ir/asc_dialect.h"
#include "compiler/target/ascend/npu.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

namespace pyasc::npu {

using namespace mlir;

namespace {

// constant + sum(coefs[k] * t_k), t_k being the iteration number of parallel loop k.
struct Linear {
  SmallVector<int64_t, 4> coefs;
  int64_t constant = 0;

  bool operator==(const Linear &other) const {
    return coefs == other.coefs && constant == other.constant;
  }
};

// An index value: it is at least every one of `lows` and at most every one of `highs`. A list that
// is empty: nothing is known on that side.
struct Range {
  SmallVector<Linear, 0> lows, highs;
};

constexpr size_t kAlternatives = 4; // forms kept a side; more only cost time

void keep(SmallVector<Linear, 0> &list, Linear form) {
  if (list.size() < kAlternatives && !llvm::is_contained(list, form))
    list.push_back(std::move(form));
}

Linear plus(const Linear &a, const Linear &b) {
  Linear sum = a;
  for (auto [k, coef] : llvm::enumerate(b.coefs))
    sum.coefs[k] += coef;
  sum.constant += b.constant;
  return sum;
}

Linear times(const Linear &a, int64_t factor) {
  Linear product = a;
  for (int64_t &coef : product.coefs)
    coef *= factor;
  product.constant *= factor;
  return product;
}

Range plus(const Range &a, const Range &b) {
  Range sum;
  for (const Linear &x : a.lows)
    for (const Linear &y : b.lows)
      keep(sum.lows, plus(x, y));
  for (const Linear &x : a.highs)
    for (const Linear &y : b.highs)
      keep(sum.highs, plus(x, y));
  return sum;
}

Range times(const Range &a, int64_t factor) {
  Range product;
  for (const Linear &x : a.lows)
    keep(factor >= 0 ? product.lows : product.highs, times(x, factor));
  for (const Linear &x : a.highs)
    keep(factor >= 0 ? product.highs : product.lows, times(x, factor));
  return product;
}

// What holds whichever of the two the value is.
Range either(const Range &a, const Range &b) {
  Range both;
  for (const Linear &x : a.lows)
    for (const Linear &y : b.lows)
      if (x.coefs == y.coefs)
        keep(both.lows, x.constant <= y.constant ? x : y);
  for (const Linear &x : a.highs)
    for (const Linear &y : b.highs)
      if (x.coefs == y.coefs)
        keep(both.highs, x.constant >= y.constant ? x : y);
  return both;
}

// Iterations a core from which its share is even enough.
constexpr int64_t kGoodSharing = 8;

struct Written {
  Value base;
  int64_t elementBytes;
  SmallVector<Range, 0> at; // in each dimension of the base
};

class Splitter {
public:
  Splitter(Operation *step, int64_t cores) : step_(step), cores_(cores) {}

  ScalarSplit run() {
    if (cores_ <= 1)
      return fail("one core is available");
    if (auto generic = dyn_cast<linalg::GenericOp>(step_)) {
      if (!enterGeneric(generic))
        return fail(reason_);
    } else if (auto loop = dyn_cast<affine::AffineForOp>(step_)) {
      if (!enterLoops(loop))
        return fail(reason_);
    } else if (isa<scf::ForOp>(step_)) {
      return fail("the loop is not parallel");
    } else if (isa<scf::WhileOp>(step_)) {
      return fail("the rounds of a while loop come one after the other");
    } else {
      return fail("the step is no loop");
    }
    if (result_.trips <= 1)
      return fail("there is one iteration only");
    return divide();
  }

private:
  ScalarSplit fail(std::string reason) {
    result_.blocks = 1;
    result_.reason = std::move(reason);
    return result_;
  }
  bool no(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  Linear constant(int64_t value) const {
    Linear form;
    form.coefs.assign(result_.extents.size(), 0);
    form.constant = value;
    return form;
  }
  Range exactly(int64_t value) const { return Range{{constant(value)}, {constant(value)}}; }
  Range between(int64_t low, int64_t high) const {
    return Range{{constant(low)}, {constant(high)}};
  }
  Range iteration(unsigned k, int64_t low, int64_t step) const {
    Linear form = constant(low);
    form.coefs[k] = step;
    return Range{{form}, {form}};
  }

  static std::string nameOf(Value base) {
    auto argument = dyn_cast<BlockArgument>(base);
    auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
    if (!function)
      return "";
    auto name =
        function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), ir::AscDialect::kName);
    return name ? "'" + name.str() + "'" : "";
  }
  static std::string inside(Value base) {
    std::string name = nameOf(base);
    return name.empty() ? "" : " in " + name;
  }

  //===--- Entering the step ---===//

  bool enterGeneric(linalg::GenericOp op) {
    SmallVector<int64_t> extents = op.getStaticLoopRanges();
    for (auto [extent, iterator] : llvm::zip_equal(extents, op.getIteratorTypesArray())) {
      if (iterator != utils::IteratorType::parallel || ShapedType::isDynamic(extent))
        break;
      // Enough to balance: more dimensions only cost divisions.
      if (product(result_.extents) >= kGoodSharing * cores_)
        break;
      result_.extents.push_back(extent);
    }
    result_.trips = product(result_.extents);
    if (result_.extents.empty())
      return no("its outermost iterator is a reduction");
    // Iterators are parallel by what a generic means, unless an input overlaps an output.
    for (OpOperand &out : op.getDpsInitsMutable())
      for (OpOperand *in : op.getDpsInputOperands())
        if (origin(in->get()) == origin(out.get()) &&
            (in->get() != out.get() ||
             op.getMatchingIndexingMap(in) != op.getMatchingIndexingMap(&out)))
          return no("an input may overlap the output");
    SmallVector<Range> dims;
    for (auto [d, extent] : llvm::enumerate(extents)) {
      if (ShapedType::isDynamic(extent))
        return no("an extent is known at run time only");
      dims.push_back(d < result_.extents.size() ? iteration(d, 0, 1) : between(0, extent - 1));
    }
    return noteGeneric(op, dims);
  }

  bool enterLoops(affine::AffineForOp loop) {
    SmallVector<affine::AffineForOp> nest;
    for (affine::AffineForOp next = loop; next;) {
      if (!next->hasAttr(ir::AscDialect::kParallel))
        break;
      if (!next.hasConstantBounds() || next.getNumResults() != 0)
        break;
      nest.push_back(next);
      affine::AffineForOp inner;
      for (Operation &op : next.getBody()->without_terminator()) {
        inner = dyn_cast<affine::AffineForOp>(op);
        if (!inner && !isPure(&op))
          break;
      }
      next = inner && inner->getNextNode() == next.getBody()->getTerminator()
                 ? inner
                 : affine::AffineForOp();
    }
    if (nest.empty())
      return no(loop->hasAttr(ir::AscDialect::kParallel)
                    ? "the parallel loop's bounds are known at run time only"
                    : "the loop is not parallel");
    for (affine::AffineForOp level : nest) {
      int64_t span = level.getConstantUpperBound() - level.getConstantLowerBound();
      int64_t step = level.getStepAsInt();
      result_.extents.push_back(span <= 0 ? 0 : (span + step - 1) / step);
      result_.loops.push_back(level);
    }
    result_.trips = product(result_.extents);
    for (auto [k, level] : llvm::enumerate(nest))
      known_[level.getInductionVar()] =
          iteration(k, level.getConstantLowerBound(), level.getStepAsInt());
    for (affine::AffineForOp level : nest)
      for (Operation &op : level.getBody()->without_terminator())
        if (&op != nest.back() && !llvm::is_contained(nest, dyn_cast<affine::AffineForOp>(op)) &&
            !note(&op))
          return false;
    DenseSet<Value> assigned;
    for (affine::AffineForOp level : nest)
      for (Operation &op : level.getBody()->without_terminator())
        if (!llvm::is_contained(nest, dyn_cast<affine::AffineForOp>(op)) &&
            !cellsAssigned(&op, assigned))
          return no("iterations share a variable");
    return true;
  }

  static int64_t product(ArrayRef<int64_t> values) {
    return std::accumulate(values.begin(), values.end(), int64_t{1}, std::multiplies<>());
  }

  //===--- Values ---===//

  Range range(Value value) {
    auto found = known_.find(value);
    if (found != known_.end())
      return found->second;
    Range result = compute(value);
    known_[value] = result;
    return result;
  }

  Range range(OpFoldResult value) {
    if (auto known = getConstantIntValue(value))
      return exactly(*known);
    return range(cast<Value>(value));
  }

  Range compute(Value value) {
    APInt known;
    if (matchPattern(value, m_ConstantInt(&known)))
      return exactly(known.getSExtValue());
    Operation *def = value.getDefiningOp();
    if (!def)
      return {};
    if (auto apply = dyn_cast<affine::AffineApplyOp>(def))
      return expression(apply.getAffineMap().getResult(0), apply.getAffineMap(),
                        apply.getMapOperands());
    if (auto sum = dyn_cast<arith::AddIOp>(def); sum && value.getType().isIndex())
      return plus(range(sum.getLhs()), range(sum.getRhs()));
    if (auto difference = dyn_cast<arith::SubIOp>(def); difference && value.getType().isIndex())
      return plus(range(difference.getLhs()), times(range(difference.getRhs()), -1));
    if (auto choice = dyn_cast<arith::SelectOp>(def))
      return either(range(choice.getTrueValue()), range(choice.getFalseValue()));
    return {};
  }

  static std::optional<int64_t> onlyValue(const Range &range) {
    for (const Linear &low : range.lows)
      if (llvm::all_of(low.coefs, [](int64_t coef) { return coef == 0; }) &&
          llvm::is_contained(range.highs, low))
        return low.constant;
    return std::nullopt;
  }

  Range expression(AffineExpr expr, AffineMap map, ValueRange operands) {
    if (auto constantExpr = dyn_cast<AffineConstantExpr>(expr))
      return exactly(constantExpr.getValue());
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return range(operands[dim.getPosition()]);
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      return range(operands[map.getNumDims() + symbol.getPosition()]);
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Range left = expression(binary.getLHS(), map, operands);
    Range right = expression(binary.getRHS(), map, operands);
    if (expr.getKind() == AffineExprKind::Add)
      return plus(left, right);
    std::optional<int64_t> factor = onlyValue(right);
    if (!factor)
      return {};
    if (expr.getKind() == AffineExprKind::Mul)
      return times(left, *factor);
    if (*factor <= 0)
      return {};
    if (expr.getKind() == AffineExprKind::Mod)
      return between(0, *factor - 1);
    bool up = expr.getKind() == AffineExprKind::CeilDiv;
    Range quotient;
    auto divide = [&](const SmallVector<Linear, 0> &from, SmallVector<Linear, 0> &to) {
      for (Linear form : from) {
        if (llvm::any_of(form.coefs, [&](int64_t coef) { return coef % *factor != 0; }))
          continue;
        for (int64_t &coef : form.coefs)
          coef /= *factor;
        form.constant = up ? llvm::divideCeilSigned(form.constant, *factor)
                           : llvm::divideFloorSigned(form.constant, *factor);
        keep(to, form);
      }
    };
    divide(left.lows, quotient.lows);
    divide(left.highs, quotient.highs);
    return quotient;
  }

  //===--- Writes ---===//

  static Value origin(Value memref) {
    while (Operation *def = memref.getDefiningOp()) {
      if (isa<memref::AllocOp, memref::AllocaOp>(def))
        break;
      memref = def->getOperand(0);
    }
    return memref;
  }

  // Where `memref`[indices] lies in its origin; strides must be constants.
  std::optional<SmallVector<Range, 0>> indicesInOrigin(Value memref, ArrayRef<Range> indices) {
    Operation *def = memref.getDefiningOp();
    if (!def || isa<memref::AllocOp, memref::AllocaOp>(def)) {
      if (!cast<MemRefType>(memref.getType()).hasStaticShape())
        return std::nullopt;
      return SmallVector<Range, 0>(indices);
    }
    if (isa<memref::CastOp>(def))
      return indicesInOrigin(def->getOperand(0), indices);
    auto subview = dyn_cast<memref::SubViewOp>(def);
    if (!subview)
      return std::nullopt;
    SmallVector<Range> outer;
    llvm::SmallBitVector dropped = subview.getDroppedDims();
    unsigned inner = 0;
    for (unsigned d = 0; d < subview.getSourceType().getRank(); ++d) {
      Range at = range(subview.getMixedOffsets()[d]);
      if (!dropped.test(d)) {
        auto step = getConstantIntValue(subview.getMixedStrides()[d]);
        if (!step)
          return std::nullopt;
        at = plus(at, times(indices[inner++], *step));
      }
      outer.push_back(at);
    }
    return indicesInOrigin(subview.getSource(), outer);
  }

  // The element number in a part of the base: its dimensions from `first` on.
  static Range elementFrom(const Written &write, int64_t first) {
    auto type = cast<MemRefType>(write.base.getType());
    Range at;
    int64_t stride = 1;
    for (int64_t d = type.getRank() - 1; d >= first; --d) {
      at = d + 1 == type.getRank() ? write.at[d] : plus(at, times(write.at[d], stride));
      stride *= type.getDimSize(d);
    }
    return at;
  }

  // Whether the value is in [0, size) in every iteration.
  bool liesWithin(const Range &value, int64_t size) const {
    auto extreme = [&](const Linear &form, bool least) {
      int64_t at = form.constant;
      for (auto [k, coef] : llvm::enumerate(form.coefs))
        if ((coef < 0) == least)
          at += coef * (result_.extents[k] - 1);
      return at;
    };
    return llvm::any_of(value.lows, [&](auto &low) { return extreme(low, true) >= 0; }) &&
           llvm::any_of(value.highs, [&](auto &high) { return extreme(high, false) < size; });
  }

  bool noteWrite(Value memref, ArrayRef<Range> indices) {
    Value base = origin(memref);
    Operation *def = base.getDefiningOp();
    if (def && isa<memref::AllocaOp>(def))
      return true; // cells are looked at by cellsAssigned
    if (def && step_->isProperAncestor(def)) {
      if (!llvm::is_contained(result_.privateTensors, base))
        result_.privateTensors.push_back(base);
      return true;
    }
    auto at = indicesInOrigin(memref, indices);
    if (!at)
      return no("where it writes" + inside(base) + " is known at run time only");
    written_.push_back(
        {base, bytesOf(cast<MemRefType>(base.getType()).getElementType()), std::move(*at)});
    return true;
  }

  bool noteGeneric(linalg::GenericOp op, ArrayRef<Range> dims) {
    for (OpOperand &out : op.getDpsInitsMutable()) {
      SmallVector<Range> indices;
      for (AffineExpr expr : op.getMatchingIndexingMap(&out).getResults()) {
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          indices.push_back(dims[dim.getPosition()]);
        else if (auto fixed = dyn_cast<AffineConstantExpr>(expr))
          indices.push_back(exactly(fixed.getValue()));
        else
          return no("where it writes is no plain index");
      }
      if (!noteWrite(out.get(), indices))
        return false;
    }
    return true;
  }

  // Collects what `op` writes, and the ranges of the loop variables inside.
  bool note(Operation *op) {
    if (auto loop = dyn_cast<affine::AffineForOp>(op)) {
      Range at;
      for (AffineExpr low : loop.getLowerBoundMap().getResults())
        for (Linear form :
             expression(low, loop.getLowerBoundMap(), loop.getLowerBoundOperands()).lows)
          keep(at.lows, form);
      for (AffineExpr high : loop.getUpperBoundMap().getResults())
        for (Linear form :
             expression(high, loop.getUpperBoundMap(), loop.getUpperBoundOperands()).highs)
          keep(at.highs, plus(form, constant(-1)));
      known_[loop.getInductionVar()] = at;
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      Range at;
      at.lows = range(loop.getLowerBound()).lows;
      for (const Linear &form : range(loop.getUpperBound()).highs)
        keep(at.highs, plus(form, constant(-1)));
      known_[loop.getInductionVar()] = at;
    }
    if (auto write = dyn_cast<affine::AffineStoreOp>(op)) {
      SmallVector<Range> indices;
      for (AffineExpr expr : write.getAffineMap().getResults())
        indices.push_back(expression(expr, write.getAffineMap(), write.getMapOperands()));
      return noteWrite(write.getMemRef(), indices);
    }
    if (auto write = dyn_cast<memref::StoreOp>(op)) {
      SmallVector<Range> indices;
      for (Value index : write.getIndices())
        indices.push_back(range(index));
      return noteWrite(write.getMemRef(), indices);
    }
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      SmallVector<Range> dims;
      for (int64_t extent : generic.getStaticLoopRanges())
        dims.push_back(ShapedType::isDynamic(extent) ? Range{{constant(0)}, {}}
                                                     : between(0, extent - 1));
      return noteGeneric(generic, dims);
    }
    if (isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp>(op))
      return true;
    // Every core has an error record of its own, and the first core's counts: shares are in order.
    // So it has a print log.
    if (isa<ir::CheckOp, ir::PrintOp>(op))
      return true;
    if (op->getNumRegions() > 0) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Operation &inner : block)
            if (!note(&inner))
              return false;
      return true;
    }
    if (op->hasTrait<OpTrait::IsTerminator>() || isa<affine::AffineLoadOp, memref::LoadOp>(op) ||
        isMemoryEffectFree(op))
      return true;
    return no("it has an effect that cores cannot share");
  }

  // Whether every cell read in `op` was written before in the same iteration; `assigned` grows by
  // the cells that are surely written. Also refuses cells that live on after the step.
  bool cellsAssigned(Operation *op, DenseSet<Value> &assigned) {
    auto isCell = [](Value memref) {
      Operation *def = memref.getDefiningOp();
      return def && isa<memref::AllocaOp>(def);
    };
    auto staysInside = [&](Value cell) {
      return llvm::all_of(cell.getUsers(),
                          [&](Operation *user) { return step_->isProperAncestor(user); });
    };
    auto onlyRead = [&](Value cell) {
      return llvm::none_of(cell.getUsers(), [&](Operation *user) {
        return step_->isProperAncestor(user) && !isa<affine::AffineLoadOp, memref::LoadOp>(user);
      });
    };
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      DenseSet<Value> then = assigned, otherwise = assigned;
      for (Operation &inner : *branch.thenBlock())
        if (!cellsAssigned(&inner, then))
          return false;
      if (branch.elseBlock())
        for (Operation &inner : *branch.elseBlock())
          if (!cellsAssigned(&inner, otherwise))
            return false;
      for (Value cell : then)
        if (otherwise.contains(cell))
          assigned.insert(cell);
      return true;
    }
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (Operation &inner : *loop.getBeforeBody())
        if (!cellsAssigned(&inner, assigned))
          return false;
      DenseSet<Value> after = assigned;
      for (Operation &inner : *loop.getAfterBody())
        if (!cellsAssigned(&inner, after))
          return false;
      return true;
    }
    if (op->getNumRegions() > 0 && !isa<linalg::GenericOp>(op)) {
      for (Region &region : op->getRegions()) {
        DenseSet<Value> inside = assigned; // the region may never run
        for (Block &block : region)
          for (Operation &inner : block)
            if (!cellsAssigned(&inner, inside))
              return false;
      }
      return true;
    }
    Value stored;
    if (auto write = dyn_cast<affine::AffineStoreOp>(op))
      stored = write.getMemRef();
    else if (auto write = dyn_cast<memref::StoreOp>(op))
      stored = write.getMemRef();
    for (Value operand : op->getOperands()) {
      if (!isa<MemRefType>(operand.getType()) || !isCell(operand) || onlyRead(operand))
        continue;
      if (!staysInside(operand) || (operand != stored && !assigned.contains(operand)))
        return false;
    }
    if (stored && isCell(stored))
      assigned.insert(stored);
    return true;
  }

  //===--- Dividing ---===//

  ScalarSplit divide() {
    int64_t multiple = 1;
    DenseSet<Value> done;
    for (const Written &write : written_) {
      if (!done.insert(write.base).second)
        continue;
      std::optional<int64_t> needed = boundaries(write);
      if (!needed)
        return fail("iterations might write into the same 64-byte cache line" +
                    (nameOf(write.base).empty() ? "" : " of " + nameOf(write.base)));
      multiple = std::lcm(multiple, *needed);
    }
    int64_t chunk = llvm::divideCeil(result_.trips, cores_);
    result_.chunk = llvm::divideCeil(chunk, multiple) * multiple;
    result_.blocks = llvm::divideCeil(result_.trips, result_.chunk);
    if (result_.chunk > chunk)
      result_.reason = "a core writes whole 64-byte cache lines, so that it takes " +
                       std::to_string(multiple) + " iterations at least";
    else if (result_.blocks < cores_)
      result_.reason = std::to_string(result_.trips) + " iterations do not divide further";
    return result_;
  }

  // The number of iterations that a chunk must be a multiple of, so that what chunks write to the
  // base of `first` lies in different lines; none if there is no such number.
  std::optional<int64_t> boundaries(const Written &first) {
    auto type = cast<MemRefType>(first.base.getType());
    SmallVector<const Written *> writes;
    for (const Written &write : written_)
      if (write.base == first.base)
        writes.push_back(&write);
    // Where parts of the base are whole lines, it is enough that chunks write different lines of a
    // part, whichever part that is: columns of a matrix, of which an iteration writes one.
    int64_t part = type.getNumElements();
    for (int64_t dim = 0; dim == 0 || dim < type.getRank(); ++dim) {
      if (dim > 0)
        part /= std::max<int64_t>(type.getDimSize(dim - 1), 1);
      SmallVector<Range, 0> places;
      for (const Written *write : writes)
        places.push_back(type.getRank() == 0 ? exactly(0) : elementFrom(*write, dim));
      if (dim > 0 && (part * first.elementBytes % kCacheLine != 0 ||
                      !llvm::all_of(places, [&](const Range &at) { return liesWithin(at, part); })))
        continue;
      if (auto multiple = boundaries(places, first.elementBytes))
        return multiple;
    }
    return std::nullopt;
  }

  // The same of the places of several writes of elements of so many bytes.
  std::optional<int64_t> boundaries(ArrayRef<Range> places, int64_t bytes) const {
    for (const Linear &low : places.front().lows) {
      // Iterations follow each other in memory, `advance` elements apart: all of them, or runs that
      // begin whole lines apart and do not overlap.
      int64_t advance = 0, inside = 1, run = 0, span = 0;
      bool ascends = true;
      for (int64_t k = result_.extents.size() - 1; k >= 0; --k) {
        if (result_.extents[k] == 1)
          continue;
        if (advance == 0)
          advance = span = low.coefs[k];
        ascends &= advance > 0;
        if (run > 0 || low.coefs[k] != advance * inside) {
          ascends &= low.coefs[k] >= span && low.coefs[k] * bytes % kCacheLine == 0;
          run = run > 0 ? run : inside;
        }
        span += low.coefs[k] * (result_.extents[k] - 1);
        inside *= result_.extents[k];
      }
      if (!ascends || advance <= 0)
        continue;
      int64_t lowest = std::numeric_limits<int64_t>::max();
      int64_t highest = std::numeric_limits<int64_t>::min();
      bool alike = true;
      for (const Range &at : places) {
        std::optional<int64_t> from, to;
        for (const Linear &form : at.lows)
          if (form.coefs == low.coefs)
            from = std::max(form.constant, from.value_or(form.constant));
        for (const Linear &form : at.highs)
          if (form.coefs == low.coefs)
            to = std::min(form.constant, to.value_or(form.constant));
        alike &= from && to;
        if (!alike)
          break;
        lowest = std::min(lowest, *from);
        highest = std::max(highest, *to);
      }
      if (!alike)
        continue;
      int64_t line = llvm::divideFloorSigned(lowest * bytes, kCacheLine) * kCacheLine;
      if ((highest + 1 - advance) * bytes > line)
        continue;
      const int64_t multiple = kCacheLine / std::gcd(kCacheLine, advance * bytes);
      return run % multiple == 0 ? multiple : run;
    }
    return std::nullopt;
  }

  Operation *step_;
  int64_t cores_;
  ScalarSplit result_;
  std::string reason_;
  llvm::DenseMap<Value, Range> known_;
  SmallVector<Written, 0> written_;
};

} // namespace

ScalarSplit SplitScalarStep(Operation *step, int64_t cores) { return Splitter(step, cores).run(); }

} // namespace pyasc::npu
