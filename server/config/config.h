// pyascd's configuration: flag over environment over file over default, one table for all four.
#ifndef PYASC_SERVER_CONFIG_CONFIG_H
#define PYASC_SERVER_CONFIG_CONFIG_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/config/tenant_config.h"

namespace pyasc::server {

struct Config {
  // "unix:/path" or "host:port"; beyond loopback only with TLS and callers who prove who they are.
  std::vector<std::string> listen;
  // Users and groups that may use the Unix sockets besides the daemon's own.
  std::vector<std::string> socket_guests;
  std::string http_address = "127.0.0.1";
  int64_t http_port = 0;

  std::string tls_certificate, tls_key, tls_client_ca;
  int64_t tls_refresh_seconds = 60;
  std::string audit_log;
  std::vector<TenantConfig> tenants; // in a file only

  std::string cache_dir; // "": memory only
  int64_t cache_max_bytes = int64_t{4} << 30;
  int64_t cache_memory_bytes = int64_t{256} << 20;
  int64_t cache_ttl_hours = 30 * 24;
  int64_t cache_retry_seconds = 5;
  int64_t cache_negative_ttl_seconds = 60;
  std::string redis;
  std::string redis_key_file;
  int64_t redis_timeout_ms = 250;

  std::string worker; // "": pyasc-worker beside this program
  int64_t worker_sandbox = 1;
  int64_t worker_max_jobs = 2000;
  int64_t worker_max_rss_bytes = int64_t{2} << 30;
  int64_t poison_seconds = 600;
  std::vector<std::string> devices = {"sim:1", "host:1"};
  int64_t compile_workers = 2;
  int64_t compile_queue = 1024;
  int64_t compile_timeout_ms = 60'000;
  int64_t compile_cpu_seconds = 0;
  int64_t compile_memory_bytes = int64_t{4} << 30;
  int64_t device_queue = 256;
  int64_t device_runs = 2;
  int64_t run_timeout_ms = 120'000;
  int64_t run_cpu_seconds = 0;
  int64_t device_lease_ms = 10'000;
  int64_t run_memory_bytes = int64_t{16} << 30;
  int64_t max_run_bytes = int64_t{4} << 30;
  int64_t max_total_run_bytes = int64_t{8} << 30;
  int64_t max_buffer_bytes = int64_t{1} << 30;
  int64_t max_calls = 8192;

  int64_t idle_exit_seconds = 0;
  int64_t grace_seconds = 10;
  std::string log_level = "info";
};

struct CommandLine {
  Config config;
  bool help = false;
  bool version = false;
  bool check_config = false;
  bool new_token = false;
  std::string config_file; // the one that was read, "" for none
};

// `environment` is a lookup like getenv. INVALID_ARGUMENT names the source and the setting.
absl::StatusOr<CommandLine>
ParseCommandLine(const std::vector<std::string> &arguments,
                 const std::function<const char *(const char *)> &environment);

// Settings that contradict each other or cannot be served. INVALID_ARGUMENT.
absl::Status Validate(const Config &config);

// Some settings are taken over by a running daemon that reads its configuration again: copies
// those.
void ApplyReloadable(const Config &from, Config *to);
// Names of the settings in which two configurations differ.
std::vector<std::string> DifferingSettings(const Config &a, const Config &b);

std::string HelpText();
// The settings as a YAML file has them, for --check-config.
std::string ToYaml(const Config &config);

} // namespace pyasc::server

#endif // PYASC_SERVER_CONFIG_CONFIG_H
