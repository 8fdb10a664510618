// What a worker may still ask of the kernel once it serves: a list of system calls.
#ifndef PYASC_SERVER_WORKER_SANDBOX_H
#define PYASC_SERVER_WORKER_SANDBOX_H

#include "absl/status/status.h"

namespace pyasc::server {

// From here on, for all threads and for good: memory, threads, time, and the descriptors that are
// open already. No file can be opened (EACCES: libraries that try have a way to do without), no
// socket, no process, no program, no other process looked into; such a call, and every one that is
// on no list, ends the process with SIGSYS. UNAVAILABLE: this kernel has no seccomp filters.
//
// Does nothing in a build with sanitizers, which need more.
absl::Status EnterSandbox();

} // namespace pyasc::server

#endif // PYASC_SERVER_WORKER_SANDBOX_H
