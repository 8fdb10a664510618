// pyasc operations: work that goes on in the service without its caller, looked at, waited for and
// ended.

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "client/cli/format.h"
#include "client/cli/report_text.h"
#include "client/cli/session.h"

namespace pyasc::cli {

using google::longrunning::Operation;

namespace {

const char *OutcomeWord(const v1::CompileBatchItem &item) {
  switch (item.outcome()) {
  case v1::OUTCOME_OK:
    return "compiled";
  case v1::OUTCOME_REJECTED:
    return "rejected";
  case v1::OUTCOME_FAILED:
    return "the compiler failed";
  default:
    return "the service failed";
  }
}

// Of the item that went worst.
int CodeOf(const v1::CompileBatchResult &result) {
  int code = kDone;
  for (const v1::CompileBatchItem &item : result.items())
    code = std::max<int>(code, item.outcome() == v1::OUTCOME_OK         ? kDone
                               : item.outcome() == v1::OUTCOME_REJECTED ? kKernelWrong
                                                                        : kServiceFailed);
  return code;
}

void ShowBatch(const v1::CompileBatchResult &result) {
  int compiled = 0;
  for (int i = 0; i < result.items_size(); ++i) {
    const v1::CompileBatchItem &item = result.items(i);
    std::printf("%5d  %-20s %s%s\n", i, item.kernel().c_str(), OutcomeWord(item),
                item.outcome() == v1::OUTCOME_OK
                    ? absl::StrCat(", key ", item.request_key()).c_str()
                : item.has_error() ? (": " + item.error().message()).c_str()
                                   : "");
    // The sources are not at hand: positions without paths.
    std::fputs(RenderDiagnostics(item.diagnostics(), {item.kernel()}, false, false).c_str(),
               stdout);
    if (item.diagnostics_left_out())
      std::printf("%d further messages are left out\n", item.diagnostics_left_out());
    compiled += item.outcome() == v1::OUTCOME_OK;
  }
  std::printf("%d of %d kernels compiled\n", compiled, result.items_size());
}

std::string StateOf(const Operation &operation) {
  v1::RunMetadata metadata;
  operation.metadata().UnpackTo(&metadata);
  std::string state = operation.has_error() ? absl::StrCat("failed: ", operation.error().message())
                      : operation.done()    ? "done"
                                            : metadata.progress().stage();
  if (!operation.done() && metadata.progress().has_fraction())
    absl::StrAppend(&state, " ", FormatPercent(metadata.progress().fraction()));
  return absl::StrFormat("%-8s %s", metadata.kind(), state.empty() ? "queued" : state);
}

struct Action {
  const char *name;
  bool named;
};
constexpr Action kActions[] = {
    {"list", false}, {"show", true}, {"wait", true}, {"cancel", true}, {"delete", true}};

int Act(client::Client &client, const std::string &action, const std::string &name,
        const client::CallOptions &options, const Arguments &arguments) {
  if (action == "cancel" || action == "delete") {
    absl::Status status = action == "cancel" ? client.CancelOperation(name, options)
                                             : client.DeleteOperation(name, options);
    return status.ok() ? kDone : Fail(status);
  }
  if (action == "show") {
    auto operation = client.GetOperation(name, options);
    return operation.ok() ? ShowOperation(*operation, arguments) : Fail(operation.status());
  }
  auto all = client.ListOperations(options);
  if (!all.ok())
    return Fail(all.status());
  google::longrunning::ListOperationsResponse response;
  for (Operation &operation : *all)
    *response.add_operations() = std::move(operation);
  if (arguments.Has("--json")) {
    absl::Status written = WriteTo(arguments.Get("--json"), MessageJson(response));
    return written.ok() ? kDone : UsageError(written);
  }
  for (const Operation &operation : response.operations())
    std::printf("%s  %s\n", operation.name().c_str(), StateOf(operation).c_str());
  return kDone;
}

int Run(const Arguments &arguments) {
  const std::string action = arguments.positional.empty() ? "list" : arguments.positional[0];
  auto known = std::find_if(std::begin(kActions), std::end(kActions),
                            [&](const Action &one) { return one.name == action; });
  if (known == std::end(kActions))
    return UsageError(absl::InvalidArgumentError(absl::StrCat(
        "pyasc operations takes list, show, wait, cancel or delete, not '", action, "'")));
  if (known->named != (arguments.positional.size() == 2))
    return UsageError(absl::InvalidArgumentError(
        known->named ? absl::StrCat(action, " takes the operation's name") : "list takes no name"));
  if (IsLocal(arguments))
    return UsageError(absl::InvalidArgumentError(
        "a worker of this command alone has no operations: ask a service, without --local"));
  const std::string name = known->named ? arguments.positional[1] : "";
  ProgressLine line(!arguments.Has("--quiet"));
  absl::StatusOr<client::CallOptions> options = MakeCallOptions(arguments, &line);
  if (!options.ok())
    return UsageError(options.status());
  absl::StatusOr<std::unique_ptr<client::Client>> connected = Connect(arguments);
  line.Clear();
  if (!connected.ok())
    return Fail(connected.status());
  return action == "wait" ? AwaitOperation(**connected, name, arguments)
                          : Act(**connected, action, name, *options, arguments);
}

} // namespace

int ShowOperation(const Operation &operation, const Arguments &arguments) {
  const bool json = arguments.Has("--json");
  if (json)
    if (absl::Status s = WriteTo(arguments.Get("--json"), MessageJson(operation)); !s.ok())
      return UsageError(s);
  if (operation.has_error())
    return Fail(absl::Status(static_cast<absl::StatusCode>(operation.error().code()),
                             operation.error().message()));
  v1::CompileBatchResult batch;
  if (operation.done() && operation.response().UnpackTo(&batch)) {
    if (!json)
      ShowBatch(batch);
    return CodeOf(batch);
  }
  if (!json)
    std::printf("%s\n", StateOf(operation).c_str());
  return kDone;
}

int AwaitOperation(client::Client &client, const std::string &name, const Arguments &arguments) {
  absl::StatusOr<Operation> operation;
  {
    ProgressLine line(!arguments.Has("--quiet"));
    absl::StatusOr<client::CallOptions> options = MakeCallOptions(arguments, &line);
    if (!options.ok())
      return UsageError(options.status());
    operation = client.AwaitOperation(name, *options);
  }
  if (absl::IsDeadlineExceeded(operation.status())) {
    std::fprintf(stderr, "pyasc: note: it still runs; see pyasc operations wait %s\n",
                 name.c_str());
    return kTryLater;
  }
  return operation.ok() ? ShowOperation(*operation, arguments) : Fail(operation.status());
}

Command OperationsCommand() {
  Command command;
  command.name = "operations";
  command.usage = "[list|show|wait|cancel|delete] [NAME] [--json [FILE]] [flags]";
  command.summary = "Look at work that goes on in the service, wait for it or end it.";
  command.details =
      "Operations are batches (`pyasc batch`) and profiles. `show` says how far one is, or its\n"
      "results; `wait` does so when it is done, and exits with 75 where it still runs after\n"
      "--timeout; `cancel` ends it; `delete` forgets it. Each caller sees their own.";
  command.examples = {"pyasc operations",
                      "pyasc operations wait operations/4e1f.9ac2 --timeout 3600"};
  command.flags =
      Concat({{"--json", "FILE", "write JSON; - and no FILE are standard output", /*implied=*/"-"}},
             ServiceFlags());
  command.max_positional = 2;
  command.run = Run;
  return command;
}

} // namespace pyasc::cli
