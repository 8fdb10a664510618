// Numbers as Python prints them: str() of NumPy's scalars, and format() with a specification.
//
// The compiler checks specifications and formats what it knows; whoever reads a print log formats
// the rest.
#ifndef PYASC_PROTO_CONTRACT_PYTHON_FORMAT_H
#define PYASC_PROTO_CONTRACT_PYTHON_FORMAT_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pyasc/v1/tensor.pb.h"

namespace pyasc::contract {

// A number in a word, as a print log has it (PrintEntry): integers and bools extended, floats of
// up to 32 bits as a float32's bits, float64 as its own.
struct PrintNumber {
  v1::DType dtype = v1::DTYPE_UNSPECIFIED;
  uint64_t word = 0;
};

// str(x): "1", "True", "0.1" (the shortest decimal that reads back as the same number of its
// dtype; bfloat16 as the float32 of the same value), "1e+20", "nan".
std::string FormatNumber(PrintNumber number);
// repr() of a Python float.
std::string FormatDouble(double value);
// format(x, spec). INVALID_ARGUMENT: Python has no such format for the number, and why.
absl::StatusOr<std::string> FormatNumber(PrintNumber number, std::string_view spec);
// The double, integer or bool of a Python program.
absl::StatusOr<std::string> FormatDouble(double value, std::string_view spec);

// A tensor as nested lists, "[[1, 2], [3, 4]]", each number with `spec` ("": str). `words` in
// row-major order.
absl::StatusOr<std::string> FormatTensor(const v1::TensorType &type,
                                         std::span<const uint64_t> words, std::string_view spec);

// A text with fields "{}" and "{:SPEC}" and doubled braces, with `words` for its fields. Fields
// without a value, and values that a specification does not fit, show as "?".
std::string FormatText(std::string_view format, std::span<const v1::TensorType> types,
                       std::span<const uint64_t> words);

} // namespace pyasc::contract

#endif // PYASC_PROTO_CONTRACT_PYTHON_FORMAT_H
