#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/process/spawner.h"
#include "server/rpc/rpc_server.h"
#include "server/worker/in_process_backend.h"
#include "server/worker/sandbox.h"
#include "server/worker/self_description.h"
#include "server/worker/serve.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {
namespace {

constexpr int kUsage = 2;
constexpr int kFailed = 3;

constexpr char kUsageText[] =
    "pyasc-worker: compiles and runs kernels. Started by pyascd and by `pyasc --local`.\n\n"
    "  --role=compile                    serve compiles to pyascd on descriptor 3\n"
    "  --role=device --driver=NAME [--ordinal=N]\n"
    "                                    serve one device to pyascd on descriptor 3\n"
    "  --no-sandbox                      with the two above: for debuggers and profilers\n"
    "  --role=local --listen=unix:PATH   serve the public API in one process; prints `ready`,\n"
    "                                    ends when standard input does\n"
    "  --describe                        print a serialised pyasc.v1.GetCapabilitiesReply\n";

int Fail(int code, absl::string_view message) {
  std::fprintf(stderr, "pyasc-worker: %.*s\n", static_cast<int>(message.size()), message.data());
  return code;
}

[[noreturn]] void OutOfMemory() {
  constexpr char kMessage[] = "pyasc-worker: out of memory\n";
  (void)!::write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  ::_exit(kExitOutOfMemory);
}

int Describe(const Engine &engine) {
  InProcessBackend backend(engine);
  v1::GetCapabilitiesReply reply = backend.capabilities();
  reply.clear_features();
  if (reply.build_id().empty())
    return Fail(kFailed, "cannot read this program and its libraries");
  return reply.SerializeToOstream(&std::cout) && std::cout.flush() ? 0 : kFailed;
}

// Serves the daemon until it hangs up, sandboxed.
int ServeDaemon(const Engine &engine, DeviceRunner *runner, bool sandbox) {
  if (engine.sandbox && sandbox)
    if (absl::Status s = EnterSandbox(); !s.ok())
      return Fail(kFailed, s.message());
  return ServeWorker(FrameChannel(UniqueFd(kWorkerSocket)), engine, runner);
}

int ServeDevice(const Engine &engine, const std::string &driver, uint32_t ordinal, bool sandbox) {
  for (const Engine::DriverEntry &entry : engine.drivers) {
    if (entry.name != driver)
      continue;
    auto runner = DeviceRunner::Open(entry.make(), ordinal);
    if (!runner.ok())
      return Fail(kFailed, runner.status().message());
    return ServeDaemon(engine, runner->get(), sandbox);
  }
  return Fail(kUsage, absl::StrCat("there is no driver '", driver, "'"));
}

int ServeLocal(const Engine &engine, const std::string &listen) {
  // Standard output is for the word `ready` alone.
  spdlog::set_default_logger(spdlog::stderr_logger_mt("pyasc-worker"));
  spdlog::set_level(spdlog::level::err);
  InProcessBackend backend(engine);
  Metrics metrics; // the services count; nobody reads
  Admission admission(1024, metrics);
  const uint64_t memory =
      static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  TenantTable tenants(metrics); // its caller alone
  ServiceContext service{backend, metrics, admission, tenants, nullptr, memory, memory};
  auto rpc = RpcServer::Start({.listen = {listen}}, service);
  if (!rpc.ok())
    return Fail(kFailed, rpc.status().message());
  std::printf("ready\n");
  std::fflush(stdout);
  char ignored[256];
  while (::read(STDIN_FILENO, ignored, sizeof(ignored)) > 0) {
  }
  // The one caller is gone: a compile or a run that still works is of use to nobody.
  if (listen.starts_with("unix:"))
    ::unlink(listen.c_str() + 5);
  std::fflush(nullptr);
  ::_exit(0);
}

} // namespace

int WorkerMain(int argc, char **argv, const Engine &engine) {
  std::string role, driver, listen;
  uint32_t ordinal = 0;
  bool describe = false, sandbox = true;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    auto value = [&](std::string_view name) { return std::string(argument.substr(name.size())); };
    if (argument == "--help") {
      std::fputs(kUsageText, stdout);
      return 0;
    }
    if (argument == "--describe")
      describe = true;
    else if (argument == "--no-sandbox")
      sandbox = false;
    else if (argument.starts_with("--role="))
      role = value("--role=");
    else if (argument.starts_with("--driver="))
      driver = value("--driver=");
    else if (argument.starts_with("--listen="))
      listen = value("--listen=");
    else if (!argument.starts_with("--ordinal=") ||
             !absl::SimpleAtoi(value("--ordinal="), &ordinal))
      return Fail(kUsage,
                  absl::StrCat("unknown argument '", std::string(argument), "'; see --help"));
  }
  ::prctl(PR_SET_NAME, "pyasc-worker"); // else that of the descriptor that it was started by
  std::signal(SIGPIPE, SIG_IGN);
  std::set_new_handler(OutOfMemory);
  if (describe)
    return Describe(engine);
  if (role == "compile")
    return ServeDaemon(engine, nullptr, sandbox);
  if (role == "device")
    return ServeDevice(engine, driver, ordinal, sandbox);
  if (role == "local" && listen.starts_with("unix:"))
    return ServeLocal(engine, listen);
  return Fail(kUsage, "give --role=compile, device or local (with --listen=unix:PATH); see --help");
}

} // namespace pyasc::server
