#include "compiler/target/ascend/npu.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/target/ascend/npu_enums.cc.inc"

#include "compiler/target/ascend/npu_dialect.cc.inc"
#include "compiler/target/ascend/npu_interfaces.cc.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/target/ascend/npu_attrs.cc.inc"
#define GET_OP_CLASSES
#include "compiler/target/ascend/npu_ops.cc.inc"

using namespace mlir;

namespace pyasc::npu {

void NpuDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/target/ascend/npu_attrs.cc.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/target/ascend/npu_ops.cc.inc"
      >();
}

//===------------------------------------------------------------------------------------------===//
// Memory
//===------------------------------------------------------------------------------------------===//

int64_t bytesOf(Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }

std::optional<Space> findSpace(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  auto space = memref ? dyn_cast_or_null<SpaceAttr>(memref.getMemorySpace()) : SpaceAttr();
  return space ? std::optional<Space>(space.getValue()) : std::nullopt;
}

Space spaceOf(Value memory) { return *findSpace(memory.getType()); }

std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return constant.getSExtValue();
}

int64_t alignmentOf(Space space) {
  switch (space) {
  case Space::gm:
    return 1;
  case Space::ub:
  case Space::l1:
    return 32;
  case Space::l0a:
  case Space::l0b:
    return 512;
  case Space::l0c:
    return 1024;
  }
  llvm_unreachable("unknown space");
}

MemRefType memoryType(int64_t elements, Type element, Space space) {
  return MemRefType::get({elements}, element, MemRefLayoutAttrInterface(),
                         SpaceAttr::get(element.getContext(), space));
}

void effectsOfAccesses(
    ArrayRef<Access> accesses,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (const Access &access : accesses) {
    MemoryEffects::Effect *effect = MemoryEffects::Read::get();
    if (access.write)
      effect = MemoryEffects::Write::get();
    effects.emplace_back(effect, access.operand, SideEffects::DefaultResource::get());
  }
}

//===------------------------------------------------------------------------------------------===//
// Accesses
//===------------------------------------------------------------------------------------------===//

using Accesses = SmallVector<Access, 4>;

static OpFoldResult index(Value value, int64_t constant) {
  return OpFoldResult(IntegerAttr::get(IndexType::get(value.getContext()), constant));
}

// `count` elements in a row from `offset` on.
static Access row(OpOperand &memory, Value offset, bool write, Value count) {
  return {&memory, offset, write, {{count, index(count, 1)}}};
}

// `rows` rows of `cols` elements.
static Access matrix(OpOperand &memory, Value offset, bool write, Value rows, Value stride,
                     Value cols) {
  return {&memory, offset, write, {{rows, stride}, {cols, index(cols, 1)}}};
}

static Access anything(OpOperand &memory, Value offset, bool write) {
  return {&memory, offset, write, {}};
}

Accesses LoadOp::getAccesses() {
  return {matrix(getSrcMutable(), getSrcOffset(), false, getCount(), getSrcStride(), getLen()),
          // Up to the next multiple of 32 bytes the destination is undefined: a block is written.
          anything(getDstMutable(), getDstOffset(), true)};
}

Accesses StoreOp::getAccesses() {
  Accesses result = {
      matrix(getSrcMutable(), getSrcOffset(), false, getCount(), getSrcStride(), getLen())};
  if (getAtomic() != Atomic::none)
    result.push_back(
        matrix(getDstMutable(), getDstOffset(), false, getCount(), getDstStride(), getLen()));
  result.push_back(
      matrix(getDstMutable(), getDstOffset(), true, getCount(), getDstStride(), getLen()));
  return result;
}

Accesses LoadNd2NzOp::getAccesses() {
  // Whole blocks of a row: as many column blocks as the memory could hold.
  Access written = anything(getDstMutable(), getDstOffset(), true);
  if (std::optional<int64_t> high = constantOf(getDstRows()); high && *high > 0) {
    auto type = cast<MemRefType>(getDst().getType());
    const int64_t block = blockElements(type.getElementType());
    const int64_t blocks = (type.getNumElements() + *high * block - 1) / (*high * block);
    Value any = getRows();
    written.dims = {{index(any, blocks), index(any, *high * block)},
                    {getRows(), index(any, block * static_cast<int64_t>(getRowStep()))},
                    {index(any, block), index(any, 1)}};
  }
  return {matrix(getSrcMutable(), getSrcOffset(), false, getRows(), getSrcStride(), getCols()),
          written};
}

Accesses VCopyOp::getAccesses() {
  return {anything(getAMutable(), getAOffset(), false),
          anything(getDstMutable(), getDstOffset(), true)};
}

Accesses LoadL0Op::getAccesses() {
  return {anything(getSrcMutable(), getSrcOffset(), false),
          anything(getDstMutable(), getDstOffset(), true)};
}

Accesses FixpipeOp::getAccesses() {
  Accesses result = {anything(getSrcMutable(), getSrcOffset(), false)};
  if (getAtomic() != Atomic::none)
    result.push_back(
        matrix(getDstMutable(), getDstOffset(), false, getM(), getDstStride(), getN()));
  result.push_back(matrix(getDstMutable(), getDstOffset(), true, getM(), getDstStride(), getN()));
  return result;
}

Accesses MmadOp::getAccesses() {
  return {
      anything(getAMutable(), getAOffset(), false), anything(getBMutable(), getBOffset(), false),
      anything(getCMutable(), getCOffset(), false), anything(getCMutable(), getCOffset(), true)};
}

Accesses VBinaryOp::getAccesses() {
  return {row(getAMutable(), getAOffset(), false, getCount()),
          row(getBMutable(), getBOffset(), false, getCount()),
          row(getDstMutable(), getDstOffset(), true, getCount())};
}

Accesses VUnaryOp::getAccesses() {
  return {row(getAMutable(), getAOffset(), false, getCount()),
          row(getDstMutable(), getDstOffset(), true, getCount())};
}

Accesses VScalarOp::getAccesses() {
  return {row(getAMutable(), getAOffset(), false, getCount()),
          row(getDstMutable(), getDstOffset(), true, getCount())};
}

Accesses VDupOp::getAccesses() { return {row(getDstMutable(), getDstOffset(), true, getCount())}; }

Accesses VCastOp::getAccesses() {
  return {row(getAMutable(), getAOffset(), false, getCount()),
          row(getDstMutable(), getDstOffset(), true, getCount())};
}

Accesses VCompareOp::getAccesses() {
  return {row(getAMutable(), getAOffset(), false, getCount()),
          row(getBMutable(), getBOffset(), false, getCount()),
          anything(getDstMutable(), getDstOffset(), true)};
}

Accesses VComparesOp::getAccesses() {
  return {row(getAMutable(), getAOffset(), false, getCount()),
          anything(getDstMutable(), getDstOffset(), true)};
}

Accesses VSelectOp::getAccesses() {
  return {anything(getMaskMutable(), getMaskOffset(), false),
          row(getAMutable(), getAOffset(), false, getCount()),
          row(getBMutable(), getBOffset(), false, getCount()),
          row(getDstMutable(), getDstOffset(), true, getCount())};
}

Accesses VReduceOp::getAccesses() {
  return {row(getAMutable(), getAOffset(), false, getCount()),
          anything(getTmpMutable(), getTmpOffset(), true),
          anything(getDstMutable(), getDstOffset(), true)};
}

Accesses VBlockReduceOp::getAccesses() {
  // An eighth of the count is written.
  return {row(getAMutable(), getAOffset(), false, getCount()),
          anything(getDstMutable(), getDstOffset(), true)};
}

Accesses VRowReduceOp::getAccesses() {
  return {matrix(getAMutable(), getAOffset(), false, getRows(), getRowStride(), getCols()),
          anything(getTmpMutable(), getTmpOffset(), true),
          row(getDstMutable(), getDstOffset(), true, getRows())};
}

Accesses VRowBinaryOp::getAccesses() {
  return {matrix(getAMutable(), getAOffset(), false, getRows(), getRowStride(), getCols()),
          // Read up to a multiple of 8 elements.
          anything(getBMutable(), getBOffset(), false),
          anything(getTmpMutable(), getTmpOffset(), true),
          matrix(getDstMutable(), getDstOffset(), true, getRows(), getRowStride(), getCols())};
}

Accesses VDeinterleaveOp::getAccesses() {
  // Every step-th element of a, so a part of the count is written.
  return {row(getAMutable(), getAOffset(), false, getCount()),
          anything(getDstMutable(), getDstOffset(), true)};
}

Accesses VTransposeOp::getAccesses() {
  // Whole pieces, which reach past rows and columns.
  return {anything(getAMutable(), getAOffset(), false),
          anything(getDstMutable(), getDstOffset(), true)};
}

Accesses VColBinaryOp::getAccesses() {
  return {matrix(getAMutable(), getAOffset(), false, getRows(), getRowStride(), getCols()),
          row(getBMutable(), getBOffset(), false, getCols()),
          matrix(getDstMutable(), getDstOffset(), true, getRows(), getRowStride(), getCols())};
}

} // namespace pyasc::npu
