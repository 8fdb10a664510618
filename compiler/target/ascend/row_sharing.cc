#include "compiler/target/ascend/row_sharing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace pyasc::npu {

using namespace mlir;

namespace {

// Numbers for values: equal ones only where the values are.
class Numbering {
public:
  void add(const RowGroup &group, size_t number) {
    const RowStep &step = group.steps[number];
    Block *body = step.op.getBody();
    auto read = [&](BlockArgument argument, const RowOperand &operand) {
      int64_t writes = 0;
      for (size_t earlier = 0; earlier < number; ++earlier)
        writes += group.steps[earlier].result->access.root == operand.access.root;
      const RowAccess &access = operand.access;
      numbers_[argument] =
          numberOf({kRead, reinterpret_cast<intptr_t>(access.root), access.start, access.rowStride,
                    access.columnStride, access.columns, writes, typeOf(argument)});
    };
    for (auto [position, input] : llvm::enumerate(step.inputs))
      read(body->getArgument(position), input);
    read(body->getArguments().back(), *step.result);
    for (Operation &op : body->without_terminator())
      for (Value result : op.getResults())
        numbers_[result] = numberOf(keyOf(op, step.columns, result));
  }

  unsigned of(Value value) {
    auto found = numbers_.find(value);
    if (found != numbers_.end())
      return found->second;
    return numberOf({kOutside, reinterpret_cast<intptr_t>(value.getAsOpaquePointer())});
  }

private:
  using Key = std::vector<int64_t>;
  enum Kind : int64_t { kRead, kConstant, kOperation, kUnique, kOutside };

  static int64_t typeOf(Value value) {
    return reinterpret_cast<intptr_t>(value.getType().getAsOpaquePointer());
  }

  Key keyOf(Operation &op, int64_t columns, Value result) {
    // An index depends on the nest around.
    if (op.getNumResults() != 1 || op.getNumRegions() != 0 || !isPure(&op) ||
        isa<linalg::IndexOp>(op))
      return {kUnique, reinterpret_cast<intptr_t>(result.getAsOpaquePointer())};
    Key key{kOperation,
            reinterpret_cast<intptr_t>(op.getName().getAsOpaquePointer()),
            reinterpret_cast<intptr_t>(op.getAttrDictionary().getAsOpaquePointer()),
            reinterpret_cast<intptr_t>(op.getPropertiesAsAttribute().getAsOpaquePointer()),
            typeOf(result),
            columns};
    for (Value operand : op.getOperands()) {
      Attribute constant;
      if (matchPattern(operand, m_Constant(&constant)))
        key.insert(key.end(),
                   {kConstant, reinterpret_cast<intptr_t>(constant.getAsOpaquePointer())});
      else
        key.insert(key.end(), {kOperation, of(operand)});
    }
    return key;
  }

  unsigned numberOf(Key key) {
    return keys_.try_emplace(std::move(key), static_cast<unsigned>(keys_.size())).first->second;
  }

  std::map<Key, unsigned> keys_;
  llvm::DenseMap<Value, unsigned> numbers_;
};

// Where the body has a tanh or erf, its neighbours need not hold their own values
// (plan_vector_body.cc).
bool isShareable(Block *body) {
  return body->getOps<math::TanhOp>().empty() && body->getOps<math::ErfOp>().empty();
}

bool isShareable(Operation *op) {
  return op->getNumResults() == 1 && isa<FloatType>(op->getResult(0).getType()) &&
         !op->hasTrait<OpTrait::ConstantLike>();
}

} // namespace

RowSharing::RowSharing(const RowGroup &group)
    : taken_(group.steps.size()), kept_(group.steps.size()) {
  Numbering numbering;
  struct Computed {
    size_t step;
    Value value;
  };
  std::map<unsigned, Computed> available;
  for (size_t number = 0; number < group.steps.size(); ++number) {
    numbering.add(group, number);
    Block *body = group.steps[number].op.getBody();
    if (!isShareable(body))
      continue;
    SmallVector<Value> wanted(body->getTerminator()->getOperands());
    llvm::DenseSet<Operation *> seen;
    SmallVector<Value> made;
    while (!wanted.empty()) {
      Value value = wanted.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!op || op->getBlock() != body || !seen.insert(op).second)
        continue;
      if (isShareable(op)) {
        unsigned key = numbering.of(value);
        if (available.count(key)) {
          taken_[number].push_back({value, key});
          last_[key] = number;
          continue;
        }
        made.push_back(value);
      }
      llvm::append_range(wanted, op->getOperands());
    }
    for (Value value : made)
      available.try_emplace(numbering.of(value), Computed{number, value});
  }
  for (auto [key, step] : last_)
    kept_[available.at(key).step].push_back({available.at(key).value, key});
}

} // namespace pyasc::npu
