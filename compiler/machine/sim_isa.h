// The encoding of the simulator's program (v1.SimProgram): what the exporter writes and the
// simulator loads. No public IR: a reader refuses every version but its own.
//
// A function is a list of 16-byte scalar instructions over 64-bit registers. The scalar unit
// runs them; kIssue hands one descriptor, its register operands read at that moment, to a pipe's
// queue. Everything is little-endian.
//
// Register values. Integers of every width are sign-extended to 64 bits, except i1, which is 0
// or 1. Floats are their bit patterns in the low bits; the bits above them are ignored.
// Addresses are byte addresses: in GM the device's own, on chip from 0 at each memory's start.
//
// Formal arguments arrive in registers 0, 1, ...; every other register starts at 0. The kError
// argument is the address of four int64 that belong to this block alone.
#ifndef PYASC_COMPILER_MACHINE_SIM_ISA_H
#define PYASC_COMPILER_MACHINE_SIM_ISA_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pyasc::sim_isa {

inline constexpr uint32_t kSimIsaVersion = 5;
inline constexpr uint32_t kMaxRegisters = 65535;
inline constexpr uint16_t kNoRegister = 0xffff;

// Width and kind of an element.
enum class Type : uint8_t { kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64, kF16, kBF16, kF32, kF64 };
inline constexpr int kNumTypes = 12;

constexpr int TypeBytes(Type type) {
  switch (type) {
  case Type::kI8:
  case Type::kU8:
    return 1;
  case Type::kI16:
  case Type::kU16:
  case Type::kF16:
  case Type::kBF16:
    return 2;
  case Type::kI32:
  case Type::kU32:
  case Type::kF32:
    return 4;
  default:
    return 8;
  }
}

enum class Space : uint8_t { kGm, kUb, kL1, kL0A, kL0B, kL0C };
inline constexpr int kNumSpaces = 6;

enum class Pipe : uint8_t { kS, kV, kM, kMte1, kMte2, kMte3, kFix, kAll };
// Without kAll.
inline constexpr int kNumPipes = 7;
inline constexpr int kMaxEventIds = 8;
// Flags between cores, and how often one may be set before it is waited for.
inline constexpr int kMaxCrossFlags = 11;
inline constexpr int kMaxCrossCount = 15;
// "S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL".
std::string_view PipeName(Pipe pipe);

// ------------------------------------------------------------------------------ scalar unit
//
// PYASC_SIM_SCALAR_OPS(X): X(name, form). Forms say which fields an instruction uses:
//   kNone; kA: a is written; kAB: a = f(b); kABC: a = f(b, c); kABI: a = f(b, imm);
//   kAI: a = imm; kJump: goto imm; kJumpA: on a; kJumpAB: on a and b; kLoad: a = memory[b + c *
//   width + imm] (c may be kNoRegister); kStore: memory[b + c * width + imm] = a;
//   kIssue: descriptor imm; kABCD: a = f(b, c, register imm).
// "W" ops come in four widths, since they wrap or look at the sign bit of their width.
#define PYASC_SIM_WIDE(X, name, form)                                                              \
  X(name##8, form) X(name##16, form) X(name##32, form) X(name##64, form)

// clang-format off
#define PYASC_SIM_SCALAR_OPS(X)                                                                    \
  X(Halt, kNone)                                                                                   \
  X(Const, kAI) X(Move, kAB)                                                                       \
  PYASC_SIM_WIDE(X, Add, kABC) PYASC_SIM_WIDE(X, Sub, kABC) PYASC_SIM_WIDE(X, Mul, kABC)           \
  X(AddI64, kABI) X(MulI64, kABI)                                                                  \
  X(ScaledAdd64, kABCI) /* a = b + c * imm */                                                      \
  /* Division by zero gives 0, the remainder then is b; the least value over -1 wraps. */          \
  PYASC_SIM_WIDE(X, DivS, kABC) PYASC_SIM_WIDE(X, DivU, kABC)                                      \
  PYASC_SIM_WIDE(X, RemS, kABC) PYASC_SIM_WIDE(X, RemU, kABC)                                      \
  PYASC_SIM_WIDE(X, FloorDivS, kABC)                                                               \
  PYASC_SIM_WIDE(X, CeilDivS, kABC) PYASC_SIM_WIDE(X, CeilDivU, kABC)                              \
  /* A shift by the width or more gives 0, or the sign for ShrS. */                                \
  PYASC_SIM_WIDE(X, Shl, kABC) PYASC_SIM_WIDE(X, ShrS, kABC) PYASC_SIM_WIDE(X, ShrU, kABC)         \
  PYASC_SIM_WIDE(X, MulHiS, kABC) PYASC_SIM_WIDE(X, MulHiU, kABC)                                  \
  PYASC_SIM_WIDE(X, Clz, kAB) PYASC_SIM_WIDE(X, Ctz, kAB) PYASC_SIM_WIDE(X, Popcount, kAB)         \
  X(And, kABC) X(Or, kABC) X(Xor, kABC)                                                            \
  X(MinS, kABC) X(MaxS, kABC) X(MinU, kABC) X(MaxU, kABC)                                          \
  X(CmpEq, kABC) X(CmpNe, kABC) X(CmpLtS, kABC) X(CmpLeS, kABC) X(CmpLtU, kABC) X(CmpLeU, kABC)    \
  /* a = b ? c : register imm */                                                                   \
  X(Select, kABCD)                                                                                 \
  X(Sext8, kAB) X(Sext16, kAB) X(Sext32, kAB) X(Zext8, kAB) X(Zext16, kAB) X(Zext32, kAB)          \
  X(Bool, kAB) /* b & 1 */ X(SextBool, kAB) /* 0 or -1 */                                          \
  X(Jump, kJump) X(JumpIf, kJumpA) X(JumpIfNot, kJumpA)                                            \
  X(JumpEq, kJumpAB) X(JumpNe, kJumpAB) X(JumpLtS, kJumpAB) X(JumpGeS, kJumpAB)                    \
  /* Floats. Min and Max give NaN if there is one, MinNum and MaxNum the number. */                \
  X(AddF32, kABC) X(SubF32, kABC) X(MulF32, kABC) X(DivF32, kABC) X(RemF32, kABC)                  \
  X(MinF32, kABC) X(MaxF32, kABC) X(MinNumF32, kABC) X(MaxNumF32, kABC)                            \
  X(FmaF32, kABCD)                                                                                 \
  X(AddF64, kABC) X(SubF64, kABC) X(MulF64, kABC) X(DivF64, kABC) X(RemF64, kABC)                  \
  X(MinF64, kABC) X(MaxF64, kABC) X(MinNumF64, kABC) X(MaxNumF64, kABC)                            \
  X(FmaF64, kABCD)                                                                                 \
  /* imm: a Function. */                                                                           \
  X(FunF32, kABI) X(FunF64, kABI) X(Fun2F32, kABCI) X(Fun2F64, kABCI)                              \
  /* imm: a Predicate. */                                                                          \
  X(CmpF32, kABCI) X(CmpF64, kABCI)                                                                \
  X(F16ToF32, kAB) X(Bf16ToF32, kAB) X(F32ToF64, kAB)                                              \
  X(F32ToF16, kAB) X(F32ToBf16, kAB) X(F64ToF32, kAB) X(F64ToF16, kAB) X(F64ToBf16, kAB)           \
  X(IntToF32, kAB) X(IntToF64, kAB)                                                                \
  /* b zero-extended to 64 bits first, by the exporter */                                          \
  X(UintToF32, kAB) X(UintToF64, kAB)                                                              \
  /* Towards zero; NaN gives 0, what does not fit the nearest that does. */                        \
  PYASC_SIM_WIDE(X, F32ToS, kAB) PYASC_SIM_WIDE(X, F32ToU, kAB)                                    \
  PYASC_SIM_WIDE(X, F64ToS, kAB) PYASC_SIM_WIDE(X, F64ToU, kAB)                                    \
  /* Memory: GM through the data cache, UB directly. Loads sign-extend. */                         \
  PYASC_SIM_WIDE(X, LoadGm, kLoad) PYASC_SIM_WIDE(X, StoreGm, kStore)                              \
  PYASC_SIM_WIDE(X, LoadUb, kLoad) PYASC_SIM_WIDE(X, StoreUb, kStore)                              \
  X(BlockIdx, kA) X(NumBlocks, kA)                                                                 \
  X(Work, kABI) /* takes b + imm cycles more; a is not used */ \
  X(DcacheFlush, kNone)                                                                            \
  X(Issue, kIssue)
// clang-format on

enum class ScalarOp : uint16_t {
#define PYASC_SIM_ENUM(name, form) k##name,
  PYASC_SIM_SCALAR_OPS(PYASC_SIM_ENUM)
#undef PYASC_SIM_ENUM
};

// kABCI: a = f(b, c, imm), imm a constant.
enum class Form : uint8_t {
  kNone,
  kA,
  kAB,
  kABC,
  kABI,
  kABCI,
  kABCD,
  kAI,
  kJump,
  kJumpA,
  kJumpAB,
  kLoad,
  kStore,
  kIssue
};

struct ScalarOpInfo {
  std::string_view name;
  Form form;
};
int NumScalarOps();
// REQUIRES: op < NumScalarOps().
const ScalarOpInfo &InfoOf(ScalarOp op);

// The op of a "wide" family for 8, 16, 32 or 64 bits, given its 8-bit member.
constexpr ScalarOp OfWidth(ScalarOp of8, int bits) {
  int step = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
  return static_cast<ScalarOp>(static_cast<int>(of8) + step);
}

struct Instruction {
  ScalarOp op = ScalarOp::kHalt;
  uint16_t a = 0;
  uint16_t b = 0;
  uint16_t c = 0;
  int64_t imm = 0;
};
inline constexpr int kInstructionBytes = 16;

// Unary: kNeg .. kErfc. Binary (Fun2): kPow .. kCopySign; kPowI takes an integer register.
enum class Function : uint8_t {
  kNeg,
  kAbs,
  kSqrt,
  kRsqrt,
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kSinh,
  kCosh,
  kTanh,
  kAsin,
  kAcos,
  kAtan,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kErfc,
  kCbrt,
  kFloor,
  kCeil,
  kTrunc,
  kRound,
  kRoundEven,
  kPow,
  kAtan2,
  kCopySign,
  kPowI,
};
inline constexpr int kNumUnaryFunctions = static_cast<int>(Function::kRoundEven) + 1;
inline constexpr int kNumFunctions = static_cast<int>(Function::kPowI) + 1;

// As arith.cmpf counts them.
enum class Predicate : uint8_t {
  kFalse,
  kOeq,
  kOgt,
  kOge,
  kOlt,
  kOle,
  kOne,
  kOrd,
  kUeq,
  kUgt,
  kUge,
  kUlt,
  kUle,
  kUne,
  kUno,
  kTrue
};
inline constexpr int kNumPredicates = 16;

// ------------------------------------------------------------------------------------- pipes
//
// Each pipe instruction and the meaning of its fields, all in bytes unless said. Vector
// addresses are in UB.
//
// A vector instruction is in one of two modes. Counted (repeats == 0): `count` contiguous
// elements. Repeated: `repeats` repeats of `count` elements each, at most 256 bytes of the wider
// operand; within a repeat an operand's 32-byte blocks lie *_block blocks apart (1: contiguous,
// 0: the same block again), and its repeats *_repeat blocks apart.
enum class PipeOp : uint8_t {
  // Any pipe. Fields: id. sub: from, aux: to (Pipe).
  kSetFlag,
  kWaitFlag,
  // Drains the descriptor's pipe; kAll drains all and holds the scalar unit until then.
  kBarrier,
  // MTE2: GM to UB or L1 (space). dst, src, count, length, src_stride, dst_stride. aux: 1 leaves L2
  // as it is when the data is not there.
  kLoad,
  // MTE2: GM to L1, ND to NZ. dst, src, rows, cols (elements), src_stride, dst_rows, row_step.
  // aux: as kLoad.
  kLoadNd2Nz,
  // MTE3: UB to GM. dst, src, count, length, dst_stride, src_stride. sub: Atomic; type.
  kStore,
  // MTE1: L1 to L0A or L0B (space). dst, src, extent (m or n), k, src_rows. sub: 1 transposes.
  // The source is NZ: fractals of 16 rows of C0 = 32 bytes / element size elements, column block
  // major. Destination fractals (512 bytes), rows along m or n: L0A (i, j) at i * K + j, L0B
  // (j, i) at j * ceil(n / 16) + i, with m-block (n-block) i, k-block j and K = ceil(k / C0),
  // which is 2 * ceil(k / 16) for transposed elements of 4 bytes.
  kLoadL0,
  // M: c (L0C) = a (L0A) x b (L0B), plus c unless init. c, a, b, m, n, k, init, unit_flag
  // (UnitFlag). type: of a and b; src_type: of c. aux: 1 when a was loaded transposed and has 4
  // bytes an element. c is NZ
  // with fractals of 16 x 16 and ceil(m / 16) * 16 rows a column block.
  kMmad,
  // FIX: L0C to GM. dst, src, m, n, dst_stride, src_rows. type: of GM; src_type: of L0C.
  // sub: Atomic; aux: bit 0 applies relu, bit 1 uses the unit flag.
  kFixpipe,
  // V. sub: Binary. dst, a, b, count, repeats, dst_block, dst_repeat, a_block, a_repeat,
  // b_block, b_repeat.
  kVBinary,
  // V. sub: Unary. dst, a, count, repeats, dst_block, dst_repeat, a_block, a_repeat.
  kVUnary,
  // V. sub: Scalar (Adds ...). dst, a, scalar (bits), count, repeats, dst_block, dst_repeat,
  // a_block, a_repeat.
  kVScalar,
  // V. dst, scalar (bits), count, repeats, dst_block, dst_repeat.
  kVDup,
  // V. type: of dst, src_type: of a; sub: Rounding. Fields as kVUnary.
  kVCast,
  // V. sub: Compare. dst (bit mask), a, b, count; kVCompareS: b is a scalar's bits.
  kVCompare,
  kVCompareS,
  // V. dst, mask, a, b, count; where the mask's bit is set a, else b.
  kVSelect,
  // V. sub: Reduce. dst, a, tmp, count. All elements into dst[0]; the rest of its block and tmp
  // (32 bytes for each 256 bytes of a) hold nothing of use afterwards.
  kVReduce,
  // V. One result a repeat, at dst + repeat * dst_stride. sub: Reduce.
  // dst, a, count (elements of a repeat), repeats, dst_stride (bytes), a_block, a_repeat.
  kVReduceRepeat,
  // V. Each of 8 * repeats elements of src fills one block of 32 bytes of dst. dst, src, repeats.
  kVBroadcast,
  // V. dst, src, repeats, dst_stride, src_stride (bytes from row to row). With B elements in 32
  // bytes
  // repeat k takes 16 rows of B elements from src + 32 k: element j of row i goes to dst + (k B +
  // j)
  // * dst_stride + i elements.
  kVTranspose,
  // V. sub: Reduce. dst, a, repeats: each repeat's 8 blocks of 8 elements become 8 results.
  kVReduceBlock,
  // V. dst, a, count, step: every step-th of count elements, packed.
  kVDeinterleave,
  // Any pipe: flags between cores. Fields: id. sub of a set: CrossMode.
  kCrossSet,
  kCrossWait,
};
inline constexpr int kNumPipeOps = static_cast<int>(PipeOp::kCrossWait) + 1;

// Who gets the flag, once all of the others have set it. A group is a cube core and its two vector
// cores: blocks g, 2g and 2g + 1.
enum class CrossMode : uint8_t {
  kAll,   // every core of the kind, when every core of the kind has set it
  kPair,  // the two vector cores of a group, when both have set it
  kGroup, // from the cube core its two vector cores; from both vector cores their cube core
};

// Of a mmad: no unit flag; one of several of a result; the last one, which closes it.
enum class UnitFlag : uint8_t { kNone, kCheck, kSet };
enum class Atomic : uint8_t { kNone, kAdd, kMax, kMin };
enum class Binary : uint8_t { kAdd, kSub, kMul, kDiv, kMax, kMin, kAnd, kOr };
enum class Unary : uint8_t {
  kExp,
  kLn,
  kAbs,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kRelu,
  kNot,
  kNeg,
  kCopy
};
enum class Scalar : uint8_t { kAdds, kMuls, kMaxs, kMins };
enum class Compare : uint8_t { kLt, kLe, kGt, kGe, kEq, kNe };
enum class Rounding : uint8_t { kNone, kRint, kFloor, kCeil, kTrunc, kRound };
enum class Reduce : uint8_t { kSum, kMax, kMin };

// value + register * scale.
struct Field {
  int64_t value = 0;
  uint16_t reg = kNoRegister;
  int32_t scale = 1;
};
inline constexpr int kMaxFields = 12;

struct Descriptor {
  PipeOp op = PipeOp::kBarrier;
  Pipe pipe = Pipe::kS;
  Type type = Type::kF32;
  Type src_type = Type::kF32;
  Space space = Space::kUb;
  uint8_t sub = 0;
  uint8_t aux = 0;
  std::vector<Field> fields;
};

// How many fields an op has.
int NumFields(PipeOp op);
std::string_view PipeOpName(PipeOp op);

// The byte strings of v1.SimFunction.
std::string EncodeInstructions(const std::vector<Instruction> &code);
std::string EncodeDescriptors(const std::vector<Descriptor> &descriptors);
// False when the bytes are not a whole number of well-formed items. Register numbers, jumps and
// descriptor numbers are the loader's to check.
bool DecodeInstructions(std::string_view bytes, std::vector<Instruction> &code);
bool DecodeDescriptors(std::string_view bytes, std::vector<Descriptor> &descriptors);

// Lines: file * 2^24 + line.
constexpr uint32_t PackLine(uint32_t file, uint32_t line) { return (file << 24) | line; }
constexpr uint32_t FileOf(uint32_t packed) { return packed >> 24; }
constexpr uint32_t LineOf(uint32_t packed) { return packed & 0xffffff; }

} // namespace pyasc::sim_isa

#endif // PYASC_COMPILER_MACHINE_SIM_ISA_H
