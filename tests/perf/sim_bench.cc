// Speed of the simulator itself, without any service:
//
//   pyasc-sim-bench FILE [NAME=NUMBER | NAME=DTYPE:EXTENTS[@RAW]]... [flags]
//
// FILE is a kernel, or a module of the npu dialect (.mlir), whose tensors need no argument. A
// tensor starts as the bytes of RAW, or as zeros. Flags: --soc SOC, --mode full|functional|timing,
// --threads N, --sanitize, --profile, --runs N, --out NAME=RAW.
//
// Launches once to warm up, with the profile, and writes what --out asks for; then N times. Prints
// JSON: instructions of the scalar unit and of the other pipes, bytes of the tensors; for each of
// the N the processor's and the clock's seconds and the cycles; the most memory that the process
// has had, before the launches and after.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "profiler/device/launch.h"
#include "profiler/sim/sim_driver.h"

namespace {

using namespace pyasc;
using Mode = device::LaunchOptions::Mode;

struct DType {
  v1::DType type;
  int64_t bytes;
};
const std::map<std::string, DType> kDTypes = {
    {"f16", {v1::DTYPE_FLOAT16, 2}}, {"bf16", {v1::DTYPE_BFLOAT16, 2}},
    {"f32", {v1::DTYPE_FLOAT32, 4}}, {"f64", {v1::DTYPE_FLOAT64, 8}},
    {"i8", {v1::DTYPE_INT8, 1}},     {"i16", {v1::DTYPE_INT16, 2}},
    {"u8", {v1::DTYPE_UINT8, 1}},    {"bool", {v1::DTYPE_BOOL, 1}},
    {"i32", {v1::DTYPE_INT32, 4}},   {"i64", {v1::DTYPE_INT64, 8}}};

struct Options {
  v1::CompileRequest request;
  std::string file;
  std::map<std::string, std::string> raw; // contents of tensors
  std::map<std::string, int64_t> numbers;
  std::map<std::string, std::string> outputs;
  device::LaunchOptions launch;
  int runs = 1;
};

[[noreturn]] void Fail(const std::string &what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

std::string Contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    Fail("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

int64_t BytesOf(v1::DType dtype) {
  for (const auto &[name, known] : kDTypes)
    if (known.type == dtype)
      return known.bytes;
  Fail("a tensor has a type that is not known here");
}

int64_t BytesOf(const v1::TensorType &type) {
  int64_t bytes = BytesOf(type.dtype());
  for (int64_t extent : type.shape())
    bytes *= extent;
  return bytes;
}

void AddArgument(const std::string &text, Options &options) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos)
    Fail("'" + text + "' is no NAME=VALUE");
  const std::string name = text.substr(0, equals);
  std::string value = text.substr(equals + 1);
  const size_t colon = value.find(':');
  if (colon == std::string::npos) {
    options.numbers[name] = std::atoll(value.c_str());
    return;
  }
  if (const size_t at = value.find('@'); at != std::string::npos) {
    options.raw[name] = value.substr(at + 1);
    value.resize(at);
  }
  if (options.request.language() == v1::LANGUAGE_NPU)
    return; // the module says its type
  auto dtype = kDTypes.find(value.substr(0, colon));
  if (dtype == kDTypes.end())
    Fail("'" + value + "' is no DTYPE:EXTENTS");
  v1::Argument &argument = *options.request.add_arguments();
  argument.set_name(name);
  argument.mutable_tensor()->set_dtype(dtype->second.type);
  std::stringstream extents(value.substr(colon + 1));
  for (std::string extent; std::getline(extents, extent, ',');)
    argument.mutable_tensor()->add_shape(std::atoll(extent.c_str()));
}

Options Parse(int argc, char **argv) {
  if (argc < 2)
    Fail("a file is missing");
  Options options;
  options.file = argv[1];
  options.request.set_soc("ascend910b1");
  options.request.set_target(v1::TARGET_SIM);
  if (options.file.ends_with(".mlir"))
    options.request.set_language(v1::LANGUAGE_NPU);
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    if (!text.starts_with("--")) {
      AddArgument(text, options);
      continue;
    }
    if (text == "--sanitize") {
      options.launch.sanitize = true;
      continue;
    }
    if (text == "--profile") {
      options.launch.profile = true;
      continue;
    }
    if (++i == argc)
      Fail(text + " takes a value");
    const std::string value = argv[i];
    if (text == "--soc") {
      options.request.set_soc(value);
    } else if (text == "--mode") {
      options.launch.mode = value == "timing"       ? Mode::kTimingOnly
                            : value == "functional" ? Mode::kFunctional
                                                    : Mode::kFull;
    } else if (text == "--threads") {
      options.launch.threads = static_cast<uint32_t>(std::atoi(value.c_str()));
    } else if (text == "--runs") {
      options.runs = std::max(1, std::atoi(value.c_str()));
    } else if (const size_t equals = value.find('=');
               text == "--out" && equals != std::string::npos) {
      options.outputs[value.substr(0, equals)] = value.substr(equals + 1);
    } else {
      Fail("there is no flag " + text);
    }
  }
  options.request.add_files()->set_content(Contents(options.file));
  return options;
}

template <typename T> T OrFail(absl::StatusOr<T> value) {
  if (!value.ok())
    Fail(std::string(value.status().message()));
  return *std::move(value);
}

// getrusage would count what the process was before it became this program.
int64_t PeakKiB() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::atoll(line.c_str() + 6);
  return 0;
}

using Buffers = std::map<std::string, std::unique_ptr<device::Buffer>>;

void WriteOutput(device::Device &device, const Buffers &buffers, const std::string &name,
                 const std::string &path) {
  auto buffer = buffers.find(name);
  if (buffer == buffers.end())
    Fail("there is no tensor '" + name + "'");
  std::string to(buffer->second->size_bytes(), '\0');
  if (!device.CopyOut(*buffer->second, 0, std::as_writable_bytes(std::span(to))).ok())
    Fail("cannot read '" + name + "'");
  std::ofstream(path, std::ios::binary) << to;
}

} // namespace

int main(int argc, char **argv) {
  const Options options = Parse(argc, argv);
  v1::Artifact artifact;
  {
    const auto begin = std::chrono::steady_clock::now();
    const v1::CompileReply reply = compiler::Compile(options.request);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (reply.outcome() != v1::OUTCOME_OK || !artifact.ParseFromString(reply.artifact()))
      Fail(reply.diagnostics().empty() ? "no artifact" : reply.diagnostics(0).message());
    std::printf("{\"compile_s\": %.4f, ", took.count());
  }
  auto driver = sim::MakeSimDriver({.soc = options.request.soc()});
  if (!driver)
    Fail("there is no SoC " + options.request.soc());
  auto device = OrFail(driver->Open(0));
  auto executable = OrFail(device->Load(artifact));
  Buffers buffers;
  std::vector<device::LaunchArgument> arguments;
  int64_t bytes = 0;
  for (const v1::Parameter &parameter : executable->contract().parameters()) {
    if (!parameter.has_tensor()) {
      auto number = options.numbers.find(parameter.name());
      if (number == options.numbers.end())
        Fail("the number '" + parameter.name() + "' needs a value");
      arguments.push_back({.scalar_bits = static_cast<uint64_t>(number->second)});
      continue;
    }
    const int64_t size = BytesOf(parameter.tensor());
    bytes += size;
    auto &buffer = buffers[parameter.name()] = OrFail(device->Allocate(size));
    arguments.push_back({.buffer = buffer.get()});
    if (options.launch.mode == Mode::kTimingOnly)
      continue;
    auto raw = options.raw.find(parameter.name());
    const std::string from =
        raw == options.raw.end() ? std::string(size, '\0') : Contents(raw->second);
    if (static_cast<int64_t>(from.size()) != size)
      Fail("'" + parameter.name() + "' takes " + std::to_string(size) + " bytes");
    if (!device->CopyIn(*buffer, 0, std::as_bytes(std::span(from))).ok())
      Fail("cannot fill '" + parameter.name() + "'");
  }
  std::vector<device::Buffer *> results;
  for (int i = 0; i < executable->contract().results_size(); ++i) {
    const int64_t size = OrFail(device::ResultBytes(executable->contract(), i, arguments));
    bytes += size;
    auto &buffer = buffers[executable->contract().results(i).name()] =
        OrFail(device->Allocate(size));
    results.push_back(buffer.get());
  }
  std::printf("\"tensor_bytes\": %lld, \"rss_before_kib\": %lld, ", static_cast<long long>(bytes),
              static_cast<long long>(PeakKiB()));
  auto launch = [&](const device::LaunchOptions &how) {
    return OrFail(device->Launch(*executable, arguments, results, how));
  };
  device::LaunchOptions counting = options.launch;
  counting.profile = true;
  const device::LaunchOutcome counted = launch(counting);
  int64_t scalar = 0, pipes = 0;
  for (const v1::PhaseProfile &phase : counted.phases)
    for (const v1::PipeTime &pipe : phase.pipes())
      (pipe.pipe() == "scalar" ? scalar : pipes) += pipe.instructions();
  for (const auto &[name, path] : options.outputs)
    WriteOutput(*device, buffers, name, path);
  std::printf("\"scalar\": %lld, \"pipes\": %lld, \"findings\": %zu, \"runs\": [",
              static_cast<long long>(scalar), static_cast<long long>(pipes),
              counted.findings.size());
  for (int run = 0; run < options.runs; ++run) {
    const std::clock_t cpu = std::clock();
    const auto begin = std::chrono::steady_clock::now();
    const device::LaunchOutcome outcome = launch(options.launch);
    const double cpu_s = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    int64_t cycles = 0;
    for (const v1::PhaseProfile &phase : outcome.phases)
      cycles += phase.cycles();
    std::printf("%s{\"cpu_s\": %.5f, \"wall_s\": %.5f, \"cycles\": %lld, \"kernel_us\": %.3f}",
                run ? ", " : "", cpu_s, wall.count(), static_cast<long long>(cycles),
                outcome.kernel_us);
  }
  std::printf("], \"rss_kib\": %lld}\n", static_cast<long long>(PeakKiB()));
  return 0;
}
