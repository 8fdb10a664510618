// Builds one function of a simulator program: registers, constants, jumps, descriptors.
#ifndef PYASC_COMPILER_TARGET_ASCEND_EXPORT_SIM_BUILDER_H
#define PYASC_COMPILER_TARGET_ASCEND_EXPORT_SIM_BUILDER_H

#include <cstdint>
#include <initializer_list>
#include <map>
#include <vector>

#include "compiler/machine/sim_isa.h"
#include "pyasc/v1/artifact.pb.h"

namespace pyasc::npu {

// An integer that is known now, or stands in a register at run time.
struct Quantity {
  Quantity(int64_t value) : constant(true), value(value) {}
  static Quantity Register(int reg) {
    Quantity q(0);
    q.constant = false;
    q.reg = reg;
    return q;
  }
  bool constant;
  int64_t value = 0;
  int reg = -1;
};

class SimBuilder {
public:
  using Op = sim_isa::ScalarOp;

  explicit SimBuilder(int num_arguments) : num_registers_(num_arguments) {}

  // Instructions from here on belong to this packed line.
  void SetLine(uint32_t line) { line_ = line; }

  int NewRegister() { return num_registers_++; }
  // A register that holds `bits` from the function's start.
  int ConstantRegister(int64_t bits);
  int RegisterOf(const Quantity &q) { return q.constant ? ConstantRegister(q.value) : q.reg; }

  void Emit(Op op, int a = 0, int b = 0, int c = 0, int64_t imm = 0);
  // Emits with a fresh register as `a` and returns it.
  int Compute(Op op, int b, int c = 0, int64_t imm = 0);

  // Jumps name labels; a label is bound once.
  int NewLabel();
  void Bind(int label);
  void Jump(int label) { EmitJump(Op::kJump, 0, 0, label); }
  void JumpIf(int condition, int label) { EmitJump(Op::kJumpIf, condition, 0, label); }
  void JumpIfNot(int condition, int label) { EmitJump(Op::kJumpIfNot, condition, 0, label); }
  void JumpLess(const Quantity &a, const Quantity &b, int label) {
    EmitJump(Op::kJumpLtS, RegisterOf(a), RegisterOf(b), label);
  }
  void JumpGreaterEqual(const Quantity &a, const Quantity &b, int label) {
    EmitJump(Op::kJumpGeS, RegisterOf(a), RegisterOf(b), label);
  }

  // Arithmetic on 64-bit integers, done now where both are known.
  Quantity Add(const Quantity &a, const Quantity &b);
  Quantity Subtract(const Quantity &a, const Quantity &b);
  Quantity Scale(const Quantity &a, int64_t by);
  Quantity Min(const Quantity &a, const Quantity &b);
  // a + b * scale.
  Quantity AddScaled(const Quantity &a, const Quantity &b, int64_t scale);
  // REQUIRES, for the two: a is not negative, by is positive.
  Quantity Divide(const Quantity &a, int64_t by);
  Quantity DivideUp(const Quantity &a, int64_t by);
  // a < b ? x : y.
  Quantity SelectLess(const Quantity &a, const Quantity &b, const Quantity &x, const Quantity &y);

  // for (r = 0; r < count; r += step) body(r, min(step, count - r)); nothing is emitted for a
  // count known to be at most one step but the body itself.
  template <typename Body> void ForChunks(const Quantity &count, const Quantity &step, Body body) {
    if (count.constant && step.constant && count.value <= step.value) {
      if (count.value > 0)
        body(Quantity(0), count);
      return;
    }
    const int r = NewRegister();
    Emit(Op::kMove, r, ConstantRegister(0));
    const int loop = NewLabel(), end = NewLabel();
    Bind(loop);
    JumpGreaterEqual(Quantity::Register(r), count, end);
    body(Quantity::Register(r), Min(step, Subtract(count, Quantity::Register(r))));
    Emit(Op::kAdd64, r, r, RegisterOf(step));
    Jump(loop);
    Bind(end);
  }

  // value * scale as a descriptor's field.
  static sim_isa::Field FieldOf(const Quantity &value, int64_t scale = 1);
  // base + offset * scale, all in the field where the hardware's address arithmetic allows.
  sim_isa::Field AddressField(const Quantity &base, const Quantity &offset, int64_t scale);
  // `kind` without its fields.
  void Issue(sim_isa::Descriptor kind, std::initializer_list<sim_isa::Field> fields);
  void Barrier(sim_isa::Pipe pipe);

  // Ends the function and writes code, descriptors, lines and register count. False: it needs
  // more registers than there are.
  bool Finish(v1::SimFunction &function);

private:
  void EmitJump(Op op, int a, int b, int label);

  int num_registers_;
  uint32_t line_ = 0;
  std::map<int64_t, int> constants_;
  std::vector<sim_isa::Instruction> code_;
  std::vector<uint32_t> lines_;
  std::vector<sim_isa::Descriptor> descriptors_;
  // Where each label stands in code_; -1 until it is bound.
  std::vector<int64_t> labels_;
};

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_EXPORT_SIM_BUILDER_H
