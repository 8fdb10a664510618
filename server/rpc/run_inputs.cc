#include "server/rpc/run_inputs.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "proto/contract/tensor_type.h"
#include "server/core/service_error.h"
#include "server/process/worker_process.h"

namespace pyasc::server {
namespace {

constexpr size_t kMaxChunkBytes = 1 << 20; // TensorChunk

absl::Status Invalid(std::string message) {
  return ServiceError(absl::StatusCode::kInvalidArgument, std::move(message),
                      {.reason = "INVALID_REQUEST"});
}

} // namespace

absl::Status ByteLease::Take(int64_t bytes, const char *what) {
  const uint64_t wanted = held_ + bytes;
  if (wanted > service_.max_run_bytes)
    return ServiceError(absl::StatusCode::kResourceExhausted,
                        absl::StrCat("the run needs ", FormatBytes(wanted), ": ",
                                     FormatBytes(bytes), " of it for ", what, "; at most ",
                                     FormatBytes(service_.max_run_bytes),
                                     " are allowed (the service's --max-run-bytes)"),
                        {.reason = "RUN_TOO_LARGE"});
  if (!tenant_->TakeBytes(bytes))
    return ServiceError(
        absl::StatusCode::kResourceExhausted,
        absl::StrCat("tenant '", tenant_->name(),
                     "' may not hold that many bytes of tensors and batches at a time"),
        {.reason = "TENANT_BYTES",
         .metadata = {{"tenant", tenant_->name()}},
         .retry_after = std::chrono::milliseconds(500)});
  if (!service_.admission.TakeBytes(bytes, service_.max_total_bytes)) {
    tenant_->GiveBytes(bytes);
    return ServiceError(
        absl::StatusCode::kResourceExhausted,
        "the service has no memory left for the tensors of another run",
        {.reason = "TENSOR_MEMORY_FULL", .retry_after = std::chrono::milliseconds(500)});
  }
  held_ = wanted;
  return absl::OkStatus();
}

absl::Status RunInputs::Accept(v1::RunStart &start) {
  for (v1::ArgumentValue &argument : *start.mutable_arguments()) {
    const std::string &name = argument.name();
    const std::string what = absl::StrCat("the argument '", name, "'");
    if (argument.kind_case() == v1::ArgumentValue::kGenerated) {
      // Lives in the worker, but costs the machine the same, unless nothing is computed with it.
      const int64_t bytes =
          start.options().timing_only() ? 0 : *contract::TensorBytes(argument.generated().type());
      if (absl::Status s = lease_.Take(bytes, what.c_str()); !s.ok())
        return s;
      continue;
    }
    if (argument.kind_case() != v1::ArgumentValue::kTensor)
      continue;
    v1::TensorValue &value = *argument.mutable_tensor();
    if (value.storage_case() == v1::TensorValue::kBufferHandle) {
      if (absl::Status s = TakeBuffer(name, value); !s.ok())
        return s;
      continue;
    }
    const int64_t bytes = *contract::TensorBytes(value.type());
    Tensor tensor{value.type(), {}, 0, value.storage_case() == v1::TensorValue::kChunked, nullptr};
    if (absl::Status s = lease_.Take(bytes, what.c_str()); !s.ok())
      return s;
    absl::StatusOr<TensorMemory> memory = TensorMemory::Create(bytes);
    if (!memory.ok())
      return memory.status();
    tensor.memory = *std::move(memory);
    if (!tensor.chunked) {
      if (absl::Status s = tensor.memory.Write(0, value.inline_data()); !s.ok())
        return s;
      tensor.filled = bytes;
      value.clear_inline_data();
    }
    tensors_.emplace(name, std::move(tensor));
  }
  return absl::OkStatus();
}

absl::Status RunInputs::TakeBuffer(const std::string &name, v1::TensorValue &value) {
  auto use =
      service_.buffers.Begin(tenant_, value.buffer_handle(), std::chrono::steady_clock::now());
  if (!use.ok())
    return use.status();
  const v1::TensorType &type = (*use)->type();
  if (value.has_type() && !contract::SameType(value.type(), type))
    return Invalid(absl::StrCat("the argument '", name, "' is ", contract::TypeName(value.type()),
                                "; its buffer holds ", contract::TypeName(type)));
  *value.mutable_type() = type;
  // The worker makes a copy, so the run holds it once more.
  const int64_t bytes = (*use)->contents()->size_bytes();
  if (absl::Status s = lease_.Take(bytes, absl::StrCat("the argument '", name, "'").c_str());
      !s.ok())
    return s;
  absl::StatusOr<TensorMemory> memory = (*use)->contents()->Share();
  if (!memory.ok())
    return memory.status();
  tensors_.emplace(name, Tensor{type, *std::move(memory), bytes, false, *std::move(use)});
  return absl::OkStatus();
}

absl::Status RunInputs::Append(const v1::TensorChunk &chunk) {
  auto found = tensors_.find(chunk.name());
  if (found == tensors_.end() || !found->second.chunked)
    return Invalid(absl::StrCat("a chunk of '", chunk.name(), "', which is no chunked argument"));
  if (chunk.data().size() > kMaxChunkBytes)
    return Invalid(absl::StrCat("a chunk of ", chunk.data().size(), " bytes; at most ",
                                kMaxChunkBytes, " are taken"));
  Tensor &tensor = found->second;
  if (absl::Status s = tensor.memory.Write(tensor.filled, chunk.data()); !s.ok())
    return absl::IsOutOfRange(s)
               ? Invalid(absl::StrCat("more data than '", chunk.name(), "' of type ",
                                      contract::TypeName(tensor.type), " has room for"))
               : s;
  tensor.filled += static_cast<int64_t>(chunk.data().size());
  return absl::OkStatus();
}

absl::Status RunInputs::Seal() {
  for (auto &[name, tensor] : tensors_) {
    if (tensor.filled != tensor.memory.size_bytes())
      return Invalid(absl::StrCat("the argument '", name, "' of type ",
                                  contract::TypeName(tensor.type), " ended after ", tensor.filled,
                                  " of ", tensor.memory.size_bytes(), " bytes"));
    if (tensor.buffer)
      continue; // sealed
    if (absl::Status s = tensor.memory.SealContents(); !s.ok())
      return s;
  }
  return absl::OkStatus();
}

void CompleteSignature(v1::RunStart &start) {
  if (start.compile().language() == v1::LANGUAGE_NPU)
    return; // the module says all
  std::set<std::string> named;
  for (const v1::Argument &argument : start.compile().arguments())
    named.insert(argument.name());
  for (const v1::ArgumentValue &value : start.arguments()) {
    if (named.count(value.name()))
      continue;
    v1::Argument &argument = *start.mutable_compile()->add_arguments();
    argument.set_name(value.name());
    switch (value.kind_case()) {
    case v1::ArgumentValue::kTensor:
      *argument.mutable_tensor() = value.tensor().type();
      break;
    case v1::ArgumentValue::kGenerated:
      *argument.mutable_tensor() = value.generated().type();
      break;
    default:
      // CompileRequest: "a Python int is INT64, a float FLOAT32, a bool BOOL".
      argument.set_scalar(value.scalar().has_bool_value()    ? v1::DTYPE_BOOL
                          : value.scalar().has_float_value() ? v1::DTYPE_FLOAT32
                                                             : v1::DTYPE_INT64);
    }
  }
}

} // namespace pyasc::server
