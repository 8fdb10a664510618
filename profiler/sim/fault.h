// How the simulator reports that a program did something illegal.
#ifndef PYASC_PROFILER_SIM_FAULT_H
#define PYASC_PROFILER_SIM_FAULT_H

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "compiler/machine/sim_isa.h"
#include "profiler/sim/text.h"

namespace pyasc::sim {

// What kind of illegal act; the sanitizer's findings are called so.
enum class FaultKind : uint8_t {
  kOutOfBounds,
  kMisaligned,
  kOperand,
  kOverlap,
  kDoubleSet,
  kNotWaited,
  kNotSet,
  kCrossed,
  kDeadlock,
  kUnflushed,
  kLimit,
  kNoPartner,
  kCrossCount,
  kArithmetic,
};
constexpr std::string_view KindName(FaultKind kind) {
  constexpr std::string_view kNames[] = {
      "out-of-bounds",        "misaligned-address",  "operand-out-of-range",
      "overlapping-operands", "double-set",          "flag-not-waited",
      "flag-not-set",         "crossed-flag",        "flag-deadlock",
      "missing-cache-flush",  "instruction-limit",   "cross-flag-without-partner",
      "cross-flag-overflow",  "undefined-arithmetic"};
  return kNames[static_cast<int>(kind)];
}
// The way out, in one sentence.
constexpr std::string_view AdviceOf(FaultKind kind) {
  switch (kind) {
  case FaultKind::kOutOfBounds:
    return "stay within the buffer: check the offset, and count, length and stride of the last run";
  case FaultKind::kMisaligned:
    return "move the operand to an address of that alignment";
  case FaultKind::kOperand:
    return "split the work into instructions whose fields are in range";
  case FaultKind::kOverlap:
    return "write in place, or to bytes that the sources do not touch";
  case FaultKind::kDoubleSet:
    return "let the pipe that sets the flag wait, by a flag the other way, until it was waited for";
  case FaultKind::kNotWaited:
    return "wait for the flag as often as it is set, or leave the last set out";
  case FaultKind::kNotSet:
    return "set the flag on the other pipe before, or leave the wait out";
  case FaultKind::kCrossed:
    return "make set and wait agree on both pipes and the event id";
  case FaultKind::kDeadlock:
    return "set one of these flags before the wait that keeps its pipe from setting it";
  case FaultKind::kUnflushed:
    return "flush the data cache (npu.dcache_flush) after the last scalar store";
  case FaultKind::kLimit:
    return "check the loop's condition, or allow more instructions";
  case FaultKind::kNoPartner:
    return "launch cube and vector cores as one npu.group, with two vector blocks for each cube "
           "block";
  case FaultKind::kCrossCount:
    return "let the core that sets the flag wait for one the other way before it is too far ahead";
  case FaultKind::kArithmetic:
    return "test the operand before";
  }
  return "";
}

// INTERNAL: "line 12: <what>"; a file other than the first is named by its index.
inline absl::Status FaultAt(uint32_t packed_line, std::string_view what) {
  const uint32_t file = sim_isa::FileOf(packed_line), line = sim_isa::LineOf(packed_line);
  if (line == 0)
    return absl::InternalError(std::string(what));
  return absl::InternalError(file == 0 ? Cat("line ", line, ": ", what)
                                       : Cat("file ", file, " line ", line, ": ", what));
}

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_FAULT_H
