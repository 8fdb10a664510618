// asc-fuse-elementwise: computes a temporary's elements where they are used.
//
// In: generics in program order. A producer that overwrites a temporary with only one reader is
// inlined into that reader when nothing in between changes what the producer reads, and when that
// repeats no work: the reader visits each element once, or the producer is a constant, a copy or
// a cast. Contractions keep their form. Out: fewer generics, and no temporary.
#include "compiler/transform/buffers.h"
#include "compiler/transform/nest.h"
#include "compiler/transform/pass_counts.h"
#include "compiler/transform/passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"

namespace pyasc {

using namespace mlir;
using linalg::GenericOp;

namespace {

// More inputs than this do not fit the vector unit's buffers well.
constexpr unsigned kMaxInputs = 12;

bool isCheap(GenericOp producer) {
  return llvm::all_of(producer.getBody()->without_terminator(), [](Operation &op) {
    return isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp, arith::UIToFPOp>(
               op) ||
           op.hasTrait<OpTrait::ConstantLike>();
  });
}

bool isContraction(GenericOp generic) {
  return generic.getNumReductionLoops() != 0 && generic.getNumDpsInputs() == 2 &&
         linalg::isaContractionOpInterface(generic);
}

class FuseElementwise : public PassWrapper<FuseElementwise, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseElementwise)

  explicit FuseElementwise(bool onlyInLoops = false) : onlyInLoops(onlyInLoops) {}

  StringRef getArgument() const override { return "asc-fuse-elementwise"; }
  StringRef getDescription() const override { return "Inline elementwise producers"; }

  void runOnOperation() override {
    int64_t fused = 0;
    SmallVector<Operation *> temporaries;
    getOperation().walk([&](memref::AllocOp op) { temporaries.push_back(op); });
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation *&temporary : temporaries)
        if (temporary && fuse(cast<memref::AllocOp>(temporary))) {
          temporary = nullptr;
          changed = true;
          ++fused;
        }
    }
    if (!onlyInLoops || fused != 0)
      addPassCount(getOperation(), "fused_operations", fused);
  }

private:
  bool fuse(memref::AllocOp temporary) {
    GenericOp producer, consumer;
    for (Operation *user : temporary->getUsers()) {
      auto generic = dyn_cast<GenericOp>(user);
      if (!generic)
        return false;
      bool isOutput = llvm::is_contained(generic.getDpsInits(), Value(temporary));
      GenericOp &slot = isOutput ? producer : consumer;
      if (slot && slot != generic)
        return false;
      slot = generic;
    }
    if (!producer || !consumer || producer == consumer ||
        (onlyInLoops && !producer->getParentOfType<LoopLikeOpInterface>()) ||
        producer->getBlock() != consumer->getBlock() || !producer->isBeforeInBlock(consumer) ||
        !overwritesOutput(producer) ||
        !producer.getMatchingIndexingMap(producer.getDpsInitOperand(0)).isIdentity())
      return false;
    std::optional<AffineMap> use = mapOfUse(consumer, temporary);
    if (!use || !isWorthIt(producer, consumer, *use) || !canMove(producer, consumer, *use) ||
        !keepsExtents(producer, consumer, temporary, *use))
      return false;
    inlineInto(producer, consumer, temporary, *use);
    producer.erase();
    consumer.erase();
    temporary.erase();
    return true;
  }

  // How the consumer indexes the temporary, when it does so in one way and as an input.
  std::optional<AffineMap> mapOfUse(GenericOp consumer, Value temporary) {
    std::optional<AffineMap> use;
    for (OpOperand *input : consumer.getDpsInputOperands()) {
      if (input->get() != temporary)
        continue;
      AffineMap map = consumer.getMatchingIndexingMap(input);
      if ((use && *use != map) || !map.isProjectedPermutation())
        return std::nullopt;
      use = map;
    }
    return use;
  }

  bool isWorthIt(GenericOp producer, GenericOp consumer, AffineMap use) {
    bool isOnce = use.isPermutation();
    if (!isOnce && !(isCheap(producer) && producer.getNumDpsInputs() <= 1))
      return false;
    if (isContraction(consumer) && !(isCheap(producer) && producer.getNumDpsInputs() == 1))
      return false;
    return producer.getNumDpsInputs() + consumer.getNumDpsInputs() <= kMaxInputs;
  }

  // Whether the operands that are left still say how far each loop runs: a sum of ones has no other
  // than the ones.
  bool keepsExtents(GenericOp producer, GenericOp consumer, Value temporary, AffineMap use) {
    SmallVector<AffineMap> maps;
    for (OpOperand &operand : consumer->getOpOperands())
      if (operand.get() != temporary)
        maps.push_back(consumer.getMatchingIndexingMap(&operand));
    for (OpOperand *input : producer.getDpsInputOperands())
      maps.push_back(producer.getMatchingIndexingMap(input).compose(use));
    return static_cast<bool>(inversePermutation(concatAffineMaps(maps)));
  }

  // Nothing from the producer to the end of the consumer changes what the producer reads, except
  // that the consumer may overwrite exactly the element it has read.
  bool canMove(GenericOp producer, GenericOp consumer, AffineMap use) {
    for (OpOperand *input : producer.getDpsInputOperands()) {
      Value root = rootBuffer(input->get());
      for (Operation *op = producer->getNextNode(); op != consumer; op = op->getNextNode())
        if (mayWrite(op, root))
          return false;
      if (!mayWrite(consumer, root))
        continue;
      OpOperand &out = *consumer.getDpsInitOperand(0);
      AffineMap map = producer.getMatchingIndexingMap(input).compose(use);
      if (consumer.getNumDpsInits() != 1 || out.get() != input->get() ||
          consumer.getNumReductionLoops() != 0 || !map.isPermutation() ||
          map != consumer.getMatchingIndexingMap(&out))
        return false;
    }
    return true;
  }

  void inlineInto(GenericOp producer, GenericOp consumer, Value temporary, AffineMap use) {
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    auto addInput = [&](Value value, AffineMap map) -> unsigned {
      for (unsigned i = 0; i < inputs.size(); ++i)
        if (inputs[i] == value && maps[i] == map)
          return i;
      inputs.push_back(value);
      maps.push_back(map);
      return inputs.size() - 1;
    };
    SmallVector<unsigned> producerPlaces, consumerPlaces;
    for (OpOperand *input : consumer.getDpsInputOperands())
      consumerPlaces.push_back(
          input->get() == temporary
              ? ~0u
              : addInput(input->get(), consumer.getMatchingIndexingMap(input)));
    for (OpOperand *input : producer.getDpsInputOperands())
      producerPlaces.push_back(
          addInput(input->get(), producer.getMatchingIndexingMap(input).compose(use)));
    for (OpOperand &out : consumer.getDpsInitsMutable())
      maps.push_back(consumer.getMatchingIndexingMap(&out));

    OpBuilder builder(consumer);
    auto fused = builder.create<GenericOp>(
        builder.getFusedLoc({producer.getLoc(), consumer.getLoc()}), TypeRange{}, inputs,
        consumer.getDpsInits(), maps, consumer.getIteratorTypesArray(),
        [&](OpBuilder &body, Location loc, ValueRange arguments) {
          IRMapping mapping;
          for (auto [argument, place] :
               llvm::zip(producer.getBody()->getArguments(), producerPlaces))
            mapping.map(argument, arguments[place]);
          for (Operation &op : producer.getBody()->without_terminator()) {
            if (auto index = dyn_cast<linalg::IndexOp>(op))
              mapping.map(index.getResult(),
                          body.create<linalg::IndexOp>(loc, use.getDimPosition(index.getDim())));
            else
              body.clone(op, mapping);
          }
          Value element =
              mapping.lookupOrDefault(producer.getBody()->getTerminator()->getOperand(0));
          Block *rest = consumer.getBody();
          for (auto [argument, place] : llvm::zip(rest->getArguments(), consumerPlaces))
            mapping.map(argument, place == ~0u ? element : arguments[place]);
          for (unsigned i = 0; i < consumer.getNumDpsInits(); ++i)
            mapping.map(rest->getArgument(consumerPlaces.size() + i), arguments[inputs.size() + i]);
          for (Operation &op : *rest)
            body.clone(op, mapping);
        });
    fused->setDiscardableAttrs(consumer->getDiscardableAttrDictionary());
  }

  bool onlyInLoops;
};

} // namespace

std::unique_ptr<Pass> createFuseElementwisePass() { return std::make_unique<FuseElementwise>(); }

std::unique_ptr<Pass> createFuseInLoopsPass() {
  return std::make_unique<FuseElementwise>(/*onlyInLoops=*/true);
}

} // namespace pyasc
