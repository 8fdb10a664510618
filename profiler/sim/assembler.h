// Writes simulator programs by hand, for tests.
#ifndef PYASC_PROFILER_SIM_ASSEMBLER_H
#define PYASC_PROFILER_SIM_ASSEMBLER_H

#include <initializer_list>
#include <string>
#include <vector>

#include "compiler/machine/sim_isa.h"
#include "pyasc/v1/artifact.pb.h"

namespace pyasc::sim {

// value, or register, or value + register * scale.
struct Value {
  Value(int64_t value) : field{.value = value} {}
  static Value Reg(int reg, int32_t scale = 1, int64_t value = 0) {
    Value v(value);
    v.field.reg = static_cast<uint16_t>(reg);
    v.field.scale = scale;
    return v;
  }
  sim_isa::Field field;
};

// What a descriptor has beside its fields.
struct Kind {
  sim_isa::Type type = sim_isa::Type::kF32;
  sim_isa::Type src_type = sim_isa::Type::kF32;
  sim_isa::Space space = sim_isa::Space::kUb;
  int sub = 0;
  int aux = 0;
};

class Assembler {
public:
  Assembler(std::string name, bool cube, int num_arguments)
      : name_(std::move(name)), cube_(cube), num_arguments_(num_arguments),
        num_registers_(num_arguments) {}

  // Further instructions belong to this source line.
  void Line(uint32_t line) { line_ = line; }
  int Register() { return num_registers_++; }
  int Const(int64_t value) {
    int reg = Register();
    Emit(sim_isa::ScalarOp::kConst, reg, 0, 0, value);
    return reg;
  }
  // Returns the instruction's number.
  int Emit(sim_isa::ScalarOp op, int a = 0, int b = 0, int c = 0, int64_t imm = 0) {
    code_.push_back(
        {op, static_cast<uint16_t>(a), static_cast<uint16_t>(b), static_cast<uint16_t>(c), imm});
    lines_.push_back(line_);
    return static_cast<int>(code_.size()) - 1;
  }
  int Here() const { return static_cast<int>(code_.size()); }
  void Patch(int instruction, int64_t imm) { code_[instruction].imm = imm; }

  void Issue(sim_isa::PipeOp op, sim_isa::Pipe pipe, Kind kind,
             std::initializer_list<Value> fields);
  void SetFlag(sim_isa::Pipe from, sim_isa::Pipe to, Value id);
  void WaitFlag(sim_isa::Pipe from, sim_isa::Pipe to, Value id);
  void Barrier(sim_isa::Pipe pipe);
  // for i in 0 .. count-1: body(register of i). `count` is a register.
  template <typename Body> void Loop(int count, Body body) {
    const int i = Const(0);
    const int test = Emit(sim_isa::ScalarOp::kJumpGeS, i, count);
    body(i);
    Emit(sim_isa::ScalarOp::kAddI64, i, i, 0, 1);
    Emit(sim_isa::ScalarOp::kJump, 0, 0, 0, test);
    Patch(test, Here());
  }

  // Adds a halt.
  v1::SimFunction Finish();

private:
  std::string name_;
  bool cube_;
  int num_arguments_;
  int num_registers_;
  uint32_t line_ = 1;
  std::vector<sim_isa::Instruction> code_;
  std::vector<uint32_t> lines_;
  std::vector<sim_isa::Descriptor> descriptors_;
};

// An artifact of one phase over one function whose arguments are tensors, all parameters, of
// `bytes` each. `error` adds the error buffer as last argument.
v1::Artifact MakeArtifact(v1::SimFunction function, std::vector<int64_t> bytes, int64_t blocks,
                          bool error = false);

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_ASSEMBLER_H
