// The npu dialect's C++ side: spaces, pipes, instructions and the ranges of memory they touch.
//
// Ops are declared in npu_ops.td, modules and stages described in docs/architecture.md.
#ifndef PYASC_COMPILER_TARGET_ASCEND_NPU_H
#define PYASC_COMPILER_TARGET_ASCEND_NPU_H

#include <cstdint>
#include <optional>

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include "compiler/target/ascend/npu_enums.h.inc"

namespace pyasc::npu {

// Names of attributes; see docs/architecture.md.
inline constexpr llvm::StringLiteral kSoc = "npu.soc";
inline constexpr llvm::StringLiteral kStage = "npu.stage";
inline constexpr llvm::StringLiteral kWorkspaces = "npu.workspaces";
inline constexpr llvm::StringLiteral kLowered = "npu.lowered";
// On a phase: the numbers of the kernel's steps (asc.step) that it does, as far as they have one.
inline constexpr llvm::StringLiteral kSteps = "npu.steps";
inline constexpr llvm::StringLiteral kCore = "npu.core";
inline constexpr llvm::StringLiteral kBlocks = "npu.blocks";
// On an argument: flags between cores guard this memory, see npu-sync.
inline constexpr llvm::StringLiteral kRing = "npu.ring";
// Functions of one group run at the same time, on cube and vector cores.
inline constexpr llvm::StringLiteral kGroup = "npu.group";
// Neighbouring functions of one loop are launched round after round, in their order. Its rounds are
// [start, step, count]: an argument bound to "loop_variable" is start + round * step.
inline constexpr llvm::StringLiteral kLoop = "npu.loop";
inline constexpr llvm::StringLiteral kRounds = "npu.rounds";
inline constexpr llvm::StringLiteral kLoopVariable = "loop_variable";
inline constexpr llvm::StringLiteral kBinding = "npu.binding";
// What messages call a buffer.
inline constexpr llvm::StringLiteral kBufferName = "npu.buffer_name";
inline constexpr llvm::StringLiteral kPlanned = "planned";
inline constexpr llvm::StringLiteral kPlaced = "placed";
inline constexpr llvm::StringLiteral kSynced = "synced";

// Event ids that programs may use of each pair of pipes: 0 .. kEventIds - 1.
inline constexpr int64_t kEventIds = 6;

// One dimension of an access: `extent` steps of `stride` elements. Null values are never used;
// an extent or stride is an index attribute or an index value.
struct AccessDim {
  mlir::OpFoldResult extent;
  mlir::OpFoldResult stride;
};

// A range of memory that an instruction reads or writes: the elements offset + sum(i_d * stride_d)
// for 0 <= i_d < extent_d. No dims: anything in the memref.
struct Access {
  mlir::OpOperand *operand = nullptr;
  mlir::Value offset;
  bool write = false;
  llvm::SmallVector<AccessDim, 3> dims;

  mlir::Value memory() const { return operand->get(); }
};

// Effects of an instruction from its accesses.
void effectsOfAccesses(
    llvm::ArrayRef<Access> accesses,
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>> &effects);

// Bytes of an element of `type` (i1 counts one byte).
int64_t bytesOf(mlir::Type type);
// Elements in a block of 32 bytes.
inline int64_t blockElements(mlir::Type type) { return 32 / bytesOf(type); }
// The space of a memref type; none when the type is no memref or has no SpaceAttr.
std::optional<Space> findSpace(mlir::Type type);
// REQUIRES: findSpace(memory.getType()).
Space spaceOf(mlir::Value memory);
// The value of an index constant.
std::optional<int64_t> constantOf(mlir::Value value);
// Alignment in bytes of buffers in a space.
int64_t alignmentOf(Space space);
// 1-D memref of `elements` in `space`.
mlir::MemRefType memoryType(int64_t elements, mlir::Type element, Space space);

} // namespace pyasc::npu

#include "compiler/target/ascend/npu_dialect.h.inc"
#include "compiler/target/ascend/npu_interfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/target/ascend/npu_attrs.h.inc"
#define GET_OP_CLASSES
#include "compiler/target/ascend/npu_ops.h.inc"

#endif // PYASC_COMPILER_TARGET_ASCEND_NPU_H
