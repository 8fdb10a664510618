// What the plans of two products with row-wise steps between them share: the chain as it was found,
// and the ops that both kinds of cores count its blocks with.
#ifndef PYASC_COMPILER_TARGET_ASCEND_ROW_CHAIN_H
#define PYASC_COMPILER_TARGET_ASCEND_ROW_CHAIN_H

#include "compiler/target/ascend/contraction.h"
#include "compiler/target/ascend/online_softmax.h"
#include "compiler/target/ascend/plan_vector_rows.h"

namespace pyasc::npu {

struct RowChain {
  mlir::linalg::GenericOp first, second;
  std::shared_ptr<RowSteps> steps;
  std::shared_ptr<OnlineSoftmax> softmax;       // null: the steps are none
  llvm::SmallVector<mlir::Operation *> members; // of the kernel as it was found
  size_t between = 0; // steps between the products, roundings of S not counted
  mlir::Value scores, probabilities;
  mlir::Type scoresElement, probabilitiesElement;
  int64_t rows = 0, columns = 0, width = 0;
  int64_t block = 0; // rows of a block
  // Panels of a block of columns; 0: rows are whole.
  int64_t panels = 0;
};

// Ops that both kinds of cores share.
class ChainOps {
public:
  ChainOps(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::Value index(int64_t value) {
    return builder.create<mlir::arith::ConstantIndexOp>(loc, value);
  }
  template <typename Op> mlir::Value make(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<Op>(loc, a, b);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return make<mlir::arith::AddIOp>(a, b); }
  mlir::Value mul(mlir::Value a, int64_t b) { return make<mlir::arith::MulIOp>(a, index(b)); }
  mlir::Value less(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::CmpIOp>(loc, mlir::arith::CmpIPredicate::slt, a, b);
  }
  mlir::Value choose(mlir::Value condition, mlir::Value yes, mlir::Value no) {
    return builder.createOrFold<mlir::arith::SelectOp>(loc, condition, yes, no);
  }
  mlir::Value both(mlir::Value a, mlir::Value b) { return make<mlir::arith::AndIOp>(a, b); }
  mlir::scf::ForOp loop(mlir::Value count);
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  void set(Pipe pipe, int64_t id);
  void wait(Pipe pipe, int64_t id);

  // Blocks of rows of AI core `core`: the first one, and how many.
  std::pair<mlir::Value, mlir::Value> share(mlir::Value core, const RowChain &chain, int64_t cores);
  // The rows of the block that starts there.
  mlir::Value rowsAt(mlir::Value start, const RowChain &chain);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

// A chain whose softmax goes column block by column block (plan_online.cc): sets what is left of
// `chain`; false when it does not pay or fit.
bool chooseOnline(Planner &planner, RowChain &chain, const Contraction &first,
                  const Contraction &second);
// As planChain.
size_t planOnline(Planner &planner, const RowChain &chain, llvm::ArrayRef<mlir::Operation *> steps,
                  std::string &reason);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_ROW_CHAIN_H
