// A worker whose compiler and devices do what words in the kernel's text tell them, so that the
// tests of the service can see it deal with crashes, hangs and greed. It speaks the real worker
// protocol through the real code; only the engine is another.
//
// In the compiler: @crash-key @crash @hang @spin @eat @slow=MS @reject @truncate @count=FILE
// (appends a line for each compile) @truncate-elf (host: half of the object code) @pad=BYTES (of
// code, or of what a rejection says) @until=FILE (compiles until the file is there)
// @fork=FILE (starts a process that sleeps, and writes its id) @attempt=WHAT (see Attempt;
// sandboxed where FAKE_SANDBOX is set). On the device: @run-crash @run-hang @run-spin @run-stay
// (leaves a thread behind that works for ever) @run-eat @run-slow=MS
// @run-alone=FILE @run-shared=FILE (crashes where another run is beside it that may not be)
// @run-error @run-until=FILE (runs until the file is there)
// @run-touch=FILE (appends a line when results are copied from the device)
// @run-known (see below) @run-print=N (before the rest). @temporary=BYTES (what the kernel needs).
// Otherwise the "kernel" copies its first tensor to all that it writes.

#include <elf.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/contract/tensor_type.h"
#include "pyasc/v1/artifact.pb.h"
#include "server/core/sha256.h"
#include "server/process/fd.h"
#include "server/worker/engine.h"

namespace {

using namespace pyasc;

pid_t server_pid = ::getpid();

bool Has(const std::string &text, const std::string &word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if (end == text.size() || !(std::isalnum(text[end]) || text[end] == '-'))
      return true;
  }
  return false;
}

// What follows `word` up to a blank or quote.
std::string Value(const std::string &text, const std::string &word) {
  size_t at = text.find(word);
  if (at == std::string::npos)
    return "";
  at += word.size();
  return text.substr(at, text.find_first_of(" \"'\n", at) - at);
}

void Misbehave(const std::string &text, const std::string &prefix) {
  if (Has(text, "@" + prefix + "crash"))
    ::raise(SIGSEGV);
  if (Has(text, "@" + prefix + "hang"))
    for (;;)
      ::pause();
  if (Has(text, "@" + prefix + "stay"))
    std::thread([] {
      for (volatile int i = 0;;)
        i = i + 1;
    }).detach();
  if (Has(text, "@" + prefix + "spin"))
    for (volatile int i = 0;;)
      i = i + 1;
  if (Has(text, "@" + prefix + "eat"))
    for (std::vector<char *> held;;) {
      held.push_back(new char[16 << 20]);
      std::memset(held.back(), 1, 16 << 20);
    }
  if (std::string file = Value(text, "@" + prefix + "until="); !file.empty())
    while (::access(file.c_str(), F_OK) != 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  // Whoever may not be here beside those who are crashes.
  server::UniqueFd lock;
  for (auto [word, how] : {std::pair{"alone=", LOCK_EX}, std::pair{"shared=", LOCK_SH}})
    if (std::string file = Value(text, "@" + prefix + word); !file.empty()) {
      lock = server::UniqueFd(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
      if (::flock(lock.get(), how | LOCK_NB) != 0)
        ::raise(SIGABRT);
    }
  int ms = 0;
  if (absl::SimpleAtoi(Value(text, "@" + prefix + "slow="), &ms))
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

std::string Text(const v1::CompileRequest &request) {
  return request.files().empty() ? "" : request.files(0).content();
}

std::string Key(const v1::CompileRequest &request) {
  const std::string text = Text(request);
  if (Has(text, "@crash-key"))
    ::raise(SIGSEGV);
  if (Has(text, "@reject"))
    return "";
  server::Sha256 hash;
  for (absl::string_view line : absl::StrSplit(text, '\n'))
    if (!line.empty() && line[0] != '#')
      hash.UpdateField(std::string(line));
  for (const v1::Argument &argument : request.arguments())
    hash.UpdateField(argument.SerializeAsString());
  return server::ToHex(hash.Digest());
}

// An ELF file with one section that holds `text`.
std::string MakeElf(const std::string &text) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = sizeof(header) + text.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  Elf64_Shdr sections[2] = {};
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_offset = sizeof(header);
  sections[1].sh_size = text.size();
  std::string file(reinterpret_cast<const char *>(&header), sizeof(header));
  file += text;
  return file.append(reinterpret_cast<const char *>(sections), sizeof(sections));
}

v1::Artifact MakeArtifact(const v1::CompileRequest &request) {
  v1::Artifact artifact;
  artifact.set_schema_version(1);
  artifact.set_kernel(request.kernel().empty() ? "kernel" : request.kernel());
  v1::LaunchContract &contract = *artifact.mutable_launch();
  contract.set_schema_version(1);
  bool first = true;
  for (const v1::Argument &argument : request.arguments()) {
    if (argument.has_constexpr_value())
      continue;
    v1::Parameter &parameter = *contract.add_parameters();
    parameter.set_name(argument.name());
    if (argument.has_scalar()) {
      parameter.set_scalar(argument.scalar());
      continue;
    }
    *parameter.mutable_tensor() = argument.tensor();
    parameter.set_access(first ? v1::ACCESS_READ : v1::ACCESS_WRITE);
    if (first) {
      v1::Result &result = *contract.add_results();
      result.set_name("return");
      result.set_dtype(argument.tensor().dtype());
      for (int dim = 0; dim < argument.tensor().shape_size(); ++dim) {
        v1::LaunchExpr::Step &step = *result.add_shape()->add_steps();
        step.set_op(v1::LaunchExpr::OP_DIM);
        step.set_value((int64_t{contract.parameters_size()} - 1) << 8 | dim);
      }
    }
    first = false;
  }
  int64_t temporary = 0;
  if (absl::SimpleAtoi(Value(Text(request), "@temporary="), &temporary)) {
    contract.set_temporary_bytes(temporary / 2);
    v1::LaunchExpr::Step &step = *contract.add_workspaces()->mutable_bytes()->add_steps();
    step.set_op(v1::LaunchExpr::OP_CONST);
    step.set_value(temporary - temporary / 2);
  }
  v1::CompileStage &stage = *artifact.mutable_report()->add_stages();
  stage.set_name("fake");
  stage.set_time_ns(30'000'000);
  v1::Phase &phase = *contract.add_phases();
  phase.set_entry("entry");
  v1::ErrorEntry &error = *contract.add_error_table();
  error.set_code(1);
  error.set_message("index {value} is out of bounds for dimension 0 of 'A' with size {bound}");
  error.mutable_range()->set_line(3);
  if (request.target() == v1::TARGET_HOST) {
    artifact.set_target("host");
    std::string object = MakeElf(Text(request));
    if (Has(Text(request), "@truncate-elf"))
      object.resize(object.size() / 2);
    artifact.mutable_host()->set_object(object);
  } else {
    artifact.set_target("sim");
    std::string code = Text(request);
    int pad = 0;
    if (absl::SimpleAtoi(Value(code, "@pad="), &pad))
      code.resize(std::max<size_t>(code.size(), pad), 'x');
    artifact.mutable_sim()->add_functions()->set_code(code);
  }
  return artifact;
}

// What a sandbox is there to forbid. Returns errno where the call came back.
int Attempt(const std::string &what) {
  int result = -1;
  errno = 0;
  if (what == "open")
    result = ::open("/etc/hostname", O_RDONLY);
  else if (what == "create")
    result = ::open("/tmp/pyasc-escape", O_CREAT | O_WRONLY, 0600);
  else if (what == "stat") {
    struct stat found;
    result = ::stat("/etc/hostname", &found);
  } else if (what == "socket")
    result = ::socket(AF_INET, SOCK_STREAM, 0);
  else if (what == "fork")
    result = ::fork();
  else if (what == "exec")
    result = ::execl("/bin/true", "true", nullptr);
  else if (what == "kill")
    result = ::kill(::getppid(), 0);
  else if (what == "ptrace")
    result = static_cast<int>(::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr));
  else if (what == "memfd")
    result = ::memfd_create("x", 0);
  else if (what == "thread") {
    std::thread([&] { result = 0; }).join();
  } else if (what == "memory") {
    std::vector<char> much(64 << 20, 1);
    result = much.back() - 1;
  }
  return result < 0 ? errno : 0;
}

v1::CompileReply Compile(const v1::CompileRequest &request) {
  const std::string text = Text(request);
  if (std::string what = Value(text, "@attempt="); !what.empty()) {
    const int error = Attempt(what);
    if (what == "fork" && error == 0 && ::getpid() != server_pid)
      ::_exit(0);
    v1::CompileReply reply;
    reply.set_outcome(v1::OUTCOME_REJECTED);
    reply.add_diagnostics()->set_message(error ? std::strerror(error) : "done");
    return reply;
  }
  if (std::string file = Value(text, "@count="); !file.empty()) {
    int fd = ::open(file.c_str(), O_CREAT | O_APPEND | O_WRONLY, 0600);
    (void)!::write(fd, "compiled\n", 9);
    ::close(fd);
  }
  if (std::string file = Value(text, "@fork="); !file.empty()) {
    if (pid_t child = ::fork()) {
      std::string line = absl::StrCat(child, "\n");
      int fd = ::open(file.c_str(), O_CREAT | O_APPEND | O_WRONLY, 0600);
      (void)!::write(fd, line.data(), line.size());
      ::close(fd);
    } else {
      for (;;)
        ::pause();
    }
  }
  Misbehave(text, "");
  v1::CompileReply reply;
  if (Has(text, "@reject")) {
    reply.set_outcome(v1::OUTCOME_REJECTED);
    v1::Diagnostic &diagnostic = *reply.add_diagnostics();
    diagnostic.set_severity(v1::SEVERITY_ERROR);
    diagnostic.set_code("rejected");
    int more = 0;
    (void)absl::SimpleAtoi(Value(text, "@pad="), &more);
    diagnostic.set_message("the text asks to be rejected" + std::string(more, '.'));
    return reply;
  }
  reply.set_outcome(v1::OUTCOME_OK);
  std::string artifact = MakeArtifact(request).SerializeAsString();
  if (Has(text, "@truncate"))
    artifact.resize(artifact.size() / 2);
  reply.set_artifact(artifact);
  reply.set_semantic_key(Key(request));
  return reply;
}

// ------------------------------------------------------------------------------- the device

class FakeBuffer : public device::Buffer {
public:
  explicit FakeBuffer(int64_t bytes) : data(bytes) {}
  int64_t size_bytes() const override { return static_cast<int64_t>(data.size()); }
  std::vector<std::byte> data;
};

class FakeExecutable : public device::Executable {
public:
  explicit FakeExecutable(const v1::Artifact &a)
      : artifact(a), text(a.has_host() ? a.host().object().substr(sizeof(Elf64_Ehdr))
                                       : a.sim().functions(0).code()) {}
  const v1::LaunchContract &contract() const override { return artifact.launch(); }
  v1::Artifact artifact;
  std::string text;
};

class FakeDevice : public device::Device {
public:
  explicit FakeDevice(std::string driver) : driver_(std::move(driver)) {}
  v1::DeviceInfo info() const override {
    v1::DeviceInfo info;
    info.set_driver(driver_);
    info.set_name("fake " + driver_);
    return info;
  }
  absl::StatusOr<std::unique_ptr<device::Executable>> Load(const v1::Artifact &artifact) override {
    return std::make_unique<FakeExecutable>(artifact);
  }
  absl::StatusOr<std::unique_ptr<device::Buffer>> Allocate(int64_t bytes) override {
    return std::make_unique<FakeBuffer>(bytes);
  }
  absl::Status CopyIn(device::Buffer &to, int64_t offset,
                      std::span<const std::byte> from) override {
    std::memcpy(static_cast<FakeBuffer &>(to).data.data() + offset, from.data(), from.size());
    return absl::OkStatus();
  }
  absl::Status CopyOut(const device::Buffer &from, int64_t offset,
                       std::span<std::byte> to) override {
    if (!touched_.empty()) {
      int fd = ::open(touched_.c_str(), O_CREAT | O_APPEND | O_WRONLY, 0600);
      (void)!::write(fd, "touched\n", 8);
      ::close(fd);
    }
    std::memcpy(to.data(), static_cast<const FakeBuffer &>(from).data.data() + offset, to.size());
    return absl::OkStatus();
  }
  absl::StatusOr<device::LaunchOutcome> Launch(const device::Executable &executable,
                                               std::span<const device::LaunchArgument> arguments,
                                               std::span<device::Buffer *const> results,
                                               const device::LaunchOptions &options) override {
    const auto &kernel = static_cast<const FakeExecutable &>(executable);
    int prints = 0;
    (void)absl::SimpleAtoi(Value(kernel.text, "@run-print="), &prints);
    for (int i = 0; i < prints && options.on_print; ++i) {
      v1::PrintLine line;
      line.set_text(absl::StrCat("line ", i));
      line.set_core(i % 2);
      options.on_print(line);
    }
    touched_ = Value(kernel.text, "@run-touch=");
    Misbehave(kernel.text, "run-");
    device::LaunchOutcome outcome;
    outcome.kernel_us = 12.5;
    // A cost that is known: colder at first, disturbed now and then.
    if (Has(kernel.text, "@run-known")) {
      const int n = launches_++;
      outcome.kernel_us = (options.hot ? 40 : 100) * (n == 0 ? 1.5 : n % 5 == 0 ? 2 : 1);
    }
    if (Has(kernel.text, "@run-error")) {
      outcome.error_code = 1;
      outcome.error_value = 7;
      outcome.error_bound = 5;
    }
    const FakeBuffer *first = nullptr;
    auto copy = [&](device::Buffer *buffer) {
      auto *to = static_cast<FakeBuffer *>(buffer);
      if (first && to->data.size() == first->data.size())
        to->data = first->data;
    };
    for (const device::LaunchArgument &argument : arguments) {
      if (!argument.buffer)
        continue;
      if (!first)
        first = static_cast<FakeBuffer *>(argument.buffer);
      copy(argument.buffer);
    }
    for (device::Buffer *result : results)
      copy(result);
    return outcome;
  }

private:
  const std::string driver_;
  int launches_ = 0;
  std::string touched_;
};

class FakeDriver : public device::Driver {
public:
  explicit FakeDriver(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  std::vector<v1::DeviceInfo> Enumerate() override { return {FakeDevice(name_).info()}; }
  absl::StatusOr<std::unique_ptr<device::Device>> Open(uint32_t) override {
    return std::make_unique<FakeDevice>(name_);
  }

private:
  const std::string name_;
};

} // namespace

int main(int argc, char **argv) {
  server::Engine engine;
  engine.compile = Compile;
  engine.semantic_key = Key;
  engine.check = [](const v1::CheckRequest &) {
    v1::CheckReply reply;
    reply.set_outcome(v1::OUTCOME_OK);
    return reply;
  };
  for (const char *name : {"sim", "host"})
    engine.drivers.push_back({name, [name] { return std::make_unique<FakeDriver>(name); }});
  engine.sandbox = std::getenv("FAKE_SANDBOX") != nullptr;
  engine.targets = {v1::TARGET_SIM, v1::TARGET_HOST};
  engine.socs = {"ascend910b3"};
  return server::WorkerMain(argc, argv, engine);
}
