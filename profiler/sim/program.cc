#include "profiler/sim/program.h"

#include "profiler/sim/text.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;

// A program made by a compiler is far below these; a damaged one must not exhaust memory.
constexpr size_t kMaxInstructions = size_t{1} << 24;

absl::Status Bad(const Function &f, size_t at, std::string_view what) {
  return absl::InvalidArgumentError(
      Cat("simulator program: function '", f.name, "', instruction ", at, ": ", what));
}

bool IsFloat(Type type) {
  return type == Type::kF16 || type == Type::kBF16 || type == Type::kF32 || type == Type::kF64;
}

// The registers that an instruction reads and the one that it writes (-1: none).
struct Uses {
  int reads[3] = {-1, -1, -1};
  int write = -1;
};

Uses UsesOf(const Instruction &i) {
  if (i.op == ScalarOp::kWork) // gives nothing
    return {{i.b, -1, -1}, -1};
  const int third = i.imm >= 0 && i.imm < kMaxRegisters ? static_cast<int>(i.imm) : kNoRegister;
  switch (InfoOf(i.op).form) {
  case Form::kNone:
  case Form::kJump:
  case Form::kIssue:
    return {};
  case Form::kA:
  case Form::kAI:
    return {{-1, -1, -1}, i.a};
  case Form::kAB:
  case Form::kABI:
    return {{i.b, -1, -1}, i.a};
  case Form::kABC:
  case Form::kABCI:
    return {{i.b, i.c, -1}, i.a};
  case Form::kABCD:
    return {{i.b, i.c, third}, i.a};
  case Form::kJumpA:
    return {{i.a, -1, -1}, -1};
  case Form::kJumpAB:
    return {{i.a, i.b, -1}, -1};
  case Form::kLoad:
    return {{i.b, i.c == kNoRegister ? -1 : i.c, -1}, i.a};
  case Form::kStore:
    return {{i.a, i.b, i.c == kNoRegister ? -1 : i.c}, -1};
  }
  return {};
}

bool IsJump(Form form) {
  return form == Form::kJump || form == Form::kJumpA || form == Form::kJumpAB;
}

// The pipe that executes an op; kAll: any.
Pipe PipeOf(PipeOp op) {
  switch (op) {
  case PipeOp::kSetFlag:
  case PipeOp::kWaitFlag:
  case PipeOp::kBarrier:
  case PipeOp::kCrossSet:
  case PipeOp::kCrossWait:
    return Pipe::kAll;
  case PipeOp::kLoad:
  case PipeOp::kLoadNd2Nz:
    return Pipe::kMte2;
  case PipeOp::kStore:
    return Pipe::kMte3;
  case PipeOp::kLoadL0:
    return Pipe::kMte1;
  case PipeOp::kMmad:
    return Pipe::kM;
  case PipeOp::kFixpipe:
    return Pipe::kFix;
  default:
    return Pipe::kV;
  }
}

bool OnCore(Pipe pipe, bool cube) {
  switch (pipe) {
  case Pipe::kV:
  case Pipe::kMte3:
    return !cube;
  case Pipe::kM:
  case Pipe::kMte1:
  case Pipe::kFix:
    return cube;
  default:
    return true;
  }
}

// nullptr, or what is wrong.
const char *CheckDescriptor(const Descriptor &d, bool cube) {
  const Type t = d.type, s = d.src_type;
  const bool small_int = t == Type::kI16 || t == Type::kI32;
  const bool arithmetic = small_int || t == Type::kF16 || t == Type::kF32;
  const bool floating = t == Type::kF16 || t == Type::kF32;
  if (PipeOf(d.op) != Pipe::kAll && d.pipe != PipeOf(d.op))
    return "wrong pipe";
  if (!OnCore(d.pipe, cube))
    return "this kind of core has no such pipe";
  switch (d.op) {
  case PipeOp::kSetFlag:
  case PipeOp::kWaitFlag:
    if (d.sub >= kNumPipes || d.aux >= kNumPipes || d.sub == d.aux)
      return "a flag needs two different pipes";
    if (!OnCore(static_cast<Pipe>(d.sub), cube) || !OnCore(static_cast<Pipe>(d.aux), cube))
      return "this kind of core has no such pipe";
    return static_cast<uint8_t>(d.pipe) == (d.op == PipeOp::kSetFlag ? d.sub : d.aux)
               ? nullptr
               : "the flag's pipe is not the one that executes it";
  case PipeOp::kBarrier:
    return nullptr;
  case PipeOp::kCrossSet:
    if (d.sub > static_cast<int>(CrossMode::kGroup))
      return "unknown mode";
    if (d.sub == static_cast<int>(CrossMode::kPair) && cube)
      return "mode 1 is between vector cores";
    [[fallthrough]];
  case PipeOp::kCrossWait:
    return d.pipe == Pipe::kAll ? "a flag needs one pipe" : nullptr;
  case PipeOp::kLoad:
    return d.space == (cube ? Space::kL1 : Space::kUb) ? nullptr : "wrong memory";
  case PipeOp::kLoadNd2Nz:
    if (TypeBytes(t) == 8)
      return "no elements of 8 bytes";
    return cube ? nullptr : "ND to NZ needs a cube core";
  case PipeOp::kStore:
    if (d.sub > static_cast<int>(Atomic::kMin))
      return "unknown atomic";
    return d.sub != 0 && (TypeBytes(t) == 8 || t == Type::kU16 || t == Type::kU32)
               ? "no atomic of this type"
               : nullptr;
  case PipeOp::kLoadL0:
    if (d.space != Space::kL0A && d.space != Space::kL0B)
      return "wrong memory";
    if (TypeBytes(t) == 8 || (d.sub != 0 && TypeBytes(t) == 1) || d.sub > 1)
      return "no such load";
    return nullptr;
  case PipeOp::kMmad:
    if (t == Type::kI8)
      return s == Type::kI32 ? nullptr : "i8 accumulates in i32";
    if (t != Type::kF16 && t != Type::kBF16 && t != Type::kF32)
      return "no such operand type";
    return s == Type::kF32 ? nullptr : "floats accumulate in f32";
  case PipeOp::kFixpipe:
    if (d.sub > static_cast<int>(Atomic::kAdd) || d.aux > 3)
      return "no such fixpipe";
    if (s == Type::kI32)
      return t == Type::kI32 ? nullptr : "i32 stays i32";
    return s == Type::kF32 && (t == Type::kF32 || t == Type::kF16 || t == Type::kBF16)
               ? nullptr
               : "no such conversion";
  case PipeOp::kVBinary: {
    if (d.sub > static_cast<int>(Binary::kOr))
      return "unknown operation";
    const auto op = static_cast<Binary>(d.sub);
    if (op == Binary::kAnd || op == Binary::kOr)
      return IsFloat(t) || TypeBytes(t) == 8 ? "and, or need integers" : nullptr;
    if (op == Binary::kDiv)
      return floating ? nullptr : "div needs f16 or f32";
    return arithmetic ? nullptr : "no such type";
  }
  case PipeOp::kVUnary: {
    if (d.sub > static_cast<int>(Unary::kCopy))
      return "unknown operation";
    const auto op = static_cast<Unary>(d.sub);
    if (op == Unary::kCopy)
      return TypeBytes(t) == 2 || TypeBytes(t) == 4 ? nullptr : "elements of 2 or 4 bytes only";
    if (op == Unary::kNot)
      return IsFloat(t) || TypeBytes(t) == 8 ? "not needs integers" : nullptr;
    if (op == Unary::kRelu || op == Unary::kNeg)
      return arithmetic ? nullptr : "no such type";
    return floating ? nullptr : "needs f16 or f32";
  }
  case PipeOp::kVScalar:
    return d.sub <= static_cast<int>(Scalar::kMins) && arithmetic ? nullptr : "no such operation";
  case PipeOp::kVDup:
    return TypeBytes(t) == 2 || TypeBytes(t) == 4 ? nullptr : "elements of 2 or 4 bytes only";
  case PipeOp::kVCast:
    return d.sub <= static_cast<int>(Rounding::kRound) && t != Type::kF64 && s != Type::kF64
               ? nullptr
               : "no such conversion";
  case PipeOp::kVCompare:
  case PipeOp::kVCompareS:
    return d.sub <= static_cast<int>(Compare::kNe) && arithmetic ? nullptr : "no such comparison";
  case PipeOp::kVSelect:
    return TypeBytes(t) == 2 || TypeBytes(t) == 4 ? nullptr : "elements of 2 or 4 bytes only";
  case PipeOp::kVReduce:
  case PipeOp::kVReduceRepeat:
    return d.sub <= static_cast<int>(Reduce::kMin) && floating ? nullptr : "no such reduction";
  case PipeOp::kVReduceBlock:
    return d.sub <= static_cast<int>(Reduce::kMin) && t == Type::kF32 ? nullptr
                                                                      : "no such reduction";
  case PipeOp::kVBroadcast:
  case PipeOp::kVTranspose:
  case PipeOp::kVDeinterleave:
    return TypeBytes(t) == 2 || TypeBytes(t) == 4 ? nullptr : "elements of 2 or 4 bytes only";
  }
  return "unknown operation";
}

absl::Status CheckCode(const Function &f) {
  if (f.code.empty())
    return Bad(f, 0, "no code");
  const ScalarOp last = f.code.back().op;
  if (last != ScalarOp::kHalt && last != ScalarOp::kJump)
    return Bad(f, f.code.size() - 1, "control runs past the end");
  for (size_t at = 0; at < f.code.size(); ++at) {
    const Instruction &i = f.code[at];
    const Form form = InfoOf(i.op).form;
    const Uses uses = UsesOf(i);
    for (int reg : {uses.reads[0], uses.reads[1], uses.reads[2], uses.write})
      if (reg >= f.num_registers)
        return Bad(f, at, "register out of range");
    if (IsJump(form) && (i.imm < 0 || i.imm >= static_cast<int64_t>(f.code.size())))
      return Bad(f, at, "jump out of range");
    if (form == Form::kIssue && (i.imm < 0 || i.imm >= static_cast<int64_t>(f.descriptors.size())))
      return Bad(f, at, "descriptor out of range");
    const bool unary = i.op == ScalarOp::kFunF32 || i.op == ScalarOp::kFunF64;
    const bool binary = i.op == ScalarOp::kFun2F32 || i.op == ScalarOp::kFun2F64;
    if ((unary && (i.imm < 0 || i.imm >= kNumUnaryFunctions)) ||
        (binary && (i.imm < kNumUnaryFunctions || i.imm >= kNumFunctions)))
      return Bad(f, at, "unknown function");
    if ((i.op == ScalarOp::kCmpF32 || i.op == ScalarOp::kCmpF64) &&
        (i.imm < 0 || i.imm >= kNumPredicates))
      return Bad(f, at, "unknown predicate");
    if (f.cube && i.op >= ScalarOp::kLoadUb8 && i.op <= ScalarOp::kStoreUb64)
      return Bad(f, at, "a cube core has no UB");
  }
  return absl::OkStatus();
}

// The first instruction that data decide about, or -1. Flow-insensitive: a register that is
// anywhere computed from a loaded value counts as data.
int64_t FindDataDependence(const Function &f) {
  std::vector<bool> data(f.num_registers, false);
  auto any = [&](const Uses &uses) {
    for (int reg : uses.reads)
      if (reg >= 0 && data[reg])
        return true;
    return false;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction &i : f.code) {
      const Uses uses = UsesOf(i);
      if (uses.write < 0 || data[uses.write])
        continue;
      if (InfoOf(i.op).form == Form::kLoad || any(uses))
        data[uses.write] = changed = true;
    }
  }
  for (size_t at = 0; at < f.code.size(); ++at) {
    const Instruction &i = f.code[at];
    const Form form = InfoOf(i.op).form;
    const auto here = static_cast<int64_t>(at);
    if (IsJump(form) && any(UsesOf(i)))
      return here;
    if ((form == Form::kLoad || form == Form::kStore) &&
        (data[i.b] || (i.c != kNoRegister && data[i.c])))
      return here;
    if (i.op == ScalarOp::kWork && data[i.b])
      return here;
    if (form != Form::kIssue)
      continue;
    const Descriptor &d = f.descriptors[i.imm];
    for (size_t n = 0; n < d.fields.size(); ++n) {
      // A scalar operand is data and changes no time.
      const bool scalar_operand = (d.op == PipeOp::kVScalar && n == 2) ||
                                  (d.op == PipeOp::kVDup && n == 1) ||
                                  (d.op == PipeOp::kVCompareS && n == 2);
      if (!scalar_operand && d.fields[n].reg != kNoRegister && data[d.fields[n].reg])
        return here;
    }
  }
  return -1;
}

absl::StatusOr<Function> LoadFunction(const v1::SimFunction &from) {
  Function f;
  f.name = from.name();
  if (from.core() != v1::CORE_KIND_AIC && from.core() != v1::CORE_KIND_AIV)
    return Bad(f, 0, "unknown kind of core");
  f.cube = from.core() == v1::CORE_KIND_AIC;
  if (from.num_registers() > kMaxRegisters || from.num_arguments() > from.num_registers())
    return Bad(f, 0, "too many registers or arguments");
  f.num_registers = static_cast<int>(from.num_registers());
  f.num_arguments = static_cast<int>(from.num_arguments());
  if (from.code().size() / kInstructionBytes > kMaxInstructions)
    return Bad(f, 0, "too long");
  if (!DecodeInstructions(from.code(), f.code))
    return Bad(f, 0, "malformed code");
  if (!DecodeDescriptors(from.descriptors(), f.descriptors))
    return Bad(f, 0, "malformed descriptors");
  if (from.lines_size() != static_cast<int>(f.code.size()))
    return Bad(f, 0, "the line table does not fit the code");
  f.lines.assign(from.lines().begin(), from.lines().end());
  if (absl::Status s = CheckCode(f); !s.ok())
    return s;
  for (size_t n = 0; n < f.descriptors.size(); ++n) {
    const Descriptor &d = f.descriptors[n];
    for (const Field &field : d.fields)
      if (field.reg != kNoRegister && field.reg >= f.num_registers)
        return Bad(f, n, "descriptor's register out of range");
    if (const char *wrong = CheckDescriptor(d, f.cube))
      return Bad(f, n, Cat("descriptor ", n, " (", PipeOpName(d.op), "): ", wrong));
  }
  f.line = from.line();
  if (const int64_t at = FindDataDependence(f); at >= 0) {
    f.data_dependent = true;
    f.data_dependent_line = f.lines[at];
  }
  f.buffers.assign(from.buffers().begin(), from.buffers().end());
  return f;
}

} // namespace

const Function *Program::Find(std::string_view name) const {
  for (const Function &f : functions)
    if (f.name == name)
      return &f;
  return nullptr;
}

absl::StatusOr<Program> LoadProgram(const v1::SimProgram &from) {
  if (from.isa_version() != kSimIsaVersion)
    return absl::InvalidArgumentError(Cat("simulator program of version ", from.isa_version(),
                                          "; this build reads ", kSimIsaVersion));
  Program program;
  for (const v1::SimFunction &f : from.functions()) {
    if (program.Find(f.name()))
      return absl::InvalidArgumentError(Cat("simulator program: two functions '", f.name(), "'"));
    absl::StatusOr<Function> loaded = LoadFunction(f);
    if (!loaded.ok())
      return loaded.status();
    program.functions.push_back(*std::move(loaded));
  }
  return program;
}

} // namespace pyasc::sim
