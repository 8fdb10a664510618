#include "compiler/target/ascend/plan_vector_tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pyasc::npu {

using namespace mlir;

//===------------------------------------------------------------------------------------------===//
// Buffers
//===------------------------------------------------------------------------------------------===//

constexpr int64_t kRepeatBytes = 256;
// Of f32.
constexpr int64_t kRepeatElements = 64, kBlockElements = 8;
// From here on vectors are reduced block by block first.
constexpr int64_t kLongVector = 256;

// Comparisons work on whole repeats: every buffer has room for them.
static int64_t wholeRepeats(int64_t elements) { return llvm::divideCeil(elements, 128) * 128; }

BufferKind bufferOf(TileKind kind) {
  return kind == TileKind::full  ? BufferKind::full
         : kind == TileKind::row ? BufferKind::row
                                 : BufferKind::column;
}

int64_t TileBuffers::elements(BufferKind kind, int64_t elementBytes, TileSize size) {
  switch (kind) {
  case BufferKind::full:
    return wholeRepeats(llvm::divideCeil(size.rows, size.rowUnit) * size.rowUnit * size.pitch);
  case BufferKind::row:
    return wholeRepeats(size.pitch);
  case BufferKind::column:
    return wholeRepeats(size.rows);
  case BufferKind::transposed:
    return wholeRepeats(size.pitch * llvm::divideCeil(size.rows, kPitchUnit) * kPitchUnit);
  case BufferKind::everySecond:
    return wholeRepeats(size.rows * size.pitch) * 2;
  case BufferKind::everyFourth:
    return wholeRepeats(size.rows * size.pitch) * 4;
  case BufferKind::interleaved:
    return wholeRepeats(size.pitch * llvm::divideCeil(size.rows, kPitchUnit) * kPitchUnit) * 2;
  case BufferKind::accumulators:
    return wholeRepeats(size.rows * size.pitch) * size.blocks;
  case BufferKind::repeat:
    return 2 * kRepeatBytes / elementBytes;
  case BufferKind::rowReduceScratch:
    return size.rows * (256 / elementBytes);
  case BufferKind::rowBinaryScratch:
    return llvm::divideCeil(size.rows, 8) * 8 * (32 / elementBytes);
  // Never compared; fewer elements than a repeat are left over.
  case BufferKind::blockReduced:
    return (llvm::divideCeil(size.rows * size.pitch, kRepeatElements * kBlockElements) + 1) *
           kRepeatElements;
  case BufferKind::reducedAgain:
    return (llvm::divideCeil(size.rows * size.pitch,
                             kRepeatElements * kBlockElements * kBlockElements) +
            1) *
           kRepeatElements;
  case BufferKind::reduceScratch:
    return llvm::divideCeil(size.rows * size.pitch * elementBytes, 256) * (32 / elementBytes);
  }
  llvm_unreachable("unknown kind");
}

Value TileBuffers::makeBeforeLoop(Location loc, BufferKind kind, Type element) {
  Value buffer = make(loc, kind, element, 1);
  requests_.pop_back();
  return buffer;
}

Value TileBuffers::make(Location loc, BufferKind kind, Type element, int64_t depth) {
  OpBuilder builder = OpBuilder::atBlockBegin(entry_);
  requests_.push_back({kind, bytesOf(element), depth});
  MemRefType type = memoryType(elements(kind, bytesOf(element), size_), element, Space::ub);
  return builder.create<BufferOp>(loc, type, depth, IntegerAttr());
}

TileBuffers::Lease TileBuffers::take(Location loc, BufferKind kind, Type element) {
  auto found = llvm::find_if(free_, [&](const Buffer &buffer) {
    return buffer.kind == kind && buffer.element == element;
  });
  auto *buffer = new Buffer;
  if (found != free_.end()) {
    *buffer = *found;
    free_.erase(found);
  } else {
    *buffer = {make(loc, kind, element, 1), kind, element};
  }
  return Lease(buffer, [this](Buffer *returned) {
    free_.push_back(*returned);
    delete returned;
  });
}

int64_t TileBuffers::bytes(TileSize size) const {
  int64_t sum = 0;
  for (const Request &request : requests_) {
    int64_t slot = elements(request.kind, request.elementBytes, size) * request.elementBytes;
    sum += llvm::divideCeil(slot, 32) * 32 * request.depth;
  }
  return sum;
}

//===------------------------------------------------------------------------------------------===//
// Counts
//===------------------------------------------------------------------------------------------===//

TileCode::TileCode(PhaseEmitter &emitter, TileBuffers &buffers, TileSize size, Location loc)
    : emitter_(emitter), buffers_(buffers), size_(size), loc_(loc) {}

void TileCode::setTile(Value rows, Value cols) {
  rows_ = rows;
  cols_ = cols;
  auto counts = [&](Value exact) {
    auto roundUp = [&](int64_t unit) -> Value {
      OpBuilder &b = builder();
      Value up = b.createOrFold<arith::AddIOp>(loc_, exact, index(unit - 1));
      Value whole = b.createOrFold<arith::DivUIOp>(loc_, up, index(unit));
      return b.createOrFold<arith::MulIOp>(loc_, whole, index(unit));
    };
    return Counts{exact, roundUp(64), roundUp(128)};
  };
  row_ = counts(cols);
  if (!size_.hasRows) {
    full_ = row_;
    column_ = counts(index(1));
    return;
  }
  column_ = counts(rows);
  full_ = counts(builder().createOrFold<arith::MulIOp>(loc_, rows, index(size_.pitch)));
}

Value TileCode::count(TileKind kind) const {
  return kind == TileKind::full ? full_.exact : kind == TileKind::row ? row_.exact : column_.exact;
}

Value TileCode::repeats(TileKind kind, Type storage) const {
  const Counts &counts = kind == TileKind::full ? full_ : kind == TileKind::row ? row_ : column_;
  return bytesOf(storage) == 2 ? counts.by128 : counts.by64;
}

// Of a mask for a count that is a multiple of 128.
Value TileCode::maskBytes(TileKind kind) const {
  const Counts &counts = kind == TileKind::full ? full_ : kind == TileKind::row ? row_ : column_;
  OpBuilder &b = const_cast<TileCode *>(this)->builder();
  return b.createOrFold<arith::DivUIOp>(loc_, counts.by128, const_cast<TileCode *>(this)->index(8));
}

//===------------------------------------------------------------------------------------------===//
// Values
//===------------------------------------------------------------------------------------------===//

TileKind TileCode::join(TileKind a, TileKind b) {
  if (a == b || b == TileKind::uniform)
    return a;
  if (a == TileKind::uniform)
    return b;
  return TileKind::full;
}

TileValue TileCode::freshIn(BufferKind buffer, TileKind kind, Type storage) {
  TileValue value;
  value.kind = kind;
  value.type = value.storage = storage;
  value.lease = buffers_.take(loc_, buffer, storage);
  value.memory = value.lease->memory;
  value.offset = index(0);
  return value;
}

void TileCode::copy(Value to, Value toOffset, Value from, Value fromOffset, Value count) {
  // One times the number, and zero more than it, are the number.
  Type type = cast<MemRefType>(from.getType()).getElementType();
  bool isFloat = isa<FloatType>(type);
  builder().create<VScalarOp>(loc_, isFloat ? Scalar::muls : Scalar::adds, to, toOffset, from,
                              fromOffset, constant(type, isFloat ? 1 : 0), count);
}

TileValue TileCode::deinterleave(Value rows, int64_t step) {
  TileValue value = fresh(TileKind::full, cast<MemRefType>(rows.getType()).getElementType());
  OpBuilder &b = builder();
  // What is behind the last row's last element is not loaded, and not needed.
  Value behind = b.createOrFold<arith::MulIOp>(loc_, full_.exact, index(step));
  Value count = b.createOrFold<arith::SubIOp>(loc_, behind, index(step - 1));
  b.create<VDeinterleaveOp>(loc_, value.memory, value.offset, rows, index(0), count, step);
  return value;
}

// Columns can be laid between others, so all is transposed, and back.
TileValue TileCode::interleave(Value rows, const TileValue &value) {
  OpBuilder &b = builder();
  Type element = cast<MemRefType>(rows.getType()).getElementType();
  auto columns = buffers_.take(loc_, BufferKind::interleaved, element);
  Value twice = b.createOrFold<arith::MulIOp>(loc_, cols_, index(2));
  Value high = index(transposedPitch()), wide = index(2 * size_.pitch), zero = index(0);
  b.create<VTransposeOp>(loc_, columns->memory, zero, rows, zero, rows_, twice, wide, high);
  b.create<VTransposeOp>(loc_, columns->memory, zero, value.memory, value.offset, rows_, cols_,
                         index(size_.pitch), index(2 * transposedPitch()));
  TileValue result = freshIn(BufferKind::everySecond, TileKind::full, element);
  result.type = value.type;
  b.create<VTransposeOp>(loc_, result.memory, zero, columns->memory, zero, twice, rows_, high,
                         wide);
  return result;
}

TileValue TileCode::transpose(Value columns) {
  OpBuilder &b = builder();
  // Whole pieces are written: there is room for rows up to the next pitch unit.
  auto tile = [&](Type element) {
    return freshIn(BufferKind::transposed, TileKind::full, element);
  };
  Type element = cast<MemRefType>(columns.getType()).getElementType();
  auto transposed = [&](Value from) {
    TileValue value = tile(cast<MemRefType>(from.getType()).getElementType());
    b.create<VTransposeOp>(loc_, value.memory, value.offset, from, index(0), cols_, rows_,
                           index(transposedPitch()), index(size_.pitch));
    return value;
  };
  if (bytesOf(element) > 1)
    return transposed(columns);
  // Bytes go as numbers of two, which hold all of them.
  TileValue wide = tile(b.getF16Type());
  Value count = b.createOrFold<arith::MulIOp>(loc_, cols_, index(transposedPitch()));
  b.create<VCastOp>(loc_, wide.memory, index(0), columns, index(0), count, Round::none, false);
  TileValue halves = transposed(wide.memory), bytes = tile(element);
  b.create<VCastOp>(loc_, bytes.memory, index(0), halves.memory, index(0), full_.exact, Round::rint,
                    false);
  return bytes;
}

TileValue TileCode::uniform(Value scalar) {
  TileValue value;
  value.type = value.storage = scalar.getType();
  value.scalar = scalar;
  return value;
}

TileValue TileCode::target(TileKind kind, Type type, Type storage, const TileValue *into) {
  TileValue value =
      into && into->kind == kind && into->storage == storage ? *into : fresh(kind, storage);
  value.type = type;
  return value;
}

Value TileCode::constant(Type type, double value) {
  OpBuilder &b = builder();
  if (isa<FloatType>(type))
    return b.create<arith::ConstantOp>(loc_, FloatAttr::get(type, value));
  return b.create<arith::ConstantOp>(loc_, IntegerAttr::get(type, static_cast<int64_t>(value)));
}

TileValue TileCode::fill(TileKind kind, Value scalar, const TileValue *into) {
  TileValue dst = target(kind, scalar.getType(), scalar.getType(), into);
  builder().create<VDupOp>(loc_, dst.memory, dst.offset, scalar, count(kind));
  return dst;
}

TileValue TileCode::single(const TileValue &value) {
  if (size_.hasRows || value.kind != TileKind::column || value.isMask())
    return value;
  TileValue result = uniform(builder().create<memref::LoadOp>(loc_, value.memory, value.offset));
  result.type = value.type;
  return result;
}

TileValue TileCode::toFull(const TileValue &given, const TileValue *into) {
  if (given.kind == TileKind::full)
    return given;
  TileValue value = single(given);
  if (value.isUniform())
    return fill(TileKind::full, value.scalar, into);
  if (value.isMask()) {
    // Through numbers: masks have no rows of their own.
    Type f16 = builder().getF16Type();
    TileValue one = fill(value.kind, constant(f16, 1)), zero = fill(value.kind, constant(f16, 0));
    TileValue number = toFull(select(value, one, zero));
    return compare(Compare::ne, number, uniform(constant(f16, 0)));
  }
  // One times the value is the value, whatever it is.
  TileValue ones = fill(TileKind::full, constant(value.storage, 1));
  TileValue result = binary(Binary::mul, ones, value, into);
  result.type = value.type;
  return result;
}

TileValue TileCode::toKind(const TileValue &value, TileKind kind) {
  if (value.kind == kind)
    return value;
  if (value.isUniform() && value.isMask()) {
    Type f16 = builder().getF16Type();
    Value number = builder().createOrFold<arith::UIToFPOp>(loc_, f16, value.scalar);
    return compare(Compare::ne, fill(kind, number), uniform(constant(f16, 0)));
  }
  if (kind == TileKind::full)
    return toFull(value);
  return fill(kind, value.scalar);
}

//===------------------------------------------------------------------------------------------===//
// Instructions
//===------------------------------------------------------------------------------------------===//

TileValue TileCode::unary(Unary op, const TileValue &a, const TileValue *into) {
  TileValue dst = target(a.kind, a.type, a.storage, into);
  builder().create<VUnaryOp>(loc_, op, dst.memory, dst.offset, a.memory, a.offset, count(a.kind));
  return dst;
}

TileValue TileCode::scalarOp(Scalar op, const TileValue &a, Value scalar, const TileValue *into) {
  TileValue dst = target(a.kind, a.type, a.storage, into);
  builder().create<VScalarOp>(loc_, op, dst.memory, dst.offset, a.memory, a.offset, scalar,
                              count(a.kind));
  return dst;
}

TileValue TileCode::binary(Binary op, const TileValue &first, const TileValue &second,
                           const TileValue *into) {
  TileValue a = second.kind == TileKind::full ? single(first) : first;
  TileValue b = first.kind == TileKind::full ? single(second) : second;
  if (a.isUniform() || b.isUniform()) {
    const TileValue &vector = a.isUniform() ? b : a;
    const TileValue &single = a.isUniform() ? a : b;
    bool isFloat = isa<FloatType>(vector.storage);
    switch (op) {
    case Binary::add:
      return scalarOp(Scalar::adds, vector, single.scalar, into);
    case Binary::mul:
      return scalarOp(Scalar::muls, vector, single.scalar, into);
    case Binary::max:
      return scalarOp(Scalar::maxs, vector, single.scalar, into);
    case Binary::min:
      return scalarOp(Scalar::mins, vector, single.scalar, into);
    case Binary::sub:
      if (b.isUniform()) {
        Value negated = isFloat ? builder().createOrFold<arith::NegFOp>(loc_, single.scalar)
                                : builder().createOrFold<arith::SubIOp>(
                                      loc_, constant(single.type, 0), single.scalar);
        return scalarOp(Scalar::adds, vector, negated, into);
      }
      break;
    default:
      break;
    }
    return scalarAsVector(op, vector, single.scalar, a.isUniform(), into);
  }
  TileKind kind = join(a.kind, b.kind);
  if (a.kind == b.kind) {
    TileValue dst = target(kind, a.type, a.storage, into);
    builder().create<VBinaryOp>(loc_, op, dst.memory, dst.offset, a.memory, a.offset, b.memory,
                                b.offset, count(kind));
    return dst;
  }
  if (a.kind != TileKind::full && b.kind != TileKind::full)
    return binary(op, toFull(a), b, into);
  bool reverse = b.kind == TileKind::full;
  const TileValue &wide = reverse ? b : a;
  const TileValue &narrow = reverse ? a : b;
  TileValue dst = target(kind, a.type, a.storage, into);
  Value pitch = index(size_.pitch);
  if (narrow.kind == TileKind::row) {
    builder().create<VColBinaryOp>(loc_, op, dst.memory, dst.offset, wide.memory, wide.offset,
                                   narrow.memory, narrow.offset, rows_, cols_, pitch, reverse);
    return dst;
  }
  auto scratch = buffers_.take(loc_, BufferKind::rowBinaryScratch, wide.storage);
  builder().create<VRowBinaryOp>(loc_, op, dst.memory, dst.offset, wide.memory, wide.offset,
                                 narrow.memory, narrow.offset, scratch->memory, index(0), rows_,
                                 cols_, pitch, reverse);
  return dst;
}

// Two repeats of the scalar serve all repeats of the vector: each half of UB's banks is met by the
// vector's other half only.
TileValue TileCode::scalarAsVector(Binary op, const TileValue &a, Value scalar, bool reverse,
                                   const TileValue *into) {
  OpBuilder &b = builder();
  Value length = count(a.kind), unit = index(2 * kRepeatBytes / bytesOf(a.storage));
  Value repeats = b.createOrFold<arith::DivUIOp>(loc_, length, unit);
  Value whole = b.createOrFold<arith::MulIOp>(loc_, repeats, unit);
  Value rest = b.createOrFold<arith::SubIOp>(loc_, length, whole);
  auto lease = buffers_.take(loc_, BufferKind::repeat, a.storage);
  b.create<VDupOp>(loc_, lease->memory, index(0), scalar, unit);
  TileValue dst = target(a.kind, a.type, a.storage, into);
  if (constantOf(repeats) != 0)
    b.create<VColBinaryOp>(loc_, op, dst.memory, dst.offset, a.memory, a.offset, lease->memory,
                           index(0), repeats, unit, unit, reverse);
  if (constantOf(rest) == 0)
    return dst;
  Value from = b.createOrFold<arith::AddIOp>(loc_, a.offset, whole);
  Value to = b.createOrFold<arith::AddIOp>(loc_, dst.offset, whole);
  Value left = reverse ? lease->memory : a.memory, right = reverse ? a.memory : lease->memory;
  b.create<VBinaryOp>(loc_, op, dst.memory, to, left, reverse ? index(0) : from, right,
                      reverse ? from : index(0), rest);
  return dst;
}

TileValue TileCode::cast(const TileValue &a, Type storage, Round round, const TileValue *into,
                         bool isUnsigned) {
  TileValue dst = target(a.kind, storage, storage, into);
  builder().create<VCastOp>(loc_, dst.memory, dst.offset, a.memory, a.offset, count(a.kind), round,
                            isUnsigned);
  return dst;
}

TileValue TileCode::compare(Compare op, const TileValue &a, const TileValue &b) {
  TileKind kind = join(a.kind, b.kind);
  TileValue left = toKind(a, kind);
  Type mask = builder().getI8Type();
  TileValue dst = fresh(kind, mask);
  dst.type = builder().getI1Type();
  if (b.isUniform()) {
    builder().create<VComparesOp>(loc_, op, dst.memory, dst.offset, left.memory, left.offset,
                                  b.scalar, repeats(kind, left.storage));
    return dst;
  }
  TileValue right = toKind(b, kind);
  builder().create<VCompareOp>(loc_, op, dst.memory, dst.offset, left.memory, left.offset,
                               right.memory, right.offset, repeats(kind, left.storage));
  return dst;
}

TileValue TileCode::select(const TileValue &mask, const TileValue &a, const TileValue &b,
                           const TileValue *into) {
  TileKind kind = join(mask.kind, join(a.kind, b.kind));
  TileValue which = toKind(mask, kind), left = toKind(a, kind), right = toKind(b, kind);
  TileValue dst = target(kind, a.type, a.storage, into);
  builder().create<VSelectOp>(loc_, dst.memory, dst.offset, which.memory, which.offset, left.memory,
                              left.offset, right.memory, right.offset, count(kind));
  return dst;
}

TileValue TileCode::maskBinary(Binary op, const TileValue &a, const TileValue &b) {
  TileKind kind = join(a.kind, b.kind);
  TileValue left = toKind(a, kind), right = toKind(b, kind);
  TileValue dst = fresh(kind, builder().getI8Type());
  dst.type = builder().getI1Type();
  builder().create<VBinaryOp>(loc_, op, dst.memory, dst.offset, left.memory, left.offset,
                              right.memory, right.offset, maskBytes(kind));
  return dst;
}

TileValue TileCode::maskNot(const TileValue &a) {
  TileValue dst = fresh(a.kind, builder().getI8Type());
  dst.type = builder().getI1Type();
  builder().create<VUnaryOp>(loc_, Unary::not_, dst.memory, dst.offset, a.memory, a.offset,
                             maskBytes(a.kind));
  return dst;
}

TileValue TileCode::reduceRows(Reduce op, TileValue a) {
  TileValue dst = fresh(TileKind::column, a.storage);
  if (size_.hasRows) {
    auto scratch = buffers_.take(loc_, BufferKind::rowReduceScratch, a.storage);
    builder().create<VRowReduceOp>(loc_, op, dst.memory, dst.offset, a.memory, a.offset,
                                   scratch->memory, index(0), rows_, cols_, index(size_.pitch));
    return dst;
  }
  // Of a long vector blocks are reduced first, which takes a seventh of the time for an element.
  Value length = cols_, memory = a.memory, offset = a.offset;
  TileBuffers::Lease blocks[2];
  int into = 0;
  if (a.storage.isF32() && size_.pitch >= kLongVector) {
    blocks[0] = buffers_.take(loc_, BufferKind::blockReduced, a.storage);
    blocks[1] = buffers_.take(loc_, BufferKind::reducedAgain, a.storage);
    for (int64_t n = constantOf(cols_).value_or(0); n >= kLongVector / 2; into = 1 - into) {
      int64_t whole = n / kRepeatElements * kRepeatElements, rest = n - whole;
      Value to = blocks[into]->memory;
      builder().create<VBlockReduceOp>(loc_, op, to, index(0), memory, offset, index(whole));
      n = whole / kBlockElements + rest;
      if (rest > 0) // as it is
        copy(to, index(whole / kBlockElements), memory,
             builder().createOrFold<arith::AddIOp>(loc_, offset, index(whole)), index(rest));
      memory = to;
      offset = index(0);
      length = index(n);
    }
  }
  // What few elements need for scratch is in the buffer that would be next.
  TileBuffers::Lease scratch =
      constantOf(length).value_or(kLongVector) < kLongVector / 2 && blocks[into]
          ? blocks[into]
          : buffers_.take(loc_, BufferKind::reduceScratch, a.storage);
  builder().create<VReduceOp>(loc_, op, dst.memory, dst.offset, memory, offset, scratch->memory,
                              index(0), length);
  return dst;
}

TileValue TileCode::foldLines(Binary op, TileValue a, Value lines, int64_t most, int64_t pitch) {
  OpBuilder &b = builder();
  auto elements = [&](Value n) { return b.createOrFold<arith::MulIOp>(loc_, n, index(pitch)); };
  auto place = [&](Value start, Value more) {
    return b.createOrFold<arith::AddIOp>(loc_, start, more);
  };
  TileBuffers::Lease halves;
  if (most > 1 && (!a.lease || a.lease.use_count() > 1))
    halves = buffers_.take(loc_, BufferKind::full, a.storage);
  // n lines are left: the first `half` of them take the others.
  for (Value n = lines; most > 1;) {
    const int64_t half = llvm::divideCeil(most, 2);
    Value middle = index(half);
    Value kept = b.createOrFold<arith::MinSIOp>(loc_, n, middle);
    Value others = b.createOrFold<arith::SubIOp>(loc_, n, kept);
    Value memory = halves ? halves->memory : a.memory, offset = halves ? index(0) : a.offset;
    b.create<VBinaryOp>(loc_, op, memory, offset, a.memory, a.offset, a.memory,
                        place(a.offset, elements(middle)), elements(others));
    if (memory != a.memory && !(constantOf(others) && constantOf(others) == constantOf(kept))) {
      Value from = elements(others);
      Value rest = elements(b.createOrFold<arith::SubIOp>(loc_, kept, others));
      copy(memory, place(offset, from), a.memory, place(a.offset, from), rest);
    }
    if (halves) {
      a.lease = std::move(halves);
      halves.reset();
    }
    a.memory = memory;
    a.offset = offset;
    n = kept;
    most = half;
  }
  return a;
}

TileValue TileCode::reduceLines(Binary op, TileValue a) {
  TileValue line = foldLines(op, std::move(a), rows_, size_.rows, size_.pitch);
  line.kind = TileKind::row;
  return line;
}

TileValue TileCode::foldRows(Binary op, TileValue a) {
  OpBuilder &b = builder();
  if (size_.hasRows) {
    TileValue columns = freshIn(BufferKind::transposed, TileKind::column, a.storage);
    b.create<VTransposeOp>(loc_, columns.memory, columns.offset, a.memory, a.offset, rows_, cols_,
                           index(size_.pitch), index(transposedPitch()));
    a = {};
    return foldLines(op, std::move(columns), cols_, size_.pitch, transposedPitch());
  }
  // One vector: its blocks of a pitch unit are folded, then the rest of it that is no whole block
  // joins, and the scalar unit does what is left.
  Value unit = index(kPitchUnit);
  Value blocks = b.createOrFold<arith::DivUIOp>(loc_, cols_, unit);
  Value whole = b.createOrFold<arith::MulIOp>(loc_, blocks, unit);
  Value rest = b.createOrFold<arith::SubIOp>(loc_, cols_, whole);
  Type type = a.storage;
  TileValue result = fresh(TileKind::column, type);
  // Elements of the first block that count.
  Value few = b.createOrFold<arith::MinSIOp>(loc_, cols_, unit);
  TileValue folded = a;
  if (size_.pitch > kPitchUnit) {
    // The rest is no whole line: it joins the first, before that is folded.
    auto lease = buffers_.take(loc_, BufferKind::full, type);
    copy(lease->memory, index(0), a.memory, a.offset, cols_);
    folded.memory = lease->memory;
    folded.offset = index(0);
    folded.lease = std::move(lease);
    // Of less than a block nothing joins.
    Value joins = b.create<arith::SelectOp>(
        loc_, b.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, blocks, index(0)), index(0),
        rest);
    b.create<VBinaryOp>(loc_, op, folded.memory, index(0), folded.memory, index(0), folded.memory,
                        whole, joins);
    folded = foldLines(op, std::move(folded), blocks, size_.pitch / kPitchUnit, kPitchUnit);
  }
  Value first = b.create<memref::LoadOp>(loc_, folded.memory, folded.offset);
  auto loop = b.create<scf::ForOp>(loc_, index(1), few, index(1), ValueRange{first});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value at = b.createOrFold<arith::AddIOp>(loc_, folded.offset, loop.getInductionVar());
    Value next = b.create<memref::LoadOp>(loc_, folded.memory, at);
    Value sum = loop.getRegionIterArg(0);
    bool isFloat = isa<FloatType>(type);
    switch (op) {
    case Binary::add:
      sum = isFloat ? b.create<arith::AddFOp>(loc_, sum, next).getResult()
                    : b.create<arith::AddIOp>(loc_, sum, next).getResult();
      break;
    case Binary::mul:
      sum = isFloat ? b.create<arith::MulFOp>(loc_, sum, next).getResult()
                    : b.create<arith::MulIOp>(loc_, sum, next).getResult();
      break;
    case Binary::max:
      sum = isFloat ? b.create<arith::MaximumFOp>(loc_, sum, next).getResult()
                    : b.create<arith::MaxSIOp>(loc_, sum, next).getResult();
      break;
    default:
      sum = isFloat ? b.create<arith::MinimumFOp>(loc_, sum, next).getResult()
                    : b.create<arith::MinSIOp>(loc_, sum, next).getResult();
    }
    b.create<scf::YieldOp>(loc_, sum);
  }
  b.create<memref::StoreOp>(loc_, loop.getResult(0), result.memory, result.offset);
  return result;
}

} // namespace pyasc::npu
