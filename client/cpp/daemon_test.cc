#include "client/cpp/daemon.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cpp/build_id.h"
#include "client/cpp/client.h"
#include "client/cpp/files.h"
#include "client/cpp/local_worker.h"

namespace pyasc::client {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A home and a bin directory of the test's own, with shell and Python scripts as the binaries.
class DaemonTest : public ::testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/dt-XXXXXX";
    root_ = ::mkdtemp(name);
    bin_ = root_ + "/bin";
    fs::create_directory(bin_);
    fs::create_directory(root_ + "/run");
    ::chmod((root_ + "/run").c_str(), 0700);
    ::setenv("HOME", root_.c_str(), 1);
    ::setenv("XDG_RUNTIME_DIR", (root_ + "/run").c_str(), 1);
    for (const char *name : {"XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"})
      ::unsetenv(name);
    Script("pyasc-worker", "#!/bin/sh\nexit 0\n");
  }
  void TearDown() override {
    for (const std::string &line : Lines(root_ + "/pids"))
      ::kill(std::atoi(line.c_str()), SIGKILL);
    fs::remove_all(root_);
  }

  void Script(const std::string &name, const std::string &text) {
    std::ofstream(bin_ + "/" + name) << text;
    ::chmod((bin_ + "/" + name).c_str(), 0755);
  }
  // Listens as pyascd would, and writes down its pid, environment, descriptors and session.
  void ListeningDaemon() {
    Script("pyascd", absl::StrCat(R"(#!/usr/bin/python3 -S
import os, socket, sys
flags = dict(a[2:].split("=", 1) for a in sys.argv[1:])
root = ")",
                                  root_, R"("
with open(root + "/pids", "a") as f: f.write(f"{os.getpid()}\n")
with open(root + "/seen", "w") as f:
    for k, v in sorted(os.environ.items()): f.write(f"env {k}={v}\n")
    for d in os.listdir("/proc/self/fd"):
        try: f.write(f"fd {d} {os.readlink('/proc/self/fd/' + d)}\n")
        except OSError: pass
    f.write(f"session {os.getsid(0) == os.getpid()}\n")
    for k, v in sorted(flags.items()): f.write(f"flag {k}={v}\n")
s = socket.socket(socket.AF_UNIX)
s.bind(flags["listen"].removeprefix("unix:"))
s.listen(5)
while True: s.accept()
)"));
  }
  static std::vector<std::string> Lines(const std::string &path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
      lines.push_back(line);
    return lines;
  }
  std::string root_, bin_;
};

TEST_F(DaemonTest, NamesFollowTheBuildAndTheXdgDirectories) {
  Script("pyascd", "one");
  DaemonPaths one = *FindDaemon(bin_);
  EXPECT_EQ(one.socket, absl::StrCat(root_, "/run/pyasc/", one.build, ".sock"));
  EXPECT_THAT(one.log, StartsWith(root_ + "/.local/state/pyasc/"));
  EXPECT_THAT(one.cache_dir, StartsWith(root_ + "/.cache/pyasc/"));
  EXPECT_EQ(FindDaemon(bin_)->build, one.build);
  Script("pyascd", "two");
  EXPECT_NE(FindDaemon(bin_)->build, one.build);
  Script("pyascd", "one");
  EXPECT_EQ(FindDaemon(bin_)->build, one.build);
}

TEST_F(DaemonTest, ADirectoryOpenToOthersIsRefused) {
  Script("pyascd", "");
  fs::create_directory(root_ + "/run/pyasc");
  ::chmod((root_ + "/run/pyasc").c_str(), 0755);
  EXPECT_THAT(FindDaemon(bin_).status().message(), HasSubstr("open to other users"));
  fs::remove(root_ + "/run/pyasc");
  fs::create_directory_symlink(root_, root_ + "/run/pyasc");
  EXPECT_TRUE(absl::IsPermissionDenied(FindDaemon(bin_).status()));
}

TEST_F(DaemonTest, AMissingDaemonIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(FindDaemon(bin_).status()));
}

TEST_F(DaemonTest, ManyCallersStartOneDaemonThatInheritsNothing) {
  ListeningDaemon();
  DaemonPaths paths = *FindDaemon(bin_);
  ::setenv("PYASC_SECRET", "x", 1);
  int inherited = ::open("/etc/passwd", O_RDONLY);
  std::vector<std::thread> callers;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] { good += EnsureDaemon(bin_, paths, absl::Seconds(30)).ok(); });
  for (std::thread &caller : callers)
    caller.join();
  ::close(inherited);
  ::unsetenv("PYASC_SECRET");
  EXPECT_EQ(good, 8);
  EXPECT_EQ(Lines(root_ + "/pids").size(), 1u);
  std::vector<std::string> seen = Lines(root_ + "/seen");
  EXPECT_THAT(seen, Contains("session True"));
  EXPECT_THAT(seen, Contains("flag idle-exit-seconds=600"));
  EXPECT_THAT(seen, Contains("flag cache-dir=" + paths.cache_dir));
  EXPECT_THAT(seen, Contains("env HOME=" + root_));
  EXPECT_THAT(seen, Not(Contains(HasSubstr("PYASC_SECRET"))));
  EXPECT_THAT(seen, Not(Contains(HasSubstr("/etc/passwd"))));
  EXPECT_TRUE(IsListening(paths.socket));
}

TEST_F(DaemonTest, AStaleSocketIsReplaced) {
  ListeningDaemon();
  DaemonPaths paths = *FindDaemon(bin_);
  int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, paths.socket.c_str());
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
  ::close(fd);
  EXPECT_FALSE(IsListening(paths.socket));
  absl::Status status = EnsureDaemon(bin_, paths, absl::Seconds(30));
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(DaemonTest, Fault08AStoppedDaemonIsNotStartedASecondTime) {
  ListeningDaemon();
  DaemonPaths paths = *FindDaemon(bin_);
  ASSERT_TRUE(EnsureDaemon(bin_, paths, absl::Seconds(30)).ok());
  ASSERT_EQ(::kill(std::atoi(Lines(root_ + "/pids")[0].c_str()), SIGSTOP), 0);
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(EnsureDaemon(bin_, paths, absl::Seconds(30)).ok());
  EXPECT_EQ(Lines(root_ + "/pids").size(), 1u);
}

TEST_F(DaemonTest, AnUpgradeStartsADaemonBesideTheOldOneWhichKeepsItsClients) {
  ListeningDaemon();
  DaemonPaths before = *FindDaemon(bin_);
  ASSERT_TRUE(EnsureDaemon(bin_, before, absl::Seconds(30)).ok());
  // As a package manager does it: the new file takes the name of the old one.
  Script("new", "#!/bin/sh\n# of the next version\nexit 0\n");
  fs::rename(bin_ + "/new", bin_ + "/pyasc-worker");
  DaemonPaths after = *FindDaemon(bin_);
  EXPECT_NE(after.build, before.build);
  EXPECT_NE(after.socket, before.socket);
  EXPECT_FALSE(IsListening(after.socket)) << "a new client would meet the old daemon";
  ASSERT_TRUE(EnsureDaemon(bin_, after, absl::Seconds(30)).ok());
  EXPECT_EQ(Lines(root_ + "/pids").size(), 2u);
  EXPECT_TRUE(IsListening(before.socket)) << "the old one's clients still need it";
  EXPECT_TRUE(IsListening(after.socket));
}

TEST_F(DaemonTest, ADaemonThatDiesIsExplainedByItsLog) {
  Script("pyascd", "#!/bin/sh\necho 'no such flag: --listen' >&2\nexit 2\n");
  DaemonPaths paths = *FindDaemon(bin_);
  absl::Status status = EnsureDaemon(bin_, paths, absl::Seconds(30));
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(status.message(), HasSubstr("exit code 2"));
  EXPECT_THAT(status.message(), HasSubstr("no such flag"));
}

TEST_F(DaemonTest, ALocalWorkerThatDiesIsExplainedByWhatItWrote) {
  Script("pyasc-worker", "#!/bin/sh\necho 'libMLIR is missing' >&2\nkill -SEGV $$\n");
  absl::Status status = LocalWorker::Start(bin_, absl::Seconds(30)).status();
  EXPECT_THAT(status.message(), HasSubstr("signal 11"));
  EXPECT_THAT(status.message(), HasSubstr("libMLIR is missing"));
}

TEST_F(DaemonTest, ALocalWorkerEndsWithItsOwnerAndLeavesNothing) {
  Script("pyasc-worker",
         absl::StrCat("#!/bin/sh\necho $$ >> ", root_,
                      "/pids\necho ready\ncat > /dev/null\necho bye > ", root_, "/ended\n"));
  std::string address;
  {
    absl::StatusOr<std::unique_ptr<LocalWorker>> worker =
        LocalWorker::Start(bin_, absl::Seconds(30));
    ASSERT_TRUE(worker.ok()) << worker.status();
    address = (*worker)->address();
    EXPECT_EQ((*worker)->Obituary(absl::ZeroDuration()), "");
  }
  EXPECT_EQ(Lines(root_ + "/ended"), std::vector<std::string>{"bye"});
  EXPECT_FALSE(fs::exists(fs::path(address.substr(5)).parent_path()));
}

} // namespace
} // namespace pyasc::client
