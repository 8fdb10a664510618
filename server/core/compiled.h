// The result of a compile, as the service holds it: made once, shared by all who asked for it.
#ifndef PYASC_SERVER_CORE_COMPILED_H
#define PYASC_SERVER_CORE_COMPILED_H

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "pyasc/v1/artifact.pb.h"
#include "pyasc/v1/compile.pb.h"

namespace pyasc::server {

// Immutable.
class Compiled {
public:
  // From the worker's reply. INTERNAL: the reply says OK but its artifact is none: no valid
  // message, of another schema or target, without code or phases. `build_id` is put into an
  // artifact that names none.
  static absl::StatusOr<std::shared_ptr<const Compiled>>
  FromWorker(v1::CompileReply reply, const v1::CompileRequest &request,
             std::string semantic_cache_key, const std::string &build_id);
  // From a cached artifact's bytes, which have been verified. DATA_LOSS: they are no artifact.
  static absl::StatusOr<std::shared_ptr<const Compiled>> FromArtifact(std::string_view artifact,
                                                                      std::string semantic_key);
  // A compile that brought no artifact: OUTCOME_FAILED with one diagnostic.
  static std::shared_ptr<const Compiled> Failed(std::string message);

  v1::Outcome outcome() const { return outcome_; }
  const std::string &semantic_key() const { return semantic_key_; }
  // A serialised CompileReply without the fields that differ from call to call. Messages
  // concatenate: append a reply with only those fields set to get the whole.
  std::string_view reply() const { return reply_; }
  std::string_view artifact() const {
    return std::string_view(reply_).substr(artifact_begin_, artifact_size_);
  }
  // The artifact without its code, parsed when it is first asked for; from then on nothing is
  // checked again. As CheckArtifact.
  absl::StatusOr<std::shared_ptr<const v1::Artifact>> head() const;
  // What the compiler says of its stages; from FromWorker only.
  const std::vector<std::pair<std::string, double>> &stage_seconds() const {
    return stage_seconds_;
  }
  size_t size_bytes() const { return reply_.size() + sizeof(*this); }

private:
  Compiled() = default;
  void Fill(const v1::CompileReply &reply);

  v1::Outcome outcome_ = v1::OUTCOME_UNSPECIFIED;
  std::string semantic_key_;
  std::vector<std::pair<std::string, double>> stage_seconds_;
  std::string reply_;
  size_t artifact_begin_ = 0;
  size_t artifact_size_ = 0;
  mutable std::once_flag head_once_;
  mutable absl::StatusOr<std::shared_ptr<const v1::Artifact>> head_{nullptr};
};

using CompiledPtr = std::shared_ptr<const Compiled>;

// "sim", "host", "ascend"; "" for no target.
const char *TargetName(v1::Target target);

// OK when `bytes` is a whole artifact that a device could load.
absl::Status CheckArtifact(std::string_view bytes, v1::Artifact *artifact);

} // namespace pyasc::server

#endif // PYASC_SERVER_CORE_COMPILED_H
