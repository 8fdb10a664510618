// pyasc compile: an artifact, its texts, and the compile-time report.

#include <cstdio>
#include <filesystem>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/cli/commands.h"
#include "client/cli/format.h"
#include "client/cli/report_text.h"
#include "client/cli/session.h"
#include "client/cpp/build_id.h"
#include "client/cpp/files.h"

namespace pyasc::cli {
namespace {

struct EmitKind {
  absl::string_view name;
  v1::Emit emit;
  // The target that has it, when --target is not given.
  v1::Target target;
};
constexpr EmitKind kEmits[] = {{"artifact", v1::EMIT_UNSPECIFIED, v1::TARGET_SIM},
                               {"ascendc", v1::EMIT_ASCENDC, v1::TARGET_ASCEND},
                               {"asc-ir", v1::EMIT_ASC_IR, v1::TARGET_SIM},
                               {"npu-ir", v1::EMIT_NPU_IR, v1::TARGET_SIM},
                               {"llvm", v1::EMIT_LLVM, v1::TARGET_HOST},
                               {"obj", v1::EMIT_OBJ, v1::TARGET_HOST}};

absl::StatusOr<EmitKind> ChooseEmit(const Arguments &arguments) {
  std::string name = arguments.Get("--emit");
  if (name.empty())
    name = absl::EndsWith(arguments.Get("-o"), ".o") ? "obj" : "artifact";
  for (const EmitKind &kind : kEmits)
    if (kind.name == name)
      return kind;
  return absl::InvalidArgumentError(
      absl::StrCat("--emit is artifact, ascendc, asc-ir, npu-ir, llvm or obj, not '", name, "'"));
}

std::string MakeRecord(const std::string &artifact) {
  v1::ArtifactRecord record;
  record.set_schema_version(1);
  record.set_artifact(artifact);
  record.set_sha256(client::Sha256(artifact));
  return record.SerializeAsString();
}

// The bytes that --emit asks for.
absl::StatusOr<std::string> EmittedBytes(const EmitKind &kind, const v1::CompileReply &reply,
                                         const v1::Artifact &artifact) {
  if (kind.emit == v1::EMIT_UNSPECIFIED)
    return MakeRecord(reply.artifact());
  auto text = artifact.texts().find(std::string(kind.name));
  if (text != artifact.texts().end())
    return text->second;
  if (kind.emit == v1::EMIT_ASCENDC && artifact.has_ascend())
    return artifact.ascend().ascendc();
  return absl::UnimplementedError(absl::StrCat("this service has no ", std::string(kind.name),
                                               " for target ", artifact.target()));
}

// The IR after every stage, one file each; names come from the service and stay inside.
absl::Status WriteStages(const v1::Artifact &artifact, const std::string &directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return absl::InvalidArgumentError(absl::StrCat(directory, ": ", error.message()));
  for (const auto &[name, text] : artifact.texts()) {
    absl::string_view base = name;
    if (!absl::ConsumePrefix(&base, "stages/"))
      continue;
    if (base.empty() || base[0] == '.' || absl::StrContains(base, "/"))
      return absl::InternalError(absl::StrCat("the service named a stage '", name, "'"));
    absl::Status status = client::WriteFile(absl::StrCat(directory, "/", base), {text});
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status WriteOutput(const std::string &path, const std::string &bytes,
                         const v1::Artifact &artifact, bool is_object) {
  if (absl::Status status = WriteTo(path, bytes); !status.ok() || path == "-")
    return status;
  auto header = artifact.texts().find("header");
  if (!is_object || header == artifact.texts().end())
    return absl::OkStatus();
  std::filesystem::path header_path = path;
  header_path.replace_extension(".h");
  return client::WriteFile(header_path.string(), {header->second});
}

std::string CacheName(v1::CacheResult cache) {
  switch (cache) {
  case v1::CACHE_RESULT_HIT:
    return "cache hit";
  case v1::CACHE_RESULT_HIT_ALIAS:
    return "cache hit (same meaning, other text)";
  case v1::CACHE_RESULT_JOINED:
    return "joined a compile under way";
  case v1::CACHE_RESULT_MISS:
    return "cache miss";
  default:
    return "no cache";
  }
}

std::string Summary(const v1::CompileReply &reply, const v1::Artifact &artifact) {
  std::string text = absl::StrCat(artifact.kernel(), ": compiled for ", artifact.target(),
                                  artifact.soc().empty() ? "" : " (" + artifact.soc() + ")", ", ",
                                  CacheName(reply.cache()));
  if (reply.service_ns() > 0)
    absl::StrAppend(&text, ", ", FormatMicroseconds(reply.service_ns() / 1e3));
  if (!reply.request_key().empty())
    absl::StrAppend(&text, ", key ", reply.request_key());
  return text + "\n";
}

int Run(const Arguments &arguments) {
  absl::StatusOr<EmitKind> kind = ChooseEmit(arguments);
  if (!kind.ok())
    return UsageError(kind.status());
  absl::StatusOr<KernelInput> input = ReadKernelInput(arguments.positional[0], arguments);
  if (!input.ok())
    return UsageError(input.status());
  AddAnnotatedArguments(&*input);
  std::string out = arguments.Get("-o");
  bool is_text = kind->emit != v1::EMIT_UNSPECIFIED && kind->emit != v1::EMIT_OBJ;
  if (arguments.Has("--emit") && !is_text && out.empty())
    return UsageError(absl::InvalidArgumentError(
        absl::StrCat("--emit ", std::string(kind->name), " writes bytes: say where with -o OUT")));
  bool target_given = arguments.Has("--target");
  if (!target_given)
    input->request.set_target(kind->target);
  if (kind->emit != v1::EMIT_UNSPECIFIED)
    input->request.mutable_options()->add_emits(kind->emit);
  if (arguments.Has("--dump-dir"))
    input->request.mutable_options()->add_emits(v1::EMIT_STAGES);

  bool want_report = arguments.Has("--profile") || arguments.Has("--json");
  v1::CompileReply reply, report_reply;
  {
    ProgressLine line(!arguments.Has("--quiet"));
    absl::StatusOr<client::CallOptions> options = MakeCallOptions(arguments, &line);
    if (!options.ok())
      return UsageError(options.status());
    absl::StatusOr<std::unique_ptr<client::Client>> connected = Connect(arguments);
    absl::StatusOr<v1::CompileReply> compiled =
        connected.ok() ? (*connected)->Compile(input->request, *options) : connected.status();
    line.Clear();
    if (!compiled.ok())
      return Fail(compiled.status());
    if (int code = CheckOutcome(*compiled, *input, arguments); code != kDone)
      return code;
    reply = *std::move(compiled);
    report_reply = reply;
    // An object is code for the host; the report is wanted for the chip.
    if (want_report && !target_given && input->request.target() == v1::TARGET_HOST) {
      v1::CompileRequest on_chip = input->request;
      on_chip.set_target(v1::TARGET_SIM);
      on_chip.mutable_options()->clear_emits();
      compiled = (*connected)->Compile(on_chip, *options);
      line.Clear();
      if (!compiled.ok())
        return Fail(compiled.status());
      if (compiled->outcome() == v1::OUTCOME_OK)
        report_reply = *std::move(compiled);
      else
        CheckOutcome(*compiled, *input, arguments);
    }
  }

  v1::Artifact artifact, report_artifact;
  if (!artifact.ParseFromString(reply.artifact()) ||
      !report_artifact.ParseFromString(report_reply.artifact()))
    return Fail(absl::InternalError("the service sent an artifact that cannot be read"));
  absl::StatusOr<std::string> bytes = EmittedBytes(*kind, reply, artifact);
  if (!bytes.ok())
    return Fail(bytes.status());
  if (!out.empty()) {
    absl::Status status = WriteOutput(out, *bytes, artifact, kind->emit == v1::EMIT_OBJ);
    if (!status.ok())
      return UsageError(status);
  } else if (is_text) {
    std::fwrite(bytes->data(), 1, bytes->size(), stdout);
  }
  if (arguments.Has("--dump-dir") && !target_given && kind->emit == v1::EMIT_OBJ)
    std::fputs("pyasc: note: an object is host code, so these are the stages of --target host; "
               "--target sim or ascend gives the chip's\n",
               stderr);
  if (arguments.Has("--dump-dir"))
    if (absl::Status status = WriteStages(artifact, arguments.Get("--dump-dir")); !status.ok())
      return UsageError(status);
  if (arguments.Has("--json")) {
    std::string json = CompileReportJson(report_artifact.report());
    if (absl::Status status = WriteTo(arguments.Get("--json"), json); !status.ok())
      return UsageError(status);
  }
  // Beside an emitted text on stdout, neither report nor summary may get in its way.
  bool taken = (out.empty() && is_text) || out == "-" || arguments.Get("--json") == "-";
  std::FILE *stream = taken ? stderr : stdout;
  if (arguments.Has("--profile"))
    std::fputs(CompileReportText(report_artifact, {input->path}).c_str(), stream);
  else if (stream == stdout)
    std::fputs(Summary(reply, artifact).c_str(), stdout);
  return kDone;
}

} // namespace

Command CompileCommand() {
  Command command;
  command.name = "compile";
  command.usage = "FILE [--arg 'A=f32[1024,1024]' ...] [-o OUT] [flags]";
  command.summary = "Compile a kernel.";
  command.details =
      "--arg gives a parameter's type: A=f32[1024,1024] for a tensor, alpha=f32 for a scalar,\n"
      "n=4 for an asc.constexpr; A=@a.npy takes the type of an array. Parameters whose annotation\n"
      "says it all need none.\n\n"
      "-o OUT writes what --emit names: the artifact record, or for OUT ending in .o an ELF\n"
      "object of code for the CPU with a C header beside it. --profile prints what the compiler\n"
      "foretells: throughput, bandwidth, parallelism, which unit runs each statement and why.";
  command.examples = {
      "pyasc compile matmul.py --arg 'A=f32[1024,1024]' --arg 'B=f32[1024,1024]' -o matmul.pyasc",
      "pyasc --profile matmul.py -o kernel.o",
      "pyasc compile softmax.py --arg 'x=f32[64,1000]' --arg 'y=f32[64,1000]' --emit npu-ir"};
  command.flags =
      Concat({{"-o", "OUT", "the file to write; - is standard output"},
              {"--emit", "KIND",
               "artifact (default), ascendc, asc-ir, npu-ir, llvm or obj;\n"
               "without -o, texts go to standard output"},
              {"--profile", nullptr, "print the compile-time report"},
              {"--json", "FILE", "write the compile-time report as JSON; - is standard\noutput"},
              {"--dump-dir", "DIR", "write the IR after every stage"}},
             Concat(KernelFlags(), ServiceFlags()));
  command.min_positional = command.max_positional = 1;
  command.run = Run;
  return command;
}

} // namespace pyasc::cli
