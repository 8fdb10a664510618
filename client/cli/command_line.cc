#include "client/cli/command_line.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace pyasc::cli {
namespace {

size_t EditDistance(absl::string_view a, absl::string_view b) {
  // Two neighbours exchanged count as one edit: the commonest slip.
  std::vector<size_t> row(b.size() + 1), above(row), before(row);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

absl::Status UnknownFlag(const Command &command, absl::string_view name) {
  std::vector<std::string> names;
  for (const Flag &flag : command.flags)
    names.push_back(flag.name);
  std::string hint = DidYouMean(name, names);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown flag ", name, hint.empty() ? "" : "; did you mean " + hint + "?"));
}

} // namespace

std::string Arguments::Get(absl::string_view flag, absl::string_view fallback) const {
  auto it = flags.find(std::string(flag));
  return it == flags.end() ? std::string(fallback) : it->second.back();
}

std::vector<std::string> Arguments::All(absl::string_view flag) const {
  auto it = flags.find(std::string(flag));
  return it == flags.end() ? std::vector<std::string>() : it->second;
}

absl::StatusOr<Arguments> ParseArguments(const Command &command,
                                         const std::vector<std::string> &words) {
  Arguments arguments;
  bool flags_ended = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string &word = words[i];
    if (flags_ended || word.size() < 2 || word[0] != '-') {
      arguments.positional.push_back(word);
      continue;
    }
    if (word == "--") {
      flags_ended = true;
      continue;
    }
    if (word == "--help" || word == "-h") {
      arguments.flags["--help"].push_back("");
      return arguments;
    }
    bool is_long = word[1] == '-';
    size_t name_end = is_long ? std::min(word.find('='), word.size()) : 2;
    std::string name = word.substr(0, name_end);
    auto flag = std::find_if(command.flags.begin(), command.flags.end(),
                             [&](const Flag &flag) { return name == flag.name; });
    if (flag == command.flags.end())
      return UnknownFlag(command, name);
    bool attached = name_end < word.size();
    if (!flag->value) {
      if (attached)
        return absl::InvalidArgumentError(absl::StrCat(name, " takes no value"));
      arguments.flags[name].push_back("");
    } else if (attached) {
      arguments.flags[name].push_back(word.substr(name_end + (is_long ? 1 : 0)));
    } else if (flag->implied &&
               (i + 1 == words.size() || (words[i + 1].size() > 1 && words[i + 1][0] == '-'))) {
      arguments.flags[name].push_back(flag->implied);
    } else if (i + 1 < words.size()) {
      arguments.flags[name].push_back(words[++i]);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(name, " needs a value: ", flag->value));
    }
  }
  if (arguments.positional.size() < command.min_positional)
    return absl::InvalidArgumentError(
        absl::StrCat("too few arguments; usage: pyasc ", command.name, " ", command.usage));
  if (arguments.positional.size() > command.max_positional)
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument '", arguments.positional[command.max_positional], "'"));
  return arguments;
}

std::string FormatHelp(const Command &command) {
  std::string text = absl::StrCat("usage: pyasc ", command.name, " ", command.usage, "\n\n",
                                  command.summary, "\n");
  if (!command.details.empty())
    absl::StrAppend(&text, "\n", command.details, "\n");
  if (!command.examples.empty()) {
    text += "\nexamples:\n";
    for (const std::string &example : command.examples)
      absl::StrAppend(&text, "  ", example, "\n");
  }
  text += "\nflags:\n";
  for (const Flag &flag : command.flags) {
    std::string left =
        absl::StrCat("  ", flag.name, flag.value ? " " : "", flag.value ? flag.value : "");
    left.resize(std::max<size_t>(left.size() + 1, 28), ' ');
    std::string help = flag.help;
    size_t at = 0;
    // A line break in the help keeps the column.
    while ((at = help.find('\n', at)) != std::string::npos)
      help.insert(++at, std::string(28, ' '));
    absl::StrAppend(&text, left, help, "\n");
  }
  return text;
}

std::string FormatOverview(const std::vector<Command> &commands) {
  std::string text = "usage: pyasc COMMAND ...\n"
                     "       pyasc --profile FILE -o kernel.o\n\n"
                     "Compiles Python-syntax kernels for Ascend, runs them and says where the time "
                     "goes.\n\ncommands:\n";
  for (const Command &command : commands) {
    std::string left = "  " + command.name;
    left.resize(std::max<size_t>(left.size() + 1, 14), ' ');
    absl::StrAppend(&text, left, command.summary, "\n");
  }
  text += "\n`pyasc COMMAND --help` tells more. `pyasc --version` prints the version.\n"
          "exit codes: 0 done, 1 the kernel is wrong, 2 usage, 3 the service or device failed,\n"
          "4 a gate failed, 75 try later, 130 interrupted\n";
  return text;
}

std::string DidYouMean(absl::string_view word, const std::vector<std::string> &candidates) {
  std::string best;
  // The dashes of flags are right in every candidate, and say nothing of how close it is.
  absl::string_view bare = absl::StripPrefix(word, "--");
  size_t best_distance = (bare.size() < 4 ? 1 : bare.size() < 8 ? 2 : 3) + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = EditDistance(bare, absl::StripPrefix(candidate, "--"));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

} // namespace pyasc::cli
