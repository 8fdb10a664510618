// The language's element types, and NumPy 2's promotion between them.
#ifndef PYASC_COMPILER_SEMA_DTYPE_H
#define PYASC_COMPILER_SEMA_DTYPE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mlir/IR/BuiltinTypes.h"
#include "pyasc/v1/tensor.pb.h"

namespace pyasc::sema {

enum class DType : uint8_t {
  Bool,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Float32,
  Float64,
};

bool IsFloat(DType t);
bool IsInteger(DType t); // bool is none
bool IsUnsigned(DType t);
bool Is16BitFloat(DType t);
int Bits(DType t); // 8 for bool
std::string_view Name(DType t);

// "float32"; also the other names that NumPy and kernels use ("half", "int", "bool_").
std::optional<DType> DTypeFromName(std::string_view name);
std::optional<DType> DTypeFromProto(v1::DType t);
v1::DType DTypeToProto(DType t);

// The range of an integer type or bool, as 128-bit numbers.
__int128 MinInt(DType t);
__int128 MaxInt(DType t);
std::string WithArticle(DType t); // "an int32"
// Wraps `v` into an integer type as two's complement arithmetic does.
__int128 Wrap(__int128 v, DType t);
// Rounds a double into a float type, as a constant of that type would be.
double RoundTo(double v, DType t);
std::string ToString(__int128 v);

// The MLIR type of a value (bool: i1) and of a memory element (bool: i8).
mlir::Type ValueType(mlir::MLIRContext *context, DType t);
mlir::Type MemoryType(mlir::MLIRContext *context, DType t);

// The type of `a op b` for two typed operands: NumPy 2's, where bfloat16 with float16 is float32,
// and where NumPy answers float64 though neither operand is one, float32. nullopt: none
// (a 64-bit unsigned beside a signed integer).
std::optional<DType> Promote(DType a, DType b);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_DTYPE_H
