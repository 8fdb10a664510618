// The one hash of the service.
#ifndef PYASC_SERVER_CORE_SHA256_H
#define PYASC_SERVER_CORE_SHA256_H

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

struct evp_md_ctx_st;

namespace pyasc::server {

class Sha256 {
public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256 &) = delete;
  Sha256 &operator=(const Sha256 &) = delete;

  void Update(std::string_view data);
  // `data` preceded by its length, so that ("ab","c") and ("a","bc") differ.
  void UpdateField(std::string_view data);
  // 32 bytes. Ends the object's use.
  std::string Digest();

  static std::string Of(std::string_view data);
  static std::string HexOf(std::string_view data);

private:
  evp_md_ctx_st *context_;
};

// Lower-case hexadecimal.
std::string ToHex(std::string_view bytes);

// SHA-256 of a file's contents, hexadecimal.
absl::StatusOr<std::string> HashFile(const std::string &path);

} // namespace pyasc::server

#endif // PYASC_SERVER_CORE_SHA256_H
