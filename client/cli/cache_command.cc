// pyasc cache: the service's artifact cache, looked at and looked after.

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "client/cli/format.h"
#include "client/cli/report_text.h"
#include "client/cli/session.h"

namespace pyasc::cli {
namespace {

std::string CacheText(const v1::CacheStats &cache) {
  const uint64_t asked = cache.hits() + cache.misses();
  std::string text = absl::StrFormat("kind      %s\nentries   %d\non disk   %s\nin memory %s\n",
                                     cache.kind(), cache.entries(), FormatBytes(cache.disk_bytes()),
                                     FormatBytes(cache.memory_bytes()));
  absl::StrAppendFormat(&text, "asked     %d times, %s\n", asked,
                        asked ? FormatPercent(double(cache.hits()) / asked) + " hits"
                              : "never hit");
  absl::StrAppendFormat(&text, "evicted   %s\n", FormatBytes(cache.evicted_bytes()));
  absl::StrAppendFormat(
      &text, "damage    %d records, %d logs, %d databases set aside; %d failed writes\n",
      cache.corrupt_records(), cache.damaged_logs(), cache.set_aside(), cache.write_failures());
  if (!cache.path().empty())
    absl::StrAppend(&text, "path      ", cache.path(), "\n");
  if (!cache.disk_fault().empty())
    absl::StrAppend(&text, "the disk is not used now: ", cache.disk_fault(), "\n");
  return text;
}

struct Action {
  const char *name;
  v1::ManageCacheRequest::Action action; // UNSPECIFIED: stats
};
constexpr Action kActions[] = {{"stats", v1::ManageCacheRequest::ACTION_UNSPECIFIED},
                               {"scrub", v1::ManageCacheRequest::ACTION_SCRUB},
                               {"compact", v1::ManageCacheRequest::ACTION_COMPACT},
                               {"clear", v1::ManageCacheRequest::ACTION_CLEAR}};

int Run(const Arguments &arguments) {
  const Action *wanted = nullptr;
  for (const Action &action : kActions)
    if (arguments.positional[0] == action.name)
      wanted = &action;
  if (!wanted)
    return UsageError(absl::InvalidArgumentError(absl::StrCat(
        "pyasc cache takes stats, scrub, compact or clear, not '", arguments.positional[0], "'")));
  if (IsLocal(arguments))
    return UsageError(absl::InvalidArgumentError(
        "a worker of this command alone has no cache: ask a service, without --local"));
  ProgressLine line(!arguments.Has("--quiet"));
  absl::StatusOr<client::CallOptions> options = MakeCallOptions(arguments, &line);
  if (!options.ok())
    return UsageError(options.status());
  absl::StatusOr<std::unique_ptr<client::Client>> connected = Connect(arguments);
  if (!connected.ok()) {
    line.Clear();
    return Fail(connected.status());
  }
  v1::ManageCacheReply reply;
  absl::Status status;
  if (wanted->action == v1::ManageCacheRequest::ACTION_UNSPECIFIED) {
    auto stats = (*connected)->GetStats(*options);
    status = stats.status();
    if (stats.ok())
      *reply.mutable_cache() = stats->cache();
  } else {
    auto done = (*connected)->ManageCache(wanted->action, *options);
    status = done.status();
    if (done.ok())
      reply = *std::move(done);
  }
  line.Clear();
  if (!status.ok())
    return Fail(status);
  if (arguments.Has("--json")) {
    absl::Status written = WriteTo(arguments.Get("--json"), MessageJson(reply));
    return written.ok() ? kDone : UsageError(written);
  }
  if (wanted->action == v1::ManageCacheRequest::ACTION_SCRUB)
    std::printf("looked at %llu records: %llu were damaged and are gone\n",
                static_cast<unsigned long long>(reply.records()),
                static_cast<unsigned long long>(reply.damaged()));
  std::fputs(CacheText(reply.cache()).c_str(), stdout);
  return kDone;
}

} // namespace

Command CacheCommand() {
  Command command;
  command.name = "cache";
  command.usage = "stats|scrub|compact|clear [--json [FILE]] [flags]";
  command.summary = "Look at the service's artifact cache, or look after it.";
  command.details =
      "`scrub` reads every record and deletes those that are damaged; `compact` gives "
      "the disk what\ndeleted records still take; `clear` deletes all artifacts. Only "
      "on the service's Unix socket.";
  command.examples = {"pyasc cache stats", "pyasc cache scrub", "pyasc cache clear"};
  command.flags =
      Concat({{"--json", "FILE", "write JSON; - and no FILE are standard output", /*implied=*/"-"}},
             ServiceFlags());
  command.min_positional = command.max_positional = 1;
  command.run = Run;
  return command;
}

} // namespace pyasc::cli
