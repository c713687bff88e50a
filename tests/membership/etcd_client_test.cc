// Against a real etcd.
#include "membership/etcd/etcd_client.h"

#include <signal.h>
#include <stdlib.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/membership/child_process.h"

namespace kamino::membership {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(2);
constexpr absl::Duration kPatience = absl::Seconds(20);

std::string NewFolder() {
  std::string folder = absl::StrCat(testing::TempDir(), "/XXXXXX");
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

class EtcdClientTest : public testing::Test {
 protected:
  // A lease once etcd answers.
  static int64_t Lease(EtcdClient* client, int64_t ttl_seconds = 60) {
    const absl::Time deadline = absl::Now() + kPatience;
    for (;;) {
      auto lease = client->GrantLease(ttl_seconds);
      if (lease.ok()) return *lease;
      if (absl::Now() > deadline) {
        ADD_FAILURE() << lease.status();
        return 0;
      }
    }
  }

  const std::string folder_ = NewFolder();
  EtcdProcess etcd_{folder_};
  EtcdClient client_{{etcd_.endpoint()}, kDeadline};
};

TEST_F(EtcdClientTest, OneOfManyIsElectedUntilItsLeaseIsRevoked) {
  EtcdClient other({etcd_.endpoint()}, kDeadline);
  const int64_t lease = Lease(&client_);
  auto first = client_.Campaign("/l", "a", lease, "/v");
  ASSERT_EQ(first.status(), absl::OkStatus());
  EXPECT_TRUE(first->won);
  EXPECT_EQ(first->leader.value, "a");
  EXPECT_GT(first->leader.create_revision, 0);
  EXPECT_EQ(first->view.mod_revision, 0);

  const int64_t other_lease = Lease(&other);
  auto second = other.Campaign("/l", "b", other_lease, "/v");
  ASSERT_EQ(second.status(), absl::OkStatus());
  EXPECT_FALSE(second->won);
  EXPECT_EQ(second->leader.value, "a");
  EXPECT_EQ(second->leader.create_revision, first->leader.create_revision);

  EXPECT_EQ(client_.KeepAlive(lease), absl::OkStatus());
  EXPECT_EQ(client_.RevokeLease(lease), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(client_.KeepAlive(lease)));
  second = other.Campaign("/l", "b", other_lease, "/v");
  ASSERT_EQ(second.status(), absl::OkStatus());
  EXPECT_TRUE(second->won);
  EXPECT_GT(second->leader.create_revision, first->leader.create_revision);
}

TEST_F(EtcdClientTest, WhoIsElectedLearnsTheView) {
  const int64_t lease = Lease(&client_);
  auto election = client_.Campaign("/l", "a", lease, "/v");
  ASSERT_EQ(election.status(), absl::OkStatus());
  const int64_t term = election->leader.create_revision;
  ASSERT_TRUE(client_.Replace("/v", "view", 0, "/l", term).ok());
  ASSERT_EQ(client_.RevokeLease(lease), absl::OkStatus());
  election = client_.Campaign("/l", "a", Lease(&client_), "/v");
  ASSERT_EQ(election.status(), absl::OkStatus());
  EXPECT_EQ(election->view.value, "view");
}

TEST_F(EtcdClientTest, AViewIsReplacedByTheLeaderThatKnowsTheLastOnly) {
  const int64_t lease = Lease(&client_);
  auto election = client_.Campaign("/l", "a", lease, "/v");
  ASSERT_EQ(election.status(), absl::OkStatus());
  const int64_t term = election->leader.create_revision;

  auto first = client_.Replace("/v", "one", 0, "/l", term);
  ASSERT_EQ(first.status(), absl::OkStatus());
  EXPECT_EQ(first->value, "one");
  auto second = client_.Replace("/v", "two", first->mod_revision, "/l", term);
  ASSERT_EQ(second.status(), absl::OkStatus());
  EXPECT_EQ(second->value, "two");
  EXPECT_GT(second->mod_revision, first->mod_revision);

  // Refused: what is stored comes back.
  for (const int64_t stale : {int64_t{0}, first->mod_revision}) {
    auto refused = client_.Replace("/v", "three", stale, "/l", term);
    ASSERT_EQ(refused.status(), absl::OkStatus());
    EXPECT_EQ(refused->value, "two");
    EXPECT_EQ(refused->mod_revision, second->mod_revision);
  }
  // Another leadership, although the revision of the view is right.
  EXPECT_TRUE(absl::IsAborted(
      client_.Replace("/v", "three", second->mod_revision, "/l", term - 1)
          .status()));
  ASSERT_EQ(client_.RevokeLease(lease), absl::OkStatus());
  EXPECT_TRUE(absl::IsAborted(
      client_.Replace("/v", "three", second->mod_revision, "/l", term)
          .status()));
  const int64_t next_lease = Lease(&client_);
  election = client_.Campaign("/l", "b", next_lease, "/v");
  ASSERT_EQ(election.status(), absl::OkStatus());
  EXPECT_TRUE(absl::IsAborted(
      client_.Replace("/v", "three", second->mod_revision, "/l", term)
          .status()));
  EXPECT_EQ(election->view.value, "two");
}

TEST_F(EtcdClientTest, GoesOnToTheNextEndpoint) {
  EtcdClient client({absl::StrCat("127.0.0.1:", FreePort()), etcd_.endpoint()},
                    kDeadline);
  const int64_t lease = Lease(&client);
  // It stays with the one that answered.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.KeepAlive(lease), absl::OkStatus());
  }
}

TEST_F(EtcdClientTest, ACallEndsWhenEtcdHangs) {
  const int64_t lease = Lease(&client_);
  EtcdClient hasty({etcd_.endpoint()}, absl::Milliseconds(200));
  ASSERT_EQ(hasty.KeepAlive(lease), absl::OkStatus());
  etcd_.Signal(SIGSTOP);
  const absl::Time before = absl::Now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(hasty.KeepAlive(lease)));
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(hasty.Replace("/v", "x", 0, "/l", 1).status()));
  EXPECT_LT(absl::Now() - before, absl::Seconds(5));
  etcd_.Signal(SIGCONT);
  EXPECT_EQ(client_.KeepAlive(lease), absl::OkStatus());
}

TEST_F(EtcdClientTest, AViewSurvivesEtcdsRestart) {
  const int64_t lease = Lease(&client_);
  auto election = client_.Campaign("/l", "a", lease, "/v");
  ASSERT_EQ(election.status(), absl::OkStatus());
  const int64_t term = election->leader.create_revision;
  auto stored = client_.Replace("/v", "one", 0, "/l", term);
  ASSERT_EQ(stored.status(), absl::OkStatus());
  etcd_.Restart();
  Lease(&client_);
  // The leader as well, whose lease is not over.
  EXPECT_EQ(client_.KeepAlive(lease), absl::OkStatus());
  auto next = client_.Replace("/v", "two", stored->mod_revision, "/l", term);
  ASSERT_EQ(next.status(), absl::OkStatus());
  EXPECT_EQ(next->value, "two");
}

}  // namespace
}  // namespace kamino::membership
