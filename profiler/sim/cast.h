// Conversion between element types, as the vector unit's Cast does it.
#ifndef PYASC_PROFILER_SIM_CAST_H
#define PYASC_PROFILER_SIM_CAST_H

#include <cstddef>
#include <cstdint>

#include "compiler/machine/sim_isa.h"

namespace pyasc::sim {

// Converts n contiguous elements; `from` and `to` do not overlap. f32 to f32 rounds to a whole
// number by the mode. Other float to float rounds by the mode (kNone: to nearest even). Float to
// integer rounds to an integer by the mode, then takes the nearest value of the type; NaN gives 0.
// Integer to float rounds to nearest even. Integer to integer keeps the low bits. kRint is to
// nearest even, kRound to nearest, ties away from 0.
void CastElements(sim_isa::Type from_type, sim_isa::Type to_type, sim_isa::Rounding rounding,
                  const std::byte *from, std::byte *to, int64_t n);

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_CAST_H
