#include "server/core/keys.h"

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "server/core/sha256.h"

namespace pyasc::server {
namespace {

// Changes when the meaning of a key does.
constexpr char kKeyScheme[] = "pyasc-key-1";
constexpr char kDefaultSoc[] = "ascend910b3"; // CompileRequest.soc

std::string Serialize(const google::protobuf::Message &message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

// Stable, so that what is named twice keeps its order: the last one may be the one that counts.
template <typename Message, typename Key>
void SortBy(google::protobuf::RepeatedPtrField<Message> *list, Key key) {
  std::vector<std::pair<decltype(key(list->Get(0))), int>> order;
  for (int i = 0; i < list->size(); ++i)
    order.emplace_back(key(list->Get(i)), i);
  std::sort(order.begin(), order.end());
  google::protobuf::RepeatedPtrField<Message> sorted;
  for (const auto &[unused, i] : order)
    sorted.Add()->Swap(list->Mutable(i));
  list->Swap(&sorted);
}

void AddBuild(Sha256 &hash, const v1::CompileRequest &request, const BuildIdentity &build) {
  hash.UpdateField(kKeyScheme);
  hash.UpdateField(build.build_id);
  hash.UpdateField(request.target() == v1::TARGET_HOST ? build.cpu_features : "");
}

} // namespace

v1::CompileRequest Canonical(const v1::CompileRequest &request) {
  v1::CompileRequest canonical = request;
  canonical.clear_request_id();
  canonical.clear_traceparent();
  for (v1::SourceFile &file : *canonical.mutable_files())
    if (file.first_line() == 0)
      file.set_first_line(1);
  SortBy(canonical.mutable_constants(), [](const v1::CapturedConstant &c) {
    return std::pair<uint32_t, std::string>(c.file(), c.name());
  });
  SortBy(canonical.mutable_arguments(), [](const v1::Argument &a) { return a.name(); });
  if (canonical.target() == v1::TARGET_HOST)
    canonical.clear_soc(); // it has none
  else if (canonical.soc().empty())
    canonical.set_soc(kDefaultSoc);
  canonical.mutable_options(); // an absent message and an empty one are the same options
  auto *emits = canonical.mutable_options()->mutable_emits();
  std::sort(emits->begin(), emits->end());
  emits->erase(std::unique(emits->begin(), emits->end()), emits->end());
  return canonical;
}

std::string RequestKey(const v1::CompileRequest &request, const BuildIdentity &build) {
  Sha256 hash;
  AddBuild(hash, request, build);
  hash.UpdateField(Serialize(Canonical(request)));
  return ToHex(hash.Digest());
}

std::string SemanticCacheKey(const std::string &worker_semantic_key,
                             const v1::CompileRequest &request, const BuildIdentity &build) {
  // The worker's key covers the kernel; target and options are added here, so that no worker can
  // forget them.
  v1::CompileRequest canonical = Canonical(request);
  canonical.clear_files();
  canonical.clear_kernel();
  canonical.clear_constants();
  canonical.clear_arguments();
  Sha256 hash;
  AddBuild(hash, request, build);
  hash.UpdateField("semantic");
  hash.UpdateField(worker_semantic_key);
  hash.UpdateField(Serialize(canonical));
  return ToHex(hash.Digest());
}

std::string KeyWithin(const std::string &name_space, const std::string &key) {
  if (name_space.empty())
    return key;
  Sha256 hash;
  hash.UpdateField("namespace");
  hash.UpdateField(name_space);
  hash.UpdateField(key);
  return ToHex(hash.Digest());
}

std::string Printable(const std::string &text) {
  std::string printable = text.substr(0, 128);
  for (char &c : printable)
    if (c < 32 || c > 126)
      c = '?';
  return printable;
}

std::string LogName(const v1::CompileRequest &request) {
  std::string name = request.request_id();
  if (request.traceparent().size() > 35)
    name += " trace=" + request.traceparent().substr(3, 32);
  return name;
}

std::string HostCpuFeatures() {
  std::ifstream info("/proc/cpuinfo");
  std::string model, flags;
  for (std::string line; std::getline(info, line);) {
    if (model.empty() && line.starts_with("model name"))
      model = line.substr(line.find(':') + 1);
    else if (flags.empty() && (line.starts_with("flags") || line.starts_with("Features")))
      flags = line.substr(line.find(':') + 1);
  }
  return model + ";" + flags;
}

} // namespace pyasc::server
