// Load for the service and for a bare echo beside it, one after the other in short rounds, so that
// both see the same machine. One of:
//
//   --echo=ADDRESS --reply-bytes=N    serve replies of N bytes to any unary call, and what it was
//       sent to any call of /echo/Stream, until stdin ends
//   --server=ADDRESS --beside=ADDRESS [--in-flight=N] [--rounds=10] [--seconds=1]
//       [--artifact-bytes=N]          a cached compile beside the echo; prints JSON
//   --run=ADDRESS --beside=ADDRESS [--rounds] [--seconds]    a warm run of a 1 KB host kernel
//   --copy=ADDRESS --beside=ADDRESS [--rounds] [--bytes=N]   a host kernel that copies N bytes, and
//       a stream that sends as much there and back; prints JSON
//   --storm=ADDRESS --connections=N --callers=N    one new kernel for all at once; prints JSON
//   --fill=DIRECTORY --entries=N    a cache of so many small artifacts
//
// All calls, those to the echo too, carry --token=T as their bearer token.
//
// Rates and quantiles are medians over the rounds. Calls are made through gRPC's generic stub, so
// that client and echo spend nothing on messages.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "pyasc/v1/compile.grpc.pb.h"
#include "pyasc/v1/execution.grpc.pb.h"
#include "server/cache/disk_tier.h"
#include "server/core/sha256.h"

namespace {

using Clock = std::chrono::steady_clock;
using namespace pyasc;

constexpr char kCompile[] = "/pyasc.v1.CompilerService/Compile";
constexpr char kStream[] = "/echo/Stream";

double Microseconds(Clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

// ------------------------------------------------------------------------------------- the echo

class EchoService final : public grpc::CallbackGenericService {
public:
  explicit EchoService(size_t bytes) : reply_(std::string(bytes, 'x')) {}
  grpc::ServerGenericBidiReactor *
  CreateReactor(grpc::GenericCallbackServerContext *context) override {
    // All of a stream, and then the same back: as a run takes tensors and returns them.
    class Stream final : public grpc::ServerGenericBidiReactor {
    public:
      Stream() { Read(); }
      void OnReadDone(bool ok) override { ok ? Read() : Write(); }
      void OnWriteDone(bool) override {
        messages_.pop_front();
        Write();
      }
      void OnDone() override { delete this; }

    private:
      void Read() { StartRead(&messages_.emplace_back()); }
      void Write() { // the last one is the read that found the end
        messages_.size() > 1 ? StartWrite(&messages_.front()) : Finish(grpc::Status::OK);
      }
      std::deque<grpc::ByteBuffer> messages_;
    };
    if (context->method() == kStream)
      return new Stream;
    class Reactor final : public grpc::ServerGenericBidiReactor {
    public:
      explicit Reactor(const grpc::Slice &reply) : reply_(&reply, 1) { StartRead(&request_); }
      void OnReadDone(bool ok) override {
        if (!ok)
          return Finish(grpc::Status::OK);
        StartWriteAndFinish(&reply_, {}, grpc::Status::OK);
      }
      void OnDone() override { delete this; }

    private:
      grpc::ByteBuffer request_, reply_;
    };
    return new Reactor(reply_);
  }

private:
  const grpc::Slice reply_;
};

int ServeEcho(const std::string &address, size_t bytes) {
  EchoService service(bytes);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterCallbackGenericService(&service);
  auto server = builder.BuildAndStart();
  if (!server)
    return 3;
  std::printf("ready\n");
  std::fflush(stdout);
  char ignored[64];
  while (::read(STDIN_FILENO, ignored, sizeof(ignored)) > 0) {
  }
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

// -------------------------------------------------------------------------------------- the load

std::string bearer_token; // --token; "" for none

struct Context : grpc::ClientContext {
  Context() {
    if (!bearer_token.empty())
      AddMetadata("authorization", "Bearer " + bearer_token);
  }
};

std::shared_ptr<grpc::Channel> Connect(const std::string &address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1); // a connection of its own
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

grpc::ByteBuffer Kernel(const std::string &text, v1::Target target = v1::TARGET_SIM) {
  v1::CompileRequest request;
  request.add_files()->set_content(text);
  request.set_target(target);
  for (const char *name : {"A", "B"}) {
    v1::Argument &argument = *request.add_arguments();
    argument.set_name(name);
    argument.mutable_tensor()->set_dtype(v1::DTYPE_FLOAT32);
    argument.mutable_tensor()->add_shape(256);
  }
  grpc::Slice slice(request.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

struct Round {
  double calls_per_second = 0, p50_us = 0, p99_us = 0;
};

// Keeps `in_flight` calls under way for a while.
class Load {
public:
  Load(const std::string &address, std::string method, const grpc::ByteBuffer &request)
      : method_(std::move(method)), request_(request), stub_(Connect(address)) {}

  Round Run(int in_flight, double seconds) {
    {
      std::lock_guard lock(mutex_);
      times_.clear();
      running_ = in_flight;
      begin_ = Clock::now();
      end_ = begin_ +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    }
    for (int i = 0; i < in_flight; ++i)
      Start();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return running_ == 0; });
    Round round;
    round.calls_per_second =
        static_cast<double>(times_.size()) / (Microseconds(last_ - begin_) * 1e-6);
    std::sort(times_.begin(), times_.end());
    if (!times_.empty()) {
      round.p50_us = times_[times_.size() / 2];
      round.p99_us = times_[std::min(times_.size() - 1, times_.size() * 99 / 100)];
    }
    return round;
  }
  const std::string &error() const { return error_; }
  size_t reply_bytes() const { return reply_bytes_; }

private:
  struct Call {
    Context context;
    grpc::ByteBuffer reply;
    Clock::time_point begin = Clock::now();
  };
  void Start() {
    auto *call = new Call;
    stub_.UnaryCall(&call->context, method_, {}, &request_, &call->reply,
                    [this, call](const grpc::Status &status) { Done(call, status); });
  }
  void Done(Call *call, const grpc::Status &status) {
    const Clock::time_point now = Clock::now();
    bool more;
    {
      std::lock_guard lock(mutex_);
      times_.push_back(Microseconds(now - call->begin));
      reply_bytes_ = call->reply.Length();
      last_ = now;
      if (!status.ok() && error_.empty())
        error_ = status.error_message();
      more = now < end_ && error_.empty();
      if (!more && --running_ == 0)
        done_.notify_all();
    }
    delete call;
    if (more)
      Start();
  }

  const std::string method_;
  const grpc::ByteBuffer request_;
  grpc::GenericStub stub_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<double> times_;
  int running_ = 0;
  Clock::time_point begin_, end_, last_;
  std::string error_;
  size_t reply_bytes_ = 0;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

int CompareCompile(const std::string &server, const std::string &beside, int in_flight, int rounds,
                   double seconds, int artifact_bytes) {
  const grpc::ByteBuffer kernel =
      Kernel(absl::StrCat("bench @pad=", artifact_bytes, " ", std::string(2000, 'x')));
  Load compile(server, kCompile, kernel), echo(beside, "/echo/Echo", kernel);
  compile.Run(1, 0.05); // the one that compiles
  compile.Run(in_flight, 0.3);
  echo.Run(in_flight, 0.3);
  std::vector<double> rates, p99s, compile_rates, echo_rates, compile_p50, echo_p50;
  for (int i = 0; i < rounds; ++i) {
    const Round e = echo.Run(in_flight, seconds), c = compile.Run(in_flight, seconds);
    rates.push_back(c.calls_per_second / e.calls_per_second);
    p99s.push_back(c.p99_us / e.p99_us);
    compile_rates.push_back(c.calls_per_second);
    echo_rates.push_back(e.calls_per_second);
    compile_p50.push_back(c.p50_us);
    echo_p50.push_back(e.p50_us);
  }
  for (const Load *load : {&compile, &echo})
    if (!load->error().empty()) {
      std::fprintf(stderr, "%s\n", load->error().c_str());
      return 3;
    }
  std::printf(
      "{\"reply_bytes\": %zu, \"rate_ratio\": %.3f, \"p99_ratio\": %.3f, \"compile_per_s\": "
      "%.0f, \"echo_per_s\": %.0f, \"compile_p50_us\": %.1f, \"echo_p50_us\": %.1f}\n",
      compile.reply_bytes(), Median(rates), Median(p99s), Median(compile_rates), Median(echo_rates),
      Median(compile_p50), Median(echo_p50));
  return 0;
}

int CompareRun(const std::string &server, const std::string &beside, int rounds, double seconds) {
  v1::RunRequest request;
  v1::RunStart &start = *request.mutable_start();
  start.mutable_compile()->add_files()->set_content("bench run");
  start.mutable_compile()->set_target(v1::TARGET_HOST);
  for (const char *name : {"A", "B"}) {
    v1::ArgumentValue &argument = *start.add_arguments();
    argument.set_name(name);
    v1::TensorValue &tensor = *argument.mutable_tensor();
    tensor.mutable_type()->set_dtype(v1::DTYPE_FLOAT32);
    tensor.mutable_type()->add_shape(256);
    tensor.set_inline_data(std::string(1024, '\1'));
  }
  start.mutable_options()->add_outputs("B");
  auto stub = v1::ExecutionService::NewStub(Connect(server));
  auto one = [&] {
    Context context;
    auto stream = stub->Run(&context);
    stream->Write(request, grpc::WriteOptions().set_last_message());
    v1::RunEvent event;
    bool good = false;
    while (stream->Read(&event))
      if (event.has_done())
        good = event.done().outcome() == v1::OUTCOME_OK;
    return stream->Finish().ok() && good;
  };
  if (!one()) {
    std::fprintf(stderr, "the run failed\n");
    return 3;
  }
  grpc::Slice slice(request.SerializeAsString());
  Load echo(beside, "/echo/Echo", grpc::ByteBuffer(&slice, 1));
  std::vector<double> ratios, runs, echoes;
  for (int i = 0; i < rounds; ++i) {
    const Round e = echo.Run(1, seconds);
    std::vector<double> times;
    for (const auto end = Clock::now() + std::chrono::duration<double>(seconds);
         Clock::now() < end;) {
      const Clock::time_point begin = Clock::now();
      if (!one())
        return 3;
      times.push_back(Microseconds(Clock::now() - begin));
    }
    ratios.push_back(Median(times) / e.p50_us);
    runs.push_back(Median(times));
    echoes.push_back(e.p50_us);
  }
  std::printf("{\"time_ratio\": %.2f, \"run_p50_us\": %.1f, \"echo_p50_us\": %.1f}\n",
              Median(ratios), Median(runs), Median(echoes));
  return 0;
}

// Sends `data` in pieces through `write`, which is done when the stream is.
template <typename Write> void SendPieces(const std::string &data, Write write) {
  constexpr size_t kPiece = 1 << 20; // as the protocol has it
  for (size_t at = 0; at < data.size(); at += kPiece)
    write(data.substr(at, kPiece), at + kPiece >= data.size());
}

int CompareCopy(const std::string &server, const std::string &beside, int rounds, size_t bytes) {
  const std::string data(bytes, '\1');
  auto stub = v1::ExecutionService::NewStub(Connect(server));
  v1::RunRequest request;
  v1::RunStart &start = *request.mutable_start();
  const size_t count = bytes / sizeof(float);
  start.mutable_compile()->add_files()->set_content(absl::StrCat(
      "import pyasc as asc\n\n\n@asc.kernel\ndef copy(A: asc.float32[", count, "], B: asc.float32[",
      count, "]):\n    for i in range(", count, "):\n        B[i] = A[i]\n"));
  start.mutable_compile()->set_target(v1::TARGET_HOST);
  v1::TensorType type;
  type.set_dtype(v1::DTYPE_FLOAT32);
  type.add_shape(static_cast<int64_t>(count));
  v1::ArgumentValue &a = *start.add_arguments();
  a.set_name("A");
  *a.mutable_tensor()->mutable_type() = type;
  a.mutable_tensor()->set_chunked(true);
  v1::ArgumentValue &b = *start.add_arguments();
  b.set_name("B");
  b.mutable_generated()->set_kind(v1::GeneratedTensor::KIND_ZEROS);
  *b.mutable_generated()->mutable_type() = type;
  start.mutable_options()->add_outputs("B");
  v1::ProfileReport report;
  auto run = [&]() -> size_t {
    Context context;
    auto stream = stub->Run(&context);
    stream->Write(request);
    SendPieces(data, [&](std::string piece, bool last) {
      v1::RunRequest next;
      next.mutable_chunk()->set_name("A");
      next.mutable_chunk()->set_data(std::move(piece));
      stream->Write(next, last ? grpc::WriteOptions().set_last_message() : grpc::WriteOptions());
    });
    size_t got = 0;
    v1::RunEvent event;
    while (stream->Read(&event)) {
      if (event.has_chunk())
        got += event.chunk().data().size();
      if (event.has_done())
        report = event.done().report();
    }
    return stream->Finish().ok() ? got : 0;
  };
  auto echo_channel = Connect(beside);
  auto echo = [&]() -> size_t {
    grpc::CompletionQueue queue; // the generic stub has streams for completion queues only
    grpc::GenericStub generic(echo_channel);
    Context context;
    auto stream = generic.PrepareCall(&context, kStream, &queue);
    auto wait = [&] {
      void *tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    stream->StartCall(nullptr);
    wait();
    SendPieces(data, [&](const std::string &piece, bool) {
      grpc::Slice slice(piece);
      stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
      wait();
    });
    stream->WritesDone(nullptr);
    wait();
    size_t got = 0;
    grpc::ByteBuffer reply;
    for (stream->Read(&reply, nullptr); wait(); stream->Read(&reply, nullptr)) {
      grpc::Slice whole;
      (void)reply.DumpToSingleSlice(&whole);
      got += whole.size();
    }
    grpc::Status status;
    stream->Finish(&status, nullptr);
    wait();
    return status.ok() ? got : 0;
  };
  std::vector<double> ratios, runs, echoes;
  for (int i = -1; i < rounds; ++i) {
    double seconds[2] = {};
    for (int which : {0, 1}) {
      const Clock::time_point begin = Clock::now();
      if ((which ? run() : echo()) != bytes) {
        std::fprintf(stderr, "%s did not bring everything back\n", which ? "the run" : "the echo");
        return 3;
      }
      seconds[which] = Microseconds(Clock::now() - begin) * 1e-6;
    }
    if (i < 0)
      continue; // compiles, and warms up
    const double copied = 2 * static_cast<double>(bytes);
    seconds[1] -= report.kernel_us() * 1e-6;
    ratios.push_back(seconds[0] / seconds[1]);
    echoes.push_back(copied / seconds[0] * 1e-9);
    runs.push_back(copied / seconds[1] * 1e-9);
  }
  std::printf("{\"rate_ratio\": %.3f, \"run_gb_per_s\": %.2f, \"echo_gb_per_s\": %.2f, "
              "\"kernel_us\": %.0f, \"copy_in_us\": %.0f, \"copy_out_us\": %.0f}\n",
              Median(ratios), Median(runs), Median(echoes), report.kernel_us(), report.copy_in_us(),
              report.copy_out_us());
  return 0;
}

// Writes records as the service does.
int Fill(const std::string &directory, int entries) {
  server::DiskTier::Opened opened;
  auto tier =
      server::DiskTier::Open({.directory = directory, .max_bytes = uint64_t{64} << 30}, &opened);
  if (!tier.ok()) {
    std::fprintf(stderr, "%s\n", std::string(tier.status().message()).c_str());
    return 3;
  }
  for (int i = 0; i < entries; ++i) {
    server::Sha256 hash;
    hash.UpdateField(absl::StrCat(i));
    const std::string key = server::ToHex(hash.Digest());
    if (auto put = (*tier)->Put(key, absl::StrCat("artifact ", i, std::string(200, 'x')), key);
        !put.ok()) {
      std::fprintf(stderr, "%s\n", std::string(put.message()).c_str());
      return 3;
    }
  }
  std::printf("{\"entries\": %d}\n", entries);
  return 0;
}

int Storm(const std::string &server, int connections, int callers, const std::string &text) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const grpc::ByteBuffer request = Kernel(text);
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  for (int i = 0; i < connections; ++i) {
    auto channel = Connect(server);
    channel->GetState(true);
    stubs.push_back(std::make_unique<grpc::GenericStub>(channel));
  }
  struct Call {
    Context context;
    grpc::ByteBuffer reply;
  };
  std::mutex mutex;
  std::condition_variable done;
  int left = connections * callers, failed = 0;
  std::string error;
  const Clock::time_point begin = Clock::now();
  for (auto &stub : stubs)
    for (int i = 0; i < callers; ++i) {
      auto *call = new Call;
      call->context.set_wait_for_ready(true);
      stub->UnaryCall(&call->context, kCompile, {}, &request, &call->reply,
                      [&, call](const grpc::Status &status) {
                        delete call;
                        std::lock_guard lock(mutex);
                        if (!status.ok()) {
                          ++failed;
                          error = status.error_message();
                        }
                        if (--left == 0)
                          done.notify_all();
                      });
    }
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return left == 0; });
  std::printf("{\"calls\": %d, \"failed\": %d, \"seconds\": %.3f}\n", connections * callers, failed,
              Microseconds(Clock::now() - begin) * 1e-6);
  if (failed)
    std::fprintf(stderr, "%s\n", error.c_str());
  return failed ? 3 : 0;
}

} // namespace

int main(int argc, char **argv) {
  std::map<std::string, std::string> flags = {
      {"rounds", "10"},         {"seconds", "1"},
      {"in-flight", "8"},       {"artifact-bytes", "10000"},
      {"callers", "10"},        {"connections", "100"},
      {"reply-bytes", "10000"}, {"text", "storm @slow=500 "},
      {"bytes", "67108864"},    {"entries", "1000000"}};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    if (!argument.starts_with("--") || equals == std::string::npos) {
      std::fprintf(stderr, "expected --name=value, got '%s'\n", argv[i]);
      return 2;
    }
    flags[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
  }
  auto number = [&](const char *name) {
    double value = 0;
    (void)absl::SimpleAtod(flags[name], &value);
    return value;
  };
  auto whole = [&](const char *name) { return static_cast<int>(number(name)); };
  bearer_token = flags["token"];
  if (flags.count("echo"))
    return ServeEcho(flags["echo"], static_cast<size_t>(number("reply-bytes")));
  if (flags.count("server"))
    return CompareCompile(flags["server"], flags["beside"], whole("in-flight"), whole("rounds"),
                          number("seconds"), whole("artifact-bytes"));
  if (flags.count("run"))
    return CompareRun(flags["run"], flags["beside"], whole("rounds"), number("seconds"));
  if (flags.count("copy"))
    return CompareCopy(flags["copy"], flags["beside"], whole("rounds"),
                       static_cast<size_t>(number("bytes")));
  if (flags.count("fill"))
    return Fill(flags["fill"], whole("entries"));
  if (flags.count("storm"))
    return Storm(flags["storm"], whole("connections"), whole("callers"), flags["text"]);
  std::fprintf(stderr, "one of --echo, --server, --run, --copy, --storm, --fill is needed\n");
  return 2;
}
