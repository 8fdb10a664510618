// Row-wise steps that follow each other, found and described for the emission of one phase.
#ifndef PYASC_COMPILER_TARGET_ASCEND_ROW_GROUP_H
#define PYASC_COMPILER_TARGET_ASCEND_ROW_GROUP_H

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "compiler/target/ascend/plan_vector_shape.h"

namespace pyasc::npu {

// The elements of a tensor that a step touches for row r: start + r * rowStride + c * columnStride
// for c < columns.
struct RowAccess {
  void *root;
  int64_t start, rowStride, columnStride, columns;

  auto tie() const { return std::tie(root, start, rowStride, columnStride, columns); }
  bool operator<(const RowAccess &other) const { return tie() < other.tie(); }
  bool operator==(const RowAccess &other) const { return tie() == other.tie(); }
  int64_t end() const { return start + (columns - 1) * columnStride + 1; }
};

struct RowOperand {
  RowAccess access;
  mlir::Value memref;
  mlir::Type element;
  bool used;
  TileKind kind;         // column: an element a row
  bool streamed = false; // see Planner::streams
};

struct RowStep {
  mutable mlir::linalg::GenericOp op;
  llvm::SmallVector<RowOperand, 0> inputs;
  std::optional<RowOperand> result;
  bool reduces = false;
  int64_t columns = 1;
  bool storesResult = true;
  // A reduction that starts from the neutral element, not from what the result holds.
  bool fromNeutral = false;
};

// Steps whose rows do not depend on each other's.
class RowGroup {
public:
  explicit RowGroup(int64_t rows) : rows(rows) {}

  // Adds the step unless rows of different steps would depend on each other.
  bool add(RowStep step) {
    for (const RowOperand &input : step.inputs) {
      if (!input.used)
        continue;
      if (written_.count(input.access.root) && !(written_.at(input.access.root) == input.access))
        return false;
    }
    const RowAccess &result = step.result->access;
    auto before = written_.find(result.root);
    if (before != written_.end() && !(before->second == result))
      return false;
    // Everything read of the same tensor must be of the same row.
    auto sameRow = [&](const RowAccess &read) {
      return read.root != result.root ||
             (read.rowStride == result.rowStride &&
              std::max(read.end(), result.end()) - std::min(read.start, result.start) <=
                  result.rowStride);
    };
    for (const RowAccess &read : read_)
      if (!sameRow(read))
        return false;
    for (const RowOperand &input : step.inputs)
      if (input.used && !sameRow(input.access))
        return false;
    for (const RowOperand &input : step.inputs)
      if (input.used)
        read_.push_back(input.access);
    written_.insert({result.root, result});
    steps.push_back(std::move(step));
    return true;
  }

  // Undoes the last add.
  void removeLast() {
    RowStep last = std::move(steps.back());
    steps.pop_back();
    std::vector<RowStep> others = std::move(steps);
    steps.clear();
    written_.clear();
    read_.clear();
    for (RowStep &step : others)
      add(std::move(step));
  }

  int64_t rows;
  std::vector<RowStep> steps;

private:
  std::map<void *, RowAccess> written_;
  std::vector<RowAccess> read_;
};

// The group that steps begin with.
struct FoundRows {
  RowGroup group{0};
  int64_t columns = 1;
  size_t taken = 0;
  llvm::SmallVector<mlir::Operation *> absorbed; // steps that are part of another
};

// The group that `steps` begin with: two steps at least, with a reduction among them.
std::optional<FoundRows> findRows(Planner &planner, llvm::ArrayRef<mlir::Operation *> steps);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_ROW_GROUP_H
