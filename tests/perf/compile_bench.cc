// Compile time of one kernel in a warm process, without any service:
//
//   pyasc-compile-bench FILE NAME=DTYPE:EXTENTS... [--runs N]
//
// such as A=f32:1024,1024. Prints the median of N compiles to the simulator's program (sim_ms) and
// to Ascend C text (ascend_ms), in milliseconds, as JSON.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"

namespace {

using namespace pyasc;

constexpr int kWarmUps = 3;

bool AddArgument(const std::string &text, v1::CompileRequest &request) {
  const std::map<std::string, v1::DType> dtypes = {{"f16", v1::DTYPE_FLOAT16},
                                                   {"f32", v1::DTYPE_FLOAT32}};
  const size_t equals = text.find('='), colon = text.find(':');
  if (equals == std::string::npos || colon == std::string::npos)
    return false;
  auto dtype = dtypes.find(text.substr(equals + 1, colon - equals - 1));
  if (dtype == dtypes.end())
    return false;
  v1::Argument &argument = *request.add_arguments();
  argument.set_name(text.substr(0, equals));
  argument.mutable_tensor()->set_dtype(dtype->second);
  std::stringstream extents(text.substr(colon + 1));
  for (std::string extent; std::getline(extents, extent, ',');)
    argument.mutable_tensor()->add_shape(std::atoll(extent.c_str()));
  return true;
}

// The median in ms; negative when the kernel does not compile.
double Median(const v1::CompileRequest &request, int runs) {
  std::vector<double> times;
  for (int i = 0; i < kWarmUps + runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const v1::CompileReply reply = compiler::Compile(request);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    if (reply.outcome() != v1::OUTCOME_OK) {
      std::fprintf(stderr, "%s\n",
                   reply.diagnostics().empty() ? "" : reply.diagnostics(0).message().c_str());
      return -1;
    }
    if (i >= kWarmUps)
      times.push_back(time.count());
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

} // namespace

int main(int argc, char **argv) {
  v1::CompileRequest request;
  request.set_soc("ascend910b1");
  int runs = 21;
  if (argc < 2)
    return std::fprintf(stderr, "a file is missing\n"), 2;
  std::ifstream file(argv[1]);
  std::stringstream source;
  source << file.rdbuf();
  request.add_files()->set_content(source.str());
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    if (text == "--runs" && i + 1 < argc)
      runs = std::max(1, std::atoi(argv[++i]));
    else if (!AddArgument(text, request))
      return std::fprintf(stderr, "'%s' is no NAME=DTYPE:EXTENTS\n", argv[i]), 2;
  }
  double times[2];
  const v1::Target targets[] = {v1::TARGET_SIM, v1::TARGET_ASCEND};
  for (int i = 0; i < 2; ++i) {
    request.set_target(targets[i]);
    times[i] = Median(request, runs);
    if (times[i] < 0)
      return 1;
  }
  std::printf("{\"sim_ms\": %.3f, \"ascend_ms\": %.3f}\n", times[0], times[1]);
  return 0;
}
