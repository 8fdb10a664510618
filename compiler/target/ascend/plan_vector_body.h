// The body of a generic as instructions on tiles.
#ifndef PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_BODY_H
#define PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_BODY_H

#include <string>

#include "compiler/target/ascend/plan_vector_tile.h"

namespace pyasc::npu {

class TileBody {
public:
  // `body`: the block of a generic.
  TileBody(TileCode &code, mlir::Block &body) : code_(code), body_(body) {}

  // Computes every operation except `skip`, given the block's arguments. What operand i of the
  // terminator needs goes to `into[i]` where it can, if that is not null. An argument that nobody
  // else holds may be overwritten. With `only`, what that value needs is computed, not what the
  // terminator does. On failure reason() says which operation the unit does not have.
  mlir::LogicalResult evaluate(llvm::SmallVector<TileValue> arguments,
                               llvm::ArrayRef<const TileValue *> into,
                               mlir::Operation *skip = nullptr, mlir::Value only = {});
  // The value of an operation of the body, for the next evaluate().
  void know(mlir::Value value, TileValue is) { known_[value] = std::move(is); }
  // Holds what the next evaluate() computes for an operation, so that kept() has it afterwards;
  // null memory there when nothing was computed in UB.
  void keep(mlir::Value value) { kept_[value] = {}; }
  TileValue kept(mlir::Value value) const { return kept_.lookup(value); }
  // A value of the body, or one from outside of it (uniform).
  mlir::FailureOr<TileValue> value(mlir::Value value);
  // The same, for the last time: nobody but the caller holds a value of the body afterwards.
  mlir::FailureOr<TileValue> take(mlir::Value value);
  // `value` with the element type's storage in memory, all over `kind`.
  mlir::FailureOr<TileValue> stored(const TileValue &value, TileKind kind, const TileValue *into);
  // `value` as an element type that holds all its values; failure when there is no such conversion.
  mlir::FailureOr<TileValue> converted(TileValue value, mlir::Type to, bool isUnsigned);
  // As operands of arithmetic: bf16 widened to f32.
  TileValue widened(const TileValue &value);
  const std::string &reason() const { return reason_; }

private:
  mlir::FailureOr<TileValue> compute(mlir::Operation *op, const TileValue *into);
  mlir::FailureOr<TileValue> computeFloat(mlir::Operation *op, const TileValue *into);
  mlir::FailureOr<TileValue> computeInteger(mlir::Operation *op, const TileValue *into);
  mlir::FailureOr<TileValue> computeCast(mlir::Operation *op, const TileValue *into);
  mlir::FailureOr<TileValue> computeCompare(mlir::Operation *op);
  mlir::FailureOr<TileValue> computeMask(mlir::Operation *op);
  mlir::FailureOr<TileValue> computeSelect(mlir::Operation *op, const TileValue *into);
  mlir::FailureOr<TileValue> fromMask(const TileValue &mask, mlir::Type type, double one,
                                      const TileValue *into);
  mlir::FailureOr<TileValue> halfFromByte(const TileValue &value, bool isUnsigned);
  TileValue toType(const TileValue &float32, mlir::Type type, const TileValue *into);
  mlir::FailureOr<TileValue> operand(mlir::Operation *op, unsigned number) {
    return value(op->getOperand(number));
  }
  mlir::LogicalResult refuse(mlir::Operation *op, llvm::StringRef why = "");

  // An operand of `op` that is used for the last time and whose place the result can take.
  std::optional<TileValue> placeOf(mlir::Operation &op, llvm::DenseMap<mlir::Value, int> &left);
  // Results of tanh or erf that hold one more, since nothing else is wanted.
  bool isIncremented(mlir::Operation *sigmoid);
  // The product c * q * (1 + tanh(u)) that is all the tanh is wanted for: it becomes a quotient,
  // 2 c q / (1 + exp(-2 u)). So does that of erf. Null: there is none.
  mlir::Operation *quotientOf(mlir::Operation *sigmoid);
  // The number by which the one user of a product with a constant wants it multiplied; 1: it is
  // wanted as it is.
  double scaleOf(mlir::Operation *product);

  TileCode &code_;
  mlir::Block &body_;
  llvm::DenseMap<mlir::Value, TileValue> values_, known_, kept_;
  llvm::DenseSet<mlir::Value> tiles_; // of the body, those that are not uniform
  std::string reason_;
};

// Functions that the unit has no instruction for, on f32 tiles. Null memory and no scalar: it is
// not known. Errors are a few units in the last place.
mlir::FailureOr<TileValue> emitMathFunction(TileCode &code, mlir::Operation *op, const TileValue &x,
                                            const TileValue *into);
// 1 + tanh(x) of an f32 tile, or only 2 / (1 + tanh(x)), given -2 x.
TileValue emitOnePlusTanh(TileCode &code, const TileValue &minusTwoX, bool reciprocal);
// The same of erf, from kErfScale times its argument.
inline constexpr double kErfScale = -0.31635614878489327;
TileValue emitOnePlusErf(TileCode &code, TileValue scaled, bool reciprocal);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_BODY_H
