#include "client/cpp/client.h"

#include <algorithm>

#include <grpcpp/grpcpp.h>
#include <openssl/sha.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/cpp/credentials.h"
#include "client/cpp/daemon.h"
#include "client/cpp/follow.h"
#include "client/cpp/leased_buffer.h"
#include "client/cpp/local_worker.h"
#include "client/cpp/retry.h"
#include "google/longrunning/operations.grpc.pb.h"
#include "pyasc/v1/compile.grpc.pb.h"
#include "pyasc/v1/execution.grpc.pb.h"
#include "pyasc/v1/service.grpc.pb.h"

namespace pyasc::client {
namespace {

constexpr size_t kInlineBytes = 64 << 10;
constexpr size_t kChunkBytes = 1 << 20;
// An artifact with all its texts comes in one message.
constexpr int kMaxMessageBytes = 512 << 20;

grpc::ChannelArguments ChannelSettings() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // A connection that broke is tried again soon: somebody waits.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Kernels and tensors do not go through a web proxy.
  arguments.SetInt("grpc.enable_http_proxy", 0);
  return arguments;
}

// Waits until the channel is ready. A refused connection is final: whoever waits for a service
// to come up has waited before.
absl::Status WaitUntilReady(grpc::Channel &channel, const std::string &address,
                            absl::Duration timeout) {
  absl::Time deadline = absl::Now() + timeout;
  for (;;) {
    grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY)
      return absl::OkStatus();
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN)
      return absl::UnavailableError(absl::StrCat("nobody answers at ", address));
    if (!channel.WaitForStateChange(state, absl::ToChronoTime(deadline)))
      return absl::UnavailableError(
          absl::StrCat("nobody answers at ", address, " within ", absl::FormatDuration(timeout)));
  }
}

// Load balancers hash on it: one kernel goes to one daemon, whichever client asks. The Python
// package computes the same.
std::string RouteOf(const v1::CompileRequest &request) {
  std::string text;
  auto add = [&](absl::string_view field) { absl::StrAppend(&text, field.size(), ":", field); };
  for (const v1::SourceFile &file : request.files())
    add(file.content());
  add(request.kernel());
  add(absl::StrCat(static_cast<int>(request.target())));
  add(request.soc());
  unsigned char digest[32];
  SHA256(reinterpret_cast<const unsigned char *>(text.data()), text.size(), digest);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char *>(digest), 16));
}

void SetRoute(grpc::ClientContext &context, const v1::CompileRequest &request) {
  context.AddMetadata(kRouteHeader, RouteOf(request));
}

// The service puts the route that an operation began with into its name: "operations/ROUTE.ID".
std::string RouteIn(absl::string_view operation) {
  absl::ConsumePrefix(&operation, "operations/");
  const size_t dot = operation.find('.');
  return dot == absl::string_view::npos ? "" : std::string(operation.substr(0, dot));
}

void SetRoute(grpc::ClientContext &context, const std::string &operation) {
  context.AddMetadata(kRouteHeader, RouteIn(operation));
}

void SetDeadline(grpc::ClientContext &context, absl::Time deadline) {
  context.set_deadline(absl::ToChronoTime(deadline));
}

std::function<void(absl::Duration)> ShowWaiting(const CallOptions &options) {
  if (!options.on_progress)
    return {};
  return [&options](absl::Duration) {
    v1::Progress progress;
    progress.set_stage("waiting for room");
    options.on_progress(progress);
  };
}

// What took too long, in the user's words.
absl::Status TooLate(const std::string &kernel, const std::string &stage, absl::Duration timeout) {
  std::string name = kernel.empty() ? "the kernel" : "kernel '" + kernel + "'";
  std::string limit = absl::StrCat(absl::ToDoubleSeconds(timeout), " s");
  std::string text;
  if (stage == "compiling")
    text = absl::StrCat("compiling ", name, " took longer than ", limit);
  else if (stage == "queued" || stage == "waiting for device" || stage == "waiting for room")
    text = absl::StrCat(name, " got no device within ", limit, ": others are running");
  else if (stage == "running")
    text = absl::StrCat(name, " ran longer than ", limit,
                        " and was stopped; does one of its loops never end?");
  else
    text = absl::StrCat("running ", name, " took longer than ", limit);
  return absl::DeadlineExceededError(text);
}

bool FitsInline(const RunArgument &argument) {
  const Tensor *tensor = std::get_if<Tensor>(&argument.value);
  return !tensor || tensor->data.size() <= kInlineBytes;
}

v1::RunStart MakeStart(const RunCall &call) {
  v1::RunStart start;
  *start.mutable_compile() = call.compile;
  *start.mutable_options() = call.options;
  for (const RunArgument &argument : call.arguments) {
    v1::ArgumentValue *value = start.add_arguments();
    value->set_name(argument.name);
    if (const auto *scalar = std::get_if<v1::ScalarValue>(&argument.value)) {
      *value->mutable_scalar() = *scalar;
    } else if (const auto *generated = std::get_if<v1::GeneratedTensor>(&argument.value)) {
      *value->mutable_generated() = *generated;
    } else {
      const Tensor &tensor = std::get<Tensor>(argument.value);
      *value->mutable_tensor()->mutable_type() = tensor.type;
      if (FitsInline(argument))
        value->mutable_tensor()->set_inline_data(tensor.data);
      else
        value->mutable_tensor()->set_chunked(true);
    }
  }
  return start;
}

using RunStream = grpc::ClientReaderWriter<v1::RunRequest, v1::RunEvent>;

// Returns early when the service has already ended the call.
void SendArguments(RunStream &stream, const RunCall &call) {
  v1::RunRequest request;
  *request.mutable_start() = MakeStart(call);
  bool open = stream.Write(request);
  for (const RunArgument &argument : call.arguments) {
    if (FitsInline(argument))
      continue;
    const std::string &data = std::get<Tensor>(argument.value).data;
    for (size_t at = 0; open && at < data.size(); at += kChunkBytes) {
      v1::TensorChunk *chunk = request.mutable_chunk();
      chunk->set_name(argument.name);
      chunk->set_data(data.data() + at, std::min(kChunkBytes, data.size() - at));
      open = stream.Write(request);
    }
  }
  stream.WritesDone();
}

// Puts one event's content where it belongs; an error is a breach of the protocol.
absl::Status Receive(v1::RunEvent &event, const CallOptions &options, RunResult *result) {
  switch (event.kind_case()) {
  case v1::RunEvent::kProgress:
    if (options.on_progress)
      options.on_progress(event.progress());
    break;
  case v1::RunEvent::kPrint:
    if (options.on_print)
      options.on_print(event.print());
    break;
  case v1::RunEvent::kPrints:
    if (options.on_print)
      for (const v1::PrintLine &line : event.prints().lines())
        options.on_print(line);
    break;
  case v1::RunEvent::kTrace:
    if (options.on_trace)
      options.on_trace(event.trace());
    break;
  case v1::RunEvent::kOutput: {
    v1::RunOutput &output = *event.mutable_output();
    absl::StatusOr<int64_t> bytes = ByteSize(output.tensor().type());
    if (!bytes.ok())
      return bytes.status();
    if (!result->outputs.contains(output.name()))
      result->names.push_back(output.name());
    RunOutputValue &value = result->outputs[output.name()];
    value.is_scalar = output.is_scalar();
    value.tensor.type = output.tensor().type();
    value.tensor.data = std::move(*output.mutable_tensor()->mutable_inline_data());
    if (output.tensor().chunked())
      value.tensor.data.reserve(*bytes);
    break;
  }
  case v1::RunEvent::kChunk: {
    auto it = result->outputs.find(event.chunk().name());
    if (it == result->outputs.end())
      return absl::InternalError(
          absl::StrCat("a chunk of '", event.chunk().name(), "' came before its output"));
    it->second.tensor.data += event.chunk().data();
    break;
  }
  case v1::RunEvent::kDone:
    result->done = std::move(*event.mutable_done());
    break;
  case v1::RunEvent::KIND_NOT_SET:
    break;
  }
  return absl::OkStatus();
}

absl::Status CheckOutputs(const RunCall &call, const RunResult &result) {
  if (result.done.outcome() == v1::OUTCOME_UNSPECIFIED && result.done.failure().empty())
    return absl::InternalError("the service ended the run without a result");
  if (result.done.outcome() != v1::OUTCOME_OK)
    return absl::OkStatus();
  for (const auto &[name, value] : result.outputs) {
    int64_t expected = *ByteSize(value.tensor.type);
    if (value.tensor.data.size() != size_t(expected))
      return absl::InternalError(absl::StrCat("of output '", name, "' ", expected,
                                              " bytes were expected, but ",
                                              value.tensor.data.size(), " came"));
  }
  for (const std::string &name : call.options.outputs())
    if (!result.outputs.contains(name))
      return absl::InternalError(absl::StrCat("the service did not send output '", name, "'"));
  return absl::OkStatus();
}

} // namespace

struct Client::State {
  std::string address;
  std::unique_ptr<LocalWorker> worker;
  std::shared_ptr<grpc::Channel> channel;

  // A worker of our own that died explains the failure better than gRPC can.
  absl::Status Explain(const absl::Status &status) {
    if (status.ok() || !worker || !absl::IsUnavailable(status))
      return status;
    std::string obituary = worker->Obituary(absl::Seconds(1));
    if (obituary.empty())
      return status;
    return absl::UnavailableError(absl::StrCat("the local worker failed: ", obituary));
  }

  template <typename Reply, typename Call>
  absl::StatusOr<Reply> Unary(const CallOptions &options, Call call) {
    absl::Time deadline = absl::Now() + options.timeout;
    Reply reply;
    absl::Status status = CallWithRetry(deadline, ShowWaiting(options), [&] {
      grpc::ClientContext context;
      SetDeadline(context, deadline);
      return call(&context, &reply);
    });
    if (!status.ok())
      return Explain(status);
    return reply;
  }
};

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}
Client::~Client() = default;

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const ServiceOptions &options) {
  auto state = std::make_unique<State>();
  if (options.local) {
    absl::StatusOr<std::unique_ptr<LocalWorker>> worker =
        LocalWorker::Start(options.bin_dir, options.connect_timeout);
    if (!worker.ok())
      return worker.status();
    state->worker = *std::move(worker);
    state->address = state->worker->address();
  } else if (!options.server.empty()) {
    state->address = options.server;
  } else {
    absl::StatusOr<DaemonPaths> paths = FindDaemon(options.bin_dir);
    if (!paths.ok())
      return paths.status();
    if (absl::Status status = EnsureDaemon(options.bin_dir, *paths, options.connect_timeout);
        !status.ok())
      return status;
    state->address = paths->address();
  }
  absl::StatusOr<Credentials> credentials = CredentialsFromEnvironment();
  if (!credentials.ok())
    return credentials.status();
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
      MakeChannel(state->address, state->worker ? Credentials{} : *credentials, ChannelSettings());
  if (!channel.ok())
    return channel.status();
  state->channel = *std::move(channel);
  absl::Status ready = WaitUntilReady(*state->channel, state->address, options.connect_timeout);
  if (!ready.ok())
    return state->Explain(ready);
  return std::unique_ptr<Client>(new Client(std::move(state)));
}

const std::string &Client::address() const { return state_->address; }

absl::StatusOr<v1::CompileReply> Client::Compile(const v1::CompileRequest &request,
                                                 const CallOptions &options) {
  auto stub = v1::CompilerService::NewStub(state_->channel);
  if (options.on_progress) {
    v1::Progress progress;
    progress.set_stage("compiling");
    options.on_progress(progress);
  }
  absl::StatusOr<v1::CompileReply> reply =
      state_->Unary<v1::CompileReply>(options, [&](grpc::ClientContext *context, auto *reply) {
        SetRoute(*context, request);
        return stub->Compile(context, request, reply);
      });
  if (absl::IsDeadlineExceeded(reply.status()))
    return TooLate(request.kernel(), "compiling", options.timeout);
  return reply;
}

absl::StatusOr<v1::CheckReply> Client::Check(const v1::CheckRequest &request,
                                             const CallOptions &options) {
  auto stub = v1::CompilerService::NewStub(state_->channel);
  return state_->Unary<v1::CheckReply>(options, [&](grpc::ClientContext *context, auto *reply) {
    return stub->Check(context, request, reply);
  });
}

absl::StatusOr<RunResult> Client::Run(const RunCall &call, const CallOptions &given) {
  // The stage is what a deadline that passes has to tell.
  std::string stage;
  CallOptions options = given;
  options.on_progress = [&](const v1::Progress &progress) {
    stage = progress.stage();
    if (given.on_progress)
      given.on_progress(progress);
  };
  auto stub = v1::ExecutionService::NewStub(state_->channel);
  absl::Time deadline = absl::Now() + options.timeout;
  RunResult result;
  absl::Status breach;
  absl::Status status = CallWithRetry(deadline, ShowWaiting(options), [&] {
    grpc::ClientContext context;
    SetDeadline(context, deadline);
    SetRoute(context, call.compile);
    result = {};
    breach = absl::OkStatus();
    std::unique_ptr<RunStream> stream = stub->Run(&context);
    SendArguments(*stream, call);
    v1::RunEvent event;
    while (stream->Read(&event)) {
      breach.Update(Receive(event, options, &result));
      if (!breach.ok())
        context.TryCancel();
    }
    return stream->Finish();
  });
  if (!breach.ok())
    return breach;
  if (absl::IsDeadlineExceeded(status))
    return TooLate(call.compile.kernel(), stage, options.timeout);
  if (!status.ok())
    return state_->Explain(status);
  if (absl::Status checked = CheckOutputs(call, result); !checked.ok())
    return checked;
  return result;
}

absl::StatusOr<v1::RunDone> Client::Profile(const RunCall &call, uint32_t max_samples,
                                            uint32_t max_seconds, bool hot,
                                            const CallOptions &options) {
  absl::Time deadline = absl::Now() + options.timeout;
  const std::string route = RouteOf(call.compile);
  v1::ProfileRequest request;
  *request.mutable_run() = MakeStart(call);
  // What does not fit into the request is leased, until the operation is done.
  std::vector<std::unique_ptr<LeasedBuffer>> buffers;
  for (const RunArgument &argument : call.arguments) {
    if (FitsInline(argument))
      continue;
    auto buffer =
        LeasedBuffer::Create(state_->channel, std::get<Tensor>(argument.value), route, deadline);
    if (absl::IsUnimplemented(buffer.status()) || absl::IsResourceExhausted(buffer.status())) {
      buffers.clear();
      return ProfileOnce(call, options);
    }
    if (!buffer.ok())
      return state_->Explain(buffer.status());
    for (v1::ArgumentValue &value : *request.mutable_run()->mutable_arguments())
      if (value.name() == argument.name)
        value.mutable_tensor()->set_buffer_handle((*buffer)->handle());
    buffers.push_back(*std::move(buffer));
  }
  request.mutable_run()->mutable_options()->clear_outputs();
  request.mutable_run()->mutable_options()->set_profile(true);
  request.set_max_samples(max_samples);
  request.set_max_seconds(max_seconds);
  request.set_hot(hot);
  auto stub = v1::ExecutionService::NewStub(state_->channel);
  absl::StatusOr<google::longrunning::Operation> operation =
      state_->Unary<google::longrunning::Operation>(options,
                                                    [&](grpc::ClientContext *context, auto *reply) {
                                                      context->AddMetadata(kRouteHeader, route);
                                                      return stub->Profile(context, request, reply);
                                                    });
  if (!operation.ok())
    return operation.status();

  std::string stage;
  CallOptions following = options;
  following.on_progress = [&](const v1::Progress &progress) {
    stage = progress.stage();
    if (options.on_progress)
      options.on_progress(progress);
  };
  const std::string name = operation->name();
  operation = FollowOperation(state_->channel, *std::move(operation), route, deadline, following);
  if (absl::IsDeadlineExceeded(operation.status())) {
    // Nobody will fetch the result.
    grpc::ClientContext context;
    SetDeadline(context, absl::Now() + absl::Seconds(2));
    google::longrunning::CancelOperationRequest cancel;
    google::protobuf::Empty empty;
    cancel.set_name(name);
    context.AddMetadata(kRouteHeader, route);
    google::longrunning::Operations::NewStub(state_->channel)
        ->CancelOperation(&context, cancel, &empty);
    return TooLate(call.compile.kernel(), stage, options.timeout);
  }
  if (!operation.ok())
    return state_->Explain(operation.status());
  if (operation->has_error())
    return absl::Status(static_cast<absl::StatusCode>(operation->error().code()),
                        operation->error().message());
  v1::ProfileReply reply;
  if (!operation->response().UnpackTo(&reply))
    return absl::InternalError("the profile operation's response is no ProfileReply");
  return std::move(*reply.mutable_result());
}

absl::StatusOr<v1::RunDone> Client::ProfileOnce(const RunCall &call, const CallOptions &options) {
  RunCall measured = call;
  measured.options.set_profile(true);
  measured.options.clear_outputs();
  absl::StatusOr<RunResult> result = Run(measured, options);
  if (!result.ok())
    return result.status();
  return std::move(result->done);
}

absl::StatusOr<google::longrunning::Operation>
Client::StartBatch(const v1::CompileBatchRequest &request, const CallOptions &options) {
  auto stub = v1::CompilerService::NewStub(state_->channel);
  return state_->Unary<google::longrunning::Operation>(
      options, [&](grpc::ClientContext *context, auto *reply) {
        if (!request.requests().empty())
          SetRoute(*context, request.requests(0));
        return stub->StartBatch(context, request, reply);
      });
}

absl::StatusOr<google::longrunning::Operation> Client::GetOperation(const std::string &name,
                                                                    const CallOptions &options) {
  auto stub = google::longrunning::Operations::NewStub(state_->channel);
  google::longrunning::GetOperationRequest request;
  request.set_name(name);
  return state_->Unary<google::longrunning::Operation>(
      options, [&](grpc::ClientContext *context, auto *reply) {
        SetRoute(*context, name);
        return stub->GetOperation(context, request, reply);
      });
}

absl::StatusOr<google::longrunning::Operation> Client::AwaitOperation(const std::string &name,
                                                                      const CallOptions &options) {
  const absl::Time deadline = absl::Now() + options.timeout;
  auto operation = GetOperation(name, options);
  if (!operation.ok())
    return operation.status();
  operation =
      FollowOperation(state_->channel, *std::move(operation), RouteIn(name), deadline, options);
  if (!operation.ok())
    return state_->Explain(operation.status());
  return operation;
}

absl::Status Client::CancelOperation(const std::string &name, const CallOptions &options) {
  auto stub = google::longrunning::Operations::NewStub(state_->channel);
  google::longrunning::CancelOperationRequest request;
  request.set_name(name);
  return state_
      ->Unary<google::protobuf::Empty>(options,
                                       [&](grpc::ClientContext *context, auto *reply) {
                                         SetRoute(*context, name);
                                         return stub->CancelOperation(context, request, reply);
                                       })
      .status();
}

absl::Status Client::DeleteOperation(const std::string &name, const CallOptions &options) {
  auto stub = google::longrunning::Operations::NewStub(state_->channel);
  google::longrunning::DeleteOperationRequest request;
  request.set_name(name);
  return state_
      ->Unary<google::protobuf::Empty>(options,
                                       [&](grpc::ClientContext *context, auto *reply) {
                                         SetRoute(*context, name);
                                         return stub->DeleteOperation(context, request, reply);
                                       })
      .status();
}

absl::StatusOr<std::vector<google::longrunning::Operation>>
Client::ListOperations(const CallOptions &options) {
  auto stub = google::longrunning::Operations::NewStub(state_->channel);
  std::vector<google::longrunning::Operation> all;
  google::longrunning::ListOperationsRequest request;
  do {
    auto page = state_->Unary<google::longrunning::ListOperationsResponse>(
        options, [&](grpc::ClientContext *context, auto *reply) {
          return stub->ListOperations(context, request, reply);
        });
    if (!page.ok())
      return page.status();
    for (google::longrunning::Operation &operation : *page->mutable_operations())
      all.push_back(std::move(operation));
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return all;
}

absl::StatusOr<v1::ListDevicesReply> Client::ListDevices(const CallOptions &options) {
  auto stub = v1::DeviceService::NewStub(state_->channel);
  return state_->Unary<v1::ListDevicesReply>(options,
                                             [&](grpc::ClientContext *context, auto *reply) {
                                               return stub->ListDevices(context, {}, reply);
                                             });
}

absl::StatusOr<v1::GetStatsReply> Client::GetStats(const CallOptions &options) {
  auto stub = v1::AdminService::NewStub(state_->channel);
  return state_->Unary<v1::GetStatsReply>(options, [&](grpc::ClientContext *context, auto *reply) {
    return stub->GetStats(context, {}, reply);
  });
}

absl::StatusOr<v1::ManageCacheReply> Client::ManageCache(v1::ManageCacheRequest::Action action,
                                                         const CallOptions &options) {
  auto stub = v1::AdminService::NewStub(state_->channel);
  v1::ManageCacheRequest request;
  request.set_action(action);
  return state_->Unary<v1::ManageCacheReply>(options,
                                             [&](grpc::ClientContext *context, auto *reply) {
                                               return stub->ManageCache(context, request, reply);
                                             });
}

absl::StatusOr<v1::GetCapabilitiesReply> Client::GetCapabilities(const CallOptions &options) {
  auto stub = v1::CompilerService::NewStub(state_->channel);
  return state_->Unary<v1::GetCapabilitiesReply>(options,
                                                 [&](grpc::ClientContext *context, auto *reply) {
                                                   return stub->GetCapabilities(context, {}, reply);
                                                 });
}

absl::Status Client::Shutdown(uint32_t grace_seconds, const CallOptions &options) {
  auto stub = v1::AdminService::NewStub(state_->channel);
  v1::ShutdownRequest request;
  request.set_grace_seconds(grace_seconds);
  return state_
      ->Unary<v1::ShutdownReply>(options,
                                 [&](grpc::ClientContext *context, auto *reply) {
                                   return stub->Shutdown(context, request, reply);
                                 })
      .status();
}

} // namespace pyasc::client
