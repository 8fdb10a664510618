#include "profiler/device/launch.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace pyasc::device {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 62;

absl::Status Invalid(std::string message) { return absl::InvalidArgumentError(message); }

int64_t FloorDiv(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

// One binary step. Unsigned overflow builtins keep damaged contracts from undefined behaviour.
absl::StatusOr<int64_t> Apply(v1::LaunchExpr::Op op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
  case v1::LaunchExpr::OP_ADD:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case v1::LaunchExpr::OP_SUB:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case v1::LaunchExpr::OP_MUL:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  case v1::LaunchExpr::OP_FLOOR_DIV:
  case v1::LaunchExpr::OP_CEIL_DIV:
  case v1::LaunchExpr::OP_MOD:
    if (b == 0)
      return Invalid("a launch expression divides by zero");
    if (a == INT64_MIN && b == -1)
      return Invalid("a launch expression overflows");
    if (op == v1::LaunchExpr::OP_FLOOR_DIV)
      result = FloorDiv(a, b);
    else if (op == v1::LaunchExpr::OP_CEIL_DIV)
      result = FloorDiv(a, b) + (a % b != 0 ? 1 : 0);
    else
      result = a - FloorDiv(a, b) * b;
    break;
  case v1::LaunchExpr::OP_MIN:
    result = std::min(a, b);
    break;
  case v1::LaunchExpr::OP_MAX:
    result = std::max(a, b);
    break;
  default:
    return Invalid(absl::StrCat("unknown launch expression step ", static_cast<int>(op)));
  }
  if (overflow)
    return Invalid("a launch expression overflows");
  return result;
}

absl::StatusOr<int64_t> Dim(const v1::LaunchContract &contract, int64_t value) {
  int64_t index = value >> 8;
  int64_t axis = value & 0xff;
  if (index < 0 || index >= contract.parameters_size() ||
      !contract.parameters(static_cast<int>(index)).has_tensor())
    return Invalid(absl::StrCat("a launch expression names parameter ", index));
  const v1::TensorType &tensor = contract.parameters(static_cast<int>(index)).tensor();
  if (axis >= tensor.shape_size())
    return Invalid(absl::StrCat("a launch expression names dim ", axis, " of parameter ", index));
  return tensor.shape(static_cast<int>(axis));
}

absl::StatusOr<int64_t> Scalar(const v1::LaunchContract &contract, int64_t index,
                               std::span<const LaunchArgument> arguments) {
  if (index < 0 || index >= contract.parameters_size() ||
      !contract.parameters(static_cast<int>(index)).has_scalar())
    return Invalid(absl::StrCat("a launch expression names scalar ", index));
  if (static_cast<size_t>(index) >= arguments.size())
    return Invalid("a launch expression needs the launch's scalars");
  uint64_t bits = arguments[static_cast<size_t>(index)].scalar_bits;
  switch (contract.parameters(static_cast<int>(index)).scalar()) {
  case v1::DTYPE_INT8:
    return static_cast<int8_t>(bits);
  case v1::DTYPE_INT16:
    return static_cast<int16_t>(bits);
  case v1::DTYPE_INT32:
    return static_cast<int32_t>(bits);
  default:
    return static_cast<int64_t>(bits);
  }
}

bool DependsOnScalars(const v1::LaunchExpr &expr) {
  return std::any_of(expr.steps().begin(), expr.steps().end(),
                     [](const auto &step) { return step.op() == v1::LaunchExpr::OP_SCALAR; });
}

// Checks what can be known without a launch.
absl::Status CheckExpr(const v1::LaunchExpr &expr, const v1::LaunchContract &contract,
                       absl::string_view what) {
  if (DependsOnScalars(expr))
    return expr.steps_size() > 0 ? absl::OkStatus() : Invalid(absl::StrCat(what, " is empty"));
  absl::StatusOr<int64_t> value = Evaluate(expr, contract, {});
  if (!value.ok())
    return Invalid(absl::StrCat(what, ": ", value.status().message()));
  if (*value < 0 || *value > kMaxBytes)
    return Invalid(absl::StrCat(what, " is ", *value));
  return absl::OkStatus();
}

absl::Status CheckBinding(const v1::PhaseArgument &argument, const v1::LaunchContract &contract) {
  switch (argument.kind_case()) {
  case v1::PhaseArgument::kParameter:
    if (argument.parameter() < static_cast<uint32_t>(contract.parameters_size()))
      return absl::OkStatus();
    break;
  case v1::PhaseArgument::kResult:
    if (argument.result() < static_cast<uint32_t>(contract.results_size()))
      return absl::OkStatus();
    break;
  case v1::PhaseArgument::kWorkspace:
    if (argument.workspace() < static_cast<uint32_t>(contract.workspaces_size()))
      return absl::OkStatus();
    break;
  case v1::PhaseArgument::kErrorBuffer:
    return absl::OkStatus();
  case v1::PhaseArgument::KIND_NOT_SET:
    break;
  }
  return Invalid("a phase argument is bound to nothing that the contract has");
}

} // namespace

int64_t ElementBytes(v1::DType dtype) {
  switch (dtype) {
  case v1::DTYPE_BOOL:
  case v1::DTYPE_INT8:
  case v1::DTYPE_UINT8:
    return 1;
  case v1::DTYPE_INT16:
  case v1::DTYPE_UINT16:
  case v1::DTYPE_FLOAT16:
  case v1::DTYPE_BFLOAT16:
    return 2;
  case v1::DTYPE_INT32:
  case v1::DTYPE_UINT32:
  case v1::DTYPE_FLOAT32:
    return 4;
  case v1::DTYPE_INT64:
  case v1::DTYPE_UINT64:
  case v1::DTYPE_FLOAT64:
    return 8;
  default:
    return 0;
  }
}

absl::StatusOr<int64_t> TensorBytes(const v1::TensorType &type) {
  int64_t bytes = ElementBytes(type.dtype());
  if (bytes == 0)
    return Invalid("a tensor without a dtype");
  for (int64_t extent : type.shape()) {
    if (extent < 0)
      return Invalid(absl::StrCat("a tensor with the extent ", extent));
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > kMaxBytes)
      return Invalid("a tensor of more than 2^62 bytes");
  }
  return bytes;
}

absl::Status CheckContract(const v1::LaunchContract &contract) {
  if (contract.schema_version() != kLaunchSchemaVersion)
    return Invalid(absl::StrCat("launch contract of schema version ", contract.schema_version(),
                                "; this build reads version ", kLaunchSchemaVersion));
  if (contract.required_features_size() > 0)
    return Invalid(absl::StrCat("the artifact needs the feature '", contract.required_features(0),
                                "', which this build does not have"));
  for (const v1::Parameter &parameter : contract.parameters()) {
    if (parameter.has_tensor()) {
      if (absl::StatusOr<int64_t> bytes = TensorBytes(parameter.tensor()); !bytes.ok())
        return bytes.status();
    } else if (ElementBytes(parameter.scalar()) == 0) {
      return Invalid(absl::StrCat("parameter '", parameter.name(), "' has no type"));
    }
  }
  for (const v1::Result &result : contract.results()) {
    if (ElementBytes(result.dtype()) == 0)
      return Invalid(absl::StrCat("result '", result.name(), "' has no dtype"));
    for (const v1::LaunchExpr &extent : result.shape())
      if (absl::Status valid = CheckExpr(extent, contract, "a result's extent"); !valid.ok())
        return valid;
  }
  for (const v1::Workspace &workspace : contract.workspaces())
    if (absl::Status valid = CheckExpr(workspace.bytes(), contract, "a workspace's size");
        !valid.ok())
      return valid;
  for (const v1::Phase &phase : contract.phases()) {
    if (phase.entry().empty())
      return Invalid("a phase without an entry");
    if (absl::Status valid = CheckExpr(phase.blocks(), contract, "a phase's block count");
        !valid.ok())
      return valid;
    for (const v1::PhaseArgument &argument : phase.arguments())
      if (absl::Status valid = CheckBinding(argument, contract); !valid.ok())
        return valid;
  }
  for (const v1::AliasRule &rule : contract.aliases())
    if (rule.first() >= static_cast<uint32_t>(contract.parameters_size()) ||
        rule.second() >= static_cast<uint32_t>(contract.parameters_size()))
      return Invalid("an alias rule names a parameter that there is not");
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Evaluate(const v1::LaunchExpr &expr, const v1::LaunchContract &contract,
                                 std::span<const LaunchArgument> arguments) {
  std::vector<int64_t> stack;
  for (const v1::LaunchExpr::Step &step : expr.steps()) {
    absl::StatusOr<int64_t> value;
    switch (step.op()) {
    case v1::LaunchExpr::OP_CONST:
      value = step.value();
      break;
    case v1::LaunchExpr::OP_DIM:
      value = Dim(contract, step.value());
      break;
    case v1::LaunchExpr::OP_SCALAR:
      value = Scalar(contract, step.value(), arguments);
      break;
    default: {
      if (stack.size() < 2)
        return Invalid("a launch expression lacks an operand");
      int64_t right = stack.back();
      stack.pop_back();
      value = Apply(step.op(), stack.back(), right);
      stack.pop_back();
    }
    }
    if (!value.ok())
      return value.status();
    stack.push_back(*value);
  }
  if (stack.size() != 1)
    return Invalid("a launch expression does not have one value");
  return stack.front();
}

absl::StatusOr<int64_t> ResultBytes(const v1::LaunchContract &contract, int index,
                                    std::span<const LaunchArgument> arguments) {
  const v1::Result &result = contract.results(index);
  v1::TensorType type;
  type.set_dtype(result.dtype());
  for (const v1::LaunchExpr &extent : result.shape()) {
    absl::StatusOr<int64_t> value = Evaluate(extent, contract, arguments);
    if (!value.ok())
      return value.status();
    type.add_shape(*value);
  }
  return TensorBytes(type);
}

absl::Status CheckLaunch(const v1::LaunchContract &contract,
                         std::span<const LaunchArgument> arguments,
                         std::span<Buffer *const> results) {
  if (arguments.size() != static_cast<size_t>(contract.parameters_size()))
    return Invalid(absl::StrCat("the kernel takes ", contract.parameters_size(), " arguments, ",
                                arguments.size(), " were given"));
  if (results.size() != static_cast<size_t>(contract.results_size()))
    return Invalid(absl::StrCat("the kernel returns ", contract.results_size(), " values, ",
                                results.size(), " buffers were given"));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const v1::Parameter &parameter = contract.parameters(static_cast<int>(i));
    const Buffer *buffer = arguments[i].buffer;
    if (parameter.has_tensor() != (buffer != nullptr))
      return Invalid(absl::StrCat("'", parameter.name(), "' is a ",
                                  parameter.has_tensor() ? "tensor" : "scalar", ", a ",
                                  buffer ? "tensor" : "scalar", " was given"));
    if (!buffer)
      continue;
    absl::StatusOr<int64_t> bytes = TensorBytes(parameter.tensor());
    if (!bytes.ok())
      return bytes.status();
    if (buffer->size_bytes() != *bytes)
      return Invalid(absl::StrCat("'", parameter.name(), "' has ", *bytes, " bytes, a buffer of ",
                                  buffer->size_bytes(), " was given"));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    absl::StatusOr<int64_t> bytes = ResultBytes(contract, static_cast<int>(i), arguments);
    if (!bytes.ok())
      return bytes.status();
    if (!results[i] || results[i]->size_bytes() != *bytes)
      return Invalid(absl::StrCat("result '", contract.results(static_cast<int>(i)).name(),
                                  "' has ", *bytes, " bytes, a buffer of ",
                                  results[i] ? results[i]->size_bytes() : 0, " was given"));
  }
  for (const v1::AliasRule &rule : contract.aliases())
    if (!rule.same_buffer_allowed() && arguments[rule.first()].buffer &&
        arguments[rule.first()].buffer == arguments[rule.second()].buffer)
      return Invalid(absl::StrCat("'", contract.parameters(static_cast<int>(rule.first())).name(),
                                  "' and '",
                                  contract.parameters(static_cast<int>(rule.second())).name(),
                                  "' are the same buffer, and the kernel writes through one of "
                                  "them: pass a copy"));
  // A result is memory of its own: the kernel writes it while it still reads its arguments.
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string &name = contract.results(static_cast<int>(i)).name();
    for (size_t other = 0; other < i; ++other)
      if (results[other] == results[i])
        return Invalid(absl::StrCat("result '", name, "' and result '",
                                    contract.results(static_cast<int>(other)).name(),
                                    "' are the same buffer"));
    for (size_t a = 0; a < arguments.size(); ++a)
      if (arguments[a].buffer == results[i])
        return Invalid(absl::StrCat("result '", name, "' and argument '",
                                    contract.parameters(static_cast<int>(a)).name(),
                                    "' are the same buffer"));
  }
  return absl::OkStatus();
}

} // namespace pyasc::device
