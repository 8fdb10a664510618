// Verifiers of the npu ops: types, spaces, alignment and ranges, as far as constants show them.
//
// What depends on run-time values is checked by the simulator and its sanitizer.
#include <initializer_list>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

#include "compiler/machine/sim_isa.h"
#include "compiler/target/ascend/npu.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

using Spaces = std::initializer_list<Space>;

// Far above every memory, far below overflow of what is counted in bytes.
constexpr int64_t kMostElements = int64_t{1} << 40;

// Collects the first fault of one op.
class Check {
public:
  explicit Check(Operation *op) : op(op) {}

  // An operand pair. `align`: bytes that offset x element size must be a multiple of.
  Check &memory(StringRef name, Value memory, Value offset, Spaces spaces, int64_t align = 1) {
    auto type = cast<MemRefType>(memory.getType());
    std::optional<Space> space = findSpace(type);
    if (!space || !llvm::is_contained(spaces, *space))
      return fault(name + " must be in " + names(spaces) + ", not " +
                   (space ? stringifySpace(*space) : StringRef("a space of another kind")));
    if (!type.hasStaticShape() || !type.getLayout().isIdentity())
      return fault(name + " must have a static size and no layout");
    if (!type.getElementType().isIntOrFloat())
      return fault(name + " must have integer or float elements");
    std::optional<int64_t> constant = constantOf(offset);
    if (constant && *constant < 0)
      return fault(name + " has a negative offset");
    if (constant && *constant > kMostElements)
      return fault(name + " starts beyond any memory");
    if (constant && *constant * bytesOf(type.getElementType()) % align != 0)
      return fault(name + " must start at a multiple of " + std::to_string(align) + " bytes");
    return *this;
  }

  Check &ub(StringRef name, Value memory_, Value offset) {
    return memory(name, memory_, offset, {Space::ub}, 32);
  }

  Check &range(StringRef name, Value value, int64_t least, int64_t most) {
    std::optional<int64_t> constant = constantOf(value);
    if (constant && (*constant < least || *constant > most))
      return fault(name + " is " + std::to_string(*constant) + ", must be in " +
                   std::to_string(least) + " .. " + std::to_string(most));
    return *this;
  }

  Check &multiple(StringRef name, Value value, int64_t unit, int64_t size = 1) {
    std::optional<int64_t> constant = constantOf(value);
    if (constant && *constant * size % unit != 0)
      return fault(
          name +
          (size == 1 ? " must be a multiple of " : " x element size must be a multiple of ") +
          std::to_string(unit));
    return *this;
  }

  Check &that(bool holds, const Twine &otherwise) { return holds ? *this : fault(otherwise); }

  operator LogicalResult() const { return failure(failed); }

private:
  Check &fault(const Twine &what) {
    if (!failed)
      op->emitOpError(what);
    failed = true;
    return *this;
  }

  static std::string names(Spaces spaces) {
    std::string text;
    for (Space space : spaces)
      text += (text.empty() ? "" : " or ") + stringifySpace(space).str();
    return text;
  }

  Operation *op;
  bool failed = false;
};

Type elementOf(Value memory) { return cast<MemRefType>(memory.getType()).getElementType(); }

bool isHalfOrFloat(Type type) { return type.isF16() || type.isF32(); }

bool isArithmetic(Type type) {
  return isHalfOrFloat(type) || type.isInteger(16) || type.isInteger(32);
}

// What bitwise operations work on: i8 for masks.
bool isBits(Type type) { return type.isInteger(8) || type.isInteger(16) || type.isInteger(32); }

// What memories of a core hold.
bool isChipElement(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isSignlessInteger(8) ||
         type.isSignlessInteger(16) || type.isSignlessInteger(32) || type.isSignlessInteger(64);
}

bool binaryHas(Binary op, Type type) {
  switch (op) {
  case Binary::div:
    return isHalfOrFloat(type);
  case Binary::and_:
  case Binary::or_:
    return isBits(type);
  default:
    return isArithmetic(type);
  }
}

} // namespace

//===------------------------------------------------------------------------------------------===//
// Buffers
//===------------------------------------------------------------------------------------------===//

Space BufferOp::getSpace() { return spaceOf(getResult()); }

int64_t BufferOp::slotBytes() {
  MemRefType type = getResult().getType();
  int64_t align = alignmentOf(getSpace());
  return (type.getNumElements() * bytesOf(type.getElementType()) + align - 1) / align * align;
}

LogicalResult BufferOp::verify() {
  MemRefType type = getResult().getType();
  std::optional<Space> space = findSpace(type);
  if (!space || *space == Space::gm)
    return emitOpError("must be in an on-chip space");
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() || type.getNumElements() < 1)
    return emitOpError("must have a static, positive number of elements");
  if (!isChipElement(type.getElementType()))
    return emitOpError("must have elements of f16, bf16, f32, i8, i16, i32 or i64, not ")
           << type.getElementType();
  if (getDepth() < 1)
    return emitOpError("must have a depth of at least 1");
  // Far above every memory, far below overflow.
  constexpr int64_t kMostElements = int64_t{1} << 32, kMostSlots = int64_t{1} << 20;
  if (type.getNumElements() > kMostElements || getDepth() > kMostSlots ||
      getAddr().value_or(0) > kMostElements)
    return emitOpError("is larger than any memory of a core");
  if (std::optional<int64_t> addr = getAddr(); addr && (*addr < 0 || *addr % alignmentOf(*space)))
    return emitOpError("must have an address that is a multiple of ")
           << alignmentOf(*space) << " bytes";
  auto function = dyn_cast<func::FuncOp>((*this)->getParentOp());
  if (!function || &function.getBody().front() != (*this)->getBlock())
    return emitOpError("must be in a function's entry block");
  return success();
}

LogicalResult SlotOp::verify() {
  if (!getBuffer().getDefiningOp<BufferOp>())
    return emitOpError("must pick a slot of an npu.buffer");
  APInt iteration;
  if (matchPattern(getIteration(), m_ConstantInt(&iteration)) && iteration.isNegative())
    return emitOpError("takes no negative iteration, it is ") << iteration.getSExtValue();
  return success();
}

//===------------------------------------------------------------------------------------------===//
// DMA
//===------------------------------------------------------------------------------------------===//

// The limits that load and store share; `chip` and `gm` are the strides of the two sides.
static Check burst(Operation *op, Value element, Value count, Value len, Value gm, Value chip) {
  int64_t size = bytesOf(elementOf(element));
  Check check(op);
  check.range("count", count, 0, 4095).range("len", len, 0, (2097152 - 1) / size);
  check.range("the stride in GM", gm, 0, kMostElements)
      .range("the stride on the chip", chip, 0, kMostElements);
  if (constantOf(count) == 1)
    return check;
  check.multiple("the stride on the chip", chip, 32, size);
  std::optional<int64_t> burst = constantOf(len), stride = constantOf(gm), gap = constantOf(chip);
  check.that(!burst || !stride || *stride >= *burst, "the stride in GM is less than the length");
  check.that(!burst || !gap || *gap >= *burst, "the stride on the chip is less than the length");
  return check;
}

LogicalResult LoadOp::verify() {
  return burst(*this, getDst(), getCount(), getLen(), getSrcStride(), getDstStride())
      .memory("dst", getDst(), getDstOffset(), {Space::ub, Space::l1}, 32)
      .memory("src", getSrc(), getSrcOffset(), {Space::gm})
      .that(elementOf(getDst()) == elementOf(getSrc()), "must not change the element type");
}

LogicalResult StoreOp::verify() {
  return burst(*this, getDst(), getCount(), getLen(), getDstStride(), getSrcStride())
      .memory("dst", getDst(), getDstOffset(), {Space::gm})
      .memory("src", getSrc(), getSrcOffset(), {Space::ub}, 32)
      .that(elementOf(getDst()) == elementOf(getSrc()), "must not change the element type");
}

LogicalResult LoadNd2NzOp::verify() {
  int64_t size = bytesOf(elementOf(getDst()));
  Check check(*this);
  check.memory("dst", getDst(), getDstOffset(), {Space::l1}, 32)
      .memory("src", getSrc(), getSrcOffset(), {Space::gm})
      .that(elementOf(getDst()) == elementOf(getSrc()), "must not change the element type")
      .that(size <= 4, "moves elements of 1, 2 or 4 bytes")
      .range("rows", getRows(), 0, 16384)
      .range("cols", getCols(), 0, 65535)
      .range("dst_rows", getDstRows(), 1, 16384);
  check.range("src_stride", getSrcStride(), 0, kMostElements);
  if (constantOf(getRows()) != 1)
    check.range("src_stride", getSrcStride(), 0, 65535).multiple("dst_rows", getDstRows(), 16);
  const auto step = static_cast<int64_t>(getRowStep());
  check.that(step >= 1 && step <= 16384, "row_step must be 1 to 16384");
  std::optional<int64_t> rows = constantOf(getRows()), high = constantOf(getDstRows());
  return check.that(!rows || !high || *rows == 0 || *high > (*rows - 1) * step,
                    "dst_rows is less than the rows take");
}

LogicalResult LoadL0Op::verify() {
  return Check(*this)
      .memory("dst", getDst(), getDstOffset(), {Space::l0a, Space::l0b}, 512)
      .memory("src", getSrc(), getSrcOffset(), {Space::l1}, 512)
      .that(elementOf(getDst()) == elementOf(getSrc()), "must not change the element type")
      .that(!getTranspose() || bytesOf(elementOf(getDst())) != 1, "cannot transpose bytes")
      .range("extent", getExtent(), 0, 4095)
      .range("k", getK(), 0, 4095)
      .range("src_rows", getSrcRows(), 1, 16384)
      .multiple("src_rows", getSrcRows(), 16);
}

LogicalResult FixpipeOp::verify() {
  Type from = elementOf(getSrc()), to = elementOf(getDst());
  return Check(*this)
      .memory("dst", getDst(), getDstOffset(), {Space::gm})
      .memory("src", getSrc(), getSrcOffset(), {Space::l0c}, 64)
      .that(from == to || (from.isF32() && (to.isF16() || to.isBF16())),
            "converts f32 to f16 or bf16 only")
      .that(getAtomic() == Atomic::none || getAtomic() == Atomic::add, "has atomic add only")
      .range("m", getM(), 0, 8192)
      .range("n", getN(), 0, 4095)
      .range("dst_stride", getDstStride(), 0, kMostElements)
      .range("src_rows", getSrcRows(), 1, 65535)
      .multiple("src_rows", getSrcRows(), 16);
}

LogicalResult MmadOp::verify() {
  Type a = elementOf(getA()), b = elementOf(getB()), c = elementOf(getC());
  bool floats = (a.isF16() || a.isBF16() || a.isF32()) && c.isF32();
  bool bytes = a.isInteger(8) && c.isInteger(32);
  return Check(*this)
      .memory("c", getC(), getCOffset(), {Space::l0c}, 1024)
      .memory("a", getA(), getAOffset(), {Space::l0a}, 512)
      .memory("b", getB(), getBOffset(), {Space::l0b}, 512)
      .that(a == b && (floats || bytes), "has no such combination of element types")
      .that(!getATransposed() || a.isF32(), "a_transposed is for 4-byte elements")
      .range("m", getM(), 0, 4095)
      .range("n", getN(), 0, 4095)
      .range("k", getK(), 0, 4095);
}

//===------------------------------------------------------------------------------------------===//
// Vector
//===------------------------------------------------------------------------------------------===//

LogicalResult VBinaryOp::verify() {
  Type type = elementOf(getDst());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .ub("b", getB(), getBOffset())
      .that(type == elementOf(getA()) && type == elementOf(getB()), "needs one element type")
      .that(binaryHas(getOp(), type), "does not exist for this element type");
}

LogicalResult VUnaryOp::verify() {
  Type type = elementOf(getDst());
  bool has = getOp() == Unary::not_   ? isBits(type)
             : getOp() == Unary::relu ? isHalfOrFloat(type) || type.isInteger(32)
                                      : isHalfOrFloat(type);
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .that(type == elementOf(getA()), "needs one element type")
      .that(has, "does not exist for this element type");
}

LogicalResult VCopyOp::verify() {
  Type type = elementOf(getDst());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .that(type == elementOf(getA()), "needs one element type")
      .that(bytesOf(type) == 2 || bytesOf(type) == 4, "copies elements of 2 or 4 bytes")
      .range("count", getCount(), 0, 256 / bytesOf(type))
      .range("repeats", getRepeats(), 0, 255)
      .range("dst_block", getDstBlock(), 0, 65535)
      .range("a_block", getABlock(), 0, 65535)
      .range("dst_repeat", getDstRepeat(), 0, 255)
      .range("a_repeat", getARepeat(), 0, 255);
}

LogicalResult VScalarOp::verify() {
  Type type = elementOf(getDst());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .that(type == elementOf(getA()) && type == getScalar().getType(), "needs one element type")
      .that(isArithmetic(type), "does not exist for this element type");
}

LogicalResult VDupOp::verify() {
  Type type = elementOf(getDst());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .that(type == getScalar().getType(), "needs a scalar of the element type")
      .that(bytesOf(type) == 2 || bytesOf(type) == 4, "fills elements of 2 or 4 bytes");
}

// One direction of each pair of types that Cast knows.
static bool castHas(Type from, Type to, bool isUnsigned) {
  if (isUnsigned)
    return from.isInteger(8) && to.isF16();
  return (from.isF16() &&
          (to.isF32() || to.isInteger(16) || to.isInteger(8) || to.isInteger(32))) ||
         (from.isBF16() && to.isF32()) || (from.isInteger(32) && to.isF32()) ||
         (from.isInteger(16) && to.isF32()) || (from.isInteger(32) && to.isInteger(16)) ||
         (from.isInteger(32) && to.isInteger(64)) || (from.isF32() && to.isInteger(64)) ||
         (from.isBF16() && to.isInteger(32));
}

LogicalResult VCastOp::verify() {
  Type to = elementOf(getDst()), from = elementOf(getA());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .that(castHas(from, to, getIsUnsigned()) || castHas(to, from, getIsUnsigned()) ||
                (from == to && from.isF32()),
            "has no such pair of element types")
      .that(from != to || getRound() != Round::none, "between equal types needs a rounding");
}

LogicalResult VCompareOp::verify() {
  Type type = elementOf(getA());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .ub("b", getB(), getBOffset())
      .that(type == elementOf(getB()), "needs one element type")
      .that(elementOf(getDst()).isInteger(8), "writes a mask of i8")
      .that(isHalfOrFloat(type) || (type.isInteger(32) && getOp() == Compare::eq),
            "does not exist for this element type")
      .multiple("count", getCount(), 256, bytesOf(type));
}

LogicalResult VComparesOp::verify() {
  Type type = elementOf(getA());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .that(type == getScalar().getType(), "needs a scalar of the element type")
      .that(elementOf(getDst()).isInteger(8), "writes a mask of i8")
      .that(isHalfOrFloat(type) || (type.isInteger(32) && getOp() == Compare::eq),
            "does not exist for this element type")
      .multiple("count", getCount(), 256, bytesOf(type));
}

LogicalResult VSelectOp::verify() {
  Type type = elementOf(getDst());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("mask", getMask(), getMaskOffset())
      .ub("a", getA(), getAOffset())
      .ub("b", getB(), getBOffset())
      .that(type == elementOf(getA()) && type == elementOf(getB()), "needs one element type")
      .that(elementOf(getMask()).isInteger(8), "reads a mask of i8")
      .that(isArithmetic(type), "does not exist for this element type");
}

LogicalResult VReduceOp::verify() {
  Type type = elementOf(getDst());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .ub("tmp", getTmp(), getTmpOffset())
      .that(type == elementOf(getA()) && type == elementOf(getTmp()), "needs one element type")
      .that(isHalfOrFloat(type), "does not exist for this element type");
}

LogicalResult VBlockReduceOp::verify() {
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .that(elementOf(getDst()).isF32() && elementOf(getA()).isF32(), "exists for f32 only")
      .that(getDst() != getA(), "must not write where it reads")
      .range("count", getCount(), 0, kMostElements)
      .multiple("count", getCount(), 64, 1);
}

LogicalResult VRowReduceOp::verify() {
  Type type = elementOf(getDst());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .ub("tmp", getTmp(), getTmpOffset())
      .that(type == elementOf(getA()) && type == elementOf(getTmp()), "needs one element type")
      .that(isHalfOrFloat(type), "does not exist for this element type")
      .range("row_stride", getRowStride(), 0, kMostElements)
      .multiple("row_stride", getRowStride(), 32, bytesOf(type));
}

LogicalResult VRowBinaryOp::verify() {
  Type type = elementOf(getDst());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .ub("b", getB(), getBOffset())
      .ub("tmp", getTmp(), getTmpOffset())
      .that(type == elementOf(getA()) && type == elementOf(getB()) && type == elementOf(getTmp()),
            "needs one element type")
      .that(binaryHas(getOp(), type), "does not exist for this element type")
      .range("row_stride", getRowStride(), 0, kMostElements)
      .multiple("row_stride", getRowStride(), 32, bytesOf(type));
}

LogicalResult VColBinaryOp::verify() {
  Type type = elementOf(getDst());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .ub("b", getB(), getBOffset())
      .that(type == elementOf(getA()) && type == elementOf(getB()), "needs one element type")
      .that(binaryHas(getOp(), type), "does not exist for this element type")
      .range("row_stride", getRowStride(), 0, kMostElements)
      .multiple("row_stride", getRowStride(), 32, bytesOf(type));
}

LogicalResult VDeinterleaveOp::verify() {
  Type type = elementOf(getDst());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .that(type == elementOf(getA()), "needs one element type")
      .that(bytesOf(type) == 2 || bytesOf(type) == 4, "moves elements of 2 or 4 bytes")
      .that(getStep() == 2 || getStep() == 4, "takes every second or fourth element")
      .that(getDst() != getA(), "must not write where it reads")
      .range("count", getCount(), 0, kMostElements);
}

LogicalResult VTransposeOp::verify() {
  Type type = elementOf(getDst());
  return Check(*this)
      .ub("dst", getDst(), getDstOffset())
      .ub("a", getA(), getAOffset())
      .that(type == elementOf(getA()), "needs one element type")
      .that(bytesOf(type) == 2 || bytesOf(type) == 4, "moves elements of 2 or 4 bytes")
      .that(getDst() != getA(), "must not write where it reads")
      .range("a_stride", getAStride(), 0, kMostElements)
      .multiple("a_stride", getAStride(), 32, bytesOf(type))
      .range("dst_stride", getDstStride(), 0, 65535)
      .multiple("dst_stride", getDstStride(), 32, bytesOf(type));
}

//===------------------------------------------------------------------------------------------===//
// Synchronisation
//===------------------------------------------------------------------------------------------===//

static LogicalResult verifyFlag(Operation *op, Pipe from, Pipe to, Value id) {
  return Check(op)
      .that(from != to && from != Pipe::ALL && to != Pipe::ALL, "needs two different pipes")
      .range("id", id, 0, kEventIds - 1);
}

LogicalResult SetFlagOp::verify() { return verifyFlag(*this, getFrom(), getTo(), getId()); }
LogicalResult WaitFlagOp::verify() { return verifyFlag(*this, getFrom(), getTo(), getId()); }

LogicalResult CrossSetOp::verify() {
  return Check(*this)
      .that(getPipe() != Pipe::ALL, "needs one pipe")
      .that(getMode() >= 0 && getMode() <= 2, "has a mode of 0, 1 or 2")
      .range("id", getId(), 0, sim_isa::kMaxCrossFlags - 1);
}
LogicalResult CrossWaitOp::verify() {
  return Check(*this)
      .that(getPipe() != Pipe::ALL, "needs one pipe")
      .range("id", getId(), 0, sim_isa::kMaxCrossFlags - 1);
}

} // namespace pyasc::npu
