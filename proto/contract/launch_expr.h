// Evaluates the integer expressions of a launch contract.
#ifndef PYASC_PROTO_CONTRACT_LAUNCH_EXPR_H
#define PYASC_PROTO_CONTRACT_LAUNCH_EXPR_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "pyasc/v1/artifact.pb.h"

namespace pyasc::contract {

// What an expression can see of one argument, by position in the contract's parameters.
struct LaunchValue {
  std::vector<int64_t> dims;     // of a tensor
  std::optional<int64_t> scalar; // of an integer scalar
};

// INVALID_ARGUMENT: the expression is malformed, asks for what an argument does not have,
// overflows, or divides by zero.
absl::StatusOr<int64_t> Evaluate(const v1::LaunchExpr &expr, std::span<const LaunchValue> values);

// The type of a result for these arguments.
absl::StatusOr<v1::TensorType> ResultType(const v1::Result &result,
                                          std::span<const LaunchValue> values);

} // namespace pyasc::contract

#endif // PYASC_PROTO_CONTRACT_LAUNCH_EXPR_H
