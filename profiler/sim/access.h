// What one pipe instruction touches: the basis of bounds checks, of the race checker and of
// transfer costs. The units' data effects stay inside what is listed here.
#ifndef PYASC_PROFILER_SIM_ACCESS_H
#define PYASC_PROFILER_SIM_ACCESS_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/machine/sim_isa.h"
#include "profiler/sim/fault.h"

namespace pyasc::sim {

// A pipe instruction with its fields' values, as the scalar unit issued it.
struct Operation {
  const sim_isa::Descriptor *descriptor = nullptr;
  uint32_t line = 0;
  // Of the line, among those of the code.
  uint32_t line_slot = 0;
  int64_t v[sim_isa::kMaxFields] = {};
};

// `count` runs of `length` bytes, `stride` bytes from start to start.
struct Access {
  sim_isa::Space space = sim_isa::Space::kUb;
  bool write = false;
  int64_t start = 0;
  int64_t length = 0;
  int64_t count = 1;
  int64_t stride = 0;

  int64_t bytes() const { return length * count; }
  // One past the last byte. REQUIRES: not empty.
  int64_t end() const { return start + stride * (count - 1) + length; }
};

// A value that the hardware does not take.
struct Violation {
  FaultKind kind = FaultKind::kOperand;
  std::string what; // "": none

  bool empty() const { return what.empty(); }
};

// Fills `accesses` (empty runs are left out), or says which field has a wrong value. Field numbers
// are those of sim_isa::PipeOp.
Violation AccessesOf(const Operation &operation, std::vector<Access> &accesses);

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_ACCESS_H
