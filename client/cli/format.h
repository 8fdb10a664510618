// Numbers for people.
#ifndef PYASC_CLIENT_CLI_FORMAT_H
#define PYASC_CLIENT_CLI_FORMAT_H

#include <string>

#include "client/cpp/tensor.h"

namespace pyasc::cli {

// "812.0 us", "3.25 ms", "12.0 s"; "-" for a negative or not finite time.
std::string FormatMicroseconds(double us);
// Powers of ten, as rates are: "4.19 MB".
std::string FormatBytes(double bytes);
// Powers of two, for memories: "192 KiB".
std::string FormatKibibytes(int64_t bytes);
// "2.15 GFLOP", "1.07 TFLOP".
std::string FormatFlops(double flops);
// From GFLOP/s: "5.24 TFLOP/s".
std::string FormatFlopRate(double gflops);
// From 0..1: "73.1 %"; "-" when not finite.
std::string FormatPercent(double fraction);
// A bar of `width` cells, filled to `fraction` (clamped to 0..1).
std::string Bar(double fraction, int width);

// "1.5" for a scalar; else type and first elements: "f32[1000] [1.0, 2.0, 3.0, ...]".
std::string SummarizeTensor(const client::Tensor &tensor, bool is_scalar);

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_FORMAT_H
