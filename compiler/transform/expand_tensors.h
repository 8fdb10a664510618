// Writes the tensor operations of a loop as loops over their elements, so that what they compute
// in all iterations can be raised as one operation over all of them.
#ifndef PYASC_COMPILER_TRANSFORM_EXPAND_TENSORS_H
#define PYASC_COMPILER_TRANSFORM_EXPAND_TENSORS_H

#include <string>

#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace pyasc {

// A unit attribute on the loops that stand for an operation; nothing else knows it.
inline constexpr llvm::StringLiteral kElementLoop = "asc.element_loop";

// Whether tensor operations stand inside of `loop`.
bool hasTensorOperations(mlir::affine::AffineForOp loop);

// In place, without changing what `loop` computes:
//  - each linalg.generic becomes affine loops around loads, its body and a store; views are folded
//    into the indices;
//  - a temporary of which every iteration of some loops has its own (it is allocated there, or
//    overwritten as a whole before anything reads it, and used nowhere else) is replaced by one
//    before the loop, in which each iteration has its part. A temporary that holds rows of a block,
//    of which iteration i touches rows T * i + t of other tensors, is indexed so too. Of more than
//    the outermost `numOwners` loops, iterations have none of their own.
// Uses inside `twin`, a copy of `loop` that it is to replace, do not count. The new temporaries are
// added to `temporaries`. False, and why, when something is not understood or there is too much of
// it; the loop is to be thrown away then, and so are the temporaries.
bool expandTensors(mlir::affine::AffineForOp loop, mlir::Operation *twin, unsigned numOwners,
                   llvm::SmallVectorImpl<mlir::Operation *> &temporaries, std::string &reason);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_EXPAND_TENSORS_H
