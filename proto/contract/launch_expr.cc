#include "proto/contract/launch_expr.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace pyasc::contract {
namespace {

absl::Status Malformed(const char *what) {
  return absl::InvalidArgumentError(absl::StrCat("launch expression: ", what));
}

// Rounded towards minus infinity; `b` is not zero.
int64_t FloorDiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

absl::StatusOr<int64_t> Apply(v1::LaunchExpr::Op op, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (op) {
  case v1::LaunchExpr::OP_ADD:
    return __builtin_add_overflow(a, b, &r) ? Malformed("overflow") : absl::StatusOr<int64_t>(r);
  case v1::LaunchExpr::OP_SUB:
    return __builtin_sub_overflow(a, b, &r) ? Malformed("overflow") : absl::StatusOr<int64_t>(r);
  case v1::LaunchExpr::OP_MUL:
    return __builtin_mul_overflow(a, b, &r) ? Malformed("overflow") : absl::StatusOr<int64_t>(r);
  case v1::LaunchExpr::OP_MIN:
    return std::min(a, b);
  case v1::LaunchExpr::OP_MAX:
    return std::max(a, b);
  default:
    break;
  }
  if (b == 0)
    return Malformed("division by zero");
  if (b == -1 && a == INT64_MIN)
    return Malformed("overflow");
  switch (op) {
  case v1::LaunchExpr::OP_FLOOR_DIV:
    return FloorDiv(a, b);
  case v1::LaunchExpr::OP_CEIL_DIV:
    return FloorDiv(a, b) + (a % b != 0 ? 1 : 0);
  case v1::LaunchExpr::OP_MOD:
    return a - FloorDiv(a, b) * b;
  default:
    return Malformed("unknown operation");
  }
}

} // namespace

absl::StatusOr<int64_t> Evaluate(const v1::LaunchExpr &expr, std::span<const LaunchValue> values) {
  std::vector<int64_t> stack;
  for (const v1::LaunchExpr::Step &step : expr.steps()) {
    switch (step.op()) {
    case v1::LaunchExpr::OP_CONST:
      stack.push_back(step.value());
      break;
    case v1::LaunchExpr::OP_DIM: {
      const auto argument = static_cast<uint64_t>(step.value()) >> 8;
      const auto dim = static_cast<uint64_t>(step.value()) & 0xff;
      if (argument >= values.size() || dim >= values[argument].dims.size())
        return Malformed("no such dimension");
      stack.push_back(values[argument].dims[dim]);
      break;
    }
    case v1::LaunchExpr::OP_SCALAR: {
      const auto argument = static_cast<uint64_t>(step.value());
      if (argument >= values.size() || !values[argument].scalar)
        return Malformed("no such integer argument");
      stack.push_back(*values[argument].scalar);
      break;
    }
    default: {
      if (stack.size() < 2)
        return Malformed("an operand is missing");
      int64_t b = stack.back();
      stack.pop_back();
      absl::StatusOr<int64_t> r = Apply(step.op(), stack.back(), b);
      if (!r.ok())
        return r.status();
      stack.back() = *r;
    }
    }
  }
  if (stack.size() != 1)
    return Malformed("it does not leave one value");
  return stack.back();
}

absl::StatusOr<v1::TensorType> ResultType(const v1::Result &result,
                                          std::span<const LaunchValue> values) {
  v1::TensorType type;
  type.set_dtype(result.dtype());
  for (const v1::LaunchExpr &extent : result.shape()) {
    absl::StatusOr<int64_t> value = Evaluate(extent, values);
    if (!value.ok())
      return value.status();
    type.add_shape(*value);
  }
  return type;
}

} // namespace pyasc::contract
