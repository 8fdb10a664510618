// The command line: commands, their flags, and --help from the same table.
#ifndef PYASC_CLIENT_CLI_COMMAND_LINE_H
#define PYASC_CLIENT_CLI_COMMAND_LINE_H

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace pyasc::cli {

// Exit codes, fixed for scripts.
enum ExitCode {
  kDone = 0,
  kKernelWrong = 1,
  kUsage = 2,
  kServiceFailed = 3,
  kGateFailed = 4,
  kTryLater = 75,
  kInterrupted = 130,
};

struct Flag {
  // "--kernel" or "-o".
  const char *name;
  // What stands for its value in the help; nullptr for a switch.
  const char *value;
  const char *help;
  // The value when none follows ("--json" alone); nullptr: one has to follow. Only for commands
  // whose positional arguments cannot be mistaken for it.
  const char *implied = nullptr;
};

// What was given on the command line. A flag given twice keeps both values.
class Arguments {
public:
  bool Has(absl::string_view flag) const { return flags.contains(std::string(flag)); }
  // The last value given, or `fallback`.
  std::string Get(absl::string_view flag, absl::string_view fallback = "") const;
  std::vector<std::string> All(absl::string_view flag) const;

  std::map<std::string, std::vector<std::string>> flags;
  std::vector<std::string> positional;
};

struct Command {
  std::string name;
  // What follows the name: "FILE [flags]".
  std::string usage;
  // One line, and a paragraph or more below it.
  std::string summary;
  std::string details;
  // Shown as they are, one a line.
  std::vector<std::string> examples;
  std::vector<Flag> flags;
  size_t min_positional = 0;
  size_t max_positional = 0;
  int (*run)(const Arguments &arguments) = nullptr;
};

// Accepts "--flag value" and "--flag=value", "-o value" and "-ovalue", "--" before positional
// arguments. "--help" and "-h" always parse. Errors: INVALID_ARGUMENT, for the user.
absl::StatusOr<Arguments> ParseArguments(const Command &command,
                                         const std::vector<std::string> &words);

std::string FormatHelp(const Command &command);
std::string FormatOverview(const std::vector<Command> &commands);

// Closest of `candidates` to a mistyped word, "" when none is close.
std::string DidYouMean(absl::string_view word, const std::vector<std::string> &candidates);

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_COMMAND_LINE_H
