#include "client/cpp/leased_buffer.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "client/cpp/follow.h"
#include "client/cpp/retry.h"
#include "pyasc/v1/service.grpc.pb.h"

namespace pyasc::client {
namespace {

constexpr size_t kChunkBytes = 1 << 20;
constexpr absl::Duration kReleasePatience = absl::Seconds(2);

} // namespace

absl::StatusOr<std::unique_ptr<LeasedBuffer>>
LeasedBuffer::Create(const std::shared_ptr<grpc::Channel> &channel, const Tensor &tensor,
                     const std::string &route, absl::Time deadline) {
  v1::DeviceService::Stub stub(channel);
  v1::CreateBufferRequest request;
  *request.mutable_type() = tensor.type;
  v1::CreateBufferReply reply;
  {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(deadline));
    context.AddMetadata(kRouteHeader, route);
    if (grpc::Status status = stub.CreateBuffer(&context, request, &reply); !status.ok())
      return ToAbsl(status);
  }
  std::unique_ptr<LeasedBuffer> buffer(new LeasedBuffer(channel, reply.buffer_handle(), route));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  context.AddMetadata(kRouteHeader, route);
  v1::WriteBufferReply written;
  auto stream = stub.WriteBuffer(&context, &written);
  v1::WriteBufferRequest piece;
  piece.set_buffer_handle(buffer->handle());
  bool open = stream->Write(piece);
  piece.clear_buffer_handle();
  for (size_t at = 0; open && at < tensor.data.size(); at += kChunkBytes) {
    piece.set_data(tensor.data.data() + at, std::min(kChunkBytes, tensor.data.size() - at));
    open = stream->Write(piece);
  }
  stream->WritesDone();
  if (grpc::Status status = stream->Finish(); !status.ok())
    return ToAbsl(status);
  return buffer;
}

LeasedBuffer::~LeasedBuffer() {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kReleasePatience));
  context.AddMetadata(kRouteHeader, route_);
  v1::ReleaseBufferRequest request;
  request.set_buffer_handle(handle_);
  v1::ReleaseBufferReply reply;
  v1::DeviceService::Stub(channel_).ReleaseBuffer(&context, request, &reply);
}

} // namespace pyasc::client
