#include "server/rpc/unix_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace pyasc::server {
namespace {

TEST(SocketGuests, AreUsersAndGroupsByNumberOrName) {
  auto guests = ParseSocketGuests({"uid:1000", "gid:20", "user:root", "group:root"});
  ASSERT_TRUE(guests.ok()) << guests.status();
  EXPECT_EQ(guests->uids, (std::vector<uid_t>{1000, 0}));
  EXPECT_EQ(guests->gids, (std::vector<gid_t>{20, 0}));
  EXPECT_TRUE(ParseSocketGuests({})->empty());
}

TEST(SocketGuests, WhatIsNeitherIsRefusedByName) {
  for (const char *wrong : {"", "alice", "uid:", "uid:-1", "uid:x", "gid:99999999999",
                            "user:", "user:no-such-user", "group:no-such-group", "mode:0666"}) {
    auto guests = ParseSocketGuests({wrong});
    EXPECT_FALSE(guests.ok()) << wrong;
  }
}

TEST(PeerKind, TheOwnerAndRootAreAtHomeOthersByTheListAlone) {
  const SocketGuests guests{{1001}, {50}};
  EXPECT_EQ(KindOf({1, 500, {500}}, 500, {}), PeerKind::kOwner);
  EXPECT_EQ(KindOf({1, 0, {0}}, 500, {}), PeerKind::kOwner);
  EXPECT_EQ(KindOf({1, 1001, {500}}, 500, guests), PeerKind::kGuest);
  EXPECT_EQ(KindOf({1, 1002, {7, 50}}, 500, guests), PeerKind::kGuest);
  EXPECT_EQ(KindOf({1, 1002, {7, 51}}, 500, guests), PeerKind::kStranger);
  EXPECT_EQ(KindOf({1, 1001, {1001}}, 500, {}), PeerKind::kStranger);
}

TEST(PeerCredentials, AreThoseOfTheOtherEnd) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  auto peer = CredentialsOf(ends[0]);
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_EQ(peer->gids.back(), ::getegid());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(UnixListener, TheFileIsTheOwnersUnlessThereAreGuests) {
  const std::string path = "/tmp/unix-listener-test-" + std::to_string(::getpid());
  for (bool open : {false, true}) {
    SocketGuests guests;
    if (open)
      guests.uids.push_back(1001);
    auto listener = UnixListener::Listen(path, guests);
    ASSERT_TRUE(listener.ok()) << listener.status();
    struct stat found;
    ASSERT_EQ(::stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, open ? 0666u : 0600u);
    // A socket that is left over is replaced; the destructor removes the file.
    EXPECT_TRUE(UnixListener::Listen(path, guests).ok());
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_FALSE(UnixListener::Listen("/no/such/directory/s", {}).ok());
  EXPECT_FALSE(UnixListener::Listen("/tmp/" + std::string(200, 'x'), {}).ok());
}

} // namespace
} // namespace pyasc::server
