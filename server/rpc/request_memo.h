// A short way to a cached kernel: requests that came before are known by a hash of their bytes, so
// that a hit costs no parsing and no canonical form.
#ifndef PYASC_SERVER_RPC_REQUEST_MEMO_H
#define PYASC_SERVER_RPC_REQUEST_MEMO_H

#include <array>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pyasc::server {

// A serialised CompileRequest, looked at without parsing it.
struct RequestGlance {
  // SHA-256 of its bytes without the fields that are for logs only: 32 bytes. "": they are no
  // message.
  std::string digest;
  std::string_view request_id, kernel; // into the bytes
};
RequestGlance GlanceAt(std::string_view bytes);

// From digests to request keys, for requests that have passed every check. Thread-safe; remembers
// the last few thousand.
class RequestMemo {
public:
  std::optional<std::string> Find(const std::string &digest);
  void Remember(const std::string &digest, const std::string &request_key);

private:
  static constexpr size_t kShards = 8;
  static constexpr size_t kMaxEntries = 1024; // of a shard
  struct Shard {
    std::mutex mutex;
    std::list<std::pair<std::string, std::string>> order; // last used first
    std::unordered_map<std::string, std::list<std::pair<std::string, std::string>>::iterator> index;
  };
  Shard &ShardOf(const std::string &digest) {
    return shards_[static_cast<unsigned char>(digest[0]) % kShards];
  }
  std::array<Shard, kShards> shards_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_REQUEST_MEMO_H
