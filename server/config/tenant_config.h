// A tenant as the configuration has it. Limits of 0 are none.
#ifndef PYASC_SERVER_CONFIG_TENANT_CONFIG_H
#define PYASC_SERVER_CONFIG_TENANT_CONFIG_H

#include <cstdint>
#include <string>
#include <vector>

namespace pyasc::server {

struct TenantConfig {
  std::string name;
  // SHA-256 of its tokens, lower-case hexadecimal: `pyascd --new-token` makes a pair.
  std::vector<std::string> token_sha256 = {};
  // Names in TLS certificates: common name, subject or alternative name.
  std::vector<std::string> certificates = {};
  // Artifacts are seen by tenants of the same namespace alone; default: its name. "": those of the
  // Unix socket's callers.
  std::string name_space = {};
  double weight = 1; // of its share of the workers
  int64_t max_calls = 0;
  int64_t max_queued = 0;
  int64_t max_bytes = 0;        // of tensors in flight
  int64_t max_buffer_bytes = 0; // of leased buffers
  double device_seconds_per_hour = 0;

  bool operator==(const TenantConfig &) const = default;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CONFIG_TENANT_CONFIG_H
