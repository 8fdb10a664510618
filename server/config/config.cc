#include "server/config/config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <unistd.h>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace pyasc::server {
namespace {

using Field =
    std::variant<std::string Config::*, int64_t Config::*, std::vector<std::string> Config::*>;

struct Setting {
  const char *name; // as in a file; the flag has dashes, the variable PYASCD_ and capitals
  Field field;
  const char *value; // what it takes, for the help
  const char *help;
  int64_t min = 0;
  int64_t max = INT64_MAX;
  bool reloadable = false; // takes effect at SIGHUP
};

// One line a setting.
const std::vector<Setting> &Settings() {
  static const std::vector<Setting> settings = {
      {"listen", &Config::listen, "ADDRESS",
       "unix:/path or 127.0.0.1:port; may be given several times"},
      {"http_address", &Config::http_address, "IP", "address of /metrics, /livez, /readyz"},
      {"http_port", &Config::http_port, "PORT", "port of /metrics, /livez, /readyz; 0: none", 0,
       65535},
      {"cache_dir", &Config::cache_dir, "DIR", "artifact cache; empty: in memory only"},
      {"cache_max_bytes", &Config::cache_max_bytes, "BYTES",
       "cap of the cache on disk, garbage included", 1 << 20},
      {"cache_memory_bytes", &Config::cache_memory_bytes, "BYTES", "cap of the cache in memory"},
      {"cache_retry_seconds", &Config::cache_retry_seconds, "SECONDS",
       "a cache directory that failed is tried again after so long, then after twice that, ...", 1,
       3600},
      {"cache_negative_ttl_seconds", &Config::cache_negative_ttl_seconds, "SECONDS",
       "a rejected kernel is rejected again without a compile for so long; 0: never", 0, 86'400},
      {"cache_ttl_hours", &Config::cache_ttl_hours, "HOURS",
       "artifacts unused for so long are dropped; 0: never", 0, 100 * 365 * 24},
      {"worker", &Config::worker, "PATH",
       "the worker program; default: pyasc-worker beside pyascd"},
      {"worker_sandbox", &Config::worker_sandbox, "0|1",
       "workers give up files, network and processes; 0: for debuggers only", 0, 1},
      {"worker_max_jobs", &Config::worker_max_jobs, "N",
       "a compile worker is replaced after so many jobs; 0: never", 0, 1'000'000'000},
      {"worker_max_rss_bytes", &Config::worker_max_rss_bytes, "BYTES",
       "and when it keeps more memory than that after a job; 0: never"},
      {"poison_seconds", &Config::poison_seconds, "S",
       "a kernel that crashed the compiler twice is refused for so long; 0: never", 0, 86'400},
      {"devices", &Config::devices, "DRIVER:COUNT",
       "devices to serve: sim:1, host:1; may be given several times"},
      {"compile_workers", &Config::compile_workers, "N", "compile worker processes", 1, 256},
      {"compile_queue", &Config::compile_queue, "N", "compiles that may wait", 1, 1'000'000},
      {"compile_timeout_ms", &Config::compile_timeout_ms, "MS", "longest time of one compile", 100,
       3'600'000},
      {"compile_memory_bytes", &Config::compile_memory_bytes, "BYTES",
       "address space of a compile worker; 0: no limit"},
      {"device_queue", &Config::device_queue, "N", "runs that may wait for a device", 1, 1'000'000},
      {"run_timeout_ms", &Config::run_timeout_ms, "MS", "longest time that a run may hold a device",
       100, 24 * 3'600'000},
      {"run_memory_bytes", &Config::run_memory_bytes, "BYTES",
       "address space of a device worker; 0: no limit"},
      {"max_run_bytes", &Config::max_run_bytes, "BYTES", "largest sum of the tensors of one run", 0,
       INT64_MAX, true},
      {"max_total_run_bytes", &Config::max_total_run_bytes, "BYTES",
       "largest sum of the tensors of all runs at a time", 0, INT64_MAX, true},
      {"max_calls", &Config::max_calls, "N", "calls that may be under way at a time", 1, 1'000'000,
       true},
      {"idle_exit_seconds", &Config::idle_exit_seconds, "S",
       "end after so long without a call; 0: never", 0, 1 << 30},
      {"grace_seconds", &Config::grace_seconds, "S",
       "how long running work may go on after SIGTERM", 0, 86'400, true},
      {"log_level", &Config::log_level, "LEVEL", "debug, info, warn or error", 0, INT64_MAX, true},
  };
  return settings;
}

std::string FlagName(const Setting &setting) {
  return absl::StrCat("--", absl::StrReplaceAll(setting.name, {{"_", "-"}}));
}

std::string VariableName(const Setting &setting) {
  std::string name = absl::StrCat("PYASCD_", setting.name);
  std::transform(name.begin(), name.end(), name.begin(), ::toupper);
  return name;
}

absl::Status Set(Config &config, const Setting &setting, const std::vector<std::string> &values,
                 const std::string &source) {
  if (auto *list = std::get_if<std::vector<std::string> Config::*>(&setting.field)) {
    config.**list = values;
    return absl::OkStatus();
  }
  if (values.size() != 1)
    return absl::InvalidArgumentError(absl::StrCat(source, ": takes one value"));
  if (auto *text = std::get_if<std::string Config::*>(&setting.field)) {
    config.**text = values[0];
    return absl::OkStatus();
  }
  int64_t number;
  if (!absl::SimpleAtoi(values[0], &number))
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": expected a whole number, got '", values[0], "'"));
  if (number < setting.min || number > setting.max)
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": ", number, " is not within ", setting.min, " and ", setting.max));
  config.*std::get<int64_t Config::*>(setting.field) = number;
  return absl::OkStatus();
}

const Setting *FindSetting(const std::string &name) {
  for (const Setting &setting : Settings())
    if (name == setting.name)
      return &setting;
  return nullptr;
}

absl::Status ReadFile(Config &config, const std::string &path) {
  // yaml-cpp throws; nothing of that leaves this function.
  try {
    YAML::Node root = YAML::LoadFile(path);
    if (!root.IsNull() && !root.IsMap())
      return absl::InvalidArgumentError(absl::StrCat(path, ": expected `name: value` lines"));
    std::set<std::string> seen;
    for (const auto &entry : root) {
      const std::string name = entry.first.as<std::string>();
      const std::string source = absl::StrCat(path, ":", entry.first.Mark().line + 1, ": ", name);
      const Setting *setting = FindSetting(name);
      if (!setting)
        return absl::InvalidArgumentError(absl::StrCat(source, ": there is no such setting"));
      if (!seen.insert(name).second)
        return absl::InvalidArgumentError(absl::StrCat(source, ": is set twice"));
      std::vector<std::string> values;
      if (entry.second.IsSequence())
        for (const auto &item : entry.second)
          values.push_back(item.as<std::string>());
      else if (entry.second.IsScalar())
        values.push_back(entry.second.as<std::string>());
      else
        return absl::InvalidArgumentError(absl::StrCat(source, ": expected a value or a list"));
      if (absl::Status s = Set(config, *setting, values, source); !s.ok())
        return s;
    }
    return absl::OkStatus();
  } catch (const YAML::Exception &error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.what()));
  }
}

// The files that are read when none is named; the first that is there.
std::vector<std::string>
DefaultFiles(const std::function<const char *(const char *)> &environment) {
  std::vector<std::string> files;
  if (const char *home = environment("XDG_CONFIG_HOME"); home && *home)
    files.push_back(absl::StrCat(home, "/pyasc/pyascd.yaml"));
  else if (const char *home = environment("HOME"); home && *home)
    files.push_back(absl::StrCat(home, "/.config/pyasc/pyascd.yaml"));
  files.push_back("/etc/pyasc/pyascd.yaml");
  return files;
}

} // namespace

absl::StatusOr<CommandLine>
ParseCommandLine(const std::vector<std::string> &arguments,
                 const std::function<const char *(const char *)> &environment) {
  CommandLine line;
  // Flags are gathered first and applied last.
  std::vector<std::pair<const Setting *, std::vector<std::string>>> flags;
  bool file_named = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string name = arguments[i];
    std::string value;
    bool has_value = false;
    if (size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
      has_value = true;
    }
    bool *toggle = name == "--help" || name == "-h" ? &line.help
                   : name == "--version"            ? &line.version
                   : name == "--check-config"       ? &line.check_config
                                                    : nullptr;
    if (toggle && !has_value) {
      *toggle = true;
      continue;
    }
    const Setting *setting = nullptr;
    for (const Setting &candidate : Settings())
      if (name == FlagName(candidate))
        setting = &candidate;
    if (!setting && name != "--config")
      return absl::InvalidArgumentError(
          absl::StrCat("unknown argument '", arguments[i], "'; see --help"));
    if (!has_value) {
      if (i + 1 == arguments.size())
        return absl::InvalidArgumentError(absl::StrCat(name, ": its value is missing"));
      value = arguments[++i];
    }
    if (!setting) {
      line.config_file = value;
      file_named = true;
      continue;
    }
    auto same =
        std::find_if(flags.begin(), flags.end(), [&](const auto &f) { return f.first == setting; });
    if (same == flags.end())
      flags.push_back({setting, {value}});
    else if (std::holds_alternative<std::vector<std::string> Config::*>(setting->field))
      same->second.push_back(value);
    else
      return absl::InvalidArgumentError(absl::StrCat(name, ": is given twice"));
  }
  if (!file_named)
    if (const char *named = environment("PYASCD_CONFIG"); named && *named) {
      line.config_file = named;
      file_named = true;
    }
  if (!file_named)
    for (const std::string &file : DefaultFiles(environment))
      if (::access(file.c_str(), R_OK) == 0) {
        line.config_file = file;
        break;
      }
  if (!line.config_file.empty())
    if (absl::Status s = ReadFile(line.config, line.config_file); !s.ok())
      return s;
  for (const Setting &setting : Settings()) {
    const std::string name = VariableName(setting);
    const char *value = environment(name.c_str());
    if (!value)
      continue;
    std::vector<std::string> values = {value};
    if (std::holds_alternative<std::vector<std::string> Config::*>(setting.field))
      values = absl::StrSplit(value, ',', absl::SkipEmpty());
    if (absl::Status s = Set(line.config, setting, values, name); !s.ok())
      return s;
  }
  for (const auto &[setting, values] : flags)
    if (absl::Status s = Set(line.config, *setting, values, FlagName(*setting)); !s.ok())
      return s;
  return line;
}

absl::Status Validate(const Config &config) {
  if (config.listen.empty())
    return absl::InvalidArgumentError("listen: no address to serve, say --listen unix:/path");
  for (const std::string &address : config.listen) {
    if (address.starts_with("unix:")) {
      if (address.size() == 5 || address.size() > 5 + 107)
        return absl::InvalidArgumentError(
            absl::StrCat("listen: '", address, "': a socket's path has 1 to 107 bytes"));
      continue;
    }
    size_t colon = address.rfind(':');
    int port;
    std::string host = address.substr(0, colon == std::string::npos ? 0 : colon);
    if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) ||
        port < 1 || port > 65535)
      return absl::InvalidArgumentError(
          absl::StrCat("listen: '", address, "' is neither unix:/path nor host:port"));
    if (!host.starts_with("127.") && host != "localhost" && host != "[::1]")
      return absl::InvalidArgumentError(
          absl::StrCat("listen: '", address,
                       "' can be reached from other machines, and calls are neither encrypted nor "
                       "authenticated; use 127.0.0.1 or a Unix socket"));
  }
  for (const std::string &device : config.devices) {
    std::vector<std::string> parts = absl::StrSplit(device, ':');
    int count;
    if (parts.size() != 2 || parts[0].empty() || !absl::SimpleAtoi(parts[1], &count) || count < 0 ||
        count > 64)
      return absl::InvalidArgumentError(
          absl::StrCat("devices: '", device, "' is not DRIVER:COUNT, such as sim:1"));
  }
  static const std::set<std::string> kLevels = {"debug", "info", "warn", "error"};
  if (!kLevels.count(config.log_level))
    return absl::InvalidArgumentError(
        absl::StrCat("log_level: '", config.log_level, "' is not debug, info, warn or error"));
  if (config.max_run_bytes > config.max_total_run_bytes)
    return absl::InvalidArgumentError("max_run_bytes: is more than max_total_run_bytes");
  return absl::OkStatus();
}

void ApplyReloadable(const Config &from, Config *to) {
  for (const Setting &setting : Settings())
    if (setting.reloadable)
      std::visit([&](auto field) { to->*field = from.*field; }, setting.field);
}

std::vector<std::string> DifferingSettings(const Config &a, const Config &b) {
  std::vector<std::string> names;
  for (const Setting &setting : Settings())
    if (std::visit([&](auto field) { return a.*field != b.*field; }, setting.field))
      names.push_back(setting.name);
  return names;
}

std::string HelpText() {
  std::string text =
      "pyascd: the pyasc service. Compiles, caches and runs kernels for its clients.\n\n"
      "Usage: pyascd --listen ADDRESS [flags]\n\n"
      "Every flag can also be set by a variable (PYASCD_HTTP_PORT) or in a YAML file\n"
      "(http_port); the flag wins over the variable, the variable over the file.\n\n"
      "  --config FILE              the file; default $XDG_CONFIG_HOME/pyasc/pyascd.yaml,\n"
      "                             then /etc/pyasc/pyascd.yaml\n"
      "  --check-config             print the settings in force and end\n"
      "  --version, --help\n\n"
      "Those marked (*) are taken over at SIGHUP, the others at a restart.\n\n";
  const Config defaults;
  for (const Setting &setting : Settings()) {
    std::string flag = absl::StrCat("  ", FlagName(setting), " ", setting.value);
    flag.resize(std::max<size_t>(flag.size() + 1, 33), ' ');
    absl::StrAppend(&text, flag, setting.help, setting.reloadable ? " (*)" : "");
    if (auto *number = std::get_if<int64_t Config::*>(&setting.field))
      absl::StrAppend(&text, " [", defaults.**number, "]");
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string ToYaml(const Config &config) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const Setting &setting : Settings()) {
    out << YAML::Key << setting.name << YAML::Value;
    std::visit([&](auto field) { out << config.*field; }, setting.field);
  }
  out << YAML::EndMap;
  return absl::StrCat(out.c_str(), "\n");
}

} // namespace pyasc::server
