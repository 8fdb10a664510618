#include "server/daemon/daemon.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {

using std::chrono::milliseconds;

namespace {

// Compiles give way to what answers callers.
constexpr int kCompileNice = 5;
constexpr std::chrono::seconds kSweepInterval{60};
// For the small calls that admission does not count: health, operations, administration.
constexpr milliseconds kLastWrites{200};

} // namespace

Daemon::Daemon(const Config &config, Spawner &spawner, v1::GetCapabilitiesReply capabilities,
               std::string worker)
    : config_(config), spawner_(spawner), capabilities_(std::move(capabilities)),
      worker_(std::move(worker)), admission_(config.max_calls, metrics_),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

PooledBackend::Options Daemon::BackendOptions() const {
  PooledBackend::Options options;
  options.capabilities = capabilities_;
  options.build = {capabilities_.build_id(), HostCpuFeatures()};
  options.compile_time_limit = milliseconds(config_.compile_timeout_ms);
  options.compile = {
      .role = "compile",
      .what = "compile worker",
      .command = {.argv = {worker_, "--role=compile"},
                  .limits = {.memory_bytes = static_cast<uint64_t>(config_.compile_memory_bytes),
                             .nice = kCompileNice}},
      .workers = static_cast<size_t>(config_.compile_workers),
      .max_queue = static_cast<size_t>(config_.compile_queue)};
  for (const std::string &entry : config_.devices) {
    std::vector<std::string> parts = absl::StrSplit(entry, ':');
    int count = 0;
    (void)absl::SimpleAtoi(parts[1], &count); // checked by Validate
    for (int i = 0; i < count; ++i) {
      DevicePool::Options device;
      device.driver = parts[0];
      device.ordinal = i;
      device.time_limit = milliseconds(config_.run_timeout_ms);
      device.pool = {
          .role = "device",
          .what = absl::StrCat("device worker ", parts[0], ":", i),
          .command = {.argv = {worker_, "--role=device", absl::StrCat("--driver=", parts[0]),
                               absl::StrCat("--ordinal=", i)},
                      .limits = {.memory_bytes = static_cast<uint64_t>(config_.run_memory_bytes)}},
          .workers = 1,
          .max_queue = static_cast<size_t>(config_.device_queue)};
      options.devices.push_back(std::move(device));
    }
  }
  return options;
}

absl::Status Daemon::Start() {
  metrics_.build_info
      .Add({{"version", kVersion}, {"build", capabilities_.build_id().substr(0, 16)}})
      .Set(1);
  ArtifactCache::Options cache;
  cache.disk = {config_.cache_dir, static_cast<uint64_t>(config_.cache_max_bytes),
                std::chrono::hours(config_.cache_ttl_hours)};
  cache.memory_bytes = config_.cache_memory_bytes;
  cache.first_retry = std::chrono::seconds(config_.cache_retry_seconds);
  cache_ = std::make_unique<ArtifactCache>(cache, metrics_);
  backend_ = std::make_unique<PooledBackend>(BackendOptions(), *cache_, spawner_, metrics_);
  service_ = std::make_unique<ServiceContext>(
      ServiceContext{*backend_, metrics_, admission_, static_cast<uint64_t>(config_.max_run_bytes),
                     static_cast<uint64_t>(config_.max_total_run_bytes)});
  AdminServiceImpl::Hooks admin;
  admin.stats = [this] { return Stats(); };
  admin.shutdown = [this](uint32_t grace_seconds) {
    shutdown_grace_ms_ = int64_t{grace_seconds} * 1000;
    uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof(one));
  };
  auto rpc = RpcServer::Start({config_.listen, std::move(admin)}, *service_);
  if (!rpc.ok())
    return rpc.status();
  rpc_ = *std::move(rpc);
  if (config_.http_port) {
    HttpServer::Options http;
    http.listen = absl::StrCat(config_.http_address, ":", config_.http_port);
    http.before_scrape = [this] { UpdateMetrics(); };
    http.ready = [this] { return !admission_.draining(); };
    auto server = HttpServer::Start(std::move(http), metrics_);
    if (!server.ok())
      return server.status();
    http_ = *std::move(server);
  }
  rpc_->SetServing(true);
  for (const std::string &address : config_.listen)
    spdlog::info("serving on {}", address);
  return absl::OkStatus();
}

void Daemon::Run() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  UniqueFd signals(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  auto next_sweep = std::chrono::steady_clock::now() + kSweepInterval;
  milliseconds grace(config_.grace_seconds * 1000);
  for (;;) {
    pollfd entries[2] = {{signals.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(entries, 2, config_.idle_exit_seconds ? 1000 : 10'000);
    if (entries[0].revents) {
      spdlog::info("stopping on a signal");
      break;
    }
    if (entries[1].revents) {
      spdlog::info("stopping as asked");
      grace = milliseconds(shutdown_grace_ms_.load());
      break;
    }
    const bool idle = admission_.active() == 0 && rpc_->operations().running() == 0;
    if (config_.idle_exit_seconds && idle &&
        admission_.IdleTime() > std::chrono::seconds(config_.idle_exit_seconds)) {
      spdlog::info("stopping after {} idle seconds", config_.idle_exit_seconds);
      break;
    }
    if (std::chrono::steady_clock::now() >= next_sweep) {
      next_sweep = std::chrono::steady_clock::now() + kSweepInterval;
      cache_->Sweep();
      rpc_->operations().Sweep();
    }
  }
  Stop(grace);
}

void Daemon::Stop(milliseconds grace) {
  const auto deadline = std::chrono::steady_clock::now() + grace;
  rpc_->SetServing(false);
  admission_.Drain();
  backend_->Stop(deadline);
  // What is left are answers on their way and streams whose readers are slow. Afterwards only idle
  // connections remain, and a client that does not look at its own would keep gRPC waiting.
  admission_.WaitForCalls(deadline);
  rpc_->Shutdown(std::chrono::system_clock::now() + kLastWrites);
  http_.reset();
  rpc_.reset();
  backend_.reset();
  cache_.reset();
  spdlog::info("stopped");
}

v1::GetStatsReply Daemon::Stats() const {
  v1::GetStatsReply stats;
  stats.set_build_id(capabilities_.build_id());
  stats.set_version(kVersion);
  stats.set_uptime_seconds((std::chrono::steady_clock::now() - started_) / std::chrono::seconds(1));
  *stats.mutable_cache() = cache_->stats();
  for (v1::WorkerStats &worker : backend_->WorkerStats())
    *stats.add_workers() = std::move(worker);
  stats.set_compiles(backend_->compiles());
  stats.set_joined(backend_->joined());
  stats.set_flights(static_cast<uint32_t>(backend_->flights()));
  stats.set_pid(::getpid());
  return stats;
}

void Daemon::UpdateMetrics() {
  backend_->UpdateMetrics();
  cache_->UpdateMetrics();
}

} // namespace pyasc::server
