// The gRPC server with every service of pyasc on it, for pyascd and for `pyasc-worker
// --role=local`.
#ifndef PYASC_SERVER_RPC_RPC_SERVER_H
#define PYASC_SERVER_RPC_RPC_SERVER_H

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/grpcpp.h"
#include "server/rpc/compiler_service.h"
#include "server/rpc/execution_service.h"
#include "server/rpc/operations.h"
#include "server/rpc/small_services.h"
#include "server/rpc/unix_listener.h"

namespace pyasc::server {

class RpcServer {
public:
  struct Options {
    // "unix:/path", "127.0.0.1:port".
    std::vector<std::string> listen;
    // PEM files for addresses that are no Unix sockets; "": no TLS. With a client CA callers need a
    // certificate. The files are read again when they change.
    std::string tls_certificate, tls_key, tls_client_ca;
    int64_t tls_refresh_seconds = 60;
    // Who may use the Unix sockets besides our own user and root.
    SocketGuests guests;
    // Where operations outlive the process; "": they do not.
    std::string operations_file;
    // Health, reflection, artifacts and administration are the daemon's.
    std::optional<AdminServiceImpl::Hooks> admin;
  };
  // UNAVAILABLE: an address cannot be bound, or another process serves the socket.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(Options options, ServiceContext &service);
  ~RpcServer();

  // Health of every service, of "" and of "readiness"; "liveness" stays.
  void SetServing(bool serving);
  // Health of "readiness" alone: whether more work should be sent here.
  void SetReady(bool ready);
  // Ends calls that still run at `deadline`.
  void Shutdown(std::chrono::system_clock::time_point deadline);
  OperationStore &operations() { return operations_; }

private:
  RpcServer(Options options, ServiceContext &service);
  std::shared_ptr<grpc::ServerCredentials> TcpCredentials() const;
  absl::Status LockSockets();
  // Opens the Unix sockets; their connections come to gRPC by way of us.
  absl::Status OpenSockets(grpc::ServerBuilder &builder);
  void RefuseStranger(const PeerCredentials &peer);

  ServiceContext &service_;
  Options options_;
  prometheus::Counter &strangers_;
  Executor executor_{1};
  Executor admin_executor_{1}; // a scrub takes minutes; nobody's artifact waits for it
  OperationStore operations_{4096};
  CompilerServiceImpl compiler_;
  ExecutionServiceImpl execution_;
  OperationsService operations_service_;
  ArtifactServiceImpl artifacts_;
  DeviceServiceImpl devices_;
  std::optional<AdminServiceImpl> admin_;
  std::vector<UniqueFd> locks_;
  using Acceptor = std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>;
  Acceptor owners_, guests_; // guests_: null without guests
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<UnixListener>> listeners_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_RPC_SERVER_H
