#include "profiler/sim/scalar_unit.h"

#include <algorithm>
#include <cstring>

#include "profiler/sim/half.h"
#include "profiler/sim/scalar_math.h"
#include "profiler/sim/text.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;

// Far above every run, far below what the clock cannot hold.
constexpr uint64_t kMostIndex = uint64_t{1} << 59;
constexpr uint64_t kNowhere = uint64_t{1} << 63;
constexpr int64_t kMostWork = 1'000'000'000'000'000;

double CostOf(const sim_isa::Instruction &i, const machine::ScalarCost &cost) {
  switch (i.op) {
  case ScalarOp::kHalt:
    return 0;
  case ScalarOp::kDivF32:
  case ScalarOp::kDivF64:
  case ScalarOp::kRemF32:
  case ScalarOp::kRemF64:
  case ScalarOp::kFun2F32:
  case ScalarOp::kFun2F64:
    return cost.divide_cycles;
  case ScalarOp::kFunF32:
  case ScalarOp::kFunF64:
    return i.imm <= static_cast<int64_t>(sim_isa::Function::kAbs) ? cost.instruction_cycles
                                                                  : cost.divide_cycles;
  default:
    break;
  }
  if (i.op >= ScalarOp::kDivS8 && i.op <= ScalarOp::kCeilDivU64)
    return cost.divide_cycles;
  if (i.op >= ScalarOp::kAddF32 && i.op <= ScalarOp::kF64ToU64)
    return cost.float_cycles;
  if (i.op >= ScalarOp::kLoadGm8 && i.op <= ScalarOp::kStoreGm64)
    return cost.dcache_hit_cycles;
  if (i.op >= ScalarOp::kLoadUb8 && i.op <= ScalarOp::kStoreUb64)
    return cost.ub_access_cycles;
  return cost.instruction_cycles;
}

} // namespace

ScalarCode::ScalarCode(const Function &f, const machine::Soc &soc, bool costs) : function(&f) {
  instructions.reserve(f.code.size());
  lines = f.lines;
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  for (size_t n = 0; n < f.code.size(); ++n) {
    const sim_isa::Instruction &i = f.code[n];
    const Form form = InfoOf(i.op).form;
    touches_memory |= form == Form::kLoad || form == Form::kStore || i.op == ScalarOp::kDcacheFlush;
    const auto slot = std::lower_bound(lines.begin(), lines.end(), f.lines[n]) - lines.begin();
    instructions.push_back({static_cast<uint16_t>(i.op), i.a, i.b, i.c, i.imm,
                            costs ? CostOf(i, soc.scalar) : 0, f.lines[n],
                            static_cast<uint32_t>(slot)});
  }
}

void ScalarUnit::Start(const ScalarCode &code, ScalarPorts ports,
                       std::span<const uint64_t> arguments, int64_t block, int64_t num_blocks) {
  code_ = &code;
  ports_ = ports;
  watched_ = !ports.data || (ports.checker && ports.checker->watches_gm());
  pc_ = 0;
  block_ = block;
  num_blocks_ = num_blocks;
  registers_.assign(code.function->num_registers, 0);
  std::copy(arguments.begin(), arguments.end(), registers_.begin());
  if (counts.size() != code.instructions.size()) {
    counts.assign(code.instructions.size(), 0);
    miss_time.assign(code.instructions.size(), 0);
  }
}

DataCache::Line *ScalarUnit::Line(uint64_t address, int64_t bytes) {
  DataCache::Line *line = ports_.cache->Lookup(address);
  if (!line) {
    line = ports_.cache->Fill(*ports_.gm, address, ports_.data);
    if (line && ports_.checker)
      line->filled = ports_.checker->Now();
    ++cache_misses;
    time += ports_.miss_cycles;
    miss_time[pc_ - 1] += ports_.miss_cycles;
  }
  const auto offset = static_cast<int64_t>(address % DataCache::kLineBytes);
  if (line && offset + bytes <= line->limit)
    return line;
  fault_kind = FaultKind::kOutOfBounds;
  fault = Cat("the scalar unit accesses ", bytes, " bytes of GM out of bounds");
  return nullptr;
}

template <typename T> bool ScalarUnit::LoadGm(uint64_t address, uint64_t &to) {
  if (address % sizeof(T) != 0) {
    fault_kind = FaultKind::kMisaligned;
    fault = "the scalar unit reads GM at an address that is no multiple of the element's size";
    return false;
  }
  DataCache::Line *line = Line(address, sizeof(T));
  if (!line)
    return false;
  if (ports_.checker)
    ports_.checker->Scalar(Space::kGm, static_cast<int64_t>(address), sizeof(T), false, pc_ - 1,
                           line->filled);
  T value{};
  if (ports_.data)
    std::memcpy(&value, line->data + address % DataCache::kLineBytes, sizeof(T));
  to = Extend<T>(value);
  return true;
}

template <typename T> bool ScalarUnit::StoreGm(uint64_t address, uint64_t value) {
  if (address % sizeof(T) != 0) {
    fault_kind = FaultKind::kMisaligned;
    fault = "the scalar unit writes GM at an address that is no multiple of the element's size";
    return false;
  }
  DataCache::Line *line = Line(address, sizeof(T));
  if (!line)
    return false;
  if (ports_.checker)
    ports_.checker->Scalar(Space::kGm, static_cast<int64_t>(address), sizeof(T), true, pc_ - 1,
                           line->filled);
  if (ports_.data) {
    std::memcpy(line->data + address % DataCache::kLineBytes, &value, sizeof(T));
    line->dirty = true;
    line->writer = code_->instructions[pc_ - 1].line;
  }
  return true;
}

bool ScalarUnit::CheckUb(int64_t address, int64_t bytes, bool write) {
  if (address < 0 || address > ports_.ub->size() - bytes || address % bytes != 0) {
    fault_kind = address % bytes != 0 ? FaultKind::kMisaligned : FaultKind::kOutOfBounds;
    fault = Cat("the scalar unit accesses UB at byte ", address,
                ", which is out of bounds or no multiple of ", bytes);
    return false;
  }
  if (ports_.checker)
    ports_.checker->Scalar(Space::kUb, address, bytes, write, pc_ - 1, 0);
  return true;
}

template <typename T> bool ScalarUnit::LoadUb(int64_t address, uint64_t &to) {
  if (!CheckUb(address, sizeof(T), false))
    return false;
  T value{};
  if (ports_.data)
    std::memcpy(&value, ports_.ub->data() + address, sizeof(T));
  to = Extend<T>(value);
  return true;
}

template <typename T> bool ScalarUnit::StoreUb(int64_t address, uint64_t value) {
  if (!CheckUb(address, sizeof(T), true))
    return false;
  if (ports_.data) {
    std::memcpy(ports_.ub->data() + address, &value, sizeof(T));
    ports_.ub->Touch(address + static_cast<int64_t>(sizeof(T)));
  }
  return true;
}

// The four members of a wide family, given an expression in T.
#define WIDE(name, ...)                                                                            \
  case ScalarOp::k##name##8: {                                                                     \
    using T = int8_t;                                                                              \
    __VA_ARGS__;                                                                                   \
    break;                                                                                         \
  }                                                                                                \
  case ScalarOp::k##name##16: {                                                                    \
    using T = int16_t;                                                                             \
    __VA_ARGS__;                                                                                   \
    break;                                                                                         \
  }                                                                                                \
  case ScalarOp::k##name##32: {                                                                    \
    using T = int32_t;                                                                             \
    __VA_ARGS__;                                                                                   \
    break;                                                                                         \
  }                                                                                                \
  case ScalarOp::k##name##64: {                                                                    \
    using T = int64_t;                                                                             \
    __VA_ARGS__;                                                                                   \
    break;                                                                                         \
  }
#define OP(name, ...)                                                                              \
  case ScalarOp::k##name:                                                                          \
    __VA_ARGS__;                                                                                   \
    break;
#define GOTO(taken)                                                                                \
  if (taken) {                                                                                     \
    pc = i.imm;                                                                                    \
    if (executed > limit) [[unlikely]]                                                             \
      return leave(Stop::kLimit, i.line);                                                          \
  }
#define UNSIGNED std::make_unsigned_t<T>
// Without data operands are made up.
#define REQUIRE(holds, what)                                                                       \
  if (!(holds) && ports_.data) [[unlikely]]                                                        \
    return faulty(FaultKind::kArithmetic, what, i);
// An address or a size in bytes that wraps could name bytes that nobody meant.
#define FITS(overflows)                                                                            \
  if (overflows) [[unlikely]]                                                                      \
    return faulty(FaultKind::kOutOfBounds, "computes an address or a size beyond 64 bits", i);
#define DIVIDE(name)                                                                               \
  WIDE(name, {                                                                                     \
    REQUIRE(As<T>(r[i.c]) != 0, "divides by zero")                                                 \
    r[i.a] = name<T>(r[i.b], r[i.c]);                                                              \
  })
#define SHIFT(name)                                                                                \
  WIDE(name, {                                                                                     \
    REQUIRE(As<UNSIGNED>(r[i.c]) < 8 * sizeof(T), "shifts by the width of its type or more")       \
    r[i.a] = name<T>(r[i.b], r[i.c]);                                                              \
  })
#define TRY(call)                                                                                  \
  pc_ = pc;                                                                                        \
  time = now;                                                                                      \
  if (!call) {                                                                                     \
    line = i.line;                                                                                 \
    instructions += executed;                                                                      \
    return Stop::kFault;                                                                           \
  }                                                                                                \
  now = time

template <bool kCountLines> ScalarUnit::Stop ScalarUnit::Run() {
  const ScalarCode::Instruction *const code = code_->instructions.data();
  uint64_t *const r = registers_.data();
  int64_t pc = pc_, executed = 0;
  double now = time;
  auto faulty = [&](FaultKind kind, const char *what, const ScalarCode::Instruction &i) {
    pc_ = pc;
    time = now;
    line = i.line;
    instructions += executed;
    fault_kind = kind;
    fault = what;
    return Stop::kFault;
  };
  auto leave = [&](Stop stop, uint32_t at_line) {
    pc_ = pc;
    time = now;
    line = at_line;
    instructions += executed;
    return stop;
  };
  for (;;) {
    const ScalarCode::Instruction &i = code[pc];
    if constexpr (kCountLines)
      ++counts[pc];
    ++pc;
    ++executed;
    now += i.cycles;
    // An index that would wrap names no byte at all.
    auto address = [&]<typename T>(T) {
      const uint64_t index = i.c == kNoRegister ? 0 : r[i.c];
      return index + kMostIndex < 2 * kMostIndex
                 ? r[i.b] + index * sizeof(T) + static_cast<uint64_t>(i.imm)
                 : kNowhere;
    };
    switch (static_cast<ScalarOp>(i.op)) {
    case ScalarOp::kHalt:
      return leave(Stop::kHalt, i.line);
    case ScalarOp::kIssue:
      issued = i.imm;
      return leave(Stop::kIssue, i.line);
      OP(Const, r[i.a] = static_cast<uint64_t>(i.imm))
      OP(Move, r[i.a] = r[i.b])
      WIDE(Add, r[i.a] = Extend<T>(static_cast<T>(r[i.b] + r[i.c])))
      WIDE(Sub, r[i.a] = Extend<T>(static_cast<T>(r[i.b] - r[i.c])))
      WIDE(Mul, r[i.a] = Extend<T>(static_cast<T>(r[i.b] * r[i.c])))
      OP(AddI64, r[i.a] = r[i.b] + static_cast<uint64_t>(i.imm))
      OP(MulI64, {
        int64_t product = 0;
        FITS(__builtin_mul_overflow(As<int64_t>(r[i.b]), i.imm, &product))
        r[i.a] = static_cast<uint64_t>(product);
      })
      OP(ScaledAdd64, {
        int64_t product = 0, sum = 0;
        FITS(__builtin_mul_overflow(As<int64_t>(r[i.c]), i.imm, &product) ||
             __builtin_add_overflow(As<int64_t>(r[i.b]), product, &sum))
        r[i.a] = static_cast<uint64_t>(sum);
      })
      DIVIDE(DivS)
      DIVIDE(DivU)
      DIVIDE(RemS)
      DIVIDE(RemU)
      DIVIDE(FloorDivS)
      DIVIDE(CeilDivS)
      DIVIDE(CeilDivU)
      SHIFT(Shl)
      SHIFT(ShrS)
      SHIFT(ShrU)
      WIDE(MulHiS, r[i.a] = MulHiS<T>(r[i.b], r[i.c]))
      WIDE(MulHiU, r[i.a] = MulHiU<T>(r[i.b], r[i.c]))
      WIDE(Clz, r[i.a] = std::countl_zero(As<UNSIGNED>(r[i.b])))
      WIDE(Ctz, r[i.a] = std::countr_zero(As<UNSIGNED>(r[i.b])))
      WIDE(Popcount, r[i.a] = std::popcount(As<UNSIGNED>(r[i.b])))
      OP(And, r[i.a] = r[i.b] & r[i.c])
      OP(Or, r[i.a] = r[i.b] | r[i.c])
      OP(Xor, r[i.a] = r[i.b] ^ r[i.c])
      OP(MinS, r[i.a] = As<int64_t>(r[i.b]) < As<int64_t>(r[i.c]) ? r[i.b] : r[i.c])
      OP(MaxS, r[i.a] = As<int64_t>(r[i.b]) > As<int64_t>(r[i.c]) ? r[i.b] : r[i.c])
      OP(MinU, r[i.a] = r[i.b] < r[i.c] ? r[i.b] : r[i.c])
      OP(MaxU, r[i.a] = r[i.b] > r[i.c] ? r[i.b] : r[i.c])
      OP(CmpEq, r[i.a] = r[i.b] == r[i.c])
      OP(CmpNe, r[i.a] = r[i.b] != r[i.c])
      OP(CmpLtS, r[i.a] = As<int64_t>(r[i.b]) < As<int64_t>(r[i.c]))
      OP(CmpLeS, r[i.a] = As<int64_t>(r[i.b]) <= As<int64_t>(r[i.c]))
      OP(CmpLtU, r[i.a] = r[i.b] < r[i.c])
      OP(CmpLeU, r[i.a] = r[i.b] <= r[i.c])
      OP(Select, r[i.a] = r[i.b] ? r[i.c] : r[i.imm])
      OP(Sext8, r[i.a] = Extend<int8_t>(static_cast<int8_t>(r[i.b])))
      OP(Sext16, r[i.a] = Extend<int16_t>(static_cast<int16_t>(r[i.b])))
      OP(Sext32, r[i.a] = Extend<int32_t>(static_cast<int32_t>(r[i.b])))
      OP(Zext8, r[i.a] = r[i.b] & 0xff)
      OP(Zext16, r[i.a] = r[i.b] & 0xffff)
      OP(Zext32, r[i.a] = r[i.b] & 0xffffffff)
      OP(Bool, r[i.a] = r[i.b] & 1)
      OP(SextBool, r[i.a] = 0 - (r[i.b] & 1))
      OP(Jump, GOTO(true))
      OP(JumpIf, GOTO(r[i.a]))
      OP(JumpIfNot, GOTO(!r[i.a]))
      OP(JumpEq, GOTO(r[i.a] == r[i.b]))
      OP(JumpNe, GOTO(r[i.a] != r[i.b]))
      OP(JumpLtS, GOTO(As<int64_t>(r[i.a]) < As<int64_t>(r[i.b])))
      OP(JumpGeS, GOTO(As<int64_t>(r[i.a]) >= As<int64_t>(r[i.b])))
      OP(AddF32, r[i.a] = Bits(F32(r[i.b]) + F32(r[i.c])))
      OP(SubF32, r[i.a] = Bits(F32(r[i.b]) - F32(r[i.c])))
      OP(MulF32, r[i.a] = Bits(F32(r[i.b]) * F32(r[i.c])))
      OP(DivF32, r[i.a] = Bits(F32(r[i.b]) / F32(r[i.c])))
      OP(RemF32, r[i.a] = Bits(std::fmod(F32(r[i.b]), F32(r[i.c]))))
      OP(MinF32, r[i.a] = Bits(Minimum(F32(r[i.b]), F32(r[i.c]))))
      OP(MaxF32, r[i.a] = Bits(Maximum(F32(r[i.b]), F32(r[i.c]))))
      OP(MinNumF32, r[i.a] = Bits(MinNum(F32(r[i.b]), F32(r[i.c]))))
      OP(MaxNumF32, r[i.a] = Bits(MaxNum(F32(r[i.b]), F32(r[i.c]))))
      OP(FmaF32, r[i.a] = Bits(std::fma(F32(r[i.b]), F32(r[i.c]), F32(r[i.imm]))))
      OP(AddF64, r[i.a] = Bits(F64(r[i.b]) + F64(r[i.c])))
      OP(SubF64, r[i.a] = Bits(F64(r[i.b]) - F64(r[i.c])))
      OP(MulF64, r[i.a] = Bits(F64(r[i.b]) * F64(r[i.c])))
      OP(DivF64, r[i.a] = Bits(F64(r[i.b]) / F64(r[i.c])))
      OP(RemF64, r[i.a] = Bits(std::fmod(F64(r[i.b]), F64(r[i.c]))))
      OP(MinF64, r[i.a] = Bits(Minimum(F64(r[i.b]), F64(r[i.c]))))
      OP(MaxF64, r[i.a] = Bits(Maximum(F64(r[i.b]), F64(r[i.c]))))
      OP(MinNumF64, r[i.a] = Bits(MinNum(F64(r[i.b]), F64(r[i.c]))))
      OP(MaxNumF64, r[i.a] = Bits(MaxNum(F64(r[i.b]), F64(r[i.c]))))
      OP(FmaF64, r[i.a] = Bits(std::fma(F64(r[i.b]), F64(r[i.c]), F64(r[i.imm]))))
      OP(FunF32, r[i.a] = Bits(static_cast<float>(
                     UnaryFunction(static_cast<sim_isa::Function>(i.imm), F32(r[i.b])))))
      OP(FunF64, r[i.a] = Bits(UnaryFunction(static_cast<sim_isa::Function>(i.imm), F64(r[i.b]))))
    case ScalarOp::kFun2F32: {
      const auto f = static_cast<sim_isa::Function>(i.imm);
      r[i.a] = Bits(static_cast<float>(f == sim_isa::Function::kPowI
                                           ? PowI(F32(r[i.b]), As<int64_t>(r[i.c]))
                                           : BinaryFunction(f, F32(r[i.b]), F32(r[i.c]))));
      break;
    }
    case ScalarOp::kFun2F64: {
      const auto f = static_cast<sim_isa::Function>(i.imm);
      r[i.a] = Bits(f == sim_isa::Function::kPowI ? PowI(F64(r[i.b]), As<int64_t>(r[i.c]))
                                                  : BinaryFunction(f, F64(r[i.b]), F64(r[i.c])));
      break;
    }
      OP(CmpF32, r[i.a] = Compare(static_cast<Predicate>(i.imm), F32(r[i.b]), F32(r[i.c])))
      OP(CmpF64, r[i.a] = Compare(static_cast<Predicate>(i.imm), F64(r[i.b]), F64(r[i.c])))
      OP(F16ToF32, r[i.a] = Bits(HalfToFloat(As<uint16_t>(r[i.b]))))
      OP(Bf16ToF32, r[i.a] = Bits(Bfloat16ToFloat(As<uint16_t>(r[i.b]))))
      OP(F32ToF64, r[i.a] = Bits(static_cast<double>(F32(r[i.b]))))
      OP(F32ToF16, r[i.a] = FloatToHalf(F32(r[i.b])))
      OP(F32ToBf16, r[i.a] = FloatToBfloat16(F32(r[i.b])))
      OP(F64ToF32, r[i.a] = Bits(static_cast<float>(F64(r[i.b]))))
      OP(F64ToF16, r[i.a] = DoubleToHalf(F64(r[i.b])))
      OP(F64ToBf16, r[i.a] = DoubleToBfloat16(F64(r[i.b])))
      OP(IntToF32, r[i.a] = Bits(static_cast<float>(As<int64_t>(r[i.b]))))
      OP(IntToF64, r[i.a] = Bits(static_cast<double>(As<int64_t>(r[i.b]))))
      OP(UintToF32, r[i.a] = Bits(static_cast<float>(r[i.b])))
      OP(UintToF64, r[i.a] = Bits(static_cast<double>(r[i.b])))
      WIDE(F32ToS, r[i.a] = ToInt<T>(F32(r[i.b])))
      WIDE(F32ToU, r[i.a] = ToInt<UNSIGNED>(F32(r[i.b])))
      WIDE(F64ToS, r[i.a] = ToInt<T>(F64(r[i.b])))
      WIDE(F64ToU, r[i.a] = ToInt<UNSIGNED>(F64(r[i.b])))
      WIDE(LoadGm, {
        const uint64_t at = address(T{});
        const DataCache::Line *hit = Hit(at, sizeof(T));
        if (hit) [[likely]] {
          T value;
          std::memcpy(&value, hit->data + at % DataCache::kLineBytes, sizeof(T));
          r[i.a] = Extend<T>(value);
        } else {
          TRY(LoadGm<T>(at, r[i.a]));
        }
      })
      WIDE(StoreGm, {
        const uint64_t at = address(T{});
        DataCache::Line *hit = Hit(at, sizeof(T));
        if (hit) [[likely]] {
          std::memcpy(hit->data + at % DataCache::kLineBytes, &r[i.a], sizeof(T));
          hit->dirty = true;
          hit->writer = i.line;
        } else {
          TRY(StoreGm<T>(at, r[i.a]));
        }
      })
      WIDE(LoadUb, TRY(LoadUb<T>(As<int64_t>(address(T{})), r[i.a])))
      WIDE(StoreUb, TRY(StoreUb<T>(As<int64_t>(address(T{})), r[i.a])))
      OP(BlockIdx, r[i.a] = static_cast<uint64_t>(block_))
      OP(NumBlocks, r[i.a] = static_cast<uint64_t>(num_blocks_))
      OP(Work, {
        const auto cycles = static_cast<int64_t>(r[i.b] + static_cast<uint64_t>(i.imm));
        if (cycles < 0 || cycles > kMostWork) [[unlikely]]
          return faulty(FaultKind::kOperand, "scalar_work takes 0 to 10^15 cycles", i);
        now += i.cycles * static_cast<double>(cycles);
      })
      OP(DcacheFlush, {
        ports_.cache->Flush(*ports_.gm);
        if (ports_.checker)
          ports_.checker->Flush();
        if (ports_.on_flush)
          (*ports_.on_flush)(ports_.first_block + block_);
      })
    }
  }
}

#undef WIDE
#undef OP
#undef UNSIGNED
#undef GOTO
#undef TRY
#undef REQUIRE
#undef FITS
#undef DIVIDE
#undef SHIFT

template ScalarUnit::Stop ScalarUnit::Run<true>();
template ScalarUnit::Stop ScalarUnit::Run<false>();

} // namespace pyasc::sim
