// The conversions of half.h for many numbers at a time, with the host's instructions where it has
// them; bit for bit the same.
#ifndef PYASC_PROFILER_SIM_HALF_ARRAYS_H
#define PYASC_PROFILER_SIM_HALF_ARRAYS_H

#include <cstddef>
#include <cstdint>

namespace pyasc::sim {

// Addresses need no alignment; `from` and `to` do not overlap.
void WidenHalves(const std::byte *from, float *to, int64_t n);
void NarrowToHalves(const float *from, std::byte *to, int64_t n);
void WidenBfloats(const std::byte *from, float *to, int64_t n);
void NarrowToBfloats(const float *from, std::byte *to, int64_t n);

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_HALF_ARRAYS_H
