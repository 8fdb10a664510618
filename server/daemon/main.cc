// pyascd: reads its configuration, starts the helper that spawns workers while there is still one
// thread, then becomes the daemon.

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/config/config.h"
#include "server/core/sha256.h"
#include "server/daemon/daemon.h"
#include "server/daemon/describe_worker.h"
#include "server/process/spawner.h"
#include "spdlog/async.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace {

constexpr int kUsage = 2;
constexpr int kFailed = 3;

int Fail(int code, const absl::Status &status) {
  std::fprintf(stderr, "pyascd: %s\n", std::string(status.message()).c_str());
  return code;
}

std::string WorkerPath(const pyasc::server::Config &config) {
  if (!config.worker.empty())
    return config.worker;
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "pyasc-worker").string();
}

void StartLogging(const std::string &level) {
  // Asynchronous, and dropping the oldest lines before it would block: a log that nobody reads
  // must not stop the service.
  spdlog::init_thread_pool(8192, 1);
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = std::make_shared<spdlog::async_logger>(
      "pyascd", sink, spdlog::thread_pool(), spdlog::async_overflow_policy::overrun_oldest);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->set_level(pyasc::server::LogLevel(level));
  logger->flush_on(spdlog::level::warn);
  spdlog::set_default_logger(logger);
  spdlog::flush_every(std::chrono::seconds(1));
}

} // namespace

int main(int argc, char **argv) {
  using namespace pyasc::server;
  auto line = ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc),
                               [](const char *name) { return std::getenv(name); });
  if (!line.ok())
    return Fail(kUsage, line.status());
  if (line->help) {
    std::fputs(HelpText().c_str(), stdout);
    return 0;
  }
  if (line->version) {
    std::printf("pyascd %s\n", kVersion);
    return 0;
  }
  if (line->new_token) {
    unsigned char random[32];
    if (::getrandom(random, sizeof(random), 0) != sizeof(random))
      return Fail(kFailed, absl::InternalError("there is no randomness"));
    const std::string token = ToHex({reinterpret_cast<const char *>(random), sizeof(random)});
    std::printf("token: %s\ntoken_sha256: %s\n", token.c_str(), Sha256::HexOf(token).c_str());
    return 0;
  }
  // What is in force is told also when something is wrong with it: then most of all.
  if (line->check_config) {
    std::printf("# file: %s\n%s", line->config_file.empty() ? "none" : line->config_file.c_str(),
                ToYaml(line->config).c_str());
    std::fflush(stdout);
  }
  if (absl::Status s = Validate(line->config); !s.ok())
    return Fail(kUsage, s);
  if (line->check_config)
    return 0;

  std::signal(SIGPIPE, SIG_IGN);
  // Debian's Abseil keeps account of who locks what after what; gRPC's locks pay for it.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ServiceNotifier manager = ServiceNotifier::FromEnvironment();
  auto spawner = Spawner::Start();
  if (!spawner.ok())
    return Fail(kFailed, spawner.status());
  const std::string worker = WorkerPath(line->config);
  // Held for good: an upgrade replaces the file, and workers of another build would not fit this
  // daemon, whose keys name the build of this one.
  UniqueFd program(::open(worker.c_str(), O_PATH | O_CLOEXEC));
  if (!program.valid())
    return Fail(kFailed,
                absl::UnavailableError(absl::StrCat("cannot run the worker program ", worker)));
  const std::string held = absl::StrCat("/proc/", ::getpid(), "/fd/", program.get());
  auto capabilities = DescribeWorker(held, worker);
  if (!capabilities.ok())
    return Fail(kFailed, capabilities.status());

  // Blocked before any thread starts, so that all inherit it; Run takes them from a descriptor.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  StartLogging(line->config.log_level);
  capabilities->set_version(kVersion);
  spdlog::info("pyascd {} starts, worker build {}", kVersion,
               capabilities->build_id().substr(0, 16));
  {
    auto read_config = [&]() -> absl::StatusOr<Config> {
      auto again = ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc),
                                    [](const char *name) { return std::getenv(name); });
      if (!again.ok())
        return again.status();
      if (absl::Status s = Validate(again->config); !s.ok())
        return s;
      return std::move(again->config);
    };
    Daemon daemon(line->config, **spawner, *capabilities, worker, held, manager, read_config);
    if (absl::Status s = daemon.Start(); !s.ok()) {
      spdlog::shutdown();
      return Fail(kFailed, s);
    }
    daemon.Run();
  }
  spawner->reset();
  spdlog::shutdown();
  return 0;
}
