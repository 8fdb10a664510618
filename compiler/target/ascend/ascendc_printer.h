// The state of printing one function as Ascend C; shared by the files ascendc_*.cc.
#ifndef PYASC_COMPILER_TARGET_ASCEND_ASCENDC_PRINTER_H
#define PYASC_COMPILER_TARGET_ASCEND_ASCENDC_PRINTER_H

#include <set>
#include <string>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

#include "compiler/diag/diagnostic.h"
#include "compiler/target/ascend/npu.h"

namespace pyasc::npu {

// Pieces of the prelude that the text needs; see ascendc_prelude.cc.
enum class Piece {
  kBits,       // float from its bits
  kBitCast,    // a number of another type with the same bits
  kMinMax,     // NaN-keeping scalar minimum and maximum
  kFloorDiv,   // integer division rounding down and up
  kToInteger,  // float to integer, saturating
  kScalarMath, // exp, ln, sqrt, rsqrt of one scalar by the vector unit
  kCopyIn,     // bursts from GM
  kCopyOut,    // bursts to GM
  kNd2Nz,      // row-major to fractals
  kLoadL0,     // fractals to L0A and L0B
  kLoadL0Transposed16,
  kLoadL0Transposed32,
  kMmad,
  kFixpipe,
  kRowRepeat, // binary vector operations in repeat form
  kRowReduce,
  kRowBinary,
  kColBinary,
  kTranspose,
  kDeinterleave,
  kBlockReduce,
};

// C++ type of a scalar: "float", "int64_t", "half"; "" when there is none.
std::string cppType(mlir::Type type);

class AscendCPrinter {
public:
  AscendCPrinter(diag::DiagnosticList &diagnostics, std::set<Piece> &pieces)
      : diagnostics(diagnostics), pieces(pieces) {}

  // Appends a line at the present indentation.
  void line(const llvm::Twine &text);
  // Appends a comment with the kernel's line when it changed.
  void position(mlir::Location loc);
  void indent(int by) { depth += by; }

  // The expression that stands for a value: a literal, a name, or an inlined computation.
  std::string use(mlir::Value value);
  // "tensor[offset]", or "tensor" for offset 0.
  std::string at(mlir::Value memory, mlir::Value offset);
  // Makes up a name that is not taken.
  std::string fresh(llvm::StringRef stem);
  // A name that is not taken, for a value.
  void name(mlir::Value value, std::string text);

  void need(Piece piece) { pieces.insert(piece); }

  // Prints every op of a block but its terminator.
  void block(mlir::Block &body);
  void statement(mlir::Operation *op);

  // The op has no form: a diagnostic, and the whole text fails.
  void refuse(mlir::Operation *op, const llvm::Twine &why);

  // Scratch for scalar math: 32 bytes of UB after every buffer; set by the function printer.
  int64_t scratch_address = 0;
  bool failed = false;
  std::string out;

private:
  friend bool printControl(AscendCPrinter &printer, mlir::Operation *op);
  // "" when the op is no pure scalar computation with a form.
  std::string expression(mlir::Operation *op);

  diag::DiagnosticList &diagnostics;
  std::set<Piece> &pieces;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::StringSet<> taken;
  int depth = 1;
  unsigned last_line = 0;
};

// Each returns whether the op was one of its own.
bool printControl(AscendCPrinter &printer, mlir::Operation *op);
bool printInstruction(AscendCPrinter &printer, mlir::Operation *op);

// The expression of a scalar op from arith or math; "" when it has none.
std::string scalarExpression(AscendCPrinter &printer, mlir::Operation *op);
std::string literal(AscendCPrinter &printer, mlir::Attribute value, mlir::Type type);

// Text of the pieces, in an order that compiles.
std::string preludeText(const std::set<Piece> &pieces);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_ASCENDC_PRINTER_H
