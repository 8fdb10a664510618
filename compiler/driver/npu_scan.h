// Looks over the text of an npu module before MLIR reads it: what its parser cannot take.
#ifndef PYASC_COMPILER_DRIVER_NPU_SCAN_H
#define PYASC_COMPILER_DRIVER_NPU_SCAN_H

#include <cstdint>
#include <optional>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace pyasc::compiler {

struct TextFault {
  // From 1 on; `end` is past the last column.
  uint32_t line = 0, column = 0, end = 0;
  std::string message;
};

// The first of these faults, if there is one:
// - brackets nested more than 500 deep: the parser and what walks its result recurse;
// - a value that is used before it is defined. No text of structured control flow can mean it, and
//   the parser (MLIR 19) frees the definition first and then reaches for it where an operation uses
//   what a region behind it defines and a later line is wrong.
// Says nothing of other faults: those are for the parser.
std::optional<TextFault> ScanNpuText(llvm::StringRef text);

} // namespace pyasc::compiler

#endif // PYASC_COMPILER_DRIVER_NPU_SCAN_H
