#include "server/rpc/rpc_server.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {
namespace {

constexpr int kMaxReceiveBytes = 64 << 20; // a batch of requests; single ones are 1 MiB of text

constexpr int kMaxStreams = 1000;
constexpr size_t kMaxBufferBytes = size_t{2} << 30;

constexpr const char *kServices[] = {
    "pyasc.v1.CompilerService", "pyasc.v1.ExecutionService", "pyasc.v1.ArtifactService",
    "pyasc.v1.DeviceService",   "pyasc.v1.AdminService",     "google.longrunning.Operations",
};

std::string SocketPath(const std::string &address) {
  return address.starts_with("unix:") ? address.substr(5) : "";
}

} // namespace

RpcServer::RpcServer(Options options, ServiceContext &service)
    : service_(service), options_(std::move(options)),
      strangers_(service.metrics.admission_rejected_total.Add({{"reason", "socket_peer"}})),
      compiler_(service, operations_), execution_(service, operations_),
      operations_service_(service, operations_), artifacts_(service, executor_), devices_(service) {
  if (options_.admin)
    admin_.emplace(service, *options_.admin, admin_executor_);
}

std::shared_ptr<grpc::ServerCredentials> RpcServer::TcpCredentials() const {
  namespace tls = grpc::experimental;
  if (options_.tls_certificate.empty())
    return grpc::InsecureServerCredentials();
  auto files = std::make_shared<tls::FileWatcherCertificateProvider>(
      options_.tls_key, options_.tls_certificate, options_.tls_client_ca,
      static_cast<unsigned>(options_.tls_refresh_seconds));
  tls::TlsServerCredentialsOptions credentials(files);
  credentials.watch_identity_key_cert_pairs();
  if (!options_.tls_client_ca.empty()) {
    credentials.watch_root_certs();
    credentials.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(credentials);
}

absl::Status RpcServer::LockSockets() {
  // A socket that is in the way is removed: nobody may serve it.
  for (const std::string &address : options_.listen) {
    const std::string path = SocketPath(address);
    if (path.empty())
      continue;
    const std::string lock_path = path + ".lock";
    UniqueFd lock(::open(lock_path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock.valid())
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", lock_path));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
      return absl::UnavailableError(absl::StrCat("another server listens on ", address));
    locks_.push_back(std::move(lock));
  }
  return absl::OkStatus();
}

absl::Status RpcServer::OpenSockets(grpc::ServerBuilder &builder) {
  using grpc::ServerBuilder;
  for (const std::string &address : options_.listen) {
    if (SocketPath(address).empty())
      continue;
    auto listener = UnixListener::Listen(SocketPath(address), options_.guests);
    if (!listener.ok())
      return listener.status();
    listeners_.push_back(*std::move(listener));
  }
  constexpr auto kFromFd = ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD;
  if (!listeners_.empty())
    owners_ = builder.experimental().AddExternalConnectionAcceptor(
        kFromFd, grpc::InsecureServerCredentials());
  // These credentials exchange nothing either, but calls show that they came this way.
  if (!listeners_.empty() && !options_.guests.empty())
    guests_ = builder.experimental().AddExternalConnectionAcceptor(
        kFromFd, grpc::experimental::LocalServerCredentials(UDS));
  return absl::OkStatus();
}

void RpcServer::RefuseStranger(const PeerCredentials &peer) {
  strangers_.Increment();
  spdlog::warn("user {} (process {}) may not use the Unix socket: refused", peer.uid, peer.pid);
  if (service_.audit)
    service_.audit->Write({.tenant = "",
                           .peer = absl::StrCat("unix:uid=", peer.uid, ",pid=", peer.pid),
                           .method = "connect",
                           .code = "PERMISSION_DENIED",
                           .request_id = "",
                           .kernel = ""});
}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(Options options,
                                                            ServiceContext &service) {
  std::unique_ptr<RpcServer> rpc(new RpcServer(std::move(options), service));
  if (absl::Status s = rpc->LockSockets(); !s.ok())
    return s;
  if (!rpc->options_.operations_file.empty())
    if (absl::Status s = rpc->operations_.KeepAt(rpc->options_.operations_file); !s.ok())
      spdlog::warn("operations will not survive a restart: {}", std::string(s.message()));
  if (rpc->admin_) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  }
  grpc::ServerBuilder builder;
  if (absl::Status s = rpc->OpenSockets(builder); !s.ok())
    return s;
  std::vector<int> ports(rpc->options_.listen.size(), 1);
  for (size_t i = 0; i < ports.size(); ++i)
    if (const std::string &address = rpc->options_.listen[i]; SocketPath(address).empty())
      builder.AddListeningPort(address, rpc->TcpCredentials(), &ports[i]);
  // A compressed message may unfold to any size.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetMaxReceiveMessageSize(kMaxReceiveBytes);
  // gRPC itself takes in whatever comes: one connection may have so many calls under way (its
  // further ones wait on their side), and all together so much memory in buffers.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.SetResourceQuota(grpc::ResourceQuota("pyascd").Resize(kMaxBufferBytes));
  builder.SetMaxSendMessageSize(-1);
  // Two servers on one TCP port would share its callers at random.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.RegisterService(&rpc->compiler_);
  builder.RegisterService(&rpc->execution_);
  builder.RegisterService(&rpc->operations_service_);
  builder.RegisterService(&rpc->devices_);
  if (rpc->admin_) {
    builder.RegisterService(&rpc->artifacts_);
    builder.RegisterService(&*rpc->admin_);
  }
  rpc->server_ = builder.BuildAndStart();
  for (size_t i = 0; i < ports.size(); ++i)
    if (!rpc->server_ || ports[i] == 0)
      return absl::UnavailableError(absl::StrCat("cannot listen on ", rpc->options_.listen[i]));
  for (const auto &listener : rpc->listeners_)
    listener->Serve(
        {.on_connection =
             [rpc = rpc.get()](int listener, int fd, PeerKind kind) {
               grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
               connection.listener_fd = listener;
               connection.fd = fd;
               auto &acceptor = kind == PeerKind::kGuest ? rpc->guests_ : rpc->owners_;
               acceptor->HandleNewConnection(&connection);
             },
         .on_stranger =
             [rpc = rpc.get()](const PeerCredentials &peer) { rpc->RefuseStranger(peer); }});
  return rpc;
}

RpcServer::~RpcServer() {
  if (server_)
    Shutdown(std::chrono::system_clock::now());
  // The lock files stay: removing one would let two servers lock two files of one name.
}

void RpcServer::SetServing(bool serving) {
  grpc::HealthCheckServiceInterface *health = server_->GetHealthCheckService();
  if (!health)
    return;
  for (const char *name : kServices)
    health->SetServingStatus(name, serving);
  health->SetServingStatus("", serving);
  health->SetServingStatus("readiness", serving);
  health->SetServingStatus("liveness", true);
}

void RpcServer::SetReady(bool ready) {
  if (grpc::HealthCheckServiceInterface *health = server_->GetHealthCheckService())
    health->SetServingStatus("readiness", ready);
}

void RpcServer::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (!server_)
    return;
  operations_.Stop();
  listeners_.clear(); // gRPC would not close what it gets from now on
  server_->Shutdown(deadline);
  server_->Wait();
  server_.reset();
}

} // namespace pyasc::server
