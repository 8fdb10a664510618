// The running daemon: puts the parts together and takes them apart in the right order.
#ifndef PYASC_SERVER_DAEMON_DAEMON_H
#define PYASC_SERVER_DAEMON_DAEMON_H

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "server/cache/artifact_cache.h"
#include "server/config/config.h"
#include "server/daemon/pooled_backend.h"
#include "server/daemon/service_manager.h"
#include "server/metrics/http_server.h"
#include "server/metrics/metrics.h"
#include "server/process/spawner.h"
#include "server/rpc/rpc_server.h"
#include "server/rpc/service_context.h"
#include "spdlog/common.h"

namespace pyasc::server {

inline constexpr char kVersion[] = "0.1.0";

// spdlog's name for a level of ours.
spdlog::level::level_enum LogLevel(const std::string &level);

class Daemon {
public:
  // `spawner` was started, and `capabilities` asked for, while the process had one thread.
  // `program` leads to the worker program that was asked, whatever has become of its path `worker`
  // since. `read_config` reads the configuration again, for SIGHUP.
  Daemon(const Config &config, Spawner &spawner, v1::GetCapabilitiesReply capabilities,
         std::string worker, std::string program, ServiceNotifier manager,
         std::function<absl::StatusOr<Config>()> read_config);
  // UNAVAILABLE: an address is taken.
  absl::Status Start();
  // Serves until SIGTERM or SIGINT, AdminService.Shutdown, or idleness; then stops cleanly. SIGHUP
  // reloads the configuration. REQUIRES: the three signals are blocked in every thread.
  void Run();

private:
  void Stop(std::chrono::milliseconds grace);
  void Reload();
  bool ready() const { return !admission_.draining() && !backend_->saturated(); }
  // Makes Run() look around.
  void Wake();
  PooledBackend::Options BackendOptions();
  std::vector<std::string> WorkerArguments(std::vector<std::string> arguments) const;
  v1::GetStatsReply Stats() const;
  absl::StatusOr<v1::ManageCacheReply> ManageCache(const v1::ManageCacheRequest &request);
  void UpdateMetrics();

  Config config_; // changes in Reload() only
  Spawner &spawner_;
  const v1::GetCapabilitiesReply capabilities_;
  const std::string worker_, program_;
  const ServiceNotifier manager_;
  const std::function<absl::StatusOr<Config>()> read_config_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  Metrics metrics_;
  Admission admission_;
  TenantTable tenants_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<ArtifactCache> cache_;
  std::unique_ptr<PooledBackend> backend_;
  std::unique_ptr<ServiceContext> service_;
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<HttpServer> http_;
  std::atomic<int64_t> shutdown_grace_ms_{-1}; // set by AdminService.Shutdown
  UniqueFd wake_;                              // eventfd
};

} // namespace pyasc::server

#endif // PYASC_SERVER_DAEMON_DAEMON_H
