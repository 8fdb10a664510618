#include "compiler/transform/update.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace pyasc {

using namespace mlir;

namespace {

std::optional<Combine> combineOf(Operation *op) {
  if (isa<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp>(op))
    return Combine::Add;
  if (isa<arith::MulFOp, arith::MulIOp>(op))
    return Combine::Mul;
  if (isa<arith::MaximumFOp>(op))
    return Combine::MaximumF;
  if (isa<arith::MinimumFOp>(op))
    return Combine::MinimumF;
  if (isa<arith::MaxNumFOp>(op))
    return Combine::MaxNumF;
  if (isa<arith::MinNumFOp>(op))
    return Combine::MinNumF;
  if (isa<arith::MaxSIOp>(op))
    return Combine::MaxS;
  if (isa<arith::MinSIOp>(op))
    return Combine::MinS;
  if (isa<arith::MaxUIOp>(op))
    return Combine::MaxU;
  if (isa<arith::MinUIOp>(op))
    return Combine::MinU;
  return std::nullopt;
}

bool feeds(Operation *source, Value value, const Statement &statement) {
  Operation *definition = value.getDefiningOp();
  if (definition == source)
    return true;
  if (!definition || !statement.slice.contains(definition))
    return false;
  return llvm::any_of(definition->getOperands(),
                      [&](Value operand) { return feeds(source, operand, statement); });
}

// Follows the chain of `combine` ops from `value` down to the load of the old value.
bool collectTerms(Value value, Operation *load, Combine combine, const Statement &statement,
                  bool isWidened, Update &update) {
  Operation *op = value.getDefiningOp();
  if (isWidened) {
    auto extend = dyn_cast_or_null<arith::ExtFOp>(op);
    if (extend && extend.getIn().getDefiningOp() == load)
      return true;
  } else if (op == load) {
    return true;
  }
  if (!op || !statement.slice.contains(op) || combineOf(op) != combine)
    return false;
  bool isSubtraction = isa<arith::SubFOp, arith::SubIOp>(op);
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  bool left = feeds(load, lhs, statement), right = feeds(load, rhs, statement);
  if (left == right || (isSubtraction && right))
    return false;
  if (!collectTerms(left ? lhs : rhs, load, combine, statement, isWidened, update))
    return false;
  update.terms.push_back({left ? rhs : lhs, isSubtraction});
  return true;
}

} // namespace

std::optional<Update> matchUpdate(const Nest &nest, const Statement &statement) {
  auto store = dyn_cast<affine::AffineStoreOp>(statement.op);
  if (!store || !statement.accesses[0].isExact)
    return std::nullopt;
  const Access &write = statement.accesses[0];

  Value root = store.getValueToStore();
  bool isWidened = false;
  if (auto round = root.getDefiningOp<arith::TruncFOp>()) {
    if (round.getIn().getType().isF32() && statement.slice.contains(round)) {
      root = round.getIn();
      isWidened = true;
    }
  }
  Operation *top = root.getDefiningOp();
  std::optional<Combine> combine = top ? combineOf(top) : std::nullopt;
  if (!combine || !statement.slice.contains(top))
    return std::nullopt;
  // 16-bit sums are made in f32, and extrema are exact in it. A product is rounded at each step.
  Type element = store.getMemRefType().getElementType();
  if (*combine == Combine::Mul && (element.isF16() || element.isBF16()))
    return std::nullopt;

  for (const Access &read : statement.accesses) {
    if (read.isWrite || !read.isExact || read.memref != write.memref || read.rows != write.rows ||
        read.op->getBlock() != store->getBlock())
      continue;
    // A write in between would be lost or seen twice if the update were moved as a whole.
    bool isDisturbed = llvm::any_of(nest.statements, [&](const Statement &other) {
      return llvm::any_of(other.accesses, [&](const Access &access) {
        return access.isWrite && access.position > read.position &&
               access.position < write.position && !areDistinctBuffers(access.memref, write.memref);
      });
    });
    Update update{*combine, read.op, {}, root.getType()};
    if (!isDisturbed && collectTerms(root, read.op, *combine, statement, isWidened, update))
      return update;
  }
  return std::nullopt;
}

Value buildCombine(OpBuilder &b, Location loc, Combine combine, Value lhs, Value rhs) {
  bool isFloat = isa<FloatType>(lhs.getType());
  switch (combine) {
  case Combine::Add:
    return isFloat ? b.create<arith::AddFOp>(loc, lhs, rhs).getResult()
                   : b.create<arith::AddIOp>(loc, lhs, rhs).getResult();
  case Combine::Mul:
    return isFloat ? b.create<arith::MulFOp>(loc, lhs, rhs).getResult()
                   : b.create<arith::MulIOp>(loc, lhs, rhs).getResult();
  case Combine::MaximumF:
    return b.create<arith::MaximumFOp>(loc, lhs, rhs);
  case Combine::MinimumF:
    return b.create<arith::MinimumFOp>(loc, lhs, rhs);
  case Combine::MaxNumF:
    return b.create<arith::MaxNumFOp>(loc, lhs, rhs);
  case Combine::MinNumF:
    return b.create<arith::MinNumFOp>(loc, lhs, rhs);
  case Combine::MaxS:
    return b.create<arith::MaxSIOp>(loc, lhs, rhs);
  case Combine::MinS:
    return b.create<arith::MinSIOp>(loc, lhs, rhs);
  case Combine::MaxU:
    return b.create<arith::MaxUIOp>(loc, lhs, rhs);
  case Combine::MinU:
    return b.create<arith::MinUIOp>(loc, lhs, rhs);
  }
  llvm_unreachable("unknown combine");
}

} // namespace pyasc
