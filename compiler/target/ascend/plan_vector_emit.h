// A phase of the vector unit for one nest: the loops over tiles, the transfers and the body.
#ifndef PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_EMIT_H
#define PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_EMIT_H

#include <memory>
#include <vector>

#include "compiler/target/ascend/plan_vector_body.h"
#include "compiler/target/ascend/plan_vector_reduce.h"

namespace pyasc::npu {

// How a nest is cut: extents of a tile, and how many tiles there are along each direction.
struct Tiling {
  TileSize size;
  int64_t rowTiles = 1;
  int64_t columnTiles = 1; // where they are a reduction, a loop of the task; so for rowTiles
  int64_t blockTiles = 1;
  int64_t tasks = 1; // tiles that cores take
  int64_t cores = 1;
};

// Chooses sizes so that the buffers that `bytes` counts fit into `budget`, all of `cores` have
// work, and transfers are long. Failure when not even the smallest tile fits.
mlir::FailureOr<Tiling> chooseTiling(const VectorNest &nest, const VectorLoops &loops,
                                     llvm::function_ref<int64_t(TileSize)> bytes, int64_t budget,
                                     int64_t cores, const machine::Soc &soc);
// A tiling with tiny tiles and several of them each way, to find out which buffers are needed.
Tiling trialTiling(const VectorNest &nest, const VectorLoops &loops);

// Accumulations into one result that follow each other, in one phase.
struct AccumulationGroup {
  // What the result is set to before; null: it is read.
  mlir::Value fill;
  struct Member {
    VectorNest nest;
    VectorLoops loops;
  };
  // All have the same parallel dimensions, first and in the same order.
  std::vector<Member> members;
  // An elementwise operation on the result, which then need not be written itself.
  std::optional<Member> epilogue;
};

class VectorEmitter {
public:
  VectorEmitter(PhaseEmitter &emitter, TileBuffers &buffers, const VectorNest &nest,
                const VectorLoops &loops, const Tiling &tiling);
  // REQUIRES: the group has members; its tiling is that of the first one.
  VectorEmitter(PhaseEmitter &emitter, TileBuffers &buffers, const AccumulationGroup &group,
                const Tiling &tiling);
  mlir::LogicalResult emit();
  const std::string &reason() const { return reason_; }

  // Instead of emit(), for an elementwise nest whose tiles somebody else chooses. First buffers and
  // what is the same for all tiles, then the code of a tile, once.
  mlir::LogicalResult prepare();
  struct Place {
    llvm::SmallVector<mlir::Value> at; // the tile's start in each dimension of the nest
    mlir::Value rows, columns;
    mlir::Value iteration; // number of the tile on this core
    // The input of tensor `root` lies elsewhere for this tile: `stride` elements a row.
    struct {
      mlir::Value root, memory, offset;
      int64_t stride = 0;
    } fed;
  };
  mlir::LogicalResult emitTile(const Place &place);

private:
  // What an operand is during the phase.
  struct Source {
    const VectorOperand *operand;
    TileKind kind;
    mlir::Value buffer;     // null for uniform ones
    bool invariant = false; // loaded once, before the loops
    TileValue value;        // current
  };

  // One nest of the phase.
  struct Part {
    const VectorNest *nest;
    const VectorLoops *loops;
    llvm::SmallVector<Source, 0> sources;
    std::unique_ptr<TileBody> body;
  };
  void explain(mlir::LogicalResult done);
  void addPart(const VectorNest &nest, const VectorLoops &loops);
  const VectorNest &nest() const { return *part_->nest; }
  const VectorLoops &loops() const { return *part_->loops; }
  llvm::SmallVector<Source, 0> &sources() { return part_->sources; }
  TileBody &body() { return *part_->body; }

  mlir::LogicalResult addUp(
      TileValue &accumulator,
      llvm::function_ref<mlir::LogicalResult(llvm::function_ref<mlir::LogicalResult()>)> eachBlock);
  mlir::LogicalResult finish(const TileValue &accumulator);
  bool isAccumulator(const VectorOperand &operand) const;
  void startTask(mlir::Value task);
  mlir::LogicalResult emitElementwise();
  mlir::LogicalResult emitAccumulate();
  mlir::LogicalResult emitReduce();
  mlir::FailureOr<TileValue> reducedTile(const Reduction &reduction);
  mlir::LogicalResult emitSteps(size_t level, mlir::Value number,
                                llvm::function_ref<mlir::LogicalResult(mlir::Value)> body);

  // Whether the operand moves along any of the dimensions.
  bool follows(const VectorOperand &operand, llvm::ArrayRef<int64_t> dims) const;
  bool followsTask(const Source &source) const;
  mlir::FailureOr<mlir::Value> address(const VectorOperand &operand);
  // Elements from the first to the last of a row of the tile, of which every step-th is one.
  mlir::Value columnsOf(int64_t step);
  // Loads the operand's part of the current tile; `iteration` picks the slot.
  mlir::LogicalResult load(Source &source, mlir::Value iteration);
  void transferIn(const Source &source, mlir::Value memory, mlir::Value to, mlir::Value gm,
                  mlir::Value at);
  mlir::LogicalResult store(const VectorOperand &operand, const TileValue &value);
  llvm::SmallVector<TileValue> arguments();
  // Rows of this operand that lie dense in GM and in UB alike.
  bool isDense(const VectorOperand &operand) const;
  mlir::Value neutral(const Combiner &combiner);
  mlir::Value minus(mlir::Value a, mlir::Value b);
  // What is left of dimension d from `start` on, at most `size`.
  mlir::Value limit(mlir::Value start, int64_t size, int64_t d);
  mlir::Value extentOf(int64_t d);
  mlir::LogicalResult fail(const std::string &reason) {
    reason_ = reason;
    return mlir::failure();
  }

  PhaseEmitter &emitter_;
  mlir::OpBuilder &builder_;
  TileBuffers &buffers_;
  const Tiling &tiling_;
  const AccumulationGroup *group_ = nullptr;
  mlir::Location loc_;
  TileCode code_;
  std::vector<Part> parts_;
  Part *part_ = nullptr;              // the one that is being emitted
  llvm::SmallVector<mlir::Value> at_; // the tile's start in each dimension; null where not in use
  mlir::Value iteration_;             // number of the task on this core
  mlir::Value blockCount_;
  const Place *place_ = nullptr; // see emitTile
  std::string reason_;
};

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_EMIT_H
