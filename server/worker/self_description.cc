#include "server/worker/self_description.h"

#include <link.h>

#include <set>

#include "server/core/sha256.h"

namespace pyasc::server {

absl::StatusOr<std::string> SelfBuildId() {
  std::set<std::string> libraries; // sorted: the order of loading is no part of the identity
  ::dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        // The program itself has no name here, the vdso no slash.
        if (info->dlpi_name && info->dlpi_name[0] == '/')
          static_cast<std::set<std::string> *>(data)->insert(info->dlpi_name);
        return 0;
      },
      &libraries);
  Sha256 hash;
  libraries.insert("/proc/self/exe");
  for (const std::string &path : libraries) {
    absl::StatusOr<std::string> digest = HashFile(path);
    if (!digest.ok())
      return digest.status();
    hash.UpdateField(*digest);
  }
  return ToHex(hash.Digest());
}

} // namespace pyasc::server
