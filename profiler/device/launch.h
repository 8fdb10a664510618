// The launch contract, as every driver reads it: validation, argument checks, launch expressions.
#ifndef PYASC_PROFILER_DEVICE_LAUNCH_H
#define PYASC_PROFILER_DEVICE_LAUNCH_H

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler/device/device.h"
#include "pyasc/v1/artifact.pb.h"

namespace pyasc::device {

// Size of the error buffer: four int64.
inline constexpr int64_t kErrorBufferBytes = 32;

// INVALID_ARGUMENT when a contract is not whole: unknown version or feature, an index out of
// range, an expression that does not evaluate to one value, a size that overflows. What this
// accepts, a driver may use without further checks of its indices.
absl::Status CheckContract(const v1::LaunchContract &contract);

// What every driver asks of an artifact before it looks at the code: INVALID_ARGUMENT for another
// schema version, for code that is not of the kind `code`, or for a contract that is not whole.
absl::Status CheckArtifact(const v1::Artifact &artifact, v1::Artifact::CodeCase code);

// Value of an expression for a launch's arguments. INVALID_ARGUMENT: malformed, overflow or
// division by zero.
absl::StatusOr<int64_t> Evaluate(const v1::LaunchExpr &expr, const v1::LaunchContract &contract,
                                 std::span<const LaunchArgument> arguments);

// Bytes of result number `index`.
absl::StatusOr<int64_t> ResultBytes(const v1::LaunchContract &contract, int index,
                                    std::span<const LaunchArgument> arguments);

// INVALID_ARGUMENT when the arguments do not fit the contract: their number, a missing buffer, a
// buffer of another size than its tensor, one buffer for two parameters that may not alias, a
// result's buffer that is another result's or an argument's.
// REQUIRES: CheckContract(contract).ok().
absl::Status CheckLaunch(const v1::LaunchContract &contract,
                         std::span<const LaunchArgument> arguments,
                         std::span<Buffer *const> results);

} // namespace pyasc::device

#endif // PYASC_PROFILER_DEVICE_LAUNCH_H
