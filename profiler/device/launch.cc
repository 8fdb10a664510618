#include "profiler/device/launch.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "profiler/device/print_log.h"
#include "proto/contract/launch_expr.h"
#include "proto/contract/schema.h"
#include "proto/contract/tensor_type.h"

namespace pyasc::device {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 62;

absl::Status Invalid(std::string message) { return absl::InvalidArgumentError(message); }

int64_t SignedValue(v1::DType dtype, uint64_t bits) {
  switch (dtype) {
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

// What an expression can see of the arguments; the shapes are the contract's. Without `arguments`
// there are no scalars.
std::vector<contract::LaunchValue> Values(const v1::LaunchContract &contract,
                                          std::span<const LaunchArgument> arguments) {
  std::vector<contract::LaunchValue> values(static_cast<size_t>(contract.parameters_size()));
  for (size_t i = 0; i < values.size(); ++i) {
    const v1::Parameter &parameter = contract.parameters(static_cast<int>(i));
    if (parameter.has_tensor())
      values[i].dims.assign(parameter.tensor().shape().begin(), parameter.tensor().shape().end());
    else if (i < arguments.size())
      values[i].scalar = SignedValue(parameter.scalar(), arguments[i].scalar_bits);
  }
  return values;
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
  case v1::PhaseArgument::kPrintLog:
    if (contract.print_log_words() >= kFirstPrintRecord)
      return absl::OkStatus();
    break;
  case v1::PhaseArgument::kLoopVariable:
    return absl::OkStatus(); // CheckLoops has looked
  case v1::PhaseArgument::KIND_NOT_SET:
    break;
  }
  return Invalid("a phase argument is bound to nothing that the contract has");
}

// Loops are in order and apart, hold groups as a whole, and have all phases that ask for their
// variable.
absl::Status CheckLoops(const v1::LaunchContract &contract) {
  const int phases = contract.phases_size();
  std::vector<int> loop_of(phases, -1);
  uint64_t end = 0;
  for (int n = 0; n < contract.loops_size(); ++n) {
    const v1::PhaseLoop &loop = contract.loops(n);
    if (loop.first_phase() < end || loop.phases() == 0)
      return Invalid("loops of phases that are empty, or not apart and in order");
    end = uint64_t{loop.first_phase()} + loop.phases();
    if (end > static_cast<uint64_t>(phases))
      return Invalid("a loop has phases that the contract has not");
    for (uint64_t p = loop.first_phase(); p < end; ++p)
      loop_of[p] = n;
    if (absl::Status valid = CheckExpr(loop.rounds(), contract, "the rounds of a loop");
        !valid.ok())
      return valid;
  }
  for (int p = 0; p < phases; ++p) {
    if (p > 0 && contract.phases(p).group() != 0 &&
        contract.phases(p).group() == contract.phases(p - 1).group() &&
        loop_of[p] != loop_of[p - 1])
      return Invalid("a loop takes a group apart");
    for (const v1::PhaseArgument &argument : contract.phases(p).arguments())
      if (argument.has_loop_variable() && loop_of[p] < 0)
        return Invalid("a phase outside of loops asks for a loop variable");
  }
  return absl::OkStatus();
}

} // namespace

absl::Status CheckArtifact(const v1::Artifact &artifact, v1::Artifact::CodeCase code) {
  if (artifact.schema_version() != contract::kArtifactSchemaVersion)
    return Invalid(absl::StrCat("artifact of schema version ", artifact.schema_version(),
                                "; this build reads version ", contract::kArtifactSchemaVersion));
  if (artifact.code_case() != code)
    return Invalid(
        absl::StrCat("an artifact for target '", artifact.target(), "' cannot run on this device"));
  return CheckContract(artifact.launch());
}

absl::Status CheckContract(const v1::LaunchContract &contract) {
  // Versions only added: what an earlier one says means the same here.
  if (contract.schema_version() < 1 || contract.schema_version() > contract::kLaunchSchemaVersion)
    return Invalid(absl::StrCat("launch contract of schema version ", contract.schema_version(),
                                "; this build reads versions up to ",
                                contract::kLaunchSchemaVersion));
  if (contract.required_features_size() > 0)
    return Invalid(absl::StrCat("the artifact needs the feature '", contract.required_features(0),
                                "', which this build does not have"));
  for (const v1::Parameter &parameter : contract.parameters()) {
    if (parameter.has_tensor()) {
      if (absl::StatusOr<int64_t> bytes = contract::TensorBytes(parameter.tensor()); !bytes.ok())
        return bytes.status();
    } else if (contract::ElementBytes(parameter.scalar()) == 0) {
      return Invalid(absl::StrCat("parameter '", parameter.name(), "' has no type"));
    }
  }
  for (const v1::Result &result : contract.results()) {
    if (contract::ElementBytes(result.dtype()) == 0)
      return Invalid(absl::StrCat("result '", result.name(), "' has no dtype"));
    for (const v1::LaunchExpr &extent : result.shape())
      if (absl::Status valid = CheckExpr(extent, contract, "a result's extent"); !valid.ok())
        return valid;
  }
  for (const v1::Workspace &workspace : contract.workspaces())
    if (absl::Status valid = CheckExpr(workspace.bytes(), contract, "a workspace's size");
        !valid.ok())
      return valid;
  uint32_t group = 0;
  int together = 0;
  v1::CoreKind core = v1::CORE_KIND_UNSPECIFIED;
  for (const v1::Phase &phase : contract.phases()) {
    // Two phases at most run together: one a kind of core.
    if (phase.group() != 0 && phase.group() == group && phase.core() == core)
      return Invalid("two phases of one group are for the same kind of core");
    if (phase.group() != 0 && phase.group() == group && together >= 2)
      return Invalid("a group has more than two phases");
    together = phase.group() != 0 && phase.group() == group ? together + 1 : 1;
    group = phase.group();
    core = phase.core();
    if (phase.entry().empty())
      return Invalid("a phase without an entry");
    if (absl::Status valid = CheckExpr(phase.blocks(), contract, "a phase's block count");
        !valid.ok())
      return valid;
    for (const v1::PhaseArgument &argument : phase.arguments())
      if (absl::Status valid = CheckBinding(argument, contract); !valid.ok())
        return valid;
  }
  if (absl::Status valid = CheckLoops(contract); !valid.ok())
    return valid;
  if (contract.print_log_words() > kMaxPrintLogWords)
    return Invalid("a print log that is too large");
  for (const v1::PrintEntry &print : contract.print_table())
    for (const v1::TensorType &value : print.values())
      if (absl::StatusOr<int64_t> bytes = contract::TensorBytes(value); !bytes.ok())
        return bytes.status();
  for (const v1::AliasRule &rule : contract.aliases())
    if (rule.first() >= static_cast<uint32_t>(contract.parameters_size()) ||
        rule.second() >= static_cast<uint32_t>(contract.parameters_size()))
      return Invalid("an alias rule names a parameter that there is not");
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Evaluate(const v1::LaunchExpr &expr, const v1::LaunchContract &contract,
                                 std::span<const LaunchArgument> arguments) {
  return contract::Evaluate(expr, Values(contract, arguments));
}

absl::StatusOr<int64_t> ResultBytes(const v1::LaunchContract &contract, int index,
                                    std::span<const LaunchArgument> arguments) {
  absl::StatusOr<v1::TensorType> type =
      contract::ResultType(contract.results(index), Values(contract, arguments));
  if (!type.ok())
    return type.status();
  return contract::TensorBytes(*type);
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
    absl::StatusOr<int64_t> bytes = contract::TensorBytes(parameter.tensor());
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
