// pyasc server: the user's own daemon, started, stopped and looked at by hand.

#include <cstdio>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "client/cpp/daemon.h"
#include "client/cpp/files.h"
#include "client/cpp/process.h"

namespace pyasc::cli {
namespace {

constexpr absl::Duration kStartTimeout = absl::Seconds(20);

int Start(const client::DaemonPaths &paths, const Arguments &arguments) {
  bool was_running = client::IsListening(paths.socket);
  absl::Status status = client::EnsureDaemon(BinDirectory(), paths, kStartTimeout);
  if (!status.ok())
    return Fail(status);
  if (arguments.Has("--address"))
    std::printf("%s\n", paths.address().c_str());
  else
    std::printf("pyascd %s at %s\n", was_running ? "was already running" : "listens",
                paths.address().c_str());
  return kDone;
}

absl::StatusOr<std::unique_ptr<client::Client>> ConnectRunning(const client::DaemonPaths &paths) {
  client::ServiceOptions options;
  options.server = paths.address();
  return client::Client::Connect(options);
}

int Stop(const client::DaemonPaths &paths, const Arguments &arguments) {
  if (!client::IsListening(paths.socket)) {
    std::printf("pyascd is not running\n");
    return kDone;
  }
  uint32_t grace = 10;
  if (arguments.Has("--grace") && !absl::SimpleAtoi(arguments.Get("--grace"), &grace))
    return UsageError(absl::InvalidArgumentError("--grace takes a whole number of seconds"));
  absl::StatusOr<std::unique_ptr<client::Client>> connected = ConnectRunning(paths);
  if (!connected.ok())
    return Fail(connected.status());
  client::CallOptions options;
  options.timeout = absl::Seconds(grace + 10);
  absl::Status status = (*connected)->Shutdown(grace, options);
  // A daemon that is gone before its reply has done as it was told.
  if (!status.ok() && !absl::IsUnavailable(status))
    return Fail(status);
  connected->reset();
  absl::Time deadline = absl::Now() + options.timeout;
  while (client::IsListening(paths.socket)) {
    if (absl::Now() >= deadline)
      return Fail(absl::UnavailableError(
          absl::StrCat("pyascd still listens at ", paths.address(), "; see ", paths.log)));
    absl::SleepFor(absl::Milliseconds(10));
  }
  std::printf("pyascd stopped\n");
  return kDone;
}

int ShowStatus(const client::DaemonPaths &paths, const Arguments &) {
  if (!client::IsListening(paths.socket)) {
    std::printf("pyascd is not running (build %s)\n", paths.build.c_str());
    return kServiceFailed;
  }
  absl::StatusOr<std::unique_ptr<client::Client>> connected = ConnectRunning(paths);
  if (!connected.ok())
    return Fail(connected.status());
  client::CallOptions options;
  options.timeout = absl::Seconds(10);
  absl::StatusOr<v1::GetStatsReply> stats = (*connected)->GetStats(options);
  if (!stats.ok())
    return Fail(stats.status());
  std::printf("pyascd is running: process %llu, up %s\naddress   %s\nbuild     %s\nlog       "
              "%s\ncache     %s\n",
              static_cast<unsigned long long>(stats->pid()),
              absl::FormatDuration(absl::Seconds(stats->uptime_seconds())).c_str(),
              paths.address().c_str(), paths.build.c_str(), paths.log.c_str(),
              paths.cache_dir.c_str());
  return kDone;
}

// Prints what the log grows by until interrupted; a log that shrinks was begun anew.
void Follow(const std::string &path) {
  struct stat st;
  off_t shown = ::stat(path.c_str(), &st) == 0 ? st.st_size : 0;
  for (;;) {
    absl::SleepFor(absl::Milliseconds(200));
    if (::stat(path.c_str(), &st) != 0 || st.st_size == shown)
      continue;
    if (st.st_size < shown)
      shown = 0;
    absl::StatusOr<std::string> content = client::ReadFile(path);
    if (!content.ok() || off_t(content->size()) < shown)
      continue;
    std::fwrite(content->data() + shown, 1, content->size() - shown, stdout);
    std::fflush(stdout);
    shown = content->size();
  }
}

int Logs(const client::DaemonPaths &paths, const Arguments &arguments) {
  int lines = 50;
  if (arguments.Has("-n") && (!absl::SimpleAtoi(arguments.Get("-n"), &lines) || lines < 0))
    return UsageError(absl::InvalidArgumentError("-n takes a number of lines"));
  if (::access(paths.log.c_str(), R_OK) != 0) {
    std::fprintf(stderr, "pyasc: error: there is no log yet at %s\n", paths.log.c_str());
    return kServiceFailed;
  }
  std::fputs(client::Tail(paths.log, lines).c_str(), stdout);
  std::fflush(stdout);
  if (arguments.Has("--follow"))
    Follow(paths.log);
  return kDone;
}

int Run(const Arguments &arguments) {
  struct Action {
    const char *name;
    int (*run)(const client::DaemonPaths &, const Arguments &);
  };
  const std::string &wanted = arguments.positional[0];
  for (const Action &action : {Action{"start", Start}, Action{"stop", Stop},
                               Action{"status", ShowStatus}, Action{"logs", Logs}}) {
    if (wanted != action.name)
      continue;
    absl::StatusOr<client::DaemonPaths> paths = client::FindDaemon(BinDirectory());
    if (!paths.ok())
      return Fail(paths.status());
    return action.run(*paths, arguments);
  }
  return UsageError(absl::InvalidArgumentError(
      absl::StrCat("pyasc server takes start, stop, status or logs, not '", wanted, "'")));
}

} // namespace

Command ServerCommand() {
  Command command;
  command.name = "server";
  command.usage = "start|stop|status|logs [flags]";
  command.summary = "Start, stop or look at your own daemon.";
  command.details = "Every command that needs the daemon starts it; it leaves by itself after ten "
                    "idle minutes.\n`status` ends with 3 when it is not running.";
  command.examples = {"pyasc server status", "pyasc server logs --follow", "pyasc server stop"};
  command.flags = {{"--address", nullptr, "start: print the address alone"},
                   {"--grace", "SECONDS", "stop: how long running work may take; default 10"},
                   {"-n", "LINES", "logs: how many of the last lines; default 50"},
                   {"--follow", nullptr, "logs: go on printing until interrupted"}};
  command.min_positional = command.max_positional = 1;
  command.run = Run;
  return command;
}

} // namespace pyasc::cli
