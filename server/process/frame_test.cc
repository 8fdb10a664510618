#include "server/process/frame.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

#include "pyasc/worker/v1/worker.pb.h"
#include "server/process/tensor_memory.h"

namespace pyasc::server {
namespace {

using wire = pyasc::worker::v1::WorkerRequest;

std::optional<std::chrono::steady_clock::time_point> In(int ms) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
}

struct Ends {
  Ends() {
    auto pair = MakeSocketPair();
    a = FrameChannel(std::move(pair->ours));
    b = FrameChannel(std::move(pair->theirs));
  }
  FrameChannel a, b;
};

TEST(Frame, LargeMessagesAndDescriptorsArriveWhole) {
  Ends ends;
  wire sent;
  sent.mutable_run()->set_artifact(std::string(5 << 20, 'x'));
  auto memory = SharedMemory::Create(8);
  ASSERT_TRUE(memory.ok());
  ASSERT_TRUE(memory->Write(0, "tensor!!").ok());
  int fd = memory->fd();
  std::thread sender([&] { EXPECT_TRUE(ends.a.Send(sent, {&fd, 1}, In(10'000)).ok()); });
  wire got;
  std::vector<UniqueFd> fds;
  absl::Status status = ends.b.Receive(got, &fds, In(10'000));
  sender.join();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(got.SerializeAsString(), sent.SerializeAsString());
  ASSERT_EQ(fds.size(), 1u);
  auto adopted = SharedMemory::Adopt(std::move(fds[0]), 8);
  ASSERT_TRUE(adopted.ok()) << adopted.status();
  char text[8];
  ASSERT_TRUE(adopted->Read(0, text).ok());
  EXPECT_EQ(std::string(text, 8), "tensor!!");
}

TEST(Frame, SilenceIsADeadlineAndAClosedEndIsUnavailable) {
  Ends ends;
  wire message;
  EXPECT_TRUE(absl::IsDeadlineExceeded(ends.b.Receive(message, nullptr, In(20))));
  ends.a.Close();
  EXPECT_TRUE(absl::IsUnavailable(ends.b.Receive(message, nullptr, In(10'000))));
  EXPECT_TRUE(absl::IsUnavailable(ends.b.Send(message, {}, In(10'000))));
}

TEST(Frame, WhatIsNoFrameIsDataLoss) {
  for (std::string bytes :
       {std::string("\xff\xff\xff\xff", 4), std::string("\x02\0\0\0\xff\xff", 6),
        std::string("\x09\0\0\0cut", 7)}) {
    Ends ends;
    ASSERT_EQ(::write(ends.a.fd(), bytes.data(), bytes.size()), ssize_t(bytes.size()));
    ends.a.Close();
    wire message;
    EXPECT_TRUE(absl::IsDataLoss(ends.b.Receive(message, nullptr, In(10'000))));
  }
}

TEST(SharedMemory, NobodyCanShrinkItUnderAReader) {
  auto memory = SharedMemory::Create(4096);
  ASSERT_TRUE(memory.ok());
  EXPECT_NE(::ftruncate(memory->fd(), 0), 0);
  EXPECT_NE(::ftruncate(memory->fd(), 8192), 0);
  EXPECT_TRUE(absl::IsOutOfRange(memory->Write(4090, "1234567")));
  ASSERT_TRUE(memory->SealContents().ok());
  EXPECT_FALSE(memory->Write(0, "x").ok());
  EXPECT_TRUE(Mapping::Map(*memory, false).ok());
  EXPECT_FALSE(Mapping::Map(*memory, true).ok());
}

TEST(SharedMemory, OnlySealedMemoryOfEnoughBytesIsAdopted) {
  UniqueFd unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), 64), 0);
  EXPECT_FALSE(SharedMemory::Adopt(std::move(unsealed), 64).ok());
  auto small = SharedMemory::Create(8);
  EXPECT_FALSE(SharedMemory::Adopt(UniqueFd(::dup(small->fd())), 9).ok());
  EXPECT_FALSE(SharedMemory::Adopt(UniqueFd(), 0).ok());
}

TEST(TensorMemory, SmallAndLargeBehaveAlike) {
  for (int64_t bytes : {int64_t{8}, TensorMemory::kInFrameBytes, TensorMemory::kInFrameBytes + 1}) {
    auto memory = TensorMemory::Create(bytes);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ(memory->size_bytes(), bytes);
    EXPECT_EQ(memory->in_frame(), bytes <= TensorMemory::kInFrameBytes);
    EXPECT_EQ(memory->fd() < 0, memory->in_frame());
    EXPECT_TRUE(absl::IsOutOfRange(memory->Write(bytes - 1, "ab")));
    EXPECT_TRUE(absl::IsOutOfRange(memory->Write(-1, "a")));
    ASSERT_TRUE(memory->Write(bytes - 4, "last").ok());
    {
      auto writable = memory->Map(true);
      ASSERT_TRUE(writable.ok());
      ASSERT_EQ(static_cast<int64_t>(writable->bytes().size()), bytes);
      writable->bytes()[0] = std::byte{'f'};
    }
    auto other = memory->Share();
    ASSERT_TRUE(other.ok() && memory->SealContents().ok());
    EXPECT_FALSE(memory->Write(0, "x").ok());
    EXPECT_FALSE(memory->Map(true).ok());
    TensorMemory moved = *std::move(other);
    auto view = moved.Map(false);
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view->bytes()[0], std::byte{'f'});
    char text[4];
    ASSERT_TRUE(moved.Read(bytes - 4, text).ok());
    EXPECT_EQ(std::string(text, 4), "last");
    EXPECT_TRUE(absl::IsOutOfRange(moved.Read(bytes - 3, text)));
  }
  EXPECT_EQ(TensorMemory::FromFrame("ab", 4).data(), std::string("ab\0\0", 4));
}

} // namespace
} // namespace pyasc::server
