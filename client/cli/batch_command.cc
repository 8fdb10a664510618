// pyasc batch: many compiles handed in at once, to be fetched now or later.

#include <cstdio>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "client/cpp/files.h"

namespace pyasc::cli {
namespace {

// A line's words, with quotes as a shell has them; nullopt: one is not closed.
std::optional<std::vector<std::string>> Words(absl::string_view line) {
  std::vector<std::string> words;
  bool inside = false; // a word
  char quote = '\0';
  for (char c : line) {
    if (quote ? c == quote : (c == '\'' || c == '"')) {
      if (!inside)
        words.emplace_back();
      inside = true;
      quote = quote ? '\0' : c;
    } else if (!quote && absl::ascii_isspace(static_cast<unsigned char>(c))) {
      inside = false;
    } else {
      if (!inside)
        words.emplace_back();
      inside = true;
      words.back() += c;
    }
  }
  return quote ? std::nullopt : std::optional(words);
}

absl::StatusOr<v1::CompileRequest> ReadItem(const std::vector<std::string> &words) {
  Command item;
  item.name = "batch";
  item.flags = KernelFlags();
  item.min_positional = item.max_positional = 1;
  absl::StatusOr<Arguments> arguments = ParseArguments(item, words);
  if (!arguments.ok())
    return arguments.status();
  absl::StatusOr<KernelInput> input = ReadKernelInput(arguments->positional[0], *arguments);
  if (!input.ok())
    return input.status();
  AddAnnotatedArguments(&*input);
  return std::move(input->request);
}

absl::StatusOr<v1::CompileBatchRequest> ReadList(const std::string &path) {
  absl::StatusOr<std::string> text = client::ReadFile(path);
  if (!text.ok())
    return text.status();
  v1::CompileBatchRequest batch;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    ++number;
    auto words = Words(line);
    if (words && (words->empty() || words->front()[0] == '#'))
      continue;
    absl::StatusOr<v1::CompileRequest> item =
        words ? ReadItem(*words) : absl::InvalidArgumentError("a quote is not closed");
    if (!item.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": ", std::string(item.status().message())));
    *batch.add_requests() = *std::move(item);
  }
  if (batch.requests().empty())
    return absl::InvalidArgumentError(absl::StrCat(path, " names no kernel"));
  return batch;
}

int Run(const Arguments &arguments) {
  absl::StatusOr<v1::CompileBatchRequest> batch = ReadList(arguments.positional[0]);
  if (!batch.ok())
    return UsageError(batch.status());
  if (IsLocal(arguments) && arguments.Has("--detach"))
    return UsageError(absl::InvalidArgumentError(
        "a worker of this command alone ends with it: ask a service, without --local"));
  ProgressLine line(!arguments.Has("--quiet"));
  absl::StatusOr<client::CallOptions> options = MakeCallOptions(arguments, &line);
  if (!options.ok())
    return UsageError(options.status());
  absl::StatusOr<std::unique_ptr<client::Client>> connected = Connect(arguments);
  auto operation = connected.ok() ? (*connected)->StartBatch(*batch, *options) : connected.status();
  line.Clear();
  if (!operation.ok())
    return Fail(operation.status());
  if (!arguments.Has("--detach"))
    return AwaitOperation(**connected, operation->name(), arguments);
  std::printf("%s\n", operation->name().c_str());
  return kDone;
}

} // namespace

Command BatchCommand() {
  Command command;
  command.name = "batch";
  command.usage = "LIST [--detach] [--json [FILE]] [flags]";
  command.summary = "Compile many kernels, and wait for them or not.";
  command.details =
      "Each line of LIST is what follows `pyasc compile` for one kernel: FILE and flags of the\n"
      "kernel; lines that begin with # say nothing. The service goes on when this command has\n"
      "ended; `pyasc operations wait NAME` shows the results, for an hour after they are there.\n"
      "A service that is started anew ends what ran: hand the list in again, what was compiled is\n"
      "in its cache. The exit code is that of the kernel that went worst.";
  command.examples = {
      "pyasc batch kernels.txt", "pyasc batch kernels.txt --detach",
      "echo \"matmul.py --arg 'A=f32[64,64]' --arg 'B=f32[64,64]'\" >> kernels.txt"};
  command.flags =
      Concat({{"--detach", nullptr, "do not wait: print the operation's name"},
              {"--json", "FILE", "write JSON; - and no FILE are standard output", /*implied=*/"-"}},
             ServiceFlags());
  command.min_positional = command.max_positional = 1;
  command.run = Run;
  return command;
}

} // namespace pyasc::cli
