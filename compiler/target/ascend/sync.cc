// npu-sync: placed -> synced.
//
// In: a placed module, whose order of ops is right if each ended before the next began. Out: the
// same with flags, barriers and cache flushes, so that it stays right when the pipes overlap.
// Dependences come from dependences.h; here they get event ids and become ops. When a loop nest
// needs more ids of a pair of pipes than there are, dependences between the same ops merge, and
// what is left becomes a barrier on all pipes.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include "compiler/target/ascend/dependences.h"
#include "compiler/target/ascend/passes.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

// Fewer result fractals than this in an mmad, and the next one into the same accumulator could read
// it too early.
constexpr int64_t kSmallMmadFractals = 10;
constexpr int64_t kFractal = 16;

using PipePair = std::pair<int, int>;

class Synchroniser {
public:
  explicit Synchroniser(func::FuncOp function)
      : function(function), dependences(findDependences(function)) {}

  void run() {
    for (size_t i = 0; i < dependences.flags.size(); ++i)
      byRegion[regionOf(dependences.flags[i])].push_back(i);
    allocate();
    emit();
  }

private:
  Block &entry() { return function.getBody().front(); }
  // The op of the entry block that a dependence inside a loop or branch belongs to; null for one
  // between ops of the entry block.
  Operation *regionOf(const Dependence &flag) {
    return flag.block == &entry() ? nullptr : entry().findAncestorOpInBlock(*flag.producer);
  }

  void allocate();
  void allocateRegion(Operation *region);
  void mergeGroup(SmallVector<size_t> &flags);
  bool take(Dependence &flag);
  void barrierAll(Operation *before) {
    dependences.fences[before].barrierAllBefore = true;
    lastBarrier = before;
    used.clear();
  }

  void emit();
  // The id of the slot that `key` picks; of the only one without a key.
  Value idOf(OpBuilder &builder, const Dependence &flag, Value key);
  void carry(const Dependence &flag);
  void emitFence(Operation *op, const Fence &fence);

  func::FuncOp function;
  Dependences dependences;
  DenseMap<Operation *, SmallVector<size_t>> byRegion;
  DenseMap<PipePair, uint32_t> used;
  Operation *lastBarrier = nullptr;
  DenseSet<size_t> dropped;
};

bool Synchroniser::take(Dependence &flag) {
  uint32_t &mask = used[{static_cast<int>(flag.from), static_cast<int>(flag.to)}];
  SmallVector<int64_t> ids;
  for (int64_t id = 0; id < kEventIds && static_cast<int64_t>(ids.size()) < flag.depth; ++id)
    if (!(mask & (1u << id)))
      ids.push_back(id);
  if (static_cast<int64_t>(ids.size()) < flag.depth)
    return false;
  for (int64_t id : ids)
    mask |= 1u << id;
  flag.ids = ids;
  return true;
}

// Ids are used once between two barriers on all pipes at the top level of the function; inside a
// loop nest each dependence has its own.
void Synchroniser::allocate() {
  for (Operation &op : entry()) {
    for (size_t i : byRegion[nullptr]) {
      Dependence &flag = dependences.flags[i];
      if (flag.consumer != &op)
        continue;
      if (lastBarrier && !lastBarrier->isBeforeInBlock(flag.producer) &&
          lastBarrier != flag.producer)
        dropped.insert(i); // the barrier stands between
      else if (!take(flag)) {
        barrierAll(&op);
        dropped.insert(i);
      }
    }
    if (byRegion.contains(&op))
      allocateRegion(&op);
  }
}

void Synchroniser::allocateRegion(Operation *region) {
  SmallVector<size_t> flags = byRegion[region];
  auto needs = [&] {
    DenseMap<PipePair, int64_t> needed;
    for (size_t i : flags) {
      const Dependence &flag = dependences.flags[i];
      needed[{static_cast<int>(flag.from), static_cast<int>(flag.to)}] += flag.depth;
    }
    return needed;
  };
  for (auto [pipes, count] : needs())
    if (count > kEventIds) {
      mergeGroup(flags);
      break;
    }
  for (auto [pipes, count] : needs())
    if (count > kEventIds - llvm::popcount(used[pipes])) {
      barrierAll(region);
      break;
    }
  for (size_t i : flags)
    if (!take(dependences.flags[i])) {
      dependences.flags[i].barrier = true;
      dropped.insert(i);
      dependences.fences[dependences.flags[i].consumer].barrierAllBefore = true;
    }
}

// Dependences of one kind between the same pipes in one block: one that starts after the last
// producer and ends before the first consumer says them all.
void Synchroniser::mergeGroup(SmallVector<size_t> &flags) {
  SmallVector<size_t> kept;
  for (size_t i : flags) {
    Dependence &flag = dependences.flags[i];
    bool merged = false;
    for (size_t j : kept) {
      Dependence &into = dependences.flags[j];
      if (into.block != flag.block || into.from != flag.from || into.to != flag.to ||
          into.distance != flag.distance || !into.hasKeysOf(flag))
        continue;
      Operation *producer =
          into.producer->isBeforeInBlock(flag.producer) ? flag.producer : into.producer;
      Operation *consumer =
          flag.consumer->isBeforeInBlock(into.consumer) ? flag.consumer : into.consumer;
      if (!flag.isBack() && !producer->isBeforeInBlock(consumer))
        continue;
      auto isMadeBefore = [&](Value key, Operation *user) {
        Operation *maker =
            key && key.getParentBlock() == flag.block ? key.getDefiningOp() : nullptr;
        return !maker || maker->isBeforeInBlock(user);
      };
      if (!isMadeBefore(flag.key, producer) || !isMadeBefore(flag.consumerKey, consumer))
        continue;
      into.producer = producer;
      into.consumer = consumer;
      dropped.insert(i);
      merged = true;
      break;
    }
    if (!merged)
      kept.push_back(i);
  }
  flags = kept;
}

Value Synchroniser::idOf(OpBuilder &builder, const Dependence &flag, Value key) {
  Location loc = flag.producer->getLoc();
  if (!key)
    return builder.create<arith::ConstantIndexOp>(loc, flag.ids.front());
  Value depth = builder.create<arith::ConstantIndexOp>(loc, flag.depth);
  Value slot = builder.createOrFold<arith::RemUIOp>(loc, key, depth);
  // Ids of a flag need not follow each other.
  Value id = builder.create<arith::ConstantIndexOp>(loc, flag.ids.front());
  bool consecutive = flag.ids.back() - flag.ids.front() == flag.depth - 1;
  if (consecutive)
    return builder.createOrFold<arith::AddIOp>(loc, slot, id);
  for (int64_t i = 1; i < flag.depth; ++i) {
    Value is = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, slot,
                                             builder.create<arith::ConstantIndexOp>(loc, i));
    id = builder.create<arith::SelectOp>(
        loc, is, builder.create<arith::ConstantIndexOp>(loc, flag.ids[i]), id);
  }
  return id;
}

void Synchroniser::emitFence(Operation *op, const Fence &fence) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  if (fence.barrierAllBefore)
    builder.create<PipeBarrierOp>(loc, Pipe::ALL);
  else
    for (Pipe pipe : fence.barriersBefore)
      builder.create<PipeBarrierOp>(loc, pipe);
  if (fence.accumulates && !fence.barrierAllBefore) {
    auto mmad = cast<MmadOp>(op);
    auto index = [&](int64_t value) -> Value {
      return builder.create<arith::ConstantIndexOp>(loc, value);
    };
    Value rows = builder.createOrFold<arith::CeilDivUIOp>(loc, mmad.getM(), index(kFractal));
    Value columns = builder.createOrFold<arith::CeilDivUIOp>(loc, mmad.getN(), index(kFractal));
    Value fractals = builder.createOrFold<arith::MulIOp>(loc, rows, columns);
    Value isSmall = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, fractals,
                                                        index(kSmallMmadFractals));
    auto branch = builder.create<scf::IfOp>(loc, isSmall, /*withElseRegion=*/false);
    OpBuilder::atBlockBegin(branch.thenBlock()).create<PipeBarrierOp>(loc, Pipe::M);
  }
  if (fence.flushBefore)
    builder.create<DcacheFlushOp>(loc);
  if (fence.flushAfter) {
    builder.setInsertionPointAfter(op);
    builder.create<DcacheFlushOp>(loc);
  }
}

// What the first iterations wait for is raised before the loop, what the last ones raise is waited
// for behind it.
void Synchroniser::carry(const Dependence &flag) {
  Operation *region = regionOf(flag);
  Location loc = region->getLoc();
  OpBuilder before(region), after(region);
  after.setInsertionPointAfter(region);
  if (flag.distance == flag.depth) {
    for (int64_t id : flag.ids) {
      Value value = before.create<arith::ConstantIndexOp>(loc, id);
      before.create<SetFlagOp>(loc, flag.from, flag.to, value);
      value = after.create<arith::ConstantIndexOp>(loc, id);
      after.create<WaitFlagOp>(loc, flag.from, flag.to, value);
    }
    return;
  }
  // The consumer's keys of as many iterations from the first on, and from the one after the last.
  auto loop = cast<scf::ForOp>(region);
  auto add = flag.consumerKey.getDefiningOp<arith::AddIOp>();
  int64_t ahead = add ? *constantOf(add.getRhs()) : 0;
  for (int64_t i = 0; i < flag.distance; ++i) {
    Value first = before.create<arith::ConstantIndexOp>(loc, ahead + i);
    before.create<SetFlagOp>(loc, flag.from, flag.to, idOf(before, flag, first));
    Value last = after.create<arith::ConstantIndexOp>(loc, ahead + i);
    last = after.createOrFold<arith::AddIOp>(loc, loop.getUpperBound(), last);
    after.create<WaitFlagOp>(loc, flag.from, flag.to, idOf(after, flag, last));
  }
}

void Synchroniser::emit() {
  // Waits come before what fences an op; a flush after an op comes before the flags it raises, so
  // flags are put there first and the flush in between.
  for (auto [i, flag] : llvm::enumerate(dependences.flags)) {
    if (dropped.contains(i))
      continue;
    OpBuilder builder(flag.consumer);
    builder.create<WaitFlagOp>(flag.consumer->getLoc(), flag.from, flag.to,
                               idOf(builder, flag, flag.consumerKey));
    builder.setInsertionPointAfter(flag.producer);
    builder.create<SetFlagOp>(flag.producer->getLoc(), flag.from, flag.to,
                              idOf(builder, flag, flag.key));
    if (flag.isBack())
      carry(flag);
  }
  for (auto &[op, fence] : dependences.fences)
    emitFence(op, fence);

  bool storesToGm = false;
  function.walk(
      [&](memref::StoreOp store) { storesToGm |= findSpace(store.getMemRefType()) == Space::gm; });
  if (storesToGm) {
    OpBuilder builder(entry().getTerminator());
    builder.create<DcacheFlushOp>(function.getLoc());
  }
}

struct SyncPass : PassWrapper<SyncPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SyncPass)
  StringRef getArgument() const override { return "npu-sync"; }
  StringRef getDescription() const override { return "Insert flags and barriers"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<NpuDialect, arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module->getAttr(kStage) != StringAttr::get(&getContext(), kPlaced)) {
      module.emitError("npu-sync needs a placed module");
      return signalPassFailure();
    }
    for (auto function : module.getOps<func::FuncOp>())
      Synchroniser(function).run();
    module->setAttr(kStage, StringAttr::get(&getContext(), kSynced));
  }
};

} // namespace

std::unique_ptr<Pass> createSyncPass() { return std::make_unique<SyncPass>(); }

} // namespace pyasc::npu
