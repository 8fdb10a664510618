// A Python number as the bits of a kernel's scalar parameter.
#ifndef PYASC_SERVER_CORE_SCALAR_BITS_H
#define PYASC_SERVER_CORE_SCALAR_BITS_H

#include <cstdint>

#include "absl/status/statusor.h"
#include "pyasc/v1/tensor.pb.h"

namespace pyasc::server {

// Little-endian in the dtype's own width, zero-extended. INVALID_ARGUMENT: the number does not fit
// (300 for uint8), or a float is given for an integer.
absl::StatusOr<uint64_t> ScalarBits(const v1::ScalarValue &value, v1::DType dtype);

// A double as one element of a floating-point dtype, rounded to nearest even.
uint64_t FloatBits(double value, v1::DType dtype);

} // namespace pyasc::server

#endif // PYASC_SERVER_CORE_SCALAR_BITS_H
