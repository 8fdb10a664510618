// Two products with row-wise steps between them, as one group of cube and vector cores.
#ifndef PYASC_COMPILER_TARGET_ASCEND_PLAN_CHAIN_H
#define PYASC_COMPILER_TARGET_ASCEND_PLAN_CHAIN_H

#include <memory>
#include <vector>

#include "compiler/target/ascend/plan.h"

namespace pyasc::npu {

struct RowChain;

// Before steps are folded or cut into blocks of rows: the chains among them that can be planned.
std::vector<std::shared_ptr<RowChain>> findChains(Planner &planner,
                                                  llvm::ArrayRef<mlir::Operation *> steps);
llvm::ArrayRef<mlir::Operation *> membersOf(const RowChain &chain);
// The first product.
mlir::Operation *headOf(const RowChain &chain);

// `steps` begin with the chain's first product. As a planner of plan.h.
size_t planChain(Planner &planner, const RowChain &chain, llvm::ArrayRef<mlir::Operation *> steps,
                 std::string &reason);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_PLAN_CHAIN_H
