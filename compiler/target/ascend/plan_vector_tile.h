// Instructions of the vector unit on the tiles of one phase.
//
// A tile is `rows` x `cols` elements in UB, each row at a multiple of `pitch` elements (the same
// pitch for every element type, so that one instruction covers whole tiles of any operands). What
// lies between `cols` and `pitch` is computed along and never stored.
#ifndef PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_TILE_H
#define PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_TILE_H

#include <memory>

#include "compiler/target/ascend/plan_scalar_emit.h"
#include "compiler/target/ascend/plan_vector_shape.h"

namespace pyasc::npu {

// Extents of the largest tile.
struct TileSize {
  int64_t rows = 1;
  int64_t pitch = 1;
  int64_t blocks = 1; // accumulators
  bool hasRows = false;
  int64_t rowUnit = 1; // full buffers have room for a multiple of so many rows
};

// What a buffer's size follows.
enum class BufferKind {
  full,
  row,
  column,
  transposed,  // a tile's columns, each of whole pitch units of rows; or its rows, so rounded up
  everySecond, // a full tile with what lies between its elements
  everyFourth,
  interleaved,  // a tile's columns, twice as many, each of whole pitch units of rows
  accumulators, // `blocks` full tiles
  blockReduced, // an element for each block of a full tile, and a repeat
  reducedAgain, // for each eight of these
  repeat,       // what an instruction does in two goes
  rowReduceScratch,
  rowBinaryScratch,
  reduceScratch,
};

// Of a tile of that kind, which is not uniform.
BufferKind bufferOf(TileKind kind);

// Rows of tiles start at multiples of this many elements: 32 bytes for any type.
inline constexpr int64_t kPitchUnit = 32;

// The buffers of a phase; a buffer that is no longer needed is used again.
class TileBuffers {
public:
  struct Buffer {
    mlir::Value memory;
    BufferKind kind;
    mlir::Type element;
  };
  // Returns the buffer when the last copy goes.
  using Lease = std::shared_ptr<Buffer>;

  TileBuffers(mlir::Block *entry, TileSize size) : entry_(entry), size_(size) {}

  Lease take(mlir::Location loc, BufferKind kind, mlir::Type element);
  // A buffer that is never returned.
  mlir::Value make(mlir::Location loc, BufferKind kind, mlir::Type element, int64_t depth);
  // A buffer for what is done before the loop over tiles, no larger than some buffer of that loop:
  // it needs no bytes of its own, since placement gives it those.
  mlir::Value makeBeforeLoop(mlir::Location loc, BufferKind kind, mlir::Type element);

  // Bytes of UB that the buffers so far would need with tiles of another size.
  int64_t bytes(TileSize size) const;

private:
  struct Request {
    BufferKind kind;
    int64_t elementBytes;
    int64_t depth;
  };
  static int64_t elements(BufferKind kind, int64_t elementBytes, TileSize size);

  mlir::Block *entry_;
  TileSize size_;
  llvm::SmallVector<Request> requests_;
  llvm::SmallVector<Buffer> free_;
};

// A value of the kernel over a tile.
struct TileValue {
  TileKind kind = TileKind::uniform;
  // The element type in the kernel. In UB (`storage`) bf16 is held as f32 between operations, and
  // i1 as a bit mask in i8.
  mlir::Type type;
  mlir::Type storage;
  mlir::Value scalar; // uniform
  mlir::Value memory; // otherwise
  mlir::Value offset;
  TileBuffers::Lease lease; // null for buffers that live through the phase

  bool isUniform() const { return kind == TileKind::uniform; }
  bool isMask() const { return type.isInteger(1); }
};

class TileCode {
public:
  TileCode(PhaseEmitter &emitter, TileBuffers &buffers, TileSize size, mlir::Location loc);

  // The extents of the tile that follows; emits the counts that instructions need.
  void setTile(mlir::Value rows, mlir::Value cols);
  mlir::Value rows() const { return rows_; }
  mlir::Value cols() const { return cols_; }
  mlir::Value count(TileKind kind) const;

  TileValue fresh(TileKind kind, mlir::Type storage) {
    return freshIn(bufferOf(kind), kind, storage);
  }
  // A full tile from every step-th element of rows that are `step` times as long.
  TileValue deinterleave(mlir::Value rows, int64_t step);
  // `rows`, which are twice as long, with `value` in place of every second element.
  // REQUIRES: tiles of a multiple of 16 rows.
  TileValue interleave(mlir::Value rows, const TileValue &value);
  // A full tile from one whose columns lie `transposedPitch()` elements apart.
  TileValue transpose(mlir::Value columns);
  bool hasRows() const { return size_.hasRows; }
  int64_t pitch() const { return size_.pitch; }
  int64_t transposedPitch() const { return llvm::divideCeil(size_.rows, kPitchUnit) * kPitchUnit; }
  TileValue uniform(mlir::Value scalar);

  // Elements as they are, all of one type of 2 or 4 bytes.
  void copy(mlir::Value to, mlir::Value toOffset, mlir::Value from, mlir::Value fromOffset,
            mlir::Value count);

  // Results go to `into` when it is given (its kind and storage must fit).
  TileValue fill(TileKind kind, mlir::Value scalar, const TileValue *into = nullptr);
  TileValue toFull(const TileValue &value, const TileValue *into = nullptr);
  TileValue toKind(const TileValue &value, TileKind kind);
  TileValue unary(Unary op, const TileValue &a, const TileValue *into = nullptr);
  TileValue scalarOp(Scalar op, const TileValue &a, mlir::Value scalar,
                     const TileValue *into = nullptr);
  // Any kinds, not both uniform.
  TileValue binary(Binary op, const TileValue &a, const TileValue &b,
                   const TileValue *into = nullptr);
  TileValue cast(const TileValue &a, mlir::Type storage, Round round,
                 const TileValue *into = nullptr, bool isUnsigned = false);
  TileValue compare(Compare op, const TileValue &a, const TileValue &b);
  TileValue select(const TileValue &mask, const TileValue &a, const TileValue &b,
                   const TileValue *into = nullptr);
  TileValue maskBinary(Binary op, const TileValue &a, const TileValue &b);
  TileValue maskNot(const TileValue &a);
  // One element a row (a column tile) from a full tile; of all of it when tiles have no rows.
  TileValue reduceRows(Reduce op, TileValue a);

  // The same for any operation on integers or floats: columns are folded, or halves of one.
  TileValue foldRows(Binary op, TileValue a);
  // One element a column (a row tile) from a full tile: its rows are folded by halves. `a` as
  // above.
  TileValue reduceLines(Binary op, TileValue a);

  // The kind that holds what either holds.
  static TileKind join(TileKind a, TileKind b);

  PhaseEmitter &emitter() { return emitter_; }
  mlir::OpBuilder &builder() { return emitter_.builder(); }
  mlir::Location loc() const { return loc_; }
  mlir::Value index(int64_t value) { return emitter_.index(loc_, value); }
  mlir::Value constant(mlir::Type type, double value);

  // Where tiles are single rows, an element a row is read as a scalar.
  TileValue single(const TileValue &value);

private:
  // Folds `lines` (at most `most`) lines of `pitch` elements into the first, by halves. A tile that
  // somebody else holds is left as it is.
  TileValue foldLines(Binary op, TileValue a, mlir::Value lines, int64_t most, int64_t pitch);
  TileValue freshIn(BufferKind buffer, TileKind kind, mlir::Type storage);
  // a op s, or s op a, for operations that have no form with a scalar.
  TileValue scalarAsVector(Binary op, const TileValue &a, mlir::Value scalar, bool reverse,
                           const TileValue *into);
  TileValue target(TileKind kind, mlir::Type type, mlir::Type storage, const TileValue *into);
  // The count rounded up to whole repeats of the type.
  mlir::Value repeats(TileKind kind, mlir::Type storage) const;
  mlir::Value maskBytes(TileKind kind) const;

  PhaseEmitter &emitter_;
  TileBuffers &buffers_;
  TileSize size_;
  mlir::Location loc_;
  mlir::Value rows_, cols_;
  struct Counts {
    mlir::Value exact, by64, by128;
  } full_, row_, column_;
};

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_TILE_H
