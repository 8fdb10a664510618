// Small arrays whose elements stand in the command line, or follow from a rule of whole numbers:
//
//   [1, 2, 3], [[1.5], [2]]    a list: int32 (int64 where that is too small), float32 or bool
//   f16:[1, 2.5]               the same with its element type
//   arange:i32[4,4]            0, 1, 2, ... in row-major order
//   randint:i32[8],low=0,high=10,seed=3
//                              whole numbers from low (0 unless said) to high (100), without high
#ifndef PYASC_CLIENT_CLI_MADE_ARRAY_H
#define PYASC_CLIENT_CLI_MADE_ARRAY_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/tensor.h"

namespace pyasc::cli {

struct MadeArray {
  enum class Rule : uint8_t { kList, kArange, kRandint };
  Rule rule = Rule::kList;
  v1::TensorType type;
  std::vector<double> reals;     // of a list of floats
  std::vector<int64_t> integers; // of any other list
  int64_t low = 0, high = 100;   // kRandint
  uint64_t seed = 0;
};

// nullopt: the text is none of the forms above. Errors: INVALID_ARGUMENT that says what was
// expected. `seed` is that of a text without one.
absl::StatusOr<std::optional<MadeArray>> ParseMadeArray(absl::string_view text, uint64_t seed);

// The elements. Errors: INVALID_ARGUMENT for more than 1 GiB.
absl::StatusOr<client::Tensor> MakeArray(const MadeArray &array);

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_MADE_ARRAY_H
