#include "compiler/target/ascend/row_chain.h"

using namespace mlir;

namespace pyasc::npu {

static constexpr int64_t kGroupMode = 2; // a cube core and its two vector cores

scf::ForOp ChainOps::loop(Value count) {
  auto loop = builder.create<scf::ForOp>(loc, index(0), count, index(1));
  builder.setInsertionPointToStart(loop.getBody());
  return loop;
}

void ChainOps::when(Value condition, function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(builder);
  auto branch = builder.create<scf::IfOp>(loc, condition, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

void ChainOps::set(Pipe pipe, int64_t id) {
  builder.create<CrossSetOp>(loc, kGroupMode, pipe, index(id));
}

void ChainOps::wait(Pipe pipe, int64_t id) { builder.create<CrossWaitOp>(loc, pipe, index(id)); }

std::pair<Value, Value> ChainOps::share(Value core, const RowChain &chain, int64_t cores) {
  int64_t blocks = llvm::divideCeil(chain.rows, chain.block);
  int64_t each = blocks / cores, more = blocks % cores;
  Value first = mul(core, each), count = index(each);
  if (more != 0) {
    first = add(first, make<arith::MinSIOp>(core, index(more)));
    count = choose(less(core, index(more)), index(each + 1), index(each));
  }
  return {first, count};
}

Value ChainOps::rowsAt(Value start, const RowChain &chain) {
  if (chain.rows % chain.block == 0)
    return index(chain.block);
  return make<arith::MinSIOp>(index(chain.block), make<arith::SubIOp>(index(chain.rows), start));
}

} // namespace pyasc::npu
