// What the pipes' instructions do to data. One call does the whole of one instruction.
//
// REQUIRES, for all: AccessesOf accepted the operation, and every access lies in its memory.
#ifndef PYASC_PROFILER_SIM_UNITS_H
#define PYASC_PROFILER_SIM_UNITS_H

#include "profiler/sim/access.h"
#include "profiler/sim/memory.h"

namespace pyasc::sim {

void ExecuteVector(const Operation &operation, CoreMemory &core);
// mmad and load_l0.
void ExecuteCube(const Operation &operation, CoreMemory &core);
// load, load_nd2nz, store and fixpipe.
void ExecuteTransfer(const Operation &operation, CoreMemory &core, GlobalMemory &gm);

// Whichever of the three it is.
void Execute(const Operation &operation, CoreMemory &core, GlobalMemory &gm);

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_UNITS_H
