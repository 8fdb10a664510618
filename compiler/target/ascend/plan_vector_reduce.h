// What a reduction computes, apart from its loops: how an element joins a result, in which type
// tiles are folded, and how results leave that type.
#ifndef PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_REDUCE_H
#define PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_REDUCE_H

#include "compiler/target/ascend/plan_vector_shape.h"

namespace pyasc::npu {

struct Reduction {
  // result = op(result, combined), in the generic's body.
  mlir::Operation *op = nullptr;
  mlir::Value combined;
  // What is folded: `combined`, or what it widens.
  mlir::Value element;
  Binary binary = Binary::add;
  // Of the result's element type.
  mlir::TypedAttr neutral;
  // The element type in which tiles are folded: exact for integers.
  mlir::Type work;
  // `combined` is a bool, folded as 0 or 1.
  bool isFlag = false;
  // A 64-bit sum of 32-bit elements: their sum modulo 2^32 and that of their upper halves.
  bool inHalves = false;
  // 64-bit elements, a few: the scalar unit adds them up in UB.
  bool byScalar = false;

  // Set when the unit has an instruction that reduces a row.
  std::optional<Reduce> rowInstruction() const;
};

// Failure with a reason: the generic's body does not reduce, or the unit cannot do it exactly.
// `points`: elements that are combined into one result; `results`: how many of these there are.
mlir::FailureOr<Reduction> findReduction(mlir::linalg::GenericOp generic, int64_t points,
                                         int64_t results, std::string &reason);
mlir::FailureOr<Reduction> findReduction(const VectorNest &nest, std::string &reason);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_PLAN_VECTOR_REDUCE_H
