#include "client/cpp/client.h"

#include <atomic>
#include <filesystem>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "client/cpp/retry.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "pyasc/v1/compile.grpc.pb.h"
#include "pyasc/v1/execution.grpc.pb.h"

namespace pyasc::client {
namespace {

using ::testing::HasSubstr;

grpc::Status Full(std::optional<absl::Duration> delay) {
  google::rpc::Status details;
  details.set_code(grpc::StatusCode::RESOURCE_EXHAUSTED);
  if (delay) {
    google::rpc::RetryInfo info;
    info.mutable_retry_delay()->set_nanos(absl::ToInt64Nanoseconds(*delay));
    details.add_details()->PackFrom(info);
  }
  return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full",
                      details.SerializeAsString());
}

class FakeCompiler : public v1::CompilerService::Service {
public:
  grpc::Status Compile(grpc::ServerContext *, const v1::CompileRequest *request,
                       v1::CompileReply *reply) override {
    if (++calls <= refusals)
      return Full(delay);
    reply->set_outcome(v1::OUTCOME_OK);
    reply->set_artifact(std::string(artifact_bytes, 'x'));
    return grpc::Status::OK;
  }
  std::atomic<int> calls{0};
  int refusals = 0;
  size_t artifact_bytes = 1;
  std::optional<absl::Duration> delay = absl::Milliseconds(20);
};

// Sends every tensor argument back under its own name, in pieces of `chunk`.
class EchoRunner : public v1::ExecutionService::Service {
public:
  grpc::Status Run(grpc::ServerContext *,
                   grpc::ServerReaderWriter<v1::RunEvent, v1::RunRequest> *stream) override {
    v1::RunRequest request;
    stream->Read(&request);
    v1::RunStart start = request.start();
    std::map<std::string, std::string> data;
    while (stream->Read(&request)) {
      largest_chunk = std::max(largest_chunk, request.chunk().data().size());
      data[request.chunk().name()] += request.chunk().data();
    }
    for (const v1::ArgumentValue &argument : start.arguments()) {
      if (!argument.has_tensor())
        continue;
      std::string bytes =
          argument.tensor().chunked() ? data[argument.name()] : argument.tensor().inline_data();
      v1::RunEvent event;
      event.mutable_output()->set_name(argument.name());
      *event.mutable_output()->mutable_tensor()->mutable_type() = argument.tensor().type();
      if (bytes.size() <= 65536) {
        event.mutable_output()->mutable_tensor()->set_inline_data(bytes);
        stream->Write(event);
        continue;
      }
      event.mutable_output()->mutable_tensor()->set_chunked(true);
      stream->Write(event);
      for (size_t at = 0; at + drop < bytes.size(); at += 1 << 20) {
        event.mutable_chunk()->set_name(argument.name());
        event.mutable_chunk()->set_data(bytes.substr(at, 1 << 20));
        stream->Write(event);
      }
    }
    v1::RunEvent event;
    event.mutable_done()->set_outcome(v1::OUTCOME_OK);
    stream->Write(event);
    return grpc::Status::OK;
  }
  size_t largest_chunk = 0;
  // Withhold the chunks of the last `drop` bytes.
  size_t drop = 0;
};

class ClientTest : public ::testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/client-test-XXXXXX";
    directory_ = ::mkdtemp(name);
    address_ = "unix:" + directory_ + "/s";
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(&compiler_);
    builder.RegisterService(&runner_);
    server_ = builder.BuildAndStart();
    absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect({.server = address_});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }
  void TearDown() override {
    server_->Shutdown();
    std::filesystem::remove_all(directory_);
  }
  std::string directory_, address_;
  FakeCompiler compiler_;
  EchoRunner runner_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(ClientTest, AFullServiceIsAskedAgainAfterItsHint) {
  compiler_.refusals = 3;
  absl::Time begin = absl::Now();
  int waits = 0;
  CallOptions options;
  options.on_progress = [&](const v1::Progress &p) { waits += p.stage() == "waiting for room"; };
  absl::StatusOr<v1::CompileReply> reply = client_->Compile({}, options);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(compiler_.calls, 4);
  EXPECT_EQ(waits, 3);
  EXPECT_GE(absl::Now() - begin, 3 * *compiler_.delay);
}

TEST_F(ClientTest, RetryingEndsBeforeTheDeadline) {
  compiler_.refusals = 1000;
  CallOptions options;
  options.timeout = absl::Milliseconds(200);
  absl::Time begin = absl::Now();
  absl::StatusOr<v1::CompileReply> reply = client_->Compile({}, options);
  EXPECT_TRUE(absl::IsResourceExhausted(reply.status())) << reply.status();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
  EXPECT_GT(compiler_.calls, 1);
}

TEST_F(ClientTest, WithoutAHintThereIsNoSecondTry) {
  compiler_.refusals = 1000;
  compiler_.delay = std::nullopt;
  EXPECT_TRUE(absl::IsResourceExhausted(client_->Compile({}).status()));
  EXPECT_EQ(compiler_.calls, 1);
}

TEST_F(ClientTest, AnArtifactMayBeLargerThanGrpcsDefaultMessage) {
  compiler_.artifact_bytes = 9 << 20;
  absl::StatusOr<v1::CompileReply> reply = client_->Compile({});
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->artifact().size(), compiler_.artifact_bytes);
}

TEST_F(ClientTest, LargeTensorsTravelInChunksAndSmallOnesInline) {
  RunCall call;
  for (int64_t extent : {0, 100, 65536, 65537, 3'000'001}) {
    Tensor tensor;
    tensor.type = *ParseType("u8[" + std::to_string(extent) + "]");
    for (int64_t i = 0; i < extent; ++i)
      tensor.data += char(i * 7 % 251);
    call.arguments.push_back({"t" + std::to_string(extent), tensor});
    call.options.add_outputs("t" + std::to_string(extent));
  }
  absl::StatusOr<RunResult> result = client_->Run(call);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(runner_.largest_chunk, size_t(1 << 20));
  for (const RunArgument &argument : call.arguments)
    EXPECT_EQ(result->outputs[argument.name].tensor.data, std::get<Tensor>(argument.value).data)
        << argument.name;
}

TEST_F(ClientTest, AnOutputThatCameInPartIsAnError) {
  runner_.drop = 1;
  RunCall call;
  Tensor tensor;
  tensor.type = *ParseType("u8[1048577]");
  tensor.data.resize(1048577);
  call.arguments.push_back({"t", tensor});
  EXPECT_THAT(client_->Run(call).status().message(), HasSubstr("1048577 bytes were expected"));
}

TEST_F(ClientTest, AnOutputThatNeverCameIsAnError) {
  RunCall call;
  call.options.add_outputs("missing");
  EXPECT_THAT(client_->Run(call).status().message(), HasSubstr("'missing'"));
}

TEST(ConnectTest, NobodyAtTheSocketIsUnavailableAtOnce) {
  absl::Time begin = absl::Now();
  absl::StatusOr<std::unique_ptr<Client>> client =
      Client::Connect({.server = "unix:/tmp/nobody-listens-here.sock"});
  EXPECT_TRUE(absl::IsUnavailable(client.status())) << client.status();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
}

TEST(RetryTest, TheHintIsReadFromTheStatusDetails) {
  EXPECT_EQ(RetryDelay(Full(absl::Milliseconds(70))), absl::Milliseconds(70));
  EXPECT_EQ(RetryDelay(Full(std::nullopt)), std::nullopt);
  EXPECT_EQ(RetryDelay(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "", "no protobuf \xff")),
            std::nullopt);
}

} // namespace
} // namespace pyasc::client
