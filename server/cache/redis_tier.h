// The third tier, shared by many daemons: artifact records in Redis.
//
// Redis is trusted with nothing: a record carries an HMAC under the fleet's key over its name and
// content, and one that does not verify is a miss. Nothing waits for Redis long: calls have a time
// limit, and after a few failures in a row it is left alone for a while (a circuit breaker), which
// grows while it stays bad and is forgotten with the first success.
#ifndef PYASC_SERVER_CACHE_REDIS_TIER_H
#define PYASC_SERVER_CACHE_REDIS_TIER_H

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisContext;
struct redisReply;

namespace pyasc::server {

// Thread-safe. Calls block, for `timeout` at most.
class RedisTier {
public:
  struct Options {
    std::string address; // "host:port" or "unix:/path"
    std::string fleet_key;
    std::chrono::milliseconds timeout{250};
    std::chrono::seconds ttl{30 * 24 * 3600};
  };
  struct Counts {
    uint64_t hits = 0, misses = 0;
    uint64_t failures = 0; // calls that Redis did not answer, or with an error
    uint64_t forged = 0;   // records that do not verify
  };
  explicit RedisTier(Options options);
  ~RedisTier();

  std::optional<std::string> ResolveAlias(const std::string &request_key);
  std::optional<std::string> Get(const std::string &semantic_key);
  void Put(const std::string &semantic_key, std::string_view artifact,
           const std::string &request_key);
  void PutAlias(const std::string &request_key, const std::string &semantic_key);

  // So that a fleet compiles a kernel once. A token when this daemon is to compile; nullopt:
  // another is at it. Without Redis everybody compiles: "".
  std::optional<std::string> TakeLease(const std::string &semantic_key,
                                       std::chrono::milliseconds time);
  // Only the holder of the token can.
  void GiveLease(const std::string &semantic_key, const std::string &token);

  Counts counts() const;
  // False while it is left alone.
  bool usable() const;

private:
  struct Free {
    void operator()(redisContext *context) const;
    void operator()(redisReply *reply) const;
  };
  using Context = std::unique_ptr<redisContext, Free>;
  using Reply = std::unique_ptr<redisReply, Free>;

  Context Connect() const;
  // nullptr: no answer.
  Reply Call(const std::vector<std::string_view> &arguments);
  void Failed();
  void Succeeded();
  std::string Seal(const std::string &name, std::string_view content) const;
  // The content, when the seal fits.
  std::optional<std::string> Open(const std::string &name, std::string_view sealed);

  const Options options_;
  mutable std::mutex mutex_; // what follows
  std::vector<Context> idle_;
  int failures_in_a_row_ = 0;
  std::chrono::milliseconds pause_{0};
  std::chrono::steady_clock::time_point closed_until_{};
  Counts counts_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CACHE_REDIS_TIER_H
