// The identity of this process's code.
#ifndef PYASC_SERVER_WORKER_SELF_DESCRIPTION_H
#define PYASC_SERVER_WORKER_SELF_DESCRIPTION_H

#include <string>

#include "absl/status/statusor.h"

namespace pyasc::server {

// SHA-256 over the contents of this program and of every shared library that is loaded into it
// (libMLIR and libLLVM among them), hexadecimal. Reads some hundred megabytes.
absl::StatusOr<std::string> SelfBuildId();

} // namespace pyasc::server

#endif // PYASC_SERVER_WORKER_SELF_DESCRIPTION_H
