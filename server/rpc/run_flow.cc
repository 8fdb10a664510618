#include "server/rpc/run_flow.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/contract/launch_expr.h"
#include "proto/contract/tensor_type.h"
#include "server/core/keys.h"
#include "server/core/scalar_bits.h"
#include "server/core/service_error.h"
#include "server/process/frame.h"
#include "server/rpc/check_request.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {
namespace {

absl::Status Invalid(std::string message) {
  return ServiceError(absl::StatusCode::kInvalidArgument, std::move(message),
                      {.reason = "INVALID_REQUEST"});
}

const char *CacheName(v1::CacheResult cache) {
  switch (cache) {
  case v1::CACHE_RESULT_MISS:
    return "miss";
  case v1::CACHE_RESULT_HIT:
    return "hit";
  case v1::CACHE_RESULT_HIT_ALIAS:
    return "hit_alias";
  case v1::CACHE_RESULT_JOINED:
    return "joined";
  case v1::CACHE_RESULT_BYPASSED:
    return "bypassed";
  default:
    return "";
  }
}

} // namespace

RunFlow::RunFlow(ServiceContext &service, TenantPtr tenant, v1::RunStart start,
                 std::shared_ptr<RunInputs> inputs, MeasureOptions measure, Events events)
    : service_(service), tenant_(std::move(tenant)), start_(std::move(start)),
      inputs_(std::move(inputs)), measure_(measure), events_(std::move(events)) {}

void RunFlow::Start() {
  begin_ = std::chrono::steady_clock::now();
  CompleteSignature(start_);
  if (absl::Status s = CheckCompileRequest(start_.compile()); !s.ok())
    return End({s, {}, {}, nullptr, nullptr});
  if (absl::Status s = tenant_->CheckDeviceTime(); !s.ok())
    return End({s, {}, {}, nullptr, nullptr});
  v1::CompileRequest request = start_.compile();
  SetPending(
      1, service_.backend.Compile(
             std::move(request), tenant_->caller(0),
             [self = shared_from_this()](const CompileAnswer &answer) { self->OnCompiled(answer); },
             [this] {
               v1::Progress progress;
               progress.set_stage("compiling");
               if (events_.on_progress)
                 events_.on_progress(progress);
             }));
}

void RunFlow::SetPending(int step, PendingPtr pending) {
  std::lock_guard lock(mutex_);
  // A step may call back, and the next one start, before its own handle is known here.
  if (!pending || step < step_)
    return;
  if (cancelled_)
    pending->Cancel();
  step_ = step;
  pending_ = std::move(pending);
}

void RunFlow::Cancel() {
  PendingPtr pending;
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    pending = pending_;
  }
  if (pending)
    pending->Cancel();
}

void RunFlow::End(FlowResult result) {
  {
    std::lock_guard lock(mutex_);
    if (cancelled_)
      return;
  }
  events_.on_done(std::move(result));
}

void RunFlow::OnCompiled(const CompileAnswer &answer) {
  compile_us_ =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin_).count();
  cache_ = answer.cache;
  request_key_ = answer.request_key;
  FlowResult result;
  if (!answer.compiled.ok()) {
    result.status = answer.compiled.status();
    return End(std::move(result));
  }
  const CompiledPtr &compiled = *answer.compiled;
  if (compiled->outcome() != v1::OUTCOME_OK) {
    v1::CompileReply reply;
    reply.ParseFromArray(compiled->reply().data(), static_cast<int>(compiled->reply().size()));
    result.done.set_outcome(reply.outcome());
    *result.done.mutable_diagnostics() = std::move(*reply.mutable_diagnostics());
    return End(std::move(result));
  }
  result.status = Prepare(compiled);
  if (refusal_) {
    result.status = absl::OkStatus();
    result.done.set_outcome(v1::OUTCOME_REJECTED);
    *result.done.add_diagnostics() = *std::move(refusal_);
    return End(std::move(result));
  }
  if (!result.status.ok())
    return End(std::move(result));
  {
    std::lock_guard lock(mutex_);
    if (cancelled_)
      return;
  }
  PendingPtr pending =
      service_.backend.Launch(work_, [self = shared_from_this()](LaunchAnswer launched) {
        self->OnLaunched(std::move(launched));
      });
  SetPending(2, std::move(pending));
}

absl::Status RunFlow::Prepare(const CompiledPtr &compiled) {
  auto head = compiled->head();
  if (!head.ok())
    return head.status();
  artifact_ = *std::move(head);
  work_ = std::make_shared<LaunchWork>();
  work_->target = start_.compile().target();
  work_->share = tenant_->caller(0).share;
  if (start_.options().has_device())
    work_->ordinal = start_.options().device();
  work_->compiled = compiled;
  work_->time_limit = std::chrono::milliseconds(
      std::min<uint64_t>(start_.options().run_timeout_ms(), uint64_t{24} * 3600 * 1000));
  work_->job.set_profile(start_.options().profile() || measure_.max_samples > 0);
  work_->job.set_max_samples(measure_.max_samples);
  work_->job.set_max_seconds(measure_.max_seconds);
  work_->job.set_hot(measure_.hot);
  work_->job.set_timing_only(start_.options().timing_only());
  work_->job.set_sanitize(start_.options().sanitize());
  work_->job.set_max_instructions(start_.options().max_instructions());
  work_->job.set_threads(start_.options().threads());
  work_->on_progress = [self = weak_from_this()](const v1::Progress &progress) {
    if (auto flow = self.lock(); flow && flow->events_.on_progress)
      flow->events_.on_progress(progress);
  };
  work_->on_print = [self = weak_from_this()](const v1::PrintLine &line) {
    if (auto flow = self.lock(); flow && flow->events_.on_print)
      flow->events_.on_print(line);
  };
  if (events_.on_trace)
    work_->job.set_trace_events(start_.options().trace_events());
  work_->on_trace = [self = weak_from_this()](const v1::TraceChunk &chunk) {
    if (auto flow = self.lock(); flow && flow->events_.on_trace)
      flow->events_.on_trace(chunk);
  };
  std::vector<contract::LaunchValue> values;
  for (const v1::Parameter &parameter : artifact_->launch().parameters())
    if (absl::Status s = AddArgument(parameter, values); !s.ok())
      return s;
  if (absl::Status s = TakeTemporaries(values); !s.ok())
    return s;
  for (const std::string &name : start_.options().outputs())
    if (absl::Status s = AddOutput(name, values); !s.ok())
      return s;
  if (start_.options().all_outputs())
    if (absl::Status s = AddOtherOutputs(values); !s.ok())
      return s;
  return AddBuffers(values);
}

absl::Status RunFlow::AddBuffers(std::span<const contract::LaunchValue> values) {
  if (start_.options().timing_only())
    return absl::OkStatus(); // nothing is computed
  for (const v1::Parameter &parameter : artifact_->launch().parameters()) {
    auto tensor = inputs_->tensors().find(parameter.name());
    if (tensor == inputs_->tensors().end() || !tensor->second.buffer ||
        (parameter.access() != v1::ACCESS_WRITE && parameter.access() != v1::ACCESS_READ_WRITE))
      continue;
    auto output = std::find_if(outputs_.begin(), outputs_.end(), [&](const OutputTensor &known) {
      return known.name == parameter.name();
    });
    if (output == outputs_.end()) {
      if (absl::Status s = AddOutput(parameter.name(), values); !s.ok())
        return s;
      output = outputs_.end() - 1;
      output->sent = false;
    }
    output->buffer = tensor->second.buffer;
  }
  return absl::OkStatus();
}

absl::Status RunFlow::FillBuffers() {
  for (OutputTensor &output : outputs_) {
    if (!output.buffer)
      continue;
    absl::StatusOr<TensorMemory> memory = work_->memory[output.memory_index].Share();
    if (!memory.ok())
      return memory.status();
    if (absl::Status s = output.buffer->Replace(*std::move(memory)); !s.ok())
      return s;
  }
  std::erase_if(outputs_, [](const OutputTensor &output) { return !output.sent; });
  return absl::OkStatus();
}

absl::Status RunFlow::AddOtherOutputs(std::span<const contract::LaunchValue> values) {
  std::vector<std::string> names;
  for (const v1::Parameter &parameter : artifact_->launch().parameters())
    if (parameter.has_tensor() &&
        (parameter.access() == v1::ACCESS_WRITE || parameter.access() == v1::ACCESS_READ_WRITE))
      names.push_back(parameter.name());
  for (const v1::Result &result : artifact_->launch().results())
    names.push_back(result.name());
  for (const std::string &name : names) {
    bool known = std::any_of(outputs_.begin(), outputs_.end(),
                             [&](const OutputTensor &output) { return output.name == name; });
    if (known)
      continue;
    if (absl::Status s = AddOutput(name, values); !s.ok())
      return s;
  }
  return absl::OkStatus();
}

absl::Status RunFlow::AddArgument(const v1::Parameter &parameter,
                                  std::vector<contract::LaunchValue> &values) {
  contract::LaunchValue &value = values.emplace_back();
  const auto &arguments = start_.arguments();
  auto found = std::find_if(arguments.begin(), arguments.end(),
                            [&](const auto &a) { return a.name() == parameter.name(); });
  if (found == arguments.end())
    return Invalid(absl::StrCat("the argument '", parameter.name(), "' has no value"));
  wire::LaunchArgument &to = *work_->job.add_arguments();
  to.set_name(parameter.name());
  if (parameter.has_tensor() != (found->kind_case() != v1::ArgumentValue::kScalar))
    return Invalid(absl::StrCat("the argument '", parameter.name(), "' must be a ",
                                parameter.has_tensor() ? "tensor" : "number"));
  if (!parameter.has_tensor()) {
    // A wrong argument, as one of another type is: the caller hears of it as of those.
    if (absl::StatusOr<uint64_t> bits = ScalarBits(found->scalar(), parameter.scalar());
        !bits.ok()) {
      v1::Diagnostic &refusal = refusal_.emplace();
      refusal.set_severity(v1::SEVERITY_ERROR);
      refusal.set_code("argument-overflow");
      refusal.set_message(absl::StrCat("the argument for parameter '", parameter.name(), "' ",
                                       bits.status().message()));
      *refusal.mutable_range() = parameter.range();
      return bits.status();
    }
    *to.mutable_scalar() = found->scalar();
    if (found->scalar().has_int_value())
      value.scalar = found->scalar().int_value();
    else if (found->scalar().has_bool_value())
      value.scalar = found->scalar().bool_value();
    return absl::OkStatus();
  }
  const bool generated = found->kind_case() == v1::ArgumentValue::kGenerated;
  const v1::TensorType &type = generated ? found->generated().type() : found->tensor().type();
  if (!contract::SameType(type, parameter.tensor()))
    return Invalid(absl::StrCat("the argument '", parameter.name(), "' is ",
                                contract::TypeName(type), "; the kernel is compiled for ",
                                contract::TypeName(parameter.tensor())));
  value.dims.assign(type.shape().begin(), type.shape().end());
  *to.mutable_type() = type;
  if (generated) {
    *to.mutable_generated() = found->generated();
    return absl::OkStatus();
  }
  RunInputs::Tensor &tensor = inputs_->tensors().at(parameter.name());
  to.set_memory_index(static_cast<uint32_t>(work_->memory.size()));
  work_->memory.push_back(std::move(tensor.memory));
  return absl::OkStatus();
}

absl::Status RunFlow::TakeTemporaries(std::span<const contract::LaunchValue> values) {
  const v1::LaunchContract &contract = artifact_->launch();
  int64_t temporaries = contract.temporary_bytes();
  for (const v1::Workspace &workspace : contract.workspaces()) {
    absl::StatusOr<int64_t> bytes = contract::Evaluate(workspace.bytes(), values);
    if (!bytes.ok() || *bytes < 0 || __builtin_add_overflow(temporaries, *bytes, &temporaries))
      return absl::InternalError("the artifact is wrong: a workspace without a size");
  }
  if (absl::Status s = inputs_->lease().Take(temporaries, "the kernel's temporaries"); !s.ok())
    return s;
  // Results that nobody asked for are made all the same.
  const auto &outputs = start_.options().outputs();
  for (const v1::Result &result : contract.results()) {
    if (std::find(outputs.begin(), outputs.end(), result.name()) != outputs.end())
      continue;
    absl::StatusOr<v1::TensorType> type = contract::ResultType(result, values);
    if (!type.ok())
      return absl::InternalError(absl::StrCat("the artifact is wrong: ", type.status().message()));
    absl::StatusOr<int64_t> bytes = contract::TensorBytes(*type);
    if (!bytes.ok())
      return bytes.status();
    const std::string what = absl::StrCat("the kernel's result '", result.name(), "'");
    if (absl::Status s = inputs_->lease().Take(*bytes, what.c_str()); !s.ok())
      return s;
  }
  return absl::OkStatus();
}

absl::Status RunFlow::AddOutput(const std::string &name,
                                std::span<const contract::LaunchValue> values) {
  OutputTensor output{name, {}, false, static_cast<uint32_t>(work_->memory.size())};
  const v1::LaunchContract &contract = artifact_->launch();
  auto result = std::find_if(contract.results().begin(), contract.results().end(),
                             [&](const v1::Result &r) { return r.name() == name; });
  auto parameter =
      std::find_if(contract.parameters().begin(), contract.parameters().end(),
                   [&](const v1::Parameter &p) { return p.name() == name && p.has_tensor(); });
  if (result != contract.results().end()) {
    absl::StatusOr<v1::TensorType> type = contract::ResultType(*result, values);
    if (!type.ok())
      return absl::InternalError(absl::StrCat("the artifact is wrong: ", type.status().message()));
    output.type = *type;
    output.is_scalar = result->is_scalar();
  } else if (parameter != contract.parameters().end()) {
    if (parameter->access() == v1::ACCESS_READ || parameter->access() == v1::ACCESS_NONE)
      return Invalid(absl::StrCat("the kernel does not write '", name, "': it is no output"));
    output.type = parameter->tensor();
  } else {
    return Invalid(absl::StrCat("the kernel has no output '", name, "'"));
  }
  for (const OutputTensor &other : outputs_)
    if (other.name == name)
      return Invalid(absl::StrCat("the output '", name, "' is asked for twice"));
  absl::StatusOr<int64_t> bytes = contract::TensorBytes(output.type);
  if (!bytes.ok())
    return bytes.status();
  if (work_->memory.size() >= kMaxFrameFds)
    return Invalid("too many tensors in one run");
  if (absl::Status s =
          inputs_->lease().Take(*bytes, absl::StrCat("the output '", name, "'").c_str());
      !s.ok())
    return s;
  absl::StatusOr<TensorMemory> memory = TensorMemory::Create(*bytes);
  if (!memory.ok())
    return memory.status();
  wire::LaunchArgument &to = *work_->job.add_outputs();
  to.set_name(name);
  to.set_memory_index(output.memory_index);
  *to.mutable_type() = output.type;
  work_->memory.push_back(*std::move(memory));
  outputs_.push_back(std::move(output));
  return absl::OkStatus();
}

void RunFlow::OnLaunched(LaunchAnswer answer) {
  tenant_->ChargeDeviceTime(answer.lease);
  FlowResult result;
  result.status = answer.status;
  v1::RunDone &done = result.done;
  if (!answer.failure.empty() || !answer.result.error().empty()) {
    done.set_outcome(v1::OUTCOME_FAILED);
    done.set_failure(answer.failure.empty() ? answer.result.error()
                                            : "the device worker " + answer.failure);
    spdlog::warn("[{}] run of {} failed: {}", LogName(start_.compile()), artifact_->kernel(),
                 done.failure());
    if (answer.died)
      service_.backend.KeepCrash(answer.failure, start_.compile());
  } else if (result.status.ok()) {
    const bool wrong =
        std::any_of(answer.result.diagnostics().begin(), answer.result.diagnostics().end(),
                    [](const v1::Diagnostic &d) { return d.severity() == v1::SEVERITY_ERROR; });
    done.set_outcome(wrong ? v1::OUTCOME_REJECTED : v1::OUTCOME_OK);
    *done.mutable_diagnostics() = artifact_->diagnostics();
    done.mutable_diagnostics()->MergeFrom(answer.result.diagnostics());
    *done.mutable_findings() = std::move(*answer.result.mutable_findings());
    *done.mutable_report() = std::move(*answer.result.mutable_report());
    done.mutable_report()->set_compile_us(compile_us_);
    done.mutable_report()->set_cache(CacheName(cache_));
    done.mutable_report()->set_request_key(request_key_);
    if (!wrong) {
      result.status = FillBuffers();
      result.outputs = std::move(outputs_);
    }
  }
  result.work = std::move(work_);
  result.inputs = std::move(inputs_);
  End(std::move(result));
}

} // namespace pyasc::server
