// What --arg and --out say.
//
//   NAME=@FILE.npy            an array; bf16:@FILE.npy rounds float32 or float64 to bfloat16
//   NAME=1.5, 3, True, inf    a Python int, float or bool
//   NAME=zeros:f32[2,3]       an array that the service makes: zeros, ones, rand (uniform in
//                             [0, 1)), randn (normal); rand:f32[2,3],seed=7; without a seed,
//                             one that follows from NAME
//   NAME=[1, 2], arange:i32[8], randint:i32[8],low=0,high=10
//                             small arrays that are made here: see made_array.h
//   NAME=f32[2,3], NAME=f32   a type alone, for compiling
#ifndef PYASC_CLIENT_CLI_ARGUMENT_SPEC_H
#define PYASC_CLIENT_CLI_ARGUMENT_SPEC_H

#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/made_array.h"
#include "client/cpp/tensor.h"
#include "pyasc/v1/compile.pb.h"
#include "pyasc/v1/execution.pb.h"

namespace pyasc::cli {

// An array in a file, not read yet.
struct ArrayFile {
  std::string path;
  // Round the elements to bfloat16.
  bool to_bfloat16 = false;
};

struct ArgumentSpec {
  std::string name;
  std::variant<ArrayFile, MadeArray, v1::ScalarValue, v1::GeneratedTensor, v1::TensorType,
               v1::DType>
      value;

  // False for a type alone.
  bool has_value() const { return value.index() < 4; }
  // Whose elements the client sends.
  bool is_array() const { return value.index() < 2; }
};

// Errors: INVALID_ARGUMENT that says what was expected.
absl::StatusOr<ArgumentSpec> ParseArgumentSpec(absl::string_view text);

// The compile-time view of an argument; reads the head of an array's file. `is_constexpr`: the
// kernel wants the value at compile time.
absl::StatusOr<v1::Argument> SignatureOf(const ArgumentSpec &spec, bool is_constexpr);

// The elements. REQUIRES: spec.is_array().
absl::StatusOr<client::Tensor> LoadArray(const ArgumentSpec &spec);

struct OutputSpec {
  std::string name;
  std::string path;
  // Widen float16 or bfloat16 to float32 in the file.
  bool to_float32 = false;
};

// NAME=FILE.npy or NAME=f32:FILE.npy.
absl::StatusOr<OutputSpec> ParseOutputSpec(absl::string_view text);

// A Python literal: int, float or bool.
absl::StatusOr<v1::ScalarValue> ParseLiteral(absl::string_view text);

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_ARGUMENT_SPEC_H
