#include "server/config/config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <unistd.h>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "server/config/socket_guests.h"

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
       "unix:/path or 127.0.0.1:port (other hosts: see docs/security.md); may be given several "
       "times"},
      {"socket_guests", &Config::socket_guests, "WHO",
       "uid:N, user:NAME, gid:N or group:NAME that may use the Unix sockets, too; may be given "
       "several times; default: the daemon's own user and root alone"},
      {"tls_certificate", &Config::tls_certificate, "FILE", "PEM chain for TCP addresses"},
      {"tls_key", &Config::tls_key, "FILE", "its key"},
      {"tls_client_ca", &Config::tls_client_ca, "FILE",
       "callers over TCP need a certificate of this CA"},
      {"tls_refresh_seconds", &Config::tls_refresh_seconds, "S",
       "how often the three are looked at again", 1, 86'400},
      {"audit_log", &Config::audit_log, "FILE", "one JSON line a call: who did what"},
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
      {"redis", &Config::redis, "ADDRESS",
       "a Redis that daemons share artifacts through: host:port or unix:/path"},
      {"redis_key_file", &Config::redis_key_file, "FILE",
       "the fleet's key, 32 bytes or more: records that it did not seal are not believed"},
      {"redis_timeout_ms", &Config::redis_timeout_ms, "MS", "longest time of one Redis call", 1,
       60'000},
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
      {"compile_cpu_seconds", &Config::compile_cpu_seconds, "S",
       "CPU time of one compile; 0: as long as compile_timeout_ms", 0, 86'400},
      {"compile_memory_bytes", &Config::compile_memory_bytes, "BYTES",
       "address space of a compile worker; 0: no limit"},
      {"device_queue", &Config::device_queue, "N", "runs that may wait for a device", 1, 1'000'000},
      {"device_runs", &Config::device_runs, "N",
       "runs at a time on one device, each in a worker of its own; one that is measured is alone",
       1, 256},
      {"run_timeout_ms", &Config::run_timeout_ms, "MS", "longest time that a run may hold a device",
       100, 24 * 3'600'000},
      {"run_cpu_seconds", &Config::run_cpu_seconds, "S",
       "CPU time of one run, all its threads; 0: run_timeout_ms on every core", 0, 86'400},
      {"device_lease_ms", &Config::device_lease_ms, "MS",
       "a device's worker that says nothing for so long while it runs something loses the device",
       100, 3'600'000},
      {"run_memory_bytes", &Config::run_memory_bytes, "BYTES",
       "address space of a device worker; 0: no limit"},
      {"max_run_bytes", &Config::max_run_bytes, "BYTES", "largest sum of the tensors of one run", 0,
       INT64_MAX, true},
      {"max_total_run_bytes", &Config::max_total_run_bytes, "BYTES",
       "largest sum of the tensors of all runs at a time", 0, INT64_MAX, true},
      {"max_buffer_bytes", &Config::max_buffer_bytes, "BYTES",
       "of those, what buffers that callers lease may hold; 0: none", 0, INT64_MAX, true},
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

// What a tenant's entry may say.
struct TenantField {
  const char *name;
  std::variant<std::string TenantConfig::*, std::vector<std::string> TenantConfig::*,
               double TenantConfig::*, int64_t TenantConfig::*>
      field;
};
constexpr TenantField kTenantFields[] = {
    {"name", &TenantConfig::name},
    {"token_sha256", &TenantConfig::token_sha256},
    {"certificates", &TenantConfig::certificates},
    {"namespace", &TenantConfig::name_space},
    {"weight", &TenantConfig::weight},
    {"max_calls", &TenantConfig::max_calls},
    {"max_queued", &TenantConfig::max_queued},
    {"max_bytes", &TenantConfig::max_bytes},
    {"max_buffer_bytes", &TenantConfig::max_buffer_bytes},
    {"device_seconds_per_hour", &TenantConfig::device_seconds_per_hour},
};

// May throw YAML::Exception.
absl::Status ReadTenant(const YAML::Node &node, const std::string &path, TenantConfig *tenant) {
  if (!node.IsMap())
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", node.Mark().line + 1, ": tenants: expected a map"));
  std::set<std::string> seen;
  for (const auto &entry : node) {
    const std::string name = entry.first.as<std::string>();
    const std::string source =
        absl::StrCat(path, ":", entry.first.Mark().line + 1, ": tenants: ", name);
    auto found = std::find_if(std::begin(kTenantFields), std::end(kTenantFields),
                              [&](const TenantField &field) { return name == field.name; });
    if (found == std::end(kTenantFields))
      return absl::InvalidArgumentError(absl::StrCat(source, ": there is no such setting"));
    if (!seen.insert(name).second)
      return absl::InvalidArgumentError(absl::StrCat(source, ": is set twice"));
    if (auto *text = std::get_if<std::string TenantConfig::*>(&found->field)) {
      tenant->**text = entry.second.as<std::string>();
    } else if (auto *list = std::get_if<std::vector<std::string> TenantConfig::*>(&found->field)) {
      tenant->**list = entry.second.as<std::vector<std::string>>();
    } else if (auto *real = std::get_if<double TenantConfig::*>(&found->field)) {
      if (!absl::SimpleAtod(entry.second.as<std::string>(), &(tenant->**real)) ||
          !(tenant->**real >= 0) || tenant->**real > 1e12)
        return absl::InvalidArgumentError(absl::StrCat(source, ": expected a number, 0 or more"));
    } else {
      int64_t &number = tenant->*std::get<int64_t TenantConfig::*>(found->field);
      if (!absl::SimpleAtoi(entry.second.as<std::string>(), &number) || number < 0)
        return absl::InvalidArgumentError(
            absl::StrCat(source, ": expected a whole number, 0 or more"));
    }
  }
  if (!seen.count("namespace"))
    tenant->name_space = tenant->name;
  return absl::OkStatus();
}

absl::Status CheckTenants(const std::vector<TenantConfig> &tenants) {
  std::set<std::string> names, tokens, certificates;
  for (const TenantConfig &tenant : tenants) {
    auto wrong = [&](const std::string &what) {
      return absl::InvalidArgumentError(absl::StrCat("tenants: '", tenant.name, "': ", what));
    };
    if (tenant.name.empty() || tenant.name.size() > 64 || tenant.name == "local" ||
        !std::all_of(tenant.name.begin(), tenant.name.end(), [](char c) {
          return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("-_.", c);
        }))
      return wrong("a name has 1 to 64 letters, digits, dots, dashes, and is not 'local'");
    if (!names.insert(tenant.name).second)
      return wrong("there are two of this name");
    if (tenant.token_sha256.empty() && tenant.certificates.empty())
      return wrong("without token_sha256 and certificates it can never prove who it is");
    if (tenant.weight <= 0)
      return wrong("weight: must be more than 0");
    for (const std::string &hash : tenant.token_sha256) {
      if (hash.size() != 64 || hash.find_first_not_of("0123456789abcdef") != std::string::npos)
        return wrong(
            "token_sha256: expected 64 lower-case hexadecimal digits, as --new-token prints; "
            "never the token itself");
      if (!tokens.insert(hash).second)
        return wrong("token_sha256: is another tenant's, too");
    }
    for (const std::string &name : tenant.certificates)
      if (!certificates.insert(name).second)
        return wrong(absl::StrCat("certificates: '", name, "' is another tenant's, too"));
  }
  return absl::OkStatus();
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
      if (name == "tenants") {
        if (!seen.insert(name).second)
          return absl::InvalidArgumentError(absl::StrCat(source, ": is set twice"));
        if (!entry.second.IsSequence())
          return absl::InvalidArgumentError(absl::StrCat(source, ": expected a list"));
        for (const auto &node : entry.second)
          if (absl::Status s = ReadTenant(node, path, &config.tenants.emplace_back()); !s.ok())
            return s;
        continue;
      }
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
                   : name == "--new-token"          ? &line.new_token
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
    if (host.starts_with("127.") || host == "localhost" || host == "[::1]")
      continue;
    if (config.tls_certificate.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("listen: '", address,
                       "' can be reached from other machines, and calls are neither encrypted nor "
                       "authenticated; use 127.0.0.1 or a Unix socket, or set tls_certificate"));
    if (config.tls_client_ca.empty() && config.tenants.empty())
      return absl::InvalidArgumentError(absl::StrCat(
          "listen: '", address,
          "' can be reached from other machines by anyone; name tenants with tokens, or "
          "set tls_client_ca"));
  }
  if (config.tls_certificate.empty() != config.tls_key.empty())
    return absl::InvalidArgumentError("tls_certificate and tls_key: one needs the other");
  if (!config.tls_client_ca.empty() && config.tls_certificate.empty())
    return absl::InvalidArgumentError("tls_client_ca: needs tls_certificate and tls_key");
  for (const std::string *file : {&config.tls_certificate, &config.tls_key, &config.tls_client_ca})
    if (!file->empty() && ::access(file->c_str(), R_OK) != 0)
      return absl::InvalidArgumentError(absl::StrCat(*file, ": cannot be read"));
  if (config.redis.empty() != config.redis_key_file.empty())
    return absl::InvalidArgumentError("redis and redis_key_file: one needs the other");
  if (!config.redis_key_file.empty() && ::access(config.redis_key_file.c_str(), R_OK) != 0)
    return absl::InvalidArgumentError(absl::StrCat(config.redis_key_file, ": cannot be read"));
  if (absl::Status s = CheckTenants(config.tenants); !s.ok())
    return s;
  for (const std::string &device : config.devices) {
    std::vector<std::string> parts = absl::StrSplit(device, ':');
    int count;
    if (parts.size() != 2 || parts[0].empty() || !absl::SimpleAtoi(parts[1], &count) || count < 0 ||
        count > 64)
      return absl::InvalidArgumentError(
          absl::StrCat("devices: '", device, "' is not DRIVER:COUNT, such as sim:1"));
  }
  if (absl::Status s = ParseSocketGuests(config.socket_guests).status(); !s.ok())
    return absl::InvalidArgumentError(absl::StrCat("socket_guests: ", s.message()));
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
  to->tenants = from.tenants;
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
      "  --new-token                print a token for a tenant, and its token_sha256\n"
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
  if (!config.tenants.empty()) {
    out << YAML::Key << "tenants" << YAML::Value << YAML::BeginSeq;
    for (const TenantConfig &tenant : config.tenants) {
      out << YAML::BeginMap;
      for (const TenantField &field : kTenantFields) {
        out << YAML::Key << field.name << YAML::Value;
        std::visit([&](auto member) { out << tenant.*member; }, field.field);
      }
      out << YAML::EndMap;
    }
    out << YAML::EndSeq;
  }
  out << YAML::EndMap;
  return absl::StrCat(out.c_str(), "\n");
}

} // namespace pyasc::server
