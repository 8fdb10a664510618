#include "server/rpc/request_memo.h"

#include <cstdint>

#include "pyasc/v1/compile.pb.h"
#include "server/core/sha256.h"

namespace pyasc::server {
namespace {

// Takes a varint off the front; false: there is none.
bool TakeVarint(std::string_view *bytes, uint64_t *value) {
  *value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes->empty())
      return false;
    const auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    *value |= uint64_t{byte & 0x7fu} << shift;
    if (!(byte & 0x80))
      return true;
  }
  return false;
}

} // namespace

RequestGlance GlanceAt(std::string_view bytes) {
  constexpr uint64_t kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5;
  RequestGlance glance;
  Sha256 hash;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const std::string_view field_begin = rest;
    uint64_t tag, value;
    if (!TakeVarint(&rest, &tag))
      return {};
    std::string_view content;
    switch (tag & 7) {
    case kVarint:
      if (!TakeVarint(&rest, &value))
        return {};
      break;
    case kLength:
      if (!TakeVarint(&rest, &value) || value > rest.size())
        return {};
      content = rest.substr(0, value);
      rest.remove_prefix(value);
      break;
    case kFixed64:
    case kFixed32:
      value = (tag & 7) == kFixed64 ? 8 : 4;
      if (value > rest.size())
        return {};
      rest.remove_prefix(value);
      break;
    default:
      return {};
    }
    const uint64_t number = tag >> 3;
    if (number == v1::CompileRequest::kKernelFieldNumber)
      glance.kernel = content;
    if ((tag & 7) == kLength && number == v1::CompileRequest::kRequestIdFieldNumber)
      glance.request_id = content;
    else if ((tag & 7) != kLength || number != v1::CompileRequest::kTraceparentFieldNumber)
      hash.Update(field_begin.substr(0, field_begin.size() - rest.size()));
  }
  glance.digest = hash.Digest();
  return glance;
}

std::optional<std::string> RequestMemo::Find(const std::string &digest) {
  if (digest.empty())
    return std::nullopt;
  Shard &shard = ShardOf(digest);
  std::lock_guard lock(shard.mutex);
  auto found = shard.index.find(digest);
  if (found == shard.index.end())
    return std::nullopt;
  shard.order.splice(shard.order.begin(), shard.order, found->second);
  return found->second->second;
}

void RequestMemo::Remember(const std::string &digest, const std::string &request_key) {
  if (digest.empty())
    return;
  Shard &shard = ShardOf(digest);
  std::lock_guard lock(shard.mutex);
  if (shard.index.count(digest))
    return;
  shard.order.emplace_front(digest, request_key);
  shard.index[digest] = shard.order.begin();
  if (shard.order.size() > kMaxEntries) {
    shard.index.erase(shard.order.back().first);
    shard.order.pop_back();
  }
}

} // namespace pyasc::server
