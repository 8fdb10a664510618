#include "server/core/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/process/fd.h"

namespace pyasc::server {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  // EVP_sha256() would be looked up among OpenSSL's providers, under a lock, for each hash.
  static const EVP_MD *const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_DigestInit_ex(context_, algorithm, nullptr);
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

void Sha256::Update(std::string_view data) { EVP_DigestUpdate(context_, data.data(), data.size()); }

void Sha256::UpdateField(std::string_view data) {
  unsigned char length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<unsigned char>(uint64_t{data.size()} >> (8 * i));
  EVP_DigestUpdate(context_, length, sizeof(length));
  Update(data);
}

std::string Sha256::Digest() {
  std::string digest(32, '\0');
  EVP_DigestFinal_ex(context_, reinterpret_cast<unsigned char *>(digest.data()), nullptr);
  return digest;
}

std::string Sha256::Of(std::string_view data) {
  Sha256 hash;
  hash.Update(data);
  return hash.Digest();
}

std::string Sha256::HexOf(std::string_view data) { return ToHex(Of(data)); }

std::string ToHex(std::string_view bytes) {
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

absl::StatusOr<std::string> HashFile(const std::string &path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid())
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  for (;;) {
    ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
    if (n == 0)
      return ToHex(hash.Digest());
    hash.Update({buffer.data(), static_cast<size_t>(n)});
  }
}

} // namespace pyasc::server
