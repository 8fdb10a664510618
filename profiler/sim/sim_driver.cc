#include "profiler/sim/sim_driver.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "profiler/device/launch.h"
#include "profiler/device/print_log.h"
#include "profiler/sim/engine.h"
#include "profiler/sim/profile.h"
#include "profiler/sim/program.h"
#include "profiler/sim/text.h"

namespace pyasc::sim {
namespace {

using device::LaunchOptions;
using Mode = LaunchOptions::Mode;

// Every block has an error record of its own, in a data cache line of its own.
constexpr uint64_t kErrorStride = 64;

constexpr uint32_t kMaxThreads = 16;

// A block dimension has 16 bits.
constexpr int64_t kMostBlocks = 65535;

class SimDevice;

class SimBuffer : public device::Buffer {
public:
  SimBuffer(GlobalMemory &gm, uint64_t address, int64_t bytes)
      : gm_(gm), address_(address), bytes_(bytes) {}
  ~SimBuffer() override { gm_.Free(address_); }
  int64_t size_bytes() const override { return bytes_; }
  uint64_t address() const { return address_; }
  const GlobalMemory *memory() const { return &gm_; }
  std::byte *data() const { return gm_.Find(address_, bytes_)->data(); }

private:
  GlobalMemory &gm_;
  uint64_t address_;
  int64_t bytes_;
};

class SimExecutable : public device::Executable {
public:
  SimExecutable(v1::LaunchContract contract, Program program, const machine::Soc &soc)
      : contract_(std::move(contract)), program_(std::move(program)), soc_(soc) {}
  const v1::LaunchContract &contract() const override { return contract_; }
  const Program &program() const { return program_; }
  const machine::Soc &soc() const { return soc_; }

private:
  v1::LaunchContract contract_;
  Program program_;
  const machine::Soc &soc_;
};

absl::Status Invalid(std::string_view what) {
  return absl::InvalidArgumentError(std::string(what));
}

// Whether the contract's phases and the program's functions fit together.
absl::Status CheckPhases(const v1::LaunchContract &contract, const Program &program) {
  for (const v1::Phase &phase : contract.phases()) {
    const Function *f = program.Find(phase.entry());
    if (!f)
      return Invalid(Cat("the program has no function '", phase.entry(), "'"));
    if (phase.core() != (f->cube ? v1::CORE_KIND_AIC : v1::CORE_KIND_AIV))
      return Invalid(Cat("phase '", phase.entry(), "' and its function are for different cores"));
    if (phase.arguments_size() != f->num_arguments)
      return Invalid(Cat("phase '", phase.entry(), "' has ", phase.arguments_size(),
                         " arguments, its function ", f->num_arguments));
  }
  return absl::OkStatus();
}

// A scalar as a register holds it: integers sign-extended, unsigned ones too.
uint64_t ScalarRegister(v1::DType dtype, uint64_t bits) {
  switch (dtype) {
  case v1::DTYPE_BOOL:
    return bits & 1;
  case v1::DTYPE_INT8:
  case v1::DTYPE_UINT8:
    return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(bits)));
  case v1::DTYPE_INT16:
  case v1::DTYPE_UINT16:
    return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(bits)));
  case v1::DTYPE_INT32:
  case v1::DTYPE_UINT32:
    return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(bits)));
  default:
    return bits;
  }
}

class SimDevice : public device::Device {
public:
  SimDevice(v1::DeviceInfo info, int64_t memory_bytes, bool check_races)
      : info_(std::move(info)), gm_(memory_bytes), check_races_(check_races) {}

  v1::DeviceInfo info() const override { return info_; }

  absl::StatusOr<std::unique_ptr<device::Executable>> Load(const v1::Artifact &artifact) override {
    if (absl::Status s = device::CheckArtifact(artifact, v1::Artifact::kSim); !s.ok())
      return s;
    const machine::Soc *soc = machine::FindSoc(artifact.soc());
    if (!soc)
      return Invalid(Cat("unknown SoC '", artifact.soc(), "'"));
    absl::StatusOr<Program> program = LoadProgram(artifact.sim());
    if (!program.ok())
      return program.status();
    if (absl::Status s = CheckPhases(artifact.launch(), *program); !s.ok())
      return s;
    return std::make_unique<SimExecutable>(artifact.launch(), *std::move(program), *soc);
  }

  absl::StatusOr<std::unique_ptr<device::Buffer>> Allocate(int64_t bytes) override {
    absl::StatusOr<uint64_t> address = gm_.Allocate(bytes);
    if (!address.ok())
      return address.status();
    return std::make_unique<SimBuffer>(gm_, *address, bytes);
  }

  absl::Status CopyIn(device::Buffer &to, int64_t offset,
                      std::span<const std::byte> from) override {
    absl::StatusOr<std::byte *> at = Range(to, offset, from.size());
    if (at.ok() && !from.empty())
      std::memcpy(*at, from.data(), from.size());
    return at.status();
  }

  absl::Status CopyOut(const device::Buffer &from, int64_t offset,
                       std::span<std::byte> to) override {
    absl::StatusOr<std::byte *> at = Range(from, offset, to.size());
    if (at.ok() && !to.empty())
      std::memcpy(to.data(), *at, to.size());
    return at.status();
  }

  absl::StatusOr<device::LaunchOutcome> Launch(const device::Executable &executable,
                                               std::span<const device::LaunchArgument> arguments,
                                               std::span<device::Buffer *const> results,
                                               const LaunchOptions &options) override {
    const auto *loaded = dynamic_cast<const SimExecutable *>(&executable);
    if (!loaded)
      return Invalid("the executable was loaded by another driver");
    const v1::LaunchContract &contract = loaded->contract();
    if (absl::Status s = device::CheckLaunch(contract, arguments, results); !s.ok())
      return s;
    LaunchState state;
    if (absl::Status s = Prepare(*loaded, arguments, results, state); !s.ok())
      return s;
    Engine &engine = EngineOf(loaded->soc());
    if (!options.hot)
      engine.memory_system().MakeCold();
    device::LaunchOutcome outcome;
    ProfileBuilder builder(loaded->soc(), options.mode != Mode::kFunctional, options.profile);
    device::PrintReader prints(contract, options.on_print);
    const bool with_data = options.mode != Mode::kTimingOnly;
    Sanitizer sanitizer(options.sanitize ? Sanitizer::Level::kAll : Sanitizer::Level::kOnChip, gm_);
    NameBuffers(contract, state, sanitizer);
    state.sanitizer = with_data && (check_races_ || options.sanitize) ? &sanitizer : nullptr;
    std::optional<TraceWriter> trace;
    if (options.on_trace && options.mode != Mode::kFunctional)
      trace.emplace(loaded->soc(), options.trace_events, options.on_trace);
    state.trace = trace ? &*trace : nullptr;
    for (const Stretch &stretch : Stretches(contract, state)) {
      // Of each group in the stretch: the sum over the rounds.
      std::vector<std::vector<PhaseResult>> sums;
      state.instructions = 0; // the limit is of a phase, or of a loop of them
      for (int64_t round = 0; round < stretch.rounds; ++round) {
        // Wraps like the register that it is for.
        const auto variable = static_cast<int64_t>(static_cast<uint64_t>(stretch.start) +
                                                   static_cast<uint64_t>(round) *
                                                       static_cast<uint64_t>(stretch.step));
        size_t group = 0;
        for (int n = stretch.first, last = n; n < stretch.last; n = last, ++group) {
          last = EndOfGroup(contract, n);
          int64_t blocks = 0;
          for (int p = n; p < last; ++p)
            blocks += state.blocks[p];
          absl::StatusOr<std::vector<PhaseResult>> results =
              RunPhases(engine, *loaded, n, last, variable, state, prints, options);
          if (state.prints && with_data)
            for (int64_t block = 0; block < blocks; ++block)
              prints.Read(static_cast<uint32_t>(block), state.PrintLog(block));
          if (!results.ok()) {
            prints.Finish();
            sanitizer.KeepRootCauses();
            outcome.findings = sanitizer.findings();
            if (absl::IsAborted(results.status()) && !outcome.findings.empty())
              return outcome;
            return results.status();
          }
          builder.AddTime(*results, outcome);
          for (const PhaseResult &result : *results)
            if (stretch.rounds > 1)
              state.instructions += static_cast<uint64_t>(result.instructions[kScalarPipe]);
          if (round == 0)
            sums.push_back(*std::move(results));
          else
            for (size_t p = 0; p < results->size(); ++p)
              sums[group][p].Accumulate((*results)[p]);
        }
      }
      size_t group = 0;
      for (int n = stretch.first, last = n; group < sums.size(); n = last, ++group) {
        last = EndOfGroup(contract, n);
        builder.Add(std::span(contract.phases().data() + n, last - n), sums[group], stretch.rounds,
                    outcome);
      }
    }
    builder.Finish(outcome);
    prints.Finish();
    sanitizer.KeepRootCauses();
    outcome.findings = sanitizer.findings();
    if (options.mode != Mode::kTimingOnly)
      ReadError(state, prints, outcome);
    return outcome;
  }

private:
  struct LaunchState {
    // One a phase.
    std::vector<int64_t> blocks;
    // One a loop of phases.
    std::vector<int64_t> rounds;
    // Scalar instructions of the loop of phases that runs.
    uint64_t instructions = 0;
    std::vector<uint64_t> parameters;
    std::vector<uint64_t> results;
    std::vector<std::unique_ptr<SimBuffer>> workspaces;
    std::unique_ptr<SimBuffer> errors;
    std::unique_ptr<SimBuffer> prints; // null: the kernel prints nothing
    uint64_t print_stride = 0;
    Sanitizer *sanitizer = nullptr;
    TraceWriter *trace = nullptr;

    std::span<const uint64_t> PrintLog(int64_t block) const {
      return {reinterpret_cast<const uint64_t *>(prints->data() +
                                                 static_cast<uint64_t>(block) * print_stride),
              print_stride / sizeof(uint64_t)};
    }
  };

  // Neighbouring phases that are launched so often: a loop, or all up to the next loop, once.
  struct Stretch {
    int first, last;
    int64_t rounds;
    int64_t start = 0, step = 0; // of the loop variable
  };
  static std::vector<Stretch> Stretches(const v1::LaunchContract &contract,
                                        const LaunchState &state) {
    std::vector<Stretch> stretches;
    int next = 0;
    for (int n = 0; n < contract.loops_size(); ++n) {
      const int first = static_cast<int>(contract.loops(n).first_phase());
      if (next < first)
        stretches.push_back({next, first, 1});
      next = first + static_cast<int>(contract.loops(n).phases());
      stretches.push_back(
          {first, next, state.rounds[n], contract.loops(n).start(), contract.loops(n).step()});
    }
    if (next < contract.phases_size())
      stretches.push_back({next, contract.phases_size(), 1});
    return stretches;
  }

  // After the last phase that runs at the same time as phase `first`.
  static int EndOfGroup(const v1::LaunchContract &contract, int first) {
    int last = first + 1;
    while (last < contract.phases_size() && contract.phases(first).group() != 0 &&
           contract.phases(last).group() == contract.phases(first).group())
      ++last;
    return last;
  }

  absl::StatusOr<std::byte *> Range(const device::Buffer &buffer, int64_t offset, size_t bytes) {
    const auto *mine = dynamic_cast<const SimBuffer *>(&buffer);
    if (!mine || mine->memory() != &gm_)
      return Invalid("the buffer belongs to another device");
    if (offset < 0 || offset > mine->size_bytes() ||
        bytes > static_cast<uint64_t>(mine->size_bytes() - offset))
      return absl::OutOfRangeError(
          Cat("bytes ", offset, "..", offset, "+", bytes, " of a buffer of ", mine->size_bytes()));
    return mine->data() + offset;
  }

  // A zero-filled buffer that lives for one launch.
  absl::StatusOr<std::unique_ptr<SimBuffer>> Zeros(int64_t bytes) {
    absl::StatusOr<uint64_t> address = gm_.Allocate(bytes);
    if (!address.ok())
      return address.status();
    auto buffer = std::make_unique<SimBuffer>(gm_, *address, bytes);
    std::memset(buffer->data(), 0, bytes);
    return buffer;
  }

  absl::Status Prepare(const SimExecutable &loaded,
                       std::span<const device::LaunchArgument> arguments,
                       std::span<device::Buffer *const> results, LaunchState &state) {
    const v1::LaunchContract &contract = loaded.contract();
    uint64_t line = 0;
    // Buffers take their places in the L2 model in the order of the arguments.
    auto place = [&](const SimBuffer &buffer) {
      gm_.Find(buffer.address(), buffer.size_bytes())->l2_line = line;
      line += static_cast<uint64_t>(buffer.size_bytes()) / 512 + 1;
      return buffer.address();
    };
    auto take = [&](device::Buffer *buffer, std::vector<uint64_t> &to) -> absl::Status {
      auto *mine = dynamic_cast<SimBuffer *>(buffer);
      if (!mine || mine->memory() != &gm_)
        return Invalid("a buffer belongs to another device");
      to.push_back(place(*mine));
      return absl::OkStatus();
    };
    for (size_t i = 0; i < arguments.size(); ++i) {
      const v1::Parameter &p = contract.parameters(static_cast<int>(i));
      if (p.kind_case() != v1::Parameter::kTensor)
        state.parameters.push_back(ScalarRegister(p.scalar(), arguments[i].scalar_bits));
      else if (absl::Status s = take(arguments[i].buffer, state.parameters); !s.ok())
        return s;
    }
    for (device::Buffer *result : results)
      if (absl::Status s = take(result, state.results); !s.ok())
        return s;
    for (const v1::Workspace &w : contract.workspaces()) {
      absl::StatusOr<int64_t> bytes = device::Evaluate(w.bytes(), contract, arguments);
      if (!bytes.ok())
        return bytes.status();
      absl::StatusOr<std::unique_ptr<SimBuffer>> buffer = Zeros(*bytes);
      if (!buffer.ok())
        return buffer.status();
      place(**buffer);
      state.workspaces.push_back(*std::move(buffer));
    }
    for (const v1::PhaseLoop &loop : contract.loops()) {
      absl::StatusOr<int64_t> rounds = device::Evaluate(loop.rounds(), contract, arguments);
      if (!rounds.ok())
        return rounds.status();
      state.rounds.push_back(*rounds);
    }
    int64_t most_blocks = 1, together = 0;
    uint32_t group = 0;
    for (const v1::Phase &phase : contract.phases()) {
      absl::StatusOr<int64_t> blocks = device::Evaluate(phase.blocks(), contract, arguments);
      if (!blocks.ok())
        return blocks.status();
      // A size may come to no block; a number that is given outright is one at least.
      const bool given = phase.blocks().steps_size() == 1 &&
                         phase.blocks().steps(0).op() == v1::LaunchExpr::OP_SCALAR;
      if (*blocks < (given ? 1 : 0) || *blocks > kMostBlocks)
        return FaultAt(loaded.program().Find(phase.entry())->line,
                       Cat("'", phase.entry(), "' is launched with ", *blocks,
                           " blocks; there are 1 to ", kMostBlocks));
      // Those that run at the same time have records apart.
      together = phase.group() != 0 && phase.group() == group ? together + *blocks : *blocks;
      group = phase.group();
      state.blocks.push_back(*blocks);
      most_blocks = std::max(most_blocks, together);
    }
    absl::StatusOr<std::unique_ptr<SimBuffer>> errors =
        Zeros(most_blocks * static_cast<int64_t>(kErrorStride));
    if (!errors.ok())
      return errors.status();
    place(**errors);
    state.errors = *std::move(errors);
    if (contract.print_log_words() > 0) {
      // Whole cache lines for each.
      state.print_stride = (uint64_t{contract.print_log_words()} * sizeof(uint64_t) + 63) / 64 * 64;
      auto prints = Zeros(most_blocks * static_cast<int64_t>(state.print_stride));
      if (!prints.ok())
        return prints.status();
      place(**prints);
      state.prints = *std::move(prints);
    }
    return absl::OkStatus();
  }

  // A phase's function with what its arguments are bound to.
  PhasePart BindPart(const SimExecutable &loaded, const v1::Phase &phase, int64_t blocks,
                     int64_t first_block, int64_t variable, const LaunchState &state) const {
    PhasePart part;
    part.function = loaded.program().Find(phase.entry());
    part.blocks = blocks;
    part.first_block = first_block;
    for (const v1::PhaseArgument &a : phase.arguments()) {
      uint64_t stride = 0;
      switch (a.kind_case()) {
      case v1::PhaseArgument::kParameter:
        part.arguments.push_back(state.parameters[a.parameter()]);
        break;
      case v1::PhaseArgument::kResult:
        part.arguments.push_back(state.results[a.result()]);
        break;
      case v1::PhaseArgument::kWorkspace:
        part.arguments.push_back(state.workspaces[a.workspace()]->address());
        break;
      case v1::PhaseArgument::kLoopVariable:
        part.arguments.push_back(static_cast<uint64_t>(variable));
        break;
      case v1::PhaseArgument::kPrintLog:
        stride = state.print_stride;
        part.arguments.push_back(state.prints->address() +
                                 stride * static_cast<uint64_t>(first_block));
        break;
      default:
        stride = kErrorStride;
        part.arguments.push_back(state.errors->address() +
                                 stride * static_cast<uint64_t>(first_block));
      }
      part.argument_strides.push_back(stride);
    }
    return part;
  }

  // The phases from `first` to before `last`, at the same time.
  absl::StatusOr<std::vector<PhaseResult>>
  RunPhases(Engine &engine, const SimExecutable &loaded, int first, int last, int64_t variable,
            LaunchState &state, device::PrintReader &prints, const LaunchOptions &options) {
    PhaseRequest request;
    int64_t blocks = 0;
    for (int n = first; n < last; ++n) {
      const v1::Phase &phase = loaded.contract().phases(n);
      request.parts.push_back(BindPart(loaded, phase, state.blocks[n], blocks, variable, state));
      blocks += state.blocks[n];
      if (options.mode == Mode::kTimingOnly && request.parts.back().function->data_dependent)
        return FaultAt(request.parts.back().function->data_dependent_line,
                       Cat("'", phase.entry(),
                           "' decides here by its data what to do: it cannot be timed without "
                           "running it"));
    }
    request.data = options.mode != Mode::kTimingOnly;
    request.timing = options.mode != Mode::kFunctional;
    request.profile = options.profile;
    request.sanitizer = state.sanitizer;
    request.trace = state.trace;
    request.max_instructions = options.max_instructions;
    request.instructions_before = state.instructions;
    request.threads = static_cast<int>(std::clamp<uint32_t>(options.threads, 1, kMaxThreads));
    if (state.prints && request.data)
      request.on_flush = [&](int64_t block) {
        prints.Read(static_cast<uint32_t>(block), state.PrintLog(block));
      };
    return engine.Run(request, gm_);
  }

  void NameBuffers(const v1::LaunchContract &contract, const LaunchState &state,
                   Sanitizer &sanitizer) const {
    for (int i = 0; i < contract.parameters_size(); ++i)
      if (contract.parameters(i).has_tensor())
        sanitizer.Name(state.parameters[i], contract.parameters(i).name(),
                       contract.parameters(i).starts_undefined());
    for (int i = 0; i < contract.results_size(); ++i)
      sanitizer.Name(state.results[i], contract.results(i).name(), true);
    for (size_t i = 0; i < state.workspaces.size(); ++i)
      sanitizer.Name(state.workspaces[i]->address(), Cat("workspace ", i), false);
    sanitizer.Name(state.errors->address(), "errors", false);
    if (state.prints)
      sanitizer.Name(state.prints->address(), "prints", false);
  }

  // The record of the lowest block that has one.
  void ReadError(const LaunchState &state, const device::PrintReader &prints,
                 device::LaunchOutcome &outcome) const {
    const std::byte *records = state.errors->data();
    for (int64_t at = 0; at < state.errors->size_bytes();
         at += static_cast<int64_t>(kErrorStride)) {
      int64_t record[3];
      std::memcpy(record, records + at, sizeof(record));
      if (record[0] == 0)
        continue;
      outcome.error_code = record[0];
      outcome.error_value = record[1];
      outcome.error_bound = record[2];
      outcome.error_message =
          prints.ErrorMessage(static_cast<uint32_t>(at / kErrorStride), record[0]);
      return;
    }
  }

  Engine &EngineOf(const machine::Soc &soc) {
    std::unique_ptr<Engine> &engine = engines_[&soc];
    if (!engine)
      engine = std::make_unique<Engine>(soc);
    return *engine;
  }

  v1::DeviceInfo info_;
  GlobalMemory gm_;
  bool check_races_;
  std::map<const machine::Soc *, std::unique_ptr<Engine>> engines_;
};

class SimDriver : public device::Driver {
public:
  SimDriver(const SimOptions &options, const machine::Soc &soc) : options_(options), soc_(soc) {}

  std::string name() const override { return "sim"; }

  std::vector<v1::DeviceInfo> Enumerate() override {
    std::vector<v1::DeviceInfo> all;
    for (uint32_t ordinal = 0; ordinal < options_.num_devices; ++ordinal) {
      v1::DeviceInfo info;
      info.set_ordinal(ordinal);
      info.set_driver("sim");
      info.set_name(Cat("simulated ", soc_.product));
      info.set_soc(soc_.name);
      info.set_state(v1::DEVICE_STATE_HEALTHY);
      info.set_cube_cores(static_cast<uint32_t>(soc_.cube_cores));
      info.set_vector_cores(static_cast<uint32_t>(soc_.vector_cores));
      info.set_memory_bytes(static_cast<uint64_t>(MemoryBytes()));
      info.set_clock_ghz(soc_.clock_ghz);
      all.push_back(std::move(info));
    }
    return all;
  }

  absl::StatusOr<std::unique_ptr<device::Device>> Open(uint32_t ordinal) override {
    if (ordinal >= options_.num_devices)
      return absl::NotFoundError(
          Cat("there is no sim device ", ordinal, "; there are ", options_.num_devices));
    return std::make_unique<SimDevice>(Enumerate()[ordinal], MemoryBytes(), options_.check_races);
  }

private:
  int64_t MemoryBytes() const {
    if (options_.memory_bytes > 0)
      return options_.memory_bytes;
    const int64_t host = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    return std::min(soc_.hbm_bytes, host / 2);
  }

  SimOptions options_;
  const machine::Soc &soc_;
};

} // namespace

std::unique_ptr<device::Driver> MakeSimDriver(const SimOptions &options) {
  const machine::Soc *soc =
      machine::FindSoc(options.soc.empty() ? machine::kDefaultSoc : std::string_view(options.soc));
  return soc ? std::make_unique<SimDriver>(options, *soc) : nullptr;
}

} // namespace pyasc::sim
