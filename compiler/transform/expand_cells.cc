#include "compiler/transform/expand_cells.h"

#include "compiler/transform/cells.h"
#include "compiler/transform/index_expr.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace pyasc {

using namespace mlir;

namespace {

constexpr int64_t kMaxElements = int64_t(1) << 27;

struct Decision {
  Value cell;
  SmallVector<LinearForm> rows;
  SmallVector<int64_t> shape;
};

class CellExpander {
public:
  CellExpander(Nest &nest, Operation *twin, ProofCache &cache)
      : nest(nest), twin(twin), cache(cache) {}

  std::vector<Expansion> run() {
    std::vector<Decision> decisions;
    llvm::SetVector<Value> cells;
    for (const Statement &statement : nest.statements)
      if (Value cell = storedCell(statement.op); cell && isCell(cell))
        cells.insert(cell);
    for (Value cell : cells) {
      const Statement *first = findFirstStore(cell);
      if (!first)
        continue;
      Decision decision{cell, {}, {}};
      if (indexLikeResult(cell, *first, decision.rows, decision.shape) ||
          indexByLoops(*first, decision.rows, decision.shape))
        decisions.push_back(std::move(decision));
    }
    // The model's ops go away from here on.
    std::vector<Expansion> expansions;
    for (const Decision &decision : decisions)
      expansions.push_back({decision.cell, rewrite(decision.cell, decision.rows, decision.shape)});
    return expansions;
  }

private:
  // The store that comes before all other uses, in a block that holds them all.
  const Statement *findFirstStore(Value cell) {
    const Statement *first = nullptr;
    for (const Statement &statement : nest.statements)
      if (storedCell(statement.op) == cell && (!first || statement.position < first->position))
        first = &statement;
    Block *block = first->op->getBlock();
    for (Operation *user : cell.getUsers()) {
      if (user == first->op || twin->isProperAncestor(user))
        continue;
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      if (!ancestor || ancestor == first->op || ancestor->isBeforeInBlock(first->op))
        return nullptr;
    }
    return first;
  }

  System domainOf(const Statement &statement, ArrayRef<LinearForm> rows) {
    System domain(nest.getNumVariables());
    nest.addDomain(domain, statement.loops, statement.guards);
    nest.addDivisions(domain, rows);
    return domain;
  }

  // Two different iterations of the loops never have equal rows.
  bool tellsApart(const Statement &statement, ArrayRef<LinearForm> rows) {
    unsigned offset = nest.getNumVariables();
    System twice(2 * offset);
    auto rename = [&](const LinearForm &form) {
      LinearForm renamed = LinearForm::ofConstant(form.constant);
      for (unsigned v = 0; v < form.coefficients.size(); ++v)
        if (form.mentions(v))
          renamed.set(nest.varies(v, statement.loops) ? v + offset : v, form[v]);
      return renamed;
    };
    System domain = domainOf(statement, rows);
    for (const Constraint &constraint : domain.getConstraints()) {
      twice.add(constraint);
      twice.add({rename(constraint.form), constraint.isEquality});
    }
    for (const LinearForm &row : rows) {
      auto difference = row.plus(rename(row), -1);
      if (!difference)
        return false;
      twice.addZero(*difference);
    }
    return llvm::all_of(statement.loops, [&](unsigned loop) {
      unsigned v = nest.loops[loop].variable;
      LinearForm advance = LinearForm::ofConstant(-1);
      advance.set(v, -1);
      advance.set(v + offset, 1);
      System different = twice;
      different.addNonNegative(advance);
      return different.isProvablyEmpty(cache);
    });
  }

  bool isInBounds(const Statement &statement, const LinearForm &row, int64_t size) {
    System domain = domainOf(statement, {row});
    auto room = LinearForm::ofConstant(size - 1).plus(row, -1);
    return room && domain.implies(row, cache) && domain.implies(*room, cache);
  }

  static bool isReasonable(ArrayRef<int64_t> shape) {
    int64_t elements = 1;
    for (int64_t size : shape)
      if (__builtin_mul_overflow(elements, size, &elements) || elements > kMaxElements)
        return false;
    return true;
  }

  // The rows of a store that the cell feeds, as far as they vary in the cell's own loops only.
  bool indexLikeResult(Value cell, const Statement &first, SmallVector<LinearForm> &rows,
                       SmallVector<int64_t> &shape) {
    for (const Statement &result : nest.statements) {
      if (!isa<affine::AffineStoreOp>(result.op) || !result.obstacle.empty())
        continue;
      const Access &write = result.accesses[0];
      bool isFed = llvm::any_of(result.accesses, [&](const Access &access) {
        return !access.isWrite && access.memref == cell;
      });
      if (!isFed || write.memref == cell || write.rows.empty())
        continue;
      auto type = cast<MemRefType>(write.memref.getType());
      rows.clear();
      shape.clear();
      bool isUsable = true;
      for (auto [axis, row] : llvm::enumerate(write.rows)) {
        bool varies = false;
        for (unsigned v = 0; v < row.coefficients.size() && isUsable; ++v)
          if (row.mentions(v) && nest.varies(v, result.loops)) {
            varies = true;
            isUsable = nest.varies(v, first.loops);
          }
        if (!isUsable)
          break;
        if (!varies)
          continue;
        rows.push_back(row);
        shape.push_back(type.getDimSize(axis));
        isUsable = !type.isDynamicDim(axis) && isInBounds(first, row, shape.back());
        if (!isUsable)
          break;
      }
      if (isUsable && isReasonable(shape) && tellsApart(first, rows))
        return true;
    }
    return false;
  }

  bool indexByLoops(const Statement &first, SmallVector<LinearForm> &rows,
                    SmallVector<int64_t> &shape) {
    rows.clear();
    shape.clear();
    System domain = domainOf(first, {});
    for (unsigned loop : first.loops) {
      unsigned v = nest.loops[loop].variable;
      SmallVector<bool> isParameter(nest.getNumVariables(), false);
      auto interval = projectOnto(domain.getConstraints(), nest.getNumVariables(), v, isParameter);
      std::optional<int64_t> lower, upper;
      for (const Constraint &constraint : interval.value_or(std::vector<Constraint>())) {
        int64_t factor = constraint.form[v], constant = constraint.form.constant;
        if (constraint.isEquality || (factor != 1 && factor != -1))
          continue;
        if (factor == 1)
          lower = std::max(lower.value_or(-constant), -constant);
        else
          upper = std::min(upper.value_or(constant), constant);
      }
      if (!lower || !upper || *upper < *lower)
        return false;
      rows.push_back(*LinearForm::ofVariable(v).plus(LinearForm::ofConstant(*lower), -1));
      shape.push_back(*upper - *lower + 1);
    }
    return isReasonable(shape);
  }

  Value rewrite(Value cell, ArrayRef<LinearForm> rows, ArrayRef<int64_t> shape) {
    Type element = cast<MemRefType>(cell.getType()).getElementType();
    OpBuilder outside(nest.root);
    auto alloc = outside.create<memref::AllocOp>(cell.getLoc(), MemRefType::get(shape, element));
    alloc->setDiscardableAttrs(cell.getDefiningOp()->getDiscardableAttrDictionary());
    Value buffer = alloc;
    IndexExpressions index(nest, cell.getContext(), [](Value value) { return value; });
    SmallVector<AffineExpr> exprs;
    for (const LinearForm &row : rows)
      exprs.push_back(index.of(row));
    SmallVector<Value> operands;
    for (OpFoldResult operand : index.operands)
      operands.push_back(cast<Value>(operand));
    AffineMap map = AffineMap::get(operands.size(), 0, exprs, cell.getContext());
    for (Operation *user : llvm::make_early_inc_range(cell.getUsers())) {
      if (twin->isProperAncestor(user))
        continue;
      OpBuilder builder(user);
      if (loadedCell(user)) {
        auto load = builder.create<affine::AffineLoadOp>(user->getLoc(), buffer, map, operands);
        user->getResult(0).replaceAllUsesWith(load.getResult());
      } else {
        builder.create<affine::AffineStoreOp>(user->getLoc(), storedValue(user), buffer, map,
                                              operands);
      }
      user->erase();
    }
    return buffer;
  }

  Nest &nest;
  Operation *twin;
  ProofCache &cache;
};

} // namespace

std::vector<Expansion> expandCells(Nest &nest, Operation *twin, ProofCache &cache) {
  return CellExpander(nest, twin, cache).run();
}

void contractCell(const Expansion &expansion) {
  for (Operation *user : llvm::make_early_inc_range(expansion.buffer.getUsers())) {
    OpBuilder builder(user);
    AffineMap none = AffineMap::get(0, 0, builder.getContext());
    if (auto load = dyn_cast<affine::AffineLoadOp>(user)) {
      auto plain =
          builder.create<affine::AffineLoadOp>(user->getLoc(), expansion.cell, none, ValueRange());
      load.getResult().replaceAllUsesWith(plain.getResult());
    } else {
      builder.create<affine::AffineStoreOp>(user->getLoc(), storedValue(user), expansion.cell, none,
                                            ValueRange());
    }
    user->erase();
  }
  expansion.buffer.getDefiningOp()->erase();
}

} // namespace pyasc
