// The versions of the records that this build reads and writes; any other is refused.
#ifndef PYASC_PROTO_CONTRACT_SCHEMA_H
#define PYASC_PROTO_CONTRACT_SCHEMA_H

#include <cstdint>

namespace pyasc::contract {

// Artifact.schema_version.
inline constexpr uint32_t kArtifactSchemaVersion = 1;
// LaunchContract.schema_version.
inline constexpr uint32_t kLaunchSchemaVersion = 2;

} // namespace pyasc::contract

#endif // PYASC_PROTO_CONTRACT_SCHEMA_H
