// Arithmetic on single elements, as MLIR ops: what `+`, `//`, casts and the library's functions
// mean for each dtype. The same code makes scalar statements and the bodies of linalg.generic.
//
// Nothing here traps or is undefined for any input: integer division by zero gives 0 (callers that
// must report it emit a check first), shifts past the width give what an unbounded shift would.
#ifndef PYASC_COMPILER_SEMA_SCALAR_OPS_H
#define PYASC_COMPILER_SEMA_SCALAR_OPS_H

#include "compiler/sema/value.h"
#include "mlir/IR/Builders.h"

namespace pyasc::sema {

enum class BinaryOp : uint8_t {
  Add,
  Sub,
  Mul,
  TrueDiv, // floats only
  FloorDiv,
  Mod,
  Pow,
  Shl,
  Shr,
  And,
  Or,
  Xor,
  Min,
  Max,
};

enum class CompareOp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge };

class ScalarOps {
public:
  ScalarOps(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}

  mlir::Value Constant(DType t, const sema::Constant &c);
  mlir::Value Int(DType t, int64_t i) { return Constant(t, {.i = i, .f = static_cast<double>(i)}); }
  mlir::Value Float(DType t, double f) { return Constant(t, {.f = f}); }

  // Between value types. Float to integer truncates and saturates, NaN gives 0; anything to bool
  // compares with zero.
  mlir::Value Cast(mlir::Value v, DType from, DType to);
  // Between value types and memory elements (they differ for bool).
  mlir::Value ToMemory(mlir::Value v, DType t);
  mlir::Value FromMemory(mlir::Value v, DType t);

  // Both operands and the result have type `t`.
  mlir::Value Binary(BinaryOp op, mlir::Value x, mlir::Value y, DType t);
  mlir::Value Compare(CompareOp op, mlir::Value x, mlir::Value y, DType t);
  mlir::Value Negate(mlir::Value x, DType t);
  mlir::Value Invert(mlir::Value x, DType t);
  mlir::Value Abs(mlir::Value x, DType t);
  mlir::Value Select(mlir::Value c, mlir::Value x, mlir::Value y);
  mlir::Value And(mlir::Value x, mlir::Value y); // i1
  mlir::Value Or(mlir::Value x, mlir::Value y);  // i1
  mlir::Value Not(mlir::Value x);                // i1
  mlir::Value IsNan(mlir::Value x);

  mlir::OpBuilder &b;
  mlir::Location loc;

private:
  mlir::Value IntFloorDivMod(bool want_div, mlir::Value x, mlir::Value y, DType t);
  mlir::Value FloatFloorDivMod(bool want_div, mlir::Value x, mlir::Value y, DType t);
  mlir::Value IntPow(mlir::Value x, mlir::Value y, DType t);
};

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_SCALAR_OPS_H
