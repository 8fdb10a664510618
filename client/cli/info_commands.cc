// pyasc devices and pyasc stats: what the service has and does.

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "client/cli/format.h"
#include "client/cli/report_text.h"
#include "client/cli/session.h"

namespace pyasc::cli {
namespace {

const char *StateName(v1::DeviceState state) {
  switch (state) {
  case v1::DEVICE_STATE_HEALTHY:
    return "healthy";
  case v1::DEVICE_STATE_SUSPECT:
    return "suspect";
  case v1::DEVICE_STATE_QUARANTINED:
    return "quarantined";
  case v1::DEVICE_STATE_PROBING:
    return "probing";
  default:
    return "unknown";
  }
}

// "held (#12), 9.5 s left, 1 lost", "held by 2 (#13), ...": lost are leases whose workers fell
// silent, late the results that came all the same.
std::string LeaseText(const v1::DeviceLease &lease) {
  if (lease.token() == 0)
    return "never used";
  const std::string by = lease.holders() > 1 ? absl::StrCat(" by ", lease.holders()) : "";
  std::string text = lease.held() ? absl::StrFormat("held%s (#%d), %.1f s left", by, lease.token(),
                                                    static_cast<double>(lease.expires_ms()) / 1000)
                                  : absl::StrFormat("free (#%d)", lease.token());
  if (lease.lost())
    absl::StrAppend(&text, ", ", lease.lost(), " lost");
  if (lease.late_results())
    absl::StrAppend(&text, ", ", lease.late_results(), " late");
  return text;
}

std::string DevicesText(const v1::ListDevicesReply &reply) {
  if (reply.devices().empty())
    return "no devices\n";
  std::string text =
      absl::StrFormat("%-8s %-24s %-12s %-11s %5s %7s %9s %6s  %s\n", "device", "name", "soc",
                      "state", "cube", "vector", "memory", "queue", "lease");
  for (const v1::DeviceInfo &device : reply.devices())
    absl::StrAppend(
        &text, absl::StrFormat("%-8s %-24s %-12s %-11s %5d %7d %9s %6d  %s\n",
                               absl::StrCat(device.driver(), ":", device.ordinal()), device.name(),
                               device.soc(), StateName(device.state()), device.cube_cores(),
                               device.vector_cores(),
                               device.memory_bytes() ? FormatKibibytes(device.memory_bytes()) : "-",
                               device.queue_length(),
                               device.has_lease() ? LeaseText(device.lease()) : "-"));
  return text;
}

std::string StatsText(const v1::GetStatsReply &stats) {
  const v1::CacheStats &cache = stats.cache();
  uint64_t asked = cache.hits() + cache.misses();
  std::string text = absl::StrFormat(
      "pyascd %s, build %s, process %d, up %s\n"
      "compiles  %d, joined %d, under way %d\n"
      "cache     %s: %d entries, %s on disk; %d hits, %d misses (%s)\n",
      stats.version(), stats.build_id().substr(0, 16), stats.pid(),
      absl::FormatDuration(absl::Seconds(stats.uptime_seconds())), stats.compiles(), stats.joined(),
      stats.flights(), cache.kind(), cache.entries(), FormatBytes(cache.disk_bytes()), cache.hits(),
      cache.misses(),
      asked ? FormatPercent(double(cache.hits()) / asked) + " hits" : "not asked yet");
  if (!cache.path().empty())
    absl::StrAppend(&text, "          at ", cache.path(), "\n");
  if (!cache.disk_fault().empty())
    absl::StrAppend(&text, "          the disk is not used now: ", cache.disk_fault(), "\n");
  if (cache.write_failures() || cache.corrupt_records() || cache.damaged_logs())
    absl::StrAppend(&text, "          ", cache.write_failures(), " failed writes, ",
                    cache.corrupt_records(), " damaged records, ", cache.damaged_logs(),
                    " damaged logs\n");
  for (const v1::WorkerStats &worker : stats.workers())
    absl::StrAppend(
        &text, absl::StrFormat("workers   %-8s %d alive, %d busy, %d queued; %d jobs started, "
                               "%d finished, %d restarts\n",
                               worker.role(), worker.alive(), worker.busy(), worker.queue_depth(),
                               worker.jobs_started(), worker.jobs_finished(), worker.restarts()));
  if (stats.buffers())
    absl::StrAppend(&text, "buffers   ", stats.buffers(), " leased, ",
                    FormatBytes(stats.buffer_bytes()), "\n");
  return text;
}

// Connects, asks, prints the reply as a table or as JSON.
template <typename Ask, typename Render>
int Show(const Arguments &arguments, Ask ask, Render render) {
  ProgressLine line(!arguments.Has("--quiet"));
  absl::StatusOr<client::CallOptions> options = MakeCallOptions(arguments, &line);
  if (!options.ok())
    return UsageError(options.status());
  if (!arguments.Has("--timeout"))
    options->timeout = absl::Seconds(30);
  absl::StatusOr<std::unique_ptr<client::Client>> connected = Connect(arguments);
  if (!connected.ok()) {
    line.Clear();
    return Fail(connected.status());
  }
  auto reply = ask(**connected, *options);
  line.Clear();
  if (!reply.ok())
    return Fail(reply.status());
  if (arguments.Has("--json")) {
    absl::Status status = WriteTo(arguments.Get("--json"), MessageJson(*reply));
    return status.ok() ? kDone : UsageError(status);
  }
  std::fputs(render(*reply).c_str(), stdout);
  return kDone;
}

} // namespace

// A daemon that has just started does not know its devices yet: their workers are asked first.
absl::StatusOr<v1::ListDevicesReply> ListReadyDevices(client::Client &client,
                                                      const client::CallOptions &options) {
  constexpr absl::Duration kPatience = absl::Seconds(10);
  absl::Time deadline = absl::Now() + std::min(options.timeout, kPatience);
  for (;;) {
    absl::StatusOr<v1::ListDevicesReply> reply = client.ListDevices(options);
    if (!reply.ok() || absl::Now() >= deadline ||
        std::none_of(reply->devices().begin(), reply->devices().end(),
                     [](const auto &device) { return device.state() == v1::DEVICE_STATE_PROBING; }))
      return reply;
    absl::SleepFor(absl::Milliseconds(50));
  }
}

namespace {

int RunDevices(const Arguments &arguments) {
  return Show(
      arguments,
      [](client::Client &client, const client::CallOptions &options) {
        return ListReadyDevices(client, options);
      },
      DevicesText);
}

int RunStats(const Arguments &arguments) {
  if (IsLocal(arguments))
    return UsageError(absl::InvalidArgumentError(
        "a worker of this command alone has no statistics: ask a service, without --local"));
  return Show(
      arguments,
      [](client::Client &client, const client::CallOptions &options) {
        return client.GetStats(options);
      },
      StatsText);
}

Command InfoCommand(const char *name, const char *summary, int (*run)(const Arguments &)) {
  Command command;
  command.name = name;
  command.usage = "[--json [FILE]] [flags]";
  command.summary = summary;
  command.examples = {absl::StrCat("pyasc ", name), absl::StrCat("pyasc ", name, " --json")};
  command.flags =
      Concat({{"--json", "FILE", "write JSON; - and no FILE are standard output", /*implied=*/"-"}},
             ServiceFlags());
  command.run = run;
  return command;
}

} // namespace

Command DevicesCommand() {
  return InfoCommand("devices", "List the devices of the service.", RunDevices);
}

Command StatsCommand() {
  return InfoCommand("stats", "Show what the service's cache and workers have done.", RunStats);
}

} // namespace pyasc::cli
