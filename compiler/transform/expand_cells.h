// Gives a cell that is set anew in each iteration of the loops around it one element an iteration,
// so that those loops no longer depend on each other through it.
#ifndef PYASC_COMPILER_TRANSFORM_EXPAND_CELLS_H
#define PYASC_COMPILER_TRANSFORM_EXPAND_CELLS_H

#include "compiler/transform/nest.h"

namespace pyasc {

struct Expansion {
  mlir::Value cell;
  mlir::Value buffer; // a memref.alloc before the nest's root
};

// Expands every cell of the nest that is stored first in some block of its loops, before anything
// else in that block reads it, and is used nowhere else. The buffer is indexed like a store that
// the cell feeds, where that tells the iterations apart, else by iteration counts. Cells whose
// buffer would be large out of proportion stay. The nest has to be analysed anew afterwards.
// Uses inside `twin`, a copy of the root that it is to replace, do not count.
std::vector<Expansion> expandCells(Nest &nest, mlir::Operation *twin, ProofCache &cache);

// Undoes one expansion.
void contractCell(const Expansion &expansion);

} // namespace pyasc

#endif // PYASC_COMPILER_TRANSFORM_EXPAND_CELLS_H
