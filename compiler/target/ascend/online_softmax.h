// The row-wise steps between two products that make a softmax, worked on column block by column
// block: no row has to be whole anywhere.
//
// For a block of columns with the scores x of a row, and a maximum m and a sum l so far:
//
//   m' = max(m, max x), alpha = exp(m - m'), e = exp(x - m'), l = l alpha + sum e
//
// The second product takes e in place of the probabilities, its sum so far is multiplied by alpha
// as well, and at the end divided by l. m starts at the smallest finite number, so that a block of
// -inf alone leaves sums of zero, and a whole row of -inf gives 0 / 0, NaN, as the steps do; +inf
// and NaN make e, and with it the row, NaN.
//
// Error, beside that of the steps as written: e is rounded to the probabilities' type where e / l
// was, with the same relative error, and less of it below the smallest normal number. What belongs
// to a block is multiplied once for each later one, rounded and added, by an exponential whose
// argument is rounded as well; so is l. Together within 2^-20 of the sum of |p v| a block of
// columns. Where a sum of elements of the second operand may be too large, that is when they are no
// f16, all e are smaller by a power of two near the number of columns, as l is.
#ifndef PYASC_COMPILER_TARGET_ASCEND_ONLINE_SOFTMAX_H
#define PYASC_COMPILER_TARGET_ASCEND_ONLINE_SOFTMAX_H

#include <memory>
#include <string>

#include "compiler/target/ascend/plan_vector_phase.h"
#include "compiler/target/ascend/row_group.h"

namespace pyasc::npu {

// Columns that the vector unit takes at a time, and that lie together in the rings: a panel.
inline constexpr int64_t kPanel = 128;

struct OnlineSoftmax {
  FoundRows rows;
  // Of rows.group.steps: what computes the scores that the maximum is of, element by element, and
  // then those of the softmax.
  size_t before = 0;
  const RowStep *maximum = nullptr;
  mlir::Value element; // of the maximum's body: the score that enters it
  // The scores as the first product leaves them, perhaps widened, are what the maximum is of.
  bool isPlain = false;
  void *scores = nullptr;
};

// Nothing when the steps, all of them, are no softmax of `scores` to `probabilities`.
std::unique_ptr<OnlineSoftmax> findOnlineSoftmax(Planner &planner,
                                                 llvm::ArrayRef<mlir::Operation *> steps,
                                                 mlir::Value scores, mlir::Value probabilities);

// What a vector core holds.
struct OnlineShape {
  int64_t rows = 0;    // of a core, at most
  int64_t columns = 0; // of all scores
  int64_t width = 0;   // of the result
  int64_t lag = 1;     // blocks between emitPowers and emitSum
  mlir::Type scores, probabilities, result;

  int64_t pitch() const { return (width + 15) / 16 * 16; }
  int64_t tail() const { return columns % kPanel; }
};

// Bytes of UB beside those that the expression of the scores takes.
int64_t bytesOf(const OnlineShape &shape, const OnlineSoftmax &softmax);

// The instructions of one vector core.
class OnlineCode {
public:
  OnlineCode(PhaseEmitter &emitter, TileBuffers &buffers, const OnlineSoftmax &softmax,
             const OnlineShape &shape, mlir::Location loc);

  // Memory and its start, in front of all loops.
  void prepare();

  struct Block {
    mlir::Value rows;            // of this core
    mlir::Value row;             // the first one, in the tensors
    mlir::Value column;          // the first one, in the tensors
    mlir::Value panels;          // whole ones
    mlir::Value tail;            // 1 where a narrower panel follows them, or 0
    mlir::Value isFirst, isLast; // of the blocks of columns: 1 or 0
    mlir::Value turn;            // a number; of blocks that follow each other by one more
  };
  struct Place {
    mlir::Value memory, start; // of the core's first row in the first panel
    int64_t panelStride = 0;   // elements from panel to panel
  };
  // Scores to powers.
  mlir::LogicalResult emitPowers(const Block &block, const Place &scores, const Place &powers);
  // The product of the powers of a block joins the sum; after the last one the result is stored.
  void emitSum(const Block &block, mlir::Value product, mlir::Value productStart,
               mlir::Value result, mlir::Value resultStart, int64_t resultStride);

  const std::string &reason() const { return reason_; }

private:
  mlir::Value index(int64_t value) { return code_.index(value); }
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value number(double value, mlir::Type type);
  mlir::Value buffer(int64_t elements, mlir::Type element, int64_t depth = 1);
  mlir::Value slot(mlir::Value buffer, mlir::Value turn);
  // `body` in a loop, given its variable; the builder stays where it was.
  void repeat(mlir::Value count, llvm::function_ref<void(mlir::Value)> body);

  bool hasWideScores() const { return !softmax_.isPlain || !lanes_.isF16(); }
  mlir::Value loadScores(const Block &block, const Place &scores, mlir::Value panel,
                         mlir::Value columns);
  // The scores of a panel in f32.
  mlir::FailureOr<TileValue> evaluate(mlir::Value memory, const Block &block, mlir::Value panel,
                                      mlir::Value columns);
  mlir::FailureOr<TileValue> read(const RowOperand &operand, const Block &block, mlir::Value column,
                                  mlir::Value columns);
  mlir::LogicalResult emitMaxima(const Block &block, const Place &scores, mlir::Value panel,
                                 mlir::Value columns, bool whole);
  mlir::LogicalResult emitExponentials(const Block &block, const Place &scores, const Place &powers,
                                       mlir::Value panel, mlir::Value columns, bool whole);
  void binary(Binary op, mlir::Value dst, mlir::Value a, mlir::Value b, mlir::Value count);
  void rowBinary(Binary op, mlir::Value dst, mlir::Value a, mlir::Value b, mlir::Value rows,
                 mlir::Value columns, int64_t stride);
  void rowReduce(Reduce op, mlir::Value dst, mlir::Value a, mlir::Value rows, mlir::Value columns);

  PhaseEmitter &emitter_;
  mlir::OpBuilder &builder_;
  TileBuffers &buffers_;
  const OnlineSoftmax &softmax_;
  const OnlineShape shape_;
  mlir::Location loc_;
  TileCode code_;
  mlir::Type f32_, lanes_; // of the maxima of lanes
  // Of all rows: sum of products; sums of lanes and of narrow panels; maxima. Of the last
  // blocks: factors, and sums when they are complete.
  mlir::Value sum_, laneSums_, tailSums_, maxima_, factors_, totals_;
  // For a while.
  mlir::Value in_, x_, out_, laneMaxima_, blockMaxima_, narrow_, product_, rounded_;
  mlir::Value broadcast_, reduced_;
  // Other operands of the scores' expression.
  std::map<RowAccess, mlir::Value> operands_;
  std::string reason_;
};

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_ONLINE_SOFTMAX_H
