#include "server/core/compiled.h"

#include "absl/strings/str_cat.h"

namespace pyasc::server {
namespace {

constexpr uint32_t kArtifactSchema = 1;

} // namespace

const char *TargetName(v1::Target target) {
  switch (target) {
  case v1::TARGET_SIM:
    return "sim";
  case v1::TARGET_HOST:
    return "host";
  case v1::TARGET_ASCEND:
    return "ascend";
  default:
    return "";
  }
}

absl::Status CheckArtifact(std::string_view bytes, v1::Artifact *artifact) {
  if (!artifact->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return absl::DataLossError("the artifact is cut off or damaged");
  if (artifact->schema_version() != kArtifactSchema)
    return absl::DataLossError(absl::StrCat("the artifact has schema ", artifact->schema_version(),
                                            ", not ", kArtifactSchema));
  // No phase is legal: a kernel on tensors without elements has nothing to do.
  if (artifact->code_case() == v1::Artifact::CODE_NOT_SET)
    return absl::DataLossError("the artifact has no code");
  return absl::OkStatus();
}

absl::StatusOr<CompiledPtr> Compiled::FromWorker(v1::CompileReply reply,
                                                 const v1::CompileRequest &request,
                                                 std::string semantic_cache_key,
                                                 const std::string &build_id) {
  reply.clear_cache();
  reply.clear_request_key();
  reply.clear_queue_ns();
  reply.clear_service_ns();
  if (reply.outcome() == v1::OUTCOME_OK) {
    v1::Artifact artifact;
    if (absl::Status s = CheckArtifact(reply.artifact(), &artifact); !s.ok())
      return absl::InternalError(
          absl::StrCat("the compiler made no usable artifact: ", s.message()));
    if (artifact.target() != TargetName(request.target()))
      return absl::InternalError(absl::StrCat("the compiler made an artifact for '",
                                              artifact.target(), "', asked for '",
                                              TargetName(request.target()), "'"));
    if (artifact.build_id().empty() && !build_id.empty()) {
      artifact.set_build_id(build_id);
      reply.set_artifact(artifact.SerializeAsString());
    }
    reply.set_semantic_key(semantic_cache_key);
  } else if (reply.outcome() == v1::OUTCOME_UNSPECIFIED) {
    return absl::InternalError("the compiler's reply has no outcome");
  } else {
    reply.clear_artifact();
    reply.clear_semantic_key();
  }
  std::shared_ptr<Compiled> compiled(new Compiled);
  compiled->Fill(reply);
  return compiled;
}

absl::StatusOr<CompiledPtr> Compiled::FromArtifact(std::string_view bytes,
                                                   std::string semantic_key) {
  v1::Artifact artifact;
  if (absl::Status s = CheckArtifact(bytes, &artifact); !s.ok())
    return s;
  v1::CompileReply reply;
  reply.set_outcome(v1::OUTCOME_OK);
  *reply.mutable_diagnostics() = artifact.diagnostics();
  reply.set_artifact(bytes.data(), bytes.size());
  reply.set_semantic_key(std::move(semantic_key));
  std::shared_ptr<Compiled> compiled(new Compiled);
  compiled->Fill(reply);
  return compiled;
}

CompiledPtr Compiled::Failed(std::string message) {
  v1::CompileReply reply;
  reply.set_outcome(v1::OUTCOME_FAILED);
  v1::Diagnostic *diagnostic = reply.add_diagnostics();
  diagnostic->set_severity(v1::SEVERITY_ERROR);
  diagnostic->set_code("compiler-failed");
  diagnostic->set_message(std::move(message));
  std::shared_ptr<Compiled> compiled(new Compiled);
  compiled->Fill(reply);
  return compiled;
}

void Compiled::Fill(const v1::CompileReply &reply) {
  outcome_ = reply.outcome();
  semantic_key_ = reply.semantic_key();
  // The artifact goes last, so that its place in the serialised reply is known without a search.
  v1::CompileReply head = reply;
  head.clear_artifact();
  v1::CompileReply tail;
  tail.set_artifact(reply.artifact());
  reply_ = head.SerializeAsString() + tail.SerializeAsString();
  artifact_size_ = reply.artifact().size();
  artifact_begin_ = reply_.size() - artifact_size_;
}

} // namespace pyasc::server
