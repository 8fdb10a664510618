// Latency of a cached compile beside that of a bare RPC, over one socket in one run.
//
//   bench_cached_compile --server=unix:/path [--callers=8] [--seconds=5] [--source-bytes=4096]
//
// Every caller alternates between a bare RPC (GetCapabilities, which does no work) and a compile
// of one kernel that is cached, so that both see the same load. Prints p50 and p99 of both and
// their ratios.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "pyasc/v1/compile.grpc.pb.h"

namespace {

using Clock = std::chrono::steady_clock;
using namespace pyasc;

struct Times {
  std::vector<double> echo_us, compile_us;
  std::string error;
};

v1::CompileRequest Kernel(size_t source_bytes) {
  v1::CompileRequest request;
  std::string text = "import asc\n\n@asc.kernel\ndef copy(A: asc.Tensor, B: asc.Tensor):\n"
                     "    for i in range(A.shape[0]):\n        B[i] = A[i]\n";
  while (text.size() < source_bytes)
    text += "# padding, so that the text has the length of a usual kernel file\n";
  request.add_files()->set_content(text);
  request.set_target(v1::TARGET_SIM);
  for (const char *name : {"A", "B"}) {
    v1::Argument &argument = *request.add_arguments();
    argument.set_name(name);
    argument.mutable_tensor()->set_dtype(v1::DTYPE_FLOAT32);
    argument.mutable_tensor()->add_shape(1024);
  }
  return request;
}

template <typename Call> double TimeOf(const Call &call, std::string *error) {
  auto begin = Clock::now();
  grpc::Status status = call();
  if (!status.ok())
    *error = status.error_message();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

void Caller(const std::string &server, const v1::CompileRequest &request, Clock::time_point end,
            Times *times) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1); // a connection of its own
  arguments.SetMaxReceiveMessageSize(-1);
  auto channel = grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
  auto stub = v1::CompilerService::NewStub(channel);
  while (Clock::now() < end && times->error.empty()) {
    times->echo_us.push_back(TimeOf(
        [&] {
          grpc::ClientContext context;
          v1::GetCapabilitiesReply reply;
          return stub->GetCapabilities(&context, {}, &reply);
        },
        &times->error));
    times->compile_us.push_back(TimeOf(
        [&] {
          grpc::ClientContext context;
          v1::CompileReply reply;
          grpc::Status status = stub->Compile(&context, request, &reply);
          if (status.ok() && reply.outcome() != v1::OUTCOME_OK)
            return grpc::Status(grpc::INTERNAL, "the kernel was not compiled");
          if (status.ok() && reply.cache() != v1::CACHE_RESULT_HIT)
            return grpc::Status(grpc::INTERNAL, "the kernel was not cached");
          return status;
        },
        &times->error));
  }
}

double Quantile(std::vector<double> &sorted, double q) {
  return sorted.empty() ? 0 : sorted[std::min(sorted.size() - 1, size_t(q * sorted.size()))];
}

} // namespace

int main(int argc, char **argv) {
  std::string server;
  int callers = 8, seconds = 5, source_bytes = 4096;
  for (int i = 1; i < argc; ++i) {
    std::string_view a = argv[i];
    size_t equals = a.find('=');
    std::string name(a.substr(0, equals)), value(equals == a.npos ? "" : a.substr(equals + 1));
    int *number = name == "--callers"        ? &callers
                  : name == "--seconds"      ? &seconds
                  : name == "--source-bytes" ? &source_bytes
                                             : nullptr;
    if (name == "--server")
      server = value;
    else if (!number || !absl::SimpleAtoi(value, number)) {
      std::fprintf(stderr, "unknown argument '%s'\n", argv[i]);
      return 2;
    }
  }
  const v1::CompileRequest request = Kernel(source_bytes);
  {
    auto stub = v1::CompilerService::NewStub(
        grpc::CreateChannel(server, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    v1::CompileReply reply;
    grpc::Status status = stub->Compile(&context, request, &reply);
    if (!status.ok() || reply.outcome() != v1::OUTCOME_OK) {
      std::fprintf(stderr, "cannot compile: %s\n", status.error_message().c_str());
      return 3;
    }
    std::printf("artifact: %zu bytes, source: %zu bytes, %d callers\n", reply.artifact().size(),
                request.files(0).content().size(), callers);
  }
  std::vector<Times> times(callers);
  std::vector<std::thread> threads;
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  for (int i = 0; i < callers; ++i)
    threads.emplace_back(Caller, server, request, end, &times[i]);
  for (std::thread &thread : threads)
    thread.join();
  std::vector<double> echo, compile;
  for (const Times &t : times) {
    if (!t.error.empty()) {
      std::fprintf(stderr, "%s\n", t.error.c_str());
      return 3;
    }
    echo.insert(echo.end(), t.echo_us.begin(), t.echo_us.end());
    compile.insert(compile.end(), t.compile_us.begin(), t.compile_us.end());
  }
  std::sort(echo.begin(), echo.end());
  std::sort(compile.begin(), compile.end());
  const double e50 = Quantile(echo, 0.5), e99 = Quantile(echo, 0.99);
  const double c50 = Quantile(compile, 0.5), c99 = Quantile(compile, 0.99);
  std::printf("bare rpc:       p50 %8.1f us  p99 %8.1f us  (%zu calls)\n", e50, e99, echo.size());
  std::printf("cached compile: p50 %8.1f us  p99 %8.1f us  (%zu calls)\n", c50, c99,
              compile.size());
  std::printf("ratio:          p50 %8.2f     p99 %8.2f\n", c50 / e50, c99 / e99);
  return 0;
}
