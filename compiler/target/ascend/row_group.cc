#include "compiler/target/ascend/row_group.h"

#include <algorithm>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace pyasc::npu {

using namespace mlir;

namespace {

// Merges dimensions [from, to) into the last of them; false when an operand walks them otherwise.
bool merge(VectorNest &nest, int64_t from, int64_t to) {
  for (int64_t d = to - 2; d >= from; --d) {
    if (nest.reduction[d] != nest.reduction[d + 1])
      return false;
    for (VectorOperand &operand : nest.operands)
      if (operand.strides[d] != operand.strides[d + 1] * nest.extents[d + 1])
        return false;
    nest.extents[d + 1] *= nest.extents[d];
    nest.extents.erase(nest.extents.begin() + d);
    nest.reduction.erase(nest.reduction.begin() + d);
    for (VectorOperand &operand : nest.operands)
      operand.strides.erase(operand.strides.begin() + d);
  }
  return true;
}

void dropUnits(VectorNest &nest) {
  for (int64_t d = nest.rank() - 1; d >= 0; --d) {
    if (nest.extents[d] != 1)
      continue;
    nest.extents.erase(nest.extents.begin() + d);
    nest.reduction.erase(nest.reduction.begin() + d);
    for (VectorOperand &operand : nest.operands)
      operand.strides.erase(operand.strides.begin() + d);
  }
}

// The number of rows that a reduction over its last dimensions has; 0: it is none.
int64_t rowsOfReduction(VectorNest nest) {
  dropUnits(nest);
  int64_t rows = 1, d = 0;
  for (; d < nest.rank() && !nest.reduction[d]; ++d)
    rows *= nest.extents[d];
  if (d == nest.rank())
    return 0;
  for (; d < nest.rank(); ++d)
    if (!nest.reduction[d])
      return 0;
  return rows;
}

// The step as rows, each with columns of its own.
std::optional<RowStep> asRows(VectorNest nest, int64_t rows) {
  dropUnits(nest);
  int64_t split = 0, product = 1;
  while (split < nest.rank() && product < rows)
    product *= nest.extents[split++];
  if (product != rows || split == 0)
    return std::nullopt;
  int64_t inner = nest.rank() - split;
  if (!merge(nest, split, nest.rank()) || !merge(nest, 0, split) || nest.reduction[0])
    return std::nullopt;
  RowStep step;
  step.op = nest.op;
  step.columns = inner > 0 ? nest.extents[1] : 1;
  step.reduces = inner > 0 && nest.reduction[1];
  for (const VectorOperand &operand : nest.operands) {
    if (!operand.view.terms.empty() || (operand.isOutput && step.result))
      return std::nullopt;
    int64_t columnStride = inner > 0 ? operand.strides[1] : 0;
    bool wide = columnStride != 0;
    RowOperand row{{operand.view.root.getAsOpaquePointer(), operand.view.offset + operand.offset,
                    operand.strides[0], columnStride, wide ? step.columns : 1},
                   operand.memref,
                   operand.element,
                   operand.used,
                   TileKind::uniform};
    const RowAccess &access = row.access;
    if (wide)
      row.kind = access.rowStride != 0 ? TileKind::full : TileKind::row;
    else if (access.rowStride != 0)
      row.kind = TileKind::column;
    bool fine = !wide || columnStride == 1;
    if (row.kind == TileKind::full)
      fine &= access.rowStride >= step.columns;
    if (row.kind == TileKind::column)
      fine &= access.rowStride > 0;
    if (operand.isOutput) {
      TileKind natural = inner > 0 && !step.reduces ? TileKind::full : TileKind::column;
      fine &= row.kind == natural && (natural == TileKind::full || access.rowStride == 1);
    } else if (row.kind == TileKind::column && access.rowStride != 1) {
      fine &= operand.element.isF32() || operand.element.isF16();
    }
    if (!fine && (operand.isOutput || operand.used))
      return std::nullopt;
    if (operand.isOutput)
      step.result = row;
    else
      step.inputs.push_back(row);
  }
  if (step.reduces) {
    auto combiner = findCombiner(step.op);
    Type element = step.result->element;
    if (!combiner || !combiner->reduce || !(element.isF32() || element.isF16() || element.isBF16()))
      return std::nullopt;
  }
  return step;
}

// A value as its body reads it, perhaps widened to f32, and nothing else.
bool isPlain(Value value, Block *body) {
  if (auto wide = value.getDefiningOp<arith::ExtFOp>())
    value = wide.getIn();
  return value == body->getArgument(0);
}

// Whether `first` sets the results to the first element of each row and `rest` reduces the others
// into them, by a maximum or minimum: then `rest` becomes the reduction of whole rows, which gives
// the same, since these neither round nor depend on the order.
bool startsWithFirst(const RowStep &first, RowStep &rest) {
  if (!rest.reduces || rest.fromNeutral || first.reduces || first.columns != 1 ||
      first.inputs.size() != 1 || rest.inputs.size() != 1 || first.result->used ||
      !(first.result->access == rest.result->access))
    return false;
  Combiner combiner = *findCombiner(rest.op);
  const RowAccess &one = first.inputs[0].access, &others = rest.inputs[0].access;
  if ((combiner.binary != Binary::max && combiner.binary != Binary::min) ||
      one.root == first.result->access.root || one.root != others.root ||
      one.start + 1 != others.start || one.rowStride != others.rowStride ||
      others.columnStride != 1 || others.rowStride <= others.columns ||
      first.inputs[0].element != rest.inputs[0].element ||
      !isPlain(first.op.getBody()->getTerminator()->getOperand(0), first.op.getBody()) ||
      !isPlain(combiner.element, rest.op.getBody()))
    return false;
  rest.inputs[0].access.start -= 1;
  rest.inputs[0].access.columns += 1;
  rest.columns += 1;
  rest.fromNeutral = true;
  return true;
}

} // namespace

std::optional<FoundRows> findRows(Planner &planner, ArrayRef<Operation *> steps) {
  // The rows are those of the first reduction in a row of tensor operations.
  std::string reason;
  std::vector<VectorNest> nests;
  int64_t rows = 0;
  for (Operation *step : steps) {
    auto op = dyn_cast<linalg::GenericOp>(step);
    auto nest = op ? analyseNest(planner, op, reason, /*merge=*/false) : FailureOr<VectorNest>();
    if (!op || failed(nest) || nest->empty)
      break;
    nests.push_back(*nest);
    if (rows == 0)
      rows = rowsOfReduction(*nest);
  }
  if (rows <= 1)
    return std::nullopt;
  FoundRows found;
  found.group = RowGroup(rows);
  auto &[group, columns, taken, absorbed] = found;
  bool reduces = false;
  for (const VectorNest &nest : nests) {
    auto step = asRows(nest, rows);
    if (!step)
      break;
    // A product whose zeros were folded into it, for the cube, adds to nothing here either.
    if (Value destination = planner.overwritten(nest.op)) {
      if (!step->reduces || destination != nest.op.getDpsInits()[0])
        break;
      step->fromNeutral = true;
    }
    bool whole = !group.steps.empty() && startsWithFirst(group.steps.back(), *step);
    if (whole) {
      absorbed.push_back(group.steps.back().op);
      group.removeLast();
    }
    int64_t width = step->columns;
    bool isReduction = step->reduces;
    if (!group.add(std::move(*step))) {
      if (whole)
        return std::nullopt; // its first element is lost
      break;
    }
    columns = std::max(columns, width);
    reduces |= isReduction;
    ++taken;
  }
  if (taken < 2 || !reduces || group.steps.empty())
    return std::nullopt;
  for (RowStep &step : group.steps)
    for (RowOperand &input : step.inputs)
      input.streamed =
          planner.streams(Value::getFromOpaquePointer(input.access.root), steps.take_front(taken));
  for (RowStep &step : group.steps)
    step.storesResult = !isTemporary(Value::getFromOpaquePointer(step.result->access.root),
                                     steps.take_front(taken));
  return found;
}

} // namespace pyasc::npu
