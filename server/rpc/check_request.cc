#include "server/rpc/check_request.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/contract/tensor_type.h"
#include "server/core/service_error.h"
#include "server/rpc/service_context.h"

namespace pyasc::server {
namespace {

constexpr size_t kMaxSourceBytes = 1 << 20;  // SourceFile.content
constexpr size_t kMaxInlineBytes = 64 << 10; // TensorValue.inline_data
// One descriptor a tensor goes to the worker; outputs need some, too.
constexpr size_t kMaxTensors = 32;

// Path of the first thing in `message` that this build does not know.
std::optional<std::string> FindUnknown(const google::protobuf::Message &message) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection *reflection = message.GetReflection();
  const auto &unknown = reflection->GetUnknownFields(message);
  if (!unknown.empty())
    return absl::StrCat("field number ", unknown.field(0).number(), " of ",
                        message.GetDescriptor()->full_name());
  std::vector<const FieldDescriptor *> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor *field : fields) {
    const int size = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      for (int i = 0; i < size; ++i) {
        const auto &child = field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                                 : reflection->GetMessage(message, field);
        if (auto found = FindUnknown(child))
          return found;
      }
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      for (int i = 0; i < size; ++i) {
        const int value = field->is_repeated() ? reflection->GetRepeatedEnumValue(message, field, i)
                                               : reflection->GetEnumValue(message, field);
        if (!field->enum_type()->FindValueByNumber(value))
          return absl::StrCat("value ", value, " of ", field->enum_type()->full_name());
      }
    }
  }
  return std::nullopt;
}

absl::Status Invalid(std::string message) {
  return ServiceError(absl::StatusCode::kInvalidArgument, std::move(message),
                      {.reason = "INVALID_REQUEST"});
}

absl::Status CheckType(const std::string &name, const v1::TensorType &type) {
  absl::StatusOr<int64_t> bytes = contract::TensorBytes(type);
  return bytes.ok()
             ? absl::OkStatus()
             : Invalid(absl::StrCat("the argument '", name, "': ", bytes.status().message()));
}

absl::Status CheckGenerated(const std::string &name, const v1::GeneratedTensor &generated) {
  if (absl::Status s = CheckType(name, generated.type()); !s.ok())
    return s;
  switch (generated.kind()) {
  case v1::GeneratedTensor::KIND_ZEROS:
  case v1::GeneratedTensor::KIND_ONES:
    return absl::OkStatus();
  case v1::GeneratedTensor::KIND_UNIFORM:
  case v1::GeneratedTensor::KIND_NORMAL:
    if (contract::IsFloat(generated.type().dtype()))
      return absl::OkStatus();
    return Invalid(absl::StrCat(
        "the argument '", name, "': random numbers are made for floating-point tensors only, not ",
        contract::LongName(generated.type().dtype()), "; use zeros, ones or an array"));
  case v1::GeneratedTensor::KIND_UNSPECIFIED:
    return Invalid(absl::StrCat("the argument '", name, "' is generated from nothing"));
  default:
    return Invalid(absl::StrCat("the argument '", name, "' is generated from an unknown kind"));
  }
}

absl::Status CheckTensor(const std::string &name, const v1::TensorValue &value,
                         bool chunks_allowed) {
  if (value.storage_case() == v1::TensorValue::kBufferHandle && !value.has_type())
    return absl::OkStatus(); // the buffer's
  if (absl::Status s = CheckType(name, value.type()); !s.ok())
    return s;
  switch (value.storage_case()) {
  case v1::TensorValue::kBufferHandle:
    return absl::OkStatus();
  case v1::TensorValue::kChunked:
    return chunks_allowed
               ? absl::OkStatus()
               : Invalid(absl::StrCat("the argument '", name,
                                      "' is chunked; here it must be inline or generated"));
  default:
    break;
  }
  const auto size = static_cast<int64_t>(value.inline_data().size());
  if (int64_t bytes = *contract::TensorBytes(value.type()); size != bytes)
    return Invalid(absl::StrCat("the argument '", name, "' of type ",
                                contract::TypeName(value.type()), " has ", size, " bytes, not ",
                                bytes));
  if (value.inline_data().size() > kMaxInlineBytes)
    return Invalid(absl::StrCat("the argument '", name, "' has ", size, " bytes inline; above ",
                                kMaxInlineBytes, " send chunks"));
  return absl::OkStatus();
}

} // namespace

absl::Status CheckKnownFields(const google::protobuf::Message &request,
                              const grpc::CallbackServerContext &context, const Backend &backend) {
  std::optional<std::string> unknown = FindUnknown(request);
  if (!unknown)
    return absl::OkStatus();
  std::string client = "unknown";
  const auto &metadata = context.client_metadata();
  if (auto found = metadata.find(kClientBuildHeader); found != metadata.end())
    client = std::string(found->second.data(), std::min<size_t>(found->second.size(), 128));
  const std::string &server = backend.capabilities().build_id();
  return ServiceError(
      absl::StatusCode::kFailedPrecondition,
      absl::StrCat("the request has ", *unknown,
                   ", which this service does not know; client build ", client, ", service build ",
                   server, ": use a client and a service of one version"),
      {.reason = "UNKNOWN_FIELD",
       .metadata = {{"what", *unknown}, {"client_build", client}, {"service_build", server}}});
}

absl::Status CheckCompileRequest(const v1::CompileRequest &request) {
  if (request.files().empty())
    return Invalid("the request has no source file");
  size_t bytes = 0;
  for (const v1::SourceFile &file : request.files())
    bytes += file.content().size();
  if (bytes > kMaxSourceBytes)
    return Invalid(absl::StrCat("the sources have ", bytes, " bytes; at most ", kMaxSourceBytes,
                                " are taken"));
  if (request.target() == v1::TARGET_UNSPECIFIED)
    return Invalid("the request names no target");
  const std::string &precision = request.options().precision();
  if (!precision.empty() && precision != "mixed" && precision != "auto")
    return Invalid(absl::StrCat("the precision is 'mixed' or 'auto', not '", precision, "'"));
  std::set<std::pair<uint32_t, std::string>> constants;
  for (const v1::CapturedConstant &constant : request.constants()) {
    if (constant.file() >= static_cast<uint32_t>(request.files_size()))
      return Invalid(absl::StrCat("the constant '", constant.name(), "' is of file ",
                                  constant.file(), ", and there are ", request.files_size()));
    if (!constants.emplace(constant.file(), constant.name()).second)
      return Invalid(absl::StrCat("the constant '", constant.name(), "' is given twice"));
  }
  std::set<std::string> names;
  for (const v1::Argument &argument : request.arguments()) {
    if (!names.insert(argument.name()).second)
      return Invalid(absl::StrCat("the argument '", argument.name(), "' is given twice"));
    switch (argument.kind_case()) {
    case v1::Argument::kTensor:
      if (absl::Status s = CheckType(argument.name(), argument.tensor()); !s.ok())
        return s;
      break;
    case v1::Argument::kScalar:
      if (contract::ElementBytes(argument.scalar()) == 0)
        return Invalid(absl::StrCat("the argument '", argument.name(), "' has no type"));
      break;
    case v1::Argument::kConstexprValue:
      if (argument.constexpr_value().value_case() == v1::ScalarValue::VALUE_NOT_SET)
        return Invalid(absl::StrCat("the argument '", argument.name(), "' has no value"));
      break;
    case v1::Argument::KIND_NOT_SET:
      return Invalid(
          absl::StrCat("the argument '", argument.name(), "' has neither type nor value"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRunStart(const v1::RunStart &start, bool chunks_allowed) {
  if (absl::Status s = CheckCompileRequest(start.compile()); !s.ok())
    return s;
  std::set<std::string> names;
  size_t tensors = 0;
  for (const v1::ArgumentValue &argument : start.arguments()) {
    const std::string &name = argument.name();
    if (!names.insert(name).second)
      return Invalid(absl::StrCat("the argument '", name, "' is given twice"));
    absl::Status status;
    switch (argument.kind_case()) {
    case v1::ArgumentValue::kTensor:
      status = CheckTensor(name, argument.tensor(), chunks_allowed);
      if (++tensors > kMaxTensors)
        return Invalid(absl::StrCat("more than ", kMaxTensors, " tensors"));
      break;
    case v1::ArgumentValue::kGenerated:
      status = CheckGenerated(name, argument.generated());
      break;
    case v1::ArgumentValue::kScalar:
      if (argument.scalar().value_case() == v1::ScalarValue::VALUE_NOT_SET)
        status = Invalid(absl::StrCat("the argument '", name, "' has no value"));
      break;
    case v1::ArgumentValue::KIND_NOT_SET:
      return Invalid(absl::StrCat("the argument '", name, "' has no value"));
    }
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

} // namespace pyasc::server
