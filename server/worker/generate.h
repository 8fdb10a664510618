// Fills a tensor that nobody sends: zeros, ones, uniform or normal numbers.
//
// Counter-based: element i depends on the seed and i alone, so the same request gives the same
// tensor on every device and however it is filled.
#ifndef PYASC_SERVER_WORKER_GENERATE_H
#define PYASC_SERVER_WORKER_GENERATE_H

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "pyasc/v1/execution.pb.h"

namespace pyasc::server {

// Elements from `first` on, as many as `to` has room for. INVALID_ARGUMENT: a dtype that the kind
// makes no sense for (uniform numbers in [0, 1) as integers).
absl::Status Generate(const v1::GeneratedTensor &tensor, uint64_t first, std::span<std::byte> to);

} // namespace pyasc::server

#endif // PYASC_SERVER_WORKER_GENERATE_H
