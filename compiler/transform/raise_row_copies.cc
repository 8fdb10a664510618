// asc-raise-row-copies: innermost loops that copy a row become one operation.
//
// In: structured form. Out: the same; an affine.for that was left as a loop and whose body moves
// element j of one row to element j of another, `y[i, j] = t[k, j]`, is a linalg.generic on the two
// rows. What does not depend on j, such as the index k that is read and checked, goes before it. So
// the target can move the row as a whole, wherever it lies.
#include "compiler/transform/nest.h"
#include "compiler/transform/pass_counts.h"
#include "compiler/transform/passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

#include "compiler/ir/asc_dialect.h"
#include "compiler/ir/copies.h"
#include "compiler/ir/element_access.h"

namespace pyasc {

using namespace mlir;
using affine::AffineForOp;

namespace {

// Whether the access walks along the last dimension, one element an iteration, and is elsewhere
// where the loop's variable has no say.
bool walksARow(const ir::ElementAccess &access, Value variable) {
  auto type = cast<MemRefType>(access.memref.getType());
  Value memref = access.memref;
  if (type.getRank() == 0 || !type.getLayout().isIdentity() ||
      !memref.getParentRegion()->isProperAncestor(variable.getParentRegion()))
    return false;
  if (!access.map) {
    return access.operands.back() == variable &&
           !llvm::is_contained(access.operands.drop_back(), variable);
  }
  // By its value at the variable's next place: one further along the row.
  auto at = llvm::find(access.operands, variable);
  if (at == access.operands.end() || llvm::count(access.operands, variable) != 1)
    return false;
  auto position = static_cast<unsigned>(std::distance(access.operands.begin(), at));
  if (position >= access.map.getNumDims())
    return false;
  MLIRContext *context = type.getContext();
  AffineExpr dim = getAffineDimExpr(position, context);
  for (auto [k, expr] : llvm::enumerate(access.map.getResults())) {
    AffineExpr next = expr.replace(dim, dim + 1);
    AffineExpr step =
        simplifyAffineExpr(next - expr, access.map.getNumDims(), access.map.getNumSymbols());
    auto constant = dyn_cast<AffineConstantExpr>(step);
    if (!constant || constant.getValue() != (k + 1 == access.map.getNumResults() ? 1 : 0))
      return false;
  }
  return true;
}

// The row that the access walks along from the loop's first iteration on.
Value rowOf(OpBuilder &builder, Location loc, const ir::ElementAccess &access, Value variable,
            int64_t first, int64_t length) {
  auto type = cast<MemRefType>(access.memref.getType());
  SmallVector<OpFoldResult> offsets;
  if (access.map) {
    SmallVector<OpFoldResult> operands;
    for (Value operand : access.operands)
      operands.push_back(operand == variable ? OpFoldResult(builder.getIndexAttr(first))
                                             : OpFoldResult(operand));
    for (unsigned k = 0; k < access.map.getNumResults(); ++k)
      offsets.push_back(
          affine::makeComposedFoldedAffineApply(builder, loc, access.map.getSubMap({k}), operands));
  } else {
    offsets.append(access.operands.begin(), access.operands.end());
    offsets.back() = builder.getIndexAttr(first);
  }
  SmallVector<OpFoldResult> ones(type.getRank(), builder.getIndexAttr(1)), sizes = ones;
  sizes.back() = builder.getIndexAttr(length);
  auto result = cast<MemRefType>(
      memref::SubViewOp::inferRankReducedResultType({length}, type, offsets, sizes, ones));
  return builder.create<memref::SubViewOp>(loc, result, access.memref, offsets, sizes, ones);
}

// True: the loop is gone.
bool raiseRowCopy(AffineForOp loop) {
  if (loop.getNumResults() != 0 || !loop.hasConstantBounds() || loop.getStepAsInt() != 1 ||
      loop->hasAttr(ir::AscDialect::kUnroll))
    return false;
  const int64_t first = loop.getConstantLowerBound();
  const int64_t length = loop.getConstantUpperBound() - first;
  if (length < ir::kShortestCopiedRow)
    return false;
  Operation *store = nullptr;
  for (Operation &op : loop.getBody()->without_terminator()) {
    std::optional<ir::ElementAccess> access = ir::ElementAccessOf(&op);
    if (!access || !access->isStore)
      continue;
    if (store)
      return false;
    store = &op;
  }
  if (!store || store->getNextNode() != loop.getBody()->getTerminator())
    return false;
  Operation *load = store->getOperand(0).getDefiningOp();
  std::optional<ir::ElementAccess> from = ir::ElementAccessOf(load),
                                   to = ir::ElementAccessOf(store);
  Value variable = loop.getInductionVar();
  if (!from || from->isStore || !to || load->getBlock() != loop.getBody() || !load->hasOneUse() ||
      !walksARow(*from, variable) || !walksARow(*to, variable) ||
      !areDistinctBuffers(from->memref, to->memref))
    return false;
  // The rest is the same in every iteration, and may come before the first.
  SmallVector<Operation *> before;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (&op == load || &op == store)
      continue;
    std::optional<ir::ElementAccess> read = ir::ElementAccessOf(&op);
    if (op.getNumRegions() != 0 || llvm::is_contained(op.getOperands(), variable) ||
        llvm::is_contained(op.getOperands(), load->getResult(0)) ||
        !(read ? areDistinctBuffers(read->memref, to->memref)
               : isMemoryEffectFree(&op) || isa<ir::CheckOp>(op)))
      return false;
    before.push_back(&op);
  }
  for (Operation *op : before)
    op->moveBefore(loop);
  OpBuilder builder(loop);
  Location loc = store->getLoc();
  Value source = rowOf(builder, loc, *from, variable, first, length);
  Value target = rowOf(builder, loc, *to, variable, first, length);
  AffineMap along = builder.getMultiDimIdentityMap(1);
  builder.create<linalg::GenericOp>(loc, ValueRange{source}, ValueRange{target},
                                    ArrayRef<AffineMap>{along, along},
                                    ArrayRef<utils::IteratorType>{utils::IteratorType::parallel},
                                    [](OpBuilder &body, Location at, ValueRange arguments) {
                                      body.create<linalg::YieldOp>(at, arguments.front());
                                    });
  loop.erase();
  return true;
}

struct RaiseRowCopies : PassWrapper<RaiseRowCopies, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RaiseRowCopies)

  StringRef getArgument() const override { return "asc-raise-row-copies"; }
  StringRef getDescription() const override { return "Loops that copy a row as one operation"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<linalg::LinalgDialect, memref::MemRefDialect>();
  }

  void runOnOperation() override {
    int64_t raised = 0;
    SmallVector<AffineForOp> loops;
    getOperation().walk([&](AffineForOp loop) { loops.push_back(loop); });
    for (AffineForOp loop : loops)
      // One that stands alone is a copy of a part, which raising had its reasons to leave.
      if (loop->getParentOp() != getOperation() && raiseRowCopy(loop))
        ++raised;
    addPassCount(getOperation(), "row_copies", raised);
  }
};

} // namespace

std::unique_ptr<Pass> createRaiseRowCopiesPass() { return std::make_unique<RaiseRowCopies>(); }

} // namespace pyasc
