#include "server/core/compiled.h"

#include <elf.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "proto/contract/schema.h"

namespace pyasc::server {
namespace {

// OK when an ELF file is all there: a compiler that runs out of disk may leave the first part of
// one behind and report success.
absl::Status CheckElf(std::string_view file, const char *what) {
  auto cut = [&] { return absl::DataLossError(absl::StrCat("its ", what, " is cut off")); };
  Elf64_Ehdr header;
  if (file.size() < sizeof(header))
    return cut();
  std::memcpy(&header, file.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return absl::DataLossError(absl::StrCat("its ", what, " is no 64-bit ELF file"));
  // Everything in the file hangs on its section table, which compilers write last.
  const uint64_t size = file.size();
  const uint64_t table = uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  if (header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > size ||
      table > size - header.e_shoff)
    return cut();
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, file.data() + header.e_shoff + i * sizeof(section), sizeof(section));
    if (section.sh_type == SHT_NULL || section.sh_type == SHT_NOBITS)
      continue;
    if (section.sh_offset > size || section.sh_size > size - section.sh_offset)
      return cut();
  }
  return absl::OkStatus();
}

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
  if (artifact->schema_version() != contract::kArtifactSchemaVersion)
    return absl::DataLossError(absl::StrCat("the artifact has schema ", artifact->schema_version(),
                                            ", not ", contract::kArtifactSchemaVersion));
  // No phase is legal: a kernel on tensors without elements has nothing to do.
  if (artifact->code_case() == v1::Artifact::CODE_NOT_SET)
    return absl::DataLossError("the artifact has no code");
  if (artifact->has_host() && artifact->launch().phases_size() > 0)
    return CheckElf(artifact->host().object(), "object code");
  if (artifact->has_ascend() && !artifact->ascend().binary().empty())
    return CheckElf(artifact->ascend().binary(), "device binary");
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
  std::vector<std::pair<std::string, double>> stages;
  if (reply.outcome() == v1::OUTCOME_OK) {
    v1::Artifact artifact;
    if (absl::Status s = CheckArtifact(reply.artifact(), &artifact); !s.ok())
      return absl::InternalError(
          absl::StrCat("the compiler made no usable artifact: ", s.message()));
    if (artifact.target() != TargetName(request.target()))
      return absl::InternalError(absl::StrCat("the compiler made an artifact for '",
                                              artifact.target(), "', asked for '",
                                              TargetName(request.target()), "'"));
    for (const v1::CompileStage &stage : artifact.report().stages())
      stages.emplace_back(stage.name(), static_cast<double>(stage.time_ns()) * 1e-9);
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
  compiled->stage_seconds_ = std::move(stages);
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

absl::StatusOr<std::shared_ptr<const v1::Artifact>> Compiled::head() const {
  std::call_once(head_once_, [this] {
    auto parsed = std::make_shared<v1::Artifact>();
    if (absl::Status s = CheckArtifact(artifact(), parsed.get()); !s.ok()) {
      head_ = s;
      return;
    }
    parsed->clear_code();
    head_ = std::move(parsed);
  });
  return head_;
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
