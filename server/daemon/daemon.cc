#include "server/daemon/daemon.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

// What is set, or else what fits into the time limit.
std::chrono::seconds CpuOfJob(int64_t set, int64_t timeout_ms, unsigned cores) {
  return std::chrono::seconds(set ? set : (timeout_ms + 999) / 1000 * cores);
}

// Of a worker, however many jobs it does; it is replaced before it gets there. A bound that nothing
// in the worker can put off, unlike that of a job, which is a signal.
uint64_t CpuOfLife(std::chrono::seconds job) { return 20 * job.count() + 3600; }

} // namespace

spdlog::level::level_enum LogLevel(const std::string &level) {
  return spdlog::level::from_str(level == "warn" ? "warning" : level);
}

Daemon::Daemon(const Config &config, Spawner &spawner, v1::GetCapabilitiesReply capabilities,
               std::string worker, std::string program, ServiceNotifier manager,
               std::function<absl::StatusOr<Config>()> read_config)
    : config_(config), spawner_(spawner), capabilities_(std::move(capabilities)),
      worker_(std::move(worker)), program_(std::move(program)), manager_(std::move(manager)),
      read_config_(std::move(read_config)), admission_(config.max_calls, metrics_),
      tenants_(metrics_), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

std::vector<std::string> Daemon::WorkerArguments(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), worker_);
  if (!config_.worker_sandbox)
    arguments.push_back("--no-sandbox");
  return arguments;
}

PooledBackend::Options Daemon::BackendOptions() {
  PooledBackend::Options options;
  options.capabilities = capabilities_;
  options.build = {capabilities_.build_id(), HostCpuFeatures()};
  options.poison_time = std::chrono::seconds(config_.poison_seconds);
  if (!config_.cache_dir.empty())
    options.crash_directory = config_.cache_dir + "/crashes";
  options.compile_time_limit = milliseconds(config_.compile_timeout_ms);
  // A compile has one thread; a run may have one on each core.
  const auto compile_cpu = CpuOfJob(config_.compile_cpu_seconds, config_.compile_timeout_ms, 1);
  const auto run_cpu = CpuOfJob(config_.run_cpu_seconds, config_.run_timeout_ms,
                                std::max(1u, std::thread::hardware_concurrency()));
  options.compile = {
      .role = "compile",
      .what = "compile worker",
      .command = {.program = program_,
                  .argv = WorkerArguments({"--role=compile"}),
                  .limits = {.memory_bytes = static_cast<uint64_t>(config_.compile_memory_bytes),
                             .cpu_seconds = CpuOfLife(compile_cpu),
                             .nice = kCompileNice}},
      .workers = static_cast<size_t>(config_.compile_workers),
      .max_queue = static_cast<size_t>(config_.compile_queue),
      .max_jobs = static_cast<uint64_t>(config_.worker_max_jobs),
      .max_rss_bytes = static_cast<uint64_t>(config_.worker_max_rss_bytes),
      .job_cpu = compile_cpu,
      .on_pressure = [this] { Wake(); }};
  for (const std::string &entry : config_.devices) {
    std::vector<std::string> parts = absl::StrSplit(entry, ':');
    int count = 0;
    (void)absl::SimpleAtoi(parts[1], &count); // checked by Validate
    for (int i = 0; i < count; ++i) {
      DevicePool::Options device;
      device.driver = parts[0];
      device.ordinal = i;
      device.time_limit = milliseconds(config_.run_timeout_ms);
      device.lease_time = milliseconds(config_.device_lease_ms);
      device.on_unwell = [this] { Wake(); };
      device.pool = {
          .role = "device",
          .what = absl::StrCat("device worker ", parts[0], ":", i),
          .command = {.program = program_,
                      .argv = WorkerArguments({"--role=device", absl::StrCat("--driver=", parts[0]),
                                               absl::StrCat("--ordinal=", i)}),
                      .limits = {.memory_bytes = static_cast<uint64_t>(config_.run_memory_bytes),
                                 .cpu_seconds = CpuOfLife(run_cpu)}},
          .workers = static_cast<size_t>(config_.device_runs),
          .max_queue = static_cast<size_t>(config_.device_queue),
          .job_cpu = run_cpu};
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
  cache.negative_ttl = std::chrono::seconds(config_.cache_negative_ttl_seconds);
  cache.first_retry = std::chrono::seconds(config_.cache_retry_seconds);
  if (!config_.redis.empty()) {
    std::ifstream file(config_.redis_key_file, std::ios::binary);
    cache.redis.address = config_.redis;
    cache.redis.fleet_key.assign(std::istreambuf_iterator<char>(file), {});
    cache.redis.timeout = std::chrono::milliseconds(config_.redis_timeout_ms);
    if (config_.cache_ttl_hours > 0)
      cache.redis.ttl = std::chrono::hours(config_.cache_ttl_hours);
    if (cache.redis.fleet_key.size() < 32)
      return absl::InvalidArgumentError(
          absl::StrCat(config_.redis_key_file, ": a key has 32 bytes or more"));
  }
  cache_ = std::make_unique<ArtifactCache>(cache, metrics_);
  backend_ = std::make_unique<PooledBackend>(BackendOptions(), *cache_, spawner_, metrics_);
  tenants_.Configure(config_.tenants);
  if (!config_.audit_log.empty()) {
    auto audit = AuditLog::Open(config_.audit_log);
    if (!audit.ok())
      return audit.status();
    audit_ = *std::move(audit);
  }
  service_.reset(new ServiceContext{*backend_, metrics_, admission_, tenants_, audit_.get(),
                                    static_cast<uint64_t>(config_.max_run_bytes),
                                    static_cast<uint64_t>(config_.max_total_run_bytes),
                                    static_cast<uint64_t>(config_.max_buffer_bytes)});
  AdminServiceImpl::Hooks admin;
  admin.stats = [this] { return Stats(); };
  admin.shutdown = [this](uint32_t grace_seconds) {
    shutdown_grace_ms_ = int64_t{grace_seconds} * 1000;
    Wake();
  };
  admin.manage_cache = [this](const v1::ManageCacheRequest &request) {
    return ManageCache(request);
  };
  absl::StatusOr<SocketGuests> guests = ParseSocketGuests(config_.socket_guests);
  if (!guests.ok())
    return guests.status();
  auto rpc = RpcServer::Start(
      {.listen = config_.listen,
       .tls_certificate = config_.tls_certificate,
       .tls_key = config_.tls_key,
       .tls_client_ca = config_.tls_client_ca,
       .tls_refresh_seconds = config_.tls_refresh_seconds,
       .guests = *std::move(guests),
       .operations_file = config_.cache_dir.empty() ? "" : config_.cache_dir + "/operations",
       .admin = std::move(admin)},
      *service_);
  if (!rpc.ok())
    return rpc.status();
  rpc_ = *std::move(rpc);
  rpc_->SetServing(true);
  if (config_.http_port) {
    HttpServer::Options http;
    http.listen = absl::StrCat(config_.http_address, ":", config_.http_port);
    http.before_scrape = [this] { UpdateMetrics(); };
    http.ready = [this] { return ready(); };
    auto server = HttpServer::Start(std::move(http), metrics_);
    if (!server.ok())
      return server.status();
    http_ = *std::move(server);
  }
  for (const std::string &address : config_.listen)
    spdlog::info("serving on {}", address);
  manager_.Tell(absl::StrCat("READY=1\nMAINPID=", ::getpid(), "\nSTATUS=serving on ",
                             absl::StrJoin(config_.listen, ", ")));
  return absl::OkStatus();
}

void Daemon::Wake() {
  uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));
}

void Daemon::Run() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGHUP);
  UniqueFd signals(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  auto next_sweep = std::chrono::steady_clock::now() + kSweepInterval;
  milliseconds grace(config_.grace_seconds * 1000);
  bool said_ready = true;
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    const auto next_look = std::min(backend_->TendDevices(), service_->buffers.Sweep(now)) - now;
    auto longest = milliseconds(config_.idle_exit_seconds ? 1000 : 10'000);
    if (auto interval = manager_.watchdog_interval()) {
      longest = std::min(longest, *interval);
      manager_.Tell("WATCHDOG=1");
    }
    pollfd entries[2] = {{signals.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(entries, 2,
           static_cast<int>(std::clamp(std::chrono::duration_cast<milliseconds>(next_look),
                                       milliseconds(10), longest)
                                .count()));
    signalfd_siginfo signal{};
    if (entries[0].revents && ::read(signals.get(), &signal, sizeof(signal)) > 0) {
      if (signal.ssi_signo != SIGHUP) {
        spdlog::info("stopping on a signal");
        break;
      }
      Reload();
    }
    uint64_t wakes;
    (void)!::read(wake_.get(), &wakes, sizeof(wakes));
    if (shutdown_grace_ms_ >= 0) {
      spdlog::info("stopping as asked");
      grace = milliseconds(shutdown_grace_ms_.load());
      break;
    }
    if (ready() != said_ready) {
      said_ready = !said_ready;
      rpc_->SetReady(said_ready);
    }
    const bool idle = admission_.active() == 0 && rpc_->operations().running() == 0 &&
                      service_->buffers.count() == 0;
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

void Daemon::Reload() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  manager_.Tell(absl::StrCat("RELOADING=1\nMONOTONIC_USEC=",
                             int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000));
  absl::StatusOr<Config> fresh = read_config_();
  if (fresh.ok()) {
    ApplyReloadable(*fresh, &config_);
    spdlog::set_level(LogLevel(config_.log_level));
    admission_.SetMaxCalls(config_.max_calls);
    tenants_.Configure(config_.tenants);
    service_->max_run_bytes = config_.max_run_bytes;
    service_->max_total_bytes = config_.max_total_run_bytes;
    service_->buffers.SetLimits(config_.max_buffer_bytes, config_.max_total_run_bytes);
    spdlog::info("the configuration was read again");
    const std::vector<std::string> others = DifferingSettings(config_, *fresh);
    if (!others.empty())
      spdlog::warn("these settings have changed and wait for a restart: {}",
                   absl::StrJoin(others, ", "));
  } else {
    spdlog::error("the configuration is wrong, and what was in force stays: {}",
                  std::string(fresh.status().message()));
  }
  manager_.Tell("READY=1");
}

void Daemon::Stop(milliseconds grace) {
  manager_.Tell(absl::StrCat("STOPPING=1\nSTATUS=finishing what runs, for at most ",
                             grace.count() / 1000, " s"));
  const auto deadline = std::chrono::steady_clock::now() + grace;
  rpc_->SetServing(false);
  admission_.Drain();
  backend_->Stop(deadline);
  // What is left are answers on their way and streams whose readers are slow. Afterwards only idle
  // connections remain, and a client that does not look at its own would keep gRPC waiting.
  admission_.WaitForCalls(deadline);
  cache_->Interrupt();
  rpc_->Shutdown(std::chrono::system_clock::now() + kLastWrites);
  http_.reset();
  rpc_.reset();
  backend_.reset();
  cache_.reset();
  audit_.reset();
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
  service_->buffers.Sweep(std::chrono::steady_clock::now());
  stats.set_buffers(service_->buffers.count());
  stats.set_buffer_bytes(service_->buffers.bytes());
  return stats;
}

absl::StatusOr<v1::ManageCacheReply> Daemon::ManageCache(const v1::ManageCacheRequest &request) {
  v1::ManageCacheReply reply;
  absl::Status status;
  switch (request.action()) {
  case v1::ManageCacheRequest::ACTION_SCRUB: {
    auto scrubbed = cache_->Scrub();
    status = scrubbed.status();
    if (scrubbed.ok()) {
      spdlog::info("cache: scrubbed {} records, {} were damaged", scrubbed->records,
                   scrubbed->damaged);
      reply.set_records(scrubbed->records);
      reply.set_damaged(scrubbed->damaged);
    }
    break;
  }
  case v1::ManageCacheRequest::ACTION_COMPACT:
    status = cache_->Compact();
    break;
  case v1::ManageCacheRequest::ACTION_CLEAR:
    spdlog::warn("cache: cleared as asked");
    status = cache_->Clear();
    break;
  default:
    status = absl::InvalidArgumentError("no such action");
  }
  if (!status.ok())
    return status;
  *reply.mutable_cache() = cache_->stats();
  return reply;
}

void Daemon::UpdateMetrics() {
  backend_->UpdateMetrics();
  cache_->UpdateMetrics();
  metrics_.buffer_bytes.Add({}).Set(static_cast<double>(service_->buffers.bytes()));
}

} // namespace pyasc::server
