// A checked simulator program: what a damaged or wrong v1.SimProgram cannot become.
#ifndef PYASC_PROFILER_SIM_PROGRAM_H
#define PYASC_PROFILER_SIM_PROGRAM_H

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/machine/sim_isa.h"
#include "pyasc/v1/artifact.pb.h"

namespace pyasc::sim {

// Every register, jump and descriptor number is in range, control never runs past the end, every
// descriptor has the pipe, types and sub-operation that its op allows.
struct Function {
  std::string name;
  bool cube = false; // runs on a cube core, else on a vector core
  int num_registers = 0;
  int num_arguments = 0;
  std::vector<sim_isa::Instruction> code;
  std::vector<sim_isa::Descriptor> descriptors;
  // One an instruction.
  std::vector<uint32_t> lines;
  // Whether what is computed decides what is done: a value loaded from memory reaches a branch,
  // an address or a descriptor. Such a function cannot run without data.
  bool data_dependent = false;
  // Of the first place where it does; and of the function itself. 0: not known.
  uint32_t data_dependent_line = 0;
  uint32_t line = 0;
  // For messages.
  std::vector<v1::SimBuffer> buffers = {};
};

struct Program {
  std::vector<Function> functions;
  const Function *Find(std::string_view name) const;
};

// INVALID_ARGUMENT says what is wrong with the program.
absl::StatusOr<Program> LoadProgram(const v1::SimProgram &program);

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_PROGRAM_H
