// pyasc: the command line.

#include <algorithm>
#include <cstdio>

#include "client/cli/commands.h"
#include "client/cli/session.h"

namespace pyasc::cli {
namespace {

int Main(std::vector<std::string> words) {
  std::vector<Command> commands = {CompileCommand(),    RunCommand(),     ProfileCommand(),
                                   SimCommand(),        CheckCommand(),   BatchCommand(),
                                   OperationsCommand(), DevicesCommand(), StatsCommand(),
                                   CacheCommand(),      ServerCommand(),  DoctorCommand()};
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    std::fputs(FormatOverview(commands).c_str(), words.empty() ? stderr : stdout);
    return words.empty() ? kUsage : kDone;
  }
  if (words[0] == "--version") {
    std::printf("pyasc %s\n", kVersion);
    return kDone;
  }
  // `pyasc --profile FILE -o kernel.o` is `pyasc compile --profile FILE -o kernel.o`.
  if (std::find(words.begin(), words.end(), "--profile") != words.end() && words[0][0] == '-')
    words.insert(words.begin(), "compile");
  auto command = std::find_if(commands.begin(), commands.end(),
                              [&](const Command &command) { return command.name == words[0]; });
  if (command == commands.end()) {
    std::vector<std::string> names;
    names.reserve(commands.size());
    for (const Command &candidate : commands)
      names.push_back(candidate.name);
    std::string hint = DidYouMean(words[0], names);
    std::fprintf(stderr, "pyasc: error: unknown command '%s'%s; see pyasc --help\n",
                 words[0].c_str(), hint.empty() ? "" : ("; did you mean '" + hint + "'?").c_str());
    return kUsage;
  }
  words.erase(words.begin());
  absl::StatusOr<Arguments> arguments = ParseArguments(*command, words);
  if (!arguments.ok()) {
    std::fprintf(stderr, "pyasc %s: error: %s; see pyasc %s --help\n", command->name.c_str(),
                 std::string(arguments.status().message()).c_str(), command->name.c_str());
    return kUsage;
  }
  if (arguments->Has("--help")) {
    std::fputs(FormatHelp(*command).c_str(), stdout);
    return kDone;
  }
  InstallSignalHandlers();
  return command->run(*arguments);
}

} // namespace
} // namespace pyasc::cli

int main(int argc, char **argv) {
  const int code = pyasc::cli::Main(std::vector<std::string>(argv + 1, argv + argc));
  // What was printed into a full disk is lost: that is no success.
  if ((std::fflush(stdout) != 0 || std::ferror(stdout)) && code == pyasc::cli::kDone) {
    std::fputs("pyasc: error: the output could not be written\n", stderr);
    return pyasc::cli::kServiceFailed;
  }
  return code;
}
