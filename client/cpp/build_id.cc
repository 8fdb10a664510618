#include "client/cpp/build_id.h"

#include <cerrno>
#include <sys/stat.h>

#include <openssl/sha.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/files.h"

namespace pyasc::client {
namespace {

constexpr const char *kBinaries[] = {"/pyascd", "/pyasc-worker"};

absl::StatusOr<std::string> Fingerprint(const std::string &path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0)
    return absl::ErrnoToStatus(errno, path);
  return absl::StrCat(path, " ", st.st_dev, " ", st.st_ino, " ", st.st_size, " ", st.st_mtim.tv_sec,
                      ".", st.st_mtim.tv_nsec, " ", st.st_ctim.tv_sec, ".", st.st_ctim.tv_nsec,
                      "\n");
}

} // namespace

absl::StatusOr<std::string> BuildId(const std::string &bin_dir, const std::string &cache_dir) {
  std::string fingerprint;
  for (const char *binary : kBinaries) {
    absl::StatusOr<std::string> part = Fingerprint(bin_dir + binary);
    if (!part.ok())
      return part.status();
    fingerprint += *part;
  }
  std::string cached_path =
      absl::StrCat(cache_dir, "/build-", Sha256Hex(bin_dir).substr(0, 16), ".id");
  absl::StatusOr<std::string> cached = ReadFile(cached_path);
  if (cached.ok() && cached->size() == 64 + fingerprint.size() && cached->substr(64) == fingerprint)
    return cached->substr(0, 64);

  std::string digests;
  for (const char *binary : kBinaries) {
    absl::StatusOr<std::string> content = ReadFile(bin_dir + binary);
    if (!content.ok())
      return content.status();
    digests += Sha256(*content);
  }
  std::string id = Sha256Hex(digests);
  ::mkdir(cache_dir.c_str(), 0700);
  WriteFile(cached_path, {id, fingerprint}).IgnoreError();
  return id;
}

std::string Sha256(absl::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size(), digest);
  return std::string(reinterpret_cast<char *>(digest), sizeof digest);
}

std::string Sha256Hex(absl::string_view bytes) { return absl::BytesToHexString(Sha256(bytes)); }

} // namespace pyasc::client
