// A contraction generic in the terms that the cube needs: one m, n and k, and loops around them.
#ifndef PYASC_COMPILER_TARGET_ASCEND_CONTRACTION_H
#define PYASC_COMPILER_TARGET_ASCEND_CONTRACTION_H

#include <array>
#include <optional>

#include "compiler/target/ascend/plan.h"

namespace pyasc::npu {

// One loop dimension and its stride in elements in each operand (0: the operand lacks it).
struct ContractionDim {
  int64_t size = 1;
  std::array<int64_t, 3> strides = {0, 0, 0};
};

struct Contraction {
  // Indices of operands in `views` and in ContractionDim::strides.
  enum Operand { A = 0, B = 1, C = 2 };

  mlir::linalg::GenericOp op;
  std::array<MemRefView, 3> views;
  ContractionDim m, n, k;
  // Parallel dimensions beside m and n, and reduction dimensions beside k.
  llvm::SmallVector<ContractionDim> batch, outerK;

  // Where k walks densely through one operand and not through the other one, `gathered` (a filter's
  // places and channels, and the image they see): there step i of k lies at
  // i / tapCount() * k.strides[gathered] plus the place of i % tapCount() in `taps`, and rows run
  // along m (n). Strides of `taps` in the dense operand are not used.
  int gathered = -1;
  llvm::SmallVector<ContractionDim> taps;

  // A matrix in GM whose rows run along k rather than along m (n).
  bool transposeA = false, transposeB = false;
  // Neither way is contiguous: the operand has to be packed first, see packOperand.
  bool packA = false, packB = false;

  bool isEmpty() const;
  int64_t batches() const;
  int64_t outerKs() const;
  int64_t tapCount() const;
};

// The body is out + a * b on floats, with extensions to f32 on 16-bit inputs.
bool isContraction(mlir::linalg::GenericOp op);

// "contraction 1024x1024x64 f16", for the report.
std::string describeContraction(const Contraction &contraction);

// Whether a generic only rounds its input to 16 bits, element by element in the same order.
bool isRounding(mlir::linalg::GenericOp op);

// Brings a contraction into this form: unit dimensions dropped, dimensions merged where the
// strides allow it, A and B (m and n) swapped so that C's rows are contiguous. Failure with the
// reason when the cube's loads or stores cannot express the operands, or when a loop is none of m,
// n, k and batch. REQUIRES: isContraction(op).
// `together`: the contractions that a run of taps adds (see tapsOf), as further reductions.
mlir::FailureOr<Contraction> analyseContraction(Planner &planner, mlir::linalg::GenericOp op,
                                                std::string &reason,
                                                llvm::ArrayRef<ContractionDim> together = {});

// How many of the steps, from the first on, add to the same result the same products of operands
// that lie regularly apart, as the statements of a stencil do: one contraction then, with `dims` as
// reductions beside the first step's. At least 1. REQUIRES: the first is a contraction.
size_t tapsOf(Planner &planner, llvm::ArrayRef<mlir::Operation *> steps,
              llvm::SmallVectorImpl<ContractionDim> &dims);

// A phase that copies an operand, element by element, to memory where its rows run along k; the
// contraction then reads that.
mlir::LogicalResult packOperand(Planner &planner, Contraction &contraction, int operand);

// Where a product goes whose rows of n are parts of longer ones, as an image's in a convolution:
// all of the longer rows are one n then, and what lies between the parts is left out afterwards.
struct FlatRows {
  Contraction contraction; // with the long n; C is a temporary
  MemRefView from;         // its C
  int64_t rows = 0, columns = 0, pitch = 0;
  int64_t rowStride = 0;                   // of the result
  llvm::SmallVector<ContractionDim> outer; // strides: [0] of the temporary, [2] of the result
};
// Nothing when the result has no such rows, or too much would lie between them.
std::optional<FlatRows> flattenRows(Planner &planner, const Contraction &contraction,
                                    const MemRefView &destination);
// The phase that copies the parts to where they belong.
mlir::LogicalResult copyParts(Planner &planner, const FlatRows &flat,
                              const MemRefView &destination);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_CONTRACTION_H
