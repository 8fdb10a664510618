// What asc.print does to the print log, in plain ops: both ways out of the compiler use it.
#ifndef PYASC_COMPILER_IR_EXPAND_PRINT_H
#define PYASC_COMPILER_IR_EXPAND_PRINT_H

#include <functional>

#include "compiler/ir/asc_dialect.h"
#include "mlir/IR/Builders.h"

namespace pyasc::ir {

// Words of one block's print log; see PrintEntry in proto/pyasc/v1/artifact.proto for its layout.
inline constexpr int64_t kPrintLogWords = 1 << 17;

// Makes, at the builder's place, what writes a record of `print` to `log` (memref of int64) unless
// the log is full or `errors` (the error buffer; may be null) holds an error. The one op that is
// made has regions; it uses the print's operands. `publish(words)` is called to store the log's
// new size into word 0 after the record.
mlir::Operation *ExpandPrint(mlir::OpBuilder &builder, PrintOp print, mlir::Value log,
                             mlir::Value errors,
                             const std::function<void(mlir::Value words)> &publish);

// The argument of the kernel that has the unit attribute `attribute`, or null.
mlir::Value FindArgument(mlir::Operation *in, llvm::StringRef attribute);

} // namespace pyasc::ir

#endif // PYASC_COMPILER_IR_EXPAND_PRINT_H
