// The tensors that a caller of Run hands over: checked, counted against the service's bounds, and
// gathered chunk by chunk in shared memory.
#ifndef PYASC_SERVER_RPC_RUN_INPUTS_H
#define PYASC_SERVER_RPC_RUN_INPUTS_H

#include <map>
#include <memory>
#include <string>

#include "pyasc/v1/execution.pb.h"
#include "server/process/tensor_memory.h"
#include "server/rpc/buffers.h"
#include "server/rpc/service_context.h"

namespace pyasc::server {

// Bytes taken from the budgets of the service and of a tenant, given back by the destructor.
class ByteLease {
public:
  ByteLease(ServiceContext &service, TenantPtr tenant)
      : service_(service), tenant_(std::move(tenant)) {}
  ~ByteLease() {
    service_.admission.GiveBytes(held_);
    tenant_->GiveBytes(held_);
  }
  ByteLease(const ByteLease &) = delete;
  ByteLease &operator=(const ByteLease &) = delete;
  // RESOURCE_EXHAUSTED: more than one run may hold, or than the service has left.
  // `what` they are for completes "of it for ...".
  absl::Status Take(int64_t bytes, const char *what);

private:
  ServiceContext &service_;
  const TenantPtr tenant_;
  uint64_t held_ = 0;
};

class RunInputs {
public:
  struct Tensor {
    v1::TensorType type;
    TensorMemory memory;
    int64_t filled = 0;
    bool chunked = false;
    std::shared_ptr<BufferStore::Use> buffer; // whose contents the memory is
  };

  RunInputs(ServiceContext &service, TenantPtr tenant)
      : service_(service), tenant_(tenant), lease_(service, std::move(tenant)) {}
  // Takes the arguments of `start`; inline data is moved out of it, and types that are left to
  // buffers are put in. RESOURCE_EXHAUSTED, NOT_FOUND (no such buffer).
  // REQUIRES: CheckRunStart() let it pass.
  absl::Status Accept(v1::RunStart &start);
  absl::Status Append(const v1::TensorChunk &chunk);
  // All chunks are there. Afterwards nobody can write the tensors any more.
  absl::Status Seal();

  std::map<std::string, Tensor> &tensors() { return tensors_; }
  ByteLease &lease() { return lease_; }

private:
  absl::Status TakeBuffer(const std::string &name, v1::TensorValue &value);

  ServiceContext &service_;
  const TenantPtr tenant_;
  ByteLease lease_;
  std::map<std::string, Tensor> tensors_;
};

// The signature that `start` asks to be compiled for: compile.arguments, and for what is not named
// there the types of the values.
void CompleteSignature(v1::RunStart &start);

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_RUN_INPUTS_H
