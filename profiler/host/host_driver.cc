#include "profiler/host/host_driver.h"

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "profiler/device/launch.h"
#include "profiler/device/print_log.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

namespace pyasc::device {
namespace {

using Entry = void (*)(void **args, int64_t block, int64_t num_blocks);

absl::Status FromLlvm(llvm::Error error, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", llvm::toString(std::move(error))));
}

// INVALID_ARGUMENT when the code was made for a CPU with features that this one lacks: it would end
// in an illegal instruction. Features are LLVM's, "+avx2,-sse4a,...".
absl::Status CheckCpu(const v1::HostCode &code) {
  const llvm::StringMap<bool> mine = llvm::sys::getHostCPUFeatures();
  for (absl::string_view feature : absl::StrSplit(code.cpu_features(), ',', absl::SkipEmpty())) {
    if (!absl::ConsumePrefix(&feature, "+"))
      continue;
    if (!mine.lookup(llvm::StringRef(feature.data(), feature.size())))
      return absl::InvalidArgumentError(absl::StrCat("the artifact's code is for '", code.cpu(),
                                                     "' and needs '", feature,
                                                     "', which this CPU does not have"));
  }
  return absl::OkStatus();
}

absl::Status ForeignBuffer() {
  return absl::InvalidArgumentError("the buffer belongs to another device");
}

// Memory from the allocator, aligned for the widest vector loads. A zero-size buffer has an
// address of its own, too.
class HostBuffer final : public Buffer {
public:
  static absl::StatusOr<std::unique_ptr<HostBuffer>> Create(int64_t bytes) {
    if (bytes < 0)
      return absl::InvalidArgumentError(absl::StrCat("a buffer of ", bytes, " bytes"));
    const size_t alignment = bytes >= kLarge ? kHugePage : kAlignment;
    const size_t rounded = (static_cast<size_t>(bytes) + alignment) / alignment * alignment;
    void *data = std::aligned_alloc(alignment, rounded);
    if (!data)
      return absl::ResourceExhaustedError(
          absl::StrCat("the host has no ", bytes, " bytes of memory left"));
    // Advice only: where there are no huge pages, small ones do.
    if (bytes >= kLarge)
      (void)::madvise(data, rounded, MADV_HUGEPAGE);
    return std::unique_ptr<HostBuffer>(new HostBuffer(data, bytes));
  }
  ~HostBuffer() override { std::free(data_); }
  int64_t size_bytes() const override { return bytes_; }
  std::byte *data() const { return static_cast<std::byte *>(data_); }

private:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kHugePage = 2 << 20;
  // From here on, faults of small pages cost more than a huge page's rest.
  static constexpr int64_t kLarge = 4 << 20;
  HostBuffer(void *data, int64_t bytes) : data_(data), bytes_(bytes) {}
  void *data_;
  int64_t bytes_;
};

class HostExecutable final : public Executable {
public:
  HostExecutable(v1::LaunchContract contract, std::unique_ptr<llvm::orc::LLJIT> jit,
                 std::vector<Entry> entries)
      : contract_(std::move(contract)), jit_(std::move(jit)), entries_(std::move(entries)) {}
  const v1::LaunchContract &contract() const override { return contract_; }
  // One a phase.
  const std::vector<Entry> &entries() const { return entries_; }

private:
  v1::LaunchContract contract_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::vector<Entry> entries_;
};

class HostDevice final : public Device {
public:
  explicit HostDevice(v1::DeviceInfo info) : info_(std::move(info)) {}

  v1::DeviceInfo info() const override { return info_; }

  absl::StatusOr<std::unique_ptr<Executable>> Load(const v1::Artifact &artifact) override {
    if (absl::Status valid = CheckArtifact(artifact, v1::Artifact::kHost); !valid.ok())
      return valid;
    if (absl::Status runs = CheckCpu(artifact.host()); !runs.ok())
      return runs;
    // The host's code has its loops within it.
    if (artifact.launch().loops_size() > 0)
      return absl::InvalidArgumentError("a host artifact whose launch contract has loops");
    static std::once_flag once;
    std::call_once(once, [] {
      llvm::InitializeNativeTarget();
      llvm::InitializeNativeTargetAsmPrinter();
    });
    auto jit = llvm::orc::LLJITBuilder().create();
    if (!jit)
      return FromLlvm(jit.takeError(), "cannot start the loader");
    auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        (*jit)->getDataLayout().getGlobalPrefix());
    if (!process)
      return FromLlvm(process.takeError(), "cannot see the C library");
    (*jit)->getMainJITDylib().addGenerator(std::move(*process));
    if (llvm::Error error = (*jit)->addObjectFile(
            llvm::MemoryBuffer::getMemBufferCopy(artifact.host().object(), "kernel.o")))
      return FromLlvm(std::move(error), "the artifact's object code cannot be loaded");
    std::vector<Entry> entries;
    for (const v1::Phase &phase : artifact.launch().phases()) {
      auto symbol = (*jit)->lookup(phase.entry());
      if (!symbol)
        return FromLlvm(symbol.takeError(), absl::StrCat("entry '", phase.entry(), "'"));
      entries.push_back(symbol->toPtr<Entry>());
    }
    return std::make_unique<HostExecutable>(artifact.launch(), std::move(*jit), std::move(entries));
  }

  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t bytes) override {
    return HostBuffer::Create(bytes);
  }

  absl::Status CopyIn(Buffer &to, int64_t offset, std::span<const std::byte> from) override {
    auto *buffer = dynamic_cast<HostBuffer *>(&to);
    if (!buffer)
      return ForeignBuffer();
    if (absl::Status in_range = CheckRange(*buffer, offset, from.size()); !in_range.ok())
      return in_range;
    if (!from.empty())
      std::memcpy(buffer->data() + offset, from.data(), from.size());
    return absl::OkStatus();
  }

  absl::Status CopyOut(const Buffer &from, int64_t offset, std::span<std::byte> to) override {
    const auto *buffer = dynamic_cast<const HostBuffer *>(&from);
    if (!buffer)
      return ForeignBuffer();
    if (absl::Status in_range = CheckRange(*buffer, offset, to.size()); !in_range.ok())
      return in_range;
    if (!to.empty())
      std::memcpy(to.data(), buffer->data() + offset, to.size());
    return absl::OkStatus();
  }

  absl::StatusOr<LaunchOutcome> Launch(const Executable &executable,
                                       std::span<const LaunchArgument> arguments,
                                       std::span<Buffer *const> results,
                                       const LaunchOptions &options) override;

private:
  static absl::Status CheckRange(const Buffer &buffer, int64_t offset, size_t bytes) {
    if (offset < 0 || offset > buffer.size_bytes() ||
        bytes > static_cast<size_t>(buffer.size_bytes() - offset))
      return absl::OutOfRangeError(absl::StrCat("bytes ", offset, " to ", offset + bytes,
                                                " of a buffer of ", buffer.size_bytes()));
    return absl::OkStatus();
  }

  v1::DeviceInfo info_;
};

// Reads a print log now and then while the kernel writes it, so that a long run shows what it does.
class PrintPoller {
public:
  PrintPoller(PrintReader &reader, std::span<const uint64_t> log)
      : thread_([this, &reader, log] {
          std::unique_lock lock(mutex_);
          while (!ended_.wait_for(lock, std::chrono::milliseconds(50), [this] { return end_; }))
            reader.Read(0, log);
        }) {}
  ~PrintPoller() {
    {
      std::lock_guard lock(mutex_);
      end_ = true;
    }
    ended_.notify_one();
    thread_.join();
  }

private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

double MicrosecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

absl::StatusOr<LaunchOutcome> HostDevice::Launch(const Executable &executable,
                                                 std::span<const LaunchArgument> arguments,
                                                 std::span<Buffer *const> results,
                                                 const LaunchOptions &options) {
  const auto *code = dynamic_cast<const HostExecutable *>(&executable);
  if (!code)
    return absl::InvalidArgumentError("the executable was loaded by another driver");
  const v1::LaunchContract &contract = code->contract();
  if (absl::Status valid = CheckLaunch(contract, arguments, results); !valid.ok())
    return valid;
  for (const LaunchArgument &argument : arguments)
    if (argument.buffer && !dynamic_cast<HostBuffer *>(argument.buffer))
      return ForeignBuffer();
  for (Buffer *result : results)
    if (!dynamic_cast<HostBuffer *>(result))
      return ForeignBuffer();

  std::vector<std::unique_ptr<HostBuffer>> workspaces;
  for (const v1::Workspace &workspace : contract.workspaces()) {
    absl::StatusOr<int64_t> bytes = Evaluate(workspace.bytes(), contract, arguments);
    if (!bytes.ok())
      return bytes.status();
    absl::StatusOr<std::unique_ptr<HostBuffer>> buffer = HostBuffer::Create(*bytes);
    if (!buffer.ok())
      return buffer.status();
    std::memset((*buffer)->data(), 0, static_cast<size_t>(*bytes));
    workspaces.push_back(std::move(*buffer));
  }
  int64_t error_record[4] = {0, 0, 0, 0};
  std::vector<uint64_t> print_log(contract.print_log_words());
  PrintReader prints(contract, options.on_print);
  std::optional<PrintPoller> poller;
  if (!print_log.empty())
    poller.emplace(prints, print_log);
  std::vector<uint64_t> scalars(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    scalars[i] = arguments[i].scalar_bits;

  LaunchOutcome outcome;
  for (int p = 0; p < contract.phases_size(); ++p) {
    const v1::Phase &phase = contract.phases(p);
    absl::StatusOr<int64_t> blocks = Evaluate(phase.blocks(), contract, arguments);
    if (!blocks.ok())
      return blocks.status();
    std::vector<void *> actuals;
    for (const v1::PhaseArgument &argument : phase.arguments()) {
      switch (argument.kind_case()) {
      case v1::PhaseArgument::kParameter:
        if (Buffer *buffer = arguments[argument.parameter()].buffer)
          actuals.push_back(static_cast<HostBuffer *>(buffer)->data());
        else
          actuals.push_back(&scalars[argument.parameter()]);
        break;
      case v1::PhaseArgument::kResult:
        actuals.push_back(static_cast<HostBuffer *>(results[argument.result()])->data());
        break;
      case v1::PhaseArgument::kWorkspace:
        actuals.push_back(workspaces[argument.workspace()]->data());
        break;
      case v1::PhaseArgument::kErrorBuffer:
        actuals.push_back(error_record);
        break;
      case v1::PhaseArgument::kPrintLog:
        actuals.push_back(print_log.data());
        break;
      case v1::PhaseArgument::kLoopVariable: // Load refuses loops
      case v1::PhaseArgument::KIND_NOT_SET:
        return absl::InvalidArgumentError("a phase argument without a binding");
      }
    }
    auto start = std::chrono::steady_clock::now();
    for (int64_t block = 0; block < *blocks; ++block)
      code->entries()[p](actuals.data(), block, *blocks);
    double time_us = MicrosecondsSince(start);
    v1::PhaseProfile &profile = outcome.phases.emplace_back();
    profile.set_entry(phase.entry());
    profile.set_core("host");
    profile.set_blocks(*blocks);
    profile.set_time_us(time_us);
    outcome.kernel_us += time_us;
  }
  poller.reset();
  prints.Read(0, print_log);
  prints.Finish();
  outcome.error_message = prints.ErrorMessage(0, error_record[0]);
  outcome.error_code = error_record[0];
  outcome.error_value = error_record[1];
  outcome.error_bound = error_record[2];
  return outcome;
}

class HostDriver final : public Driver {
public:
  std::string name() const override { return "host"; }

  std::vector<v1::DeviceInfo> Enumerate() override {
    v1::DeviceInfo info;
    info.set_driver("host");
    info.set_name(llvm::sys::getHostCPUName().str());
    info.set_state(v1::DEVICE_STATE_HEALTHY);
    info.set_memory_bytes(static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE)));
    return {info};
  }

  absl::StatusOr<std::unique_ptr<Device>> Open(uint32_t ordinal) override {
    if (ordinal != 0)
      return absl::NotFoundError(absl::StrCat("host device ", ordinal, ": there is only device 0"));
    return std::make_unique<HostDevice>(Enumerate().front());
  }
};

} // namespace

std::unique_ptr<Driver> MakeHostDriver() { return std::make_unique<HostDriver>(); }

} // namespace pyasc::device
