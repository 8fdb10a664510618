// The keys of compiles.
//
// Request key: SHA-256 of the canonical request and the build that would serve it. Canonical means
// that what cannot change the result is gone: the request's id, the order of named things, the
// spelling of a default. Semantic key: what the worker makes of the kernel's meaning, together
// with all that the target adds; several request keys may share one.
#ifndef PYASC_SERVER_CORE_KEYS_H
#define PYASC_SERVER_CORE_KEYS_H

#include <string>

#include "pyasc/v1/compile.pb.h"

namespace pyasc::server {

// What compiles and for which machine: part of every key.
struct BuildIdentity {
  // Content hash of pyasc-worker and the libraries that it loads.
  std::string build_id;
  // Of this machine; enters the keys of the host target only.
  std::string cpu_features;
};

// Without what is for logs only, sorted, defaults spelled out.
v1::CompileRequest Canonical(const v1::CompileRequest &request);

// Both: 64 hexadecimal digits.
std::string RequestKey(const v1::CompileRequest &request, const BuildIdentity &build);
std::string SemanticCacheKey(const std::string &worker_semantic_key,
                             const v1::CompileRequest &request, const BuildIdentity &build);

// The key under which what belongs to a namespace is kept: `key` itself in the namespace "".
std::string KeyWithin(const std::string &name_space, const std::string &key);

// A caller's text as logs can have it: printable, and short.
std::string Printable(const std::string &text);

// How logs name a request: "id" or "id trace=<trace id>".
std::string LogName(const v1::CompileRequest &request);

// Model and feature flags of this machine's CPU, from /proc/cpuinfo.
std::string HostCpuFeatures();

} // namespace pyasc::server

#endif // PYASC_SERVER_CORE_KEYS_H
