#include "client/cpp/follow.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/retry.h"
#include "google/longrunning/operations.grpc.pb.h"
#include "pyasc/v1/execution.grpc.pb.h"

namespace pyasc::client {

using google::longrunning::Operation;

namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
constexpr absl::Duration kLongestPause = absl::Seconds(1);
constexpr absl::Duration kPollInterval = absl::Milliseconds(500);

void Show(const v1::Progress &progress, const CallOptions &options) {
  if (options.on_progress)
    options.on_progress(progress);
}

void Deliver(const v1::OperationEvent &event, const CallOptions &options) {
  if (event.has_progress())
    Show(event.progress(), options);
  v1::PrintLine line;
  if (event.has_missed())
    line.set_text(absl::StrCat("(up to ", event.missed(), " lines lost)"));
  if (event.has_print())
    line = event.print();
  if (options.on_print && (event.has_missed() || event.has_print()))
    options.on_print(line);
}

// For services from before WatchOperation.
absl::StatusOr<Operation> Poll(const std::shared_ptr<grpc::Channel> &channel, Operation operation,
                               const std::string &route, absl::Time deadline,
                               const CallOptions &options) {
  google::longrunning::Operations::Stub stub(channel);
  while (!operation.done()) {
    v1::RunMetadata metadata;
    if (operation.metadata().UnpackTo(&metadata))
      Show(metadata.progress(), options);
    if (absl::Now() >= deadline)
      return absl::DeadlineExceededError("the operation has not ended");
    google::longrunning::WaitOperationRequest wait;
    wait.set_name(operation.name());
    wait.mutable_timeout()->set_nanos(
        static_cast<int32_t>(absl::ToInt64Nanoseconds(kPollInterval)));
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    context.AddMetadata(kRouteHeader, route);
    if (grpc::Status status = stub.WaitOperation(&context, wait, &operation); !status.ok())
      return ToAbsl(status);
  }
  return operation;
}

} // namespace

absl::StatusOr<Operation> FollowOperation(const std::shared_ptr<grpc::Channel> &channel,
                                          Operation operation, const std::string &route,
                                          absl::Time deadline, const CallOptions &options) {
  if (operation.done())
    return operation;
  v1::ExecutionService::Stub stub(channel);
  v1::WatchOperationRequest request;
  request.set_name(operation.name());
  absl::Time broken = absl::InfiniteFuture();
  absl::Duration pause = kFirstPause;
  for (;;) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(deadline));
    context.AddMetadata(kRouteHeader, route);
    auto stream = stub.WatchOperation(&context, request);
    stream->WaitForInitialMetadata();
    if (channel->GetState(false) == GRPC_CHANNEL_READY) {
      broken = absl::InfiniteFuture();
      pause = kFirstPause;
    }
    v1::OperationEvent event;
    while (stream->Read(&event)) {
      request.set_after(event.sequence());
      if (event.has_done())
        operation = event.done();
      else
        Deliver(event, options);
    }
    grpc::Status status = stream->Finish();
    if (operation.done())
      return operation;
    if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED)
      return Poll(channel, std::move(operation), route, deadline, options);
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE)
      return status.ok() ? absl::InternalError("the service ended the operation without a result")
                         : ToAbsl(status);
    broken = std::min(broken, absl::Now());
    if (absl::Now() + pause >= deadline || absl::Now() - broken >= kFollowPatience)
      return ToAbsl(status);
    v1::Progress progress;
    progress.set_stage("connection lost, trying again");
    Show(progress, options);
    absl::SleepFor(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

} // namespace pyasc::client
