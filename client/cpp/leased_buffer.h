// A tensor that a service keeps for this client: DeviceService.CreateBuffer in the service's proto.
#ifndef PYASC_CLIENT_CPP_LEASED_BUFFER_H
#define PYASC_CLIENT_CPP_LEASED_BUFFER_H

#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/tensor.h"

namespace pyasc::client {

class LeasedBuffer {
public:
  // Leases a buffer for `tensor` and sends it. RESOURCE_EXHAUSTED: the service has no room for it;
  // UNIMPLEMENTED: it is too old.
  static absl::StatusOr<std::unique_ptr<LeasedBuffer>>
  Create(const std::shared_ptr<grpc::Channel> &channel, const Tensor &tensor,
         const std::string &route, absl::Time deadline);
  // Gives it back. A service that cannot be reached does so when the lease ends.
  ~LeasedBuffer();
  LeasedBuffer(const LeasedBuffer &) = delete;
  LeasedBuffer &operator=(const LeasedBuffer &) = delete;

  const std::string &handle() const { return handle_; }

private:
  LeasedBuffer(std::shared_ptr<grpc::Channel> channel, std::string handle, std::string route)
      : channel_(std::move(channel)), handle_(std::move(handle)), route_(std::move(route)) {}

  const std::shared_ptr<grpc::Channel> channel_;
  const std::string handle_, route_;
};

} // namespace pyasc::client

#endif // PYASC_CLIENT_CPP_LEASED_BUFFER_H
