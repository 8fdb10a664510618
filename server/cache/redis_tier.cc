#include "server/cache/redis_tier.h"

#include <hiredis/hiredis.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/core/sha256.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kSealBytes = 32;
constexpr size_t kMaxIdle = 8;
constexpr int kFailuresToOpen = 3;
constexpr milliseconds kFirstPause{500};
constexpr milliseconds kLongestPause{30'000};

// The schema is in the names: daemons of different ones do not meet.
std::string RecordName(const std::string &key) { return "pyasc1/r/" + key; }
std::string AliasName(const std::string &key) { return "pyasc1/a/" + key; }
std::string LeaseName(const std::string &key) { return "pyasc1/l/" + key; }

} // namespace

void RedisTier::Free::operator()(redisContext *context) const { ::redisFree(context); }
void RedisTier::Free::operator()(redisReply *reply) const { ::freeReplyObject(reply); }

RedisTier::RedisTier(Options options) : options_(std::move(options)) {}
RedisTier::~RedisTier() = default;

RedisTier::Context RedisTier::Connect() const {
  const timeval limit{options_.timeout.count() / 1000,
                      static_cast<suseconds_t>(options_.timeout.count() % 1000 * 1000)};
  Context context;
  if (options_.address.starts_with("unix:")) {
    context.reset(::redisConnectUnixWithTimeout(options_.address.c_str() + 5, limit));
  } else {
    const size_t colon = options_.address.rfind(':');
    int port = 6379;
    if (colon != std::string::npos)
      (void)absl::SimpleAtoi(options_.address.substr(colon + 1), &port);
    context.reset(
        ::redisConnectWithTimeout(options_.address.substr(0, colon).c_str(), port, limit));
  }
  if (!context || context->err || ::redisSetTimeout(context.get(), limit) != REDIS_OK)
    return nullptr;
  return context;
}

RedisTier::Reply RedisTier::Call(const std::vector<std::string_view> &arguments) {
  Context context;
  {
    std::lock_guard lock(mutex_);
    if (Clock::now() < closed_until_)
      return nullptr;
    if (!idle_.empty()) {
      context = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  const bool reused = context != nullptr;
  std::vector<const char *> values;
  std::vector<size_t> sizes;
  for (std::string_view argument : arguments) {
    values.push_back(argument.data());
    sizes.push_back(argument.size());
  }
  Reply reply;
  // A connection that lay idle may have been closed by the other side: then once more on a new one.
  for (int tries = 0; tries < (reused ? 2 : 1) && !reply; ++tries) {
    if (!context)
      context = Connect();
    if (!context)
      break;
    reply.reset(static_cast<redisReply *>(::redisCommandArgv(
        context.get(), static_cast<int>(values.size()), values.data(), sizes.data())));
    if (!reply && context->err != REDIS_ERR_EOF)
      break; // a time-out: it would be one again
    if (!reply)
      context.reset();
  }
  if (!reply || reply->type == REDIS_REPLY_ERROR) {
    Failed();
    return nullptr;
  }
  Succeeded();
  std::lock_guard lock(mutex_);
  if (idle_.size() < kMaxIdle)
    idle_.push_back(std::move(context));
  return reply;
}

void RedisTier::Failed() {
  std::lock_guard lock(mutex_);
  ++counts_.failures;
  if (++failures_in_a_row_ < kFailuresToOpen)
    return;
  if (pause_.count() == 0)
    spdlog::warn("cache: Redis at {} does not answer; going on without it", options_.address);
  pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  closed_until_ = Clock::now() + pause_;
  idle_.clear();
  failures_in_a_row_ = kFailuresToOpen - 1; // one try when the pause is over
}

void RedisTier::Succeeded() {
  std::lock_guard lock(mutex_);
  if (pause_.count() > 0)
    spdlog::warn("cache: Redis at {} answers again", options_.address);
  failures_in_a_row_ = 0;
  pause_ = milliseconds(0);
}

std::string RedisTier::Seal(const std::string &name, std::string_view content) const {
  const std::string signed_part = absl::StrCat(name.size(), ":", name, ToHex(Sha256::Of(content)));
  unsigned char seal[kSealBytes];
  unsigned int size = sizeof(seal);
  ::HMAC(::EVP_sha256(), options_.fleet_key.data(), static_cast<int>(options_.fleet_key.size()),
         reinterpret_cast<const unsigned char *>(signed_part.data()), signed_part.size(), seal,
         &size);
  return std::string(reinterpret_cast<const char *>(seal), kSealBytes);
}

std::optional<std::string> RedisTier::Open(const std::string &name, std::string_view sealed) {
  if (sealed.size() >= kSealBytes) {
    const std::string_view content = sealed.substr(kSealBytes);
    const std::string seal = Seal(name, content);
    if (::CRYPTO_memcmp(seal.data(), sealed.data(), kSealBytes) == 0)
      return std::string(content);
  }
  std::lock_guard lock(mutex_);
  ++counts_.forged;
  return std::nullopt;
}

std::optional<std::string> RedisTier::ResolveAlias(const std::string &request_key) {
  const std::string name = AliasName(request_key);
  Reply reply = Call({"GET", name});
  if (!reply || reply->type != REDIS_REPLY_STRING)
    return std::nullopt;
  return Open(name, {reply->str, reply->len});
}

std::optional<std::string> RedisTier::Get(const std::string &semantic_key) {
  const std::string name = RecordName(semantic_key);
  Reply reply = Call({"GET", name});
  std::optional<std::string> artifact;
  if (reply && reply->type == REDIS_REPLY_STRING)
    artifact = Open(name, {reply->str, reply->len});
  std::lock_guard lock(mutex_);
  ++(artifact ? counts_.hits : counts_.misses);
  return artifact;
}

void RedisTier::Put(const std::string &semantic_key, std::string_view artifact,
                    const std::string &request_key) {
  const std::string name = RecordName(semantic_key);
  std::string value = Seal(name, artifact);
  value += artifact;
  // The record is whole before an alias leads to it.
  if (Call({"SET", name, value, "EX", absl::StrCat(options_.ttl.count())}))
    PutAlias(request_key, semantic_key);
}

void RedisTier::PutAlias(const std::string &request_key, const std::string &semantic_key) {
  const std::string name = AliasName(request_key);
  const std::string value = Seal(name, semantic_key) + semantic_key;
  Call({"SET", name, value, "EX", absl::StrCat(options_.ttl.count())});
}

std::optional<std::string> RedisTier::TakeLease(const std::string &semantic_key,
                                                milliseconds time) {
  unsigned char random[16] = {};
  (void)!::getrandom(random, sizeof(random), 0);
  const std::string token = ToHex({reinterpret_cast<const char *>(random), sizeof(random)});
  const std::string duration = absl::StrCat(time.count());
  Reply reply = Call({"SET", LeaseName(semantic_key), token, "NX", "PX", duration});
  if (!reply)
    return "";
  if (reply->type == REDIS_REPLY_NIL)
    return std::nullopt;
  return token;
}

void RedisTier::GiveLease(const std::string &semantic_key, const std::string &token) {
  if (token.empty())
    return;
  constexpr std::string_view kScript = "if redis.call('get', KEYS[1]) == ARGV[1] then return "
                                       "redis.call('del', KEYS[1]) end return 0";
  Call({"EVAL", kScript, "1", LeaseName(semantic_key), token});
}

RedisTier::Counts RedisTier::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

bool RedisTier::usable() const {
  std::lock_guard lock(mutex_);
  return Clock::now() >= closed_until_;
}

} // namespace pyasc::server
